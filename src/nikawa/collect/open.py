"""Open a project with its store, and the examples a project is made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from nikawa.collect.load import sync
from nikawa.collect.project import Project, open_project
from nikawa.collect.store import Store, open_store
from nikawa.collect.writers import Wrote, beside, read_writers
from nikawa.datasets import load
from nikawa.datasets.load import named
from nikawa.io.records import SUFFIXES, read_examples
from nikawa.records import Example, reference


@contextmanager
def opened(folder: Path, database: str = "") -> Iterator[tuple[Project, Store]]:
    """A project and its store, with what its files gained taken in."""
    project = open_project(folder)
    with open_store(database, folder, project.name) as store:
        sync(project, store)
        yield project, store


def file_of(spec: str) -> Path | None:
    """The records file that is meant, where it is one."""
    path = Path(spec)
    return path if named(spec) is None and spec.endswith(SUFFIXES) and path.is_file() else None


def writers_beside(spec: str) -> dict[str, Wrote]:
    """Who wrote the texts of a records file, where that is told beside it."""
    path = file_of(spec)
    return {} if path is None else read_writers(beside(path))


def examples_of(spec: str, data: Path | None) -> Iterator[Example]:
    """The examples to judge, under the references their judgements will carry; a file keeps its plain ids."""
    path = file_of(spec)
    if path is not None:
        yield from read_examples(path)
        return
    dataset = load(spec, data=data)
    for split, examples in dataset.splits.items():
        for example in examples:
            yield replace(example, id=reference(dataset.name, split, example.id))
