"""Manage stored runs: list them, compare two, remove some."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.metrics.units import convert_unit
from nikawa.models.chat.ledger import remove_from_ledger
from nikawa.records import Record, Score, Unit
from nikawa.runs.data import task_of
from nikawa.runs.records import DIVERGED
from nikawa.runs.store import DONE, RUN, Busy, StoredRun, open_run, stored_runs
from nikawa.scoring.compare import MIN_COMMON_ITEMS


class ListedRun(Record, frozen=True, kw_only=True):
    """One line of the list of runs."""

    run: str
    task: str = ""
    model: str = ""
    variation: str = ""
    limit: int | msgspec.UnsetType = msgspec.UNSET
    """The first so many items of each set were asked; absent: all of them."""
    seed: int = 0
    stage: str = ""
    state: str
    """done, diverged (done without a score), unfinished, running or broken."""
    problem: str = ""
    set: str = ""
    metric: str = ""
    value: float | None = None
    unit: Unit | msgspec.UnsetType = msgspec.UNSET
    """The unit of `value`, that of the official scorer; absent where it is percent, as it always was."""
    undefined: str | msgspec.UnsetType = msgspec.UNSET
    """The reason for a missing number, if too few answers could be read."""
    protocol: str = ""
    finished: str = ""


class Changed(Record, frozen=True, kw_only=True):
    """Something two runs do not share."""

    what: str
    a: Any
    b: Any


class ScorePair(Record, frozen=True, kw_only=True):
    """A score both runs have."""

    set: str
    where: str
    metric: str
    unit: Unit | msgspec.UnsetType = msgspec.UNSET
    """The official unit of the first run's task, absent where it is percent; the score of the second is converted where its
    task has another."""
    a: float | None
    b: float | None


class AnswerPair(Record, frozen=True, kw_only=True):
    """How many answers to a set differ."""

    set: str
    n: int
    differ: int


class RunDiff(Record, frozen=True, kw_only=True):
    """What two runs do not share."""

    a: str
    b: str
    changed: tuple[Changed, ...]
    scores: tuple[ScorePair, ...]
    answers: tuple[AnswerPair, ...]


def list_runs(out: Path, task: str | None = None, model: str | None = None) -> list[ListedRun]:
    """Every run below a folder, or those of a task or a model."""
    rows = [describe_run(run) for run in stored_runs(out, broken=True)]
    if task is not None:
        rows = [row for row in rows if row.task == task]
    if model is not None:
        rows = [row for row in rows if row.model == model]
    key = attrgetter("task", "model", "variation", "stage", "seed", "run")
    return sorted(rows, key=key)


def find_differences(rows: Sequence[ListedRun], out: Path) -> dict[str, dict[str, Any]]:
    """For each run that looks like others of the list, what tells it from them, such as a setting or
    the digest of a checkpoint.
    """
    looks = attrgetter("task", "model", "variation", "stage", "seed")
    differences = {}
    for _, group in groupby(sorted(rows, key=looks), key=looks):
        alike = [row.run for row in group if row.model and row.state != "broken"]
        if len(alike) < 2:
            continue
        facts = {
            name: dict(_flat("", msgspec.to_builtins(open_run(name, out).spec))) for name in alike
        }
        names = dict.fromkeys(name for each in facts.values() for name in each)
        for run, each in facts.items():
            differences[run] = {
                name: each.get(name, "default")
                for name in names
                if len({repr(other.get(name)) for other in facts.values()}) > 1
            }
    return differences


def describe_run(run: StoredRun) -> ListedRun:
    """A line about a run in whatever state it is; a problem is in the line, never raised."""
    state = "done" if run.done else "unfinished"
    try:
        if not run.done and run.busy():
            state = "running"
        if not run.done and not (run.path / RUN).exists():  # killed before it wrote its definition
            task = run.path.name.partition("--")[0]
            return ListedRun(run=run.path.name, task=task, state=state)
        spec = run.spec
        row = ListedRun(
            run=run.path.name,
            task=spec.task,
            model=spec.model,
            variation=spec.variation.title,
            limit=spec.variation.limit or msgspec.UNSET,
            seed=spec.seed,
            stage=spec.stage,
            state=state,
            protocol=spec.protocol.mark,
        )
        if not run.done:
            return row
        run.check()
        main = run.scores()[0]
        first = main.scores[0]
        scored: dict[str, Any] = {"value": first.value}
        if run.diverged:
            scored = {"state": DIVERGED}
        elif math.isnan(first.value) and main.answered < MIN_COMMON_ITEMS and main.unanswered:
            reasons = ", ".join(f"{count:,} {why}" for why, count in main.unanswered.items())
            answered = f"{main.answered:,} of {main.n:,} items have a readable answer"
            scored["undefined"] = f"{answered} ({reasons})"
        row = msgspec.structs.replace(
            row, set=main.set, metric=first.metric, unit=_name_unit(first.unit), **scored
        )
        try:
            return msgspec.structs.replace(row, finished=run.about().finished)
        except BadInput as problem:  # a run is whole without its circumstances
            return msgspec.structs.replace(row, problem=str(problem))
    except (BadInput, IndexError, OSError) as problem:
        return ListedRun(run=run.path.name, state="broken", problem=str(problem))


def _name_unit(unit: Unit) -> Unit | msgspec.UnsetType:
    """The unit as the records above have it: nothing is added to what percentages looked like before."""
    return msgspec.UNSET if unit == "percent" else unit


def diff_runs(a: str, b: str, out: Path) -> RunDiff:
    """What two runs, named by folder or hash, do not share."""
    one, other = open_run(a, out), open_run(b, out)
    facts, other_facts = _facts(one), _facts(other)
    scores, other_scores = _scores(one), _scores(other)
    changed = []
    for name in dict.fromkeys((*facts, *other_facts)):
        before, after = facts.get(name), other_facts.get(name)
        if before != after:
            changed.append(Changed(what=name, a=before, b=after))
    pairs = []
    for key, score in scores.items():
        if key in other_scores:
            name, where, metric = key
            value = convert_unit(other_scores[key].value, other_scores[key].unit, score.unit)
            pairs.append(
                ScorePair(
                    set=name,
                    where=where,
                    metric=metric,
                    unit=_name_unit(score.unit),
                    a=score.value,
                    b=value,
                )
            )
    return RunDiff(
        a=one.path.name,
        b=other.path.name,
        changed=tuple(changed),
        scores=tuple(pairs),
        answers=tuple(_compare_answers(one, other)),
    )


def _facts(run: StoredRun) -> dict[str, Any]:
    """What defines a run and what it was made with, flat."""
    facts = dict(_flat("", msgspec.to_builtins(run.spec)))
    if run.done:
        about = run.about()
        facts |= {f"package.{name}": version for name, version in about.packages.items()}
        facts |= {"python": about.python, "trained": about.trained}
    return facts


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner)
    elif prefix == "data":
        for part in value:
            yield f"data.{part['name']}", f"{part['version']} {part['digest']}"
    else:
        yield prefix, value


def _scores(run: StoredRun) -> dict[tuple[str, str, str], Score]:
    """The official scores by set, part and metric."""
    if not run.done:
        return {}
    return {
        (part.set, score.where, score.metric): score
        for part in run.scores()
        for score in part.scores
        if score.mode == "official"
    }


def _compare_answers(one: StoredRun, other: StoredRun) -> Iterator[AnswerPair]:
    """For each set that both runs answered, how many answers differ.

    The result is empty if their tasks differ.
    """
    if one.spec.task != other.spec.task:
        return
    task = task_of(one.spec)
    for name in one.sets:
        if name in other.sets:
            a = {p.example: p.answer for p in one.predictions(name, task)}
            b = {p.example: p.answer for p in other.predictions(name, task)}
            both = a.keys() & b.keys()
            differ = sum(a[example] != b[example] for example in both)
            yield AnswerPair(set=name, n=len(both), differ=differ)


def pick_runs(
    names: Iterable[str], out: Path, *, unfinished: bool, task: str | None, model: str | None
) -> list[StoredRun]:
    """The runs of these names; without a name, those that the filters pick.

    Raises BadInput if there is neither a name nor a filter.
    """
    runs = [open_run(name, out) for name in names]
    if runs:
        return runs
    if not (unfinished or task or model):
        cure = "name runs by folder or hash, or pass --unfinished, --task or --model"
        raise BadInput("no run is named", cure=cure)
    rows = list_runs(out, task, model)
    return [StoredRun(out / row.run) for row in rows if not unfinished or row.state == "unfinished"]


def remove_runs(runs: Iterable[StoredRun]) -> None:
    """Remove runs whole: a removal that is cut short leaves an unfinished run, never a finished one
    with gaps.
    """
    for run in runs:
        if run.busy():
            raise Busy(
                "a process is working on this run", file=run.path, cure="wait for it, or stop it"
            )
        (run.path / DONE).unlink(missing_ok=True)
        shutil.rmtree(run.path)
        remove_from_ledger(run.path.parent, [run.path.name.rpartition("--")[2]])
