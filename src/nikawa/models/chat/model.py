"""The chat model: sends the questions of a task, and keeps its state between calls.

`Asker` has the questions of one task: the messages, the request, and the prediction that its reply
makes. `Chat` is the model: it opens the journal and the connections, asks all examples, and reports
failures and usage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from nikawa.errors import BadInput
from nikawa.io.answers.extract import read_extracts
from nikawa.io.answers.replies import blank_thoughts, find_json, quote
from nikawa.io.atomic import atomic_write
from nikawa.models.base import Setup, not_fitted_error, read_settings
from nikawa.models.chat.abilities import (
    CHAT,
    CHOICE_TOKENS,
    COMPLETIONS,
    SCHEMAS,
    Prober,
    RequestStyle,
    find_style,
)
from nikawa.models.chat.client import Client, hide_secret, open_http
from nikawa.models.chat.conversation import (
    Conversation,
    Messages,
    begin_conversation,
    join_messages,
    read_answer,
)
from nikawa.models.chat.estimate import RequestCounter, RequestEstimate
from nikawa.models.chat.journal import Journal, Reply
from nikawa.models.chat.logprobs import softmax, sum_echoed_tokens, to_shares, weigh_first_tokens
from nikawa.models.chat.prompts import draw_shots
from nikawa.models.chat.questions import AnswerOptions
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.session import FailedItems, Session, run_all, run_async
from nikawa.models.chat.settings import ChatSettings
from nikawa.models.chat.usage import Budget, Usage
from nikawa.models.secrets import fill_in_secrets
from nikawa.records import Example, Prediction, Task

T = TypeVar("T")
USAGE_FILE = "usage.json"
TOO_LONG = "too long"
"""The reason if the server refuses a question because of its length."""
TOO_LONG_CURE = "use fewer shots, a shorter prompt or a smaller max_tokens, or start the server with a longer context"


class ChatRequest(NamedTuple):
    """One request, as `Session.reply` takes it."""

    path: str
    body: dict[str, Any]
    tokens: int
    """The maximum tokens of its answer."""


class Asker:
    """The questions of one task to one model."""

    def __init__(
        self,
        model: str,
        conversation: Conversation,
        settings: ChatSettings,
        seed: int,
    ) -> None:
        self.conversation, self.settings, self.seed = conversation, settings, seed
        self.questions = questions = conversation.questions
        self._read = read_extracts(questions.reader, settings.extract)
        self.style = RequestStyle(model)
        self.tokens = settings.max_tokens or questions.tokens
        self._shot_answers: dict[tuple[int, bool], str] = {}
        for shot in conversation.shots:  # refuses an unusable label before anything is sent
            self._format_shot(shot)

    def about(self) -> dict[str, Any]:
        """The questions that were sent, and how."""
        about = self.conversation.about()
        return {"task": about["task"], "how": self.style.method, **about}

    async def prepare(self, session: Prober) -> None:
        """Find the best answer method of this server."""
        self.style = await find_style(session, self.style.model, self.questions, self.seed)

    def messages(self, example: Example) -> Messages:
        """The instruction, the shots as turns, and the question."""
        return self.conversation.messages(example, self._format_shot)

    def _format_shot(self, shot: Example) -> str:
        """The answer of a shot, as JSON where answers are; formatted once."""
        as_json = self.style.method in (*SCHEMAS, "json_object")
        key = (id(shot), as_json)
        if key not in self._shot_answers:
            gold = shot.gold[self.questions.task.question]
            self._shot_answers[key] = self.questions.format_gold(shot, gold, as_json)
        return self._shot_answers[key]

    def requests(self, example: Example) -> list[ChatRequest]:
        """Every request that an example needs: up to one per option."""
        options = self.questions.options(example)
        if self.style.method == "echo" and options is not None:
            return list(self.echo_requests(example, options).values())
        return [self.chat_request(example, options)]

    def chat_request(self, example: Example, options: AnswerOptions | None) -> ChatRequest:
        """The chat request of an example, in the style that the server is asked in."""
        by_logprobs = self.style.method == "logprob"
        tokens = CHOICE_TOKENS if by_logprobs else self.tokens
        body = self.style.chat_body(self.settings, self.seed, self.messages(example), tokens)
        needs_schema = not by_logprobs and self.style.method != "parse"
        schema = self.questions.schema(example) if needs_schema else {}
        body |= self.style.constraint(schema, options.keys if options else ())
        return ChatRequest(CHAT, body, tokens)

    def echo_requests(self, example: Example, options: AnswerOptions) -> dict[str, ChatRequest]:
        """For the key of each option, the request that echoes the prompt with it."""
        prompt = join_messages(self.messages(example))
        return {
            key: ChatRequest(COMPLETIONS, self.style.echo_body(self.settings, prompt, key), 1)
            for key in options.keys
        }

    async def ask(self, session: Session, example: Example) -> Prediction:
        """The prediction of one example; none, with the reason, where the server says that the
        question is too long.
        """
        options = self.questions.options(example)
        try:
            if self.style.method == "echo" and options is not None:
                return await self._ask_by_echo(session, example, options)
            return await self._ask_by_chat(session, example, options)
        except RequestProblem as problem:
            if not problem.is_too_long:
                raise
            return Prediction(example=example.id, why=f"{TOO_LONG}: {problem.what}")

    async def _ask_by_chat(
        self, session: Session, example: Example, options: AnswerOptions | None
    ) -> Prediction:
        """The answer in the reply to a chat request, by log-probabilities where they choose."""
        by_logprobs = self.style.method == "logprob"
        reply = await session.reply(*self.chat_request(example, options))
        if by_logprobs and options is not None and not reply.refusal:
            weights = weigh_first_tokens(reply, options.keys)
            if weights:
                shares = to_shares({key: weights.get(key, 0.0) for key in options.keys})
                return _choose_best(example, options, shares, reply.text)
        return self.read(example, reply)

    async def _ask_by_echo(
        self, session: Session, example: Example, options: AnswerOptions
    ) -> Prediction:
        """The option that is the likeliest end of the prompt."""
        logprobs = {}
        for key, request in self.echo_requests(example, options).items():
            reply = await session.reply(*request)
            value = sum_echoed_tokens(reply, key)
            if value is None:
                why = f"unparsable: no log-probability of {key!r}"
                return Prediction(example=example.id, why=why)
            logprobs[key] = value
        return _choose_best(example, options, softmax(logprobs), None)

    def read(self, example: Example, reply: Reply) -> Prediction:
        """The answer in a reply, or none with the reason; the model's text is kept."""
        if reply.refusal or reply.finish == "content_filter":
            why = f"refusal: {quote(reply.refusal or 'content filter')}"
            return Prediction(example=example.id, raw=reply.text or None, why=why)
        text, was_cut = reply.text, reply.finish == "length"
        if was_cut and find_json(blank_thoughts(text), (dict, list)) is None:
            text = text.rpartition("\n")[0]  # the lines before the last are whole
        return read_answer(self._read, example, text, was_cut=was_cut, raw=reply.text)


def _choose_best(
    example: Example, options: AnswerOptions, shares: dict[str, float], raw: str | None
) -> Prediction:
    """The likeliest option, with the shares of all by their values."""
    best = max(options.keys, key=lambda key: shares[key])
    scores = {}
    for key, value in zip(options.keys, options.values, strict=True):
        scores[str(value)] = shares[key]
    answer = options.values[options.keys.index(best)]
    return Prediction(example=example.id, answer=answer, scores=scores, raw=raw)


class Chat:
    """The model; `usage` and `about()` report its usage and its settings."""

    def __init__(self, setup: Setup) -> None:
        self.name = f"chat:{setup.argument}"
        self.setup = setup
        settings = read_settings(ChatSettings, setup)
        self.settings = replace(settings, extra=fill_in_secrets(settings.extra))
        if not self.settings.base_url:
            cure = "pass --base-url URL; in Python, set base_url"
            raise BadInput(f"{self.name} needs the address of a server", cure=cure)
        self._pool: Sequence[Example] | None = None
        self._usage = Usage()
        if setup.folder is not None:
            self._usage.resume(setup.folder / USAGE_FILE)
        self._unstored = Journal(None)
        """The replies of a model without a folder: further calls ask nothing twice either."""
        self._about_asker: dict[str, Any] = {}

    @property
    def usage(self) -> dict[str, Any]:
        """Requests, tokens, money, and the questions without an answer by reason."""
        return self._usage.as_dict()

    def about(self) -> dict[str, Any]:
        """How the questions were asked, and what that used."""
        return {
            "model": self.name,
            "base_url": self.settings.base_url,
            **self._about_asker,
            "usage": self.usage,
        }

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Keep the examples that shots are drawn from; nothing is learned."""
        draw_shots(task, examples, self.settings.shots, self.setup.seed)
        self._pool = examples

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """One answer per example.

        Those asked before, in this run or a killed one, are not asked again.
        """
        if self.settings.shots and self._pool is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        asker = self._make_asker(task, examples)
        try:
            answers = self.converse(
                asker.prepare,
                lambda session, place: asker.ask(session, examples[place]),
                [example.id for example in examples],
            )
        finally:
            self._about_asker = asker.about()
            self._write_usage()
        self._refuse_all_too_long(answers)
        reasons = Counter(answer.why.partition(":")[0] for answer in answers if answer.why)
        for reason, count in reasons.items():
            self._usage.none[reason] = self._usage.none.get(reason, 0) + count
        self._write_usage()
        return answers

    def converse(
        self,
        prepare: Callable[[Session], Awaitable[None]],
        ask: Callable[[Session, int], Awaitable[T]],
        ids: Sequence[str],
    ) -> list[T]:
        """The results of `ask` for the place of each item of `ids`, many at a time, after `prepare`.

        Replies on disk are not asked for again. Raises `BadInput` with a cure if a request fails for good or the
        budget is spent; the replies so far are kept.
        """
        try:
            with self._open_journal() as own, Journal(self._shared_folder()) as shared:
                self._usage.recount(own.replies.values(), self.settings)
                with self._open_budget(own) as budget:
                    return run_async(
                        lambda: self._ask_all(prepare, ask, len(ids), own, shared, budget)
                    )
        except FailedItems as failure:
            place, problem = min(failure.problems.items())
            failed = f"{len(failure.problems)} of {failure.count} questions failed"
            what = f"{failed}; example {ids[place]!r}: {problem.what}"
            raise BadInput(what, cure=self._find_cure(problem)) from None
        except RequestProblem as problem:
            raise BadInput(problem.what, cure=self._find_cure(problem)) from None

    def estimate(
        self, task: Task, examples: Sequence[Example], planned: set[str]
    ) -> RequestEstimate:
        """Estimate the requests and cost of `predict`; sends nothing and writes nothing.

        `planned` holds the keys of requests that will be sent before this call, so that their replies will
        be on disk; the keys of this call are added.
        """
        if not examples:
            return RequestEstimate()
        asker = self._make_asker(task, examples)
        own, shared = Journal(self.setup.folder), Journal(self._shared_folder())
        counter = RequestCounter(self.settings, own.read_only() | shared.read_only(), planned)
        run_async(lambda: asker.prepare(counter))
        is_open = self.settings.how == "auto" and asker.style.method != "parse"
        if counter.estimate.requests and is_open:
            counter.estimate.assumed = asker.style.method
        for example in examples:
            for request in asker.requests(example):
                counter.count(*request)
        counter.estimate.correct(self.settings)
        return counter.estimate

    def _make_asker(self, task: Task, examples: Sequence[Example]) -> Asker:
        seed = self.setup.seed
        conversation = begin_conversation(task, examples, self._pool or (), self.settings, seed)
        return Asker(self.setup.argument, conversation, self.settings, seed)

    async def _ask_all(
        self,
        prepare: Callable[[Session], Awaitable[None]],
        ask: Callable[[Session, int], Awaitable[T]],
        total: int,
        own: Journal,
        shared: Journal,
        budget: Budget,
    ) -> list[T]:
        async with open_http(self.settings) as http:
            client = Client(http, self.settings, self._usage)
            session = Session(client, own, shared, budget)
            with hide_secret(client.secret):
                await prepare(session)
                return await run_all(
                    total,
                    lambda i: ask(session, i),
                    self.settings.concurrency,
                    lambda done: self.setup.progress(f"querying {self.name}", done, total),
                )

    def _open_journal(self) -> Journal:
        folder = self.setup.folder
        return self._unstored if folder is None else Journal(folder)

    @contextmanager
    def _open_budget(self, own: Journal) -> Iterator[Budget]:
        """The budget that this model shares with others, including earlier payments."""
        folder = self.setup.folder
        part = "" if folder is None else folder.name
        budget = Budget(self.settings, self._usage, self.setup.spending, part)
        budget.begin(own.replies.values())
        try:
            yield budget
        finally:
            budget.ledger.close()

    def _shared_folder(self) -> Path | None:
        """The folder of replies that runs share, unless it is the run's own."""
        if not self.settings.cache:
            return None
        shared, own = Path(self.settings.cache), self.setup.folder
        return None if own and own.resolve() == shared.resolve() else shared

    def _refuse_all_too_long(self, answers: Sequence[Prediction]) -> None:
        """Refuse if every question is too long: then the settings must change, and there is no result."""
        reasons = [answer.why or "" for answer in answers]
        if len(answers) > 1 and all(why.startswith(f"{TOO_LONG}:") for why in reasons):
            reason = reasons[0].partition(": ")[2]
            what = f"all {len(answers)} questions are too long for {self.name}: {reason}"
            raise BadInput(what, cure=TOO_LONG_CURE)

    def _find_cure(self, problem: RequestProblem) -> str:
        settings = self.settings
        again = "run the same command again: it keeps the answers so far"
        if problem.status in (401, 403):
            return f"set a valid key in {settings.key_env}"
        if problem.status in (404, 405) or 300 <= problem.status < 400:
            return f"check base_url ({settings.base_url}) and the name {self.setup.argument!r}"
        if problem.action == "item":
            shorter = "shorten the prompt (fewer shots, another template) or drop the example"
            return f"{shorter}, then {again}"
        if problem.status:
            return again
        return f"check that a server is running at {settings.base_url}, then {again}"

    def _write_usage(self) -> None:
        if self.setup.folder is not None and self.setup.folder.is_dir():
            formatted = msgspec.json.format(msgspec.json.encode(self.about()), indent=2)
            with atomic_write(self.setup.folder / USAGE_FILE, overwrite=True) as stream:
                stream.write(formatted + b"\n")
