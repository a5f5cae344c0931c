"""Interviews held with a model: `chat:` over HTTP, `lm:` on this machine.

Both use what `nikawa run` uses: the client with its retries, budget, ledger and journal of replies, and the engine with
its schemas. An answer that breaks a rule of the form is asked for again in the same conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from nikawa.errors import BadInput, unknown
from nikawa.io.answers.replies import quote
from nikawa.judging.interview import ClosedField, Interview, Reading
from nikawa.models.base import Progress, Setup, SpendingScope, ignore_progress
from nikawa.models.chat.abilities import CHAT, SCHEMAS, RequestStyle, find_style
from nikawa.models.chat.ledger import LEDGER_FILE
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.session import Session
from nikawa.models.chat.settings import is_loopback
from nikawa.records import Record

CLOSED_TOKENS, OPEN_TOKENS = 128, 1024
"""Most tokens of a reply, by whether all questions are closed."""
KINDS = ("chat", "lm")
ACCOUNT = "judge"
"""The name under which the ledger of a folder keeps what was paid."""


class Try(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One reply of a model."""

    reply: str
    tokens_in: int = 0
    tokens_out: int = 0
    told: str = ""
    """What the model read next, if the reply was not accepted."""


@dataclass
class Outcome:
    """What came of an interview."""

    answer: dict[str, Any] | None = None
    why: str = ""
    """Why there is no answer."""
    tries: list[Try] = field(default_factory=list)
    cost: float = 0.0


class Machine(Protocol):
    """A model that can be interviewed."""

    name: str
    """As it was named, such as `chat:gemma`."""
    is_remote: bool
    """Whether questions leave this machine."""

    def hold(self, interviews: Sequence[Interview], tries: int) -> list[Outcome]:
        """The outcome of each interview, with up to so many replies each."""
        ...

    def about(self) -> dict[str, Any]:
        """How it was asked, and what that used."""
        ...


def open_machine(
    name: str,
    settings: dict[str, Any],
    folder: Path | None,
    seed: int,
    progress: Progress = ignore_progress,
) -> Machine:
    """The model `chat:NAME` or `lm:PATH`; `folder` keeps its replies.

    Raises `BadInput` for another kind of model, and for settings that it does not have.
    """
    kind, colon, argument = name.partition(":")
    if kind not in KINDS or not colon or not argument:
        if kind not in KINDS:
            raise unknown("kind of model that can judge", kind, KINDS)
        raise BadInput(f"{name!r} names no model", cure=f"write {kind}:NAME")
    scope = None if folder is None else SpendingScope(folder / LEDGER_FILE, ACCOUNT)
    setup = Setup(argument, seed, settings, folder, progress, spending=scope)
    if kind == "chat":
        return ChatMachine(setup)
    from nikawa.models.lm.checkpoint import check_language_model

    check_language_model(argument)
    return LocalMachine(setup)


def count_tokens(interview: Interview) -> int:
    """The most tokens a reply may take."""
    is_closed = all(isinstance(one, ClosedField) for one in interview.fields)
    return CLOSED_TOKENS if is_closed else OPEN_TOKENS


class StructuredReplies:
    """What a form asks for, as `find_style` looks at it: JSON under a schema."""

    is_choice = False
    by_letter = False
    is_structured = True
    is_constrained = True


class ChatMachine:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, setup: Setup) -> None:
        from nikawa.models.chat.model import Chat

        self.chat = Chat(setup)
        self.name, self.settings = self.chat.name, self.chat.settings
        self.is_remote = not is_loopback(self.settings.base_url)
        self._style = RequestStyle(setup.argument)
        self._seed = setup.seed

    def about(self) -> dict[str, Any]:
        """The address, the way of asking, and requests, tokens and cost."""
        return {**self.chat.about(), "how": self._style.method}

    async def _prepare(self, session: Session) -> None:
        self._style = await find_style(session, self._style.model, StructuredReplies(), self._seed)

    def hold(self, interviews: Sequence[Interview], tries: int) -> list[Outcome]:
        """Many interviews at a time; replies on disk are not asked for again."""

        async def ask(session: Session, place: int) -> Outcome:
            return await self._hold_one(session, interviews[place], tries)

        names = [interview.example.id for interview in interviews]
        return self.chat.converse(self._prepare, ask, names)

    async def _hold_one(self, session: Session, interview: Interview, tries: int) -> Outcome:
        outcome, messages, copy = Outcome(), interview.messages, interview.copy
        settings = replace(self.settings, temperature=copy.temperature)
        tokens = settings.max_tokens or count_tokens(interview)
        for _ in range(tries):
            body = self._style.chat_body(settings, copy.seed, messages, tokens)
            if self._style.method in (*SCHEMAS, "json_object"):
                body |= self._style.constraint(interview.schema)
            try:
                reply = await session.reply(CHAT, body, tokens)
            except RequestProblem as problem:
                if not problem.is_too_long:
                    raise
                outcome.why = f"too long: {problem.what}"
                return outcome
            used = (reply.tokens_in + reply.max_tokens_in, reply.tokens_out + reply.max_tokens_out)
            outcome.cost += settings.cost_of(*used)
            text = reply.text
            if reply.refusal or reply.finish == "content_filter":
                outcome.tries.append(
                    Try(reply=text or reply.refusal, tokens_in=used[0], tokens_out=used[1])
                )
                outcome.why = f"refusal: {quote(reply.refusal or 'content filter')}"
                return outcome
            reading = _read(interview, text, was_cut=reply.finish == "length")
            if _note(outcome, reading, text, *used):
                return outcome
            messages = interview.correct(messages, text, reading)
        return outcome


class LocalMachine:
    """A language model on this machine."""

    is_remote = False

    def __init__(self, setup: Setup) -> None:
        from nikawa.models.lm.replies import open_replier

        self.name = f"lm:{setup.argument}"
        self.replier = open_replier(setup)
        self._requests = self._tokens_in = self._tokens_out = 0

    def about(self) -> dict[str, Any]:
        """Requests and tokens, and what the reader should know."""
        usage = {
            "requests": self._requests,
            "tokens_in": self._tokens_in,
            "tokens_out": self._tokens_out,
        }
        notes = list(self.replier.warnings)
        return {"model": self.name, "usage": usage, **({"notes": notes} if notes else {})}

    def hold(self, interviews: Sequence[Interview], tries: int) -> list[Outcome]:
        """All interviews in rounds: who answered against a rule is asked again in the next one."""
        from nikawa.models.lm.replies import ReplyRequest

        outcomes = [Outcome() for _ in interviews]
        messages = [interview.messages for interview in interviews]
        waiting = list(range(len(interviews)))
        for _ in range(tries):
            requests = [
                ReplyRequest(
                    messages[place],
                    interviews[place].schema,
                    self.replier.model.settings.max_tokens or count_tokens(interviews[place]),
                    interviews[place].copy.temperature,
                    interviews[place].copy.seed,
                )
                for place in waiting
            ]
            records = self.replier.reply(requests) if requests else []
            again = []
            for place, record in zip(waiting, records, strict=True):
                interview, outcome = interviews[place], outcomes[place]
                if record.text is None:
                    outcome.why = (
                        outcome.why
                        or f"too long: {record.tokens_in:,} tokens and no room for a reply"
                    )
                    continue
                self._requests += 1
                self._tokens_in += record.tokens_in
                self._tokens_out += record.tokens_out
                reading = _read(interview, record.text, was_cut=record.was_cut)
                if not _note(outcome, reading, record.text, record.tokens_in, record.tokens_out):
                    messages[place] = interview.correct(messages[place], record.text, reading)
                    again.append(place)
            waiting = again
        return outcomes


def _read(interview: Interview, text: str, *, was_cut: bool) -> Reading:
    reading = interview.read(text)
    if reading.answer is None and was_cut:
        return Reading(
            None, f"length: the reply was cut at {quote(text[-20:])}", reading.correction
        )
    return reading


def _note(outcome: Outcome, reading: Reading, text: str, tokens_in: int, tokens_out: int) -> bool:
    """Add a try to an outcome; whether the interview is over."""
    outcome.answer, outcome.why = reading.answer, reading.why
    outcome.tries.append(
        Try(reply=text, tokens_in=tokens_in, tokens_out=tokens_out, told=reading.correction)
    )
    return reading.answer is not None
