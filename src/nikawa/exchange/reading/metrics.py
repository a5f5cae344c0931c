"""The metrics of other tools beside Nikawa's: which one fits, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.exchange.reading.definition import Definition
from nikawa.records import Kind, Record

WHOLE_REPLY = (
    "compares the whole reply with the answer; nikawa score first reads the answer from the reply"
)
LENGTHS = "divides each likelihood by the length of the choice; score the choice that it takes"
JUDGE = "asks a model for a grade"
ENGLISH = "counts words of English; the official metric counts characters or morphemes"
DIFFERENCES: dict[str, dict[str, tuple[str, str]]] = {
    "lm-eval": {
        "acc": ("accuracy", ""),
        "acc_norm": ("accuracy", LENGTHS),
        "acc_bytes": ("accuracy", LENGTHS),
        "exact_match": ("accuracy", WHOLE_REPLY),
        "f1": ("macro-f1", "is the F1 of one class, unless its settings name another average"),
        "mcc": ("mcc", ""),
    },
    "flexeval": {
        "accuracy": ("accuracy", ""),
        "byte_norm_accuracy": ("accuracy", LENGTHS),
        "macro_f1_score": ("macro-f1", "averages over the places that occur"),
        "ExactMatch": ("accuracy", WHOLE_REPLY),
        "CharF1": (
            "jsquad-f1",
            "is a ratio of edits, rounded to whole percent; the official F1 counts shared characters",
        ),
    },
    "inspect": {
        "choice": ("accuracy", ""),
        "match": (
            "accuracy",
            "looks for the answer at one end of the reply; nikawa score reads replies itself",
        ),
        "includes": (
            "accuracy",
            "accepts the answer anywhere in the reply; nikawa score reads replies itself",
        ),
        "exact": ("accuracy", WHOLE_REPLY),
        "pattern": (
            "accuracy",
            "reads the reply with its own pattern; nikawa score reads replies itself",
        ),
        "answer": ("accuracy", "reads the reply after ANSWER:; nikawa score reads replies itself"),
        "f1": ("jsquad-f1", ENGLISH),
        "model_graded_qa": ("", JUDGE),
        "model_graded_fact": ("", JUDGE),
    },
}
"""Tool and metric to Nikawa's metric and the difference."""
EXACT_FORMS = {
    "accuracy": ("jsquad-em", "klue-em"),
    "jsquad-f1": ("jsquad-f1", "rouge-w"),
}
"""The metrics of passages that stand for others."""


class MetricMatch(Record, frozen=True):
    """A metric of the tool, and Nikawa's."""

    tool: str
    nikawa: str
    """Nikawa's metric; empty if none fits."""
    difference: str = ""


def match_metrics(definition: Definition, kind: Kind, own: Sequence[str]) -> list[MetricMatch]:
    """Nikawa's metric for each metric of the tool; `own` are the metrics of the task."""
    matches = []
    for metric in definition.metrics:
        name, difference = DIFFERENCES[definition.tool].get(metric.name, ("", "has no counterpart"))
        if kind == "similarity" and name:
            name, difference = (
                "pearson",
                "compares replies as texts; the official metric correlates numbers",
            )
        elif name and name not in own:
            forms = [form for form in EXACT_FORMS.get(name, ()) if form in own]
            if forms:
                name = forms[0]
                difference = (
                    difference
                    or "compares with one answer; the official metric takes the best of all answers"
                )
            elif kind in ("reading", "tagging"):
                name, difference = "", "has no counterpart"
        shown = f"{metric.name} ({metric.details})" if metric.details else metric.name
        matches.append(MetricMatch(shown, name, difference))
    return matches
