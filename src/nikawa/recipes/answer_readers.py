"""The forms of questions a recipe may ask people, and what a valid answer to each looks like.

Answers come from sheets as well as from records: numbers may come as numbers where text is meant,
several texts as lines of one cell, a question and its answer as two lines. `read` makes one shape
of them, or says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_uppercase
from typing import Any, TypeGuard

import msgspec

from nikawa.datasets.trees import find_tree_fault
from nikawa.recipes.recipe import Ask
from nikawa.records import Example
from nikawa.text.marked import NO_ANSWER, find_place

ReadAnswer = Callable[[Any, "Question", Example], Any]
"""(answer, what was asked, item) -> the answer in its one shape; raises ValueError with what is
wrong."""


@dataclass(frozen=True)
class Question:
    """An `Ask` with its numbers filled in."""

    ask: Ask
    workers: int
    """Workers who answer about an item."""
    texts: int = 1
    """Texts a worker writes, or labels they may rank."""
    root_label: str = ""
    """Of trees, the relation of the root and of no other word; empty: the root has a relation like any word."""


@dataclass(frozen=True)
class AnswerReader:
    """A form: how its answers are read; `ANSWER_SHAPES` tells their shape in words."""

    name: str
    read: ReadAnswer
    votes: bool = False
    """Whether answers are votes or numbers that agreement can be measured on."""


def read_label(answer: Any, question: Question, example: Example) -> str:
    """One of the labels of the `Ask`; what workers read for it, as in `names`, will do."""
    labels, names = question.ask.labels, question.ask.names
    text = str(answer)
    if text not in labels:
        text = next((label for label in labels if names.get(label) == text), "")
    if not text:
        raise ValueError(f"{answer!r} is not one of {', '.join(labels)}")
    return text


def read_ranking(answer: Any, question: Question, example: Example) -> list[str]:
    """Labels, the best first, each once: a list, or a text such as `politics > society`."""
    parts = answer if isinstance(answer, list) else str(answer).replace("|", ">").split(">")
    names = [
        read_label(part.strip() if isinstance(part, str) else part, question, example)
        for part in parts
    ]
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"{answer!r} repeats a label, or has no label")
    if question.ask.texts and len(names) > question.texts:
        raise ValueError(f"{len(names)} labels, at most {question.texts} are allowed")
    return names


def read_label_set(answer: Any, question: Question, example: Example) -> list[str]:
    """Labels in the order of the question, each once: a list, JSON, or a text such as `joy | surprise`."""
    given = _parse_json(answer) if str(answer).lstrip().startswith("[") else answer
    parts = given if isinstance(given, list) else re.split(r"[|\n]", str(given))
    names = [
        read_label(part.strip() if isinstance(part, str) else part, question, example)
        for part in parts
        if str(part).strip()
    ]
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"{answer!r} repeats a label, or has no label")
    return [label for label in question.ask.labels if label in names]


def read_number(answer: Any, question: Question, example: Example) -> float:
    """A number on the scale of the `Ask`, 0 to 5 where it has none."""
    low, high = question.ask.scale or (0.0, 5.0)
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not low <= answer <= high:
        raise ValueError(f"{answer!r} is not a number from {low:g} to {high:g}")
    return answer


def read_text(answer: Any, question: Question, example: Example) -> str:
    """A text that is not blank; a sheet may have made a number of it."""
    text = str(answer).strip() if isinstance(answer, str | int | float) else ""
    if not text:
        raise ValueError("no text")
    return text


def read_texts(answer: Any, question: Question, example: Example) -> list[str]:
    """As many texts as were asked for: a list, or a line each."""
    parts = answer if isinstance(answer, list) else str(answer).split("\n")
    texts = [read_text(part, question, example) for part in parts if str(part).strip()]
    if len(texts) != question.texts:
        raise ValueError(f"{len(texts)} texts instead of {question.texts}")
    return texts


def read_free_text(answer: Any, question: Question, example: Example) -> str | list[str]:
    """One text, or as many as were asked for: the setting of the form says which."""
    if isinstance(answer, list) or question.texts > 1:
        return read_texts(answer, question, example)
    return read_text(answer, question, example)


def read_question(answer: Any, question: Question, example: Example) -> dict[str, str]:
    """A question and its answer: an object, or two lines."""
    lines = str(answer).split("\n") if isinstance(answer, str) else []
    given = dict(zip(("question", "answer"), lines, strict=False)) if lines else answer
    if not isinstance(given, dict) or not {"question", "answer"} <= given.keys():
        raise ValueError("not a question with an answer")
    return {name: read_text(given[name], question, example) for name in ("question", "answer")}


def read_questions(answer: Any, question: Question, example: Example) -> list[dict[str, str]]:
    """Several questions with answers: a list, or blocks of two lines."""
    parts = answer if isinstance(answer, list) else [answer]
    if isinstance(answer, str):
        lines = [line for line in answer.split("\n") if line.strip()]
        parts = ["\n".join(lines[place : place + 2]) for place in range(0, len(lines), 2)]
    questions = [read_question(part, question, example) for part in parts]
    if len(questions) != question.texts:
        raise ValueError(f"{len(questions)} questions instead of {question.texts}")
    return questions


def read_typed_questions(answer: Any, question: Question, example: Example) -> list[dict[str, Any]]:
    """A question of each type that the item asks for, in order: a list, or blocks of two lines.

    The place of an answer stays where it is given.
    """
    parts = answer if isinstance(answer, list) else [answer]
    if isinstance(answer, str):
        lines = [line for line in answer.split("\n") if line.strip()]
        parts = ["\n".join(lines[place : place + 2]) for place in range(0, len(lines), 2)]
    own = [part.get("type", "") if isinstance(part, dict) else "" for part in parts]
    types = example.inputs.get("types") or own
    if len(parts) != len(types) or not types:
        raise ValueError(f"{len(parts)} questions instead of {len(types)}")
    made = []
    for kind, part in zip(types, parts, strict=True):
        row: dict[str, Any] = {"type": kind, **read_question(part, question, example)}
        given = part if isinstance(part, dict) else {}
        if given.get("type", kind) != kind:
            raise ValueError(f"a question of the type {given['type']!r} instead of {kind!r}")
        if type(given.get("start")) is int:
            text = str(given["answer"])  # its blanks are cut off, so it starts later
            row["start"] = given["start"] + len(text) - len(text.lstrip())
        made.append(row)
    return made


def read_marked_answer(answer: Any, question: Question, example: Example) -> dict[str, Any]:
    """An answer that is marked in the passage: `{text, start}`, JSON, a text of the passage (its first occurrence), or
    `no-answer`.
    """
    context = str(example.inputs.get("context", ""))
    if isinstance(answer, str) and answer.lstrip().startswith("{") and answer not in context:
        answer = _parse_json(answer)
    if isinstance(answer, str | int | float) and not isinstance(answer, bool):
        text = str(answer).strip()
        given = dict(NO_ANSWER) if text == "no-answer" else {"text": text, "start": -1}
        if text and given["text"]:
            given["start"] = context.find(text)
    else:
        given = answer
    if given == NO_ANSWER and not (isinstance(answer, str) and not answer.strip()):
        return dict(NO_ANSWER)
    place = find_place(given)
    if place is None or context[place[0] : place[1]] != given["text"]:
        raise ValueError(f"{answer!r} is not in the passage, nor no-answer")
    return {"text": given["text"], "start": place[0]}


def read_choice(answer: Any, question: Question, example: Example) -> int:
    """The place of a choice, counted from 0; its text will do."""
    choices = example.inputs.get("choices", ())
    if isinstance(answer, str) and answer in choices:
        return int(choices.index(answer))
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(choices):
        raise ValueError(f"{answer!r} is not one of the {len(choices)} choices, counted from 0")
    return answer


def read_spans(answer: Any, question: Question, example: Example) -> list[dict[str, Any]]:
    """Spans of the text that do not overlap: a list, JSON, or the text with `<span:LABEL>` in it."""
    text, labels = str(example.inputs.get("text", "")), question.ask.labels
    answer = parse_marked(answer, text, labels) if isinstance(answer, str) else answer
    for span in answer if isinstance(answer, list) else [answer]:
        place = span if isinstance(span, dict) else {}
        start, end, label = (place.get(name) for name in ("start", "end", "label"))
        if type(start) is not int or type(end) is not int:  # True is an int, too
            start = end = -1
        if not 0 <= start < end <= len(text) or label not in labels:
            raise ValueError(f"{span!r} is not a span of the text with one of {', '.join(labels)}")
    for one, other in pairwise(sorted(answer, key=lambda span: (span["start"], span["end"]))):
        if one["end"] > other["start"]:
            first, second = (f"{text[s['start'] : s['end']]} ({s['label']})" for s in (one, other))
            raise ValueError(f"{first} and {second} overlap")
    return list(answer)


def parse_marked(answer: str, text: str, labels: Sequence[str]) -> Any:
    """The spans of a sheet's cell: JSON, or the text itself with `<span:LABEL>` where a span is."""
    if answer.lstrip().startswith("["):
        try:
            return msgspec.json.decode(answer)
        except msgspec.DecodeError:
            pass  # a text may begin with a bracket of its own
    spans, plain, end = [], "", 0
    for match in re.finditer(rf"<([^<>]+):({'|'.join(map(re.escape, labels))})>", answer):
        plain += answer[end : match.start()]
        spans.append({"start": len(plain), "end": len(plain) + len(match[1]), "label": match[2]})
        plain, end = plain + match[1], match.end()
    if plain + answer[end:] != text:
        raise ValueError(f"{answer!r} without its marks is not the text")
    return spans


def read_dialogue(answer: Any, question: Question, example: Example) -> dict[str, Any]:
    """A dialogue with how it came about: an object, or JSON."""
    given = _parse_json(answer)
    turns = given.get("turns") if isinstance(given, dict) else None
    if not is_list(turns):
        raise ValueError("not a dialogue: {how, turns}")
    for turn in turns:
        named = isinstance(turn, dict) and turn.get("role") in ("user", "sys")
        if not named or not isinstance(turn.get("text"), str):
            raise ValueError(f"{turn!r} is not a turn: {{role, text, state}}")
        if turn["role"] == "user" and not is_text_list(turn.get("state")):
            raise ValueError(f"the turn {turn['text']!r} of the user has no state")
    return dict(given)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def read_states(answer: Any, question: Question, example: Example) -> list[list[str]]:
    """The state after each turn of the user: a list of lists, or JSON."""
    given = _parse_json(answer)
    users = [turn for turn in example.inputs.get("turns", ()) if turn["role"] == "user"]
    if not is_list(given) or len(given) != len(users) or not all(map(is_text_list, given)):
        raise ValueError(
            f"not {len(users)} lists of domain-slot-value, one for each turn of the user"
        )
    return given


def is_text_list(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _parse_json(answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    try:
        return msgspec.json.decode(answer)
    except msgspec.DecodeError as problem:
        raise ValueError(f"not JSON: {problem}") from None


def read_tree(answer: Any, question: Question, example: Example) -> dict[str, Any]:
    """A tree over the words: `{heads, labels}`, JSON, or `head:LABEL` for each word with blanks between."""
    size, labels = len(example.inputs.get("words", ())), question.ask.labels
    tree = parse_arcs(answer) if isinstance(answer, str) else answer
    if not isinstance(tree, dict) or tree.keys() != {"heads", "labels"}:
        raise ValueError("not a tree of heads and labels")
    if not all(isinstance(tree[part], list) for part in tree):
        raise ValueError("heads and labels are lists")
    if fault := find_tree_fault(tree["heads"], size):
        raise ValueError(fault)
    if len(tree["labels"]) != size:
        raise ValueError(f"{len(tree['labels'])} labels for {size} words")
    for label in tree["labels"]:
        if label not in labels:
            raise ValueError(f"{label!r} is not one of {', '.join(labels)}")
    root = question.root_label
    if root and [head == 0 for head in tree["heads"]] != [one == root for one in tree["labels"]]:
        raise ValueError(f"the root, and no other word, has the relation {root}")
    return tree


def parse_arcs(answer: str) -> Any:
    """The tree of a sheet's cell: JSON, or the arcs of the words in order."""
    if answer.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(answer)
        except msgspec.DecodeError:
            raise ValueError(f"{answer!r} is not JSON") from None
    heads, labels = [], []
    for arc in answer.split():
        head, colon, label = arc.partition(":")
        if not colon or not (head.isascii() and head.isdigit()):
            raise ValueError(f"{arc!r} is not head:LABEL")
        heads.append(int(head))
        labels.append(label)
    return {"heads": heads, "labels": labels}


def read_side(answer: Any, question: Question, example: Example) -> str:
    """Which of two texts is better: `a`, `b` or `tie`."""
    text = str(answer).strip().lower()
    if text not in ("a", "b", "tie"):
        raise ValueError(f"{answer!r} is not a, b or tie")
    return text


def read_letter(answer: Any, question: Question, example: Example) -> str:
    """The letter of a choice, from A; its text will do."""
    choices = list(example.inputs.get("choices", ()))
    if answer in choices:
        return ascii_uppercase[choices.index(answer)]
    letter = str(answer).strip().upper()
    if len(letter) != 1 or letter not in ascii_uppercase[: len(choices)]:
        raise ValueError(f"{answer!r} is not one of {', '.join(ascii_uppercase[: len(choices)])}")
    return letter


ANSWER_READERS = {
    form.name: form
    for form in (
        AnswerReader("choice", read_label, votes=True),
        AnswerReader("inference", read_label, votes=True),
        AnswerReader("relation", read_label, votes=True),
        AnswerReader("ranked", read_ranking, votes=True),
        AnswerReader("multiple-selection", read_label_set),
        AnswerReader("scale", read_number, votes=True),
        AnswerReader("multiple-choice", read_choice, votes=True),
        AnswerReader("write-hypotheses", read_texts),
        AnswerReader("write-contradictions", read_texts),
        AnswerReader("write-question", read_questions),
        AnswerReader("further-answers", read_text),
        AnswerReader("reading", read_typed_questions),
        AnswerReader("reading-answers", read_marked_answer),
        AnswerReader("concept-question", read_text),
        AnswerReader("translation", read_text),
        AnswerReader("free-text", read_free_text),
        AnswerReader("distractors", read_texts),
        AnswerReader("span-tagging", read_spans),
        AnswerReader("dialogue", read_dialogue),
        AnswerReader("dialogue-states", read_states),
        AnswerReader("tree", read_tree),
        AnswerReader("acceptability", read_label, votes=True),
        AnswerReader("preference", read_side, votes=True),
        AnswerReader("best-worst", read_letter, votes=True),
    )
}
"""The forms by name, as the annotation pages call them."""


def read_answer(answer: Any, question: Question, example: Example) -> Any:
    """An answer in the one shape of its form, or the word that hands the item back.

    Raises:
        ValueError: it does not fit the form; the message says what is wrong with it.
    """
    if isinstance(answer, str) and answer.strip() in question.ask.reports:
        return answer.strip()
    return ANSWER_READERS[question.ask.form].read(answer, question, example)


def to_vote(answer: Any, ask: Ask) -> Any:
    """What an answer counts for where agreement is measured: of ranked labels the first; None for a
    report.
    """
    if isinstance(answer, str) and answer in ask.reports:
        return None
    return answer[0] if ask.form == "ranked" else answer
