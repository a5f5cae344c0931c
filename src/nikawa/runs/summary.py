"""The results of runs: the mean and standard deviation over seeds, and the settings a sweep chooses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.metrics import metrics
from nikawa.records import Record, Score, Unit
from nikawa.runs.data import SELECTION_SET
from nikawa.runs.plan import Family, Settings
from nikawa.runs.records import RunSpec, SetScores
from nikawa.runs.store import StoredRun, locate_run, official_scores

DIFFERENCE = "seen - unseen"


class RunCell(Record, frozen=True, kw_only=True):
    """One figure of the table."""

    task: str
    variation: str
    model: str
    settings: dict[str, Any]
    set: str
    where: str
    """A part of the set, such as seen or unseen; empty: all of it."""
    metric: str
    unit: Unit
    mean: float | None
    sd: float | None
    """The sample standard deviation over seeds; None where there is one."""
    low: float | None
    high: float | None
    """The 95% interval over examples, where there is one seed."""
    seeds: tuple[int, ...]
    n: int
    """Items that the figure covers: a correlation leaves out those without an answer."""
    answered: int
    """Items of the whole set with a readable answer, over all seeds."""
    asked: int
    """Of how many: the items of the set, once for each seed."""
    unanswered: int
    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    """The number of missing answers by kind of reason."""
    hidden: int = 0
    """Further items of the set, answered but not scored: their labels are hidden."""
    few: bool = False
    """Whether there is no interval because the figure is based on too few items or
    groups."""
    limit: int | msgspec.UnsetType = msgspec.UNSET
    """The number of items that were answered, from the first; absent: all of them."""
    protocol: str
    """How the sets depart from train, dev and test as published; empty if they do not."""
    runs: tuple[str, ...]
    """The folders it was computed from."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run with its scores."""

    run: RunSpec
    scores: list[SetScores]
    folder: str
    """The name of its folder."""

    @property
    def diverged(self) -> bool:
        """Whether it has no score, as its training diverged."""
        return any(part.diverged for part in self.scores)


ColumnKey = tuple[str, str, str]
"""Set, part of it, metric."""
Columns = dict[ColumnKey, list[tuple[FinishedRun, Score]]]


def read_finished(
    runs: Iterable[RunSpec], out: Path, broken: Collection[str] = ()
) -> list[FinishedRun]:
    """Those of the runs that are done; folders known to be `broken` are left out."""
    finished = []
    for run in runs:
        stored = locate_run(out, run)
        if run.folder not in broken and stored.done:
            finished.append(FinishedRun(run, stored.scores(), stored.path.name))
    return finished


def choose_settings(
    family: Family, out: Path, broken: Collection[str] = ()
) -> tuple[float, Settings] | None:
    """The settings that do best where settings are chosen, by the mean of the task's first metric,
    which comes first.

    Ties go to the first in the order of the grid; None if nothing was run. Settings that diverged with
    a seed are left out: they would diverge again.
    """
    metric = family.task.metrics[0]
    tried: list[SelectionScores] = []
    for settings in family.options:
        finished = read_finished(family.runs(settings, "selection"), out, broken)
        scores = [score for run in finished for score in official_scores(run.scores, SELECTION_SET)]
        values = [score.value for score in scores if score.metric == metric]
        tried.append(SelectionScores(values, any(run.diverged for run in finished)))
    best = find_best_settings(tried, metric)
    if best is None:
        return None
    value, places = best
    return value, family.options[places[0]]


@dataclass(frozen=True)
class SelectionScores:
    """The scores of one combination of settings on the set that chooses settings."""

    values: Sequence[float]
    """One score per seed."""
    diverged: bool
    """Whether a seed diverged."""


def find_best_settings(
    tried: Sequence[SelectionScores], metric: str
) -> tuple[float, list[int]] | None:
    """The best mean over seeds, and the places in `tried` that reach it: `nikawa run` takes the
    first.

    Settings that a seed diverged with are left out, as they would diverge again. A mean that is not
    a number is the worst there is. None where nothing is left.
    """
    sign = -1 if metrics()[metric].better == "lower" else 1
    means: dict[int, float] = {}
    for place, scores in enumerate(tried):
        if scores.values and not scores.diverged:
            mean = sign * fmean(scores.values)
            means[place] = -math.inf if math.isnan(mean) else mean
    if not means:
        return None
    best = max(means.values())
    return sign * best, [place for place, mean in means.items() if mean == best]


def diverged_settings(family: Family, out: Path, broken: Collection[str] = ()) -> list[Settings]:
    """The settings of a choice that a training diverged with."""
    if len(family.options) == 1:
        return []
    diverged = []
    for settings in family.options:
        finished = read_finished(family.runs(settings, "selection"), out, broken)
        if any(run.diverged for run in finished):
            diverged.append(settings)
    return diverged


def summarise(
    family: Family, settings: Settings, out: Path, broken: Collection[str] = ()
) -> list[RunCell]:
    """The figures of a family under its settings: every set, every metric, over the seeds that are
    done.
    """
    columns: Columns = {}
    for run in read_finished(family.runs(settings), out, broken):
        for part in run.scores:
            for score in part.scores:
                if score.mode == "official":
                    key = (part.set, score.where, score.metric)
                    columns.setdefault(key, []).append((run, score))
    cells = [_make_cell(family, settings, key, values) for key, values in columns.items()]
    return [*cells, *_subtract_unseen(cells, columns)]


def _make_cell(
    family: Family,
    settings: Settings,
    key: ColumnKey,
    values: Sequence[tuple[FinishedRun, Score]],
) -> RunCell:
    """One figure from the scores of all seeds, each with its run."""
    name, where, metric = key
    scores = [score for _, score in values]
    single = scores[0] if len(scores) == 1 else None
    mean, sd = mean_and_sd([score.value for score in scores])
    parts = [part for run, _ in values for part in run.scores if part.set == name]
    lost = Counter[str]()
    for part in parts:
        lost.update(part.unanswered)
    return RunCell(
        task=family.task.name,
        variation=family.variation.title,
        model=family.model,
        settings=settings,
        set=name,
        where=where,
        metric=metric,
        unit=scores[0].unit,
        mean=mean,
        sd=sd,
        low=single.low if single else None,
        high=single.high if single else None,
        few=single is not None and mean is not None and single.low is None,
        seeds=tuple(finished.run.seed for finished, _ in values),
        n=scores[0].n,
        answered=sum(part.answered for part in parts),
        asked=sum(part.n for part in parts),
        unanswered=lost.total(),
        reasons=dict(sorted(lost.items())),
        hidden=parts[0].hidden,
        limit=family.variation.limit or msgspec.UNSET,
        protocol=family.protocol.mark,
        runs=tuple(finished.folder for finished, _ in values),
    )


def model_notes(
    family: Family, settings: Settings, out: Path, broken: Collection[str] = ()
) -> list[str]:
    """The notes of a family's models, each once."""
    unique: dict[str, None] = {}
    for run in family.runs(settings):
        stored = locate_run(out, run)
        if run.folder in broken or not stored.done:
            continue
        try:
            notes = stored.about().model.get("notes")
        except BadInput:  # a run is complete without its circumstances
            continue
        if isinstance(notes, list):
            unique |= dict.fromkeys(note for note in notes if isinstance(note, str))
    return list(unique)


class RunUsage(Record, frozen=True, kw_only=True):
    """What prompted models used on a task, including runs that chose settings."""

    task: str
    variation: str
    model: str
    runs: int
    requests: int = 0
    kept: int = 0
    """Replies that came from the shared folder of replies, and cost nothing."""
    retries: int = 0
    """Further tries of requests."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """In the unit of the prices; 0 where none is set."""
    cost_unmetered: float = 0.0
    """The maximum cost of replies without token counts."""
    cost_lost: float = 0.0
    """The maximum cost of tries without a reply: the server may have billed them."""
    seconds_waited: float = 0.0
    lost_shots: int | msgspec.UnsetType = msgspec.UNSET
    """Prompts that did not fit and lost few-shot examples; absent for a server, which refuses them."""
    truncated: int | msgspec.UnsetType = msgspec.UNSET
    """Prompts that did not fit even so, and lost their beginning."""


class UsageCounts(Record, frozen=True, kw_only=True):
    """The counts in a run's `about.json`; an earlier version wrote fewer."""

    requests: int = 0
    kept: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    cost_unmetered: float = 0.0
    cost_lost: float = 0.0
    seconds_waited: float = 0.0
    lost_shots: int | msgspec.UnsetType = msgspec.UNSET
    truncated: int | msgspec.UnsetType = msgspec.UNSET


def read_usage(stored: StoredRun) -> UsageCounts | None:
    """The server usage of a finished run; None if it used no server."""
    try:
        usage = stored.about().model.get("usage")
        if not isinstance(usage, dict):
            return None
        names = UsageCounts.__struct_fields__
        return msgspec.convert({name: usage[name] for name in names if name in usage}, UsageCounts)
    except (BadInput, msgspec.ValidationError):  # a run is complete without its circumstances
        return None


def sum_family_usage(
    family: Family, runs: Iterable[RunSpec], out: Path, broken: Collection[str] = ()
) -> list[RunUsage]:
    """The server usage of a family's finished runs, in one line; None if they used no server."""
    usages = []
    for run in runs:
        stored = locate_run(out, run)
        if run.folder not in broken and stored.done:
            usages.append(read_usage(stored))
    counts = [usage for usage in usages if usage is not None]
    if not counts:
        return []
    totals = {}
    for name in UsageCounts.__struct_fields__:
        values = [value for usage in counts if (value := getattr(usage, name)) is not msgspec.UNSET]
        if values:
            totals[name] = sum(values)
    totals |= {name: round(value, 6) for name, value in totals.items() if isinstance(value, float)}
    return [
        RunUsage(
            task=family.task.name,
            variation=family.variation.title,
            model=family.model,
            runs=len(counts),
            **totals,
        )
    ]


def mean_and_sd(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation; None where they are not defined."""
    if not values or any(math.isnan(value) for value in values):
        return None, None
    return fmean(values), stdev(values) if len(values) > 1 else None


def _subtract_unseen(cells: Sequence[RunCell], columns: Columns) -> Iterator[RunCell]:
    """Cells of seen minus unseen, seed by seed, as JAMP's Table 8 has it."""
    for cell in cells:
        unseen = columns.get((cell.set, "unseen", cell.metric), [])
        if cell.where != "seen" or not unseen:
            continue
        pairs = zip(columns[cell.set, "seen", cell.metric], unseen, strict=True)
        mean, sd = mean_and_sd([seen.value - other.value for (_, seen), (_, other) in pairs])
        n = cell.n + unseen[0][1].n
        yield msgspec.structs.replace(
            cell, where=DIFFERENCE, mean=mean, sd=sd, low=None, high=None, n=n
        )
