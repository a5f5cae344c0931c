"""Estimates the requests and cost of a command before anything is sent. Writes nothing.

The plan, the data, the shots and the requests are those of the real run; they are just not sent.
Finished runs, and answers and replies of a killed run, are not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nikawa.datasets.reader import ExampleReader
from nikawa.models import Trainable
from nikawa.models.chat.estimate import RequestEstimate
from nikawa.models.chat.ledger import read_total
from nikawa.records import Example, Record
from nikawa.runs.data import (
    RunData,
    load_run_data,
    strip_to_inputs,
    strip_to_training,
    take_training_part,
)
from nikawa.runs.job import RunOptions, list_given_settings, list_sharing_runs
from nikawa.runs.plan import Family, Settings, plan_runs
from nikawa.runs.records import RunSpec
from nikawa.runs.request import RunRequest
from nikawa.runs.store import StoredRun, locate_run
from nikawa.runs.work import RunPlace, make_run_model

ALWAYS_ESTIMATED = (
    "input tokens are estimated from characters (see docs/chat.md); output tokens are the maximum"
    " that answers can take; retries are not counted"
)
COUNTED = "tokens are counted with the model's own tokenizer; output tokens are the maximum that answers can take"


class EstimatedRuns(Record, frozen=True, kw_only=True):
    """The estimate for a model on a task."""

    task: str
    variation: str
    model: str
    runs: int
    """Runs that are not done yet; with a grid, all runs that choose settings and one result
    per seed."""
    done: int
    """Runs that are done."""
    requests: int = 0
    kept: int = 0
    """Requests that are not sent: their replies are on disk, or will be by then."""
    tokens_in: int = 0
    """Estimated."""
    tokens_out: int = 0
    """The maximum that answers can take."""
    cost: float | None = None
    """Of these tokens; None where no price is set."""
    cost_at_most: float | None = None
    """The cost if each byte of a request were a token."""


class DryRunReport(Record, frozen=True, kw_only=True):
    """The estimate for a command."""

    out: str
    rows: tuple[EstimatedRuns, ...]
    total: EstimatedRuns
    budget: float | None = None
    spent: float = 0.0
    """What the runs of the command have cost so far, if there is a budget."""
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass
class _Estimator:
    """Estimates runs one after the other, as they would be done."""

    place: RunPlace
    reader: ExampleReader
    planned: dict[str, set[str]] = field(default_factory=dict)
    """Shared folder of replies to the requests that earlier runs will have left there."""
    assumed: dict[str, str] = field(default_factory=dict)
    """Title of runs to the way in which their server is assumed to be asked."""
    measured: int = 0
    has_prices: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    """Notes of models on their prompts."""
    is_sent: bool = False
    """Whether a server gets requests."""
    is_counted: bool = False
    """Whether a model counts its tokens itself."""

    def estimate_family(self, family: Family) -> EstimatedRuns:
        """All runs of a family that are not done."""
        tally = self._estimate_all(family, family.selection_runs())
        before = self.planned
        per_option = []
        for settings in family.options:
            self.planned = {cache: set(keys) for cache, keys in before.items()}
            per_option.append(self._estimate_all(family, family.runs(settings)))
        # the chosen settings are not known yet: assume the most expensive ones
        result = max(per_option, key=lambda tally: (tally.cost_at_most, tally.requests))
        has_prices = self._has_prices(family)
        self.has_prices = self.has_prices or has_prices
        return EstimatedRuns(
            task=family.task.name,
            variation=family.variation.title,
            model=family.model,
            runs=tally.runs + result.runs,
            done=tally.done + result.done,
            requests=tally.requests + result.requests,
            kept=tally.kept + result.kept,
            tokens_in=round(tally.tokens_in + result.tokens_in),
            tokens_out=tally.tokens_out + result.tokens_out,
            cost=round(tally.cost + result.cost, 6) if has_prices else None,
            cost_at_most=round(tally.cost_at_most + result.cost_at_most, 6) if has_prices else None,
        )

    def _has_prices(self, family: Family) -> bool:
        return any(family.given.get(name) for name in ("price_in", "price_out"))

    def _estimate_all(self, family: Family, runs: Sequence[RunSpec]) -> _Tally:
        tally = _Tally()
        for run in runs:
            stored = locate_run(self.place.out, run)
            tally.done += stored.done
            tally.runs += not stored.done
            if stored.done:
                continue
            for estimate in self._estimate_run(run, stored, family):
                tally.add(estimate)
                self.measured += estimate.measured
                self.is_counted = self.is_counted or estimate.is_counted
                self.is_sent = self.is_sent or not estimate.is_counted
                self.notes |= {f"{family.title}: {note}": None for note in estimate.notes}
                if estimate.assumed:
                    self.assumed.setdefault(family.title, estimate.assumed)
        return tally

    def _estimate_run(
        self, run: RunSpec, stored: StoredRun, family: Family
    ) -> Iterator[RequestEstimate]:
        """An estimate for each set, or fold, that is still to be answered."""
        probe: Any = make_run_model(run, self.place, None)
        if not hasattr(probe, "estimate"):
            return
        data = load_run_data(run, self.reader)
        cache = str(family.given.get("cache") or "")
        for folder, training, examples in list_unanswered(run, stored, data):
            path = stored.state / folder
            predictor: Any = make_run_model(run, self.place, path if path.is_dir() else None)
            if isinstance(predictor, Trainable) and training:
                predictor.fit(data.seen, strip_to_training(data.seen, training))
            own: set[str] = set()
            planned = self.planned.setdefault(cache, set()) if cache else own
            yield predictor.estimate(data.seen, strip_to_inputs(data.seen, examples), planned)


@dataclass
class _Tally:
    runs: int = 0
    done: int = 0
    requests: int = 0
    kept: int = 0
    tokens_in: float = 0.0
    tokens_out: int = 0
    cost: float = 0.0
    cost_at_most: float = 0.0

    def add(self, estimate: RequestEstimate) -> None:
        self.requests += estimate.requests
        self.kept += estimate.kept
        self.tokens_in += estimate.tokens_in
        self.tokens_out += estimate.tokens_out
        self.cost += estimate.cost
        self.cost_at_most += estimate.cost_at_most


def list_unanswered(
    run: RunSpec, stored: StoredRun, data: RunData
) -> Iterator[tuple[str, list[Example], list[Example]]]:
    """(Folder of the model, training examples, questions) for everything that is not answered yet."""
    if not data.folds:
        examples = [
            example
            for name, of_set in data.sets.items()
            if not stored.answers_file(name).exists()
            for example in of_set
        ]
        yield "model", data.train, examples
        return
    (name,) = data.sets
    if stored.answers_file(name).exists():
        return
    for fold, training, held_out in data.parts():
        if not (stored.state / f"fold-{fold}.jsonl").exists():
            yield f"model-{fold}", take_training_part(run, data.task, training), held_out


def estimate_runs(request: RunRequest, options: RunOptions | None = None) -> DryRunReport:
    """Estimate the requests that `run` would send for the same request, and their cost.

    Nothing is sent and no file is written. Raises BadInput in the same cases as `run`.
    """
    options = options or RunOptions()
    plan = plan_runs(request, options.data)
    place = RunPlace(options.out, options.data, given=list_given_settings(plan.families))
    estimator = _Estimator(place, ExampleReader(options.data))
    rows = tuple(estimator.estimate_family(family) for family in plan.families)
    total = sum_rows(rows)
    budget = request.settings.get("budget")
    spent = read_total(options.out, list_sharing_runs(plan.families))
    return DryRunReport(
        out=str(options.out),
        rows=rows,
        total=total,
        budget=budget,
        spent=round(spent, 6),
        notes=tuple(note_estimate(total, estimator, budget, spent)),
        left_out=plan.left_out,
    )


def sum_rows(rows: Collection[EstimatedRuns]) -> EstimatedRuns:
    """All rows in one."""
    costs: Settings = {}
    for name in ("cost", "cost_at_most"):
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        costs[name] = round(sum(known), 6) if known else None
    counts = ("runs", "done", "requests", "kept", "tokens_in", "tokens_out")
    return EstimatedRuns(
        task="total",
        variation="",
        model="",
        **{name: sum(getattr(row, name) for row in rows) for name in counts},
        **costs,
    )


def note_estimate(
    total: EstimatedRuns, estimator: _Estimator, budget: float | None, spent: float
) -> Iterator[str]:
    """Notes on the figures, and whether the budget is enough."""
    if not total.requests:
        yield "no request would be sent"
        return
    if estimator.is_counted:
        yield COUNTED
    yield from estimator.notes
    if not estimator.is_sent:
        return
    yield ALWAYS_ESTIMATED
    if estimator.measured:
        yield f"the estimate is corrected by the token counts of {estimator.measured:,} stored replies"
    for title, method in estimator.assumed.items():
        yield f"{title}: the server's best answer method is not known yet; the estimate assumes {method}"
    if not estimator.has_prices:
        yield "no price is set: pass --set price_in=… and --set price_out=… per million tokens"
    if budget is not None and total.cost is not None and total.cost_at_most is not None:
        left = f"{budget - spent:.4g} of the budget of {budget:g} is left"
        if total.cost > budget - spent:
            yield f"{left}: the run would stop before the end"
        elif total.cost_at_most > budget - spent:
            yield f"{left}: enough by the estimate, but in the worst case the run would stop before the end"
        else:
            yield f"{left}: enough"
