"""How many judgements does adaptive effort save? Published judgements, bought again one by one.

`python -m studies.effort --out DIR [--data DIR] [--seeds N]`. Every item of JSICK, JSICK-stress, KLUE-NLI and KLUE-STS has the answers of
three to seven workers. The study hides them, buys them in the order that `nikawa.aggregation.effort` asks for, and compares the gold of
the answers bought with the gold of all of them:

- labels: the label with the most votes; items whose full vote is tied are not counted. Where answers bought are tied, the item counts as wrong.
- scales: the mean of the answers bought; it is the same gold if it is within half a point of the mean of all answers. With an estimated
  gold, it is the value that most likely lies so close, which the planner computes.

`random` buys as many answers as an adaptive design, spread evenly over the items. A machine is simulated: it gives the gold of the full vote
with its accuracy, else another label (of a scale, one or two points off). Its errors fall on any item; a further machine errs where
persons disagree, and gives the label that came second there. No other part of the study sees the full vote.

The stopping rule (the share `same`, and the size of the pilot) is chosen on JSICK alone, cut into parts of `PART_ITEMS` items, about as
small as the other datasets. It is the cheapest rule with which the interval of the same gold lies above 99%, for persons, or for every
machine; where none does, the strictest.

Intervals are 95% bootstrap intervals over items and seeds.
A stopped study goes on with the same command; `results.md` has the tables, `results.svg` the picture.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.effort import EffortAnswers, EffortModel, EffortRule
from nikawa.aggregation.table import Floats, Table
from nikawa.datasets.load import read_judgements
from nikawa.errors import NikawaError
from nikawa.io.atomic import atomic_write
from nikawa.reporting.page import standalone
from nikawa.reporting.plots import AmountScale, Dot, PlotCurve, draw_curves
from nikawa.reporting.tables import TextTable
from studies._place import said, tell

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

SOURCES = (
    ("jsick", "label"),
    ("jsick-stress", "label"),
    ("klue-nli", "label"),
    ("jsick", "relatedness"),
    ("jsick-stress", "relatedness"),
    ("klue-sts", "score"),
)
ACCURACIES = (0.6, 0.7, 0.8, 0.9, 0.95)
MACHINES = tuple(f"machine {accuracy:g}" for accuracy in ACCURACIES)
HARD = "machine 0.9, errs where persons disagree"
TWO = ", two persons at least"
ESTIMATED = ", estimated gold"
LABEL_CONDITIONS = ("persons", *MACHINES, HARD, f"{HARD}{TWO}")
SCALE_CONDITIONS = (
    "persons",
    *MACHINES,
    *(f"{who}{ESTIMATED}" for who in ("persons", "machine 0.6", "machine 0.9")),
)
GRID_CONDITIONS = ("persons", "machine 0.6", "machine 0.9")
"""Those for which every share is shown on every dataset."""
SAME = (0.99, 0.9925, 0.995, 0.9975, 0.999)
"""From the loosest to the strictest; none promises less than the aim."""
PILOTS = {"labels": (0, 60), "numbers": (0,)}
"""Items that get the full vote whatever they answer; two answers to each item tell enough of a scale."""
PART_ITEMS = 1_000
TUNING_SEEDS = 2
MAX_REPLAYS = 10_000
"""Items times seeds after which no further seed is replayed."""
AIM_SAME, AIM_SAVED = 0.99, 0.30
HALF_POINT = 0.5
BUDGETS = tuple(round(0.05 * step, 2) for step in range(4, 21))
"""Shares of all judgements, for the picture."""
CURVES = ("persons", "machine 0.8", "machine 0.95")
MAX_CURVE_ITEMS = 2_000
RESAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class Votes:
    """All answers to a question: items by places, in an order drawn with the seed; -1 where an item has fewer answers."""

    name: str
    kind: Literal["labels", "numbers"]
    items: tuple[str, ...]
    categories: tuple[Any, ...]
    answers: Ints
    workers: Ints
    """Who gave each answer: a name drawn for each item, since a column of a published file is not one person."""

    @classmethod
    def draw(cls, table: Table, name: str, kind: Literal["labels", "numbers"], seed: int) -> Votes:
        """Put the answers to each item in a random order."""
        rng = np.random.default_rng((seed, 29))
        order = np.lexsort((rng.random(len(table)), table.item))
        n = table.per_item()
        place = np.arange(len(table)) - (np.cumsum(n) - n)[table.item[order]]
        answers = np.full((len(table.items), int(n.max())), -1, dtype=np.int64)
        answers[table.item[order], place] = table.answer[order]
        names = np.tile(np.arange(answers.shape[1]), (len(answers), 1))
        return cls(
            name,
            kind,
            tuple(table.items),
            table.categories,
            answers,
            rng.permuted(names, axis=1),
        )

    @property
    def full(self) -> Ints:
        """How many answers each item has in all."""
        counts: Ints = (self.answers >= 0).sum(axis=1)
        return counts

    def count(self, bought: Ints) -> Floats:
        """Items by answers: how many of the first `bought` answers are each."""
        counts = np.zeros((len(self.items), len(self.categories)))
        for place in range(self.answers.shape[1]):
            here = np.flatnonzero((place < bought) & (self.answers[:, place] >= 0))
            counts[here, self.answers[here, place]] += 1
        return counts

    def means(self, bought: Ints) -> Floats:
        """The mean of the first `bought` answers; NaN without any."""
        values = np.array(self.categories, dtype=np.float64)
        counts = self.count(bought)
        n = counts.sum(axis=1)
        means: Floats = np.divide(counts @ values, n, out=np.full(len(n), np.nan), where=n > 0)
        return means

    def table(self, bought: Ints, machine: Ints | None) -> EffortAnswers:
        """The answers bought so far, as the planner sees them."""
        width = self.answers.shape[1]
        item, place = np.nonzero((np.arange(width) < bought[:, None]) & (self.answers >= 0))
        worker, answer = self.workers[item, place], self.answers[item, place]
        names = [f"person {number}" for number in range(width)]
        if machine is not None:
            item = np.concatenate([item, np.arange(len(machine))])
            worker = np.concatenate([worker, np.full(len(machine), width)])
            answer = np.concatenate([answer, machine])
            names.append("model:simulated#1")
        table = Table(
            self.name,
            item.astype(np.int32),
            worker.astype(np.int32),
            answer.astype(np.int32),
            self.items,
            names,
            self.categories,
        )
        is_machine = np.array([name.startswith("model:") for name in names], dtype=np.bool_)
        return EffortAnswers(table, is_machine)


def find_gold(votes: Votes) -> tuple[Floats, Flags]:
    """The gold of the full vote (a label's code, or a mean), and which items have one."""
    if votes.kind == "numbers":
        return votes.means(votes.full), np.ones(len(votes.items), dtype=np.bool_)
    return lead(votes.count(votes.full))


def lead(counts: Floats) -> tuple[Floats, Flags]:
    """The answer with the most votes, and whether it leads alone."""
    ordered = np.sort(counts, axis=1)
    alone = ordered[:, -1] > (ordered[:, -2] if counts.shape[1] > 1 else 0)
    return counts.argmax(axis=1).astype(np.float64), alone


def is_same(votes: Votes, bought: Ints, gold: Floats, means: Floats | None = None) -> Flags:
    """Which items have the gold of the full vote; `means` are estimates of scales that also use a machine."""
    if votes.kind == "numbers":
        own = votes.means(bought)
        if means is not None:
            own = np.where(bought < votes.full, means, own)
        return np.asarray(np.abs(own - gold) <= HALF_POINT + 1e-9)
    label, alone = lead(votes.count(bought))
    return np.asarray(alone & (label == gold))


def measure_same(votes: Votes, bought: Ints) -> float:
    """The share of the items with the gold of the full vote, of those that have one."""
    gold, counted = find_gold(votes)
    return float(is_same(votes, bought, gold)[counted].mean())


def simulate_machine(votes: Votes, condition: str, gold: Floats, seed: int) -> Ints | None:
    """What a simulated machine answers; None for persons alone."""
    if condition.startswith("persons"):
        return None
    accuracy = float(condition.split()[1].rstrip(","))
    rng = np.random.default_rng((seed, 30))
    items, width = len(votes.items), len(votes.categories)
    if votes.kind == "numbers":
        values = np.array(votes.categories, dtype=np.float64)
        right = np.abs(gold[:, None] - values).argmin(axis=1)
        step = rng.choice([1, 1, 1, 2], items) * rng.choice([-1, 1], items)
        other = np.where((right + step < 0) | (right + step >= width), right - step, right + step)
        error = np.full(items, 1 - accuracy)
        return add_errors(rng, error, right, np.clip(other, 0, width - 1))
    right = gold.astype(np.int64)
    other = (right + rng.integers(1, width, items)) % width
    error = np.full(items, 1 - accuracy)
    if condition.startswith(HARD):
        counts = votes.count(votes.full)
        disagreement = 1 - counts[np.arange(items), right] / counts.sum(axis=1)
        error = np.minimum(0.95, disagreement * (1 - accuracy) / max(disagreement.mean(), 1e-9))
        counts[np.arange(items), right] = -1
        other = np.where(counts.max(axis=1) > 0, counts.argmax(axis=1), other)
    return add_errors(rng, error, right, other)


def add_errors(rng: np.random.Generator, error: Floats, right: Ints, other: Ints) -> Ints:
    """The right answers, with another one at the rate `error` of each item."""
    answers: Ints = np.where(rng.random(len(right)) < error, other, right)
    return answers


def buy(
    votes: Votes,
    rule: EffortRule,
    machine: Ints | None,
    after: Callable[[Ints], int | None] | None = None,
) -> tuple[Ints, Floats]:
    """Buy answers until the rule asks for no more; returns how many of each item, and the estimates.

    `after` sees what is bought after each round, and says how many answers to buy in the next.
    """
    bought = np.zeros(len(votes.items), dtype=np.int64)
    place = {name: number for number, name in enumerate(votes.items)}
    full = votes.full
    while True:
        left = None if after is None else after(bought)
        answers = votes.table(bought, machine)
        plan = EffortModel.fit(answers, rule).plan(answers)
        wanted = [(place[row.example], row.more) for row in plan.to_ask]
        wanted = [(item, min(more, int(full[item] - bought[item]))) for item, more in wanted]
        wanted = [(item, more) for item, more in wanted if more > 0]
        if not wanted or left == 0:
            break
        for item, more in wanted:
            part = more if left is None else min(more, left)
            left = None if left is None else left - part
            bought[item] += part
    means = np.full(len(votes.items), np.nan)
    if votes.kind == "numbers":
        for row in plan.items:
            means[place[row.example]] = np.nan if row.answer is None else row.answer
    return bought, means


def spread_evenly(votes: Votes, total: int, seed: int) -> Ints:
    """As many answers for every item, and one more for some that are drawn."""
    full = votes.full
    bought = np.zeros(len(full), dtype=np.int64)
    rng = np.random.default_rng((seed, 31))
    left = total
    while left > 0:
        open_ = rng.permutation(np.flatnonzero(bought < full))[:left]
        bought[open_] += 1
        left -= len(open_)
    return bought


CELL_ROWS = ("bought", "same", "even")


@dataclass(frozen=True, eq=False)
class Cell:
    """One rule on one question under one condition: seeds by items."""

    bought: Ints
    same: Flags
    even: Flags
    """The same gold with as many answers spread evenly."""
    full: Ints
    counted: Flags
    """Items whose full vote has a gold."""

    @property
    def cost(self) -> float:
        """The share of all judgements that was bought."""
        return float(self.bought.sum() / (self.full.sum() * len(self.bought)))

    def measure(self, seed: int = 0) -> dict[str, tuple[float, float, float]]:
        """Cost, same gold and same gold of the even design, each with its interval."""
        rng = np.random.default_rng(seed)
        seeds, items = self.bought.shape
        draws = np.empty((RESAMPLES, 3))
        for number in range(RESAMPLES):
            weight = np.bincount(rng.integers(0, items, items), minlength=items)
            chosen = np.bincount(rng.integers(0, seeds, seeds), minlength=seeds) / seeds
            draws[number] = self._summarise(chosen, weight.astype(np.float64))
        low, high = np.percentile(draws, [2.5, 97.5], axis=0)
        value = self._summarise(np.full(seeds, 1 / seeds), np.ones(items))
        return {
            name: (float(value[at]), float(low[at]), float(high[at]))
            for at, name in enumerate(("cost", "same", "even"))
        }

    def _summarise(self, seeds: Floats, items: Floats) -> Floats:
        counted = items * self.counted
        total = max(counted.sum(), 1e-9)
        return np.array(
            [
                seeds @ (self.bought @ items) / (self.full @ items),
                seeds @ (self.same @ counted) / total,
                seeds @ (self.even @ counted) / total,
            ]
        )


Rule = tuple[float, int]
"""A rule of the grid: the share of the same gold, and the size of the pilot."""


def make_rule(
    kind: Literal["labels", "numbers"], rule: Rule, most: int, condition: str
) -> EffortRule:
    """What the planner is asked for; the gold of a scale is never one person's answer."""
    return EffortRule(
        same=rule[0],
        tolerance=HALF_POINT,
        estimates=condition.endswith(ESTIMATED),
        least=2 if kind == "numbers" or condition.endswith(TWO) else 1,
        most=most,
        pilot=rule[1],
        machines=not condition.startswith("persons"),
        kind=kind,
    )


def run_cell(
    table: Table, name: str, rule: Rule, condition: str, seeds: int, store: Path | None
) -> Cell:
    """Replay a rule with every seed, or read what an earlier call stored."""
    kind: Literal["labels", "numbers"] = "numbers" if table.numeric else "labels"
    file = None
    if store is not None:
        words = f"{name}-{condition}-{rule[0]:g}-{rule[1]}-{seeds}"
        file = store / f"{words.replace(' ', '_').replace(':', '_')}.npz"
        if file.is_file():
            with np.load(file) as held:
                return Cell(**{key: held[key] for key in held.files})
    rows: list[tuple[Ints, Flags, Flags]] = []
    for seed in range(seeds):
        votes = Votes.draw(table, name, kind, seed)
        gold, counted = find_gold(votes)
        machine = simulate_machine(votes, condition, gold, seed)
        effort = make_rule(kind, rule, votes.answers.shape[1], condition)
        bought, means = buy(votes, replace(effort, seed=seed), machine)
        even = spread_evenly(votes, int(bought.sum()), seed)
        own = means if effort.estimates else None
        rows.append((bought, is_same(votes, bought, gold, own), is_same(votes, even, gold)))
    cell = Cell(
        np.stack([row[0] for row in rows]),
        np.stack([row[1] for row in rows]),
        np.stack([row[2] for row in rows]),
        votes.full,
        counted,
    )
    if file is not None:
        fields = {key: getattr(cell, key) for key in (*CELL_ROWS, "full", "counted")}
        with atomic_write(file, overwrite=True) as stream:
            np.savez_compressed(stream, **fields)
    tell(f"{name}, {condition}, {rule[0]:g}, pilot {rule[1]}: {cell.cost:.1%} bought")
    return cell


def run_parts(
    table: Table, name: str, rule: Rule, condition: str, seeds: int, store: Path | None
) -> Cell:
    """The same on parts of `PART_ITEMS` items, each replayed alone."""
    parts = max(1, round(len(table.items) / PART_ITEMS))
    part_of = np.random.default_rng(29).permutation(len(table.items)) % parts
    cells = [
        run_cell(
            table.of_items(part_of == part), f"{name} part {part}", rule, condition, seeds, store
        )
        for part in range(parts)
    ]
    return Cell(
        *(np.concatenate([getattr(cell, key) for cell in cells], axis=1) for key in CELL_ROWS),
        *(np.concatenate([getattr(cell, key) for cell in cells]) for key in ("full", "counted")),
    )


def choose_rule(cells: Mapping[Rule, Sequence[Cell]]) -> Rule:
    """The cheapest rule whose interval of the same gold lies above 99% in all its cells; the last one where none does."""
    good = {
        rule: float(np.mean([cell.cost for cell in each]))
        for rule, each in cells.items()
        if all(cell.measure()["same"][1] >= AIM_SAME for cell in each)
    }
    return min(good, key=lambda rule: good[rule]) if good else list(cells)[-1]


def split_halves(table: Table, kind: Literal["labels", "numbers"], name: str, seeds: int) -> float:
    """How often two halves of an item's own vote have the same gold; a tied half agrees with a part of the chances."""
    shares = []
    for seed in range(seeds):
        votes = Votes.draw(table, name, kind, seed)
        first = votes.full // 2
        if kind == "numbers":
            rest = votes.full - first
            own = votes.means(first)
            other = (votes.means(votes.full) * votes.full - own * first) / rest
            shares.append(float((np.abs(own - other) <= HALF_POINT + 1e-9).mean()))
            continue
        counts = votes.count(first)
        others = votes.count(votes.full) - counts
        leads = [(c == c.max(axis=1, keepdims=True)) for c in (counts, others)]
        chance = (leads[0] & leads[1]).sum(axis=1) / (leads[0].sum(axis=1) * leads[1].sum(axis=1))
        shares.append(float(chance.mean()))
    return float(np.mean(shares))


# Pages


def format_share(value: tuple[float, float, float], digits: int = 1) -> str:
    """`99.2% (98.9 to 99.5)`."""
    return f"{value[0]:.{digits}%} ({100 * value[1]:.1f} to {100 * value[2]:.1f})"


def describe(cell: Cell, name: str, condition: str, rule: Rule, chosen: bool) -> tuple[str, ...]:
    """A row of the table of the rule."""
    figures = cell.measure()
    saved = 1 - figures["cost"][0]
    met = figures["same"][0] >= AIM_SAME and saved >= AIM_SAVED
    return (
        f"{name}{' (rule chosen here)' if chosen else ''}",
        condition,
        f"{rule[0]:g}, pilot {rule[1]}",
        format_share(figures["cost"]),
        f"{saved:.1%}",
        format_share(figures["same"], 2),
        format_share(figures["even"]),
        "yes" if met else "no",
    )


COLUMNS = (
    "judgements",
    "who decides",
    "rule",
    "bought",
    "saved",
    "same gold",
    "same gold, random order",
    "aim met",
)


def draw_budgets(
    table: Table, name: str, condition: str, seeds: int
) -> Iterator[tuple[float, float]]:
    """Shares of the judgements bought, and of the items with the same gold, when the budget ends there."""
    sums: dict[float, list[float]] = {}
    if len(table.items) > MAX_CURVE_ITEMS:
        keep = np.random.default_rng(29).permutation(len(table.items)) < MAX_CURVE_ITEMS
        table = table.of_items(keep)
    for seed in range(seeds):
        votes = Votes.draw(table, name, "labels", seed)
        total = int(votes.full.sum())
        waiting = list(BUDGETS)

        def note(
            bought: Ints, votes: Votes = votes, waiting: list[float] = waiting, total: int = total
        ) -> int:
            while waiting and bought.sum() >= round(waiting[0] * total):
                share = waiting.pop(0)
                if (bought > 0).all():
                    sums.setdefault(share, []).append(measure_same(votes, bought))
            return round(waiting[0] * total) - int(bought.sum()) if waiting else 0

        if condition == "random":
            while waiting:
                note(spread_evenly(votes, round(waiting[0] * total), seed))
            continue
        rule = make_rule(
            "labels",
            (0.9999, min(PILOTS["labels"][-1], total // 20)),
            votes.answers.shape[1],
            condition,
        )
        machine = simulate_machine(votes, condition, find_gold(votes)[0], seed)
        bought, _ = buy(votes, replace(rule, seed=seed), machine, note)
        for share in waiting:  # the rule is done: what is left is not bought
            sums.setdefault(share, []).append(measure_same(votes, bought))
    for share, values in sorted(sums.items()):
        if len(values) == seeds:
            yield share, float(np.mean(values))


def draw_picture(table: Table, name: str, seeds: int) -> str:
    """Gold recovered against judgements bought, as SVG."""
    curves = [
        PlotCurve(
            condition,
            [
                (100 * share, Dot(100 * value, series=number))
                for share, value in draw_budgets(table, name, condition, seeds)
            ],
        )
        for number, condition in enumerate(("random", *CURVES))
    ]
    scale = AmountScale("% of the judgements bought", log=False, shown="{:.0f}".format)
    title = f"{name}: % of the items with the gold of the full vote"
    return draw_curves(curves, title, scale, (0.0, 100.0))


def find_group(condition: str) -> str:
    """The conditions that share a rule: persons alone, or all machines; with or without an estimated gold."""
    who = "persons" if condition.startswith("persons") else "machines"
    return f"{who}{ESTIMATED}" if condition.endswith(ESTIMATED) else who


def tune(
    table: Table, name: str, conditions: Sequence[str], seeds: int, store: Path | None
) -> dict[str, Rule]:
    """The rule of each group of conditions; machines whose errors follow the persons' have no say in it."""
    groups: dict[str, list[str]] = {}
    for condition in conditions:
        if not condition.startswith(HARD):
            groups.setdefault(find_group(condition), []).append(condition)
    kind = "numbers" if table.numeric else "labels"
    rules = [(same, pilot) for same in SAME for pilot in PILOTS[kind]]
    return {
        group: choose_rule(
            {
                rule: [run_parts(table, name, rule, one, seeds, store) for one in members]
                for rule in rules
            }
        )
        for group, members in groups.items()
    }


def study(
    tables: Sequence[tuple[str, str, Table]],
    seeds: int,
    store: Path | None = None,
    conditions: Sequence[str] | None = None,
) -> str:
    """The tables of the study: `tables` are dataset, question and judgements, those the rule is chosen on first."""
    parts = []
    halves = []
    kinds: tuple[Literal["labels", "numbers"], ...] = ("labels", "numbers")
    for kind in kinds:
        own = [(n, q, t) for n, q, t in tables if ("numbers" if t.numeric else "labels") == kind]
        if not own:
            continue
        all_of_kind = LABEL_CONDITIONS if kind == "labels" else SCALE_CONDITIONS
        used = [one for one in all_of_kind if conditions is None or one in conditions]
        first, question, table = own[0]
        chosen = tune(table, f"{first} {question}", used, min(seeds, TUNING_SEEDS), store)
        rows = []
        grids = []
        for dataset, about, judged in own:
            label = f"{dataset} {about}"
            halves.append((label, f"{split_halves(judged, kind, label, seeds):.1%}"))
            drawn = max(1, min(seeds, MAX_REPLAYS // len(judged.items)))
            for condition in used:
                rule = chosen[find_group(condition)]
                cell = run_cell(judged, label, rule, condition, drawn, store)
                rows.append(describe(cell, label, condition, rule, dataset == first))
            for condition in (one for one in used if one in GRID_CONDITIONS):
                pilot = chosen[find_group(condition)][1]
                cells = [
                    run_cell(judged, label, (same, pilot), condition, drawn, store) for same in SAME
                ]
                shares = (
                    f"{1 - cell.cost:.1%} / {cell.same[:, cell.counted].mean():.1%}"
                    for cell in cells
                )
                grids.append((label, condition, *shares))
        rules = "; ".join(f"{who}: {rule[0]:g}, pilot {rule[1]}" for who, rule in chosen.items())
        parts.append(f"Rule chosen on parts of {first} {question}: {rules}.")
        parts.append(TextTable(COLUMNS, rows, COLUMNS[3:7]).markdown())
        columns = ("saved / same gold", "who decides", *(f"{same:g}" for same in SAME))
        parts.append(TextTable(columns, grids, columns[2:]).markdown())
    columns = ("judgements", "two halves of the same vote agree")
    parts.append(TextTable(columns, halves, columns[1:]).markdown())
    return "\n\n".join(parts) + "\n"


def load_tables(data: Path | None) -> Iterator[tuple[str, str, Table]]:
    """The published judgements."""
    for name, question in SOURCES:
        rows = (row for row in read_judgements(name, data=data) if row.question == question)
        yield name, question, Table.from_judgements(rows, question)


def main(given: Sequence[str] | None = None) -> int:
    """Run the study; returns 0, or 2 for bad input."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, required=True, help="folder of the study")
    options.add_argument("--data", type=Path, help="folder of the published data")
    options.add_argument("--seeds", type=int, default=5)
    asked = options.parse_args(given)
    try:
        tables = list(load_tables(asked.data))
        store = asked.out / "cells"
        store.mkdir(parents=True, exist_ok=True)
        page = study(tables, max(1, asked.seeds), store)
        with atomic_write(asked.out / "results.md", overwrite=True) as file:
            file.write(page.encode())
        picture = next(table for name, _, table in tables if name == "klue-nli")
        with atomic_write(asked.out / "results.svg", overwrite=True) as file:
            file.write(standalone(draw_picture(picture, "klue-nli label", asked.seeds)).encode())
    except NikawaError as problem:
        return said(problem)
    tell(f"{asked.out / 'results.md'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
