"""Machines compared with persons: how far each agrees with whom, where they part, and what machines do otherwise.

Closeness (see `closeness`) is averaged over the pairs of answers to an item, then over items. All rows count the same items, so
they can be compared: those that two persons and a machine judged. `kappa` is the agreement beyond chance of two groups,

    kappa = (Po - Pe) / (1 - Pe),  Pe = sum_c p_c q_c

with Po the mean share of equal pairs between the groups, and p_c and q_c how often each group gives answer c.

A slice is unusual where the distance between the two agreements is unlike that of the other items; an answer, or a confusion, where
machines give it more or less often than another person does. The p values are of a normal distribution, with errors over items, and
are corrected by Holm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from nikawa.aggregation.alternative import (
    AlternativeOptions,
    AlternativeTest,
    run_alternative_test,
)
from nikawa.aggregation.closeness import Closeness, Score, choose_score
from nikawa.aggregation.measure import (
    MAX_CATEGORIES,
    NOMINAL,
    SummedMeasure,
    ratio,
    ratio_of_sums,
)
from nikawa.aggregation.spans import text_of
from nikawa.aggregation.table import Floats, Table, pair_answers, sum_weights
from nikawa.aggregation.trees import freeze_answers
from nikawa.errors import BadInput
from nikawa.records import Example, Judgement, Record, Task
from nikawa.stats.distributions import Z_95, normal_p
from nikawa.stats.resample import bootstrap, correct_holm, percentile_interval
from nikawa.stats.slices import LENGTH, name_quarters, slice_examples
from nikawa.tables import ShownAsTables

Flags = NDArray[np.bool_]

UNITS: dict[Score, str] = {
    "equality": "equal answers",
    "neg-rmse": "negative squared difference",
    "span-f1": "span F1",
    "equal-arcs": "equal arcs",
    "answer-f1": "answer F1",
    "jaccard": "Jaccard",
    "state-f1": "state F1",
}
"""What closeness is called in tables."""
MIN_SLICE_ITEMS = 10
"""Items below which a slice is not listed."""
MAX_SLICES_PER_KEY = 30
OVERLAP, POSITION, LABEL = "overlap", "position", "label"
BY_PERSONS = (LABEL, POSITION)
"""Slices by what persons answered."""
PLACES = ("1 first third", "2 middle third", "3 last third")
ALPHA = 0.05


class GroupAgreement(Record, frozen=True, kw_only=True):
    """How close two groups of workers are, with the 95% interval over items."""

    who: str
    """`persons`, `machines`, `machines and persons`, `difference` (machines and persons less persons), or a machine: with persons."""
    measure: str
    """`kappa`, `mean difference`, or one of `UNITS`."""
    value: float | None
    low: float | None
    high: float | None
    items: int


class MachineSlice(Record, frozen=True, kw_only=True):
    """Some of the items: the closeness of persons to each other, and of machines to persons."""

    where: str
    """As `KEY=VALUE`; `label` is what most persons answered, `length` counts characters."""
    items: int
    persons: float
    machines: float
    difference: float
    low: float | None
    high: float | None
    """The 95% interval of the difference."""
    p: float | None
    """Whether the difference is that of the other items; corrected by Holm for all slices."""
    unusual: bool


class Habit(Record, frozen=True, kw_only=True):
    """What machines answer more or less often than another person does, on the same items."""

    persons_answer: str
    """The answer of a person to the item; empty: of all items."""
    answer: str
    """The answer of machines, and of another person, to the same item."""
    machines: float
    persons: float
    difference: float
    low: float
    high: float
    p: float
    """Corrected by Holm for all of them."""
    unusual: bool


class MachineReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """Everything about machines compared with persons."""

    machines: tuple[str, ...]
    items: int
    """Items that two persons and a machine judged, which all rows count."""
    answers: int
    """Answers of machines, to any item that a person judged."""
    unanswered: int
    """Judgements of machines without an answer."""
    unit: str
    """What closeness is: `equal answers`, `negative squared difference`, `span F1`, or another of `UNITS`."""
    verdict: str
    """One paragraph that a paper can quote."""
    filled_in: int | msgspec.UnsetType = msgspec.UNSET
    """Answers of persons that came filled in with a machine's, and are left out; unset where none did."""
    agreement: tuple[GroupAgreement, ...]
    slices: tuple[MachineSlice, ...]
    habits: tuple[Habit, ...]
    """Only those that are unusual, the largest first."""
    tests: tuple[AlternativeTest, ...]
    """The alternative annotator test of each machine that could be tested."""
    remarks: tuple[str, ...] = ()


# The table of everyone


@dataclass(frozen=True, eq=False)
class Mixed:
    """Persons and machines in one table of the items that a person judged."""

    table: Table
    is_machine: Flags
    """A flag per worker."""
    score: Score
    unanswered: int = 0
    filled_in: int = 0
    """Answers of persons that are left out, because a machine's answer was filled in before they answered."""

    @classmethod
    def of(
        cls,
        persons: Table,
        machines: Iterable[Judgement],
        level: str | None = None,
        *,
        prelabelled: Iterable[Judgement] = (),
    ) -> Mixed:
        """Add the answers of machines to the same question to the table of persons.

        Those of `prelabelled` that came filled in are left out: they lean towards the machine that they would be compared with.
        """
        known = set(persons.items)
        everyone = len(persons)
        persons = leave_out_filled(persons, prelabelled)
        rows: list[tuple[Any, str, Any]] = []
        unanswered = 0
        for judgement in freeze_answers(machines, persons.question):
            if judgement.question != persons.question or judgement.example not in known:
                continue
            if judgement.answer is None:
                unanswered += 1
            else:
                rows.append((judgement.example, judgement.worker, judgement.answer))
        names = dict.fromkeys(worker for _, worker, _ in rows)
        clash = next((name for name in persons.workers if name in names), None)
        if clash is not None:
            what = f"the worker {clash} is a person in some judgements and a machine in others"
            raise BadInput(what, cure="give the machine another name, such as model:NAME#1")
        items = [persons.items[code] for code in persons.item.tolist()]
        workers = [persons.workers[code] for code in persons.worker.tolist()]
        answers = [persons.categories[code] for code in persons.answer.tolist()]
        items += [item for item, _, _ in rows]
        workers += [worker for _, worker, _ in rows]
        answers += [answer for _, _, answer in rows]
        table = Table.from_columns(items, workers, answers, persons.question)
        is_machine = np.array([worker in names for worker in table.workers], dtype=bool)
        filled_in = everyone - len(persons)
        return cls(table, is_machine, choose_score(table, level), unanswered, filled_in)

    @cached_property
    def closeness(self) -> Closeness:
        """The closeness of answers, looked up once."""
        return Closeness(self.table, self.score)

    @property
    def machine_codes(self) -> list[int]:
        """The machines, in the order of their names."""
        codes = np.flatnonzero(self.is_machine).tolist()
        return sorted(codes, key=lambda code: str(self.table.workers[code]))

    @cached_property
    def pairs(self) -> _Pairs:
        """Every two answers to one item."""
        found = pair_answers(self.table)
        values = self.closeness.of(
            found.first_answer.astype(np.int32), found.second_answer.astype(np.int32)
        )
        return _Pairs(
            found.item,
            found.first,
            found.second,
            values,
            self.is_machine[found.first].astype(np.int8) + self.is_machine[found.second],
        )

    def mean_of_pairs(self, keep: Flags) -> Floats:
        """The mean closeness of the pairs of each item where `keep` holds; NaN without such a pair."""
        size = len(self.table.items)
        item, value = self.pairs.item[keep], self.pairs.value[keep]
        return ratio(sum_weights(item, value, size), np.bincount(item, minlength=size))

    @cached_property
    def by_kind(self) -> tuple[Floats, Floats, Floats]:
        """Of each item the closeness of persons, of machines with persons, and of machines."""
        first, both, last = (self.mean_of_pairs(self.pairs.machines == kind) for kind in range(3))
        return first, both, last

    @cached_property
    def shared(self) -> Flags:
        """The items that two persons and a machine judged."""
        persons, both, _ = self.by_kind
        return ~np.isnan(persons) & ~np.isnan(both)

    def shares(self, of_machines: bool) -> Floats:
        """Items by categories: the share of each answer among machines, or persons; dense."""
        table = self.table
        part = table.select(self.is_machine[table.worker] == of_machines)
        counts = part.counts().astype(np.float64)
        return np.nan_to_num(ratio(counts, counts.sum(axis=1, keepdims=True)))


def leave_out_filled(persons: Table, prelabelled: Iterable[Judgement]) -> Table:
    """The table without the answers whose page was filled in with a machine's answer."""
    filled = {
        (row.example, row.worker)
        for row in prelabelled
        if row.question == persons.question and row.prelabel is not None and row.prelabel.shown
    }
    if not filled:
        return persons
    places = zip(persons.item.tolist(), persons.worker.tolist(), strict=True)
    names = ((persons.items[item], persons.workers[worker]) for item, worker in places)
    return persons.select(np.array([name not in filled for name in names], dtype=bool))


@dataclass(frozen=True, eq=False)
class _Pairs:
    item: NDArray[np.int32]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    value: Floats
    """The closeness of the two answers."""
    machines: NDArray[np.int8]
    """How many of the two are machines'."""


class NothingShared(BadInput):
    """No item has the answers of a machine and of two persons."""

    def __init__(self, mixed: Mixed) -> None:
        what = "no item has the answers of a machine and of two persons"
        cure = "let at least two persons judge items that the machine judged"
        if mixed.filled_in:
            what += (
                f" (without the {mixed.filled_in:,} that came filled in with a machine's answer)"
            )
            cure += ", without a pre-label"
        super().__init__(what, cure=cure)


# Agreement


def measure_agreement(mixed: Mixed, resamples: int, seed: int) -> Iterator[GroupAgreement]:
    """Persons with each other, machines with each other and with persons, and each machine with persons."""
    unit = UNITS[mixed.score]
    persons, both, machines = mixed.by_kind
    shared = mixed.shared
    rows: list[tuple[str, str, SummedMeasure, int]] = [
        ("persons", unit, mean_over(persons, shared), int(shared.sum())),
        ("machines and persons", unit, mean_over(both, shared), int(shared.sum())),
        ("difference", unit, mean_over(both - persons, shared), int(shared.sum())),
    ]
    alike = shared & ~np.isnan(machines)
    if alike.any():
        rows.append(("machines", unit, mean_over(machines, alike), int(alike.sum())))
    if mixed.score == "equality" and len(mixed.table.categories) <= MAX_CATEGORIES:
        rows += [
            (
                "persons",
                "kappa",
                kappa_of(mixed, persons, (False, False), shared),
                int(shared.sum()),
            ),
            (
                "machines and persons",
                "kappa",
                kappa_of(mixed, both, (True, False), shared),
                int(shared.sum()),
            ),
        ]
        if alike.any():
            measure = kappa_of(mixed, machines, (True, True), alike)
            rows.append(("machines", "kappa", measure, int(alike.sum())))
    if mixed.score == "neg-rmse":
        rows.append(
            (
                "machines and persons",
                "mean difference",
                mean_over(mean_numbers(mixed, True) - mean_numbers(mixed, False), shared),
                int(shared.sum()),
            )
        )
    if len(mixed.machine_codes) > 1:
        pairs = mixed.pairs
        for code in mixed.machine_codes:
            own = (pairs.machines == 1) & ((pairs.first == code) | (pairs.second == code))
            values = mixed.mean_of_pairs(own)
            judged = shared & ~np.isnan(values)
            if judged.any():
                name = f"{mixed.table.workers[code]} and persons"
                rows.append((name, unit, mean_over(values, judged), int(judged.sum())))
    for who, name, measure, items in rows:
        value, low, high = estimate(measure, resamples, seed)
        yield GroupAgreement(who=who, measure=name, value=value, low=low, high=high, items=items)


def mean_over(values: Floats, keep: Flags) -> SummedMeasure:
    """The mean of a value per item over some of the items, which are the units."""
    kept = values[keep]
    statistics = np.column_stack([kept, np.ones(len(kept))])
    return SummedMeasure("mean", NOMINAL, statistics, ratio_of_sums)


def kappa_of(
    mixed: Mixed, closeness: Floats, of_machines: tuple[bool, bool], keep: Flags
) -> SummedMeasure:
    """Agreement beyond chance of two groups, from how close they are on each item and what each answers."""
    width = len(mixed.table.categories)
    sides = [mixed.shares(side)[keep] for side in of_machines]
    statistics = np.column_stack([np.ones(int(keep.sum())), closeness[keep], *sides])

    def finish(sums: Floats) -> Floats:
        n = sums[..., 0]
        chance = ratio((sums[..., 2 : 2 + width] * sums[..., 2 + width :]).sum(axis=-1), n * n)
        return ratio(ratio(sums[..., 1], n) - chance, 1 - chance)

    return SummedMeasure("kappa", NOMINAL, statistics, finish)


def mean_numbers(mixed: Mixed, of_machines: bool) -> Floats:
    """The mean number of each item that machines, or persons, gave; NaN without one."""
    table = mixed.table
    part = table.select(mixed.is_machine[table.worker] == of_machines)
    count = np.bincount(part.item, minlength=len(table.items))
    return ratio(part.sum_by_item(part.numbers), count)


def estimate(
    measure: SummedMeasure, resamples: int, seed: int
) -> tuple[float | None, float | None, float | None]:
    """A measure with its 95% interval over its rows; None where it is undefined."""
    n = len(measure.statistics)
    drawn = bootstrap(measure, np.arange(n), resamples=resamples, seed=seed) if n else np.zeros(0)
    low, high = percentile_interval(drawn, None)
    value, low_or_none, high_or_none = (
        number if math.isfinite(number) else None
        for number in (measure.value if n else math.nan, low, high)
    )
    return value, low_or_none, high_or_none


# Slices


def slice_items(
    mixed: Mixed, known: Mapping[str, Example] | None, by: Sequence[str]
) -> Iterator[tuple[str, str, list[int]]]:
    """Key, value and items of each slice: by what most persons answered, by `by`, by length, overlap and position."""
    table = mixed.table
    examples = [None if known is None else known.get(item) for item in table.items]
    groups: dict[str, dict[str, list[int]]] = {}
    if mixed.score == "equality" and len(table.categories) <= MAX_CATEGORIES:
        key = POSITION if _offers_choices(examples, table.categories) else LABEL
        groups[key] = by_name(majority_names(mixed))
    for key in by:
        groups[key] = slice_examples(key, examples, max_numbers=MAX_SLICES_PER_KEY)
    if known is not None:
        groups.setdefault(LENGTH, slice_by_length(table.question, examples))
        groups.setdefault(OVERLAP, by_name(name_overlaps(examples)))
        if mixed.score == "span-f1":
            groups.setdefault(POSITION, by_name(name_places(mixed, examples)))
    for key, slices in groups.items():
        for value, places in slices.items():
            yield key, value, places


def majority_names(mixed: Mixed) -> list[tuple[str, ...]]:
    """The answer of more than half of the persons, item by item; nothing where no answer has more."""
    shares = mixed.shares(of_machines=False)
    top = shares.argmax(axis=1)
    most = shares[np.arange(len(top)), top]
    names = [str(category) for category in mixed.table.categories]
    return [
        (names[code],) if share > 0.5 else ()
        for code, share in zip(top.tolist(), most.tolist(), strict=True)
    ]


def by_name(names: Sequence[tuple[str, ...]]) -> dict[str, list[int]]:
    """The places of each name, in the order of the names."""
    places: dict[str, list[int]] = {}
    for place, mine in enumerate(names):
        for name in mine:
            places.setdefault(name, []).append(place)
    return {name: places[name] for name in sorted(places)}


def slice_by_length(question: str, examples: Sequence[Example | None]) -> dict[str, list[int]]:
    """Four slices by the characters of all inputs."""
    names = {name for example in examples if example is not None for name in example.inputs}
    task = Task(
        name="",
        dataset="",
        kind="text",
        question=question,
        inputs=tuple(sorted(names)),
        metrics=(),
    )
    return slice_examples(LENGTH, examples, task)


def name_overlaps(examples: Sequence[Example | None]) -> list[tuple[str, ...]]:
    """Four slices by lexical overlap: the share of the character pairs of the shorter text that are in the longer."""
    return name_quarters([overlap_of(example) for example in examples], "")


def overlap_of(example: Example | None) -> float | None:
    """The overlap of the two texts of an example, in hundredths; None where there are not two.

    >>> pair = {"premise": "猫が寝ている", "hypothesis": "猫が寝る"}
    >>> overlap_of(Example(id="1", inputs=pair))
    0.67
    """
    if example is None:
        return None
    texts = [value for value in example.inputs.values() if isinstance(value, str) and value]
    if len(texts) < 2:
        return None
    first, second = ({text[i : i + 2] for i in range(len(text) - 1)} for text in texts[:2])
    fewer = min(len(first), len(second))
    return round(len(first & second) / fewer, 2) if fewer else None


def name_places(mixed: Mixed, examples: Sequence[Example | None]) -> list[tuple[str, ...]]:
    """In which third of the text the spans of persons start, on the mean."""
    table = mixed.table
    starts = [
        float(np.mean([start for start, _, _ in marks])) if marks else math.nan
        for marks in table.categories
    ]
    counted = ~mixed.is_machine[table.worker] & ~np.isnan(np.array(starts))[table.answer]
    part = table.select(counted)
    n = np.bincount(part.item, minlength=len(table.items))
    means = ratio(part.sum_by_item(np.array(starts)[part.answer]), n)
    names: list[tuple[str, ...]] = []
    for mean, example in zip(means.tolist(), examples, strict=True):
        if math.isnan(mean) or example is None:
            names.append(())
        else:
            length = max(1, len(text_of(example.id, example)))
            names.append((PLACES[min(2, int(3 * mean / length))],))
    return names


def _offers_choices(examples: Sequence[Example | None], categories: Sequence[Any]) -> bool:
    """Whether answers are places in a list of choices."""
    if not all(type(category) is int for category in categories):
        return False
    first = next((example for example in examples if example is not None), None)
    return first is not None and any(isinstance(value, list) for value in first.inputs.values())


def compare_slices(
    mixed: Mixed,
    slices: Iterable[tuple[str, str, list[int]]],
    resamples: int,
    seed: int,
) -> list[MachineSlice]:
    """Machines and persons in each slice with enough items, in order; which differ from the other items is tested.

    What persons answered names no slice of items on which they are divided, and machines look better on these: a slice by it is
    compared only with the other slices by it.
    """
    persons, both, _ = mixed.by_kind
    gap = both - persons
    slices = list(slices)
    named = {key: np.zeros(len(gap), dtype=bool) for key, _, _ in slices}
    for key, _, places in slices:
        named[key][places if key in BY_PERSONS else slice(None)] = True
    rows: list[MachineSlice] = []
    p_values: list[float | None] = []
    for key, value, places in slices:
        inside = np.zeros(len(gap), dtype=bool)
        inside[places] = True
        inside &= mixed.shared
        n = int(inside.sum())
        if n < MIN_SLICE_ITEMS:
            continue
        outside = mixed.shared & named[key] & ~inside
        p_values.append(compare_gaps(gap[inside], gap[outside]))
        difference, low, high = estimate(mean_over(gap, inside), resamples, seed)
        rows.append(
            MachineSlice(
                where=f"{key}={value}",
                items=n,
                persons=float(persons[inside].mean()),
                machines=float(both[inside].mean()),
                difference=difference or 0.0,
                low=low,
                high=high,
                p=None,
                unusual=False,
            )
        )
    corrected = iter(correct_holm([p for p in p_values if p is not None]))
    return [
        row if p is None else _with_p(row, next(corrected))
        for row, p in zip(rows, p_values, strict=True)
    ]


def _with_p(row: MachineSlice, p: float) -> MachineSlice:
    from msgspec.structs import replace

    return replace(row, p=p, unusual=p < ALPHA)


def compare_gaps(inside: Floats, outside: Floats) -> float | None:
    """The p that two groups of items have the same mean; None where one has fewer items than can be compared."""
    if min(len(inside), len(outside)) < MIN_SLICE_ITEMS:
        return None
    error = math.sqrt(sum(part.var(ddof=1) / len(part) for part in (inside, outside)))
    return normal_p(float(inside.mean() - outside.mean()), error)


# Habits


def find_habits(mixed: Mixed) -> list[Habit]:
    """The answers and the confusions that machines have more or less often than another person, the largest first.

    A confusion is the answer of a machine where a person gave another one; it is compared with the answer of a second person
    there. Labels only, of few kinds.
    """
    table, keep = mixed.table, mixed.shared
    if mixed.score != "equality" or len(table.categories) > MAX_CATEGORIES or keep.sum() < 2:
        return []
    persons = mixed.shares(of_machines=False)[keep]
    machines = mixed.shares(of_machines=True)[keep]
    counted = np.bincount(table.item[~mixed.is_machine[table.worker]], minlength=len(table.items))
    n = counted[keep].astype(np.float64)[:, None]
    names = [str(category) for category in table.categories]
    rows: list[tuple[str, str, float, float, float]] = []
    gap = machines - persons
    spread = gap.std(axis=0, ddof=1) / math.sqrt(len(gap))
    for code, name in enumerate(names):
        shares = float(machines[:, code].mean()), float(persons[:, code].mean())
        rows.append(("", name, *shares, float(spread[code])))
    rows += _list_confusions(names, persons, machines, n)
    p_values = correct_holm([normal_p(m - p, error) for _, _, m, p, error in rows])
    habits = [
        Habit(
            persons_answer=given,
            answer=answer,
            machines=of_machines,
            persons=of_persons,
            difference=of_machines - of_persons,
            low=of_machines - of_persons - Z_95 * error,
            high=of_machines - of_persons + Z_95 * error,
            p=p,
            unusual=p < ALPHA,
        )
        for (given, answer, of_machines, of_persons, error), p in zip(rows, p_values, strict=True)
    ]
    return sorted((h for h in habits if h.unusual), key=lambda h: -abs(h.difference))


def _list_confusions(
    names: Sequence[str], persons: Floats, machines: Floats, n: Floats
) -> Iterator[tuple[str, str, float, float, float]]:
    """A person's answer, the other answer, how often machines and second persons give it there, and the standard error.

    With r_i the share of persons who answer c, m_i the share of machines that answer k, and o_i that of the other persons,
    the shares are sum r m / sum r and sum r o / sum r: ratios of sums, whose error comes from their linear parts.
    """
    others = (
        persons * n / (n - 1)
    )  # the other persons' answers, given a person who answered something else
    total = persons.sum(axis=0)
    of_machines = persons.T @ machines
    of_others = persons.T @ others
    gap = machines - others
    square = (persons**2).T @ gap**2
    cross = (persons**2).T @ gap
    own = (persons**2).sum(axis=0)
    items = len(persons)
    for c, given in enumerate(names):
        if not total[c]:
            continue
        for k, answer in enumerate(names):
            if k == c:
                continue
            share, base = of_machines[c, k] / total[c], of_others[c, k] / float(total[c])
            d = share - base
            variance = square[c, k] - 2 * d * cross[c, k] + d * d * own[c]
            error = math.sqrt(max(0.0, float(variance)) * items / (items - 1)) / float(total[c])
            yield given, answer, float(share), float(base), error


# Everything


def compare_machines(
    mixed: Mixed,
    known: Mapping[str, Example] | None,
    *,
    by: Sequence[str] = (),
    options: AlternativeOptions | None = None,
    workers_are: str = "persons",
    resamples: int = 1000,
    seed: int = 0,
) -> MachineReport:
    """Everything about machines compared with persons, with the verdict. Raises `BadInput` where they share no item."""
    from nikawa.aggregation.justification import write_verdict

    table = mixed.table
    names = tuple(str(table.workers[code]) for code in mixed.machine_codes)
    if not mixed.shared.any():
        raise NothingShared(mixed)
    remarks = []
    tests = []
    for code in mixed.machine_codes:
        try:
            test = run_alternative_test(
                table,
                ~mixed.is_machine,
                code,
                options,
                closeness=mixed.closeness,
                resamples=resamples,
                seed=seed,
            )
        except BadInput as problem:
            remarks.append(f"{table.workers[code]} was not tested: {problem.what}")
            continue
        tests.append(test)
    if known is None:
        remarks.append("slices by length, overlap and position need the texts: --examples FILE.")
    report = MachineReport(
        machines=names,
        items=int(mixed.shared.sum()),
        answers=int(mixed.is_machine[table.worker].sum()),
        unanswered=mixed.unanswered,
        unit=UNITS[mixed.score],
        verdict="",
        filled_in=mixed.filled_in or msgspec.UNSET,
        agreement=tuple(measure_agreement(mixed, resamples, seed)),
        slices=tuple(compare_slices(mixed, slice_items(mixed, known, by), resamples, seed)),
        habits=tuple(find_habits(mixed)),
        tests=tuple(tests),
        remarks=tuple(remarks),
    )
    return write_verdict(report, workers_are)
