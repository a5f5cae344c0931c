"""The examples of a report with gold and answers: in words that fit every kind of task, then packed for the page.

Packed, they are columns instead of rows, each text once, deflated, in characters that a page can contain. A column of small numbers
is a string, one character per number; the script of the page (page.js) unpacks it when the examples are first shown.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nikawa.io.json import encode_json
from nikawa.metrics import metrics
from nikawa.records import Example, Prediction, Span, Task
from nikawa.reporting.systems import ReportRun, SystemRuns, TaskRuns
from nikawa.runs.data import set_name
from nikawa.scoring.score import AnsweredTask, build_items

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""-1 is the first of them, 62 the last."""
FULL_SCORE = 62
"""What a full score is written as."""
MIN_FILTER_VALUES, MAX_FILTER_VALUES = 2, 30
"""A key of meta is a filter where it has so many values."""
FAR_SHARE = 0.25
"""A similarity is worth nothing an item from twice this share of the scale on."""
REPEATED_INPUTS = ("words",)
"""Inputs that repeat another one."""
FIRST_INPUTS = ("question",)
"""Inputs that distinguish examples best."""
USUAL_SCALE = (0.0, 5.0)
"""Of similarities, where a task declares none."""


@dataclass(frozen=True)
class ItemColumns:
    """Examples with gold and answers, by column."""

    texts: Sequence[str]
    words: Sequence[str]
    """Labels, answers, tags and names of sets, once each."""
    ids: Sequence[str]
    inputs: dict[str, Sequence[int]]
    """Input to numbers of texts; -1 where an example has none."""
    gold: Sequence[int]
    """Numbers of words; -1 where hidden."""
    sets: Sequence[int]
    tags: Sequence[tuple[int, ...]]
    parents: Sequence[int]
    """Number of the example it was made from; -1 for none."""
    systems: Sequence[str]
    answers: Sequence[Sequence[Sequence[int]]]
    """By system and seed: numbers of words; -1 where there was no answer."""
    points: Sequence[Sequence[int]]
    """By system: the mean score of the example, 0 to POINTS; -1 without a score."""
    sure: Sequence[Sequence[int]] = ()
    """By system: the mean probability of the answer, 0 to POINTS; -1 where unknown."""
    language: str = "und"
    cut: int = 0
    """Characters beyond which texts are cut; 0: none is."""
    notes: dict[str, str] = field(default_factory=dict)
    """`points` (what a score of an example is) and `kind` (of the task)."""
    folders: Sequence[Sequence[str]] = ()
    """By system and seed: the folder whose `predictions/SET.jsonl` contains the answers, as an address from the page."""

    def __len__(self) -> int:
        return len(self.ids)


class WordNumbers:
    """Words numbered in order of first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word."""
        return self.numbers.setdefault(word, len(self.numbers))

    def words(self) -> tuple[str, ...]:
        """All of them, by number."""
        return tuple(self.numbers)


def pack_column(column: Sequence[int]) -> str | list[int]:
    """A column of small numbers as a string, a character each, -1 first; one with larger numbers as it is.

    Such a string is compressed to a fraction of a list of numbers, and the script of the page reads it as fast.
    """
    if column and (min(column) < -1 or max(column) >= len(ALPHABET) - 1):
        return list(column)
    return "".join([ALPHABET[number + 1] for number in column])


def pack_items(items: ItemColumns) -> str:
    """The examples as text that is safe inside a page."""
    tag_sets = WordNumbers()
    tags = [tag_sets.number(",".join(map(str, numbers))) for numbers in items.tags]
    content = {
        "t": items.texts,
        "w": items.words,
        "id": items.ids,
        "in": [(name, pack_column(column)) for name, column in items.inputs.items()],
        "g": pack_column(items.gold),
        "s": pack_column(items.sets),
        "ts": [[int(n) for n in numbers.split(",") if n] for numbers in tag_sets.words()],
        "tg": pack_column(tags),
        "p": pack_column(items.parents) if any(parent >= 0 for parent in items.parents) else "",
        "sys": items.systems,
        "a": [[pack_column(seed) for seed in seeds] for seeds in items.answers],
        "pt": [pack_column(column) for column in items.points],
        "su": [pack_column(column) for column in items.sure],
        "lang": items.language,
        "cut": items.cut,
        "notes": items.notes,
        "runs": items.folders,
    }
    return b64encode(zlib.compress(encode_json(content), 9)).decode("ascii")


def find_text_limit(lengths: Iterable[int], budget: int) -> int:
    """The greatest length to cut texts at so that together they stay within a budget; 0 where they do anyway.

    >>> find_text_limit([10, 20, 100], 90)
    60
    >>> find_text_limit([10, 20], 90)
    0
    """
    ordered = sorted(lengths)
    left, room = len(ordered), budget
    if sum(ordered) <= budget:
        return 0
    for length in ordered:
        if length * left > room:
            return max(1, room // left)
        room, left = room - length, left - 1
    return 0


def collect_items(task: TaskRuns, language: str, cut: int = 0) -> ItemColumns:
    """All examples of a task's sets, the main one first, with the answers of its systems.

    Texts longer than `cut` characters are cut; 0 cuts none. An example whose label is hidden comes without gold, scores and
    tags.
    """
    texts, words = WordNumbers(), WordNumbers()
    examples: list[Example] = []
    set_of_example: list[str] = []
    for name, members in task.sets.items():
        examples += members
        set_of_example += [name] * len(members)
    order = task.task.inputs

    def rank(name: str) -> tuple[bool, bool, int]:
        place = order.index(name) if name in order else 0
        return name not in FIRST_INPUTS, name not in order, place

    inputs: dict[str, Sequence[int]] = {}
    for name in sorted(_input_names(examples), key=rank):
        column = []
        for example in examples:
            text = input_text(example, name)
            if cut and len(text) > cut:
                text = f"{text[: cut - 1]}…"
            column.append(texts.number(text) if text else -1)
        inputs[name] = column
    gold = []
    for example in examples:
        if shows_gold(task.task, example):
            answer = format_answer(task.task, example, example.gold[task.task.question])
            gold.append(words.number(answer))
        else:
            gold.append(-1)
    return ItemColumns(
        inputs=inputs,
        ids=[example.id for example in examples],
        gold=gold,
        sets=[words.number(name) for name in set_of_example],
        tags=number_tags(words, examples),
        parents=find_parents(task, set_of_example, examples),
        systems=[system.name for system in task.systems],
        answers=[number_answers(words, task, system) for system in task.systems],
        points=[score_examples(task, system) for system in task.systems],
        sure=[average_confidence(task, system) for system in task.systems],
        texts=texts.words(),
        words=words.words(),
        language=language,
        cut=cut,
        notes={"points": describe_wrong_answers(task.task), "kind": task.task.kind},
        folders=[[run.folder for run in system.runs] for system in task.systems],
    )


def text_lengths(task: TaskRuns) -> Iterator[int]:
    """Characters of every distinct text of a task."""
    examples = [example for each in task.sets.values() for example in each]
    for name in _input_names(examples):
        yield from map(len, {input_text(example, name) for example in examples})


def _input_names(examples: Iterable[Example]) -> list[str]:
    names = dict.fromkeys(name for example in examples for name in example.inputs)
    return [name for name in names if name not in REPEATED_INPUTS]


def input_text(example: Example, name: str) -> str:
    """An input in words: choices numbered, turns with who speaks, spans as the text they cover."""
    value = example.inputs.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Span):
        covered = str(example.inputs.get("text", ""))[value.start : value.end]
        return f"{covered} ({value.label})" if value.label else covered
    if name == "choices":
        return "\n".join(f"{i}. {choice}" for i, choice in enumerate(value))
    if name == "turns":
        return "\n".join(f"{turn['role']}: {turn['text']}" for turn in value)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def shows_gold(task: Task, example: Example) -> bool:
    """Whether the gold of an example may be seen: it is there, and not hidden."""
    return task.question in example.gold and not example.hidden


def format_answer(task: Task, example: Example, value: Any) -> str:
    """A gold value or an answer in words, as the kind of the task has it: a choice with its text, spans with theirs."""
    if task.kind == "choice" and isinstance(value, int):
        choices = example.inputs.get("choices", ())
        return f"{value}. {choices[value]}" if 0 <= value < len(choices) else str(value)
    if task.kind == "reading":
        texts = [value] if isinstance(value, str) else [answer["text"] for answer in value]
        return " / ".join(dict.fromkeys(texts)) if any(texts) else "(no answer)"
    if task.kind == "tagging":
        text = str(example.inputs.get("text", ""))
        return " · ".join(f"{text[s.start : s.end]} {s.label}" for s in value) or "(none)"
    if task.kind == "tree":
        words = zip(value["heads"], value["labels"], strict=False)
        return " ".join(f"{head}:{label}" for head, label in words)
    if isinstance(value, list):
        return " · ".join(sorted(map(str, value))) or "(none)"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def number_tags(words: WordNumbers, examples: Sequence[Example]) -> list[tuple[int, ...]]:
    """What each example can be filtered by, as numbers of words: its tags, and the values of `find_filter_keys`."""
    keys = find_filter_keys(examples)
    columns = []
    distinct: dict[tuple[int, ...], tuple[int, ...]] = {}
    for example in examples:
        tags: list[str] = []
        if not example.hidden:  # metadata of an example may reveal its label
            tags += [f"tag={tag}" for tag in sorted(example.tags)]
            values = [(key, example.meta.get(key)) for key in keys]
            tags += [f"{key}={value}" for key, value in values if value is not None]
        numbers = tuple(map(words.number, tags))
        columns.append(distinct.setdefault(numbers, numbers))
    return columns


def find_filter_keys(examples: Iterable[Example]) -> list[str]:
    """Keys of meta that make good filters: those with more than one value, and not too many."""
    values: dict[str, set[str]] = {}
    for example in examples:
        for key, value in example.meta.items():
            if isinstance(value, str | int | bool):
                values.setdefault(key, set()).add(str(value))
    counts = {key: len(each) for key, each in values.items()}
    return sorted(key for key, n in counts.items() if MIN_FILTER_VALUES <= n <= MAX_FILTER_VALUES)


def find_parents(task: TaskRuns, names: Sequence[str], examples: Sequence[Example]) -> list[int]:
    """Where the example that each was made from is, if it was answered too; `names` are the sets of the examples."""
    if not any(example.origin and example.origin.parents for example in examples):
        return [-1] * len(examples)
    home = f"{task.task.dataset}:"
    full_names = {}
    for system in task.systems:
        for name in system.spec.protocol.evaluate:
            reference = name
            if name.startswith(home):
                reference = f"{task.answered.card.name}:{name.removeprefix(home)}"
            full_names[set_name(name, task.task)] = reference
    places = {}
    for i, (name, example) in enumerate(zip(names, examples, strict=True)):
        places[f"{full_names.get(name, name)}/{example.id}"] = i
    parents = []
    for example in examples:
        origin = example.origin
        parents.append(places.get(origin.parents[0], -1) if origin and origin.parents else -1)
    return parents


def _answers_of(task: TaskRuns, run: ReportRun) -> Iterator[tuple[Example, Prediction | None]]:
    """Every example with the answer of a run; None in a set that it did not answer."""
    for name, examples in task.sets.items():
        answers: Sequence[Prediction | None] = run.answers.get(name) or [None] * len(examples)
        yield from zip(examples, answers, strict=True)


def number_answers(words: WordNumbers, task: TaskRuns, system: SystemRuns) -> list[list[int]]:
    """The answers of each run of a system as numbers of words; -1 without an answer."""
    columns = []
    for run in system.runs:
        column = []
        for example, prediction in _answers_of(task, run):
            if prediction is None or prediction.answer is None:
                column.append(-1)
            else:
                column.append(words.number(format_answer(task.task, example, prediction.answer)))
        columns.append(column)
    return columns


def score_examples(task: TaskRuns, system: SystemRuns) -> list[int]:
    """The score of each example, mean over seeds, 0 to FULL_SCORE; -1 where gold is hidden or a seed has no score."""
    points: list[int] = []
    for name, examples in task.sets.items():
        shown = [place for place, each in enumerate(examples) if shows_gold(task.task, each)]
        scores = []
        for run in system.runs:
            answers = run.answers.get(name, ())
            if len(answers) == len(examples):
                if len(shown) == len(examples):
                    detail = score_items(task.task, examples, answers)
                else:
                    scored = [examples[place] for place in shown]
                    detail = score_items(task.task, scored, [answers[place] for place in shown])
                if detail is not None:
                    scores.append(detail)
        of_set = [-1] * len(examples)
        if shown and len(scores) == len(system.runs):
            means = np.rint(FULL_SCORE * np.sum(scores, axis=0) / len(scores)).astype(int).tolist()
            for place, mean in zip(shown, means, strict=True):
                of_set[place] = mean
        points += of_set
    return points


def score_items(
    task: Task, examples: Sequence[Example], answers: Sequence[Prediction]
) -> Sequence[float] | None:
    """One score per example from 0 to 1, under the first metric that has one; closeness for similarities."""
    if len(answers) != len(examples):
        return None

    def pairs() -> Iterator[tuple[Any, Any]]:
        for example, prediction in zip(examples, answers, strict=True):
            yield example.gold.get(task.question), prediction.answer

    if task.kind == "similarity":
        low, high = task.scale or USUAL_SCALE
        far = 2 * FAR_SHARE * (high - low)
        closeness = []
        for gold, answer in pairs():
            distance = far
            if gold is not None and answer is not None:
                distance = abs(float(answer) - float(gold))
            closeness.append(max(0.0, 1.0 - distance / far))
        return closeness
    if task.kind == "tagging":
        return [shared_spans(gold, answer) for gold, answer in pairs()]
    answered = AnsweredTask(task, examples, build_items(task, examples, answers))
    for name in task.metrics:
        detail = answered.evaluate(metrics()[name], "official")[0].detail
        if detail is not None and len(detail) == len(examples):
            scores: list[float] = np.clip(detail, 0.0, 1.0).tolist()
            return scores
    return [float(answer == gold) for gold, answer in pairs()]


def shared_spans(gold: Any, answer: Any) -> float:
    """F1 of the spans of one text; 1 if neither side has a span, 0 without an answer or without gold.

    >>> shared_spans([(0, 2), (3, 5)], [(0, 2)])
    0.6666666666666666
    """
    if gold is None or answer is None:
        return 0.0
    in_gold, in_answer = set(gold), set(answer)
    if not in_gold and not in_answer:
        return 1.0
    return 2 * len(in_gold & in_answer) / (len(in_gold) + len(in_answer))


def describe_wrong_answers(task: Task) -> str:
    """What counts as wrong in the browser."""
    if task.kind == "similarity":
        low, high = task.scale or USUAL_SCALE
        return f"the answer differs from gold by more than {FAR_SHARE * (high - low):g}"
    if task.kind == "tagging":
        return "the F1 of the example's spans is below 0.5"
    if task.kind in ("reading", "tree", "dialogue"):
        return f"the {task.metrics[0]} of the item is below 0.5"
    return "the answers of most seeds differ from gold"


def average_confidence(task: TaskRuns, system: SystemRuns) -> list[int]:
    """The probability of the answer, mean over seeds, 0 to FULL_SCORE; -1 if scores are not probabilities."""
    columns = []
    for run in system.runs:
        answers = _answers_of(task, run)
        columns.append([find_confidence(prediction) for _, prediction in answers])
    means = []
    for row in zip(*columns, strict=True):
        means.append(round(FULL_SCORE * sum(row) / len(row)) if min(row) >= 0 else -1)
    return means


def find_confidence(prediction: Prediction | None) -> float:
    """The probability of an answer; -1 without an answer, or if its scores are not probabilities."""
    if prediction is None:
        return -1.0
    scores, answer = prediction.scores, str(prediction.answer)
    if not scores or answer not in scores:
        return -1.0
    values = scores.values()
    if min(values) < 0 or abs(sum(values) - 1) >= 1e-3:
        return -1.0
    return min(1.0, scores[answer])
