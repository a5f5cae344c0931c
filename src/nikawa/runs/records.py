"""What a run is: one value that defines its outcome and knows its inputs by name.

It does not depend on a machine: the same value runs here, in another process or on a cluster,
and its hash names the folder of the result. The data a run rests on is named with version and
digest, so other data make another run.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any, Literal
from unicodedata import normalize

import msgspec
from msgspec.structs import replace

from nikawa.datasets.reader import DataVersion
from nikawa.io.file_names import find_name_fault, to_file_name
from nikawa.io.json import encode_json
from nikawa.models import parse_model_name
from nikawa.records import Record, Run, Score, Task
from nikawa.spec import name_and_split

ProtocolKind = Literal["standard", "dev", "folds", "stand-in", "answers"]
Stage = Literal["result", "selection"]

FILE = "file"
"""The version of a file that belongs to a model, not to a dataset."""
DIVERGED = "diverged"
"""The reason of answers that a diverged training could not give."""
MAX_TASK_BYTES = 190
"""Most bytes of a task's name in a folder's name."""
MAX_MODEL_CHARS = 48
"""Most characters of a model's name in a folder's name."""
MAX_FOLDER_BYTES = 240
"""Most bytes of a folder's name: file systems end at 255, and names of temporaries come on top."""


class HashedRecord(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a run's hash that keeps its bytes in another process.

    A field is left out of the bytes where it is the default itself, and written where it is another
    object that equals it. A pickled number is always another object: so the bytes travel, not the
    fields.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return decode_record, (type(self), encode_json(self))


def decode_record(kind: type[Record], data: bytes) -> Record:
    """A record from its bytes."""
    return msgspec.json.decode(data, type=kind)


class Variation(HashedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """How a run departs from the task as published; empty: not at all."""

    inputs: tuple[str, ...] = ()
    """The inputs that are kept, where some are left out."""
    share: float = 1.0
    """The share of the training data that is learned from."""
    shots: int = 0
    """Training examples per label, drawn by seed; 0: all of them."""
    train: tuple[str, ...] = ()
    """Training sets instead of the task's own."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Label of such a set to label of the task."""
    limit: int = 0
    """The number of items of each set that are answered, from the first; 0: all of them."""

    @property
    def title(self) -> str:
        """The departure in words, for tables; empty without one."""
        parts = [
            f"{'+'.join(self.inputs)} only" if self.inputs else "",
            f"trained on {'+'.join(self.train)}" if self.train else "",
            f"{self.share * 100:.6g}% of train" if self.share != 1.0 else "",
            f"{self.shots} shot{'s' if self.shots > 1 else ''}" if self.shots else "",
            f"first {self.limit:,} item{'s' if self.limit > 1 else ''}" if self.limit else "",
        ]
        return ", ".join(part for part in parts if part)


class EvaluationProtocol(HashedRecord, frozen=True, kw_only=True, omit_defaults=True):
    """Which sets are learned from, chosen on and evaluated, and why these."""

    kind: ProtocolKind
    train: tuple[str, ...] = ()
    """Sets that are learned from; empty for a model that does not learn."""
    select: str = ""
    """The set settings are chosen on; empty: none."""
    select_share: float = 0.0
    """Above 0: `select` is this share of the training data, whole groups, cut out of it."""
    evaluate: tuple[str, ...]
    """Sets that results are reported on, the main one first."""
    folds: int = 0
    """Above 0: each example of the evaluated set is answered by a model of the other folds."""
    mark: str = ""
    """How tables mark it; empty: train, dev and test as published."""
    why: str = ""


class RunSpec(Run, frozen=True, kw_only=True):
    """A model on a task: everything that defines the outcome."""

    variation: Variation = Variation()
    protocol: EvaluationProtocol
    data: tuple[DataVersion, ...]
    """Every set used, with version and digest, and the model's files."""
    stage: Stage = "result"
    """`selection`: answers only the set that chooses settings."""
    own: Task | msgspec.UnsetType = msgspec.UNSET
    """The task itself where it is not a registered one; its dataset is a path, which counts by its
    content."""
    name: str | msgspec.UnsetType = msgspec.UNSET
    """The user's name for the model, if any; another name makes another run."""

    @property
    def model(self) -> str:
        """The model's name in tables: the user's name, otherwise its own name."""
        return self._own_name if isinstance(self.name, msgspec.UnsetType) else self.name

    @property
    def _own_name(self) -> str:
        """The model's own name.

        A model made from a file or folder has its short name, independent of the path.
        """
        short = parse_model_name(self.predictor).short
        is_file = any(part.version == FILE and part.name == short for part in self.data)
        return short if is_file else self.predictor

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that name this value."""
        value = replace(self, predictor=self._own_name)
        if isinstance(self.own, Task):
            value = _remove_path(value, self.own)
        return blake2b(encode_json(value), digest_size=6).hexdigest()

    @property
    def folder(self) -> str:
        """The name of its folder: task, model, hash.

        The task of a custom dataset may have the name of any gold field. Only the hash identifies a
        run: the folder of an earlier version, or a renamed one, is found by it.
        """
        task = self.task
        if find_name_fault(f"{task}--") or len(task.encode()) > MAX_TASK_BYTES:
            task = to_file_name(task, MAX_TASK_BYTES)
        ends = f"{task}--", f"--{self.hash}"
        max_bytes = MAX_FOLDER_BYTES - len("".join(ends).encode())
        model = shorten_model(self.model, max_bytes) or shorten_model(self._own_name, max_bytes)
        return model.join(ends)


def shorten_model(name: str, max_bytes: int) -> str:
    """The name of a model as a part of a folder's name.

    Letters and digits of every script stay, in composed form, so that a name typed on another
    system makes the same folder; anything else becomes a hyphen. It is empty if nothing stays.

    >>> shorten_model("東北大 BERT/base", 200), shorten_model("한국어:모델", 200), shorten_model("☆", 200)
    ('東北大-BERT-base', '한국어-모델', '')
    """
    plain = re.sub(r"[^\w.-]+", "-", normalize("NFC", name)).strip("-.")[:MAX_MODEL_CHARS]
    return plain.encode()[:max_bytes].decode(errors="ignore")


def _remove_path(spec: RunSpec, own: Task) -> RunSpec:
    """A run on a custom dataset with its sets named after the task `own`, not after the path of the
    dataset.

    So the run has one hash, wherever the dataset is.
    """

    def rename_set(name: str) -> str:
        dataset, _ = name_and_split(name)
        return own.name + name.removeprefix(dataset) if dataset == own.dataset else name

    def rename_sets(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(rename_set, names))

    protocol = spec.protocol
    train = rename_sets(protocol.train)
    select = rename_set(protocol.select)
    if protocol.select == "+".join(protocol.train):
        select = "+".join(train)
    evaluate = rename_sets(protocol.evaluate)
    return replace(
        spec,
        own=replace(own, dataset=own.name),
        variation=replace(spec.variation, train=rename_sets(spec.variation.train)),
        protocol=replace(protocol, train=train, select=select, evaluate=evaluate),
        data=tuple(replace(part, name=rename_set(part.name)) for part in spec.data),
    )


class SetScores(Record, frozen=True, kw_only=True):
    """The scores of one evaluated set."""

    set: str
    """Its name, which is that of the file below `predictions/`."""
    n: int
    """Items that were scored."""
    hidden: int = 0
    """Further items, answered but not scored: their labels are hidden."""
    answered: int
    unanswered: dict[str, int] = msgspec.field(default_factory=dict)
    """Reason to count, where the model gave no answer that could be read."""
    scores: tuple[Score, ...]
    """`where` is empty for the whole set, else the part of it."""

    @property
    def diverged(self) -> bool:
        """Whether nothing was answered, as the training diverged."""
        return 0 < self.n == self.unanswered.get(DIVERGED)


class About(Record, frozen=True, kw_only=True):
    """The circumstances of a run; none of them defines its result."""

    started: str
    finished: str
    seconds: dict[str, float]
    """Learning, predicting and scoring, in wall-clock seconds."""
    trained: int
    """Examples learned from; of the last fold where there are folds."""
    python: str
    packages: dict[str, str]
    data: tuple[DataVersion, ...]
    seed: int
    model: dict[str, object] = msgspec.field(default_factory=dict)
    """The model's own report."""


Status = Literal["done", "skipped", "failed", "busy"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one run; it can be sent back from another process or machine."""

    run: RunSpec
    status: Status
    problem: str = ""
    bad_input: bool = False
    """Whether the problem is in the input and not in a program."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether its result is on disk."""
        return self.status in ("done", "skipped")
