"""A human baseline from the judgements themselves: each answer against the gold that the item's other answers make.

Leaving one answer out needs no identity: it works where workers are columns too, though then there is no figure a
worker. Where the other answers are tied there is no gold to compare it with: without those answers the baseline errs
high, as they are on the hard items; with the tie drawn by lot it errs low, as the gold is then half a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from nikawa.aggregation.job import AggregateOptions
from nikawa.aggregation.judgements import load_examples, open_source
from nikawa.aggregation.spans import read_spans, text_of
from nikawa.datasets import load, tasks
from nikawa.datasets.names import find_benchmark
from nikawa.errors import BadInput, name_faulty_file
from nikawa.metrics import Items, metrics
from nikawa.records import Judgement, Record, Score, Span, Task, reference
from nikawa.scoring.score import GROUPED_KINDS
from nikawa.stats.resample import SCORE_RESAMPLES, bootstrap_all, number_groups, score_interval

Combination = Callable[[Sequence[Any]], Any]
"""The gold of some answers; None where they do not settle on one."""


class HumanReport(Record, frozen=True, kw_only=True):
    """How people score against each other."""

    judgements: str
    question: str
    task: str
    """The task whose metrics are used."""
    scores: tuple[Score, ...]
    """Over all answers, with ties of the rest drawn by lot (errs low), and over the untied ones (errs high)."""
    by_worker: dict[str, dict[str, float]]
    """Worker to metric to value over the untied answers, where workers are persons."""
    tied: int
    """Answers whose rest is tied."""
    alone: int
    """Items with a single answer."""


@dataclass
class HeldOutAnswers:
    """Every answer that could be compared with the others."""

    gold: list[Any] = field(default_factory=list)
    """What the other answers about the item make."""
    answers: list[Any] = field(default_factory=list)
    """The answer that is compared with it."""
    examples: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    tied: list[bool] = field(default_factory=list)
    """Whether the rest was tied, so that its gold was drawn."""
    alone: int = 0
    """Items with a single answer."""

    def untied(self) -> list[int]:
        """The places of the answers whose rest has a gold of its own."""
        return [place for place, tied in enumerate(self.tied) if not tied]


def score_humans(
    spec: str,
    data: Path | None,
    options: AggregateOptions,
    task_name: str | None = None,
    resamples: int = SCORE_RESAMPLES,
) -> HumanReport:
    """Each answer against the gold of the item's other answers, under the task's metrics, with intervals."""
    task = find_task(spec, task_name, options.question)
    question = options.question or task.question
    source = open_source(
        spec, data, options.how, as_published=options.as_published, hidden=options.hidden
    )
    rows = [row for row in source.judgements if row.question == question]
    with name_faulty_file(source.file):
        if task.kind == "tagging":
            rows = [
                row if row.answer is None else msgspec.structs.replace(row, answer=read_spans(row))
                for row in rows
            ]
        held_out = leave_one_out(rows, find_combination(task.kind))
    inputs = find_tagged_texts(task, spec, data, options, held_out.examples)
    units = find_resampling_units(task, spec, data, held_out.examples)

    def items_at(places: Sequence[int]) -> Items:
        return Items(
            gold=[held_out.gold[place] for place in places],
            answers=[held_out.answers[place] for place in places],
            inputs=[inputs[place] for place in places] if inputs else (),
            labels=task.labels,
        )

    everything = range(len(held_out.gold))
    untied = held_out.untied()
    parts: list[tuple[str, Sequence[int]]] = [("", everything)]
    if 0 < len(untied) < len(everything):
        parts.append(("untied", untied))
    scores: list[Score] = []
    for where, places in parts:
        groups = number_groups([units[place] for place in places])
        scores += score_answers(task, items_at(places), groups, where, resamples)
    places_of: dict[str, list[int]] = {}
    if not options.columns and source.workers_are != "columns":
        for place in untied:
            places_of.setdefault(held_out.workers[place], []).append(place)
    return HumanReport(
        judgements=spec,
        question=question,
        task=task.name,
        scores=tuple(scores),
        by_worker={
            worker: score_worker(task, items_at(places)) for worker, places in places_of.items()
        },
        tied=sum(held_out.tied),
        alone=held_out.alone,
    )


def find_task(spec: str, name: str | None, question: str | None) -> Task:
    """The task that is named, else the one of the dataset that asks the question."""
    if name is not None:
        return tasks()[name]
    benchmark = find_benchmark(spec)
    if benchmark is None:
        raise BadInput(
            "the judgements do not name their task",
            cure="pass a task with the same labels and metrics, such as --task jnli",
        )
    for task in benchmark.tasks:
        if question in (None, task.question):
            return task
    raise BadInput(f"no task of {spec} asks {question!r}", cure="pass a task with --task")


def find_resampling_units(
    task: Task, spec: str, data: Path | None, items: Sequence[str]
) -> Sequence[str]:
    """What is resampled: the premise or dialogue an item belongs to where that is known, else the item."""
    if task.kind not in GROUPED_KINDS or find_benchmark(spec) is None:
        return items
    dataset = load(spec, data=data)
    groups = {
        reference(dataset.name, split, example.id): example.group or example.id
        for split, examples in dataset.splits.items()
        for example in examples
    }
    return [groups.get(item, item) for item in items]


def find_tagged_texts(
    task: Task, spec: str, data: Path | None, options: AggregateOptions, items: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """The texts that tags are placed on; other metrics do not look at them."""
    if task.kind != "tagging":
        return ()
    known = load_examples(spec, options.examples, data) or {}
    lacking = next((item for item in items if item not in known), None)
    if lacking is not None:
        what = f"spans are scored on their texts, and the text of {lacking} is not known"
        raise BadInput(what, file=spec, cure="pass the examples with --examples FILE")
    texts = []
    for item in items:
        example = known[item]
        texts.append({**example.inputs, "text": text_of(item, example)})
    return texts


def score_answers(task: Task, items: Items, groups: Any, where: str, resamples: int) -> list[Score]:
    """Every metric of the task over some of the answers, with intervals."""
    chosen = [metrics()[name] for name in task.metrics]
    evaluations = [metric.evaluate(items, "official") for metric in chosen]
    drawn = bootstrap_all(evaluations, groups, resamples=resamples)
    scores = []
    for metric, evaluation, values in zip(chosen, evaluations, drawn, strict=True):
        scale = metric.scale(task)
        low, high = score_interval(values, groups, scale)
        scores.append(
            Score(
                metric=metric.name,
                mode="official",
                value=evaluation.value * scale,
                unit=metric.unit(task),
                low=low,
                high=high,
                n=len(items.gold),
                where=where,
            )
        )
    return scores


def score_worker(task: Task, items: Items) -> dict[str, float]:
    """One worker's scores; a metric that needs more answers than there are is left out."""
    values = {}
    for metric in (metrics()[name] for name in task.metrics):
        try:
            value = metric.evaluate(items, "official").value
        except BadInput:
            continue
        values[metric.name] = value * metric.scale(task)
    return values


def leave_one_out(judgements: Iterable[Judgement], combine: Combination) -> HeldOutAnswers:
    """Hold each answer against the gold of the others about the same item; ties are drawn, and marked."""
    items: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        if judgement.answer is not None:
            items.setdefault(judgement.example, []).append(judgement)
    if not items:
        raise BadInput("there are no judgements", cure="check the question")
    held_out = HeldOutAnswers()
    for example, rows in items.items():
        if len(rows) == 1:
            held_out.alone += 1
            continue
        answers = [row.answer for row in rows]
        for place, row in enumerate(rows):
            rest = [*answers[:place], *answers[place + 1 :]]
            try:
                gold = combine(rest)
            except (TypeError, ValueError):  # of another kind: a list for a label, text for a score
                what = f"the answers about {example!r} are of another kind than the task's"
                raise BadInput(what, cure="check the question and the task") from None
            held_out.tied.append(gold is None)
            held_out.gold.append(draw_leader(rest, f"{example}/{place}") if gold is None else gold)
            held_out.answers.append(row.answer)
            held_out.examples.append(example)
            held_out.workers.append(row.worker)
    if not held_out.gold:
        raise BadInput("no item has two answers", cure="let several workers judge the same items")
    return held_out


def draw_leader(answers: Sequence[Any], key: str) -> Any:
    """One of the answers that share the lead; which, depends on the key alone."""
    counts = Counter(answers)
    most = max(counts.values())
    tied = sorted((answer for answer, count in counts.items() if count == most), key=str)
    return tied[crc32(key.encode()) % len(tied)]


# How answers become gold


def majority_answer(answers: Sequence[Any]) -> Any:
    """The answer most workers gave; None for a tie."""
    (answer, count), *others = Counter(answers).most_common(2)
    is_tied = bool(others) and others[0][1] == count
    return None if is_tied else answer


def mean_answer(answers: Sequence[float]) -> float:
    """The mean."""
    return sum(answers) / len(answers)


def all_texts(answers: Sequence[str]) -> list[dict[str, Any]]:
    """The others' texts, each of them a right answer (as JSQuAD measures people)."""
    return [{"text": answer, "start": 0} for answer in answers if answer]


def elements_of_half(answers: Sequence[Iterable[Any]]) -> list[Any]:
    """Of answers that are sets (spans, states): the elements that at least half of the others gave."""
    votes: Counter[Any] = Counter()
    for answer in answers:
        elements = (Span(**part) if isinstance(part, dict) else part for part in answer)
        votes.update(list(dict.fromkeys(elements)))
    return [element for element, count in votes.items() if count * 2 >= len(answers)]


COMBINATIONS: dict[str, Combination] = {
    "text": majority_answer,
    "inference": majority_answer,
    "choice": majority_answer,
    "relation": majority_answer,
    "similarity": mean_answer,
    "reading": all_texts,
    "tagging": elements_of_half,
    "dialogue": elements_of_half,
}
"""How answers become gold, by kind of task; trees have no such rule here."""


def find_combination(kind: str) -> Combination:
    """The rule of a kind of task."""
    if kind not in COMBINATIONS:
        cure = f"these have: {', '.join(COMBINATIONS)}"
        raise BadInput(f"there is no rule that makes gold of several {kind} answers", cure=cure)
    return COMBINATIONS[kind]
