"""What is a second look worth that a machine asks for? Published judgements, of which a project would have bought only a few.

`python -m studies.recheck --out DIR [--data DIR] [--seeds N]`. Of each item of JSICK, JSICK-stress, KLUE-NLI and KLUE-STS the study draws the
answers of some persons (`DRAWN`) and lists, as `nikawa recheck` does, those that a machine and the other drawn persons contradict. An answer
is wrong if it is not the label with the most votes of all workers of the item, or, on a scale, `WRONG` points or more from their mean. Items
whose full vote is tied are not counted. The list never sees the full vote. It is compared with the answers from which another drawn person
differs, in the order of doubt without a machine (of scales: in the order of the distance from the others).

`looks saved` is the share of looks that the list needs less than that order to find as many wrong answers. `gold` is the share of items whose
drawn persons give the gold of the full vote (labels: a tie does not; scales: their mean is within half a point): before the list, after a second
look gave every item on it the gold of the full vote, and after looks at as many items in the order without a machine. A question with fewer
than `MIN_WRONG` wrong answers in a draw is skipped.

The machine is simulated: it gives the gold of the full vote with its accuracy, else another label (of a scale, one or two points off). The
margin of scales is the one of `MARGINS` with the highest F1 of the list on JSICK, at the accuracy `TUNED_AT`; all other data are reported
with it. Intervals are 95% bootstrap intervals over items and seeds. `results.md` has the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.closeness import choose_score
from nikawa.aggregation.machines import Mixed
from nikawa.aggregation.recheck import find_contradictions
from nikawa.aggregation.table import Floats, Table
from nikawa.aggregation.weighing import fit_workers
from nikawa.datasets.load import read_judgements
from nikawa.errors import NikawaError
from nikawa.io.atomic import atomic_write
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
DRAWN = {"jsick": 2, "jsick-stress": 2, "klue-nli": 3, "klue-sts": 3}
"""Persons that are drawn: fewer than an item has."""
ACCURACIES = (0.6, 0.7, 0.8, 0.9, 0.95)
MARGINS = (0.5, 1.0, 1.5, 2.0)
TUNED_AT = 0.8
WRONG, HALF_POINT = 1.5, 0.5
MIN_WRONG = 30
"""Wrong answers in a draw below which a question says nothing."""
RESAMPLES = 500
FIGURES = (
    "others",
    "others right",
    "list",
    "list right",
    "found",
    "saved",
    "before",
    "after",
    "after others",
)
COLUMNS = (
    "judgements",
    "machine",
    "another person differs",
    "of these wrong",
    "on the list",
    "of these wrong",
    "wrong answers found",
    "looks saved",
    "gold before",
    "gold after the list",
    "gold after as many looks without a machine",
)


@dataclass(frozen=True, eq=False)
class Replay:
    """The answers drawn with one seed, the machine's, and what the full vote says of them."""

    drawn: Table
    """The persons that were drawn."""
    mixed: Mixed
    wrong: Flags
    """Of each answer drawn."""
    counted: Flags
    """Items whose full vote has a gold."""
    same: Flags
    """Items whose drawn persons give that gold."""


def replay(table: Table, persons: int, accuracy: float, seed: int) -> Replay:
    """Draw so many persons of each item, and simulate a machine."""
    rng = np.random.default_rng((seed, 37))
    items = len(table.items)
    order = np.lexsort((rng.random(len(table)), table.item))
    n = table.per_item()
    place = np.arange(len(table)) - (np.cumsum(n) - n)[table.item[order]]
    first = order[place < persons]
    item, answer = table.item[first], table.answer[first]
    # a column of a published file is not one person: who gave an answer is a name drawn for the item
    names = rng.permuted(np.tile(np.arange(persons), (items, 1)), axis=1)
    worker = names[item, place[place < persons]].astype(np.int32)
    people = [f"person {number}" for number in range(persons)]
    drawn = Table(table.question, item, worker, answer, table.items, people, table.categories)
    right, counted, mean = find_gold(table)
    machine = simulate(table, right, accuracy, rng)
    everyone = Table(
        table.question,
        np.concatenate([item, np.arange(items, dtype=np.int32)]),
        np.concatenate([worker, np.full(items, persons, dtype=np.int32)]),
        np.concatenate([answer, machine.astype(np.int32)]),
        table.items,
        [*people, "model:simulated#1"],
        table.categories,
    )
    flags = np.arange(persons + 1) == persons
    mixed = Mixed(everyone, flags, choose_score(everyone))
    if table.numeric:
        own = drawn.sum_by_item(drawn.numbers) / np.maximum(1, drawn.per_item())
        wrong = np.abs(drawn.numbers - mean[item]) >= WRONG - 1e-9
        same = np.abs(own - mean) <= HALF_POINT + 1e-9
    else:
        counts = drawn.counts()
        ordered = np.sort(counts, axis=1)
        same = (ordered[:, -1] > ordered[:, -2]) & (counts.argmax(axis=1) == right)
        wrong = counted[item] & (answer != right[item])
    return Replay(drawn, mixed, wrong, counted, same & counted)


def find_gold(table: Table) -> tuple[Ints, Flags, Floats]:
    """Of each item the answer of the full vote, or the one nearest to its mean; whether it has one; and the mean of a scale."""
    items = len(table.items)
    if table.numeric:
        mean = table.sum_by_item(table.numbers) / table.per_item()
        nearest = np.abs(mean[:, None] - table.values).argmin(axis=1)
        return nearest, np.ones(items, dtype=np.bool_), mean
    counts = table.counts()
    ordered = np.sort(counts, axis=1)
    return counts.argmax(axis=1), ordered[:, -1] > ordered[:, -2], np.zeros(items)


def simulate(table: Table, right: Ints, accuracy: float, rng: np.random.Generator) -> Ints:
    """The answers of a machine that is right this often."""
    items, width = len(right), len(table.categories)
    if table.numeric:
        step = rng.choice([1, 1, 1, 2], items) * rng.choice([-1, 1], items)
        beyond = (right + step < 0) | (right + step >= width)
        other = np.clip(np.where(beyond, right - step, right + step), 0, width - 1)
    else:
        other = (right + rng.integers(1, width, items)) % width
    answers: Ints = np.where(rng.random(items) < accuracy, right, other)
    return answers


def doubt_alone(drawn: Table) -> Floats:
    """How doubtful each answer is by the other persons alone."""
    if not drawn.numeric:
        nobody = np.zeros(len(drawn.workers), dtype=np.bool_)
        alone, _ = fit_workers(drawn).posterior(drawn, nobody)
        labels: Floats = 1 - alone[drawn.item, drawn.answer]
        return labels
    n = drawn.per_item()[drawn.item]
    others = (drawn.sum_by_item(drawn.numbers)[drawn.item] - drawn.numbers) / np.maximum(1, n - 1)
    distance: Floats = np.abs(drawn.numbers - others)
    return distance


def differs(drawn: Table) -> Flags:
    """Of each answer whether another person gave another one to the item."""
    counts = drawn.counts()
    return np.asarray(counts[drawn.item, drawn.answer] < drawn.per_item()[drawn.item])


@dataclass(frozen=True, eq=False)
class Look:
    """One replay as arrays that can be weighed by items."""

    item: Ints
    """Of each answer whose item is counted, in the order of doubt without a machine."""
    wrong: Flags
    others: Flags
    """Another person differs."""
    listed: Flags
    counted: Flags
    same: Flags

    @classmethod
    def take(cls, one: Replay, margin: float, seed: int) -> Look:
        """Look at a replay with the list of `nikawa recheck`."""
        found = find_contradictions(one.mixed, margin)
        rng = np.random.default_rng((seed, 38))  # answers of equal doubt come in any order
        order = np.lexsort((rng.random(len(one.drawn)), -np.round(doubt_alone(one.drawn), 9)))
        order = order[one.counted[one.drawn.item[order]]]
        return cls(
            one.drawn.item[order].astype(np.int64),
            one.wrong[order],
            differs(one.drawn)[order],
            found.by_both[order],
            one.counted,
            one.same,
        )

    def measure(self, weight: Floats) -> Floats:
        """`FIGURES`, with a weight for each item."""
        w = weight[self.item]
        total = max(w.sum(), 1e-9)
        wrong, others, listed = w * self.wrong, w * self.others, w * self.listed
        hits = float((listed * self.wrong).sum())
        # how many looks the others take, in the order of doubt, for as many wrong answers
        found = np.cumsum(others * self.wrong)
        place = min(int(np.searchsorted(found, hits - 1e-9)), len(found) - 1)
        needed = float(np.cumsum(others)[place])
        items = weight * self.counted
        on_list = np.zeros(len(weight), dtype=np.bool_)
        on_list[self.item[self.listed]] = True
        # as many items by the others alone, in the order of doubt
        queue = self.item[self.others]
        _, first = np.unique(queue, return_index=True)
        queue = queue[np.sort(first)]
        looked = queue[np.cumsum(items[queue]) <= float(items[on_list].sum()) + 1e-9]
        instead = np.zeros(len(weight), dtype=np.bool_)
        instead[looked] = True
        size = max(items.sum(), 1e-9)
        return np.array(
            [
                others.sum() / total,
                (others * self.wrong).sum() / max(others.sum(), 1e-9),
                listed.sum() / total,
                hits / max(listed.sum(), 1e-9),
                hits / max(wrong.sum(), 1e-9),
                1 - listed.sum() / max(needed, 1e-9),
                (items * self.same).sum() / size,
                (items * (self.same | on_list)).sum() / size,
                (items * (self.same | instead)).sum() / size,
            ]
        )


def measure_looks(looks: Sequence[Look], seed: int = 0) -> dict[str, tuple[float, float, float]]:
    """Each figure over the seeds, with its interval over items and seeds."""
    rng = np.random.default_rng(seed)
    items = len(looks[0].counted)
    draws = np.empty((RESAMPLES, len(FIGURES)))
    for number in range(RESAMPLES):
        weight = np.bincount(rng.integers(0, items, items), minlength=items).astype(np.float64)
        draws[number] = looks[int(rng.integers(len(looks)))].measure(weight)
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    value = np.mean([look.measure(np.ones(items)) for look in looks], axis=0)
    return {
        name: (float(value[at]), float(low[at]), float(high[at])) for at, name in enumerate(FIGURES)
    }


def choose_margin(table: Table, persons: int, seeds: int) -> float:
    """The margin with the highest F1 of the list."""

    def f1(margin: float) -> float:
        figures = [
            Look.take(replay(table, persons, TUNED_AT, seed), margin, seed).measure(
                np.ones(len(table.items))
            )
            for seed in range(seeds)
        ]
        right, found = np.mean(figures, axis=0)[[3, 4]]
        return float(2 * right * found / max(right + found, 1e-9))

    return max(MARGINS, key=f1)


def format_share(value: tuple[float, float, float]) -> str:
    """`99.2% (98.9 to 99.5)`."""
    return f"{value[0]:.1%} ({100 * value[1]:.1f} to {100 * value[2]:.1f})"


def study(
    tables: Sequence[tuple[str, str, Table]],
    seeds: int,
    accuracies: Sequence[float] = ACCURACIES,
) -> str:
    """The tables of the study: `tables` are dataset, question and judgements, the scale for the margin first."""
    parts, rows = [], []
    margin = None
    for name, question, table in tables:
        persons = DRAWN.get(name, 2)
        if table.numeric and margin is None:
            margin = choose_margin(table, persons, seeds)
            parts.append(f"Margin of scales, chosen on {name} {question}: {margin:g}.")
        first = Look.take(replay(table, persons, TUNED_AT, 0), margin or WRONG, 0)
        if first.wrong.sum() < MIN_WRONG:
            what = f"{int(first.wrong.sum())} of {len(first.wrong):,} answers are wrong"
            parts.append(f"{name} {question} is skipped: {what}.")
            continue
        for accuracy in accuracies:
            looks = [
                Look.take(replay(table, persons, accuracy, seed), margin or WRONG, seed)
                for seed in range(seeds)
            ]
            figures = measure_looks(looks)
            rows.append(
                (
                    f"{name} {question}, {persons} persons",
                    f"simulated, {accuracy:g}",
                    *(format_share(figures[figure]) for figure in FIGURES),
                )
            )
            tell(f"{name} {question}, machine {accuracy:g}: {rows[-1][7]} of the looks saved")
    parts.append(TextTable(COLUMNS, rows, COLUMNS[2:]).markdown())
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
        page = study(list(load_tables(asked.data)), max(1, asked.seeds))
        asked.out.mkdir(parents=True, exist_ok=True)
        with atomic_write(asked.out / "results.md", overwrite=True) as file:
            file.write(page.encode())
    except NikawaError as problem:
        return said(problem)
    tell(f"{asked.out / 'results.md'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
