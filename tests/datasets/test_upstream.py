"""The pinned files: each belongs to a dataset, and those that are here are the pinned ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nikawa.datasets import benchmarks, load
from nikawa.datasets.fetch import datasets_of, fetch
from nikawa.datasets.upstream import (
    blob_id,
    clone_name,
    is_published,
    pinned_files,
    repositories,
    upstream_files,
)
from nikawa.errors import BadInput, MissingData

PUBLISHED = [b.name for b in benchmarks().values() if b.repository in repositories()]
ARCHIVES = [
    b.name for b in benchmarks().values() if b.repository and b.repository not in repositories()
]
"""Datasets whose authors publish an archive on a page: a user downloads it."""


def test_every_file_belongs_to_a_dataset() -> None:
    owned = {file.place for dataset in PUBLISHED for file in pinned_files(dataset)}
    assert owned == {file.place for file in upstream_files()}


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_every_dataset_has_files(dataset: str) -> None:
    assert pinned_files(dataset)


def test_the_ids_have_the_form_of_git() -> None:
    for pinned in repositories().values():
        assert len(pinned.commit) == 40
        assert pinned.repository.count("/") == 1
    assert all(len(file.git_blob) == 40 for file in upstream_files())


def test_every_published_dataset_can_be_fetched() -> None:
    assert set(datasets_of("all")) == set(PUBLISHED)


@pytest.mark.parametrize("dataset", ARCHIVES)
def test_a_dataset_that_cannot_be_fetched_says_where_it_is(dataset: str, tmp_path: Path) -> None:
    assert pinned_files(dataset) == ()
    folder = re.escape(str(tmp_path / dataset))
    with pytest.raises(BadInput, match=rf"{dataset} cannot be fetched.*; download .*{folder}"):
        fetch(dataset, tmp_path)
    with pytest.raises(MissingData, match=rf"{dataset} is not in {folder}; download "):
        load(dataset, data=tmp_path)


def test_the_files_of_a_dataset_match_its_sources() -> None:
    for benchmark in benchmarks().values():
        if benchmark.name not in PUBLISHED or benchmark.withdrawn:
            continue
        paths = [Path(file.path) for file in pinned_files(benchmark.name)]
        wanted = [pattern for source in benchmark.sources for pattern in source.patterns]
        assert any(path.match(pattern) for path in paths for pattern in wanted), benchmark.name


def test_a_dataset_that_is_not_published_has_no_files() -> None:
    assert pinned_files("mini-ja") == ()


def test_the_files_that_are_here_are_the_pinned_ones(shared_data: Path) -> None:
    here = {f.place: f for f in upstream_files() if (shared_data / f.place).is_file()}
    assert len(here) > 20
    for place, file in here.items():
        assert blob_id(shared_data / place) == file.git_blob, place
        assert file.size in (None, (shared_data / place).stat().st_size), place
        assert is_published(file, shared_data / place)


@pytest.mark.parametrize(("folder", "clone"), [("jglue", "JGLUE"), ("jamp", "temporalNLI_dataset")])
def test_a_clone_has_the_name_of_its_repository(folder: str, clone: str) -> None:
    assert clone_name(folder) == clone
    assert clone_name("no-such-repository") == "no-such-repository"
