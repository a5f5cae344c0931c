"""The examples of a report with gold and answers, in words that fit every kind of task."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nikawa.datasets.custom import card_and_language
from nikawa.io.json import encode_json
from nikawa.metrics import metrics
from nikawa.records import Example, Prediction, Span, Task
from nikawa.reporting.systems import SystemRuns, TaskRuns
from nikawa.runs.data import set_name
from nikawa.scoring.score import AnsweredTask

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""-1 is the first of them, 62 the last."""
POINTS = 62
"""What a full score is written as."""


@dataclass(frozen=True)
class Items:
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
    """By system: the mean score of the example, 0 to POINTS; -1 where there is none."""
    sure: Sequence[Sequence[int]] = ()
    """By system: the mean probability of the answer, 0 to POINTS; -1 where unknown."""
    language: str = "und"
    cut: int = 0
    """Characters beyond which texts are cut; 0: none is."""
    notes: dict[str, str] = field(default_factory=dict)
    """`points` (what a score of an example is) and `kind` (of the task)."""
    folders: Sequence[Sequence[str]] = ()
    """By system and seed: the folder whose `predictions/SET.jsonl` holds the answers, as an address from the page."""

    def __len__(self) -> int:
        return len(self.ids)


class Table:
    """Words numbered in order of first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        """The number of a word."""
        return self.numbers.setdefault(word, len(self.numbers))

    def words(self) -> tuple[str, ...]:
        """All of them, by number."""
        return tuple(self.numbers)


def packed(column: Sequence[int]) -> str | list[int]:
    """A string where every number has a character, else the numbers."""
    if all(-1 <= number < len(ALPHABET) - 1 for number in column):
        return "".join(ALPHABET[number + 1] for number in column)
    return list(column)


def block(items: Items) -> str:
    """The examples as text that may stand in a page."""
    sets = Table()
    tags = [sets.number(",".join(map(str, found))) for found in items.tags]
    content = {
        "t": items.texts,
        "w": items.words,
        "id": items.ids,
        "in": [(name, packed(column)) for name, column in items.inputs.items()],
        "g": packed(items.gold),
        "s": packed(items.sets),
        "ts": [[int(n) for n in found.split(",") if n] for found in sets.words()],
        "tg": packed(tags),
        "p": packed(items.parents) if any(parent >= 0 for parent in items.parents) else "",
        "sys": items.systems,
        "a": [[packed(seed) for seed in seeds] for seeds in items.answers],
        "pt": [packed(column) for column in items.points],
        "su": [packed(column) for column in items.sure],
        "lang": items.language,
        "cut": items.cut,
        "notes": items.notes,
        "runs": items.folders,
    }
    return b64encode(zlib.compress(encode_json(content), 9)).decode("ascii")


def cut_at(lengths: Iterable[int], budget: int) -> int:
    """The greatest length to cut texts at so that together they stay within a budget; 0 where they do anyway."""
    ordered = sorted(lengths)
    left, room = len(ordered), budget
    if sum(ordered) <= budget:
        return 0
    for length in ordered:
        if length * left > room:
            return max(1, room // left)
        room, left = room - length, left - 1
    return 0


FEW, MANY = 2, 30
"""A key of meta is a filter where it has so many values."""
HIDDEN = "hidden"
FAR = 0.25
"""A similarity is worth nothing an item from twice this share of the scale on."""
SKIPPED = ("words",)
"""Inputs that repeat another one."""
FIRST = ("question",)
"""Inputs that tell examples apart best."""


def example_items(part: TaskRuns, language: str, cut: int = 0) -> Items:
    """All examples of a task's sets, the main one first."""
    texts, words = Table(), Table()
    pairs = [(name, example) for name, examples in part.sets.items() for example in examples]
    names = [
        name for name in dict.fromkeys(n for _, e in pairs for n in e.inputs) if name not in SKIPPED
    ]
    order = sorted(
        names,
        key=lambda name: (name not in FIRST, name not in part.task.inputs, _place(part, name)),
    )
    keys = _keys(example for _, example in pairs)
    points = [_points(part, system) for system in part.systems]
    return Items(
        inputs={name: [_text_number(texts, e, name, cut) for _, e in pairs] for name in order},
        ids=[example.id for _, example in pairs],
        gold=[_gold_number(words, part.task, example) for _, example in pairs],
        sets=[words.number(name) for name, _ in pairs],
        tags=[_tags(words, example, keys) for _, example in pairs],
        parents=_parents(part, pairs),
        systems=[system.name for system in part.systems],
        answers=[_answers(words, part, system) for system in part.systems],
        points=points,
        sure=[_sure(part, system) for system in part.systems],
        texts=texts.words(),
        words=words.words(),
        language=language,
        cut=cut,
        notes={"points": _meaning(part.task), "kind": part.task.kind},
        folders=[[run.folder for run in system.runs] for system in part.systems],
    )


def _place(part: TaskRuns, name: str) -> int:
    return part.task.inputs.index(name) if name in part.task.inputs else 0


def text_lengths(part: TaskRuns) -> Iterator[int]:
    """Characters of every distinct text of a task."""
    examples = [example for found in part.sets.values() for example in found]
    for name in dict.fromkeys(n for e in examples for n in e.inputs):
        if name not in SKIPPED:
            yield from map(len, {input_text(example, name) for example in examples})


def _text_number(texts: Table, example: Example, name: str, cut: int) -> int:
    text = input_text(example, name)
    if not text:
        return -1
    return texts.number(text if not cut or len(text) <= cut else f"{text[: cut - 1]}…")


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


def _gold_number(words: Table, task: Task, example: Example) -> int:
    return (
        words.number(said(task, example, example.gold[task.question]))
        if shows_gold(task, example)
        else -1
    )


def shows_gold(task: Task, example: Example) -> bool:
    """Whether the gold of an example may be seen: it is there, and not hidden."""
    hidden = example.origin is not None and example.origin.gold == HIDDEN
    return task.question in example.gold and not hidden


def said(task: Task, example: Example, value: Any) -> str:
    """A gold value or an answer in words."""
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
        return " ".join(
            f"{head}:{label}" for head, label in zip(value["heads"], value["labels"], strict=False)
        )
    if isinstance(value, list):
        return " · ".join(sorted(map(str, value))) or "(none)"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _keys(examples: Iterable[Example]) -> list[str]:
    """Keys of meta that make good filters."""
    values: dict[str, set[str]] = {}
    for example in examples:
        for key, value in example.meta.items():
            if isinstance(value, str | int | bool):
                values.setdefault(key, set()).add(str(value))
    return sorted(key for key, found in values.items() if FEW <= len(found) <= MANY)


def _tags(words: Table, example: Example, keys: Sequence[str]) -> tuple[int, ...]:
    if example.origin is not None and example.origin.gold == HIDDEN:
        return ()  # what is said of an example may tell its label
    own = [f"tag={tag}" for tag in sorted(example.tags)]
    meta = [f"{key}={example.meta[key]}" for key in keys if example.meta.get(key) is not None]
    return tuple(words.number(word) for word in (*own, *meta))


def _parents(part: TaskRuns, pairs: Sequence[tuple[str, Example]]) -> list[int]:
    """Where the example that each was made from is, if it was answered too."""
    full = {
        set_name(name, part.task): name for s in part.systems for name in s.spec.protocol.evaluate
    }
    home, called = f"{part.task.dataset}:", f"{card_and_language(part.task.dataset)[0].name}:"
    full = {
        key: called + name.removeprefix(home) if name.startswith(home) else name
        for key, name in full.items()
    }
    places = {f"{full.get(name, name)}/{example.id}": i for i, (name, example) in enumerate(pairs)}
    found = ((e.origin.parents[0] if e.origin and e.origin.parents else "") for _, e in pairs)
    return [places.get(parent, -1) for parent in found]


def _answers(words: Table, part: TaskRuns, system: SystemRuns) -> list[list[int]]:
    return [
        [
            -1 if p.answer is None else words.number(said(part.task, example, p.answer))
            for name, examples in part.sets.items()
            for example, p in _answered(run.answers, name, examples)
        ]
        for run in system.runs
    ]


def _answered(
    answers: Mapping[str, Sequence[Prediction]], name: str, examples: Sequence[Example]
) -> Iterable[tuple[Example, Prediction]]:
    """Examples with their answers; a set that a run did not answer has none."""
    found = answers.get(name) or [Prediction(example=e.id, why="not asked") for e in examples]
    return zip(examples, found, strict=True)


def _points(part: TaskRuns, system: SystemRuns) -> list[int]:
    """The score of each example, mean over seeds, 0 to POINTS; none where gold is hidden."""
    found: list[int] = []
    for name, examples in part.sets.items():
        shown = [shows_gold(part.task, example) for example in examples]
        each = [_detail(part.task, examples, run.answers.get(name, ())) for run in system.runs]
        for i, seen in enumerate(shown):
            values = [detail[i] for detail in each if detail is not None]
            known = seen and values and len(values) == len(each)
            found.append(round(POINTS * sum(values) / len(values)) if known else -1)
    return found


def _detail(
    task: Task, examples: Sequence[Example], answers: Sequence[Prediction]
) -> Sequence[float] | None:
    """A score an example from 0 to 1, under the first metric that has one; closeness for similarities."""
    if len(answers) != len(examples):
        return None
    if task.kind == "similarity":
        low, high = task.scale or (0.0, 5.0)
        return [
            _closeness(example.gold.get(task.question), p.answer, 2 * FAR * (high - low))
            for example, p in zip(examples, answers, strict=True)
        ]
    if task.kind == "tagging":
        return [
            shared_spans(e.gold.get(task.question), p.answer)
            for e, p in zip(examples, answers, strict=True)
        ]
    part = AnsweredTask.pair(task, examples, {p.example: p for p in answers})
    for name in task.metrics:
        detail = part.under(metrics()[name], "official")[0].detail
        if detail is not None and len(detail) == len(examples):
            return [min(1.0, max(0.0, float(value))) for value in detail]
    return [
        float(p.answer == e.gold[task.question]) for e, p in zip(examples, answers, strict=True)
    ]


def _closeness(gold: Any, answer: Any, far: float) -> float:
    if gold is None or answer is None:
        return 0.0
    return max(0.0, 1.0 - abs(float(answer) - float(gold)) / far)


def shared_spans(gold: Any, answer: Any) -> float:
    """F1 of the spans of one text; 1 where there are none and none were found."""
    if gold is None or answer is None:
        return 0.0
    wanted, given = set(gold), set(answer)
    return 2 * len(wanted & given) / (len(wanted) + len(given)) if wanted or given else 1.0


def _meaning(task: Task) -> str:
    """What counts as wrong in the browser."""
    if task.kind == "similarity":
        low, high = task.scale or (0.0, 5.0)
        return f"off by more than {FAR * (high - low):g}"
    if task.kind == "tagging":
        return "F1 of the example's own spans below a half"
    if task.kind in ("reading", "tree", "dialogue"):
        return f"less than half of the item's {task.metrics[0]}"
    return "most seeds answer other than gold"


def _sure(part: TaskRuns, system: SystemRuns) -> list[int]:
    """The probability of the answer, mean over seeds; only where scores are probabilities."""
    columns = [
        [
            _share(p)
            for name, examples in part.sets.items()
            for _, p in _answered(run.answers, name, examples)
        ]
        for run in system.runs
    ]
    return [
        round(POINTS * sum(row) / len(row)) if min(row) >= 0 else -1
        for row in zip(*columns, strict=True)
    ]


def _share(prediction: Prediction) -> float:
    scores = prediction.scores
    if not scores or str(prediction.answer) not in scores:
        return -1.0
    total = sum(scores.values())
    fits = min(scores.values()) >= 0 and abs(total - 1) < 1e-3
    return min(1.0, scores[str(prediction.answer)]) if fits else -1.0
