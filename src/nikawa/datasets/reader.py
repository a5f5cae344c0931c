"""The examples of a run, by name: `jsick:train`, or a file or folder of one's own."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from nikawa.datasets.custom import declared_protocol, is_custom, with_usual_splits
from nikawa.datasets.hidden import load_and_hide
from nikawa.datasets.load import pick_split
from nikawa.datasets.locate import data_root, files_here, missing_data
from nikawa.datasets.names import benchmarks, canonical_split, custom_path
from nikawa.datasets.views import training_views
from nikawa.errors import BadInput
from nikawa.io.json import encode_json
from nikawa.records import Dataset, Example, Record, Task
from nikawa.spec import name_and_split

MAX_SETS_KEPT = 12
"""Sets a process keeps in memory."""

Examples = tuple[Example, ...]
Stamp = tuple[tuple[str, int, int], ...]


class DataVersion(Record, frozen=True, kw_only=True):
    """A set of examples that a run uses, or a file that its model reads, with what fixes its content."""

    name: str
    """`jsick:train`, a records file, or the model's own file."""
    version: str
    digest: str
    n: int


class ExampleReader:
    """Reads sets by name from one data folder; what it read it keeps for the next run."""

    def __init__(self, data: Path | None = None) -> None:
        self.root = data_root(data)

    def splits(self, dataset: str) -> list[str]:
        """The splits that are here, other guises of them and parts of train left out."""
        if is_custom(dataset):
            found = self.own(dataset)
            parts = training_views(found.splits)
            return [name for name in found.splits if name not in parts]
        benchmark = benchmarks()[dataset]
        files = files_here(benchmark, self.root)
        if not files:
            raise missing_data(benchmark, self.root)
        declared = [
            name for source in benchmark.sources if source.split in files for name in source.splits
        ]
        return [name for name in dict.fromkeys(declared) if name not in benchmark.views]

    def own(self, name: str) -> Dataset:
        """A dataset of one's own, or one split of it; the file or folder is read once."""
        path, split = custom_path(name)
        found = with_usual_splits(_loaded(str(path), self.root))
        return pick_split(found, split, path) if split else found

    def has(self, dataset: str, split: str, task: Task) -> bool:
        """Whether a split is here with gold for the task that is not hidden."""
        return split in self.splits(dataset) and not all(
            example.hidden for example in self.examples(f"{dataset}:{split}", task)
        )

    def hides(self, dataset: str, split: str, task: Task) -> bool:
        """Whether a split is here with gold for the task, all of it hidden."""
        found = self.examples(f"{dataset}:{split}", task) if split in self.splits(dataset) else ()
        return bool(found) and all(example.hidden for example in found)

    def examples(self, name: str, task: Task) -> Examples:
        """The examples of a set with gold for a task of its dataset, hidden gold too: a model may answer them."""
        asked = source_task(name, task)
        found = self.all(name)
        return tuple(e for e in found if asked.question in e.gold and asked.asks(e))

    def all(self, name: str) -> Examples:
        """Every example of a set."""
        dataset, split = name_and_split(name)
        if dataset in benchmarks():
            read_split = declared_protocol(dataset).read_split
            if read_split is None:
                return self._split(dataset, split or "train")
            return read_split(
                split or "train", lambda part: self._split(dataset, part), self.splits(dataset)
            )
        return _only(self.own(name), name)

    def _split(self, dataset: str, split: str) -> Examples:
        split = canonical_split(benchmarks()[dataset], split)
        whole = "" in files_here(benchmarks()[dataset], self.root)
        found = _loaded(dataset if whole else f"{dataset}:{split}", self.root)
        if split not in found.splits:
            raise missing_data(benchmarks()[dataset], self.root, f":{split}")
        return found.splits[split]

    def training(self, name: str, task: Task, labels: dict[str, str]) -> Examples:
        """The examples of a set, of whatever dataset, in the words of the task that learns from them; none that is hidden."""
        found = tuple(example for example in self.examples(name, task) if not example.hidden)
        if not found:
            what = f"{name} has no example with gold for {source_task(name, task).question!r}"
            raise BadInput(what, cure=f"name a set that {task.name} can be learned from")
        return adapt_examples(name, task, found, labels)

    def describe(self, name: str) -> DataVersion:
        """A set with its version and digest."""
        return _described(self.root, name, _stamp(name, self.root))

    def version(self, name: str) -> str:
        """The version of the data a set is of."""
        dataset, split = name_and_split(name)
        if dataset not in benchmarks():
            return self.own(name).version
        here = self.splits(dataset)
        whole = "" in files_here(benchmarks()[dataset], self.root)
        split = split if split in here else "train"
        return _loaded(dataset if whole else f"{dataset}:{split}", self.root).version


def _loaded(spec: str, root: Path) -> Dataset:
    return _kept(spec, root, _stamp(spec, root))


@lru_cache(MAX_SETS_KEPT)
def _kept(spec: str, root: Path, _stamp: Stamp) -> Dataset:
    return load_and_hide(spec, data=root)


def _stamp(spec: str, root: Path) -> Stamp:
    """Size and time of the files a set is read from: what is kept holds until they change."""
    dataset, _ = name_and_split(spec)
    if dataset in benchmarks():
        paths = [
            path for found in files_here(benchmarks()[dataset], root).values() for path in found
        ]
    else:
        path = custom_path(spec)[0]
        paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)


@lru_cache(64)
def _described(root: Path, name: str, _stamp: Stamp) -> DataVersion:
    reader = ExampleReader(root)
    examples = reader.all(name)
    return DataVersion(
        name=name, version=reader.version(name), digest=digest_examples(examples), n=len(examples)
    )


def digest_examples(examples: Examples) -> str:
    """The digest of what the examples of a set say."""
    state = blake2b(digest_size=8)
    for example in examples:
        end = (
            b" hidden\n" if example.hidden and example.gold else b"\n"
        )  # scores of before it was hid are void
        state.update(encode_json((example.id, example.inputs, example.gold, example.group)) + end)
    return state.hexdigest()


def _only(dataset: Dataset, name: str) -> Examples:
    """The training split of a dataset of one's own, or its only one."""
    if len(dataset.splits) > 1 and "train" not in dataset.splits:
        cure = f"name one: {name}:SPLIT with {', '.join(dataset.splits)}"
        raise BadInput(f"{name} holds {len(dataset.splits)} splits", cure=cure)
    return (
        dataset.splits["train"]
        if "train" in dataset.splits
        else next(iter(dataset.splits.values()))
    )


def source_task(name: str, task: Task) -> Task:
    """The task of a set's own dataset that asks the same kind of question."""
    dataset, _ = name_and_split(name)
    if dataset not in benchmarks() or dataset == task.dataset:
        return task
    found = [t for t in benchmarks()[dataset].tasks if t.kind == task.kind]
    if not found:
        what = f"{dataset} has no {task.kind} task to learn {task.name} from"
        raise BadInput(what, cure="name another dataset: nikawa tasks shows their kinds")
    return next((t for t in found if t.question == task.question), found[0])


def adapt_examples(name: str, task: Task, examples: Examples, labels: dict[str, str]) -> Examples:
    """Examples of another set in the words of a task: inputs by their order, labels as told, scores to its scale."""
    source = source_task(name, task)
    if source == task and not labels and name_and_split(name)[0] in (*benchmarks(), task.dataset):
        return examples
    fits = source.inputs == task.inputs or len(source.inputs) != len(task.inputs)
    renamed = {} if fits else dict(zip(source.inputs, task.inputs, strict=True))
    return tuple(_adapted(e, (name, source, task), renamed, labels) for e in examples)


def _adapted(
    example: Example,
    between: tuple[str, Task, Task],
    renamed: dict[str, str],
    labels: dict[str, str],
) -> Example:
    name, source, task = between
    inputs = {renamed.get(key, key): value for key, value in example.inputs.items()}
    for key in task.inputs:
        if key not in inputs:
            what = f"example {example.id!r} of {name} has no {key!r}, which {task.name} asks for"
            raise BadInput(what, cure="name a dataset of the same kind")
    gold = example.gold[source.question]
    if task.labels and isinstance(gold, str):
        gold = labels.get(gold, gold)
        if gold not in task.labels:
            what = f"{name} has the label {gold!r}, {task.name} has {', '.join(task.labels)}"
            raise BadInput(
                what, cure=f"tell what it stands for: --label {gold}={task.labels[0]}, say"
            )
    elif source.scale != task.scale and source.scale is not None and task.scale is not None:
        (low, high), (least, most) = source.scale, task.scale
        gold = least + (gold - low) * (most - least) / (high - low)
    return replace(example, inputs=inputs, gold={task.question: gold})


def with_full_reference(name: str, example: Example) -> Example:
    """An example under its full reference, so that sets can be mixed."""
    return replace(
        example, id=f"{name}/{example.id}", group=f"{name}/{example.group or example.id}"
    )
