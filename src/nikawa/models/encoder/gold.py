"""Whether gold is what its kind of task asks for, told before anything is learned from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any

from nikawa.errors import BadInput
from nikawa.models.base import get_gold
from nikawa.records import Example, Kind, Span, Task


def check_gold(task: Task, examples: Sequence[Example]) -> None:
    """Refuse gold of another shape than the task's, or outside the text it speaks of."""
    wrong = WRONG[task.kind]
    for example, gold in zip(examples, get_gold(task, examples), strict=True):
        if told := wrong(example, gold):
            what = f"example {example.id!r} has {gold!r} for {task.question!r}, which is {told}"
            raise BadInput(what, cure="mend the example, or leave it out")


def _number(gold: Any, kind: type) -> bool:
    return isinstance(gold, kind) and not isinstance(gold, bool)


def _size(example: Example, name: str) -> float:
    """The length of a text; without limit where it is not shown, which the head tells."""
    text = example.inputs.get(name)
    return len(text) if isinstance(text, str) else float("inf")


def _label(_example: Example, gold: Any) -> str:
    return "" if isinstance(gold, str) or gold is None else "no label"


def _score(_example: Example, gold: Any) -> str:
    return "" if _number(gold, Real) and isfinite(gold) else "no number"


def _choice(example: Example, gold: Any) -> str:
    choices = example.inputs.get("choices")
    if not isinstance(choices, list | tuple):  # not shown: the head tells
        return ""
    count = len(choices)
    return "" if _number(gold, Integral) and 0 <= gold < count else f"none of its {count} choices"


def _answers(example: Example, gold: Any) -> str:
    if not isinstance(gold, list | tuple):
        return "no list of answers"
    size = _size(example, "context")
    for answer in gold:
        if not isinstance(answer, Mapping) or not isinstance(answer.get("text"), str):
            return "no list of answers with text and start"
        start: Any = answer.get("start")
        if not _number(start, Integral) or not 0 <= start <= size - len(answer["text"]):
            return "not inside its context"
    return ""


def _spans(example: Example, gold: Any) -> str:
    if not isinstance(gold, list | tuple) or not all(isinstance(span, Span) for span in gold):
        return "no list of spans"
    size = _size(example, "text")
    return "" if all(0 <= s.start < s.end <= size for s in gold) else "not inside its text"


def _tree(_example: Example, gold: Any) -> str:
    parts: list[Any] = (
        [gold.get(name) for name in ("heads", "labels")] if isinstance(gold, Mapping) else [None]
    )
    whole = all(isinstance(part, list | tuple) for part in parts)
    return (
        ""
        if whole and all(_number(head, Integral) for head in parts[0])
        else "no tree of heads and labels"
    )


def _state(_example: Example, gold: Any) -> str:
    return "" if isinstance(gold, list | tuple) else "no list of domain-slot-value"


WRONG: dict[Kind, Callable[[Example, Any], str]] = {
    "text": _label,
    "inference": _label,
    "relation": _label,
    "similarity": _score,
    "choice": _choice,
    "reading": _answers,
    "tagging": _spans,
    "tree": _tree,
    "dialogue": _state,
}
