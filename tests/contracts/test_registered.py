"""Walks everything registered, whatever it is: a new dataset is held to this without a line here."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from nikawa.datasets import Benchmark, benchmarks, load, suites, tasks
from nikawa.datasets.locate import files_here
from nikawa.io.records import read_examples, write_records
from nikawa.records import Dataset, Example, Span, Task

NAMES = list(benchmarks())
TASKS = list(tasks())
EMBEDDED = [name for name in NAMES if not benchmarks()[name].repository]

NEEDED = {
    "text": ({"text"}, {"label"}),
    "inference": ({"premise", "hypothesis"}, {"label"}),
    "similarity": ({"sentence1", "sentence2"}, {"score", "relatedness"}),
    "choice": ({"question", "choices"}, {"choice"}),
    "reading": ({"title", "context", "question"}, {"answers"}),
    "tagging": ({"text"}, {"spans"}),
    "relation": ({"text", "subject", "object"}, {"relation"}),
    "tree": ({"text", "words"}, {"tree"}),
    "dialogue": ({"turns"}, {"state"}),
}
"""Inputs and questions by kind of task; pairs may be called premise and hypothesis everywhere."""


@pytest.mark.parametrize("name", NAMES)
def test_card_is_complete(name: str) -> None:
    card = benchmarks()[name].card
    for field in card.__struct_fields__:
        value = getattr(card, field)
        assert field in ("problems", "label_sets") or value, f"{name}: {field} is empty"
    assert card.name == name
    assert card.languages[0] == benchmarks()[name].language
    assert card.homepage.startswith("https://") or not benchmarks()[name].repository
    assert re.fullmatch(r"[\w.]+", card.version)


@pytest.mark.parametrize("name", NAMES)
def test_names_follow_the_rule(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9-]*", name)
    splits = [source.split for source in benchmarks()[name].sources]
    assert len(set(splits)) == len(splits)
    assert benchmarks()[name].tasks


@pytest.mark.parametrize("name", TASKS)
def test_task_is_well_formed(name: str) -> None:
    task = tasks()[name]
    inputs, questions = NEEDED[task.kind]
    assert task.metrics
    assert task.dataset in benchmarks()
    assert set(task.inputs) == inputs or (
        task.kind == "similarity" and set(task.inputs) == {"premise", "hypothesis"}
    )
    assert task.question in questions
    assert len(set(task.labels)) == len(task.labels)
    assert (task.scale is not None) == (task.kind == "similarity")
    if task.kind in ("text", "inference", "relation"):
        assert task.labels


def test_suites_hold_registered_datasets() -> None:
    for datasets in suites().values():
        assert set(datasets) <= set(NAMES)


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_examples(name: str, tmp_path: Path) -> None:
    hold(benchmarks()[name], load(name), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in EMBEDDED])
def test_published_examples(name: str, shared_data: Path, tmp_path: Path) -> None:
    if not files_here(benchmarks()[name], shared_data):
        pytest.skip(f"no file of {name} here")
    hold(benchmarks()[name], load(name, data=shared_data), tmp_path)


def hold(benchmark: Benchmark, dataset: Dataset, tmp_path: Path) -> None:
    """The contract of a loaded dataset."""
    for split, examples in dataset.splits.items():
        assert examples
        assert len({e.id for e in examples}) == len(examples)
        for example in examples:
            fits(benchmark, example)
        path = tmp_path / f"{split}.jsonl"
        write_records(path, examples)
        assert tuple(read_examples(path)) == examples


def fits(benchmark: Benchmark, example: Example) -> None:
    """Every example answers to at least one task, and its gold lies within the task's labels."""
    asked = [task for task in benchmark.tasks if task.asks(example)]
    assert asked or not example.gold, example
    for task in asked:
        if example.gold:
            assert within(task, example.gold[task.question], example), (task.name, example)


def within(task: Task, gold: object, example: Example) -> bool:
    """Whether a gold answer has the shape of its kind and lies in the label set or the scale."""
    match task.kind:
        case "text" | "inference" | "relation":
            return gold in task.labels
        case "similarity":
            assert task.scale is not None
            return isinstance(gold, float) and task.scale[0] <= gold <= task.scale[1]
        case "choice":
            return isinstance(gold, int) and 0 <= gold < len(example.inputs["choices"])
        case "reading":
            answers = msgspec.convert(gold, list[dict[str, str | int]])
            return all(set(answer) == {"text", "start"} for answer in answers)
        case "tagging":
            spans = (
                [span for span in gold if isinstance(span, Span)] if isinstance(gold, list) else []
            )
            inside = all(0 <= s.start < s.end <= len(example.inputs["text"]) for s in spans)
            return (
                isinstance(gold, list)
                and len(spans) == len(gold)
                and inside
                and {s.label for s in spans} <= set(task.labels)
            )
        case "tree":
            assert isinstance(gold, dict)
            n = len(example.inputs["words"])
            return len(gold["heads"]) == len(gold["labels"]) == n and set(gold["labels"]) <= set(
                task.labels
            )
        case "dialogue":
            return isinstance(gold, list) and all(
                isinstance(s, str) and s.count("-") >= 2 for s in gold
            )
