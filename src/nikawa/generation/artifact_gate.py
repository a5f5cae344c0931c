"""The gate: is the label in the words of what was generated, and if so, is it the templates' fault?

Chance can be tried again; a literal cannot. A token that every problem of a template holds stands
for that template, and how many problems of each label those templates give is known before a word
is drawn. Where that count alone is over the line, no seed will pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.errors import list_names
from nikawa.generation.generator import Generator, PlannedCell
from nikawa.records import Record

if TYPE_CHECKING:
    from nikawa.checks.artifacts import Pair, Table

PROBLEMS_LOOKED_AT = 12
"""Problems of a template looked at to tell its literals."""


class Culprit(Record, frozen=True, kw_only=True):
    """A literal that gives a label away, whatever the words."""

    token: str
    label: str
    n: int
    """Problems of the templates that hold it."""
    count: int
    """Of these, the ones with the label."""
    critical: int
    """The least count over the line."""
    templates: tuple[str, ...]
    """The templates that hold it and have the label."""

    def sentence(self) -> str:
        """What is wrong and what could be done."""
        return (
            f"{self.token!r} is in {self.n:,} problems, {self.count:,} of them {self.label} "
            f"(at most {self.critical - 1:,} may be): balance the labels of {list_names(self.templates)}"
        )


class GateVerdict(Record, frozen=True, kw_only=True):
    """The outcome of the artifact test."""

    passed: bool
    allowed: int
    """Pairs that may be over the line."""
    vocabulary: int
    """Different tokens that were tested."""
    threshold: float
    """The test's threshold, corrected for so many tests."""
    tokeniser: str
    over: tuple[Pair, ...]
    """Pairs of token and label over the line, the worst first; without the declared ones."""
    declared: tuple[Pair, ...] = ()
    """Pairs over the line whose token the pack declares as its phenomenon."""
    impossible: tuple[Culprit, ...] = ()
    """Literals that no other words can help, the worst first; empty where it was chance."""


def judge_artifacts(
    generator: Generator,
    cells: Sequence[PlannedCell],
    path: Path,
    allowed: int,
    tokeniser: str | None,
) -> GateVerdict:
    """Test the problems of a file against the number of pairs allowed.

    `cells` are those of the first split, which the file holds.
    """
    from nikawa.checks.probe import ProbeOptions, probe_artifacts

    probe = probe_artifacts(str(path), options=ProbeOptions(tokeniser=tokeniser, top=0))
    report = probe.report
    phenomenon = frozenset(generator.pack.head.phenomenon)
    over = tuple(pair for pair in report.over if pair.token not in phenomenon)
    declared = tuple(pair for pair in report.over if pair.token in phenomenon)
    passed = len(over) <= allowed
    culprits: tuple[Culprit, ...] = ()
    if not passed:
        culprits = find_culprits(generator, cells, over, report.tokeniser, probe.table)
    return GateVerdict(
        passed=passed,
        allowed=allowed,
        vocabulary=report.vocabulary,
        threshold=report.threshold,
        tokeniser=report.tokeniser,
        over=over,
        declared=declared,
        impossible=culprits if len(culprits) > allowed else (),
    )


def find_culprits(
    generator: Generator,
    cells: Sequence[PlannedCell],
    over: Iterable[Pair],
    tokeniser: str,
    table: Table,
) -> tuple[Culprit, ...]:
    """The pairs over the line that the templates' literals alone explain, the worst first."""
    import numpy as np

    literals = _find_literals(generator, cells, tokeniser)
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    """Template to its problems by label."""
    for planned in cells:
        cell = planned.cell
        labels[cell.template.id][cell.label] += planned.n
    culprits = []
    for pair in over:
        templates = [id for id, tokens in literals.items() if pair.token in tokens]
        n = sum(labels[id].total() for id in templates)
        count = sum(labels[id][pair.label] for id in templates)
        sizes = np.array([max(n, 1)], dtype=np.int64)
        critical = int(table.line(sizes)[0])
        if count >= critical:
            culprit = Culprit(
                token=pair.token,
                label=pair.label,
                n=n,
                count=count,
                critical=critical,
                templates=tuple(id for id in templates if labels[id][pair.label]),
            )
            culprits.append(culprit)
    return tuple(culprits)


def _find_literals(
    generator: Generator, cells: Sequence[PlannedCell], tokeniser: str
) -> dict[str, frozenset[str]]:
    """Template to the tokens that all of its problems hold."""
    from nikawa.text import analyser

    analyse = analyser(tokeniser, cache=0).analyse
    by_template: dict[str, list[PlannedCell]] = {}
    for planned in cells:
        by_template.setdefault(planned.cell.template.id, []).append(planned)
    literals: dict[str, frozenset[str]] = {}
    for id, own in by_template.items():
        common: frozenset[str] | None = None
        for i in range(max(PROBLEMS_LOOKED_AT, len(own))):
            planned = own[i % len(own)]
            problem = next(generator.problems(generator.first_split, planned, i, i + 1))
            tokens: set[str] = set()
            for text in problem.inputs.values():
                tokens.update(token.form or token.surface for token in analyse(text))
            common = frozenset(tokens) if common is None else common & tokens
        literals[id] = common or frozenset()
    return literals
