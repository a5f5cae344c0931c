"""The name tables: datasets, tasks, suites. A dataset is a module with `DATASET` in a folder of this one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from nikawa.datasets.base import Benchmark
from nikawa.errors import unknown
from nikawa.records import Task
from nikawa.registry import Registry, scan

SPLIT_ALIASES = {"valid": "dev", "validation": "dev", "trial": "dev"}

SUITES = {
    "jglue": ("marc-ja", "jcola", "jsts", "jnli", "jsquad", "jcommonsenseqa"),
    "klue": ("ynat", "klue-sts", "klue-nli", "klue-ner", "klue-re", "klue-dp", "klue-mrc", "wos"),
    "jsick": ("jsick", "jsick-en", "jsick-stress"),
    "jamp": ("jamp",),
    "demo": ("mini-ja", "mini-ko"),
}
"""Where a suite and a dataset share a name, tasks are those of the dataset and a fetch brings the suite."""


@cache
def benchmarks() -> Registry[Benchmark]:
    """All datasets by name, in the order of their folders and files."""
    table: Registry[Benchmark] = Registry("dataset")
    for folder in sorted(pkgutil.iter_modules([str(Path(__file__).parent)]), key=lambda m: m.name):
        if not folder.ispkg:
            continue
        for module in scan(import_module(f"{__package__}.{folder.name}")):
            found = getattr(module, "DATASET", None)
            if found is not None and found not in table.values():  # a sibling may import it
                table.add(found.name, found)
    return table


@cache
def tasks() -> Registry[Task]:
    """All tasks by name."""
    table: Registry[Task] = Registry("task")
    for benchmark in benchmarks().values():
        for task in benchmark.tasks:
            table.add(task.name, task)
    return table


def suites() -> dict[str, tuple[str, ...]]:
    """Suite name to the datasets it holds."""
    return dict(SUITES)


def tasks_of(name: str) -> list[Task]:
    """The tasks a name stands for: a task, a dataset (all its tasks) or a suite."""
    if name in tasks():
        return [tasks()[name]]
    if name in benchmarks():
        return list(benchmarks()[name].tasks)
    if name in SUITES:
        return [task for dataset in SUITES[name] for task in benchmarks()[dataset].tasks]
    raise unknown("task", name, {*tasks(), *benchmarks(), *SUITES})


def split_name(benchmark: Benchmark, name: str) -> str:
    """The canonical name of a split: `valid` and `trial` are `dev`."""
    return benchmark.aliases.get(name, SPLIT_ALIASES.get(name, name))
