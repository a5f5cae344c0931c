"""General code names no dataset and no metric: what is special to one of them stands in its own declaration.

String literals equal to a registered name are looked for in the syntax trees; docstrings do not count. The list of
exceptions may only shrink: an entry that is no longer needed fails the test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nikawa
from nikawa.datasets import benchmarks
from nikawa.metrics import metrics

SOURCE = Path(nikawa.__file__).parent
MAY_NAME_THEM = ("datasets", "metrics", "recipes", "reproduce", "demo")
"""Folders about particular datasets and metrics."""
EXCEPTIONS = {
    # The share of control items a worker answers right: a figure of workers, not the metric.
    ("aggregation/workers.py", "accuracy"),
    ("cli/aggregate.py", "accuracy"),
    # The share of right answers in a bin of confidence, of masked tokens, of a probe: columns, not the metric.
    ("cli/analyse.py", "accuracy"),
    ("cli/pretrain.py", "accuracy"),
    ("collect/artifact_gate.py", "accuracy"),
    ("pretrain/training.py", "accuracy"),
    ("reporting/analysis_blocks.py", "accuracy"),
    # A scoring function in the golden file of other authors.
    ("aggregation/golden.py", "accuracy"),
    # A correlation between two sets of scores: the statistic, not the metric.
    ("analysis/results.py", "pearson"),
    ("analysis/stress.py", "pearson"),
    ("cli/data.py", "pearson"),
    ("reporting/analysis_blocks.py", "pearson"),
    # Papers, which have the names of their datasets.
    ("cli/reproduce.py", "jamp"),
    ("cli/reproduce.py", "jsick"),
}
"""File below the package and literal."""


def literals(tree: ast.Module) -> Iterator[str]:
    """Every string literal but docstrings and other strings that are statements."""
    statements = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for node in constants:
        if isinstance(node.value, str) and id(node) not in statements:
            yield node.value


def test_general_code_names_no_dataset_and_no_metric() -> None:
    names = {*benchmarks(), *metrics()}
    quoted = re.compile("|".join(f"[\"']{re.escape(name)}[\"']" for name in names))
    uses = set()
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] not in MAY_NAME_THEM:
            source = path.read_text("utf-8")
            if quoted.search(source):  # parsing takes far longer than searching
                used = names.intersection(literals(ast.parse(source)))
                uses |= {(place.as_posix(), name) for name in used}
    assert sorted(uses - EXCEPTIONS) == [], "declare it on the dataset or on the metric"
    assert sorted(EXCEPTIONS - uses) == [], "no longer needed: take it off the list"


def test_docstrings_do_not_count() -> None:
    tree = ast.parse('"""jnli"""\nNAME = "jnli"\n"""jnli"""\n\ndef f() -> None:\n    """jnli"""\n')
    assert list(literals(tree)) == ["jnli"]
