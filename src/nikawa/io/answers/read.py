"""Read the answers to a task from a file or a folder, in whichever form they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.answers.base import INDICES, Answers, Ask, Form, Given, Rows, fault
from nikawa.io.answers.fields import Unfit
from nikawa.io.answers.folder import answer_files
from nikawa.io.answers.parse import parser_of
from nikawa.io.answers.recognise import form_named, recognise
from nikawa.io.answers.scores import best, score_reader
from nikawa.io.answers.structures import with_tags
from nikawa.records import Example, Prediction, Tagged, Task

NOTHING = "the file gives no answer"


def read_answers(
    path: Path,
    task: Task,
    examples: Sequence[Example],
    *,
    form: str | None = None,
    numbered_labels: bool = False,
) -> Answers:
    """The answers of `path`, a file or a folder, to `task` asked of `examples`; see `AnswerFiles`."""
    files = AnswerFiles(path, task, form=form, numbered_labels=numbered_labels, keep_rows=False)
    return files.match(examples)


class AnswerFiles:
    """A file or a folder of answers to a task, to be held against one set of examples after the other.

    `form` forces a form, `form:option` says more (`lm-eval:strict-match`, `inspect:2`), `indices` or
    `form:indices` says that numbers are places in the task's labels. `numbered_labels` says the same of answers that
    come in order, without ids: the official tools of some datasets write them so. With `keep_rows` every file is
    parsed once and kept; without it, parsed each time and not kept.
    """

    def __init__(
        self,
        path: Path,
        task: Task,
        *,
        form: str | None = None,
        numbered_labels: bool = False,
        keep_rows: bool = True,
    ) -> None:
        self.path, self.task = path, task
        self._form, self._option = form_named(form) if form else (None, "")
        self._numbered_labels, self._keep_rows = numbered_labels, keep_rows
        self._parsed: dict[Path, tuple[Form, Rows]] = {}

    def match(self, examples: Sequence[Example]) -> Answers:
        """The answers to the task, asked of these examples."""
        files = answer_files(self.path, self.task) if self.path.is_dir() else [self.path]
        state = _State(Ask(self.task, examples, self._option), self._numbered_labels)
        forms = []
        for file in files:
            form, rows = self._parse(file)
            if form.ordered and len(files) > 1:
                raise BadInput(
                    "is a part without ids", file=file, cure="join the parts in order, or add ids"
                )
            state.read(file, form, rows)
            forms.append(form.name)
        return state.answers(forms[0])

    def _parse(self, file: Path) -> tuple[Form, Rows]:
        if file in self._parsed:
            return self._parsed[file]
        form = self._form or recognise(file)
        if not self._keep_rows:
            return form, form.parse(file)
        self._parsed[file] = form, _KeptRows(form.parse(file))
        return self._parsed[file]


class _KeptRows:
    """Rows that are parsed while they are first gone through, and kept for the next time."""

    def __init__(self, rows: Rows) -> None:
        self._rest, self._kept = iter(rows), list[tuple[int, Any]]()

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        yield from self._kept
        for row in self._rest:
            self._kept.append(row)
            yield row


@dataclass
class _State:
    """What has been read so far."""

    ask: Ask
    numbered_labels: bool
    predictions: dict[str, Prediction] = field(default_factory=dict)
    places: dict[str, tuple[Path, str, int]] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    loose: list[Given] = field(default_factory=list)

    def read(self, path: Path, form: Form, rows: Rows) -> None:
        """Read one file."""
        ask = self.ask
        indices = ask.indices or (form.ordered and self.numbered_labels)
        self.parse = parser_of(ask.task, indices=indices)
        self.scores = score_reader(ask.task, indices=indices)
        self.path, self.form = path, form
        asked = Ask(ask.task, ask.examples) if form.log and ask.option == INDICES else ask
        givens = form.read(rows, asked, path)
        for given in self._placed(givens) if form.ordered else givens:
            if given.id is None:
                self.loose.append(given)
            elif (example := self._example(given.id)) is None:
                self.unknown.setdefault(given.id)
            else:
                self._take(given, example)
        self._settle()

    def _placed(self, givens: Iterator[Given]) -> Iterator[Given]:
        """Give answers the ids of the split, by their order; there must be as many as examples."""
        examples, count = self.ask.examples, 0
        for count, given in enumerate(givens, start=1):  # noqa: B007  (the count is compared below)
            if given.order is not None and given.order < len(examples):
                yield given._replace(id=examples[given.order].id)
        if count != len(examples):
            what = f"holds {count} answers without ids, the split has {len(examples)} examples"
            raise BadInput(what, file=self.path, cure="check the split, or give each answer its id")

    def _example(self, name: str) -> Example | None:
        """The example of an id, of a full reference such as `jsick:test/33`, or of an id as other files write it."""
        known = self.ask.by_id
        if (found := known.get(name)) is not None:
            return found
        if name.startswith(f"{self.ask.task.dataset}:"):
            return known.get(name.partition("/")[2])
        if (
            found := known.get(name.removesuffix(".0"))
        ) is not None:  # a number that passed through a float
            return found
        start, _, source = name.rpartition("_")  # KLUE's column files put the source behind the id
        found = known.get(start)
        return found if found is not None and found.meta.get("source") == source else None

    def _take(self, given: Given, example: Example) -> None:
        try:
            prediction = self._prediction(given, example)
        except Unfit as problem:
            raise fault(
                self.path, self.form.place, given.place, problem.what, problem.cure
            ) from None
        place = (self.path, self.form.place, given.place)
        before = self.predictions.setdefault(example.id, prediction)
        if before is prediction:
            self.places[example.id] = place
        elif _same(before, prediction):
            self.duplicates.append((example.id, self._words(place)))
        else:
            earlier = self._words(self.places[example.id])
            what = f"id {example.id!r} has another answer on {earlier}"
            raise fault(
                self.path, self.form.place, given.place, what, "keep one answer for each id"
            )

    def _words(self, place: tuple[Path, str, int]) -> str:
        file, unit, number = place
        return f"{unit} {number}" if file == self.path else f"{unit} {number} of {file.name}"

    def _prediction(self, given: Given, example: Example) -> Prediction:
        scores = None if given.scores is None else self.scores(given.scores, example)
        raw: Any = given.answer
        if raw is None and scores and not given.why:
            top = best(scores)
            raw = int(top) if self.ask.task.kind == "choice" else top
        if raw is None:
            return Prediction(
                example=example.id, scores=scores, raw=given.raw, why=given.why or NOTHING
            )
        answer, why = self.parse(raw, example)
        said = given.raw
        if self.ask.task.kind == "tagging" and answer is not None:
            answer = with_tags(answer, said) if type(answer) is list else answer
            said = " ".join(answer.tags) if said is None and isinstance(answer, Tagged) else said
        if said is None and (why is not None or (type(raw) is str and raw != answer)):
            said = as_text(raw)
        return Prediction(example=example.id, answer=answer, scores=scores, raw=said, why=why)

    def _settle(self) -> None:
        """Samples of a log that hold nothing to match them by: by order, if that is how the whole log is."""
        loose, self.loose = self.loose, []
        examples = self.ask.examples
        by_order = {given.order: given for given in loose}
        if len(loose) == len(examples) == len(by_order) and set(by_order) == set(
            range(len(examples))
        ):
            for given in loose:
                assert given.order is not None
                self._take(given, examples[given.order])
            return
        for given in loose:
            self.unknown.setdefault(f"{self.form.place} {given.place}")

    def answers(self, form: str) -> Answers:
        """The result."""
        taken = self.predictions
        return Answers(
            form=form,
            predictions=taken,
            unknown=list(self.unknown),
            duplicates=self.duplicates,
            missing=[e.id for e in self.ask.examples if e.id not in taken],
            unparsed=[
                (p.example, p.raw or "", p.why or NOTHING)
                for p in taken.values()
                if p.answer is None
            ],
        )


def as_text(raw: Any) -> str:
    """What was given, as text."""
    return raw if isinstance(raw, str) else msgspec.json.encode(raw).decode()


def _same(one: Prediction, other: Prediction) -> bool:
    """Whether two answers are one; tags may differ where the spans they make do not."""
    if isinstance(one.answer, Tagged) and isinstance(other.answer, Tagged):
        return one.answer.tags == other.answer.tags
    return one.answer == other.answer and (one.answer is not None or one.raw == other.raw)
