"""Load a dataset from what a user writes: a name, a folder, a records file, or `name@file`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import msgspec

from nikawa.datasets.base import Benchmark
from nikawa.datasets.locate import (
    missing_data,
    missing_version,
    path_version,
    present,
    repository_folder,
)
from nikawa.datasets.names import SPLIT_ALIASES, benchmarks, split_name, tasks
from nikawa.datasets.recognise import declared_split, hinted
from nikawa.errors import BadInput, MissingData, unknown
from nikawa.io.cards import blank_card
from nikawa.io.folders import is_dataset_folder, read_folder, split_files
from nikawa.io.records import SUFFIXES, read_examples
from nikawa.records import Dataset, Example, Judgement, Task, reference


class Named(NamedTuple):
    """What a spec says that starts with the name of a registered dataset."""

    benchmark: Benchmark
    split: str | None
    """The canonical name of the split; None where all are meant."""
    file: Path | None


def named(spec: str) -> Named | None:
    """The registered dataset that `name`, `name:split` or `name@file` speaks of; None for a path."""
    head, at, path = spec.partition("@")
    name, colon, split = head.partition(":")
    if name not in benchmarks():
        return None
    if (at and not path) or (colon and not split):
        what = "file after @" if at else "split after :"
        raise BadInput(f"{spec!r} names no {what}", cure="write NAME, NAME:SPLIT or NAME@FILE")
    benchmark = benchmarks()[name]
    return Named(
        benchmark, split_name(benchmark, split) if colon else None, Path(path) if at else None
    )


def load(spec: str, *, data: Path | None = None, version: str | None = None) -> Dataset:
    """Load a dataset: `jsick`, `jsick:test`, a dataset folder, a records file, or `jsick@file.tsv`."""
    published = named(spec)
    if published is not None and published.file is not None:
        return _load_file(*published[:2], published.file)
    if published is not None:
        return _load_published(*published[:2], data, version)
    return _load_own(spec)


def peek(spec: str, n: int, *, data: Path | None = None) -> Dataset:
    """The same, but of a file or folder of one's own the first `n` examples a split, without reading on.

    What comes later in a file is not looked at, be it broken.
    """
    return _load_own(spec, n) if named(spec) is None else load(spec, data=data)


def _load_own(spec: str, first: int | None = None) -> Dataset:
    path, part = own_path(spec)
    dataset = _load_path(path, first)
    return pick_split(dataset, part, path) if part else dataset


def own_path(spec: str) -> tuple[Path, str]:
    """The file or folder of a spec that names no registered dataset, and the split behind its colon."""
    path, _, part = spec.rpartition(":")
    if spec.strip() and Path(spec).exists():
        return Path(spec), ""
    if path.strip() and Path(path).exists():
        return Path(path), part
    head, at, _ = spec.partition("@")
    name = head.partition(":")[0]
    if not name.strip():
        cure = "write NAME (nikawa data list shows them), NAME:SPLIT, NAME@FILE, a folder or a records file"
        raise BadInput(f"{spec!r} names no dataset", cure=cure)
    if "/" in name or (not at and ("/" in spec or spec.endswith(SUFFIXES))):
        raise BadInput("no such file or folder", file=spec, cure="check the path")
    raise unknown("dataset", name, benchmarks())


def load_task(
    name: str, split: str, *, data: Path | None = None
) -> tuple[Task, tuple[Example, ...]]:
    """A task and the examples of one split it can be asked of."""
    task = tasks()[name]
    dataset = load(f"{task.dataset}:{split}", data=data)
    examples = next(iter(dataset.splits.values()))
    return task, tuple(example for example in examples if task.asks(example))


def read_judgements(
    spec: str, *, data: Path | None = None, counted: bool = False
) -> Iterator[Judgement]:
    """Every published worker's answer of a dataset (`jsick`) or of one split (`jsick:test`).

    With `counted` only those that the published gold was made from.
    """
    benchmark, split, file = named(spec) or Named(benchmarks()[spec.partition(":")[0]], None, None)
    name = benchmark.name
    if file is not None:
        raise BadInput(
            f"{spec!r} names a file",
            cure=f"workers' answers lie beside it: write {name}, and --data",
        )
    if benchmark.judgements is None:
        have = [b.name for b in benchmarks().values() if b.judgements is not None]
        raise BadInput(f"{name} publishes no workers' answers", cure=f"these do: {', '.join(have)}")
    if split not in (None, "all", *benchmark.split_names()):
        raise unknown(f"split of {name}", str(split), benchmark.split_names())
    read = benchmark.counted if counted and benchmark.counted is not None else benchmark.judgements
    found = read(repository_folder(benchmark, data))
    return found if split is None else _of_split(found, benchmark, split)


def _of_split(found: Iterator[Judgement], benchmark: Benchmark, split: str) -> Iterator[Judgement]:
    """The judgements of one split; where some could be of any, for want of a file, that is an error."""
    wanted, unsaid = (reference(benchmark.name, name, "") for name in (split, "all"))
    for judgement in found:
        if judgement.example.startswith(wanted):
            yield judgement
        elif judgement.example.startswith(unsaid):
            what = f"the file that tells the splits of {benchmark.name}'s judgements is not here"
            raise MissingData(
                what, cure=f"run: nikawa data fetch {benchmark.name}, or leave out :{split}"
            )


def _load_published(
    benchmark: Benchmark, wanted: str | None, data: Path | None, version: str | None
) -> Dataset:
    files = present(benchmark, data, version)
    if not files:
        raise (
            missing_version(benchmark, data, version) if version else missing_data(benchmark, data)
        )
    if wanted is not None and (benchmark.split_of is None or wanted in files):
        _require(wanted, benchmark, files, data)
        files = {wanted: files[wanted]}
    splits = _read_splits(benchmark, files)
    if wanted is not None:
        _require(wanted, benchmark, splits, data)
        splits = {wanted: splits[wanted]}
    folder = repository_folder(benchmark, data)
    return _dataset(
        benchmark, splits, (path.relative_to(folder) for paths in files.values() for path in paths)
    )


def _require(split: str, benchmark: Benchmark, have: Iterable[str], data: Path | None) -> None:
    have = set(have)
    if split in have:
        return
    declared = {source.split for source in benchmark.sources if source.split}
    if split in declared:
        raise missing_data(benchmark, data, f":{split}")
    raise unknown(f"split of {benchmark.name}", split, have | declared)


def _read_splits(
    benchmark: Benchmark, files: dict[str, list[Path]]
) -> dict[str, tuple[Example, ...]]:
    splits: dict[str, list[Example]] = {}
    homes: dict[tuple[str, str], Path] = {}
    for split, paths in files.items():
        for path in paths:
            for example in unique(benchmark.read(path), path):
                name = split or (benchmark.split_of(example) if benchmark.split_of else "all")
                if len(paths) > 1 and not benchmark.sections:
                    _refuse_namesake(example.id, name, path, homes)
                splits.setdefault(name, []).append(example)
    return {name: tuple(examples) for name, examples in splits.items()}


def _refuse_namesake(name: str, split: str, path: Path, homes: dict[tuple[str, str], Path]) -> None:
    """An id that two files of a split hold: one of them is a copy, or of another release."""
    home = homes.setdefault((split, name), path)
    if home != path:
        cure = "keep one of the two files, or name it: NAME@FILE"
        raise BadInput(f"id {name!r} of {split} is in {home} too", file=path, cure=cure)


def unique(examples: Iterable[Example], path: Path) -> Iterator[Example]:
    """Pass the examples of one file on; an id that comes twice is an error, and so is a file without any."""
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            raise BadInput(
                f"id {example.id!r} occurs twice",
                file=path,
                cure="the file is not the published one",
            )
        seen.add(example.id)
        yield example
    if not seen:
        raise BadInput(
            "holds no rows", file=path, cure="fetch it again, or name a file that holds some"
        )


def _dataset(
    benchmark: Benchmark, splits: dict[str, tuple[Example, ...]], files: Iterable[Path]
) -> Dataset:
    """The dataset with its version: as the content tells, else as its files are called, else the card's."""
    version = benchmark.version_of(splits) if benchmark.version_of else None
    if version is None:
        version = ".".join(map(str, max(map(path_version, files), default=())))
    return Dataset(
        name=benchmark.name,
        language=benchmark.language,
        version=version or benchmark.card.version,
        card=benchmark.card,
        splits=splits,
    )


def _load_file(benchmark: Benchmark, wanted: str | None, path: Path) -> Dataset:
    """One published file with its reader named."""
    told = wanted or declared_split(benchmark, path) or guess_split(path)
    splits: dict[str, list[Example]] = {}
    for example in unique(benchmark.read(path), path):
        found = (benchmark.split_of(example) if benchmark.split_of else "") or told
        splits.setdefault(found, []).append(example)
    called = [Path(path.name)] if declared_split(benchmark, path) else []
    dataset = _dataset(
        benchmark, {name: tuple(examples) for name, examples in splits.items()}, called
    )
    return dataset if wanted is None else pick_split(dataset, wanted, path)


def pick_split(dataset: Dataset, split: str, path: Path | str) -> Dataset:
    """The dataset with one split alone."""
    wanted = split if split in dataset.splits else SPLIT_ALIASES.get(split, split)
    if wanted not in dataset.splits:
        raise BadInput(
            f"holds no split {split!r}", file=path, cure=f"it holds: {', '.join(dataset.splits)}"
        )
    return msgspec.structs.replace(dataset, splits={wanted: dataset.splits[wanted]})


def guess_split(path: Path) -> str:
    """The split a file name speaks of, else `all`."""
    words = re.findall(r"[a-z]+", path.name.lower())
    return next(
        (SPLIT_ALIASES.get(w, w) for w in words if w in {"train", "dev", "test", *SPLIT_ALIASES}),
        "all",
    )


def _load_path(path: Path, first: int | None) -> Dataset:
    if path.is_dir():
        if not is_dataset_folder(path):
            writes = f"nikawa data card {quote(str(path))} writes one"
            cure = writes if split_files(path) else "name a dataset folder or a records file"
            raise BadInput("is a folder without card.json", file=path, cure=cure)
        return read_folder(path, first)
    try:
        return loose_dataset(path, tuple(islice(read_examples(path), first)))
    except BadInput as problem:
        raise hinted(problem, path) from None


def loose_dataset(path: Path, examples: tuple[Example, ...]) -> Dataset:
    """A dataset around a single records file, which has no card of its own."""
    name, language = path.name.split(".")[0], guess_language(examples)
    card = msgspec.structs.replace(
        blank_card(name, language), description=f"records of {path.name}"
    )
    return Dataset(
        name=name, language=language, version="0", card=card, splits={guess_split(path): examples}
    )


def guess_language(examples: Iterable[Example]) -> str:
    """`ja`, `ko` or `und`, by the script of the first texts."""
    for example in examples:
        text = "".join(value for value in example.inputs.values() if isinstance(value, str))
        if re.search(r"[\uac00-\ud7a3]", text):
            return "ko"
        if re.search(r"[\u3040-\u30ff]", text):
            return "ja"
    return "und"
