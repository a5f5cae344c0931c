"""Scores of compared things: the fit against a general optimiser, intervals that cover, graphs without a scale, and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from nikawa.aggregation.agree_job import agree
from nikawa.aggregation.ranking import RankOptions, rank_compared, write_ranking
from nikawa.aggregation.strengths import Comparisons, can_ties_grow, fit_strengths
from nikawa.datasets import load
from nikawa.errors import BadInput
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

THINGS = 6
TRUE = np.array([1.2, 0.7, 0.1, -0.2, -0.6, -1.2])
TIES = 0.5


def draw_pairs(seed: int, items: int, workers: int = 2) -> Comparisons:
    draw = np.random.default_rng(seed)
    members = np.array([draw.choice(THINGS, 2, replace=False) for _ in range(items)])
    odds = np.exp(np.column_stack([TRUE[members], np.log(TIES) + TRUE[members].mean(axis=1)]))
    odds /= odds.sum(axis=1, keepdims=True)
    best = [[0, 1, -1][draw.choice(3, p=row)] for row in odds for _ in range(workers)]
    return Comparisons(THINGS, members, np.repeat(np.arange(items), workers), np.array(best))


def draw_choices(seed: int, items: int, workers: int = 2) -> Comparisons:
    draw = np.random.default_rng(seed)
    members, item, best, worst = [], [], [], []
    for number in range(items):
        shown = draw.choice(THINGS, 4, replace=False)
        members.append(shown)
        for _ in range(workers):
            odds = np.exp(TRUE[shown])
            first = draw.choice(4, p=odds / odds.sum())
            odds = np.exp(-TRUE[shown])
            odds[first] = 0
            item.append(number)
            best.append(first)
            worst.append(draw.choice(4, p=odds / odds.sum()))
    return Comparisons(THINGS, *map(np.array, (members, item, best, worst)))


def loss_of_pairs(point: Any, given: Comparisons) -> float:
    """The negative logarithm of the likelihood, written down once more."""
    total = 0.5 * point[:THINGS].sum() ** 2
    for item, best in zip(given.item, given.best, strict=True):
        one, other = point[given.members[item]]
        said = (one, other, point[THINGS] + (one + other) / 2)
        total -= said[2 if best < 0 else best] - np.log(np.exp(said).sum())
    return float(total)


def loss_of_choices(point: Any, given: Comparisons) -> float:
    assert given.worst is not None
    total = 0.5 * point.sum() ** 2
    for item, best, worst in zip(given.item, given.best, given.worst, strict=True):
        shown = point[given.members[item]]
        rest = np.delete(shown, best)
        total -= shown[best] - np.log(np.exp(shown).sum())
        total -= -shown[worst] - np.log(np.exp(-rest).sum())
    return float(total)


def test_the_fit_is_the_maximum_that_a_general_optimiser_finds() -> None:
    pairs, choices = draw_pairs(1, 40), draw_choices(2, 40)
    fitted = fit_strengths(pairs)
    found = minimize(loss_of_pairs, np.zeros(THINGS + 1), args=(pairs,), tol=1e-10)
    assert fitted.values == pytest.approx(found.x[:THINGS], abs=1e-5)
    assert fitted.ties == pytest.approx(np.exp(found.x[THINGS]), abs=1e-5)
    assert fitted.likelihood == pytest.approx(-found.fun, abs=1e-8)
    both = fit_strengths(choices)
    found = minimize(loss_of_choices, np.zeros(THINGS), args=(choices,), tol=1e-10)
    assert both.values == pytest.approx(found.x, abs=1e-5)
    assert both.likelihood == pytest.approx(-found.fun, abs=1e-8)
    assert both.ties is None


def test_two_things_have_the_strengths_that_can_be_written_down() -> None:
    """7 wins, 2 losses, 3 ties: the gap is log(7/2), and ν = 3 / sqrt(14)."""
    best = np.array([0] * 7 + [1] * 2 + [-1] * 3)
    given = Comparisons(2, np.array([[0, 1]] * 12), np.arange(12), best)
    fitted = fit_strengths(given)
    assert fitted.values[0] - fitted.values[1] == pytest.approx(np.log(7 / 2))
    assert fitted.ties == pytest.approx(3 / np.sqrt(14))
    assert fitted.win_share() == pytest.approx([(7 + 1.5) / 12, (2 + 1.5) / 12])
    # the gap is the difference of two logarithms of counts
    assert np.diag(fitted.covariances[0])[0] == pytest.approx((1 / 7 + 1 / 2) / 4)


@pytest.mark.parametrize(("draw", "items"), [(draw_pairs, 60), (draw_choices, 40)])
def test_intervals_cover_what_they_should(draw: Callable[..., Comparisons], items: int) -> None:
    inside = []
    for seed in range(60):
        low, high = fit_strengths(draw(seed, items)).intervals()
        inside += ((low <= TRUE) & (high >= TRUE)).tolist()
    assert 0.90 < np.mean(inside) < 0.995


# Files

SYSTEMS = ("甲", "乙", "丙")


def write_pairs(
    folder: Path, votes: list[tuple[str, str, str]], named: bool = True
) -> tuple[str, str]:
    """An item for each vote: the first system, the second, the answer."""
    examples = [
        Example(
            id=f"i{n}",
            inputs={
                "a": f"{one}の訳{'' if not named else n}",
                "b": f"{other}の訳{'' if not named else n}",
            },
            meta={"a": one, "b": other} if named else {},
        )
        for n, (one, other, _) in enumerate(votes)
    ]
    rows = [
        Judgement(example=f"i{n}", worker="hana", question=question, answer=answer)
        for n, (_, _, better) in enumerate(votes)
        for question, answer in (("better", better), ("by", 0 if better == "tie" else 1))
    ]
    write_records(folder / "items.jsonl", examples, overwrite=True)
    write_records(folder / "answers.jsonl", rows, overwrite=True)
    return str(folder / "answers.jsonl"), str(folder / "items.jsonl")


ROUND = [
    (one, other, better)
    for one, other in (("甲", "乙"), ("乙", "丙"), ("甲", "丙"))
    for better in ("a", "a", "b", "tie")
]


def test_systems_are_ranked_by_the_names_in_the_meta(tmp_path: Path) -> None:
    answers, items = write_pairs(tmp_path, ROUND)
    report = rank_compared(answers, options=RankOptions(examples=items))
    assert [one.thing for one in report.things] == ["甲", "乙", "丙"]
    first, second, third = report.things
    assert (first.wins, first.losses, first.ties, first.shown) == (4, 2, 2, 8)
    assert second.score == pytest.approx(0, abs=1e-9)
    assert first.score == pytest.approx(-third.score)
    assert (first.first_place, first.last_place) == (1, 3)  # three answers decide nothing
    assert report.in_order == pytest.approx(6 / 9)
    assert not report.are_texts
    assert write_ranking(report, tmp_path / "out") == ["scores.jsonl", "summary.json"]
    swapped = [
        (other, one, {"a": "b", "b": "a"}.get(better, better)) for one, other, better in ROUND
    ]
    turned = rank_compared(*write_pairs(tmp_path, swapped)[:1], options=RankOptions(examples=items))
    assert [one.score for one in turned.things] == pytest.approx(
        [one.score for one in report.things]
    )


def test_many_answers_tell_places_apart(tmp_path: Path) -> None:
    answers, items = write_pairs(
        tmp_path,
        [(one, other, better) for one, other, better in ROUND * 40 if better != "b"] + ROUND * 5,
    )
    report = rank_compared(answers, options=RankOptions(examples=items))
    assert [(one.first_place, one.last_place) for one in report.things] == [(1, 1), (2, 2), (3, 3)]


def test_texts_without_names_are_the_things(tmp_path: Path) -> None:
    answers, items = write_pairs(tmp_path, ROUND, named=False)
    report = rank_compared(answers, options=RankOptions(examples=items))
    assert [one.thing for one in report.things] == ["甲の訳", "乙の訳", "丙の訳"]
    write_ranking(report, tmp_path / "out")
    made = load(str(tmp_path / "out" / "examples.jsonl"))
    assert [example.gold["score"] for example in made] == [one.score for one in report.things]


def test_groups_that_never_met_are_refused_and_perfect_records_reported(tmp_path: Path) -> None:
    answers, items = write_pairs(tmp_path, [*ROUND, ("丁", "戊", "a"), ("丁", "戊", "b")])
    with pytest.raises(BadInput, match=r"2 groups that were never compared.*甲, 乙, 丙 \| 丁, 戊"):
        rank_compared(answers, options=RankOptions(examples=items))
    answers, items = write_pairs(tmp_path, [*ROUND, ("丁", "甲", "a")])
    report = rank_compared(answers, options=RankOptions(examples=items))
    assert report.things[0].thing == "丁"
    assert "infinite" in report.remarks[0]
    assert report.things[0].high is not None
    assert report.things[0].high < 10


@pytest.mark.parametrize("wins", [1, 5])
def test_wins_and_ties_without_a_loss_give_no_infinite_score(wins: int, tmp_path: Path) -> None:
    answers, items = write_pairs(tmp_path, [("甲", "乙", "a")] * wins + [("乙", "甲", "tie")])
    report = rank_compared(answers, options=RankOptions(examples=items))
    first = report.things[0]
    assert first.thing == "甲"
    assert first.low is not None
    assert first.high is not None
    assert first.low < first.score < first.high
    assert first.score < 3
    assert first.last_place == 2
    assert "infinite" in report.remarks[0]


def test_answers_that_are_all_ties_are_refused(tmp_path: Path) -> None:
    answers, items = write_pairs(tmp_path, [("甲", "乙", "tie"), ("乙", "丙", "tie")])
    with pytest.raises(BadInput, match="all 2 answers are ties"):
        rank_compared(answers, options=RankOptions(examples=items))


def test_growing_ties_are_found_as_a_linear_program_finds_them() -> None:
    found = set()
    for seed in range(60):
        draw = np.random.default_rng(seed)
        members = np.array([draw.choice(4, 2, replace=False) for _ in range(5)])
        given = Comparisons(4, members, np.arange(5), draw.choice([0, 0, -1], 5))
        rows, limits = [], []
        for (one, other), best in zip(members, given.best, strict=True):
            row = np.zeros(4)
            row[one], row[other] = 1, -1
            rows += [-row] if best == 0 else [row, -row]
            limits += [-1] if best == 0 else [1, 1]
        program = linprog(np.zeros(4), A_ub=rows, b_ub=limits, bounds=(None, None))
        assert can_ties_grow(given) == program.success
        found.add(program.success)
    assert found == {True, False}


@pytest.mark.parametrize(
    ("votes", "what"),
    [
        ([("甲", "乙", "c")], "with 'c'"),
        ([("甲", "甲", "a")], "one thing twice"),
    ],
)
def test_wrong_comparisons_are_one_line(
    votes: list[tuple[str, str, str]], what: str, tmp_path: Path
) -> None:
    answers, items = write_pairs(tmp_path, votes)
    with pytest.raises(BadInput, match=what):
        rank_compared(answers, options=RankOptions(examples=items))


def test_agreement_puts_a_tie_half_way(tmp_path: Path) -> None:
    votes = {
        "1": ("a", "a", "b"),
        "2": ("b", "b", "tie"),
        "3": ("a", "tie", "tie"),
        "4": ("b", "b", "b"),
    }
    rows = [
        Judgement(example=item, worker=f"w{n}", question="better", answer=answer)
        for item, answers in votes.items()
        for n, answer in enumerate(answers)
    ]
    write_records(tmp_path / "votes.jsonl", rows)
    measured = {one.name: one for one in agree(str(tmp_path / "votes.jsonl")).report.measures}
    numbers = [[{"a": -1, "tie": 0, "b": 1}[one] for one in answers] for answers in votes.values()]
    flat = np.array(numbers).ravel()
    within = (
        np.mean([(one - other) ** 2 for row in numbers for one in row for other in row]) * 9 / 6
    )
    whole = np.mean([(one - other) ** 2 for one in flat for other in flat]) * 12 / 11
    assert measured["alpha-preference"].value == pytest.approx(1 - within / whole)
    assert measured["opposed"].value == pytest.approx((2 / 3 + 0 + 0 + 0) / 4)
    assert measured["alpha"].level == "nominal"


def write_choices(folder: Path, given: Comparisons) -> tuple[str, str]:
    assert given.worst is not None
    texts = [f"表現{n}" for n in range(THINGS)]
    write_records(
        folder / "sets.jsonl",
        [
            Example(id=f"s{n}", inputs={"choices": [texts[m] for m in row]})
            for n, row in enumerate(given.members)
        ],
    )
    write_records(
        folder / "said.jsonl",
        [
            Judgement(
                example=f"s{item}", worker=f"w{n % 2}", question=question, answer="ABCD"[place]
            )
            for n, item in enumerate(given.item)
            for question, place in (("worst", given.worst[n]), ("best", given.best[n]))
        ],
    )
    return str(folder / "said.jsonl"), str(folder / "sets.jsonl")


def test_best_worst_counts_and_model(tmp_path: Path) -> None:
    given = draw_choices(5, 60)
    said, sets = write_choices(tmp_path, given)
    counted = rank_compared(said, options=RankOptions("best-worst", examples=sets))
    shown = np.bincount(given.members[given.item].ravel())
    best = np.bincount(given.members[given.item, given.best], minlength=THINGS)
    worst = np.bincount(given.members[given.item, given.worst], minlength=THINGS)
    expected = dict(zip([f"表現{n}" for n in range(THINGS)], (best - worst) / shown, strict=True))
    assert {one.thing: one.score for one in counted.things} == pytest.approx(expected)
    assert all(
        -1 <= one.low <= one.score <= one.high <= 1
        for one in counted.things
        if one.low is not None and one.high is not None
    )
    assert counted.split_half is not None
    assert 0.7 < counted.split_half <= 1
    again = rank_compared(said, options=RankOptions("best-worst", examples=sets))
    assert again == counted
    model = rank_compared(said, options=RankOptions("best-worst-logit", examples=sets))
    fitted = fit_strengths(given)
    assert {one.thing: one.score for one in model.things} == pytest.approx(
        dict(zip(expected, fitted.values, strict=True))
    )


def test_a_thing_that_always_won_or_is_never_chosen_has_an_interval(tmp_path: Path) -> None:
    members = np.array([[0, 1, 2, 3]] * 8)
    item = np.repeat(np.arange(8), 2)
    given = Comparisons(4, members, item, np.zeros(16, dtype=int), np.full(16, 3))
    answers, sets = write_choices(tmp_path, given)
    counted = rank_compared(answers, options=RankOptions("best-worst", examples=sets))
    rows = {one.thing: (one.low, one.score, one.high) for one in counted.things}
    # Wilson: 8 of 8 are 0.6756 to 1, half of 8 are 0.2152 to 0.7848
    assert rows["表現0"] == pytest.approx((0.3512, 1, 1), abs=1e-4)
    assert rows["表現3"] == pytest.approx((-1, -1, -0.3512), abs=1e-4)
    assert rows["表現1"] == pytest.approx((-0.5696, 0, 0.5696), abs=1e-4)


def test_the_command_prints_the_order_and_refuses_what_does_not_fit(
    nikawa: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    answers, items = write_pairs(tmp_path, ROUND)
    rank = ("aggregate", answers, "--rank", "bradley-terry")
    done = nikawa(*rank, "--examples", items, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("甲") < done.stdout.index("乙") < done.stdout.index("丙")
    assert (
        json.loads((tmp_path / "out" / "scores.jsonl").read_text("utf-8").splitlines()[0])["thing"]
        == "甲"
    )
    for words, cure in (
        (rank, "pass them with --examples"),
        ((*rank, "--examples", items, "--rule", "majority"), "leave out --rule"),
        (("aggregate", answers, "--rank", "elo", "--examples", items), "bradley-terry"),
        (("aggregate", answers, "--rank", "best-worst", "--examples", items), "--question"),
    ):
        failed = nikawa(*words)
        assert failed.returncode == 2
        assert cure in failed.stderr
        assert failed.stderr.count("\n") <= 4
