"""`import nikawa as nk`: the public names, and that they stay functions whatever was imported."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from types import FunctionType

import nikawa as nk

FUNCTIONS = {
    "agree",
    "aggregate",
    "analyse",
    "clean",
    "compare",
    "export",
    "generate",
    "hide_labels",
    "import_table",
    "import_task",
    "judge",
    "load",
    "load_task",
    "model",
    "pair",
    "perturb",
    "probe_memory",
    "read_judgements",
    "recheck",
    "report",
    "run",
    "score",
    "score_many",
    "score_versions",
    "split",
    "submit",
    "tag",
}
RECORDS = {
    "Card",
    "Dataset",
    "Example",
    "Judgement",
    "Origin",
    "Prediction",
    "Run",
    "Score",
    "Span",
    "Task",
}
ERRORS = {"BadInput", "NikawaError"}
MODULES = {"aggregation", "agreement"}
PUBLIC = FUNCTIONS | RECORDS | ERRORS | MODULES | {"Metric"}


def import_every_module() -> None:
    for module in pkgutil.walk_packages(nk.__path__, "nikawa."):
        if module.name.rpartition(".")[2] != "__main__":
            try:
                import_module(module.name)
            except ImportError:  # an extra that is not installed here
                continue


def test_the_public_names_are_these() -> None:
    import_every_module()
    assert {name for name in dir(nk) if name != "__version__"} == PUBLIC
    assert sorted(nk.__all__) == sorted(PUBLIC)


def test_every_function_is_one_after_everything_was_imported() -> None:
    import_every_module()
    for name in FUNCTIONS:
        assert isinstance(getattr(nk, name), FunctionType), name
        assert getattr(nk, name).__doc__, name
    assert nk.load("mini-ja") == nk.load("mini-ja")


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, nikawa; dir(nikawa); print([m for m in ('msgspec', 'numpy', 'pandas', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
