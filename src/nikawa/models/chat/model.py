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
from nikawa.models.chat.ask import LONG, Asker
from nikawa.models.chat.client import Client, open_http, quiet_about
from nikawa.models.chat.questions import Choice, Labels, Relation
from nikawa.models.chat.questions import Dialogue, Tagging, Tree
from nikawa.models.chat.questions import Reading, Similarity
from nikawa.models.chat.questions import Form
from nikawa.models.chat.journal import Journal
from nikawa.models.chat.responses import Problem
from nikawa.models.chat.session import Failure, Session, all_of, run, teller
from nikawa.models.chat.settings import ChatSettings
from nikawa.models.chat.prompts import draw
from nikawa.models.chat.prompts import find_template
from nikawa.models.chat.usage import Usage
from nikawa.records import Example, Kind, Prediction, Task

USAGE = "usage.json"
FORMS: dict[Kind, type[Form]] = {
    "text": Labels,
    "inference": Labels,
    "similarity": Similarity,
    "choice": Choice,
    "reading": Reading,
    "tagging": Tagging,
    "relation": Relation,
    "tree": Tree,
    "dialogue": Dialogue,
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
SAMPLE = 200
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
        draw(task, examples, self.settings.shots, self.setup.seed)
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
                answers = run(lambda: self._predict(asker, examples, own, shared))
        except Failure as failure:
            raise self._failed(failure, examples) from None
        except Problem as problem:
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
        language = language_of(task, examples) if told == "auto" else told
        template = find_template(task, language, self.settings.prompt)
        pool = self._pool[1] if self._pool else ()
        form = FORMS[task.kind](task, template, language, pool)
        shots = draw(task, pool, self.settings.shots, self.setup.seed)
        return Asker(self.setup.argument, form, self.settings, self.setup.seed, shots)

    async def _predict(
        self, asker: Asker, examples: Sequence[Example], own: Journal, shared: Journal
    ) -> list[Prediction]:
        async with open_http(self.settings) as http:
            client = Client(http, self.settings, self._usage)
            session = Session(client, own, shared)
            with quiet_about(client.secret):
                await asker.prepare(session)
                return await all_of(
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

    def _failed(self, failure: Failure, examples: Sequence[Example]) -> BadInput:
        place, problem = min(failure.failed.items())
        what = f"{len(failure.failed)} of {failure.count} questions failed; example {examples[place].id!r}: {problem.what}"
        return BadInput(what, cure=self._cure(problem))

    def _refuse_all_long(self, answers: Sequence[Prediction]) -> None:
        """Where no question fits, it is the asking that must change: that is no result."""
        reasons = [answer.why or "" for answer in answers]
        if len(answers) > 1 and all(why.startswith(f"{LONG}:") for why in reasons):
            what = f"all {len(answers)} questions are too long for {self.name}: {reasons[0].partition(': ')[2]}"
            raise BadInput(what, cure=SHORTER)

    def _cure(self, problem: Problem) -> str:
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
            with atomic_write(self.setup.folder / USAGE, overwrite=True) as stream:
                stream.write(
                    msgspec.json.format(msgspec.json.encode(self.about()), indent=2) + b"\n"
                )


def language_of(task: Task, examples: Sequence[Example]) -> str:
    """`ja`, `ko` or `en`, by the script of most texts."""
    votes = Counter(
        _script(_letters(e.inputs.get(name) for name in task.inputs)) for e in examples[:SAMPLE]
    )
    return max(("ja", "ko", "en"), key=lambda name: votes[name])


def _letters(values: Any) -> str:
    return msgspec.json.encode([v for v in values if not hasattr(v, "start")]).decode()


def _script(text: str) -> str:
    if re.search(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]", text):
        return "ko"
    return "ja" if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", text) else "en"
