"""Every dataset and task Nikawa knows, found by scanning this folder, and how to load one."""

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.load import load, load_task, read_judgements
from nikawa.datasets.names import benchmarks, suites, tasks, tasks_of

__all__ = [
    "Benchmark",
    "Source",
    "benchmarks",
    "load",
    "load_task",
    "read_judgements",
    "suites",
    "tasks",
    "tasks_of",
]
