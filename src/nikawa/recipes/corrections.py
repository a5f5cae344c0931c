"""Read corrections of gold: JSON lines or a sheet (item, question, new answer, reason, by whom), or
what `nikawa aggregate` wrote.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
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
SHAPES = "docs/records.md describes the shapes"
NAMES = {
    "example": ("example", "id", "item", "reference"),
    "question": ("question",),
    "label": ("label", "after", "new", "answer", "gold", "new label", "new_label"),
    "before": ("before", "old", "old label", "old_label"),
    "why": ("why", "reason", "comment"),
    "by": ("by", "who", "worker", "by whom", "person", "decided_by"),
}
"""What a field may be called in a file, in any case."""
JSON_LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst")


ITEMS, SUMMARY, ACCEPTED = "items.jsonl", "summary.json", "accepted"


class GoldItem(msgspec.Struct, frozen=True):
    """An item of a folder of gold: what became of it, by which step, on what votes."""

    example: str
    question: str
    verdict: str
    gold: Any = None
    by: str = ""
    why: str = ""
    decided_by: str = ""
    """The person who decided on the gold, if any; `reason` says why."""
    reason: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether a person decided on the gold."""
        return self.by == "decision"


@dataclass(frozen=True)
class Relabel:
    """A line of the file, before it is checked against the data."""

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
    """Whether people looked at the item again: an answer that stays is not a fault."""


def read_relabels(path: Path) -> list[Relabel]:
    """Every correction of a file, or every answer of a folder of gold, in order.

    Raises:
        BadInput: there is no correction, or a line lacks the id or the new label.
    """
    if path.is_dir():
        return list(read_gold_folder(path))
    typed = path.name.endswith(JSON_LINES)
    corrections = []
    for line, row in read_json_rows(path) if typed else read_sheet_rows(path):
        example, label = row["example"], row["label"]
        is_name = isinstance(example, str | int) and not isinstance(example, bool)
        name = str(example).strip() if is_name else ""
        if not name or label in ("", None):
            what = "has no new label" if name else "has no id"
            raise BadInput(what, file=path, line=line, cure="fill it in, or remove the line")
        question, why, by = (str(row.get(key) or "") for key in ("question", "why", "by"))
        before = row.get("before", UNSAID)
        corrections.append(Relabel(line, name, question, label, before, why, by, typed))
    if not corrections:
        raise BadInput(
            "contains no correction", file=path, cure="write one line per item below the heading"
        )
    return corrections


def read_gold_folder(folder: Path) -> Iterator[Relabel]:
    """The answers that workers settled on when they looked again, with their votes as the reason.

    What a person decided has that person, and the reason they gave before the votes.
    """
    path = folder / ITEMS
    if not path.is_file():
        cure = "pass a file of corrections, or a folder that `nikawa aggregate` wrote"
        raise BadInput(f"holds no {ITEMS}", file=folder, cure=cure)
    workers = read_json(folder / SUMMARY, dict[str, Any]).get("workers", "several")
    is_empty = True
    for line, row in read_json_lines(path, GoldItem):
        if row.verdict == ACCEPTED:
            is_empty = False
            yield Relabel(
                line,
                row.example,
                row.question,
                row.gold,
                why=f"{row.reason} ({row.why})" if row.is_decided and row.reason else row.why,
                by=row.decided_by or "decision"
                if row.is_decided
                else f"{workers} workers, {row.by}",
                typed=True,
                again=True,
            )
    if is_empty:
        cure = "settle the ties, or ask more workers"
        raise BadInput("contains no item with gold", file=path, cure=cure)


def read_json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a JSONL file under our names, with their numbers."""
    for line, row in read_json_lines(path, dict[str, Any], unique=True):
        yield line, name_fields(row, path, line)


def read_sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a sheet under our names, with their lines.

    Empty cells are skipped, except id and label.
    """
    rows = read_sheet(path, detect_layout(path), Notes())
    line, header = next(rows, (1, []))
    if header:
        name_fields(dict.fromkeys(header, ""), path, line)
    for line, cells in rows:
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        values = name_fields(row, path, line).items()
        yield line, {name: v for name, v in values if v != "" or name in ("example", "label")}


def name_fields(row: dict[str, Any], path: Path, line: int) -> dict[str, Any]:
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


LABEL, OVERLAP = "label-outside", "span-overlap"


def spans_of(value: Any) -> list[Span]:
    """The spans inside gold; none where it is not a list of them."""
    parts = value if isinstance(value, list | tuple) else ()
    return [part for part in parts if isinstance(part, Span)]


def inner_labels(value: Any) -> list[str]:
    """The labels inside gold that is a structure: of its spans, of the words of its tree."""
    if isinstance(value, dict) and isinstance(value.get("labels"), list | tuple):
        return [*map(str, value["labels"])]
    return [span.label for span in spans_of(value)]


MAX_LABELS = 100
"""Different answers from which a question without a task has no closed set of labels."""


@dataclass
class CorrectionSet:
    """The corrections, by where they belong."""

    corrections: list[Correction] = field(default_factory=list)
    gold: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Split to id to question to new answer."""
    kept: int = 0
    """Answers that people looked at again and that stay."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Further notes on the corrections."""
        changed = len(self.corrections)
        sentence = (
            f"{self.kept + changed:,} answers were reviewed: {self.kept:,} stay, {changed:,} change"
        )
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
    """The tasks of the dataset, where they are known: they tell labels, scales and shapes."""
    path: Path
    """The file of corrections, which faults name."""
    homes: dict[str, list[str]] = field(default_factory=dict)
    """Id to the splits that have it."""
    examples: dict[tuple[str, str], Example] = field(default_factory=dict)
    """Split and id to example."""
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

    def check(self, wanted: Sequence[Relabel]) -> CorrectionSet:
        """All corrections, by where they belong.

        Raises:
            BadInput: the first fault, with its line; or no answer changes.
        """
        corrected, lines = CorrectionSet(), dict[tuple[str, str, str], int]()
        for one in wanted:
            split, example = self._find(one)
            question = self._question(one, example)
            first = lines.setdefault((split, example.id, question), one.line)
            if first != one.line:
                what = f"corrects {question!r} of {split}/{example.id}, as line {first} does"
                raise self._fault(one, what, "keep one line per item and question")
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
            what = f"all {corrected.kept:,} reviewed answers stay as they are"
            raise BadInput(what, file=self.path, cure="there is nothing to amend")
        return corrected

    def _fault(self, one: Relabel, what: str, cure: str) -> BadInput:
        return BadInput(what, file=self.path, line=one.line, cure=cure)

    def _find(self, one: Relabel) -> tuple[str, Example]:
        """The example of `jnli:dev/12`, `dev/12`, or `12` where one split alone has it."""
        name = one.example.removeprefix(f"{self.dataset.name}:")
        split, slash, rest = name.partition("/")
        if slash and (split, rest) in self.examples:
            return split, self.examples[split, rest]
        homes = self.homes.get(one.example, [])
        if len(homes) == 1:
            return homes[0], self.examples[homes[0], one.example]
        if homes:
            cure = f"name one of: {list_names(f'{home}/{one.example}' for home in homes)}"
            raise self._fault(one, f"several splits have the id {one.example!r}", cure)
        what = f"{self.dataset.name} {self.dataset.version} has no example {one.example!r}"
        raise self._fault(one, what, suggest(rest if slash else name, self.homes))

    def _question(self, one: Relabel, example: Example) -> str:
        known = list(example.gold)
        if example.hidden:  # the message must not reveal anything about it, not even that the correction changes nothing
            cure = "remove the line: correct hidden labels in the copy that contains them"
            raise self._fault(one, f"the label of {one.example} is hidden", cure)
        if not known:
            what = f"{one.example} has no gold to correct here"
            raise self._fault(one, what, "amend the copy that contains the labels")
        if one.question and one.question not in known:
            raise self._fault(
                one, f"{one.example} has no question {one.question!r}", suggest(one.question, known)
            )
        if not one.question and len(known) > 1 and "label" not in known:
            cure = f"add a column question with one of: {list_names(known)}"
            raise self._fault(one, f"{one.example} has {len(known)} questions", cure)
        return one.question or ("label" if "label" in known else known[0])

    def _value(self, one: Relabel, example: Example, question: str) -> Any:
        """The new answer in the type of the old one, and another one than it, unless people looked
        again.

        No message contains the old answer: it may be hidden.
        """
        old = example.gold[question]
        new = self._typed(one, one.label, old)
        task = next((task for task in self.tasks if task.question == question), None)
        if isinstance(new, str):
            self._check_labels(one, [new], task, question)
        elif task is not None and task.scale is not None:
            low, high = task.scale
            if not low <= new <= high:
                cure = f"it is a number from {low:g} to {high:g}"
                raise self._fault(one, f"{one.label!r} is outside the scale of {question!r}", cure)
        elif task is not None and task.kind == "choice":
            count = len(example.inputs["choices"])
            if not 0 <= new < count:
                cure = f"{one.example} has {count} choices, counted from 0"
                raise self._fault(one, f"there is no choice {one.label!r}", cure)
        if not isinstance(new, str | int | float):
            made = self._revive(one, new, example, question)
            self._check_shape(one, made, example, question)
            new = made.gold[question]
        if one.before is not UNSAID and self._typed(one, one.before, old) != old:
            what = f"the {question} of {one.example} is not {one.before!r}, which the line gives as its old answer"
            cure = f"check that the line was made for version {self.dataset.version}"
            raise self._fault(one, what, cure)
        if new == old and not one.again:
            cure = "remove the line: every correction must change something"
            raise self._fault(
                one, f"the {question} of {one.example} is already {one.label!r}", cure
            )
        return new

    def _check_labels(
        self, one: Relabel, labels: list[str], task: Task | None, question: str
    ) -> None:
        """Refuse a label that is neither the task's nor, without a task, in the data.

        Too many there are no set.
        """
        known = self.labels[question]
        if task is not None and task.labels:
            known = set(task.labels)
        elif len(known) > MAX_LABELS:
            return
        for label in labels:
            if label not in known:
                what = f"{label!r} is not a label of {question!r}"
                raise self._fault(one, what, suggest(label, known))

    def _revive(self, one: Relabel, value: Any, example: Example, question: str) -> Example:
        """The example with a new structure, as it will be read back.

        It must have the kind of the old one.
        """
        if type(value) is not type(example.gold[question]):
            what = f"the new {question} is not of the kind of the old one"
            raise self._fault(one, what, SHAPES)
        try:
            made = revive(replace(example, gold={**example.gold, question: value}))
            check_record(made)
            check_answer_places(value, str(example.inputs.get("context", "")))
        except (BadInput, msgspec.ValidationError, ValueError) as problem:
            what = problem.what if isinstance(problem, BadInput) else str(problem)
            raise self._fault(one, f"the new {question} does not fit: {what}", SHAPES) from None
        return made

    def _check_shape(self, one: Relabel, made: Example, old: Example, question: str) -> None:
        """Refuse a structure with a fault of shape that the old one had not, or with a label that
        is not known.
        """
        tasks = [task for task in self.tasks if task.question == question]
        gold = made.gold[question]
        self._check_labels(one, inner_labels(gold), next(iter(tasks), None), question)
        before = {*find_faults(tasks, old), LABEL}
        faults = [name for name in find_faults(tasks, made) if name not in before]
        if any(span.start == span.end for span in spans_of(gold)):
            faults.append("span-empty")
        for name in faults:
            if name != OVERLAP or not self._nests(question):
                what = f"the new {question} of {one.example} does not fit: {NOTES[name]}"
                raise self._fault(one, what, SHAPES)

    def _nests(self, question: str) -> bool:
        """Whether spans of the dataset's gold share characters, so that a correction may do so too."""
        golds = (example.gold.get(question) for example in self.examples.values())
        return any(share_characters(spans_of(gold)) for gold in golds)

    def _typed(self, one: Relabel, given: Any, old: Any) -> Any:
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

    def _number(self, one: Relabel, given: Any, old: float) -> float | int:
        try:
            value = float(unicodedata.normalize("NFKC", given) if isinstance(given, str) else given)
            whole = int(value) if isinstance(old, int) else value
        except (TypeError, ValueError, OverflowError):
            raise self._fault(one, f"{given!r} is not a number", "write a plain number") from None
        if not math.isfinite(value):
            raise self._fault(one, f"{given!r} is not a number", "write a plain number")
        if whole != value:
            raise self._fault(one, f"{given!r} is not a whole number", "write a plain whole number")
        return whole


def check_answer_places(value: Any, context: str) -> None:
    """Raise ValueError unless the answers to a reading question are in the context where they say."""
    for answer in value if isinstance(value, list) else ():
        if isinstance(answer, dict) and {"text", "start"} <= answer.keys():
            text, start = answer["text"], answer["start"]
            if context[start : start + len(text)] != text:
                raise ValueError(f"{text!r} is not at {start}")
