"""The model itself: what is kept between calls, and how an asking begins and ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.models.base import Setup, not_fitted_error, read_settings
from nikawa.models.chat.abilities import (
    CHAT,
    CHOICE_TOKENS,
    COMPLETIONS,
    SCHEMAS,
    RequestStyle,
    echo_body,
    find_style,
)
from nikawa.models.chat.client import Client, hide_secret, open_http
from nikawa.models.chat.journal import Journal, Reply
from nikawa.models.chat.logprobs import softmax, sum_echoed_tokens, to_shares, weigh_first_tokens
from nikawa.models.chat.prompts import draw_shots, drop_same_question, find_template
from nikawa.models.chat.questions import (
    ChoiceQuestions,
    DialogueQuestions,
    LabelQuestions,
    Questions,
    ReadingQuestions,
    RelationQuestions,
    SimilarityQuestions,
    TaggingQuestions,
    TreeQuestions,
)
from nikawa.models.chat.reading import (
    Options,
    Unreadable,
    find_json,
    is_refusal,
    quote,
    strip_thoughts,
)
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.session import FailedItems, Session, run_all, run_async, teller
from nikawa.models.chat.settings import ChatSettings
from nikawa.models.chat.usage import Usage
from nikawa.records import Example, Kind, Prediction, Task

TOO_LONG = "too long"
"""The kind of reason of a question that the server refuses for its length."""


class Asker:
    """The questions of one task to one model."""

    def __init__(
        self,
        model: str,
        form: Questions,
        settings: ChatSettings,
        seed: int,
        shots: Sequence[Example],
    ) -> None:
        self.form, self.settings, self.seed, self.drawn = form, settings, seed, shots
        self.manner = RequestStyle(model)
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
        self.manner = await find_style(session, self.manner.model, self.form, self.seed)

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
        kept = {
            id(shot)
            for shot in drop_same_question(self.form.task, self.drawn, example, self._count())
        }
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
        except RequestProblem as problem:
            if not problem.long:
                raise
            return Prediction(example=example.id, why=f"{TOO_LONG}: {problem.what}")

    async def _ask(self, session: Session, example: Example) -> Prediction:
        options = self.form.options(example)
        messages = self.messages(example)
        if self.manner.way == "echo" and options is not None:
            return await self._by_echo(session, example, messages, options)
        chosen = self.manner.way == "logprob"
        tokens = CHOICE_TOKENS if chosen else self.tokens
        body = self.manner.body(self.settings, self.seed, messages, tokens)
        keys = options.keys if options else ()
        schema = {} if chosen or self.manner.way == "parse" else self.form.schema(example)
        reply = await session.reply(CHAT, body | self.manner.held(schema, keys), tokens)
        if chosen and options is not None and not reply.refusal:
            found = weigh_first_tokens(reply, options.keys)
            if found:
                return _best(
                    example,
                    options,
                    to_shares({key: found.get(key, 0.0) for key in options.keys}),
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
            value = sum_echoed_tokens(reply, key)
            if value is None:
                return Prediction(
                    example=example.id, why=f"unparsable: no log-probability of {key!r}"
                )
            found[key] = value
        return _best(example, options, softmax(found), None)

    def read(self, example: Example, reply: Reply) -> Prediction:
        """The answer in a reply, or none with the reason; what was said is kept."""
        if reply.refusal or reply.finish == "content_filter":
            why = f"refusal: {quote(reply.refusal or 'content filter')}"
            return Prediction(example=example.id, raw=reply.text or None, why=why)
        text, cut = strip_thoughts(reply.text), reply.finish == "length"
        # of a text that was cut, the lines before the last are whole
        whole = (
            text
            if not cut or find_json(text, (dict, list)) is not None
            else text.rpartition("\n")[0]
        )
        try:
            return Prediction(
                example=example.id, answer=self.form.read(example, whole), raw=reply.text
            )
        except Unreadable as problem:
            why = (
                "length"
                if cut
                else f"refusal: {quote(text)}"
                if is_refusal(text)
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


USAGE_FILE = "usage.json"
QUESTIONS: dict[Kind, type[Questions]] = {
    "text": LabelQuestions,
    "inference": LabelQuestions,
    "similarity": SimilarityQuestions,
    "choice": ChoiceQuestions,
    "reading": ReadingQuestions,
    "tagging": TaggingQuestions,
    "relation": RelationQuestions,
    "tree": TreeQuestions,
    "dialogue": DialogueQuestions,
}
OUTSIDE = (
    "key_env",
    "auth",
    "concurrency",
    "retries",
    "wait",
    "patience",
    "timeout",
    "cache",
    "price_in",
    "price_out",
    "budget",
)
"""Settings that change how questions are sent, never what is asked."""
SHORTER = "ask with fewer shots, a shorter prompt or a smaller max_tokens, or give the server a longer context"
SAMPLE_EXAMPLES = 200
"""Examples looked at to tell the language of the texts."""


class Chat:
    """The model; `usage` and `about()` tell what it used and how it asked."""

    def __init__(self, setup: Setup) -> None:
        self.name = f"chat:{setup.argument}"
        self.setup = setup
        self.settings = read_settings(ChatSettings, setup)
        if not self.settings.base_url:
            raise BadInput(
                f"{self.name} needs the address of a server",
                cure="say --base-url URL; in Python, set base_url",
            )
        self._pool: tuple[Task, Sequence[Example]] | None = None
        self._usage = Usage()
        self._asked: dict[str, Any] = {}

    @property
    def usage(self) -> dict[str, Any]:
        """Requests, tokens, money, and the questions without an answer by reason."""
        return self._usage.as_dict()

    def about(self) -> dict[str, Any]:
        """How the questions were asked, and what that used."""
        return {
            "model": self.name,
            "base_url": self.settings.base_url,
            **self._asked,
            "usage": self.usage,
        }

    def fit(self, task: Task, examples: Sequence[Example], dev: Sequence[Example] = ()) -> None:
        """Keep the examples that shots are drawn from; nothing is learned."""
        draw_shots(task, examples, self.settings.shots, self.setup.seed)
        self._pool = (task, examples)

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        """One answer an example; those asked before, in this run or a killed one, are not asked again."""
        if self.settings.shots and self._pool is None:
            raise not_fitted_error(self.name, task)
        if not examples:
            return []
        asker = self._asker(task, examples)
        try:
            with Journal(self.setup.folder) as own, Journal(self._cache()) as shared:
                self._usage.recount(own.replies.values(), self.settings)
                answers = run_async(lambda: self._predict(asker, examples, own, shared))
        except FailedItems as failure:
            raise self._failed(failure, examples) from None
        except RequestProblem as problem:
            raise BadInput(problem.what, cure=self._cure(problem)) from None
        finally:
            self._asked = asker.about()
            self._write_usage()
        self._refuse_all_long(answers)
        self._count(answers)
        self._write_usage()
        return answers

    def _asker(self, task: Task, examples: Sequence[Example]) -> Asker:
        told = self.settings.language
        language = detect_language(task, examples) if told == "auto" else told
        template = find_template(task, language, self.settings.prompt)
        pool = self._pool[1] if self._pool else ()
        form = QUESTIONS[task.kind](task, template, language, pool)
        shots = draw_shots(task, pool, self.settings.shots, self.setup.seed)
        return Asker(self.setup.argument, form, self.settings, self.setup.seed, shots)

    async def _predict(
        self, asker: Asker, examples: Sequence[Example], own: Journal, shared: Journal
    ) -> list[Prediction]:
        async with open_http(self.settings) as http:
            client = Client(http, self.settings, self._usage)
            session = Session(client, own, shared)
            with hide_secret(client.secret):
                await asker.prepare(session)
                return await run_all(
                    len(examples),
                    lambda i: asker.ask(session, examples[i]),
                    self.settings.concurrency,
                    teller(self.setup.progress, f"asking {self.name}", len(examples)),
                )

    def _cache(self) -> Path | None:
        """The shared folder, unless it is the run's own."""
        folder = Path(self.settings.cache) if self.settings.cache else None
        own = self.setup.folder
        return None if own and folder and own.resolve() == folder.resolve() else folder

    def _failed(self, failure: FailedItems, examples: Sequence[Example]) -> BadInput:
        place, problem = min(failure.failed.items())
        what = f"{len(failure.failed)} of {failure.count} questions failed; example {examples[place].id!r}: {problem.what}"
        return BadInput(what, cure=self._cure(problem))

    def _refuse_all_long(self, answers: Sequence[Prediction]) -> None:
        """Where no question fits, it is the asking that must change: that is no result."""
        reasons = [answer.why or "" for answer in answers]
        if len(answers) > 1 and all(why.startswith(f"{TOO_LONG}:") for why in reasons):
            what = f"all {len(answers)} questions are too long for {self.name}: {reasons[0].partition(': ')[2]}"
            raise BadInput(what, cure=SHORTER)

    def _cure(self, problem: RequestProblem) -> str:
        settings = self.settings
        again = "start again: the answers so far are kept"
        if problem.status in (401, 403):
            return f"put a valid key into {settings.key_env}"
        if problem.status in (404, 405) or 300 <= problem.status < 400:
            return f"check base_url ({settings.base_url}) and the name {self.setup.argument!r}"
        if problem.then == "item":
            return (
                f"shorten the question (fewer shots, another prompt) or leave it out, then {again}"
            )
        if problem.status:
            return again
        return f"is a server running at {settings.base_url}? Then {again}"

    def _count(self, answers: Sequence[Prediction]) -> None:
        reasons = Counter(answer.why.partition(":")[0] for answer in answers if answer.why)
        for reason, count in reasons.items():
            self._usage.none[reason] = self._usage.none.get(reason, 0) + count

    def _write_usage(self) -> None:
        if self.setup.folder is not None and self.setup.folder.is_dir():
            with atomic_write(self.setup.folder / USAGE_FILE, overwrite=True) as stream:
                stream.write(
                    msgspec.json.format(msgspec.json.encode(self.about()), indent=2) + b"\n"
                )


def detect_language(task: Task, examples: Sequence[Example]) -> str:
    """`ja`, `ko` or `en`, by the script of most texts."""
    votes = Counter(
        _script(_letters(e.inputs.get(name) for name in task.inputs))
        for e in examples[:SAMPLE_EXAMPLES]
    )
    return max(("ja", "ko", "en"), key=lambda name: votes[name])


def _letters(values: Any) -> str:
    return msgspec.json.encode([v for v in values if not hasattr(v, "start")]).decode()


def _script(text: str) -> str:
    if re.search(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]", text):
        return "ko"
    return "ja" if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text) else "en"
