"""An answer as given, read in the shape the task asks for; what cannot be read is None with a reason."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from nikawa.io.answers.fields import Unfit
from nikawa.io.answers.structures import read_state, read_tags, read_tree
from nikawa.io.answers.synonyms import bare, folded, label_table
from nikawa.records import Example, Task

Parsed = tuple[Any, str | None]
"""The answer and None, or None and why it could not be read."""
Parser = Callable[[Any, Example], Parsed]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LETTERS = ("ABCDEFGHIJ", "アイウエオカキクケコ")


def parse_answer(raw: Any, task: Task, example: Example, *, indices: bool = False) -> Parsed:
    """`raw` in the task's shape and None, or None and the reason."""
    return parser_of(task, indices=indices)(raw, example)


def parser_of(task: Task, *, indices: bool = False) -> Parser:
    """The parser of a task; with `indices`, numbers are places in its labels, counted from 0."""
    if task.kind in ("text", "inference", "relation"):
        return _labels(task, indices)
    if task.kind == "tagging":
        return lambda raw, example: read_tags(raw, task, example)
    if task.kind == "tree":
        return lambda raw, example: read_tree(raw, task, example)
    plain: dict[str, Parser] = {
        "similarity": _number,
        "choice": _choice,
        "reading": _text,
        "dialogue": lambda raw, example: read_state(raw),
    }
    return plain[task.kind]


def label_reader(task: Task) -> Callable[[Any], str | None]:
    """A function from a text to the label it means, or None."""
    exact, table = set(task.labels), label_table(task.labels)

    def read(raw: Any) -> str | None:
        if type(raw) is str:
            return raw if raw in exact else table.get(folded(raw))
        return table.get(str(raw)) if type(raw) is int else None

    return read


def _labels(task: Task, indices: bool) -> Parser:
    read, labels = label_reader(task), task.labels

    def parse(raw: Any, _: Example) -> Parsed:
        if indices and (place := _whole(raw)) is not None:
            return _at(labels, place), None
        label = read(raw)
        return (label, None) if label is not None else (None, _no_label(raw, labels))

    return parse


def _at(labels: tuple[str, ...], place: int) -> str:
    if not 0 <= place < len(labels):
        raise Unfit(
            f"{place} is no place in the {len(labels)} labels",
            f"count from 0 in the order {', '.join(labels[:8])}{' …' if len(labels) > 8 else ''}",
        )
    return labels[place]


def _no_label(raw: Any, labels: tuple[str, ...]) -> str:
    if _whole(raw) is not None:
        return (
            "a number, not a label: if it is a place in the task's labels, name the form 'indices'"
        )
    if isinstance(raw, str) and not raw.strip():
        return "empty"
    return f"not one of {', '.join(labels[:5])}{' …' if len(labels) > 5 else ''}"


def _whole(raw: Any) -> int | None:
    if type(raw) is int:
        return raw
    if isinstance(raw, str):
        text = unicodedata.normalize("NFKC", raw).strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else None
    return None


def _number(raw: Any, _: Example) -> Parsed:
    if type(raw) in (int, float):
        value = as_float(raw)
    elif isinstance(raw, str):
        text = bare(unicodedata.normalize("NFKC", raw))
        if text.casefold().lstrip("+-") in ("nan", "inf", "infinity"):
            return None, "not a finite number"
        if not _NUMBER.fullmatch(text):
            return None, "not a number" if text else "empty"
        value = float(text)
    else:
        return None, "not a number"
    return (value, None) if math.isfinite(value) else (None, "not a finite number")


def as_float(number: float) -> float:
    """`number` as a float, infinite where it is an integer past all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _text(raw: Any, _: Example) -> Parsed:
    if type(raw) is str:
        return raw, None
    if isinstance(raw, Mapping) and isinstance(raw.get("text"), str):
        return raw["text"], None
    return (str(raw), None) if type(raw) is int else (None, "not a text")


def _choice(raw: Any, example: Example) -> Parsed:
    choices = [str(choice) for choice in example.inputs.get("choices", ())]
    if type(raw) is int:
        return _in_range(raw, choices)
    if not isinstance(raw, str):
        return None, "not the place or the text of a choice"
    found = _by_text(raw, choices)
    place = _by_sign(raw, len(choices))
    if len(found) > 1:
        return None, "two choices read so"
    if found:
        clash = place in range(len(choices)) and place != found[0]
        return (
            (None, "the text of one choice and the place of another") if clash else (found[0], None)
        )
    if place is None:
        return None, "not the place or the text of a choice" if raw.strip() else "empty"
    return _in_range(place, choices)


def _in_range(place: int, choices: list[str]) -> Parsed:
    if 0 <= place < len(choices):
        return place, None
    return None, f"{place} is no choice: they count from 0 to {len(choices) - 1}"


def _by_text(raw: str, choices: list[str]) -> list[int]:
    """The places whose text `raw` is: as it stands, else without difference of case, width and quotes."""
    exact = [i for i, choice in enumerate(choices) if choice == raw]
    wanted = folded(raw)
    return exact or [i for i, choice in enumerate(choices) if wanted and folded(choice) == wanted]


def _by_sign(raw: str, size: int) -> int | None:
    """The place a digit (from 0) or a letter (A, ア the first) stands for."""
    sign = folded(raw).upper()
    if re.fullmatch(r"[0-9]{1,3}", sign):
        return int(sign)
    return next(
        (row.index(sign) for row in _LETTERS if len(sign) == 1 and sign in row[:size]), None
    )
