"""Load a dataset by name, folder, records file, or `name@file` (see
`nikawa.spec`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import partial
from itertools import chain, islice
from pathlib import Path
from shlex import quote

import msgspec

from nikawa.datasets.base import Benchmark, Examples
from nikawa.datasets.compact import Compactor
from nikawa.datasets.hidden import (
    ExampleSource,
    cover_stream,
    hide_inherited,
    may_be_covered,
    remove_hidden_labels,
)
from nikawa.datasets.locate import (
    files_here,
    missing_data,
    missing_version,
    path_version,
    repository_folder,
)
from nikawa.datasets.names import SPLIT_ALIASES, benchmarks, custom_path, spec_of, tasks
from nikawa.errors import BadInput, MissingData, unknown
from nikawa.io.cards import blank_card
from nikawa.io.folders import (
    is_dataset_folder,
    list_parts,
    read_folder,
    read_parts,
    split_files,
)
from nikawa.io.lines import read_blocks
from nikawa.io.records import read_examples
from nikawa.io.remote import RemotePath
from nikawa.io.shards import list_shards
from nikawa.records import Dataset, Example, Judgement, Task, reference
from nikawa.spec import Spec, name_and_split

EXAMPLES_FOR_LANGUAGE = 100
"""Examples looked at to tell the language of loose files."""


def load(
    text: str,
    *,
    data: Path | None = None,
    version: str | None = None,
    hidden: bool = False,
    compactor: Compactor | None = None,
) -> Dataset:
    """Load a dataset: `jsick`, `jsick:test`, a dataset folder, a records file, or `jsick@file.tsv`.

    `data` is the data folder (default: `NIKAWA_DATA`, then the user's data folder). `version` selects one of
    several published versions.

    Hidden labels are removed (see `nikawa.datasets.hidden`). With `hidden` they stay, as
    far as the file has them; only for owners of the labels. With a `compactor` the examples of a custom dataset take less
    memory, and their mappings must not be changed.

    Raises `MissingData` if a published dataset is not on this machine, with the command that
    fetches it.

    >>> dataset = load("mini-ja:dev")
    >>> dataset.name, len(dataset), list(dataset.splits)
    ('mini-ja', 30, ['dev'])
    """
    spec = spec_of(text)
    if spec.name:
        dataset = _read_published(spec, data, version)
        return dataset if hidden else remove_hidden_labels(dataset)
    path, split = custom_path(text)
    cover = hide_inherited if hidden else remove_hidden_labels
    # Check the whole dataset: an inherited label of a split may be hidden in another split.
    dataset = cover(
        _read_custom(path, compactor=compactor), path, partial(load_as_it_is, data=data)
    )
    return pick_split(dataset, split, path) if split else dataset


def _read_published(spec: Spec, data: Path | None, version: str | None = None) -> Dataset:
    benchmark = benchmarks()[spec.name]
    if spec.path is not None:
        return load_file(benchmark, spec.split, spec.path)
    return load_published(benchmark, spec.split, data, version)


def load_as_it_is(text: str, *, data: Path | None) -> Dataset:
    """Load a dataset with every label of its files, to find the hidden ones."""
    spec = spec_of(text)
    return _read_published(spec, data) if spec.name else _read_custom(custom_path(text)[0])


def peek(text: str, n: int, *, data: Path | None = None) -> Dataset:
    """Like `load`, but for a custom dataset only the first `n` examples of each split.

    The rest of a file is not read, even if it is broken. If one of the first examples is
    hidden or was made from others, the whole dataset is read, to find what must be removed.
    """
    if spec_of(text).name:
        return load(text, data=data)
    path, split = custom_path(text)
    dataset = _read_custom(path, n)
    if any(map(may_be_covered, chain.from_iterable(dataset.splits.values()))):
        whole = load(text, data=data)
        splits = {name: examples[:n] for name, examples in whole.splits.items()}
        return msgspec.structs.replace(whole, splits=splits)
    return pick_split(dataset, split, path) if split else dataset


def open_file(path: Path, *, data: Path | None = None, hidden: bool = False) -> Iterator[Example]:
    """Stream the examples of a records file, without hidden labels unless `hidden` is set.

    The file is read on demand. A pipe, which can be read only once, is read completely.
    """
    split = guess_split(path)
    kept = None if path.is_file() else tuple(read_examples(path))
    source = ExampleSource(
        lambda: ((split, e) for e in (read_examples(path) if kept is None else kept)),
        frozenset((path.name.split(".")[0],)),
        frozenset((split,)),
        path,
        partial(load_as_it_is, data=data),
    )
    return cover_stream(read_examples(path) if kept is None else kept, source, hidden=hidden)


def find_hidden_references(folder: Path) -> set[str]:
    """Return full references of the hidden examples of a dataset folder, for the other files of the folder.

    Splits without a mark of a hidden or inherited label in their bytes are not decoded.
    """

    def may_hide(path: Path) -> bool:
        if path.suffix != ".jsonl":
            return True
        # An escaped letter (`\u0068idden`) may hide the mark itself.
        marks = (b'"hidden"', b'"inherited"', b"\\u006", b"\\u007")
        return any(mark in block for block in read_blocks(path) for mark in marks)

    if not any(may_hide(file) for parts in list_parts(folder).values() for file in parts):
        return set()
    dataset = load(str(folder))
    return {
        reference(dataset.name, split, example.id)
        for split, examples in dataset.splits.items()
        for example in examples
        if example.hidden
    }


def load_task(
    name: str, split: str, *, data: Path | None = None, hidden: bool = False
) -> tuple[Task, tuple[Example, ...]]:
    """Load a task and the examples of one split that it applies to; `hidden` works as in `load`.

    >>> task, examples = load_task("mini-ja-nli", "dev")
    >>> task.labels, len(examples)
    (('entailment', 'contradiction', 'neutral'), 9)
    """
    task = tasks()[name]
    dataset = load(f"{task.dataset}:{split}", data=data, hidden=hidden)
    examples = next(iter(dataset.splits.values()))
    return task, tuple(example for example in examples if task.asks(example))


def read_judgements(
    text: str, *, data: Path | None = None, counted: bool = False
) -> Iterator[Judgement]:
    """Every published worker's answer of a dataset (`jsick`) or of one split (`jsick:test`).

    With `counted` only those that the published gold was made from.

    >>> judgement = next(read_judgements("mini-ja:dev"))
    >>> judgement.example, judgement.worker, judgement.answer
    ('mini-ja:dev/nli-019', 'w1', 'neutral')
    """
    spec = spec_of(text)
    benchmark, split = benchmarks()[spec.name or name_and_split(text)[0]], spec.split
    if spec.path is not None:
        cure = f"judgements are in other files: write {benchmark.name}, and pass --data"
        raise BadInput(f"{text!r} is a file", cure=cure)
    if benchmark.judgements is None:
        have = [other.name for other in benchmarks().values() if other.judgements is not None]
        what = f"{benchmark.name} does not publish judgements"
        raise BadInput(what, cure=f"these do: {', '.join(have)}")
    if split not in (None, "all", *benchmark.split_names()):
        raise unknown(f"split of {benchmark.name}", str(split), benchmark.split_names())
    read = (benchmark.gold_judgements if counted else None) or benchmark.judgements
    judgements = read(repository_folder(benchmark, data))
    return judgements if split is None else keep_split(judgements, benchmark, split)


def keep_split(
    judgements: Iterable[Judgement], benchmark: Benchmark, split: str
) -> Iterator[Judgement]:
    """Yield the judgements of one split.

    Raises an error if a missing file leaves the split of some judgements unknown.
    """
    of_split, of_any = (reference(benchmark.name, name, "") for name in (split, "all"))
    for judgement in judgements:
        if judgement.example.startswith(of_split):
            yield judgement
        elif judgement.example.startswith(of_any):
            what = f"the file with the splits of {benchmark.name}'s judgements is missing"
            cure = f"run: nikawa data fetch {benchmark.name}, or leave out :{split}"
            raise MissingData(what, cure=cure)


def load_published(
    benchmark: Benchmark, split: str | None, data: Path | None, version: str | None
) -> Dataset:
    """The published files that are here, all of them or those of one split."""
    files = files_here(benchmark, data, version)
    if not files:
        raise (
            missing_version(benchmark, data, version) if version else missing_data(benchmark, data)
        )
    if split is not None and (benchmark.split_of is None or split in files):
        _require_split(split, benchmark, files, data)
        files = {split: files[split]}
    splits = read_splits(benchmark, files)
    if split is not None:
        _require_split(split, benchmark, splits, data)
        splits = {split: splits[split]}
    folder = repository_folder(benchmark, data)
    return _make_dataset(
        benchmark, splits, [path.relative_to(folder) for paths in files.values() for path in paths]
    )


def _require_split(
    split: str, benchmark: Benchmark, have: Iterable[str], data: Path | None
) -> None:
    have = set(have)
    if split in have:
        return
    declared = {source.split for source in benchmark.sources if source.split}
    if split in declared:
        raise missing_data(benchmark, data, f":{split}")
    raise unknown(f"split of {benchmark.name}", split, have | declared)


def read_splits(benchmark: Benchmark, files: dict[str, list[Path]]) -> dict[str, Examples]:
    """The examples of the files by split; an id that two files of a split share is an error."""
    splits: dict[str, list[Example]] = {}
    first_file: dict[tuple[str, str], Path] = {}
    for split, paths in files.items():
        for path in paths:
            for example in refuse_repeats(benchmark.read(path), path, allow=benchmark.sections):
                name = split or (benchmark.split_of(example) if benchmark.split_of else "all")
                if len(paths) > 1 and not benchmark.sections:
                    # One of the two files is a copy, or of another release.
                    before = first_file.setdefault((name, example.id), path)
                    if before != path:
                        what = f"the id {example.id!r} of {name} is also in {before}"
                        cure = "keep one of the two files, or choose one: NAME@FILE"
                        raise BadInput(what, file=path, cure=cure)
                splits.setdefault(name, []).append(example)
    return {name: tuple(examples) for name, examples in splits.items()}


def refuse_repeats(
    examples: Iterable[Example], path: Path, *, allow: bool = False
) -> Iterator[Example]:
    """Pass the examples of one file on.

    An id that comes twice is an error unless that is allowed, and so is a file without any.
    """
    ids: set[str] = set()
    for example in examples:
        if example.id in ids and not allow:
            raise BadInput(
                f"id {example.id!r} occurs twice",
                file=path,
                cure="the file is not the published one",
            )
        ids.add(example.id)
        yield example
    if not ids:
        raise BadInput("holds no rows", file=path, cure="fetch it again, or pass a file with rows")


def _make_dataset(
    benchmark: Benchmark, splits: dict[str, Examples], files: Iterable[Path]
) -> Dataset:
    """Return the dataset with its version: from the content, else from the names of its files, else from the
    card.
    """
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


def load_file(benchmark: Benchmark, split: str | None, path: Path) -> Dataset:
    """One file, read by the reader of a dataset."""
    declared = declared_split(benchmark, path)
    default = split or declared or guess_split(path)
    splits: dict[str, list[Example]] = {}
    for example in refuse_repeats(benchmark.read(path), path, allow=benchmark.sections):
        name = (benchmark.split_of(example) if benchmark.split_of else "") or default
        splits.setdefault(name, []).append(example)
    dataset = _make_dataset(
        benchmark,
        {name: tuple(examples) for name, examples in splits.items()},
        [Path(path.name)] if declared else [],
    )
    return dataset if split is None else pick_split(dataset, split, path)


def declared_split(benchmark: Benchmark, path: Path) -> str | None:
    """The split whose published files are called like `path`: `out_of_domain_valid-v1.0.tsv` is
    `ood`.
    """
    known = [(s.split, pattern) for s in benchmark.sources if s.split for pattern in s.patterns]
    by_path = {split for split, pattern in known if path.absolute().match(pattern)}
    by_name = {split for split, pattern in known if fnmatch(path.name, Path(pattern).name)}
    return next((splits.pop() for splits in (by_path, by_name) if len(splits) == 1), None)


def pick_split(dataset: Dataset, split: str, path: Path | str) -> Dataset:
    """Return the dataset with only one split; `path` is its source, for the error."""
    name = split if split in dataset.splits else SPLIT_ALIASES.get(split, split)
    if name not in dataset.splits:
        raise BadInput(
            f"has no split {split!r}", file=path, cure=f"it has: {', '.join(dataset.splits)}"
        )
    return msgspec.structs.replace(dataset, splits={name: dataset.splits[name]})


def guess_split(path: Path) -> str:
    """The split a file name speaks of, else `all`.

    >>> guess_split(Path("out_of_domain_valid-v1.0.tsv")), guess_split(Path("mine.jsonl"))
    ('dev', 'all')
    """
    for word in re.findall(r"[a-z]+", path.name.lower()):
        split: str = SPLIT_ALIASES.get(word, word)
        if split in ("train", "dev", "test"):
            return split
    return "all"


def _read_custom(
    path: Path, n: int | None = None, *, compactor: Compactor | None = None
) -> Dataset:
    """Read a dataset folder or a records file, or the first `n` examples of each split."""
    if not path.is_dir():
        try:
            if compactor is None:
                return loose_dataset(path, tuple(islice(read_examples(path), n)))
            watched = _WatchedLanguage(read_examples(path))
            kept = tuple(islice(compactor.compact(watched), n))
            return loose_dataset(path, kept, watched.language)
        except BadInput as problem:
            raise _name_reader(problem, path) from None
    if isinstance(path, RemotePath):
        path.refuse_unfinished()
    if is_dataset_folder(path):
        return read_folder(path, n, iter if compactor is None else compactor.compact)
    shards = list_shards(path, guess_split(path))
    if shards is not None:
        splits = {split: tuple(islice(read_parts(parts), n)) for split, parts in shards.items()}
        return gather_splits(path, splits)
    if all((path / name).is_file() for name in ("items.jsonl", "summary.json")):
        cure = (
            "run nikawa aggregate again with --examples FILE: it writes the texts with their gold"
        )
        if (examples := path / "examples.jsonl").is_file():
            cure = f"pass its examples: {quote(str(examples))}"
        raise BadInput("is a folder of nikawa aggregate, not a dataset", file=path, cure=cure)
    refuse_flat_tables(path)
    writes = f"nikawa data card {quote(str(path))} writes one"
    cure = writes if split_files(path) else "pass a dataset folder or a records file"
    raise BadInput("is a folder without card.json", file=path, cure=cure)


def refuse_flat_tables(path: Path) -> None:
    """Refuse a file or folder of flat tables, which are not records, with the command that imports
    them.
    """
    from nikawa.io.flat_tables import find_flat_rows

    table = find_flat_rows(path)
    if table is not None:
        cure = f"convert it to a dataset: nikawa data import {quote(str(path))} --out FOLDER"
        raise BadInput("has flat rows, not records", file=table, cure=cure)


def _name_reader(problem: BadInput, path: Path) -> BadInput:
    """Return the same error, with the reader to use if the file is a published file rather than
    records.
    """
    names = readers_of(path) if path.is_file() else []
    if not names:
        if path.is_file():
            refuse_flat_tables(path)
        return problem
    more = f" (or {', '.join(names[1:])} before the @)" if names[1:] else ""
    cure = f"it looks like a published file: write {names[0]}@{path}{more}"
    return BadInput(problem.what, file=problem.file, line=problem.line, cure=cure)


def readers_of(path: Path) -> list[str]:
    """Return the published datasets whose reader accepts the first row of a file.

    If some of them have a file with the same name, return only those.
    """
    able = []
    for benchmark in benchmarks().values():
        patterns = [pattern for source in benchmark.sources for pattern in source.patterns]
        suffixes = {"".join(Path(pattern).suffixes[-1:]) for pattern in patterns}
        if not benchmark.repository or not path.name.endswith(tuple(suffixes)):
            continue
        try:
            if next(iter(benchmark.read(path)), None) is not None:
                able.append(benchmark)
        except BadInput:
            continue
    by_name = [benchmark for benchmark in able if declared_split(benchmark, path) is not None]
    return [benchmark.name for benchmark in by_name or able]


class _WatchedLanguage:
    """Examples that pass by, and the language of the first of them that tells it."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._examples = examples
        self.language = "und"

    def __iter__(self) -> Iterator[Example]:
        for example in self._examples:
            if self.language == "und":
                self.language = guess_language((example,))
            yield example


def loose_dataset(path: Path, examples: tuple[Example, ...], language: str = "") -> Dataset:
    """Return a dataset for a single records file, which has no card."""
    name, language = path.name.split(".")[0], language or guess_language(examples)
    card = msgspec.structs.replace(
        blank_card(name, language), description=f"records of {path.name}"
    )
    return Dataset(
        name=name, language=language, version="0", card=card, splits={guess_split(path): examples}
    )


def gather_splits(path: Path, splits: Mapping[str, tuple[Example, ...]]) -> Dataset:
    """Return a dataset for a folder of shards without a card."""
    examples = chain.from_iterable(splits.values())
    dataset = loose_dataset(path, tuple(islice(examples, EXAMPLES_FOR_LANGUAGE)))
    return msgspec.structs.replace(dataset, splits=dict(splits))


def guess_language(examples: Iterable[Example]) -> str:
    """`ja`, `ko` or `und`, by the script of the first texts."""
    for example in examples:
        text = "".join(value for value in example.inputs.values() if isinstance(value, str))
        if re.search(r"[\uac00-\ud7a3]", text):
            return "ko"
        if re.search(r"[\u3040-\u30ff]", text):
            return "ja"
    return "und"
