"""Who works well, and how well people do the task: the two reports on workers behind `nikawa aggregate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from nikawa.aggregation.agree_spans import text_of
from nikawa.aggregation.job import Options, opened, read_rules
from nikawa.aggregation.judgements import load_examples, table_of
from nikawa.aggregation.known_answers import known_answers
from nikawa.datasets import benchmarks, load, tasks
from nikawa.datasets.load import named
from nikawa.errors import BadInput
from nikawa.records import Record, Score, Task

if TYPE_CHECKING:
    from nikawa.aggregation.human import LeftOut
    from nikawa.metrics import Items

GROUPED = ("inference", "similarity", "dialogue")
"""Kinds whose items share a premise or a dialogue: there the group is the unit of resampling."""


class WorkersReport(Record, frozen=True, kw_only=True):
    """Every worker's figures, the pilot test, and what exclusions would change."""

    judgements: str
    question: str
    workers: tuple[Any, ...]
    trials: tuple[Any, ...] = ()
    """Where there are known answers and a pass mark."""
    excluded: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Held:
    """Answers held against the rest's, under a task."""

    task: Task
    left: LeftOut
    inputs: Sequence[Mapping[str, Any]] = ()

    def items(self, places: Sequence[int]) -> Items:
        """Some of them, as metrics take them."""
        from nikawa.metrics import Items

        gold, answers = ([side[i] for i in places] for side in (self.left.gold, self.left.answers))
        inputs = [self.inputs[i] for i in places] if self.inputs else ()
        return Items(gold, answers, inputs, self.task.labels)


class HumanReport(Record, frozen=True, kw_only=True):
    """How people score against each other."""

    judgements: str
    question: str
    task: str
    scores: tuple[Score, ...]
    """Over all answers, with ties of the rest drawn by lot (errs low), and over the untied ones (errs high)."""
    by_worker: dict[str, dict[str, float]]
    """Worker to metric to value over the untied answers, where workers are persons."""
    tied: int
    """Answers whose rest is tied."""
    alone: int
    """Items with a single answer."""


def workers(
    spec: str,
    data: Path | None,
    options: Options,
    pass_mark: float | None = None,
) -> WorkersReport:
    """Figures of every worker, who passes a test on known answers, what leaving workers out would change."""
    from nikawa.aggregation.span_agreement import with_marks
    from nikawa.aggregation.verdicts import Ties
    from nikawa.aggregation.workers import Limit, changes, pilot_test, quality, to_exclude

    given = opened(spec, data, options)
    given.judgements = with_marks(given.judgements)
    table = table_of(given, options.question, options.how)
    known = known_answers(options.known, table)
    figures = quality(table, known, workers_are="columns" if options.columns else given.workers_are)
    if pass_mark is not None and not known:
        raise BadInput("a pass mark needs known answers", cure="give them with --known FILE")
    gone = to_exclude(figures, [Limit.parse(limit) for limit in options.exclude])
    rule = next(iter(read_rules(options.rules).values()))
    return WorkersReport(
        judgements=spec,
        question=table.question,
        workers=tuple(figures),
        trials=() if pass_mark is None or not known else tuple(pilot_test(table, known, pass_mark)),
        excluded=tuple(changes(table, gone, rule, Ties.parse(options.ties))),
    )


def human(
    spec: str,
    data: Path | None,
    options: Options,
    task: str | None = None,
    resamples: int | None = None,
) -> HumanReport:
    """Each answer against the gold of the item's other answers, under the task's metrics, with intervals."""
    from nikawa.aggregation.human import combine_for, leave_one_out
    from nikawa.aggregation.span_agreement import spans_in
    from nikawa.stats.resample import SCORE_RESAMPLES

    asked = _task(spec, task, options.question)
    question = options.question or asked.question
    given = opened(spec, data, options)
    rows = [judgement for judgement in given.judgements if judgement.question == question]
    if asked.kind == "tagging":
        rows = [row if row.answer is None else replace(row, answer=spans_in(row)) for row in rows]
    left = leave_one_out(rows, combine_for(asked.kind))
    held = Held(asked, left, _inputs(asked, spec, data, options, left.examples))
    units = _units(asked, spec, data, left.examples)
    persons = not options.columns and given.workers_are != "columns"
    kept = left.untied()
    by_worker: dict[str, list[int]] = {}
    for place in kept if persons else ():
        by_worker.setdefault(left.workers[place], []).append(place)
    everything = range(len(left.gold))
    pools = (
        [("", everything)] if len(kept) == len(left.gold) else [("", everything), ("untied", kept)]
    )
    return HumanReport(
        judgements=spec,
        question=question,
        task=asked.name,
        scores=tuple(
            score
            for where, places in pools
            for score in _scores(held, units, (where, places), resamples or SCORE_RESAMPLES)
        ),
        by_worker={worker: _values(held, places) for worker, places in by_worker.items()},
        tied=sum(left.tied),
        alone=left.alone,
    )


def _task(spec: str, task: str | None, question: str | None) -> Task:
    """The task that is named, else the one of the dataset that asks the question."""
    if task is not None:
        return tasks()[task]
    published = named(spec)
    if published is None:
        raise BadInput(
            "which task are the answers to?", cure="name one that is scored alike: --task jnli"
        )
    own = [
        t for t in benchmarks()[published.benchmark.name].tasks if question in (None, t.question)
    ]
    if not own:
        raise BadInput(f"no task of {spec} asks {question!r}", cure="name a task with --task")
    return own[0]


def _units(task: Task, spec: str, data: Path | None, items: Sequence[str]) -> Sequence[str]:
    """What is resampled: the premise or dialogue an item belongs to where that is known, else the item."""
    if task.kind not in GROUPED or named(spec) is None:
        return items
    dataset = load(spec, data=data)
    groups = {
        f"{dataset.name}:{split}/{example.id}": example.group or example.id
        for split, examples in dataset.splits.items()
        for example in examples
    }
    return [groups.get(item, item) for item in items]


def _inputs(
    task: Task, spec: str, data: Path | None, options: Options, items: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """The texts that tags are placed on; other metrics do not look at them."""
    if task.kind != "tagging":
        return ()
    known = load_examples(spec, options.examples, data) or {}
    lacking = next((item for item in items if item not in known), None)
    if lacking is not None:
        what = f"spans are scored on their texts, and that of {lacking} is not known"
        raise BadInput(what, file=spec, cure="name the examples with --examples FILE")
    return [{**known[item].inputs, "text": text_of(item, known[item])} for item in items]


def _scores(
    held: Held, units: Sequence[str], pool: tuple[str, Sequence[int]], resamples: int
) -> list[Score]:
    """Every metric of the task over some of the answers, with intervals."""
    from nikawa.metrics import metrics
    from nikawa.stats.resample import bootstrap_all, bounds, group_numbers

    (where, places), task = pool, held.task
    if not places:
        return []
    chosen = [metrics()[name] for name in task.metrics]
    found = [metric.evaluate(held.items(places), "official") for metric in chosen]
    groups = group_numbers([units[i] for i in places])
    drawn = bootstrap_all(found, groups, resamples=resamples)
    scores = []
    for metric, evaluation, values in zip(chosen, found, drawn, strict=True):
        scale = 100.0 if metric.scaled and task.unit == "percent" else 1.0
        low, high = bounds(values, groups, scale)
        unit = task.unit if metric.scaled else "fraction"
        value = evaluation.value * scale
        scores.append(
            Score(
                metric=metric.name,
                mode="official",
                value=value,
                unit=unit,
                low=low,
                high=high,
                n=len(places),
                where=where,
            )
        )
    return scores


def _values(held: Held, places: Sequence[int]) -> dict[str, float]:
    """One worker's scores; a metric that needs more answers than there are is left out."""
    from nikawa.metrics import metrics

    found, task = {}, held.task
    for metric in (metrics()[name] for name in task.metrics):
        try:
            value = metric.evaluate(held.items(places), "official").value
        except BadInput:
            continue
        found[metric.name] = value * (100.0 if metric.scaled and task.unit == "percent" else 1.0)
    return found
