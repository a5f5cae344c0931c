"""The copy of the reader and the metrics in an exported file, against the originals.

An exported task must give the official number where Nikawa is not installed. Every combination of kind and metrics that a dataset
or a custom folder has is copied and run on the golden cases, on judged replies and on random answers.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import cache
from math import isnan
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.io.answers.test_judged_replies import JUDGED
from tests.metrics.conftest import shared_golden as shared_golden  # noqa: PLC0414  (a fixture)

from nikawa.datasets.custom import KOREAN_READING_METRICS, RELATION_METRICS, USUAL_METRICS
from nikawa.datasets.names import tasks
from nikawa.errors import BadInput
from nikawa.exchange.base import TaskExport, write_module
from nikawa.exchange.scoring import READERS, load_scorer
from nikawa.io.answers.reader import make_reader
from nikawa.io.answers.readings import Offer
from nikawa.io.cards import blank_card
from nikawa.metrics import metrics
from nikawa.metrics.base import Items
from nikawa.records import Example, Span, Tagged, Task

TEXT = "千代は 霧浜に行き、千代と会った。"
WORDS = ["千代は", "霧浜に", "行き、", "会った。"]
INPUTS: dict[str, Any] = {
    "text": TEXT,
    "words": [{"form": word} for word in WORDS],
    "choices": ["鐘", "綱", "帆", "魚"],
    "context": "霧浜灯台は北の岬にある。塔は白い。「鐘」が鳴る。",
}
LABELS = {
    "text": ("positive", "negative", "other"),
    "inference": ("entailment", "contradiction", "neutral"),
    "relation": ("no_relation", "per:title", "org:product"),
    "tagging": ("PS", "LC", "OG"),
    "tree": tuple(f"L{i}" for i in range(18)),
}


def list_combinations() -> list[tuple[str, tuple[str, ...]]]:
    """Every kind with its metrics, of registered tasks and of custom ones."""
    pairs = {(task.kind, task.metrics): None for task in tasks().values()}
    pairs |= dict.fromkeys(USUAL_METRICS.items())
    pairs |= {("reading", KOREAN_READING_METRICS): None, ("relation", RELATION_METRICS): None}
    return sorted(pairs)


COMBINATIONS = list_combinations()


def make_task(kind: str, names: tuple[str, ...]) -> Task:
    return Task(
        name=f"t-{kind}",
        dataset="d",
        kind=kind,  # type: ignore[arg-type]  # a kind of the registry
        question="q",
        inputs=("text",),
        labels=LABELS.get(kind, ()),
        metrics=names,
        scale=(0.0, 5.0) if kind == "similarity" else None,
    )


def offer_of(task: Task) -> dict[str, Any]:
    """What a prompt of the kind offers."""
    if task.kind in ("text", "inference"):
        words = {"entailment": "含意", "contradiction": "矛盾", "neutral": "中立"}
        return {"keys": list("ABC"), "words": {x: words.get(x, x) for x in task.labels}}
    offers: dict[str, dict[str, Any]] = {
        "relation": {"keys": list(task.labels), "words": {x: x for x in task.labels}},
        "choice": {"keys": list("ABCDEFGH")},
        "similarity": {"scale": [0.0, 5.0]},
        "reading": {"no_answer": "答えなし"},
        "dialogue": {"slots": ["宿-地域", "宿-人数"]},
    }
    return offers.get(task.kind, {})


@cache
def load_copy(kind: str, names: tuple[str, ...]) -> tuple[Task, ModuleType]:
    """An exported file as a tool runs it, which has no dataset here."""
    task = make_task(kind, names)
    export = TaskExport(
        name=f"copy_{kind}_{len(sys.modules)}",
        task=task,
        title="d",
        version="1",
        card=blank_card("d", "ja"),
        language="ja",
        prompt="p",
        system="",
        shots=(),
        seed=0,
        splits={},
        offer=offer_of(task),
        max_tokens=1,
    )
    source = write_module(export, "no tool", "TITLE = 'it''s'")
    module = ModuleType(export.name)
    module.__file__ = "copy.py"
    exec(compile(source, "copy.py", "exec"), module.__dict__)
    return task, module


def random_value(task: Task, rng: random.Random) -> Any:
    """A gold value or an answer of the kind."""
    if task.kind in ("text", "inference", "relation"):
        return rng.choice(task.labels)
    if task.kind == "choice":
        return rng.randrange(4)
    if task.kind == "similarity":
        return round(rng.uniform(0, 5), rng.choice([1, 3]))
    if task.kind == "tagging":
        starts = sorted(rng.sample(range(0, len(TEXT) - 2, 3), rng.randrange(4)))
        return [Span(at, at + rng.randint(1, 3), rng.choice(task.labels)) for at in starts]
    if task.kind == "tree":
        heads = [rng.randrange(5) for _ in WORDS]
        return {"heads": heads, "labels": [rng.choice(task.labels) for _ in WORDS]}
    if task.kind == "dialogue":
        return [f"宿-地域-{rng.choice('東西南北')}" for _ in range(rng.randrange(3))]
    return rng.choice(
        ["北の岬", "白い", "鐘。", "", "北  の岬", "《白》", "A" * 210 + "岬", "the 鐘"]
    )


def random_items(task: Task, rng: random.Random, size: int) -> Items:
    gold = [random_value(task, rng) for _ in range(size)]
    if task.kind == "reading":
        gold = [
            [{"text": text, "start": 0}, {"text": "鐘", "start": 0}][: rng.randrange(3)]
            for text in gold
        ]
    answers = [None if rng.random() < 0.1 else random_value(task, rng) for _ in range(size)]
    scores = [{label: rng.random() for label in task.labels} for _ in range(size)]
    return Items(gold, answers, [INPUTS] * size, task.labels, scores)


def same(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, float) and isnan(one) and isnan(other))


def value_of(evaluate: Callable[..., Any], items: Items, refusal: type[Exception]) -> Any:
    try:
        return evaluate(items, "official").value
    except refusal:
        return "refused"


def in_copy(module: ModuleType, items: Items) -> Any:
    """The items with the classes of the copy."""

    def convert(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], Span):
            return [module.Span(one.start, one.end, one.label) for one in value]
        return value

    return module.Items(
        [convert(value) for value in items.gold],
        [convert(value) for value in items.answers],
        items.inputs,
        items.labels,
        items.scores,
    )


@pytest.mark.parametrize(("kind", "names"), COMBINATIONS)
def test_metrics_of_random_answers(kind: str, names: tuple[str, ...]) -> None:
    task, module = load_copy(kind, names)
    copied = module.copied_scorer()
    rng = random.Random(f"{kind} {names}")
    for size in (1, 2, 3, 8, 60):
        for _ in range(4):
            items = random_items(task, rng, size)
            for name in names:
                official = value_of(metrics()[name].evaluate, items, BadInput)
                copy = value_of(copied.evaluate[name], in_copy(module, items), module.BadInput)
                assert same(official, copy), (name, size)


MIXED = [
    *(text for rows in JUDGED.values() for text, _ in rows),
    *(
        "A",
        " b.",
        "Ｃ",
        "「B」",
        "D",
        "3.5",
        "9.9",
        "答えなし",
        "『白い』\nです",
        "per:title",
        "NaN",
        "",
    ),
    '{"entities": [{"text": "千代", "occurrence": 2, "label": "ps"}]}',
    '{"entities": [{"text": "いない", "label": "PS"}]}',
    '結果\n```json\n{"entities": [{"text": "霧浜", "label": "LC"}]}\n```',
    '{"entities": [NaN]}',
    " ".join(["B-PS", "I-PS", *["O"] * (len(TEXT) - 2)]),
    json.dumps({"words": [{"index": i + 1, "head": 0, "label": f"L{i}"} for i in range(4)]}),
    '{"heads": [0, 1, 1, 1], "labels": ["L1", "L2", "L3", "L17"]}',
    '{"state": [{"slot": "宿-地域", "value": "海辺"}, {"slot": "宿-人数", "value": "none"}]}',
    '{"state": [{"slot": "宿-色", "value": "赤"}]}',
    "お答えできません。",
]


@pytest.mark.parametrize("kind", sorted(READERS))
def test_replies_are_read_the_same(kind: str) -> None:
    """By the copy, by the scorer of an installed Nikawa and by the reader of logs."""
    names = next(names for one, names in COMBINATIONS if one == kind)
    task, module = load_copy(kind, names)
    copied, installed = module.copied_scorer(), load_scorer(module.ABOUT)
    offer = offer_of(task)
    scale = offer.get("scale")
    reader = make_reader(
        task,
        offer=Offer(
            keys=tuple(offer.get("keys", ())),
            words=offer.get("words", {}),
            scale=(scale[0], scale[1]) if scale else None,
            no_answer=offer.get("no_answer", ""),
            slots=tuple(offer.get("slots", ())),
        ),
    )
    row = {"id": "1", **INPUTS, "gold": None}
    was_read = 0
    for text in MIXED:
        one, other = copied.judge(row, text), installed.judge(row, text)
        assert (one["answer"], one.get("tags")) == (other["answer"], other.get("tags")), text
        assert (one["why"] is None) == (other["why"] is None), text
        answer = reader(text, Example(id="1", inputs=INPUTS)).answer
        tags = list(answer.tags) if isinstance(answer, Tagged) else None
        assert other.get("tags") == tags, text
        plain = json.loads(json.dumps(one["answer"]))
        if kind == "tagging" and answer is not None:
            answer = [{"start": x.start, "end": x.end, "label": x.label} for x in answer]
        assert plain == answer, text
        was_read += answer is not None
    assert was_read, "the replies say nothing about this kind"


def test_golden_cases(shared_golden: Path) -> None:
    """The golden cases that name gold and answers, under every metric of their kind."""
    groups = json.loads((shared_golden / "metrics.json").read_text())["metrics"]
    count = 0
    for kind, names in COMBINATIONS:
        _, module = load_copy(kind, names)
        copied = module.copied_scorer()
        for case in (case for group in groups.values() for case in group["cases"]):
            items = golden_items(kind, case["input"])
            if items is None:
                continue
            for name in names:
                if metrics()[name].needs_scores or metrics()[name].needs_inputs:
                    continue
                official = value_of(metrics()[name].evaluate, items, BadInput)
                copy = value_of(copied.evaluate[name], in_copy(module, items), module.BadInput)
                assert same(official, copy), (name, case["id"])
                count += 1
    assert count > 100


def golden_items(kind: str, case: Any) -> Items | None:
    """The items of a golden case that fits the kind."""
    if isinstance(case, dict) and isinstance(case.get("gold"), list) and "pred" in case:
        values = [*case["gold"], *case["pred"]]
        is_number = values and all(isinstance(value, int | float) for value in values)
        if is_number and kind in ("text", "inference", "choice", "relation", "similarity"):
            return Items(case["gold"], case["pred"])
    if isinstance(case, list) and case and isinstance(case[0], dict):
        if kind == "reading" and "answers" in case[0]:
            return Items([row["answers"] for row in case], [row["prediction"] for row in case])
        if kind == "dialogue" and "gold" in case[0]:
            return Items([row["gold"] for row in case], [row["pred"] for row in case])
    return None
