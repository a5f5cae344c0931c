"""The name tables: datasets, tasks, suites.

A dataset is a module with `DATASET` in a folder of this one.
Here the names that users write are looked up: `spec_of` for datasets, `tasks_of` for tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

from nikawa.datasets.base import Benchmark
from nikawa.errors import unknown
from nikawa.records import Task
from nikawa.registry import Registry, collect_plugins
from nikawa.spec import Spec, parse_spec

SPLIT_ALIASES = {"valid": "dev", "validation": "dev", "trial": "dev"}
"""Other names of splits to ours, in every dataset."""


@cache
def benchmarks() -> Registry[Benchmark]:
    """All datasets by name, in the order of their folders and files."""
    table: Registry[Benchmark] = Registry("dataset")
    package = import_module(__package__)
    for benchmark in collect_plugins(
        Benchmark, "DATASET", "nikawa.datasets", package, in_subfolders=True
    ):
        table.add(benchmark.name, benchmark)
    return table


@cache
def tasks() -> Registry[Task]:
    """All tasks by name."""
    table: Registry[Task] = Registry("task")
    for benchmark in benchmarks().values():
        for task in benchmark.tasks:
            table.add(task.name, task)
    return table


@cache
def suites() -> Mapping[str, tuple[str, ...]]:
    """Suite name to the datasets it holds, in the order of the paper.

    Where a suite and a dataset share a name, tasks are those of the dataset and a fetch brings the
    suite.

    >>> suites()["jsick"]
    ('jsick', 'jsick-en', 'jsick-stress')
    """
    members: dict[str, list[str]] = {}
    for benchmark in sorted(benchmarks().values(), key=lambda each: each.suite_place):
        if benchmark.suite:
            members.setdefault(benchmark.suite, []).append(benchmark.name)
    return {suite: tuple(names) for suite, names in members.items()}


def tasks_of(name: str) -> list[Task]:
    """The tasks a name stands for: a task, a dataset (all its tasks) or a suite.

    >>> [task.name for task in tasks_of("klue-nli")], len(tasks_of("klue"))
    (['klue-nli'], 8)
    """
    if name in tasks():
        return [tasks()[name]]
    if name in benchmarks():
        return list(benchmarks()[name].tasks)
    if name in suites():
        return [task for dataset in suites()[name] for task in benchmarks()[dataset].tasks]
    raise unknown("task", name, {*tasks(), *benchmarks(), *suites()})


def spec_of(text: str, split: str | None = None) -> Spec:
    """What a user names a dataset by, with `split` where it is named apart.

    Of a registered dataset the split has its canonical name: `spec_of("jnli:valid").split` is
    `dev`.
    """
    spec = parse_spec(text, benchmarks()).with_split(split)
    if not spec.name or spec.split is None:
        return spec
    return replace(spec, split=canonical_split(benchmarks()[spec.name], spec.split))


def find_benchmark(text: str) -> Benchmark | None:
    """The registered dataset that `text` names, whole or in part; None for a custom one."""
    name = spec_of(text).name
    return benchmarks()[name] if name else None


def custom_path(text: str) -> tuple[Path, str | None]:
    """The file or folder of a custom dataset, and the split that is named.

    Raises `BadInput` where it is not there.
    """
    spec = spec_of(text)
    return spec.existing_path(benchmarks()), spec.split


def canonical_split(benchmark: Benchmark, name: str) -> str:
    """The canonical name of a split: `valid` and `trial` are `dev`.

    >>> canonical_split(benchmarks()["jamp"], "format-easy")
    'timeformat-easy'
    """
    return benchmark.aliases.get(name, SPLIT_ALIASES.get(name, name))
