"""What a server can do, found by asking it once with small questions of our own; the journal remembers.

Log-probabilities come first for a choice, then those of an echoed prompt, then a schema, then a free answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.logprobs import sum_echoed_tokens, weigh_first_tokens
from nikawa.models.chat.questions import Questions
from nikawa.models.chat.reading import find_json
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.session import Session
from nikawa.models.chat.settings import ChatSettings

CHAT, COMPLETIONS = "chat/completions", "completions"
CHOICE_TOKENS, TOP_LOGPROBS = 4, (20, 5)
"""Tokens asked for, and how many alternatives of each, where log-probabilities choose: some servers allow but few."""
PROBE_TOKENS = 64
"""Tokens of an answer to a question about abilities."""
SCHEMAS = ("json_schema", "structured_outputs", "guided_json")
_LETTERS = ("A", "B")
_WORDS = ("heron", "plover")
"""What no model says to the sea unless it is held to it."""
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(_WORDS)}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class RequestStyle:
    """How this server is asked."""

    model: str
    way: str = "parse"
    """`logprob`, `echo`, one of `SCHEMAS`, `json_object`, `grammar` or `parse`."""
    top: int = TOP_LOGPROBS[0]
    limit: str = "max_tokens"
    """What it calls the longest answer; newer services have another name for it."""
    temperature: bool = True
    """Whether it lets the temperature be set."""
    system: bool = True
    """Whether it knows a message of the system; else that goes before the first question."""

    def body(
        self, settings: ChatSettings, seed: int, messages: list[dict[str, str]], tokens: int
    ) -> dict[str, Any]:
        """A chat request."""
        return {
            "model": self.model,
            "messages": messages if self.system else _merged(messages),
            self.limit: tokens,
            **({"temperature": settings.temperature} if self.temperature else {}),
            **({"seed": seed} if settings.temperature else {}),
            **settings.extra,
        }

    def held(self, schema: dict[str, Any], keys: Iterable[str] = ()) -> dict[str, Any]:
        """The fields that hold an answer to a schema, or to one of the keys."""
        named = {"name": "answer", "strict": True, "schema": schema}
        choices = " | ".join(f'"{key}"' for key in keys)
        fields: dict[str, dict[str, Any]] = {
            "logprob": {"logprobs": True, "top_logprobs": self.top},
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": named}},
            "structured_outputs": {"structured_outputs": {"json": schema}},
            "guided_json": {"guided_json": schema},
            "json_object": {"response_format": {"type": "json_object"}},
            "grammar": {"grammar": f"root ::= {choices}"},
        }
        return fields.get(self.way, {})


def _merged(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    if messages[0]["role"] != "system" or len(messages) < 2:
        return messages
    first = f"{messages[0]['content']}\n\n{messages[1]['content']}"
    return [{"role": messages[1]["role"], "content": first}, *messages[2:]]


def list_methods(form: Questions, settings: ChatSettings) -> list[str]:
    """The ways to try for a kind of task, best first."""
    letters = form.choice and form.task.kind != "relation"
    chosen = ["logprob", "echo"] if letters else ["echo"] if form.choice else []
    more = ["grammar"] if letters else ["json_object"] if form.structured else []
    held = [*SCHEMAS, *more] if form.constrained else []
    if settings.how == "logprob" and form.choice:
        return chosen
    if settings.how == "constrained" and form.constrained:
        return held
    if settings.how == "parse":
        return ["parse"]
    return [*(chosen if letters else []), *held, "parse"]


async def find_style(session: Session, model: str, form: Questions, seed: int) -> RequestStyle:
    """The best way this server offers for this kind of task."""
    manner = await _polite(session, RequestStyle(model), seed)
    tried = list_methods(form, session.settings)
    for way in tried:
        for top in TOP_LOGPROBS if way == "logprob" else TOP_LOGPROBS[:1]:
            found = replace(manner, way=way, top=top)
            if await _can(session, found, seed):
                return found
    given = "log-probabilities" if "echo" in tried else "answers held to a schema"
    raise BadInput(f"the server gives no {given} for {model}", cure="set how to auto")


async def _polite(session: Session, manner: RequestStyle, seed: int) -> RequestStyle:
    """Ask a plain question until the server has no objection to its fields."""
    for _ in range(4):
        tokens = max(PROBE_TOKENS, session.settings.max_tokens or 0)
        body = manner.body(session.settings, seed, _question("Reply with the letter A."), tokens)
        reply = await session.probe(CHAT, body, tokens)
        if not reply.error:
            return manner
        better = _adapted(manner, reply.text)
        if better == manner:
            raise RequestProblem(reply.text, "stop", status=reply.error)
        manner = better
    raise RequestProblem("the server objects to every request", "stop")


def _adapted(manner: RequestStyle, said: str) -> RequestStyle:
    words = said.casefold()
    if "max_completion_tokens" in words and manner.limit == "max_tokens":
        return replace(manner, limit="max_completion_tokens")
    if "temperature" in words:
        return replace(manner, temperature=False)
    return replace(manner, system=False) if "system" in words else manner


def _question(text: str) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": "You answer in as few characters as you can."},
        {"role": "user", "content": text},
    ]


async def _can(session: Session, manner: RequestStyle, seed: int) -> bool:
    if manner.way == "parse":
        return True
    if manner.way == "echo":
        body = echo_body(manner, session.settings, "A B A B A B A", "B")
        reply = await session.probe(COMPLETIONS, body, 1)
        return not reply.error and sum_echoed_tokens(reply, "B") is not None
    chosen = manner.way == "logprob"
    text = "Reply with the letter A." if chosen else "Say hello to the sea (as JSON)."
    tokens = CHOICE_TOKENS if chosen else max(PROBE_TOKENS, session.settings.max_tokens or 0)
    body = manner.body(session.settings, seed, _question(text), tokens) | manner.held(
        _SCHEMA, _WORDS
    )
    reply = await session.probe(CHAT, body, tokens)
    return not reply.error and _shows(manner.way, reply)


def _shows(way: str, reply: Reply) -> bool:
    """Whether the reply does what was asked for: some servers pass over fields they do not know."""
    if way == "logprob":
        return bool(weigh_first_tokens(reply, _LETTERS))
    if way == "grammar":
        return reply.text.strip() in _WORDS
    found = find_json(reply.text)
    return (
        found is not None
        if way == "json_object"
        else found is not None and found.get("answer") in _WORDS
    )


def echo_body(
    manner: RequestStyle, settings: ChatSettings, prompt: str, key: str
) -> dict[str, Any]:
    """A request that sends the prompt back with the log-probability of each of its tokens."""
    text = f"{prompt} {key}"
    fixed = {"model": manner.model, "prompt": text, "max_tokens": 1, "echo": True, "logprobs": 1}
    return {**fixed, "temperature": 0.0, **settings.extra}
