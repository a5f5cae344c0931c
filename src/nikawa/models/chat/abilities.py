"""The abilities of a server, found by small test requests; the journal stores the replies.

For a choice, log-probabilities come first, then the log-probabilities of an echoed prompt, then a
schema, then a free answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from nikawa.errors import BadInput
from nikawa.io.answers.replies import find_json
from nikawa.models.chat.conversation import Messages, move_system_message
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.logprobs import sum_echoed_tokens, weigh_first_tokens
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.settings import ChatSettings

CHAT, COMPLETIONS = "chat/completions", "completions"
"""Paths of the two kinds of request."""
CHOICE_TOKENS = 4
"""Tokens requested when log-probabilities choose the answer."""
TOP_LOGPROBS = (20, 5)
"""Numbers of alternatives per token to try, in this order: some servers allow only a few."""
PROBE_TOKENS = 64
"""Tokens of the answer to a test request."""
SCHEMAS = ("json_schema", "structured_outputs", "guided_json")
_LETTERS = ("A", "B")
_WORDS = ("heron", "plover")
"""An answer that a model gives only if the server enforces the schema."""
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(_WORDS)}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Prober(Protocol):
    """Tests a server's abilities: a session, or an estimate that sends no request."""

    settings: ChatSettings

    async def probe(self, path: str, body: dict[str, Any], tokens: int) -> Reply:
        """The reply to a test request."""
        ...


class AnswerTraits(Protocol):
    """What the way to ask depends on; `Questions` has it, and so has the form of a project."""

    @property
    def is_choice(self) -> bool:
        """Whether log-probabilities can choose the answer."""
        ...

    @property
    def by_letter(self) -> bool:
        """Whether the answer is a letter."""
        ...

    @property
    def is_structured(self) -> bool:
        """Whether the answer is JSON however it is asked for."""
        ...

    @property
    def is_constrained(self) -> bool:
        """Whether to use a schema if the server supports it."""
        ...


@dataclass(frozen=True)
class RequestStyle:
    """The way to send requests to this server."""

    model: str
    method: str = "parse"
    """`logprob`, `echo`, one of `SCHEMAS`, `json_object`, `grammar` or `parse`."""
    top_logprobs: int = TOP_LOGPROBS[0]
    max_tokens_field: str = "max_tokens"
    """Its name for the longest answer; newer services use another name."""
    has_temperature: bool = True
    """Whether requests can set the temperature."""
    has_system: bool = True
    """Whether it accepts a system message; otherwise that text goes before the first question."""

    def chat_body(
        self, settings: ChatSettings, seed: int, messages: Messages, tokens: int
    ) -> dict[str, Any]:
        """A chat request."""
        if not self.has_system:
            messages = move_system_message(messages)
        body = {"model": self.model, "messages": messages, self.max_tokens_field: tokens}
        if self.has_temperature:
            body["temperature"] = settings.temperature
        if settings.temperature:
            body["seed"] = seed
        return body | settings.extra

    def constraint(self, schema: dict[str, Any], keys: Iterable[str] = ()) -> dict[str, Any]:
        """The fields that restrict an answer to a schema, or to one of the keys."""
        named = {"name": "answer", "strict": True, "schema": schema}
        choices = " | ".join(f'"{key}"' for key in keys)
        fields: dict[str, dict[str, Any]] = {
            "logprob": {"logprobs": True, "top_logprobs": self.top_logprobs},
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": named}},
            "structured_outputs": {"structured_outputs": {"json": schema}},
            "guided_json": {"guided_json": schema},
            "json_object": {"response_format": {"type": "json_object"}},
            "grammar": {"grammar": f"root ::= {choices}"},
        }
        return fields.get(self.method, {})

    def echo_body(self, settings: ChatSettings, prompt: str, key: str) -> dict[str, Any]:
        """A request that sends the prompt back with the log-probability of each of its tokens."""
        body = {
            "model": self.model,
            "prompt": f"{prompt} {key}",
            "max_tokens": 1,
            "echo": True,
            "logprobs": 1,
            "temperature": 0.0,
        }
        return body | settings.extra

    def adapt(self, objection: str) -> RequestStyle:
        """The style without the field that the server rejects; unchanged if that field is not known."""
        words = objection.casefold()
        if "max_completion_tokens" in words and self.max_tokens_field == "max_tokens":
            return replace(self, max_tokens_field="max_completion_tokens")
        if "temperature" in words:
            return replace(self, has_temperature=False)
        return replace(self, has_system=False) if "system" in words else self


def _list_methods(questions: AnswerTraits, settings: ChatSettings) -> list[str]:
    """The methods to try for a kind of task, best first."""
    by_logprobs, constrained = [], []
    if questions.is_choice:
        by_logprobs = ["logprob", "echo"] if questions.by_letter else ["echo"]
    if questions.is_constrained:
        constrained = [*SCHEMAS]
        if questions.by_letter:
            constrained.append("grammar")
        elif questions.is_structured:
            constrained.append("json_object")
    if settings.how == "logprob" and questions.is_choice:
        return by_logprobs
    if settings.how == "constrained" and questions.is_constrained:
        return constrained
    if settings.how == "parse" or settings.extract:
        return ["parse"]
    return [*(by_logprobs if questions.by_letter else []), *constrained, "parse"]


async def find_style(
    session: Prober, model: str, questions: AnswerTraits, seed: int
) -> RequestStyle:
    """The best way this server supports for this kind of task."""
    style = await find_accepted_style(session, RequestStyle(model), seed)
    methods = _list_methods(questions, session.settings)
    for method in methods:
        for top_logprobs in TOP_LOGPROBS if method == "logprob" else TOP_LOGPROBS[:1]:
            candidate = replace(style, method=method, top_logprobs=top_logprobs)
            if await supports_method(session, candidate, seed):
                return candidate
    missing = "log-probabilities" if "echo" in methods else "answers constrained by a schema"
    raise BadInput(f"the server does not return {missing} for {model}", cure="set how to auto")


async def find_accepted_style(session: Prober, style: RequestStyle, seed: int) -> RequestStyle:
    """Send a plain request, and drop the fields that the server rejects."""
    for _ in range(4):
        tokens = max(PROBE_TOKENS, session.settings.max_tokens or 0)
        messages = _ask_briefly("Reply with the letter A.")
        body = style.chat_body(session.settings, seed, messages, tokens)
        reply = await session.probe(CHAT, body, tokens)
        if not reply.error:
            return style
        adapted = style.adapt(reply.text)
        if adapted == style:
            raise RequestProblem(reply.text, "stop", status=reply.error)
        style = adapted
    raise RequestProblem("the server rejects every kind of request", "stop")


def _ask_briefly(text: str) -> Messages:
    return [
        {"role": "system", "content": "You answer in as few characters as you can."},
        {"role": "user", "content": text},
    ]


async def supports_method(session: Prober, style: RequestStyle, seed: int) -> bool:
    """Whether the server does what the method of the style needs."""
    settings = session.settings
    if style.method == "parse":
        return True
    if style.method == "echo":
        body = style.echo_body(settings, "A B A B A B A", "B")
        reply = await session.probe(COMPLETIONS, body, 1)
        return not reply.error and sum_echoed_tokens(reply, "B") is not None
    if style.method == "logprob":
        text, tokens = "Reply with the letter A.", CHOICE_TOKENS
    else:
        text = "Say hello to the sea (as JSON)."
        tokens = max(PROBE_TOKENS, settings.max_tokens or 0)
    body = style.chat_body(settings, seed, _ask_briefly(text), tokens)
    reply = await session.probe(CHAT, body | style.constraint(_SCHEMA, _WORDS), tokens)
    if reply.error:
        return False
    # some servers ignore fields they do not know, so the reply itself must show the ability
    if style.method == "logprob":
        return bool(weigh_first_tokens(reply, _LETTERS))
    if style.method == "grammar":
        return reply.text.strip() in _WORDS
    value = find_json(reply.text)
    if value is None:
        return False
    return style.method == "json_object" or value.get("answer") in _WORDS
