"""The alternative annotator test: by hand, at its edges, and against the authors' values where they are at hand."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nikawa.aggregation.alternative import (
    AlternativeOptions,
    AlternativeTest,
    run_alternative_test,
    t_statistic,
)
from nikawa.aggregation.closeness import Closeness, Score
from nikawa.aggregation.golden import GOLDEN, golden_alternative_test
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput
from nikawa.scoring.conformance import check_conformance
from nikawa.stats.distributions import t_below
from nikawa.stats.resample import correct_benjamini_yekutieli, reject_benjamini_yekutieli


def make_case(humans: dict[str, Any], machine: Any, **settings: Any) -> dict[str, Any]:
    defaults = {"scoring": "accuracy", "epsilon": 0.2, "q": 0.05, "min_items_per_human": 2}
    rows = {name: dict(enumerate(answers)) for name, answers in humans.items()}
    return {"humans": rows, "machine": dict(enumerate(machine)), **defaults, **settings}


def run(case: dict[str, Any]) -> tuple[float, float]:
    result = golden_alternative_test(case)
    return result["winning_rate"], result["advantage_probability"]


def test_the_authors_values() -> None:
    given = os.environ.get("NIKAWA_SHARED")
    folder = (Path(given) if given else Path(__file__).parents[3] / "shared") / "golden"
    if not (folder / "alttest.json").is_file():
        pytest.skip("no golden file of the authors' values here")
    report = check_conformance(folder / "alttest.json", GOLDEN)
    assert [failure for group in report.groups for failure in group.failures] == []
    assert report.groups[0].passed >= 10


def test_a_constant_difference_wins_below_epsilon_only() -> None:
    everyone_alike = make_case(dict.fromkeys("xyz", "aabb"), "aabb")
    assert run(everyone_alike) == (1.0, 1.0)
    assert run({**everyone_alike, "epsilon": 0.0}) == (0.0, 1.0)  # 0 is not below 0: undefined
    never_right = make_case(dict.fromkeys("xyz", "aabb"), "cccc")
    assert run(never_right) == (0.0, 0.0)


def test_a_tie_counts_for_both() -> None:
    # x and y differ on the last item: left out, each is scored against one other, and loses to z there
    case = make_case({"x": "aaab", "y": "aaac"}, "aaad", epsilon=0.5)
    assert run(case) == (1.0, 1.0)


def test_persons_with_few_items_are_skipped() -> None:
    case = make_case({"x": "abab", "y": "abab", "z": "b"}, "abab")
    result = run(case)
    assert result == (1.0, 1.0)
    assert run({**case, "min_items_per_human": 1})[0] == pytest.approx(2 / 3)  # one item: no t test
    with pytest.raises(BadInput, match="no person shares 30 items or more"):
        run({**case, "min_items_per_human": 30})


def test_items_with_few_persons_or_no_machine_are_skipped() -> None:
    case = make_case({"x": "aaaa", "y": "aaa"}, "aaaa")
    table_result = run({**case, "min_humans_per_item": 2})
    assert table_result == (1.0, 1.0)
    alone = run({**case, "min_humans_per_item": 1})  # on the last item x is alone: nobody wins it
    assert alone == (1.0, (3 / 4 + 1) / 2)
    case["machine"] = {0: "a", 1: "a", 2: None, 9: "a"}
    assert run(case) == (1.0, 1.0)


def test_one_person_alone_never_wins_or_loses() -> None:
    assert run(make_case({"x": "abab"}, "abab", min_humans_per_item=1)) == (1.0, 0.0)
    with pytest.raises(BadInput, match="no person shares"):
        run(make_case({"x": "abab"}, "abab"))


def test_numbers_are_scored_by_distance() -> None:
    humans = {"x": [1, 2, 3, 4], "y": [1, 2, 3, 5], "z": [2, 2, 4, 5]}
    near = make_case(humans, [1.2, 2, 3.4, 4.8], scoring="neg_rmse", epsilon=0.9)
    far = make_case(humans, [5, 5, 0, 0], scoring="neg_rmse", epsilon=0.9)
    assert run(near)[1] > 0.8
    assert run(far) == (0.0, 0.0)


def test_spans_are_scored_by_f1() -> None:
    one, other = {"start": 0, "end": 2, "label": "PS"}, {"start": 3, "end": 5, "label": "LC"}
    humans = {"x": [[one], [one, other], []], "y": [[one], [one], []], "z": [[one], [one], []]}
    same = make_case(humans, [[one], [one], []], scoring="span_f1")
    assert run(same) == (2 / 3, 1.0)  # better than x on one item of three, which is not enough
    assert run(make_case(humans, [[], [], [one]], scoring="span_f1")) == (0.0, 0.0)


def test_several_persons() -> None:
    generator = np.random.default_rng(3)
    truth = generator.integers(0, 3, 60)
    rows = []
    for worker in range(5):
        given = np.where(generator.random(60) < 0.8, truth, generator.integers(0, 3, 60))
        rows += [(item, f"p{worker}", answer) for item, answer in enumerate(given.tolist())]
    machine = np.where(generator.random(60) < 0.9, truth, (truth + 1) % 3)
    rows += [(item, "model:m", answer) for item, answer in enumerate(machine.tolist())]
    items, workers, answers = zip(*rows, strict=True)
    table = Table.from_columns(items, workers, [f"l{answer}" for answer in answers])
    persons = np.array([name != "model:m" for name in table.workers])
    test = run_alternative_test(table, persons, table.workers.index("model:m"), resamples=50)
    assert isinstance(test, AlternativeTest)
    assert (test.items, test.skipped_items, test.score, test.passed) == (60, 0, "equality", True)
    assert test.winning_rate == 1.0
    assert test.low is not None
    assert test.high is not None
    assert 0.8 < test.low < test.advantage < test.high <= 1
    assert all(row.advantage + row.person_advantage >= 1 for row in test.persons)
    strict = AlternativeOptions(epsilon=-0.9)
    assert run_alternative_test(table, persons, 5, strict).winning_rate == 0


@pytest.mark.parametrize(("score", "answers"), [("span-f1", "ab"), ("neg-rmse", "ab")])
def test_scores_that_do_not_fit(score: Score, answers: str) -> None:
    table = Table.from_columns([1, 2], ["w", "w"], list(answers))
    with pytest.raises(BadInput, match="are not"):
        Closeness(table, score)


def test_t_against_epsilon() -> None:
    assert t_statistic(2, 4, 10, 0.2) == 0.0
    assert t_statistic(0, 0, 10, 0.1) == -math.inf
    assert math.isnan(t_statistic(1, 1, 1, 0.2))
    assert t_below(-math.inf, 9) == 0.0
    assert t_below(math.inf, 9) == 1.0
    assert t_below(-2.262157162854, 9) == pytest.approx(0.025, abs=1e-9)
    assert math.isnan(t_below(1.0, 0))


def test_benjamini_yekutieli() -> None:
    values = [0.02, 0.001, 0.9, math.nan]
    assert reject_benjamini_yekutieli(values, 0.05) == [False, True, False, False]
    adjusted = correct_benjamini_yekutieli(values)
    factor = 1 + 1 / 2 + 1 / 3 + 1 / 4
    assert adjusted[:3] == pytest.approx([0.02 * 2 * factor, 0.001 * 4 * factor, 1.0])
    assert math.isnan(adjusted[3])
    assert reject_benjamini_yekutieli([], 0.05) == []
    # a step-up: the larger p is under its own limit, so the smaller is rejected with it
    assert reject_benjamini_yekutieli([0.03, 0.033], 0.05) == [True, True]


def by_the_paper(case: dict[str, Any]) -> tuple[float, float]:
    """The test written down item by item, with scipy's t test."""
    stats = pytest.importorskip("scipy.stats")

    def overlap(one: Any, other: Any) -> float:
        sets = [{tuple(sorted(span.items())) for span in spans} for spans in (one, other)]
        size = sum(map(len, sets))
        return 2 * len(sets[0] & sets[1]) / size if size else 1.0

    def score(answer: Any, others: list[Any]) -> float:
        if case["scoring"] == "neg_rmse":
            return -float(np.sqrt(np.mean([(answer - other) ** 2 for other in others])))
        close = overlap if case["scoring"] == "span_f1" else lambda a, b: float(a == b)
        return float(np.mean([close(answer, other) for other in others]))

    humans, machine = case["humans"], case["machine"]
    judged_by = {item: [w for w in humans if item in humans[w]] for item in machine}
    kept = [i for i in machine if len(judged_by[i]) >= case["min_humans_per_item"]]
    values, advantages = [], []
    for left_out, answers in humans.items():
        items = [item for item in kept if item in answers]
        if len(items) < case["min_items_per_human"]:
            continue
        wins, losses = [], []
        for item in items:
            others = [humans[w][item] for w in judged_by[item] if w != left_out]
            person, model = score(answers[item], others), score(machine[item], others)
            wins.append(model >= person)
            losses.append(person >= model)
        differences = np.array(losses, dtype=int) - np.array(wins, dtype=int)
        test = stats.ttest_1samp(differences, case["epsilon"], alternative="less")
        values.append(float(test.pvalue))
        advantages.append(float(np.mean(wins)))
    n = len(values)
    limits = case["q"] * np.arange(1, n + 1) / n / (1 / np.arange(1, n + 1)).sum()
    under = np.flatnonzero(np.sort(values) <= limits)
    return (int(under[-1]) + 1 if len(under) else 0) / n, float(np.mean(advantages))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("scoring", ["accuracy", "neg_rmse", "span_f1"])
@pytest.mark.parametrize("persons", [2, 3, 7, 12])
@pytest.mark.parametrize("error", [0.0, 0.15, 0.6])
def test_it_is_the_test_of_the_paper(scoring: str, persons: int, error: float) -> None:
    rng = np.random.default_rng((persons, round(100 * error)))
    truth = rng.integers(0, 4, 45)

    def answer(item: int) -> Any:
        value = int(truth[item])
        if rng.random() < error:
            value = int(rng.integers(0, 4))
        if scoring == "span_f1":
            return [{"start": 3 * n, "end": 3 * n + 2, "label": "A"} for n in range(value)]
        return round(value + float(rng.normal() * error), 1) if scoring == "neg_rmse" else value

    humans = {
        f"h{n}": {f"i{i}": answer(i) for i in range(45) if rng.random() < 0.95}
        for n in range(persons)
    }
    machine = {f"i{i}": answer(i) for i in range(44)}
    case = {
        "scoring": scoring,
        "epsilon": (0.0, 0.1, 0.2)[persons % 3],
        "q": 0.05,
        "min_humans_per_item": 2,
        "min_items_per_human": 30,
        "humans": humans,
        "machine": machine,
    }
    assert run(case) == pytest.approx(by_the_paper(case), abs=1e-12)
