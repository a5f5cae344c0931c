"""Read corrections of gold: JSON lines or a sheet (item, question, new answer, reason, by whom), or what `nikawa aggregate` wrote."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nikawa.checks.schema import NOTES, find_faults
from nikawa.errors import BadInput, list_names, suggest
from nikawa.io.json import read_json, read_json_lines
from nikawa.io.jsonl import check_record
from nikawa.io.judgements.base import Notes
from nikawa.io.judgements.sheets import detect_layout, read_sheet
from nikawa.io.spans import share_characters
from nikawa.recipes.changelog import Correction
from nikawa.records import Dataset, Example, Span, Task, reference, revive

UNSAID: Any = msgspec.UNSET
NAMES = {
    "example": ("example", "id", "item", "reference"),
    "question": ("question",),
    "label": ("label", "after", "new", "answer", "gold", "new label", "new_label"),
    "before": ("before", "old", "old label", "old_label"),
    "why": ("why", "reason", "comment"),
    "by": ("by", "who", "worker", "by whom"),
}
"""What a field may be called in a file, in any case."""
JSON_LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst")


ITEMS, SUMMARY, ACCEPTED = "items.jsonl", "summary.json", "accepted"


class Settled(msgspec.Struct, frozen=True):
    """An item of a folder of gold: what became of it, by which step, on what votes."""

    example: str
    question: str
    verdict: str
    gold: Any = None
    by: str = ""
    why: str = ""


@dataclass(frozen=True)
class Wanted:
    """A line of the file, not held against the data yet."""

    line: int
    example: str
    question: str
    """Empty where the file does not say."""
    label: Any
    before: Any = UNSAID
    why: str = ""
    by: str = ""
    typed: bool = False
    """Whether the values came with types; cells of a sheet are texts."""
    again: bool = False
    """Whether people looked at the item again: an answer that stays is no fault."""


def read_relabels(path: Path) -> list[Wanted]:
    """Every correction of a file, or every answer of a folder of gold, in order; one without any is refused."""
    if path.is_dir():
        return list(_judged(path))
    rows = _json(path) if path.name.endswith(JSON_LINES) else _sheet(path)
    corrections = [_wanted(line, row, path, path.name.endswith(JSON_LINES)) for line, row in rows]
    if not corrections:
        raise BadInput(
            "holds no correction", file=path, cure="write a line an item below the heading"
        )
    return corrections


def _judged(folder: Path) -> Iterator[Wanted]:
    """The answers that workers settled on when they looked again, with their votes as the reason."""
    if not (folder / ITEMS).is_file():
        cure = "name a file of corrections, or a folder that nikawa aggregate wrote"
        raise BadInput(f"holds no {ITEMS}", file=folder, cure=cure)
    summary = read_json(folder / SUMMARY, dict[str, Any])
    count = 0
    for line, row in read_json_lines(folder / ITEMS, Settled):
        if row.verdict == ACCEPTED:
            by = f"{summary.get('workers', 'several')} workers, {row.by}"
            count += 1
            yield Wanted(
                line,
                row.example,
                row.question,
                row.gold,
                why=row.why,
                by=by,
                typed=True,
                again=True,
            )
    if not count:
        raise BadInput(
            "holds no item that got gold",
            file=folder / ITEMS,
            cure="settle the ties, or ask more workers",
        )


def _json(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in read_json_lines(path, dict[str, Any], unique=True):
        yield line, _named(row, path, line)


def _sheet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    header: list[str] = []
    for line, cells in read_sheet(path, detect_layout(path), Notes()):
        if not header:
            header = cells
            _named(dict.fromkeys(header, ""), path, line)
            continue
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        yield (
            line,
            {
                k: v
                for k, v in _named(row, path, line).items()
                if v != "" or k in ("example", "label")
            },
        )


def _named(row: dict[str, Any], path: Path, line: int) -> dict[str, Any]:
    """The row under our names; further columns are passed over, two for one field are refused."""
    values: dict[str, Any] = {}
    places = {alias: field for field, aliases in NAMES.items() for alias in aliases}
    for name, value in row.items():
        field = places.get(name.strip().lower())
        if field is None:
            continue
        if field in values:
            what = f"two columns give the {field}, one of them {name!r}"
            raise BadInput(what, file=path, line=line, cure="keep one of them")
        values[field] = value
    for field in ("example", "label"):
        if field not in values:
            what = f"has no {'id' if field == 'example' else 'new label'}"
            raise BadInput(what, file=path, line=line, cure=f"call it {list_names(NAMES[field])}")
    return values


def _wanted(line: int, row: dict[str, Any], path: Path, typed: bool) -> Wanted:
    example = row["example"]
    name = (
        str(example).strip()
        if isinstance(example, str | int) and not isinstance(example, bool)
        else ""
    )
    if not name or row["label"] in ("", None):
        what = "has no id" if not name else "has no new label"
        raise BadInput(what, file=path, line=line, cure="fill it in, or remove the line")
    question, why, by = (str(row.get(key) or "") for key in ("question", "why", "by"))
    return Wanted(line, name, question, row["label"], row.get("before", UNSAID), why, by, typed)


LABEL, OVERLAP = "label-outside", "span-overlap"


def inner_labels(value: Any) -> Iterator[str]:
    """The labels inside gold that is a structure: of its spans, of the words of its tree."""
    if isinstance(value, list | tuple):
        yield from (part.label for part in value if isinstance(part, Span))
    elif isinstance(value, dict) and isinstance(value.get("labels"), list | tuple):
        yield from map(str, value["labels"])


def nests(dataset: Dataset, question: str) -> bool:
    """Whether spans of the dataset's gold share characters, so that a correction may do so too."""
    golds = (e.gold.get(question) for examples in dataset.splits.values() for e in examples)
    return any(share_characters(_spans(gold)) for gold in golds if isinstance(gold, list | tuple))


def shape_faults(made: Example, old: Example, question: str, tasks: Sequence[Task]) -> list[str]:
    """The faults of shape that a correction brings; labels are told apart, with the ones there are."""
    questions = [task for task in tasks if task.question == question]
    before = set(find_faults(questions, old))
    names = [name for name in find_faults(questions, made) if name not in before and name != LABEL]
    if (
        any(span.start == span.end for span in _spans(made.gold[question]))
        and "span-empty" not in names
    ):
        names.append("span-empty")
    return names


def unknown_label(value: Any, known: Iterable[str]) -> tuple[str, str] | None:
    """What is wrong with the first label inside a structure that is not known, and the cure."""
    names = set(known)
    wrong = next((label for label in inner_labels(value) if label not in names), None)
    return None if wrong is None else (f"{wrong!r} is no label", suggest(wrong, names))


def told(name: str) -> str:
    """What a fault of shape means."""
    return NOTES[name]


def _spans(value: Any) -> list[Span]:
    return (
        [part for part in value if isinstance(part, Span)]
        if isinstance(value, list | tuple)
        else []
    )


MANY = 100
"""Different answers from which a question without a task has no closed set of labels."""


@dataclass
class Corrected:
    """The corrections, by where they belong."""

    corrections: list[Correction] = field(default_factory=list)
    gold: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Split to id to question to new answer."""
    kept: int = 0
    """Answers that people looked at again and that stay."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be told beside the corrections."""
        changed = len(self.corrections)
        sentence = f"{self.kept + changed:,} answers were looked at again: {self.kept:,} stay, {changed:,} change"
        return (sentence,) if self.kept else ()

    def count(self, split: str, question: str) -> int:
        """How many answers to a question a split has corrected."""
        return sum(question in gold for gold in self.gold.get(split, {}).values())

    def example(self, split: str, example: Example) -> Example:
        """An example with its corrections."""
        new = self.gold.get(split, {}).get(example.id)
        return example if new is None else replace(example, gold={**example.gold, **new})


@dataclass
class Checker:
    """Knows the data and says what is wrong with a correction."""

    dataset: Dataset
    tasks: Sequence[Task]
    path: Path
    homes: dict[str, list[str]] = field(default_factory=dict)
    examples: dict[tuple[str, str], Example] = field(default_factory=dict)
    labels: dict[str, set[str]] = field(default_factory=dict)
    """Question to the labels it has in the data."""

    def __post_init__(self) -> None:
        for split, examples in self.dataset.splits.items():
            for example in examples:
                self.homes.setdefault(example.id, []).append(split)
                self.examples[split, example.id] = example
                for question, value in example.gold.items():
                    labels = (value,) if isinstance(value, str) else inner_labels(value)
                    self.labels.setdefault(question, set()).update(labels)

    def check(self, wanted: Sequence[Wanted]) -> Corrected:
        """All corrections, or the first fault with its line."""
        corrected, lines = Corrected(), dict[tuple[str, str, str], int]()
        for one in wanted:
            split, example = self._find(one)
            question = self._question(one, example)
            first = lines.setdefault((split, example.id, question), one.line)
            if first != one.line:
                what = f"corrects {question!r} of {split}/{example.id}, as line {first} does"
                raise self._fault(one, what, "keep one line an item and question")
            new = self._value(one, example, question)
            name = reference(self.dataset.name, split, example.id)
            old = example.gold[question]
            if new == old:
                corrected.kept += 1
                continue
            corrected.corrections.append(
                Correction(
                    example=name, question=question, before=old, after=new, why=one.why, by=one.by
                )
            )
            corrected.gold.setdefault(split, {}).setdefault(example.id, {})[question] = new
        if not corrected.corrections:
            what = f"all {corrected.kept:,} answers that were looked at again stay as they are"
            raise BadInput(what, file=self.path, cure="there is nothing to amend")
        return corrected

    def _fault(self, one: Wanted, what: str, cure: str) -> BadInput:
        return BadInput(what, file=self.path, line=one.line, cure=cure)

    def _find(self, one: Wanted) -> tuple[str, Example]:
        """The example of `jnli:dev/12`, `dev/12`, or `12` where one split alone has it."""
        name = one.example.removeprefix(f"{self.dataset.name}:")
        split, slash, rest = name.partition("/")
        if slash and (split, rest) in self.examples:
            return split, self.examples[split, rest]
        homes = self.homes.get(one.example, [])
        if len(homes) == 1:
            return homes[0], self.examples[homes[0], one.example]
        if homes:
            cure = f"say which: {list_names(f'{home}/{one.example}' for home in homes)}"
            raise self._fault(one, f"several splits have the id {one.example!r}", cure)
        what = f"{self.dataset.name} {self.dataset.version} has no example {one.example!r}"
        raise self._fault(one, what, suggest(rest if slash else name, self.homes))

    def _question(self, one: Wanted, example: Example) -> str:
        known = list(example.gold)
        if not known:
            what = f"{one.example} has no gold here that could be corrected"
            raise self._fault(one, what, "amend the copy that holds the labels")
        if one.question and one.question not in known:
            raise self._fault(
                one, f"{one.example} has no question {one.question!r}", suggest(one.question, known)
            )
        if not one.question and len(known) > 1 and "label" not in known:
            cure = f"add a column question with one of: {list_names(known)}"
            raise self._fault(one, f"{one.example} has {len(known)} questions", cure)
        return one.question or ("label" if "label" in known else known[0])

    def _value(self, one: Wanted, example: Example, question: str) -> Any:
        """The new answer in the type of the old one, and another one than it, unless people looked again. No message tells the old answer."""
        old = example.gold[question]
        new = self._fitting(one, one.label, example, question)
        if one.before is not UNSAID and self._typed(one, one.before, old) != old:
            what = f"the {question} of {one.example} is not {one.before!r}, which the line gives as its old answer"
            raise self._fault(
                one, what, f"was the line made for another version than {self.dataset.version}?"
            )
        if new == old and not one.again:
            cure = "remove the line: every correction must change something"
            raise self._fault(
                one, f"the {question} of {one.example} is {one.label!r} already", cure
            )
        return new

    def _fitting(self, one: Wanted, given: Any, example: Example, question: str) -> Any:
        value = self._typed(one, given, example.gold[question])
        task = next((task for task in self.tasks if task.question == question), None)
        if isinstance(value, str):
            self._check_label(one, value, task, question)
        elif (
            task is not None
            and task.scale is not None
            and not task.scale[0] <= value <= task.scale[1]
        ):
            cure = f"it is a number from {task.scale[0]:g} to {task.scale[1]:g}"
            raise self._fault(one, f"{given!r} is outside the scale of {question!r}", cure)
        elif (
            task is not None
            and task.kind == "choice"
            and not 0 <= value < len(example.inputs["choices"])
        ):
            cure = f"{one.example} has {len(example.inputs['choices'])} choices, counted from 0"
            raise self._fault(one, f"there is no choice {given!r}", cure)
        return self._whole(one, value, example, question)

    def _check_label(self, one: Wanted, value: str, task: Task | None, question: str) -> None:
        known = self._closed(task, question)
        if known is not None and value not in known:
            raise self._fault(one, f"{value!r} is no label of {question!r}", suggest(value, known))

    def _closed(self, task: Task | None, question: str) -> set[str] | None:
        """The labels a question may have: its task's, else those in the data; None where they are too many to be a set."""
        if task is not None and task.labels:
            return set(task.labels)
        labels = self.labels[question]
        return labels if len(labels) <= MANY else None

    def _check_shape(self, one: Wanted, made: Example, old: Example, question: str) -> None:
        """A structure has no fault of shape that the old one had not, and no label that is not known."""
        tasks = [task for task in self.tasks if task.question == question]
        known = self._closed(next(iter(tasks), None), question)
        if known is not None and (wrong := unknown_label(made.gold[question], known)) is not None:
            raise self._fault(one, f"{wrong[0]} of {question!r}", wrong[1])
        for name in shape_faults(made, old, question, tasks):
            if name != OVERLAP or not nests(self.dataset, question):
                raise self._fault(
                    one,
                    f"the new {question} of {one.example} does not fit: {told(name)}",
                    "docs/records.md has the shapes",
                )

    def _typed(self, one: Wanted, given: Any, old: Any) -> Any:
        """A value in the type the question has."""
        if isinstance(old, str) and isinstance(given, str | int | float):
            return str(given)
        if isinstance(old, int | float) and not isinstance(old, bool):
            return self._number(one, given, old)
        if one.typed or not isinstance(given, str):
            return given
        try:
            return msgspec.json.decode(given)
        except msgspec.DecodeError:
            raise self._fault(
                one, f"{given!r} is not JSON", "write structures as JSON in the cell"
            ) from None

    def _number(self, one: Wanted, given: Any, old: float) -> float | int:
        try:
            value = float(unicodedata.normalize("NFKC", given) if isinstance(given, str) else given)
            whole = int(value) if isinstance(old, int) else value
        except (TypeError, ValueError, OverflowError):
            raise self._fault(one, f"{given!r} is no number", "write a plain number") from None
        if not math.isfinite(value):
            raise self._fault(one, f"{given!r} is no number", "write a plain number")
        if whole != value:
            raise self._fault(one, f"{given!r} is no whole number", "write a plain whole number")
        return whole

    def _whole(self, one: Wanted, value: Any, example: Example, question: str) -> Any:
        """The value as it will be read back; a structure must have the kind of the old one and fit the texts."""
        if isinstance(value, str | int | float):
            return value
        if type(value) is not type(example.gold[question]):
            raise self._fault(
                one,
                f"the new {question} is not of the kind of the old one",
                "docs/records.md has the shapes",
            )
        try:
            made = revive(replace(example, gold={**example.gold, question: value}))
            check_record(made)
            check_answer_places(value, str(example.inputs.get("context", "")))
        except (BadInput, msgspec.ValidationError, ValueError) as problem:
            what = problem.what if isinstance(problem, BadInput) else str(problem)
            raise self._fault(
                one, f"the new {question} does not fit: {what}", "docs/records.md has the shapes"
            ) from None
        self._check_shape(one, made, example, question)
        return made.gold[question]


def check_answer_places(value: Any, context: str) -> None:
    """Raise ValueError unless the answers to a reading question are in the context where they say."""
    for answer in value if isinstance(value, list) else ():
        if isinstance(answer, dict) and {"text", "start"} <= answer.keys():
            text, start = answer["text"], answer["start"]
            if context[start : start + len(text)] != text:
                raise ValueError(f"{text!r} does not stand at {start}")
