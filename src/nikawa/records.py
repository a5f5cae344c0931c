"""The record types that all modules share. Records are frozen, typed, and the same in memory as on disk.

Inputs are a named mapping and gold is keyed by question, so one `Example` type serves every kind of task.
docs/records.md has the table of shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from nikawa.errors import unknown
from nikawa.printable import printable
from nikawa.tables import ResultTable, format_table, format_table_html, wrap_html

if TYPE_CHECKING:
    from pathlib import Path

    import pandas

GoldOrigin = Literal["annotated", "inherited", "derived", "hidden"]
JudgementKind = Literal["person", "machine", "simulated", "decision", "tie-decision", "report"]
MachinePart = Literal["", "tie-break", "weighed", "changed"]
"""What machines did to a label: nothing; they broke a tie of persons; they were weighed with persons; and that changed the label."""
DECISION_KINDS = ("decision", "tie-decision")
"""Kinds of judgement that are an owner's decision about an item: it replaces the votes (`decision`), or counts only if
the rule gives no gold (`tie-decision`)."""
WORKER_PREFIXES: dict[str, JudgementKind] = {"model:": "machine", "simulated:": "simulated"}
"""How the name of a worker begins who is no person. Files without a place for the kind of judgement tell it by this."""
Unit = Literal["percent", "fraction"]
Kind = Literal[
    "text",
    "inference",
    "similarity",
    "choice",
    "reading",
    "tagging",
    "relation",
    "tree",
    "dialogue",
]
LABELLED_KINDS = ("text", "inference", "relation")
"""Kinds of task whose answer is a label; their answers form a confusion matrix."""
EXAMPLES_SHOWN = 5
"""Examples that the HTML of a dataset shows."""
CLASS_KINDS = ("text", "inference", "choice", "relation")
"""Kinds of task whose answer is one of a few classes: labels, and indices of choices."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of all records: immutable, rejects unknown fields."""


class Span(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Characters `start` to `end` (exclusive, spaces counted) of an input text."""

    start: int
    end: int
    label: str = ""


class Tagged(list[Span]):
    """The spans of an answer that was given as tags, with the tags: B-X, I-X or O for each character of the text.

    Tags contain more than spans (an I-X without its B-X, an O on a space), and official scorers use them.
    """

    def __init__(self, spans: Iterable[Span] = (), tags: Sequence[str] = ()) -> None:
        super().__init__(spans)
        self.tags = tuple(tags)


class Origin(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Where an example and its label came from."""

    recipe: str
    """The recipe that made it: a dataset's reader, a template pack, a perturbation."""
    parents: tuple[str, ...] = ()
    """Full references (`jsick:test/33`) of the examples it was made from."""
    step: str = ""
    """The step of the recipe, such as a flow (`A`) or an operation (`swap-ni`)."""
    gold: GoldOrigin = "annotated"
    """The origin of the label; `hidden` means that it exists but is not published."""
    machines: MachinePart = ""
    """What machines did to the label: empty, `tie-break`, `weighed`, or `changed` (weighed, and persons alone give another)."""


_NO_TAGS: frozenset[str] = frozenset()


class Example(Record, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One item of a dataset."""

    id: str
    """The published id, unique within dataset and split."""
    inputs: dict[str, Any]
    """The inputs that a model may see, by name."""
    gold: dict[str, Any] = {}
    """The correct answer, by question; empty if it is hidden."""
    tags: frozenset[str] = _NO_TAGS
    """Names of phenomena."""
    meta: dict[str, Any] = {}
    """Named values to slice by: source, category, template, image, …"""
    group: str | None = None
    """Items that belong together (premise, dialogue, paragraph): the unit of resampling and splitting."""
    origin: Origin | None = None

    @property
    def hidden(self) -> bool:
        """Whether the label is hidden: it is never shown, and used for training or scoring only if its owner asks for it."""
        return self.origin is not None and self.origin.gold == "hidden"

    def __reduce__(self) -> tuple[Any, ...]:
        """An example from another process has the same JSON: the encoder omits no other empty set than the default."""
        fields = msgspec.structs.asdict(self)
        if self.tags is _NO_TAGS:
            del fields["tags"]
        return _make_example, (fields,)


def _make_example(fields: dict[str, Any]) -> Example:
    return Example(**fields)


class Prelabel(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A machine's answer that a worker's page was filled in with, or was not: chance decided which."""

    answer: Any
    """The machine's answer to the question of the judgement."""
    worker: str
    """The machine, such as `model:gemma#1`; `control` for the wrong answer of a control item."""
    shown: bool
    """Whether the page was filled in with it. Where it was not, the judgement shows what the worker answers without it."""
    changed: bool = False
    """Whether the worker was shown it and answered something else."""


class Judgement(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One worker's answer to one question about one example. Judgements are always kept separate from gold."""

    example: str
    """Full reference of the example."""
    worker: str
    """The worker's name or pseudonym; the dataset's card states whether it is a person."""
    question: str
    """The key of `Example.gold` that the judgement answers."""
    answer: Any
    """In the shape of the question: a label, a number, a list of spans, a text."""
    seconds: float | None = None
    """The time that the worker took, if it was measured."""
    at: str | None = None
    """The time of the answer, as written by the tool that collected it."""
    kind: JudgementKind = "person"
    """The kind of judgement: an answer of a worker (by default a `person`; a `machine` is a model, `simulated` are answers
    that were drawn by chance or rule; `find_answerer` tells which, by the worker's name too), an owner's decision (`DECISION_KINDS`; the
    worker is then `decision:NAME`), or a worker's report about the item (`report`: the answer is the code of the reason)."""
    comment: str = ""
    """A worker's comment on an answer or report, or the reason for a decision."""
    prelabel: Prelabel | None = None
    """The machine's answer that the page was filled in with or not; None where there was none."""


def name_kind(worker: str) -> JudgementKind:
    """The kind of a worker by the name alone.

    >>> name_kind("model:gemma#1"), name_kind("aki")
    ('machine', 'person')
    """
    for prefix, kind in WORKER_PREFIXES.items():
        if worker.startswith(prefix):
            return kind
    return "person"


def find_answerer(judgement: Judgement) -> JudgementKind:
    """The kind of a judgement: what it says, else what the name of its worker tells."""
    return name_kind(judgement.worker) if judgement.kind == "person" else judgement.kind


def is_person(judgement: Judgement) -> bool:
    """Whether a person gave the answer: no model, no simulation, and it is neither a decision nor a report."""
    return find_answerer(judgement) == "person"


def split_by_kind(judgements: Iterable[Judgement]) -> dict[JudgementKind, list[Judgement]]:
    """Judgements by the kind of who gave them; `person`, `machine` and `simulated` are always there.

    >>> given = [Judgement(example="1", worker=name, question="label", answer="yes") for name in ("aki", "model:a#1")]
    >>> {kind: len(rows) for kind, rows in split_by_kind(given).items()}
    {'person': 1, 'machine': 1, 'simulated': 0}
    """
    parts: dict[JudgementKind, list[Judgement]] = {"person": [], "machine": [], "simulated": []}
    for judgement in judgements:
        parts.setdefault(find_answerer(judgement), []).append(judgement)
    return parts


class Card(Record, frozen=True, kw_only=True):
    """The description of a dataset, as a paper would give it."""

    name: str
    title: str
    version: str
    languages: tuple[str, ...]
    licence: str
    citation: str
    homepage: str
    description: str
    labels: str
    """How the labels were made."""
    workers: str
    """How many workers judged each item, and who they were, as far as published."""
    workers_are: Literal["persons", "columns", "simulated", "unknown", "none"]
    """What a worker id identifies: a person, only a column, or a simulation; `unknown` if it is not stated, `none` if no ids
    are published."""
    source: str
    """Where the texts come from."""
    problems: tuple[str, ...] = ()
    """Known problems, one sentence each."""
    label_sets: dict[str, tuple[str, ...]] | msgspec.UnsetType = msgspec.UNSET
    """Question to all labels that may answer it, where the gold uses only some of them."""


class Task(Record, frozen=True, kw_only=True):
    """A question about the examples of a dataset, and how its answers are scored."""

    name: str
    dataset: str
    kind: Kind
    question: str
    """The key of `Example.gold` this task asks for."""
    inputs: tuple[str, ...]
    """The inputs that a model may see; a partial-input variant has fewer."""
    labels: tuple[str, ...] = ()
    """The closed set of answers, if there is one."""
    metrics: tuple[str, ...]
    scale: tuple[float, float] | None = None
    """Lowest and highest score of a similarity task."""
    unit: Unit = "percent"
    """How the official scorer reports: JGLUE's sentence tasks as fractions, the others in percent."""

    def asks(self, example: Example) -> bool:
        """Whether the task applies to `example`: it has the inputs, and gold for the question or no gold at all."""
        return all(name in example.inputs for name in self.inputs) and (
            not example.gold or self.question in example.gold
        )


class Dataset(Record, frozen=True, kw_only=True):
    """A released dataset: a card and named splits.

    `ds[0]`, `len(ds)` and iteration cover all examples in the order of the splits. `ds["dev"]` is one split, with the same
    operations.
    """

    name: str
    language: str
    version: str
    card: Card
    splits: dict[str, tuple[Example, ...]]

    def __len__(self) -> int:
        return sum(len(examples) for examples in self.splits.values())

    def __iter__(self) -> Iterator[Example]:
        return chain.from_iterable(self.splits.values())

    def __contains__(self, item: object) -> bool:
        """Whether the dataset has a split of that name, or that example."""
        if isinstance(item, str):
            return item in self.splits
        return any(item == example for example in self)

    @overload
    def __getitem__(self, key: int) -> Example: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Example, ...]: ...
    @overload
    def __getitem__(self, key: str) -> Split: ...
    def __getitem__(self, key: int | slice | str) -> Example | tuple[Example, ...] | Split:
        if isinstance(key, str):
            if key not in self.splits:
                raise unknown(f"split of {self.name}", key, self.splits)
            return Split(self, key)
        if isinstance(key, slice):
            return tuple(self)[key]
        place = operator.index(key)
        place = place + len(self) if place < 0 else place
        for examples in self.splits.values():
            if 0 <= place < len(examples):
                return examples[place]
            place -= len(examples)
        raise IndexError(f"{self.name} has {len(self):,} examples and no index {key}")

    def filter(
        self,
        keep: Callable[[Example], bool] | None = None,
        *,
        split: str | None = None,
        tag: str | None = None,
        **values: Any,
    ) -> Dataset:
        """Return the examples that match all conditions, in their splits; empty splits are dropped.

        `keep` is a function that takes an example. `tag` is a tag of the example. Other keywords are questions, metadata keys
        or inputs: `ds.filter(label="neutral")`.

        >>> import nikawa as nk
        >>> len(nk.load("mini-ja").filter(label="neutral", split="dev"))
        3
        >>> len(nk.load("mini-ja").filter(lambda example: "雨" in str(example.inputs)))
        5
        """

        def fits(example: Example) -> bool:
            places = (example.gold, example.meta, example.inputs)
            for name, value in values.items():
                holder = next((place for place in places if name in place), None)
                if holder is None or holder[name] != value:
                    return False
            return (tag is None or tag in example.tags) and (keep is None or bool(keep(example)))

        names = [split] if split is not None else list(self.splits)
        parts = {name: tuple(filter(fits, self[name])) for name in names}
        return msgspec.structs.replace(
            self, splits={name: examples for name, examples in parts.items() if examples}
        )

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the dataset to a folder that `nikawa.load(path)` reads back: the card and one JSONL file per split.

        Raises `BadInput` if the folder already holds a dataset, unless `overwrite` is true. Labels that are marked hidden are
        written as they are; `load` shows them only with `hidden=True`.

        >>> import nikawa as nk
        >>> from tempfile import TemporaryDirectory
        >>> dev = nk.load("mini-ja:dev")
        >>> with TemporaryDirectory() as folder:
        ...     dev.save(f"{folder}/dev")
        ...     nk.load(f"{folder}/dev") == dev
        True
        """
        import_module("nikawa.objects").save_dataset(self, path, overwrite=overwrite)

    def export(self, to: str, out: Path | str, **settings: Any) -> Any:
        """Write the dataset as tasks of a tool that runs models, or in another format: see `nikawa.export`.

        >>> import nikawa as nk
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     len(nk.load("mini-ja").export("inspect", f"{folder}/mini", split="test").tasks)
        5
        """
        return import_module("nikawa.api").export(self, to, out, **settings)

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row per example: split, id, inputs and gold under their own names, metadata as `meta_…`.

        Needs pandas: `pip install pandas`.
        """
        # Records are in a lower layer than the code that builds tables, so it is imported on use.
        frame: pandas.DataFrame = import_module("nikawa.datasets.frames").to_pandas(self)
        return frame

    def to_hf(self) -> Any:
        """Return a Hugging Face `datasets.DatasetDict` with the columns that `nikawa data export --to hf` writes.

        Needs the package: `pip install datasets`.
        """
        return import_module("nikawa.datasets.frames").to_hf(self)

    def _tabulate(self) -> tuple[str, ResultTable, ResultTable]:
        """Return the parts of the display: a line, the sizes of the splits, and the first examples."""
        plural = "" if len(self) == 1 else "s"
        line = f"{self.name} {self.version} ({self.language}), {len(self):,} example{plural}"
        gold = {
            name: sorted({key for e in own for key in e.gold}) for name, own in self.splits.items()
        }
        inputs = {
            name: list(dict.fromkeys(key for e in own for key in e.inputs))
            for name, own in self.splits.items()
        }
        sizes = [(name, len(own), inputs[name], gold[name]) for name, own in self.splits.items()]
        few = [
            {"split": name, "id": e.id, **e.inputs, **{f"gold: {k}": v for k, v in e.gold.items()}}
            for name, own in self.splits.items()
            for e in own[:EXAMPLES_SHOWN]
        ][:EXAMPLES_SHOWN]
        columns = list(dict.fromkeys(name for row in few for name in row))
        rows = [tuple(row.get(name) for name in columns) for row in few]
        return (
            line,
            ResultTable("splits", ("split", "examples", "inputs", "gold"), sizes),
            ResultTable("first examples", tuple(columns), rows),
        )

    def __repr__(self) -> str:
        line, sizes, _ = self._tabulate()
        return f"Dataset: {printable(line)}\n{format_table(sizes)}"

    def _repr_html_(self) -> str:
        line, sizes, few = self._tabulate()
        head = f"<p><b>Dataset</b> {escape(printable(line))}</p>"
        return wrap_html([head, format_table_html(sizes), format_table_html(few)])


class MadeDataset(Dataset, frozen=True, kw_only=True):
    """A dataset that a function of `nikawa.api` made in memory, with the report of the job."""

    report: Any = None
    """The report that the command prints with `--json`: a `GenerateReport`, a `PerturbReport`, …"""


class Split(Sequence[Example]):
    """One split of a dataset, `ds["dev"]`: a sequence of its examples.

    `dataset` is a dataset with only this split. Every function that takes a dataset also takes a split.
    """

    __slots__ = ("dataset", "name")

    def __init__(self, dataset: Dataset, name: str) -> None:
        self.name = name
        self.dataset = msgspec.structs.replace(dataset, splits={name: dataset.splits[name]})

    def __len__(self) -> int:
        return len(self.dataset.splits[self.name])

    @overload
    def __getitem__(self, key: int) -> Example: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Example, ...]: ...
    def __getitem__(self, key: int | slice) -> Example | tuple[Example, ...]:
        return self.dataset.splits[self.name][key]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Split):
            return self.name == other.name and self.dataset == other.dataset
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its examples hold mappings

    def filter(self, keep: Callable[[Example], bool] | None = None, **values: Any) -> Dataset:
        """Like `Dataset.filter`, for this split."""
        return self.dataset.filter(keep, **values)

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Like `Dataset.save`, for this split."""
        self.dataset.save(path, overwrite=overwrite)

    def to_pandas(self) -> pandas.DataFrame:
        """Like `Dataset.to_pandas`, for this split."""
        return self.dataset.to_pandas()

    def to_hf(self) -> Any:
        """Like `Dataset.to_hf`, for this split."""
        return self.dataset.to_hf()

    def __repr__(self) -> str:
        return repr(self.dataset).replace("Dataset", "Split", 1)

    def _repr_html_(self) -> str:
        return self.dataset._repr_html_()


class Prediction(Record, frozen=True, kw_only=True):
    """The answer of a model; `answer` is None, with a reason, if the model gave no readable answer."""

    example: str
    """The id of the example within its split."""
    answer: Any = None
    """The answer in the task's shape."""
    scores: dict[str, float] | None = None
    """A number for each label, or for each choice by its index (`"0"`, `"1"`)."""
    raw: str | None = None
    """The model's output, if the answer was read from a longer text."""
    why: str | None = None
    """Why there is no answer."""


class Score(Record, frozen=True, kw_only=True):
    """One number of a result, with its interval and what it was computed over."""

    metric: str
    mode: Literal["official", "documented"]
    value: float
    unit: Unit
    low: float | None = None
    """Lower end of the 95% interval; None if there are too few items."""
    high: float | None = None
    n: int
    """How many items it was computed over."""
    where: str = ""
    """The slice, such as `tag=negation`; empty for all items."""


class Run(Record, frozen=True, kw_only=True):
    """A model on a task: everything that defines the outcome."""

    task: str
    predictor: str
    seed: int
    settings: dict[str, Any] = {}


SPAN_LISTS = ("spans",)
"""Gold fields that hold a list of spans."""
SPAN_INPUTS = ("subject", "object")
"""Input fields that hold one span."""


def reference(dataset: str, split: str, example: str) -> str:
    """The full reference of an example: `jsick:test/33`."""
    return f"{dataset}:{split}/{example}"


def revive(example: Example) -> Example:
    """Turn the span-valued fields, plain mappings after decoding, back into `Span`s."""
    for name in SPAN_LISTS:
        if name in example.gold:
            example.gold[name] = msgspec.convert(example.gold[name], list[Span])
    for name in SPAN_INPUTS:
        if isinstance(example.inputs.get(name), dict):
            example.inputs[name] = msgspec.convert(example.inputs[name], Span)
    return example


class Finding(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A problem that a check found in a dataset."""

    check: str
    """Stable name of the check, such as `repeated-pairs`."""
    where: str
    """The split or splits (`train`, `test in train+dev`), or the other dataset."""
    count: int
    ids: tuple[str, ...] = ()
    """Full references of the affected examples, or places in a file."""
    note: str = ""
    known: bool = False
    """Whether the dataset's list of known problems contains it."""


def texts_inside(value: Any) -> Iterator[str]:
    """Yield all texts inside a value, such as the inputs of an example."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_inside(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_inside(part)
