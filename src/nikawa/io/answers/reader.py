"""The one reader of answers: from what a model or a file says to the answer of the task.

`make_reader(task)` gives a function from the text and the example to a `Reading`: the answer, or
None with a reason, the characters it was read from, and the pattern that read it. `nikawa score`,
`compare`, `run` with `replay:` and `chat:` read with it, so a text has one reading everywhere. The
wording is in `phrases_*.toml`.

A label, a choice or a number is read in this order:

1. the whole text is the answer, without quotes, brackets, a stop and a lead such as `Answer:`;
2. the last place that states an answer: JSON with a field for it, `\\boxed{…}`, a cue (「答えは…」,
   정답:, "the answer is"), a verdict (「…が正解」), a line that is the answer and nothing else;
3. the end of the last sentence, where it makes the word of a label its predicate.

A statement that is denied, asked, assumed or offers two answers does not count. A word that is only
mentioned is not read. An unreadable answer is None with a reason, never a guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from nikawa.io.answers.base import UnfitAnswer
from nikawa.io.answers.phrases import load_phrases
from nikawa.io.answers.readings import JSON, Offer, Reader, Reading
from nikawa.io.answers.replies import (
    CIRCLED,
    blank_thoughts,
    is_refusal,
    quote,
    scan_json,
)
from nikawa.io.answers.scores import read_number
from nikawa.io.answers.statements import (
    AROUND,
    FINAL_STOPS,
    Vocabulary,
    fold_text,
    make_vocabulary,
    read_reply,
    strip_around,
)
from nikawa.io.answers.structures import Parsed, decode_text, read_state, read_tags, read_tree
from nikawa.io.answers.words import read_words
from nikawa.records import Example, Task

LETTERS = ("ABCDEFGHIJ", "アイウエオカキクケコ", "가나다라마바사아자차", "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊ")
"""Keys of choices where the text does not say which were offered; each row counts from the first."""

MAX_READY_CHARS, MAX_READY = 40, 1000
"""Up to how many characters and texts the readings of labels are kept."""


def words_of(label: str) -> tuple[str, ...]:
    """All words that mean a label as a whole answer."""
    phrases = load_phrases()
    return label, *phrases.labels.get(label, ()), *phrases.short_labels.get(label, ())


@cache
def tabulate_labels(labels: tuple[str, ...]) -> dict[str, str]:
    """Folded text to label; a text that would mean two labels means none."""
    table: dict[str, str] = {}
    twice: set[str] = set()
    for label in labels:
        for text in {fold_text(word) for word in words_of(label)}:
            if table.setdefault(text, label) != label:
                twice.add(text)
    return {text: label for text, label in table.items() if text not in twice and text}


def make_label_reader(task: Task) -> Callable[[Any], str | None]:
    """A function from a text that is a label and nothing else to the label, or None."""
    exact, table = set(task.labels), tabulate_labels(task.labels)

    def read(raw: Any) -> str | None:
        if type(raw) is str:
            return raw if raw in exact else table.get(fold_text(raw))
        return table.get(str(raw)) if type(raw) is int else None

    return read


def make_reader(task: Task, *, indices: bool = False, offer: Offer | None = None) -> Reader:
    """The reader of a task.

    With `indices`, numbers and letters are places in the task's labels, and `UnfitAnswer` is raised
    for a number that is outside. `offer` is what the prompt offered, where that is known.
    """
    if task.kind in ("text", "inference", "relation"):
        return make_label_answer_reader(task, indices, offer)
    if task.kind == "choice":
        return lambda raw, example: read_choice(raw, example, offer)
    if task.kind == "similarity":
        scale = task.scale or (0.0, 5.0)
        return lambda raw, _: read_number(raw, scale, offer)
    if task.kind == "reading":
        return lambda raw, example: read_words(raw, example, offer)
    words = offer.words if offer else {}
    parsers: dict[str, Callable[[Any, Example], Parsed]] = {
        "tagging": lambda raw, example: read_tags(raw, task, example, words),
        "tree": lambda raw, example: read_tree(raw, task, example, words),
        "dialogue": lambda raw, _: read_state(raw, offer.slots if offer else ()),
    }
    parse = parsers[task.kind]
    return lambda raw, example: read_structure(raw, example, parse)


# One reader a kind of task


def make_label_answer_reader(task: Task, indices: bool, offer: Offer | None) -> Reader:
    """A reader of labels by name or other words; by letter where the prompt offered letters.

    An offered letter alone is the letter, also if another label has this name (blood types A, AB, B, O).
    """
    read, labels = make_label_reader(task), task.labels
    letters = offer.keys if offer else (LETTERS[0][: len(labels)] if indices else "")
    offered = enumerate(letters[: len(labels)])
    keys = {letter: place for place, letter in offered if len(letter) == 1}
    shown = {fold_text(word): label for label, word in (offer.words if offer else {}).items()}
    known = f"not one of {', '.join(labels[:5])}{' …' if len(labels) > 5 else ''}"

    @cache
    def vocabulary() -> Vocabulary:
        phrases = load_phrases()
        words: list[tuple[str, int]] = []
        short: list[tuple[str, int]] = []
        for place, label in enumerate(labels):
            own = offer.words.get(label, label) if offer else label
            for word in (label, own, *phrases.labels.get(label, ())):
                (short if word.strip().isdigit() else words).append((word, place))
            short += [(word, place) for word in phrases.short_labels.get(label, ())]
        if offer:  # a number was not offered: it may count letters
            short = [(word, place) for word, place in short if not word.isdigit()]
        return make_vocabulary(words, short, keys, digits=len(labels) if indices else 0)

    def read_whole(value: Any) -> int | None:
        bare_value = strip_around(value) if isinstance(value, str) else value
        if offer and isinstance(bare_value, str) and bare_value in keys:
            return keys[bare_value]
        label = None if offer and _whole_number(bare_value) is not None else read(value)
        if label is None and isinstance(value, str):
            label = shown.get(fold_text(value))
            bare = unicodedata.normalize("NFKC", value).strip(AROUND + FINAL_STOPS)
            if label is None:
                return vocabulary().keys.get(bare)
        return None if label is None else labels.index(label)

    # files repeat a few plain words; their readings depend on nothing else
    ready = {label: Reading(label, None, 0, len(label)) for label in labels if label not in keys}

    def parse(raw: Any, example: Example) -> Reading:
        if type(raw) is not str:
            return parse_new(raw)
        reading = ready.get(raw)
        if reading is None:
            reading = parse_new(raw)
            if len(raw) <= MAX_READY_CHARS and len(ready) < MAX_READY:
                ready[raw] = reading
        return reading

    def parse_new(raw: Any) -> Reading:
        if indices and (number := _whole_number(raw)) is not None:
            if 0 <= number < len(labels):
                return Reading(labels[number], None, 0, len(str(raw)))
            order = f"{', '.join(labels[:8])}{' …' if len(labels) > 8 else ''}"
            what = f"{number} is no place in the {len(labels)} labels"
            raise UnfitAnswer(what, f"count from 0 in the order {order}")
        place = read_whole(raw)
        if place is not None:
            return Reading(labels[place], None, 0, len(str(raw)))
        if _whole_number(raw) is not None and not offer:
            hint = "if it is a place in the task's labels, name the form 'indices'"
            return Reading(why=f"a number, not a label: {hint}")
        if not isinstance(raw, str):
            return Reading(why=known)
        value = read_reply(raw, vocabulary(), read_whole)
        if value.place is not None:
            return Reading(labels[value.place], None, *value[2:])
        why = value.why
        if why is None and not offer and not indices and names_letter(raw, len(labels)):
            hint = "if letters are places in the task's labels, name the form 'indices'"
            why = f"a letter, not a label: {hint}"
        return Reading(why=why or known)

    return parse


def names_letter(text: str, size: int) -> bool:
    """Whether a text answers with a letter."""
    keys = {letter: place for place, letter in enumerate(LETTERS[0][:size])}
    value = read_reply(text, make_vocabulary((), (), keys), lambda _: None)
    return value.place is not None


def _whole_number(raw: Any) -> int | None:
    if type(raw) is int:
        return raw
    if isinstance(raw, str):
        text = unicodedata.normalize("NFKC", raw).strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else None
    return None


def read_choice(raw: Any, example: Example, offer: Offer | None = None) -> Reading:
    """A choice by its text, or by its place: a digit counts from 0, A and ア are the first.

    Where letters were offered, a bare number is no answer: it may count from 0 or from 1.
    """
    choices = example.inputs.get("choices", ())
    if type(raw) is int and offer is None and 0 <= raw < len(choices):
        return Reading(raw)
    choices = [str(choice) for choice in choices]
    rows = ["".join(offer.keys)] if offer else list(LETTERS)
    is_text = isinstance(raw, str)
    if not is_text and type(raw) is not int:
        return Reading(why="not the place or the text of a choice")
    place, why = _read_whole_choice(raw, choices, rows, digits=offer is None)
    if place is not None:
        return Reading(place, None, 0, len(str(raw)))
    if why or not is_text:
        return Reading(why=why or "not the place or the text of a choice")
    keys: dict[str, int] = {}
    for row in rows:
        for number, letter in enumerate(row[: len(choices)]):
            keys.setdefault(letter, number)
    vocabulary = make_vocabulary(
        [(choice, number) for number, choice in enumerate(choices)],
        (),
        keys,
        digits=0 if offer else len(choices),
        size=len(choices),
    )
    value = read_reply(
        raw, vocabulary, lambda value: _read_whole_choice(value, choices, rows, digits=not offer)[0]
    )
    if value.place is not None:
        return Reading(value.place, None, *value[2:])
    return Reading(why=value.why or "not the place or the text of a choice")


def _read_whole_choice(
    raw: Any, choices: Sequence[str], rows: Sequence[str], *, digits: bool
) -> tuple[int | None, str | None]:
    """The place of a choice that a value names and nothing else, or why it names none for sure."""
    place: int | None = None
    by_text: list[int] = []
    if type(raw) is int and digits:
        place = raw
    elif isinstance(raw, str):
        folded = fold_text(raw)
        sign = folded.upper()
        by_text = [i for i, choice in enumerate(choices) if choice == raw]
        if not by_text and folded:  # without difference of case, width and quotes
            by_text = [i for i, choice in enumerate(choices) if fold_text(choice) == folded]
        is_circled = not raw.isascii() and strip_around(raw)[:1] in CIRCLED
        if re.fullmatch(r"[0-9]{1,3}", sign) and not is_circled:
            place = int(sign) if digits else None
        elif len(sign) == 1 and not is_circled:
            kept = [row[: len(choices)] for row in rows]
            place = next((row.index(sign) for row in kept if sign in row), None)
    if len(by_text) > 1:
        return None, "two choices read so"
    if by_text:
        if place in range(len(choices)) and place != by_text[0]:
            if not digits:  # the prompt asked for the letter
                return place, None
            return None, "the text of one choice and the place of another"
        return by_text[0], None
    if place is None:
        return None, "empty" if isinstance(raw, str) and not raw.strip() else None
    if 0 <= place < len(choices):
        return place, None
    return None, f"there is no choice {place}: choices are numbered from 0 to {len(choices) - 1}"


def read_structure(raw: Any, example: Example, parse: Callable[[Any, Example], Parsed]) -> Reading:
    """Spans, a tree or a state: of JSON as a whole, else of the last JSON in a reply that fits."""
    value = decode_text(raw)
    answer, why = parse(value, example)
    if why is None or not isinstance(raw, str):
        return Reading(answer, why, 0, len(raw) if isinstance(raw, str) else 0)
    text = blank_thoughts(raw)
    parts = list(scan_json(text, (dict, list))) if not isinstance(value, dict | list) else []
    for part, start, end in reversed(parts):
        answer, why_not = parse(part, example)
        if why_not is None:
            return Reading(answer, None, start, end, JSON)
        why = why_not
    if not parts and is_refusal(text.strip()):
        why = f"refusal: {quote(text)}"
    return Reading(None, why)
