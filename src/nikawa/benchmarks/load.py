"""Load a dataset from what a user writes: a name, a folder, a records file, or `name@file`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from nikawa.benchmarks.base import Benchmark
from nikawa.benchmarks.locate import missing_data, present, repository_folder
from nikawa.benchmarks.names import SPLIT_ALIASES, benchmarks, split_name, tasks
from nikawa.errors import BadInput, unknown
from nikawa.io.folders import is_dataset_folder, read_folder
from nikawa.io.records import SUFFIXES, read_examples
from nikawa.records import Card, Dataset, Example, Judgement, Task


def load(spec: str, *, data: Path | None = None, version: str | None = None) -> Dataset:
    """Load a dataset: `jsick`, `jsick:test`, a dataset folder, a records file, or `jsick@file.tsv`."""
    if "@" in spec and spec.partition("@")[0].partition(":")[0] in benchmarks():
        name, _, path = spec.partition("@")
        return _load_file(*_name_and_split(name), Path(path))
    name, split = _name_and_split(spec)
    if name in benchmarks():
        return _load_published(benchmarks()[name], split, data, version)
    if Path(spec).exists():
        return _load_path(Path(spec))
    path, colon, part = spec.rpartition(":")
    if colon and Path(path).exists():
        return pick_split(_load_path(Path(path)), part, path)
    if "/" in spec or spec.endswith(SUFFIXES):
        raise BadInput("no such file or folder", file=spec, cure="check the path")
    raise unknown("dataset", name, benchmarks())


def load_task(name: str, split: str, *, data: Path | None = None) -> tuple[Task, tuple[Example, ...]]:
    """A task and the examples of one split it can be asked of."""
    task = tasks()[name]
    dataset = load(f"{task.dataset}:{split}", data=data)
    examples = next(iter(dataset.splits.values()))
    return task, tuple(example for example in examples if task.asks(example))


def read_judgements(name: str, *, data: Path | None = None) -> Iterator[Judgement]:
    """Every published worker's answer of a dataset."""
    benchmark = benchmarks()[name]
    if benchmark.judgements is None:
        have = [b.name for b in benchmarks().values() if b.judgements is not None]
        raise BadInput(f"{name} publishes no workers' answers", cure=f"these do: {', '.join(have)}")
    return benchmark.judgements(repository_folder(benchmark, data))


def _name_and_split(spec: str) -> tuple[str, str | None]:
    name, colon, split = spec.partition(":")
    return name, split if colon else None


def _load_published(
    benchmark: Benchmark, split: str | None, data: Path | None, version: str | None
) -> Dataset:
    files = present(benchmark, data, version)
    if not files:
        raise missing_data(benchmark, data, f" {version}" if version else "")
    wanted = None if split is None else split_name(benchmark, split)
    if wanted is not None and (benchmark.split_of is None or wanted in files):
        _require(wanted, benchmark, files, data)
        files = {wanted: files[wanted]}
    splits = _read_splits(benchmark, files)
    if wanted is not None:
        _require(wanted, benchmark, splits, data)
        splits = {wanted: splits[wanted]}
    return _dataset(benchmark, splits)


def _require(split: str, benchmark: Benchmark, have: Iterable[str], data: Path | None) -> None:
    have = set(have)
    if split in have:
        return
    declared = {source.split for source in benchmark.sources if source.split}
    if split in declared:
        raise missing_data(benchmark, data, f":{split}")
    raise unknown(f"split of {benchmark.name}", split, have | declared)


def _read_splits(benchmark: Benchmark, files: dict[str, list[Path]]) -> dict[str, tuple[Example, ...]]:
    splits: dict[str, list[Example]] = {}
    for split, paths in files.items():
        for path in paths:
            for example in unique(benchmark.read(path), path):
                name = split or (benchmark.split_of(example) if benchmark.split_of else "all")
                splits.setdefault(name, []).append(example)
    return {name: tuple(examples) for name, examples in splits.items()}


def unique(examples: Iterable[Example], path: Path) -> Iterator[Example]:
    """Pass examples on; an id that comes twice in one file is an error."""
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            raise BadInput(
                f"id {example.id!r} occurs twice", file=path, cure="the file is not the published one"
            )
        seen.add(example.id)
        yield example


def _dataset(benchmark: Benchmark, splits: dict[str, tuple[Example, ...]]) -> Dataset:
    version = benchmark.version_of(splits) if benchmark.version_of else None
    return Dataset(
        name=benchmark.name,
        language=benchmark.language,
        version=version or benchmark.card.version,
        card=benchmark.card,
        splits=splits,
    )


def _load_file(name: str, split: str | None, path: Path) -> Dataset:
    """One published file with its reader named."""
    benchmark = benchmarks()[name]
    wanted = None if split is None else split_name(benchmark, split)
    named = wanted or declared_split(benchmark, path) or guess_split(path)
    splits: dict[str, list[Example]] = {}
    for example in unique(benchmark.read(path), path):
        found = (benchmark.split_of(example) if benchmark.split_of else "") or named
        splits.setdefault(found, []).append(example)
    dataset = _dataset(benchmark, {name: tuple(examples) for name, examples in splits.items()})
    return dataset if wanted is None else pick_split(dataset, wanted, path)


def pick_split(dataset: Dataset, split: str, path: Path | str) -> Dataset:
    """The dataset with one split alone."""
    wanted = split if split in dataset.splits else SPLIT_ALIASES.get(split, split)
    if wanted not in dataset.splits:
        raise BadInput(f"holds no split {split!r}", file=path, cure=f"it holds: {', '.join(dataset.splits)}")
    return msgspec.structs.replace(dataset, splits={wanted: dataset.splits[wanted]})


def declared_split(benchmark: Benchmark, path: Path) -> str | None:
    """The split whose published files are called like `path`: `out_of_domain_valid-v1.0.tsv` is `ood`."""
    known = [(s.split, pattern) for s in benchmark.sources if s.split for pattern in s.patterns]
    by_path = {split for split, pattern in known if path.absolute().match(pattern)}
    by_name = {split for split, pattern in known if fnmatch(path.name, Path(pattern).name)}
    return next((found.pop() for found in (by_path, by_name) if len(found) == 1), None)


def guess_split(path: Path) -> str:
    """The split a file name speaks of, else `all`."""
    words = re.findall(r"[a-z]+", path.name.lower())
    return next(
        (SPLIT_ALIASES.get(w, w) for w in words if w in {"train", "dev", "test", *SPLIT_ALIASES}), "all"
    )


def _load_path(path: Path) -> Dataset:
    if path.is_dir():
        if not is_dataset_folder(path):
            raise BadInput(
                "is a folder without card.json", file=path, cure="name a dataset folder or a records file"
            )
        return read_folder(path)
    return loose_dataset(path, tuple(read_examples(path)))


def loose_dataset(path: Path, examples: tuple[Example, ...]) -> Dataset:
    """A dataset around a single records file, which has no card of its own."""
    name, unsaid = path.name.split(".")[0], "not stated"
    language = guess_language(examples)
    card = Card(
        name=name, title=name, version="0", languages=(language,), licence=unsaid, citation=unsaid, homepage=unsaid,
        description=f"records of {path.name}", labels=unsaid, workers=unsaid, workers_are="none", source=unsaid,
    )  # fmt: skip
    return Dataset(name=name, language=language, version="0", card=card, splits={guess_split(path): examples})


def guess_language(examples: Iterable[Example]) -> str:
    """`ja`, `ko` or `und`, by the script of the first texts."""
    for example in examples:
        text = "".join(value for value in example.inputs.values() if isinstance(value, str))
        if re.search(r"[\uac00-\ud7a3]", text):
            return "ko"
        if re.search(r"[\u3040-\u30ff]", text):
            return "ja"
    return "und"
