"""What the shape of records tells of a task: its kind, inputs, labels, scale and the usual metrics.

The table of shapes is in docs/records.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor
from typing import Any

from nikawa.records import Example, Kind, Span

NLI = ("entailment", "contradiction", "neutral")
NONE = "no_relation"
"""The relation that is none: it comes first, where F1 leaves it out."""
SHAPES: Mapping[Kind, tuple[str, ...]] = {
    "relation": ("text", "subject", "object"),
    "tree": ("text", "words"),
    "dialogue": ("turns",),
    "choice": ("question", "choices"),
    "reading": ("context", "question"),
    "inference": ("premise", "hypothesis"),
    "similarity": ("sentence1", "sentence2"),
    "text": ("text",),
}
"""Kind to the inputs that tell it, the more telling first."""
METRICS: Mapping[Kind, tuple[str, ...]] = {
    "text": ("accuracy", "macro-f1"),
    "inference": ("accuracy", "macro-f1"),
    "similarity": ("pearson", "spearman"),
    "choice": ("accuracy",),
    "reading": ("jsquad-em", "jsquad-f1"),
    "tagging": ("entity-macro-f1", "char-macro-f1"),
    "relation": ("accuracy", "macro-f1"),
    "tree": ("uas", "las"),
    "dialogue": ("jga", "slot-f1"),
}
KOREAN_READING = ("klue-em", "rouge-w")
RELATIONS = ("relation-micro-f1", "macro-f1")


def kind_of(inputs: Mapping[str, Any], question: str, value: Any) -> Kind | None:
    """The kind of task that has such inputs and such gold."""
    shape = next(
        (kind for kind, names in SHAPES.items() if all(name in inputs for name in names)), None
    )
    if shape is None or question == "binary":  # a similarity cut in two, told beside it
        return None
    if shape in ("inference", "similarity"):
        return (
            "inference" if isinstance(value, str) else "similarity" if _is_number(value) else None
        )
    if shape == "text":
        return "text" if isinstance(value, str) else "tagging" if _is_spans(value) else None
    return shape if FITS[shape](value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_spans(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, Span) for part in value)


FITS: Mapping[str, Callable[[Any], bool]] = {
    "relation": lambda value: isinstance(value, str),
    "tree": lambda value: isinstance(value, dict) and {"heads", "labels"} <= value.keys(),
    "dialogue": lambda value: isinstance(value, list),
    "choice": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "reading": lambda value: (
        isinstance(value, list) and all(isinstance(part, dict) and "text" in part for part in value)
    ),
}


def inputs_of(kind: Kind, examples: Sequence[Example]) -> tuple[str, ...]:
    """The inputs a model may see."""
    first = examples[0].inputs
    if kind in ("inference", "similarity"):
        return SHAPES["inference"] if "premise" in first else SHAPES["similarity"]
    if kind == "reading" and all("title" in example.inputs for example in examples):
        return ("title", *SHAPES["reading"])
    return SHAPES["text" if kind == "tagging" else kind]


def labels_of(kind: Kind, question: str, examples: Iterable[Example]) -> tuple[str, ...]:
    """The labels met, in the usual order where there is one."""
    golds = (example.gold[question] for example in examples)
    if kind in ("text", "inference", "relation"):
        met = set(golds)
    elif kind == "tagging":
        met = {span.label for spans in golds for span in spans}
    elif kind == "tree":
        met = {label for tree in golds for label in tree["labels"]}
    else:
        return ()
    first = [label for label in (*NLI, NONE) if label in met]
    return (*first, *sorted(met - set(first)))


def scale_of(values: Sequence[float]) -> tuple[float, float]:
    """The usual scale that holds all scores: 0 or 1 to 1 or 5; else their own bounds."""
    low, high = min(values), max(values)
    least = floor(low) if low < 0 else float(low >= 1)
    return float(least), 1.0 if high <= 1 and least <= 0 else 5.0 if high <= 5 else float(
        ceil(high)
    )


def metrics_of(kind: Kind, labels: Sequence[str], language: str) -> tuple[str, ...]:
    """The usual metrics of a kind."""
    if kind == "reading" and language == "ko":
        return KOREAN_READING
    return RELATIONS if kind == "relation" and NONE in labels else METRICS[kind]
