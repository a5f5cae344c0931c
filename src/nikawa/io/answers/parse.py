"""An answer as given, read in the shape the task asks for.

What cannot be read is None with a reason. Labels are found by their published name, by other words
for them (`SYNONYMS`), with quotes, case and width ignored. Beside the answer a file may give a
number for each label or choice: `make_score_reader`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from nikawa.io.answers.base import UnfitAnswer
from nikawa.io.answers.structures import decode_text, read_state, read_tags, read_tree
from nikawa.records import Example, Task

Parsed = tuple[Any, str | None]
"""The answer and None, or None and why it could not be read."""
Parser = Callable[[Any, Example], Parsed]

Scores = dict[str, float]
"""A number by label, or by place of the choice."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LETTERS = ("ABCDEFGHIJ", "アイウエオカキクケコ")

SYNONYMS: dict[str, tuple[str, ...]] = {
    "entailment": ("含意", "함의", "yes", "entails", "entailed"),
    "contradiction": ("矛盾", "모순", "no", "contradicts", "contradictory"),
    "neutral": ("中立", "중립", "unknown"),
    "positive": ("ポジティブ", "肯定的", "긍정"),
    "negative": ("ネガティブ", "否定的", "부정"),
    "acceptable": ("1", "容認可能", "容認できる"),
    "unacceptable": ("0", "容認不可能", "容認できない"),
}
"""The published label to what else means it. JCoLA itself publishes 1 and 0."""

_LEAD = re.compile(r"^(?:answer|label|答え|回答|解答|정답|답)\s*(?:[:：]|は)\s*", re.IGNORECASE)
_AROUND = " \t\n\r\u3000\"'`“”‘’「」『』()（）[]<>*"
_END = "。．.、,"


def strip_around(text: str) -> str:
    """`text` without quotes, brackets, a final stop and a lead such as `Answer:`.

    >>> strip_around("答え：「含意」。")
    '含意'
    """
    text = text.strip(_AROUND)
    text = _LEAD.sub("", text).strip(_AROUND)
    return text.rstrip(_END).strip(_AROUND)


def fold_text(text: str) -> str:
    """`text` bare, without difference of case and width."""
    return strip_around(unicodedata.normalize("NFKC", text)).casefold()


@cache
def tabulate_labels(labels: tuple[str, ...]) -> dict[str, str]:
    """Folded text to label; a text that would mean two labels means none."""
    table: dict[str, str] = {}
    twice: set[str] = set()
    for label in labels:
        for text in {fold_text(word) for word in (label, *SYNONYMS.get(label, ()))}:
            if table.setdefault(text, label) != label:
                twice.add(text)
    return {text: label for text, label in table.items() if text not in twice and text}


def parse_answer(raw: Any, task: Task, example: Example, *, indices: bool = False) -> Parsed:
    """`raw` in the task's shape and None, or None and the reason.

    For many answers to one task take `make_parser`, which looks at the task once. With `indices` a
    number is a place in the task's labels, and `UnfitAnswer` is raised for one that is outside.
    """
    return make_parser(task, indices=indices)(raw, example)


def make_parser(task: Task, *, indices: bool = False) -> Parser:
    """The parser of a task; with `indices`, numbers are places in its labels, counted from 0."""
    if task.kind in ("text", "inference", "relation"):
        return make_label_parser(task, indices)
    if task.kind == "tagging":
        return lambda raw, example: read_tags(raw, task, example)
    if task.kind == "tree":
        return lambda raw, example: read_tree(raw, task, example)
    plain: dict[str, Parser] = {
        "similarity": parse_number,
        "choice": parse_choice,
        "reading": parse_text,
        "dialogue": lambda raw, example: read_state(raw),
    }
    return plain[task.kind]


def make_label_reader(task: Task) -> Callable[[Any], str | None]:
    """A function from a text to the label it means, or None."""
    exact, table = set(task.labels), tabulate_labels(task.labels)

    def read(raw: Any) -> str | None:
        if type(raw) is str:
            return raw if raw in exact else table.get(fold_text(raw))
        return table.get(str(raw)) if type(raw) is int else None

    return read


def make_label_parser(task: Task, indices: bool) -> Parser:
    """A parser of labels by name or other words, and with `indices` by their place."""
    read, labels = make_label_reader(task), task.labels

    def parse(raw: Any, _: Example) -> Parsed:
        if indices and (place := _whole_number(raw)) is not None:
            if 0 <= place < len(labels):
                return labels[place], None
            order = f"{', '.join(labels[:8])}{' …' if len(labels) > 8 else ''}"
            what = f"{place} is no place in the {len(labels)} labels"
            raise UnfitAnswer(what, f"count from 0 in the order {order}")
        label = read(raw)
        if label is not None:
            return label, None
        if _whole_number(raw) is not None:
            hint = "if it is a place in the task's labels, name the form 'indices'"
            return None, f"a number, not a label: {hint}"
        if isinstance(raw, str) and not raw.strip():
            return None, "empty"
        return None, f"not one of {', '.join(labels[:5])}{' …' if len(labels) > 5 else ''}"

    return parse


def _whole_number(raw: Any) -> int | None:
    if type(raw) is int:
        return raw
    if isinstance(raw, str):
        text = unicodedata.normalize("NFKC", raw).strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else None
    return None


def parse_number(raw: Any, _: Example) -> Parsed:
    """A finite number, of a number or of a text that is nothing else."""
    if type(raw) in (int, float):
        value = to_float(raw)
    elif isinstance(raw, str):
        text = strip_around(unicodedata.normalize("NFKC", raw))
        if text.casefold().lstrip("+-") in ("nan", "inf", "infinity"):
            return None, "not a finite number"
        if not _NUMBER.fullmatch(text):
            return None, "not a number" if text else "empty"
        value = float(text)
    else:
        return None, "not a number"
    return (value, None) if math.isfinite(value) else (None, "not a finite number")


def to_float(number: float) -> float:
    """`number` as a float, infinite where it is an integer past all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def parse_text(raw: Any, _: Example) -> Parsed:
    """A text as it is; of a mapping its `text`, as run_squad writes it."""
    if type(raw) is str:
        return raw, None
    if isinstance(raw, Mapping) and isinstance(raw.get("text"), str):
        return raw["text"], None
    return (str(raw), None) if type(raw) is int else (None, "not a text")


def parse_choice(raw: Any, example: Example) -> Parsed:
    """A choice by its text, or by its place: a digit counts from 0, A and ア are the first."""
    choices = [str(choice) for choice in example.inputs.get("choices", ())]
    place: int | None = None
    by_text: list[int] = []
    if type(raw) is int:
        place = raw
    elif isinstance(raw, str):
        folded = fold_text(raw)
        sign = folded.upper()
        by_text = [i for i, choice in enumerate(choices) if choice == raw]
        if not by_text and folded:  # without difference of case, width and quotes
            by_text = [i for i, choice in enumerate(choices) if fold_text(choice) == folded]
        if re.fullmatch(r"[0-9]{1,3}", sign):
            place = int(sign)
        elif len(sign) == 1:
            rows = [row[: len(choices)] for row in _LETTERS]
            place = next((row.index(sign) for row in rows if sign in row), None)
    if len(by_text) > 1:
        return None, "two choices read so"
    if by_text:
        if place in range(len(choices)) and place != by_text[0]:
            return None, "the text of one choice and the place of another"
        return by_text[0], None
    if place is None:
        is_empty = isinstance(raw, str) and not raw.strip()
        return None, "empty" if is_empty else "not the place or the text of a choice"
    if 0 <= place < len(choices):
        return place, None
    return None, f"{place} is no choice: they count from 0 to {len(choices) - 1}"


def make_score_reader(
    task: Task, *, indices: bool = False
) -> Callable[[Any, Example], Scores | None]:
    """A function from scores as given to a number by label (or by place of the choice).

    `UnfitAnswer` where they do not fit.
    """
    read = make_label_reader(task)

    def parse(raw: Any, example: Example) -> Scores | None:
        value = decode_text(raw)
        if value is None or value == "":
            return None
        if isinstance(value, list | tuple):
            value = dict(zip(name_scores(len(value), task, example, indices), value, strict=True))
        if not isinstance(value, Mapping):
            cure = 'write e.g. {"entailment": 0.7, "neutral": 0.3}'
            raise UnfitAnswer("the scores are not a number by label", cure)
        scores = {}
        for key, number in value.items():
            name = find_score_name(key, task, example, read)
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not is_number or not math.isfinite(to_float(number)):
                raise UnfitAnswer(f"the score of {key!r} is {number!r}", "write a finite number")
            scores[name] = float(number)
        return scores

    return parse


def best_label(scores: Scores) -> str:
    """The name with the highest number, the first of several.

    >>> best_label({"entailment": 0.4, "neutral": 0.4})
    'entailment'
    """
    return max(scores, key=scores.__getitem__)


def name_scores(size: int, task: Task, example: Example, indices: bool) -> tuple[str, ...]:
    """What a list of so many scores is of."""
    names = task.labels if indices else ()
    if task.kind == "choice":
        names = tuple(map(str, range(len(example.inputs.get("choices", ())))))
    if not names:
        cure = "write a number by label, or name the form 'indices'"
        raise UnfitAnswer("the scores have no names", cure)
    if len(names) != size:
        what = f"{size} scores for {len(names)} labels"
        raise UnfitAnswer(what, "give one for each, in the published order")
    return names


def find_score_name(
    key: Any, task: Task, example: Example, read: Callable[[Any], str | None]
) -> str:
    """The label, or the place of the choice, that a name in the scores means."""
    if task.kind == "choice":
        choices = list(example.inputs.get("choices", ()))
        if key in choices:
            return str(choices.index(key))
        if str(key).isdecimal() and int(key) < len(choices):
            return str(int(key))
    label = read(key) if task.labels else str(key)
    if label is None or task.kind == "choice":
        what = f"the scores name {key!r}, which the task does not have"
        raise UnfitAnswer(what, "use the published labels")
    return label
