"""Sets of examples by the name that runs know them by: `jsick:train`, or a custom file or folder
with its split.

A set is read once in a process and kept until its files change.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from nikawa.datasets.base import Examples
from nikawa.datasets.compact import Compactor
from nikawa.datasets.custom import is_custom, with_usual_splits
from nikawa.datasets.hidden import remove_hidden_labels
from nikawa.datasets.keys import (
    LabelKeys,
    read_keys,
    read_notice,
    refuse_closed_keys,
    restore_labels,
    sort_as_before,
)
from nikawa.datasets.load import load, pick_split
from nikawa.datasets.locate import data_root, files_here, missing_data
from nikawa.datasets.names import SPLIT_ALIASES, benchmarks, canonical_split, custom_path
from nikawa.datasets.task_lookup import declared_protocol
from nikawa.datasets.views import training_views
from nikawa.errors import BadInput
from nikawa.io.json import encode_json
from nikawa.io.remote import is_address
from nikawa.records import Dataset, Example, Record, Task
from nikawa.spec import name_and_split

MAX_SETS_KEPT = 24
"""Sets a process keeps in memory, each with and without its hidden labels: what both hold is kept
once."""

SECONDS_OF_STAMPS = 10
"""How long what is known of the files at an address is used."""

FileStamps = tuple[tuple[str, int, int], ...]
"""Path, time of change and size of files."""


class DataVersion(Record, frozen=True, kw_only=True):
    """A set of examples that a run uses, or a file that its model reads, with what fixes its
    content.
    """

    name: str
    """`jsick:train`, a records file, or the model's own file."""
    version: str
    digest: str
    """Of what the examples say; see `digest_examples`."""
    n: int


class ExampleReader:
    """Reads sets by name from one data folder.

    With `hidden`, `open_labels` returns hidden labels, for their owners; with `keys` also those
    that `nikawa data hide` removed from a folder. Every other method returns only public data.
    """

    def __init__(
        self, data: Path | None = None, *, hidden: bool = False, keys: LabelKeys | None = None
    ) -> None:
        self.root = data_root(data)
        self.hidden = hidden
        self.keys = keys
        self._has_used_keys = False

    def splits(self, dataset: str) -> list[str]:
        """The splits that are here, without those that are parts of others or the same in another
        guise.

        Raises `MissingData` where no file of a published dataset is here.
        """
        if is_custom(dataset):
            splits = self.custom(dataset).splits
            parts = training_views(splits)
            return [name for name in splits if name not in parts]
        benchmark = benchmarks()[dataset]
        files = files_here(benchmark, self.root)
        if not files:
            raise missing_data(benchmark, self.root)
        declared = [
            name for source in benchmark.sources if source.split in files for name in source.splits
        ]
        return [name for name in dict.fromkeys(declared) if name not in benchmark.views]

    def custom(self, name: str) -> Dataset:
        """A custom dataset, or one split of it; the file or folder is read once."""
        return self._custom(name, hidden=False)

    def _custom(self, name: str, *, hidden: bool) -> Dataset:
        path, split = custom_path(name)
        dataset = with_usual_splits(_load(str(path), self.root, hidden))
        return pick_split(dataset, split, path) if split else dataset

    def has_gold(self, dataset: str, split: str, task: Task) -> bool:
        """Whether a split is here with gold for the task that is not hidden."""
        if split not in self.splits(dataset):
            return False
        return not all(example.hidden for example in self.examples(f"{dataset}:{split}", task))

    def hides_gold(self, dataset: str, split: str, task: Task) -> bool:
        """Whether a split is here with gold for the task, all of it hidden."""
        if split not in self.splits(dataset):
            return False
        examples = self.examples(f"{dataset}:{split}", task)
        return bool(examples) and all(example.hidden for example in examples)

    def examples(self, name: str, task: Task) -> Examples:
        """The examples of a set with gold for a task of its dataset; those whose gold is hidden
        too, without it: a model may answer them.
        """
        source = source_task(name, task)
        labelled = self._examples(name, hidden=True)
        withheld = self.withholds_gold(*name_and_split(name))
        return tuple(
            example
            for example, held in zip(self.all_examples(name), labelled, strict=True)
            if (source.question in held.gold or (withheld and held.hidden)) and source.asks(held)
        )

    def open_labels(self, name: str, task: Task, examples: list[Example]) -> list[Example]:
        """The examples of a set with the hidden labels that the reader may open, no longer marked as hidden; the list itself
        where there is nothing to open.

        Where labels come from a key file, the order is that of before, so that resamples draw the same items. Examples
        without gold for the task stay hidden. Raises `BadInput` where the keys are those of other items.
        """
        if not self.hidden or not any(example.hidden for example in examples):
            return examples
        dataset, split = name_and_split(name)
        keys = self.keys if self.withholds_gold(dataset, split) else None
        labelled = self._examples(name, hidden=True)
        if keys is not None:
            self._has_used_keys = True
            place = str(custom_path(dataset)[0])
            whole = restore_labels(_load(place, self.root, hidden=True), keys, place)
            labelled = with_usual_splits(whole).splits[split]
        opened: dict[str, Example] = {}
        for example in labelled:
            if task.question in example.gold and task.asks(example):
                origin = example.origin
                if origin is not None and example.hidden:
                    origin = replace(origin, gold="annotated")
                opened[example.id] = replace(example, origin=origin)
        shown = [opened.get(example.id, example) for example in examples]
        return shown if keys is None else list(sort_as_before(shown, keys, split))

    def refuse_unused_keys(self) -> None:
        """Refuse a key file that opened nothing of what was read."""
        if self.keys is not None and not self._has_used_keys:
            what = "none of these runs answered items whose labels the file has"
            cure = "pass runs on the folder that nikawa data hide wrote, or leave out --keys"
            raise BadInput(what, file=self.keys.path, cure=cure)

    def withholds_gold(self, dataset: str, split: str) -> bool:
        """Whether a split of a custom folder has no gold, as `nikawa data hide` left it: models answer
        it anyway, and the owner of the key file scores the answers.
        """
        if not is_custom(dataset):
            return False
        notice = read_notice(custom_path(dataset)[0])
        names = () if notice is None else notice.splits
        return split in {*names, *(SPLIT_ALIASES.get(name, name) for name in names)}

    def all_examples(self, name: str) -> Examples:
        """Every example of a set, hidden labels removed; without a split the training split is
        meant, or the only one.
        """
        return self._examples(name, hidden=False)

    def _examples(self, name: str, *, hidden: bool) -> Examples:
        dataset, split = name_and_split(name)
        if dataset in benchmarks():
            split = split or "train"
            read_split = declared_protocol(dataset).read_split
            if read_split is None:
                return self._published_split(dataset, split, hidden=hidden)
            return read_split(
                split,
                lambda part: self._published_split(dataset, part, hidden=hidden),
                self.splits(dataset),
            )
        splits = self._custom(name, hidden=hidden).splits
        if "train" in splits:
            return splits["train"]
        if len(splits) > 1:
            cure = f"choose one: {name}:SPLIT with {', '.join(splits)}"
            raise BadInput(f"{name} has {len(splits)} splits", cure=cure)
        return next(iter(splits.values()))

    def training_examples(self, name: str, task: Task, labels: dict[str, str]) -> Examples:
        """The examples of a set, of whatever dataset, adapted to the task that learns from them;
        none that is hidden.

        `labels` says what labels of the set mean: label of the set to label of the task.
        """
        examples = tuple(example for example in self.examples(name, task) if not example.hidden)
        if not examples:
            what = f"{name} has no example with gold for {source_task(name, task).question!r}"
            raise BadInput(what, cure=f"pass a training set for {task.name}")
        return adapt_examples(name, task, examples, labels)

    def describe(self, name: str) -> DataVersion:
        """A set with its version and digest.

        >>> ExampleReader().describe("mini-ja:dev").n
        30
        """
        return _describe_kept(self.root, name, _file_stamps(name, self.root))

    def holds(self, planned: DataVersion) -> bool:
        """Whether the set is here as it was described.

        Descriptions of before hidden labels were removed have a digest of these labels too.
        """
        if self.describe(planned.name).digest == planned.digest:
            return True
        examples = self._examples(planned.name, hidden=True)
        return (
            any(example.hidden and example.gold for example in examples)
            and digest_examples(examples, hidden=True) == planned.digest
        )

    def version(self, name: str) -> str:
        """The version of the data a set is of."""
        dataset, split = name_and_split(name)
        if dataset not in benchmarks():
            return self.custom(name).version
        split = split if split in self.splits(dataset) else "train"
        return self._load_published(dataset, split, hidden=False).version

    def _published_split(self, dataset: str, split: str, *, hidden: bool) -> Examples:
        split = canonical_split(benchmarks()[dataset], split)
        splits = self._load_published(dataset, split, hidden=hidden).splits
        if split not in splits:
            raise missing_data(benchmarks()[dataset], self.root, f":{split}")
        return splits[split]

    def _load_published(self, dataset: str, split: str, *, hidden: bool) -> Dataset:
        """One split, or the whole dataset where one file holds several."""
        is_one_file = "" in files_here(benchmarks()[dataset], self.root)
        return _load(dataset if is_one_file else f"{dataset}:{split}", self.root, hidden)


def open_reader(
    data: Path | None = None, *, hidden: bool = False, keys: Path | None = None
) -> ExampleReader:
    """Return a reader of the data in a folder. With `hidden` it opens hidden labels, for their owners; with `keys` also
    those of the key file. Raises `BadInput` for keys without `hidden`.
    """
    if keys is None:
        return ExampleReader(data, hidden=hidden)
    refuse_closed_keys(keys, hidden)
    return ExampleReader(data, hidden=True, keys=read_keys(keys))


def _load(text: str, root: Path, hidden: bool) -> Dataset:
    return _load_kept(text, root, _file_stamps(text, root), hidden)


@lru_cache(MAX_SETS_KEPT)
def _load_kept(text: str, root: Path, stamps: FileStamps, hidden: bool) -> Dataset:
    if hidden:
        return load(text, data=root, hidden=True, compactor=Compactor())
    return remove_hidden_labels(_load_kept(text, root, stamps, True))


@lru_cache(64)
def _describe_kept(root: Path, name: str, _stamps: FileStamps) -> DataVersion:
    reader = ExampleReader(root)
    examples = reader.all_examples(name)
    return DataVersion(
        name=name, version=reader.version(name), digest=digest_examples(examples), n=len(examples)
    )


def _file_stamps(text: str, root: Path) -> FileStamps:
    """Of the files a set is read from: what is kept holds until they change."""
    dataset, _ = name_and_split(text)
    if dataset in benchmarks():
        files = files_here(benchmarks()[dataset], root)
        paths = [path for of_split in files.values() for path in of_split]
    elif is_address(text):
        return _stamp_address(text, int(monotonic() // SECONDS_OF_STAMPS))
    else:
        path, _ = custom_path(text)
        paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    return _stamp_files(paths)


@lru_cache(64)
def _stamp_address(text: str, _moment: int) -> FileStamps:
    """The stamps of the files at an address, which cost a request each."""
    path, _ = custom_path(text)
    return _stamp_files(sorted(path.rglob("*")) if path.is_dir() else [path])


def _stamp_files(paths: Iterable[Path]) -> FileStamps:
    stats = [(str(path), path.stat()) for path in paths]
    return tuple((name, about.st_mtime_ns, about.st_size) for name, about in stats)


def digest_examples(examples: Examples, *, hidden: bool = False) -> str:
    """The digest of what the examples of a set say.

    Tags and meta are left out, so that tagging a dataset does not make its runs void. So is hidden
    gold: someone who knows all labels but a few could try which of them give the digest. A label that
    is hidden later makes other data: scores from before are void. With `hidden` it is the digest
    that was taken before hidden gold was left out.
    """
    state = blake2b(digest_size=8)
    for example in examples:
        gold = example.gold if hidden or not example.hidden else {}
        state.update(encode_json((example.id, example.inputs, gold, example.group)))
        state.update(b" hidden\n" if example.hidden and gold else b"\n")
    return state.hexdigest()


def source_task(name: str, task: Task) -> Task:
    """Return the task with the same kind of question in the dataset of a set."""
    dataset, _ = name_and_split(name)
    if dataset not in benchmarks() or dataset == task.dataset:
        return task
    candidates = [other for other in benchmarks()[dataset].tasks if other.kind == task.kind]
    if not candidates:
        what = f"{dataset} has no {task.kind} task to learn {task.name} from"
        raise BadInput(what, cure="pass another dataset; nikawa tasks shows the kinds of tasks")
    return next((t for t in candidates if t.question == task.question), candidates[0])


def adapt_examples(name: str, task: Task, examples: Examples, labels: dict[str, str]) -> Examples:
    """Convert examples of another set for a task: inputs by their order, labels as mapped, scores
    to its scale.
    """
    source = source_task(name, task)
    if source == task and not labels and name_and_split(name)[0] in (*benchmarks(), task.dataset):
        return examples
    fits = source.inputs == task.inputs or len(source.inputs) != len(task.inputs)
    input_names = {} if fits else dict(zip(source.inputs, task.inputs, strict=True))
    adapted = []
    for example in examples:
        inputs = {input_names.get(key, key): value for key, value in example.inputs.items()}
        for key in task.inputs:
            if key not in inputs:
                what = (
                    f"the example {example.id!r} of {name} has no {key!r}, which {task.name} needs"
                )
                raise BadInput(what, cure="pass a dataset of the same kind")
        gold = example.gold[source.question]
        if task.labels and isinstance(gold, str):
            gold = labels.get(gold, gold)
            if gold not in task.labels:
                what = (
                    f"{name} has the label {gold!r}, but {task.name} has {', '.join(task.labels)}"
                )
                cure = f"rename the label, for example --label {gold}={task.labels[0]}"
                raise BadInput(what, cure=cure)
        elif source.scale != task.scale and source.scale is not None and task.scale is not None:
            (low, high), (least, most) = source.scale, task.scale
            gold = least + (gold - low) * (most - least) / (high - low)
        adapted.append(replace(example, inputs=inputs, gold={task.question: gold}))
    return tuple(adapted)


def with_full_reference(name: str, example: Example) -> Example:
    """An example under its full reference, so that sets can be mixed."""
    return replace(
        example, id=f"{name}/{example.id}", group=f"{name}/{example.group or example.id}"
    )
