"""The metrics of a task of another tool, each with Nikawa's metric that fits."""

from __future__ import annotations

from nikawa.exchange.reading.definition import Definition
from nikawa.metrics import metrics
from nikawa.metrics.other_tools import (
    BEST_ANSWER,
    DIFFERENCES,
    FOR_SCORES,
    JUDGE,
    NUMBERS,
    OTHER_FORMS,
)
from nikawa.records import Record, Task


class MetricMatch(Record, frozen=True):
    """A metric of the tool, and Nikawa's."""

    tool: str
    nikawa: str
    """Nikawa's metric; empty if none fits."""
    difference: str = ""


def match_metrics(definition: Definition, task: Task) -> list[MetricMatch]:
    """Nikawa's metric for each metric of the tool."""
    matches = []
    for metric in definition.metrics:
        name, difference = DIFFERENCES[definition.tool].get(metric.name, ("", ""))
        if name and task.kind == "similarity":
            name, difference = FOR_SCORES, NUMBERS
        elif name and task.kind not in metrics()[name].kinds:
            forms = [form for form in OTHER_FORMS.get(name, ()) if form in task.metrics]
            name = forms[0] if forms else ""
            difference = difference or BEST_ANSWER
        if not name and difference != JUDGE:
            difference = "has no counterpart"
        shown = f"{metric.name} ({metric.details})" if metric.details else metric.name
        matches.append(MetricMatch(shown, name, difference))
    return matches
