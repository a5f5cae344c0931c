"""The gate: is the label in the words of what was generated, and if so, is it the templates' fault?

Chance can be tried again; a literal cannot. A token that every problem of a template holds stands for that template, and
how many problems of each label those templates give is known before a word is drawn. Where that count alone is over the
line, no seed will pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nikawa.errors import listed
from nikawa.generation.generator import Generator, PlannedCell
from nikawa.records import Record

if TYPE_CHECKING:
    from nikawa.checks.artifacts import Pair, Table

PROBES = 12
"""Problems of a template looked at to tell its literals."""
SHOWN = 12


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
            f"{self.token!r} stands in {self.n:,} problems, {self.count:,} of them {self.label} "
            f"(at most {self.critical - 1:,} may be): balance the labels of {listed(self.templates)}"
        )


class GateVerdict(Record, frozen=True, kw_only=True):
    """What the artifact test said."""

    passed: bool
    allowed: int
    vocabulary: int
    threshold: float
    tokeniser: str
    over: tuple[Pair, ...]
    impossible: tuple[Culprit, ...] = ()
    """Literals that no other words can help, the worst first; empty where it was chance."""


def judge_artifacts(
    maker: Generator, places: Sequence[PlannedCell], path: Path, allowed: int, tokeniser: str | None
) -> GateVerdict:
    """Test the problems of a file against the number of pairs allowed."""
    from nikawa.checks.probe import Options, artifacts

    probe = artifacts(str(path), options=Options(tokeniser=tokeniser, top=0))
    report = probe.report
    over = len(report.over)
    culprits: tuple[Culprit, ...] = ()
    if over > allowed:
        culprits = _culprits(maker, places, report.over, report.tokeniser, probe.table)
    return GateVerdict(
        passed=over <= allowed,
        allowed=allowed,
        vocabulary=report.vocabulary,
        threshold=report.threshold,
        tokeniser=report.tokeniser,
        over=report.over,
        impossible=culprits if len(culprits) > allowed else (),
    )


def _culprits(
    maker: Generator,
    places: Sequence[PlannedCell],
    over: Iterable[Pair],
    tokeniser: str,
    table: Table,
) -> tuple[Culprit, ...]:
    import numpy as np

    held = _literals(maker, places, tokeniser)
    labels: dict[str, Counter[str]] = {}
    for place in places:
        labels.setdefault(place.cell.template.id, Counter())[place.cell.label] += place.n
    found = []
    for pair in over:
        templates = [name for name, tokens in held.items() if pair.token in tokens]
        n = sum(labels[name].total() for name in templates)
        count = sum(labels[name][pair.label] for name in templates)
        critical = int(table.line(np.array([max(n, 1)], dtype=np.int64))[0])
        if count >= critical:
            named = tuple(name for name in templates if labels[name][pair.label])
            found.append(
                Culprit(
                    token=pair.token,
                    label=pair.label,
                    n=n,
                    count=count,
                    critical=critical,
                    templates=named,
                )
            )
    return tuple(found)


def _literals(
    maker: Generator, places: Sequence[PlannedCell], tokeniser: str
) -> dict[str, frozenset[str]]:
    """Template to the tokens all of its problems hold."""
    from nikawa.text import analyser

    cut = analyser(tokeniser, cache=0)
    by_template: dict[str, list[PlannedCell]] = {}
    for place in places:
        by_template.setdefault(place.cell.template.id, []).append(place)
    found: dict[str, frozenset[str]] = {}
    for name, own in by_template.items():
        common: frozenset[str] | None = None
        for i in range(max(PROBES, len(own))):
            place = own[i % len(own)]
            problem = next(maker.problems(maker.first_split, place, i, i + 1))
            texts = problem.inputs.values()
            tokens = frozenset(t.form or t.surface for text in texts for t in cut.analyse(text))
            common = tokens if common is None else common & tokens
        found[name] = common or frozenset()
    return found
