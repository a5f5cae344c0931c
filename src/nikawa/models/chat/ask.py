"""One question after the other: the messages, the request, and the prediction that its reply makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nikawa.models.chat.abilities import (
    CHAT,
    COMPLETIONS,
    FIRST_TOKENS,
    SCHEMAS,
    Manner,
    echo_body,
    find_manner,
)
from nikawa.models.chat.questions import Form
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.responses import Problem
from nikawa.models.chat.reading import Options, Unreadable, json_in, quoted, refuses, unthought
from nikawa.models.chat.scores import echoed, shares, softmax, weights
from nikawa.models.chat.session import Session
from nikawa.models.chat.settings import ChatSettings
from nikawa.models.chat.prompts import without
from nikawa.records import Example, Prediction

LONG = "too long"
"""The kind of reason of a question that the server refuses for its length."""


class Asker:
    """The questions of one task to one model."""

    def __init__(
        self, model: str, form: Form, settings: ChatSettings, seed: int, shots: Sequence[Example]
    ) -> None:
        self.form, self.settings, self.seed, self.drawn = form, settings, seed, shots
        self.manner = Manner(model)
        self.tokens = settings.max_tokens or form.tokens
        self._system = form.template.filled("system", form.common())
        self._turns = [self._turn(shot) for shot in shots]

    def about(self) -> dict[str, Any]:
        """What was asked, and how."""
        template = self.form.template
        return {
            "task": self.form.task.name,
            "how": self.manner.way,
            "language": self.form.language,
            "prompt": template.name,
            "prompt_version": template.version,
            "shots": [shot.id for shot in self.drawn[: self._count()]],
        }

    async def prepare(self, session: Session) -> None:
        """Find out how this server is best asked."""
        self.manner = await find_manner(session, self.manner.model, self.form, self.seed)

    def _count(self) -> int:
        return len(self.drawn) if self.settings.shots == "all" else self.settings.shots

    def _turn(self, shot: Example) -> tuple[str, str, str]:
        gold = shot.gold[self.form.task.question]
        question = self.form.template.filled("user", self.form.slots(shot))
        return question, self.form.shown(shot, gold, False), self.form.shown(shot, gold, True)

    def messages(self, example: Example) -> list[dict[str, str]]:
        """The instruction, the shots as turns, and the question."""
        found = [{"role": "system", "content": self._system}] if self._system else []
        as_json = self.manner.way in (*SCHEMAS, "json_object")
        kept = {id(shot) for shot in without(self.form.task, self.drawn, example, self._count())}
        for shot, (question, plain, structured) in zip(self.drawn, self._turns, strict=True):
            if id(shot) in kept:
                found.append({"role": "user", "content": question})
                found.append({"role": "assistant", "content": structured if as_json else plain})
        asked = self.form.template.filled("user", self.form.slots(example))
        return [*found, {"role": "user", "content": asked}]

    async def ask(self, session: Session, example: Example) -> Prediction:
        """The prediction of one example; none, with the reason, where the server says that the question is too long."""
        try:
            return await self._ask(session, example)
        except Problem as problem:
            if not problem.long:
                raise
            return Prediction(example=example.id, why=f"{LONG}: {problem.what}")

    async def _ask(self, session: Session, example: Example) -> Prediction:
        options = self.form.options(example)
        messages = self.messages(example)
        if self.manner.way == "echo" and options is not None:
            return await self._by_echo(session, example, messages, options)
        chosen = self.manner.way == "logprob"
        tokens = FIRST_TOKENS if chosen else self.tokens
        body = self.manner.body(self.settings, self.seed, messages, tokens)
        keys = options.keys if options else ()
        schema = {} if chosen or self.manner.way == "parse" else self.form.schema(example)
        reply = await session.reply(CHAT, body | self.manner.held(schema, keys), tokens)
        if chosen and options is not None and not reply.refusal:
            found = weights(reply, options.keys)
            if found:
                return _best(
                    example,
                    options,
                    shares({key: found.get(key, 0.0) for key in options.keys}),
                    reply.text,
                )
        return self.read(example, reply)

    async def _by_echo(
        self, session: Session, example: Example, messages: list[dict[str, str]], options: Options
    ) -> Prediction:
        """The option that is the likeliest end of the prompt."""
        prompt, found = "\n\n".join(_plain(messages)), {}
        for key in options.keys:
            body = echo_body(self.manner, self.settings, prompt, key)
            reply = await session.reply(COMPLETIONS, body, 1)
            value = echoed(reply, key)
            if value is None:
                return Prediction(
                    example=example.id, why=f"unparsable: no log-probability of {key!r}"
                )
            found[key] = value
        return _best(example, options, softmax(found), None)

    def read(self, example: Example, reply: Reply) -> Prediction:
        """The answer in a reply, or none with the reason; what was said is kept."""
        if reply.refusal or reply.finish == "content_filter":
            why = f"refusal: {quoted(reply.refusal or 'content filter')}"
            return Prediction(example=example.id, raw=reply.text or None, why=why)
        text, cut = unthought(reply.text), reply.finish == "length"
        # of a text that was cut, the lines before the last are whole
        whole = (
            text if not cut or json_in(text, (dict, list)) is not None else text.rpartition("\n")[0]
        )
        try:
            return Prediction(
                example=example.id, answer=self.form.read(example, whole), raw=reply.text
            )
        except Unreadable as problem:
            why = (
                "length"
                if cut
                else f"refusal: {quoted(text)}"
                if refuses(text)
                else f"unparsable: {problem}"
            )
            return Prediction(example=example.id, raw=reply.text, why=why)


def _plain(messages: list[dict[str, str]]) -> list[str]:
    """The messages as one text: each answer stands after its question."""
    found: list[str] = []
    for message in messages:
        if message["role"] == "assistant":
            found[-1] += f" {message['content']}"
        else:
            found.append(message["content"])
    return found


def _best(
    example: Example, options: Options, scores: dict[str, float], raw: str | None
) -> Prediction:
    best = max(options.keys, key=lambda key: scores[key])
    named = {
        str(value): scores[key] for key, value in zip(options.keys, options.values, strict=True)
    }
    return Prediction(
        example=example.id, answer=options.values[options.keys.index(best)], scores=named, raw=raw
    )
