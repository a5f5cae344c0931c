"""What the card of a dataset says of gold that `nikawa aggregate` made: rules, workers, machines, pre-labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import list_names
from nikawa.io.json import read_json


class MachineUseSummary(msgspec.Struct, frozen=True):
    """What machines did to the gold of a rule."""

    use: str
    models: tuple[str, ...] = ()
    labels: int = 0
    ties: int = 0
    changed: int = 0


class RuleSummary(msgspec.Struct, frozen=True):
    """How the gold of a question was made."""

    question: str
    rule: str
    ties: str
    items: int
    accepted: int
    label_set: tuple[str, ...] = ()
    machines: MachineUseSummary | None = None


class AggregateSummary(msgspec.Struct, frozen=True):
    """Card values from the summary that `nikawa aggregate` writes."""

    workers_are: str
    workers: int
    answers: int
    items: int
    rules: tuple[RuleSummary, ...]
    effort: str = ""
    prelabels: str = ""
    machine_verdict: str = ""


def read_aggregation_facts(path: Path) -> dict[str, Any]:
    """Fields of the card, from the summary that `nikawa aggregate` wrote."""
    return describe_aggregation(read_json(path, AggregateSummary))


def describe_aggregation(summary: AggregateSummary) -> dict[str, Any]:
    """Fields of the card: how the labels were made, and by whom."""
    rules = "; ".join(
        f"{rule.question} by {rule.rule} (ties: {rule.ties}), {rule.accepted:,} of {rule.items:,} items"
        for rule in summary.rules
    )
    label_sets = {rule.question: rule.label_set for rule in summary.rules if rule.label_set}
    return {
        "labels": f"Made from workers' answers by nikawa aggregate: {rules}."
        + (f" Effort: {summary.effort}" if summary.effort else "")
        + (f" Pre-labels: {summary.prelabels}" if summary.prelabels else "")
        + describe_machines(summary),
        "workers": f"{summary.workers:,} workers, {summary.answers:,} answers about {summary.items:,} items",
        "workers_are": summary.workers_are,
        **({"label_sets": label_sets} if label_sets else {}),
    }


def describe_machines(summary: AggregateSummary) -> str:
    """What machines did to the labels, and how they compare with persons; empty where none answered."""
    used = [rule for rule in summary.rules if rule.machines is not None]
    if not used and not summary.machine_verdict:
        return ""
    sentences = []
    for rule in used:
        machines = rule.machines
        assert machines is not None
        who = list_names(machines.models)
        if machines.use == "tie-break":
            sentences.append(f"{who} broke {machines.ties:,} ties of persons ({rule.question})")
        else:
            sentences.append(
                f"{who} took part in {machines.labels:,} labels and changed {machines.changed:,} of them ({rule.question})"
            )
    done = "; ".join(sentences) or "their answers are not counted"
    return f" Machines: {done}. {summary.machine_verdict}".rstrip()
