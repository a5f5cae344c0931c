"""What `nikawa aggregate` says of the gold it made, and how that goes with gold that is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nikawa.aggregation.judgements import Given
from nikawa.io.judgements import Note
from nikawa.records import Example, Record

if TYPE_CHECKING:
    from nikawa.aggregation.verdicts import Verdicts
    from nikawa.aggregation.workers import Change

LISTED = 50
"""Items a summary lists by name."""


class Compared(Record, frozen=True, kw_only=True):
    """How the gold made here and the gold that the examples have go together."""

    items: int
    same: int
    different: tuple[str, ...]
    """Items that have both and they differ: the first few."""
    differing: int
    only_there: int
    """Items with gold there and none here (ties and what was dropped)."""


class RuleReport(Record, frozen=True, kw_only=True):
    """What one rule made."""

    question: str
    """The question the gold is written under."""
    rule: str
    ties: str
    items: int
    accepted: int
    dropped: dict[str, int]
    """By the step that dropped them."""
    tied: int
    """Left to be adjudicated."""
    tied_items: tuple[str, ...]
    settled: int
    """Ties that were settled, by the tie rule or by hand."""
    iterations: int = 0
    published: Compared | None = None


class AggregateReport(Record, frozen=True, kw_only=True):
    """Everything `nikawa aggregate` says."""

    judgements: str
    workers_are: str
    items: int
    workers: int
    answers: int
    missing: int
    kept: int
    """Items that every rule accepted."""
    unjudged: int
    """Of the examples that were named, those that nobody judged."""
    rules: tuple[RuleReport, ...]
    excluded: tuple[Any, ...] = ()
    notes: tuple[Note, ...] = ()


def make_report(
    spec: str,
    given: Given,
    verdicts: Mapping[str, Verdicts],
    known: Mapping[str, Example] | None,
    changed: Sequence[Change],
) -> AggregateReport:
    """Sum up what aggregation made of the judgements."""
    table = next(iter(verdicts.values())).table
    return AggregateReport(
        judgements=spec,
        workers_are=given.workers_are,
        items=len(table.items),
        workers=len(table.workers),
        answers=len(table),
        missing=table.missing,
        kept=len(gold_of(verdicts)),
        unjudged=0,
        rules=tuple(_rule_report(question, found, known) for question, found in verdicts.items()),
        excluded=tuple(changed),
        notes=given.notes,
    )


def gold_of(verdicts: Mapping[str, Verdicts]) -> dict[str, dict[str, Any]]:
    """Gold by item, of the items that every rule accepted."""
    found: dict[str, dict[str, Any]] = {}
    for question, each in verdicts.items():
        for item, answer in zip(each.table.items, each.answers(), strict=True):
            if answer is not None:
                found.setdefault(item, {})[question] = answer
    return {item: gold for item, gold in found.items() if len(gold) == len(verdicts)}


def _rule_report(question: str, found: Verdicts, known: Mapping[str, Example] | None) -> RuleReport:
    from nikawa.aggregation.verdicts import ACCEPTED, TIED

    tied = [found.table.items[i] for i in (found.state == TIED).nonzero()[0].tolist()]
    by_ties = (found.by == len(found.names) - 2) & (found.state == ACCEPTED)
    return RuleReport(
        question=question,
        rule=found.rule.text,
        ties=str(found.ties),
        items=len(found.table.items),
        accepted=found.count(ACCEPTED),
        dropped=found.by_step(),
        tied=len(tied),
        tied_items=tuple(tied[:LISTED]),
        settled=int(by_ties.sum()),
        iterations=0 if found.fit is None else len(found.fit.likelihood),
        published=None if known is None else compare(question, found, known),
    )


def compare(question: str, found: Verdicts, known: Mapping[str, Example]) -> Compared | None:
    """Hold the gold made here against the examples' own; None where they have none for the question."""
    from nikawa.aggregation.spans import as_answer

    pairs = [
        (item, answer, known[item].gold[question])
        for item, answer in zip(found.table.items, found.answers(), strict=True)
        if item in known and question in known[item].gold
    ]
    if not pairs:
        return None
    if found.marks is not None:
        pairs = [
            (item, None if here is None else as_answer(here), as_answer(there))
            for item, here, there in pairs
        ]
    different = [item for item, here, there in pairs if here is not None and here != there]
    return Compared(
        items=len(pairs),
        same=sum(here == there for _, here, there in pairs),
        different=tuple(different[:LISTED]),
        differing=len(different),
        only_there=sum(here is None for _, here, _ in pairs),
    )
