"""`nikawa aggregate --rank`: scores of the things that workers compared, with intervals.

The judgements are those of the forms `preference` (`better`: a, b or tie) and `best-worst` (`best` and `worst`: letters of the
item's choices). The things are what the items' meta names (`a` and `b`, or `choices`), such as systems; else the texts.

`best-worst` counts (Louviere and Woodworth 1991; Kiritchenko and Mohammad 2017, https://doi.org/10.18653/v1/P17-2074): how
often a thing was the best less how often it was the worst, over how often it was shown. Its interval is that of a ratio of
sums over items, with Student's t. Where all items of a thing have the same count, that interval would have no width: it is then
Wilson's interval of the share (score + 1) / 2 in as many trials as items. The split-half reliability is the correlation of the
counts of two random halves of each item's answers, over many halvings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any, ClassVar

import msgspec
import numpy as np

from nikawa.aggregation.judgements import JudgementSource, load_examples, open_source
from nikawa.aggregation.strengths import (
    NO_PLACE,
    Comparisons,
    Floats,
    Ints,
    Strengths,
    find_groups,
    fit_strengths,
)
from nikawa.errors import BadInput, list_names, unknown
from nikawa.io.atomic import atomic_folder
from nikawa.io.json import encode_json
from nikawa.io.judgements import JudgementOptions, Note
from nikawa.records import Example, Record, find_answerer
from nikawa.stats.distributions import normal_p, t_quantile, wilson_interval
from nikawa.stats.resample import correct_holm
from nikawa.tables import ShownAsTables

METHODS = ("bradley-terry", "best-worst", "best-worst-logit")
SIDES = {"a": 0, "b": 1, "tie": NO_PLACE}
MAX_FITTED = 2000
"""Things that a model is fitted to; counts have no limit."""
MAX_RANKED = 300
"""Things of which each pair is tested."""
MIN_HALF_WIDTH = 1e-9
"""Half the width of an interval below which all items of a thing have the same count, but for rounding."""
HALVINGS = 100
MAX_GROUPS_NAMED = 4


@dataclass(frozen=True)
class RankOptions:
    """How things are ranked, and how the judgements are read."""

    method: str = "bradley-terry"
    """`bradley-terry` (two things, ties or not), `best-worst` (counts) or `best-worst-logit` (a model)."""
    question: str | None = None
    """The question that names the better or best thing; None: `better` or `best`."""
    examples: str | None = None
    """The items that were compared; they are needed."""
    how: JudgementOptions = field(default_factory=JudgementOptions)
    """How a file of judgements is read."""
    machines: bool = False
    """Whether answers of models count like those of persons."""
    seed: int = 0
    """Of the halvings."""


class RankedThing(Record, frozen=True, kw_only=True):
    """A thing with its score."""

    thing: str
    """What the items call it: a name or a text."""
    score: float
    """The logarithm of its strength, with mean 0; of counts, from -1 (always the worst) to 1 (always the best)."""
    low: float | None
    """The 95% interval; None where the thing was in one item only."""
    high: float | None
    wins: int
    """How often it was the better one, or the best."""
    losses: int
    """How often it was the worse one, or the worst."""
    ties: int
    shown: int
    """How many answers saw it."""
    win_share: float | None
    """Of a model: the share of wins that it is expected to have against all others."""
    first_place: int | None
    """The best place that it may have: 1 more than the number of things that are significantly better (Holm). None for counts."""
    last_place: int | None


class RankReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """Everything `nikawa aggregate --rank` reports."""

    main_table: ClassVar[str] = "things"
    headline_fields: ClassVar[tuple[str, ...]] = ("judgements", "method", "items", "answers")
    shown_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "things": ("thing", "score", "low", "high", "wins", "losses", "ties")
    }

    judgements: str
    method: str
    items: int
    workers: int
    answers: int
    things: tuple[RankedThing, ...]
    """The best first."""
    are_texts: bool
    """Whether the things are the texts themselves, and not named by the items' meta."""
    tie_parameter: float | None = None
    """Davidson's ν: how likely ties are; None without ties."""
    likelihood: float | None = None
    """The logarithm of the likelihood of a model."""
    in_order: float | None = None
    """The share of answers, ties apart, that prefer the thing with the higher score."""
    split_half: float | None = None
    """Of best-worst: the mean correlation of the counts of two halves of the answers; None with one answer per item."""
    remarks: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    """Oddities of the file."""


@dataclass(frozen=True)
class ReadComparisons:
    """The comparisons of a file, with the names of what was compared."""

    comparisons: Comparisons
    names: tuple[str, ...]
    workers: int
    are_texts: bool


@dataclass(frozen=True)
class Scored:
    """A score for each thing, and what a model says about all."""

    score: Floats
    low: Floats
    high: Floats
    win_share: Floats | None = None
    places: tuple[Ints, Ints] | None = None
    """The best and the last place that each thing may have."""
    ties: float | None = None
    likelihood: float | None = None
    remarks: tuple[str, ...] = ()


def rank_compared(
    spec: str, data: Path | None = None, options: RankOptions | None = None
) -> RankReport:
    """Score the things that workers compared, the best first.

    Raises `BadInput` where things fall into groups that were never compared with each other, and for an answer that names
    nothing of its item.
    """
    options = options or RankOptions()
    if options.method not in METHODS:
        raise unknown("method", options.method, METHODS)
    examples = load_examples(spec, options.examples, data)
    if examples is None:
        cure = "pass them with --examples FILE"
        raise BadInput("--rank needs the items, which name what was compared", file=spec, cure=cure)
    source = open_source(spec, data, options.how, examples, machines=True)
    is_pair = options.method == "bradley-terry"
    best = options.question or ("better" if is_pair else "best")
    answers, unused = collect_answers(source, (best,) if is_pair else (best, "worst"), options)
    read = read_comparisons(answers, examples, source.file, is_pair=is_pair)
    comparisons = read.comparisons
    wins = comparisons.list_wins()
    if options.method == "best-worst":
        scored = count_scores(read, wins)
    else:
        scored = fit_scores(read, wins, source.file)
    remarks = list(scored.remarks)
    if unused:
        remarks.append(f"{unused:,} answers of models do not count; --machines count lets them")
    if source.decisions:
        remarks.append(
            f"{len(source.decisions):,} decisions of owners are not used: a ranking counts the answers of workers"
        )
    return RankReport(
        judgements=spec,
        method=options.method,
        items=len(comparisons.members),
        workers=read.workers,
        answers=len(comparisons.item),
        things=tuple(list_things(read, scored)),
        are_texts=read.are_texts,
        tie_parameter=scored.ties,
        likelihood=scored.likelihood,
        in_order=share_in_order(comparisons, wins, scored.score),
        split_half=None if is_pair else measure_split_half(comparisons, options.seed),
        remarks=tuple(remarks),
        notes=source.notes,
    )


# Reading


def collect_answers(
    source: JudgementSource, questions: Sequence[str], options: RankOptions
) -> tuple[dict[tuple[str, str], dict[str, str]], int]:
    """By item and worker the answers to the questions, and how many of models do not count.

    Raises `BadInput` where an answer is missing, or was given twice.
    """
    answers: dict[tuple[str, str], dict[str, str]] = {}
    others: dict[str, None] = {}
    unused = 0
    for row in source.judgements:
        if row.question not in questions:
            others[row.question] = None
            continue
        if row.answer is None:
            continue
        if not options.machines and find_answerer(row) != "person":
            unused += 1
            continue
        given = answers.setdefault((row.example, row.worker), {})
        if row.question in given:
            what = f"{row.worker} answers {row.question!r} about {row.example!r} twice"
            raise BadInput(what, file=source.file, cure="keep one of the answers")
        given[row.question] = row.answer
    if unused and not answers:
        what = f"all {unused:,} answers are of models or simulated: no person answered"
        cure = "add the answers of persons, or pass --machines count"
        raise BadInput(what, file=source.file, cure=cure)
    if not answers:
        found = f"; they answer {list_names(list(others))}" if others else ""
        what = f"no judgement answers {questions[0]!r}{found}"
        raise BadInput(what, file=source.file, cure="name the question with --question")
    for (item, worker), given in answers.items():
        for question in questions:
            if question not in given:
                what = f"{worker} does not answer {question!r} about {item!r}"
                raise BadInput(what, file=source.file, cure="add the answer, or remove the other")
    return answers, unused


def name_things(examples: Sequence[Example], *, is_pair: bool) -> tuple[list[list[str]], bool]:
    """What each item compares, by the names in its meta if all items have them, else by its texts; and whether it is texts."""
    named: list[list[str]] = []
    for example in examples:
        names = (
            [example.meta.get(side) for side in ("a", "b")]
            if is_pair
            else example.meta.get("choices")
        )
        shown = list_texts(example, is_pair=is_pair)
        if not isinstance(names, list | tuple) or len(names) != len(shown):
            return [list_texts(one, is_pair=is_pair) for one in examples], True
        if not all(isinstance(name, str) and name for name in names):
            return [list_texts(one, is_pair=is_pair) for one in examples], True
        named.append([str(name) for name in names])
    return named, False


def list_texts(example: Example, *, is_pair: bool) -> list[str]:
    """The texts that an item shows; raises `BadInput` where it has none."""
    inputs = example.inputs
    texts: Any = [inputs.get("a"), inputs.get("b")] if is_pair else inputs.get("choices")
    is_list = isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
    least = 2 if is_pair else 3
    if is_list and least <= len(texts) <= len(ascii_uppercase):
        return [str(text) for text in texts]
    needed = "the inputs a and b" if is_pair else "the input choices, a list of at least 3 texts"
    cure = "pass the items that workers saw, or choose another --rank"
    raise BadInput(f"the item {example.id!r} does not have {needed}", cure=cure)


def read_comparisons(
    answers: Mapping[tuple[str, str], Mapping[str, str]],
    examples: Mapping[str, Example],
    file: Path | None,
    *,
    is_pair: bool,
) -> ReadComparisons:
    """The answers as places of numbered things."""
    items = {item: place for place, item in enumerate(dict.fromkeys(item for item, _ in answers))}
    shown, are_texts = name_things([examples[item] for item in items], is_pair=is_pair)
    for item, names in zip(items, shown, strict=True):
        if len(set(names)) < len(names):
            what = f"the item {item!r} compares {list_names(names)}: one thing twice"
            raise BadInput(what, cure="remove the item, or correct its meta")
    numbers = {name: n for n, name in enumerate(dict.fromkeys(one for row in shown for one in row))}
    width = max(map(len, shown))
    members = np.full((len(shown), width), NO_PLACE, dtype=np.int64)
    for place, names in enumerate(shown):
        members[place, : len(names)] = [numbers[name] for name in names]
    item_of, places = [], []
    for (item, worker), given in answers.items():
        letters = (
            SIDES
            if is_pair
            else dict(zip(ascii_uppercase, range(len(shown[items[item]])), strict=False))
        )
        chosen = []
        for question, answer in given.items():
            if not isinstance(answer, str) or answer not in letters:
                what = f"{worker} answers {question!r} about {item!r} with {answer!r}"
                raise BadInput(what, file=file, cure=f"write one of {', '.join(letters)}")
            chosen.append(letters[answer])
        if not is_pair and chosen[0] == chosen[1]:
            what = f"{worker} chooses the same as the best and the worst of {item!r}"
            raise BadInput(what, file=file, cure="choose two different ones")
        item_of.append(items[item])
        # a file may hold the worst before the best
        places.append(chosen if is_pair or next(iter(given)) != "worst" else chosen[::-1])
    columns = np.array(places, dtype=np.int64)
    comparisons = Comparisons(
        things=len(numbers),
        members=members,
        item=np.array(item_of, dtype=np.int64),
        best=columns[:, 0],
        worst=None if is_pair else columns[:, 1],
    )
    workers = len({worker for _, worker in answers})
    return ReadComparisons(comparisons, tuple(numbers), workers, are_texts)


# Scores


def describe_groups(groups: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """The first things of each group, for a message."""
    shown = [list_names([names[one] for one in group]) for group in groups[:MAX_GROUPS_NAMED]]
    return " | ".join(shown) + (" | …" if len(groups) > MAX_GROUPS_NAMED else "")


def fit_scores(read: ReadComparisons, wins: tuple[Ints, Ints], file: Path | None) -> Scored:
    """Strengths by a model, with intervals, expected wins and the places that each thing may have."""
    things = read.comparisons.things
    if things > MAX_FITTED:
        what = f"{things:,} things are more than a model is fitted to ({MAX_FITTED:,})"
        raise BadInput(what, file=file, cure="use --rank best-worst, which counts")
    groups = find_groups(things, wins)
    if len(groups) > 1:
        what = f"the things fall into {len(groups)} groups that were never compared with each other: {describe_groups(groups, read.names)}"
        raise BadInput(
            what, file=file, cure="compare things across the groups, or rank each group on its own"
        )
    if (read.comparisons.best == NO_PLACE).all():
        what = f"all {len(read.comparisons.item):,} answers are ties, which put nothing in an order"
        cure = "no score can be fitted: all things are equal as far as these answers show"
        raise BadInput(what, file=file, cure=cure)
    fitted = fit_strengths(read.comparisons)
    low, high = fitted.intervals()
    remarks: tuple[str, ...] = ()
    if fitted.is_held:
        remarks = (
            "some things won or lost every comparison with the others (ties apart), so their scores would be infinite: each thing got half a"
            " win and half a loss against a thing of average strength",
        )
    return Scored(
        score=fitted.values,
        low=low,
        high=high,
        win_share=fitted.win_share() if read.comparisons.worst is None else None,
        places=find_places(fitted) if 1 < things <= MAX_RANKED else None,
        ties=fitted.ties,
        likelihood=fitted.likelihood,
        remarks=remarks,
    )


def find_places(fitted: Strengths) -> tuple[Ints, Ints]:
    """The places that each thing may have: those of the things that are not significantly better or worse, by Holm."""
    errors, things = fitted.errors_of_differences, len(fitted.values)
    pairs = [(one, other) for one in range(things) for other in range(one)]
    gaps = [float(fitted.values[one] - fitted.values[other]) for one, other in pairs]
    p = correct_holm(
        [normal_p(gap, float(errors[pair])) for pair, gap in zip(pairs, gaps, strict=True)]
    )
    better, worse = np.zeros(things, dtype=np.int64), np.zeros(things, dtype=np.int64)
    for (one, other), gap, chance in zip(pairs, gaps, p, strict=True):
        if chance < 0.05:
            ahead, behind = (one, other) if gap > 0 else (other, one)
            better[behind] += 1
            worse[ahead] += 1
    return better + 1, things - worse


def count_scores(read: ReadComparisons, wins: tuple[Ints, Ints]) -> Scored:
    """The best less the worst over how often a thing was shown, with the interval of a ratio of sums over items."""
    comparisons = read.comparisons
    items, width = comparisons.members.shape
    assert comparisons.worst is not None
    gained, seen = np.zeros((items, width)), np.zeros((items, width))
    np.add.at(gained, (comparisons.item, comparisons.best), 1)
    np.add.at(gained, (comparisons.item, comparisons.worst), -1)
    seen[:] = np.bincount(comparisons.item, minlength=items)[:, None]
    is_shown = comparisons.members >= 0
    member, gain, count = comparisons.members[is_shown], gained[is_shown], seen[is_shown]

    def add(values: Floats) -> Floats:
        return np.bincount(member, weights=values, minlength=comparisons.things).astype(np.float64)

    total = add(count)
    score = add(gain) / total
    apart = add((gain - score[member] * count) ** 2)
    clusters = add(np.ones(len(member)))
    half = np.full(comparisons.things, np.nan)
    several = clusters > 1
    degrees = clusters[several] - 1
    error = np.sqrt(apart[several] * (degrees + 1) / degrees) / total[several]
    quantile = np.array([t_quantile(0.975, one) for one in degrees.tolist()])
    half[several] = error * quantile
    low, high = np.maximum(score - half, -1), np.minimum(score + half, 1)
    for thing in np.flatnonzero(several & (half < MIN_HALF_WIDTH)).tolist():
        value = float(score[thing])
        first, last = wilson_interval((value + 1) / 2, int(clusters[thing]))
        low[thing], high[thing] = min(2 * first - 1, value), max(2 * last - 1, value)
    groups = find_groups(comparisons.things, wins)
    remarks = []
    if len(groups) > 1:
        remarks.append(
            f"scores cannot be compared across {len(groups)} groups of things that were never compared with each other: {describe_groups(groups, read.names)}"
        )
    if not several.all():
        remarks.append(
            f"{int((~several).sum()):,} things are in one item only and have no interval"
        )
    return Scored(score, low, high, remarks=tuple(remarks))


def list_things(read: ReadComparisons, scored: Scored) -> Iterator[RankedThing]:
    """The things, the best first; those of one score in the order of the items."""
    comparisons = read.comparisons
    members = comparisons.members[comparisons.item]
    rows = np.arange(len(members))

    def count(places: Ints, keep: Any = True) -> Ints:
        chosen = members[rows, places][np.broadcast_to(keep, rows.shape)]
        return np.bincount(chosen[chosen >= 0], minlength=comparisons.things)

    is_tie = comparisons.best == NO_PLACE
    won = count(comparisons.best, ~is_tie)
    lost = (
        count(np.where(is_tie, 0, 1 - comparisons.best), ~is_tie)
        if comparisons.worst is None
        else count(comparisons.worst)
    )
    tied = np.bincount(members[is_tie].ravel(), minlength=comparisons.things)
    shown = np.bincount(members[members >= 0], minlength=comparisons.things)
    for place in np.argsort(-scored.score, kind="stable").tolist():
        yield RankedThing(
            thing=read.names[place],
            score=round(float(scored.score[place]), 12) + 0.0,  # no residue, and no -0
            low=_number(scored.low[place]),
            high=_number(scored.high[place]),
            wins=int(won[place]),
            losses=int(lost[place]),
            ties=int(tied[place]),
            shown=int(shown[place]),
            win_share=None if scored.win_share is None else float(scored.win_share[place]),
            first_place=None if scored.places is None else int(scored.places[0][place]),
            last_place=None if scored.places is None else int(scored.places[1][place]),
        )


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def share_in_order(
    comparisons: Comparisons, wins: tuple[Ints, Ints], score: Floats
) -> float | None:
    """The share of wins of the thing with the higher score; equal scores are half."""
    winners, losers = wins
    if comparisons.worst is None:  # a tie is a win for both, and has no order
        keep = comparisons.best != NO_PLACE
        shown = comparisons.members[comparisons.item][keep]
        rows, best = np.arange(len(shown)), comparisons.best[keep]
        winners, losers = shown[rows, best], shown[rows, 1 - best]
    if not len(winners):
        return None
    gap = score[winners] - score[losers]
    return float(((gap > 0) + (gap == 0) / 2).mean())


def measure_split_half(comparisons: Comparisons, seed: int) -> float | None:
    """The mean correlation of the counts of two halves of each item's answers; None where no item has two."""
    assert comparisons.worst is not None
    answers = np.bincount(comparisons.item)
    keep = answers[comparisons.item] > 1
    if not keep.any():
        return None
    item = comparisons.item[keep]
    members = comparisons.members[item]
    rows = np.arange(len(item))
    best, worst = (members[rows, places[keep]] for places in (comparisons.best, comparisons.worst))
    draw = np.random.default_rng(seed)
    values = []
    for _ in range(HALVINGS):
        # the rank of a drawn number among the answers of an item puts every other answer into one half
        order = np.lexsort((draw.random(len(item)), item))
        turn = np.empty(len(item), dtype=np.int64)
        starts = np.r_[0, np.cumsum(np.bincount(item)[np.unique(item)])[:-1]]
        turn[order] = np.arange(len(item)) - np.repeat(starts, np.bincount(item)[np.unique(item)])
        halves = []
        for side in (0, 1):
            part = (turn + item) % 2 == side
            shown = members[part]
            seen = np.bincount(shown[shown >= 0], minlength=comparisons.things)
            gain = np.bincount(best[part], minlength=comparisons.things) - np.bincount(
                worst[part], minlength=comparisons.things
            )
            with np.errstate(invalid="ignore"):
                halves.append(gain / seen)
        one, other = halves
        both = np.isfinite(one) & np.isfinite(other)
        if both.sum() > 2 and one[both].std() and other[both].std():
            values.append(float(np.corrcoef(one[both], other[both])[0, 1]))
    return float(np.mean(values)) if values else None


# Writing


def write_ranking(report: RankReport, out: Path, *, overwrite: bool = False) -> list[str]:
    """Write the folder whole or not at all; returns the names of its files.

    `scores.jsonl` has a line for each thing; `examples.jsonl`, if the things are texts, an example with the gold `score`.
    """
    with atomic_folder(out, overwrite=overwrite) as folder:
        with (folder / "scores.jsonl").open("wb") as stream:
            stream.writelines(encode_json(thing) + b"\n" for thing in report.things)
        if report.are_texts:
            digits = len(str(len(report.things)))
            with (folder / "examples.jsonl").open("wb") as stream:
                for number, thing in enumerate(report.things, start=1):
                    meta = {
                        name: value
                        for name in ("low", "high")
                        if (value := getattr(thing, name)) is not None
                    }
                    example = Example(
                        id=f"{number:0{digits}}",
                        inputs={"text": thing.thing},
                        gold={"score": thing.score},
                        meta={**meta, "shown": thing.shown},
                    )
                    stream.write(encode_json(example) + b"\n")
        summary = msgspec.json.format(msgspec.json.encode(report), indent=2)
        (folder / "summary.json").write_bytes(summary + b"\n")
        return sorted(path.name for path in folder.iterdir())
