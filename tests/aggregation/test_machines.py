"""Machines compared with persons: agreement, slices, habits, the test, the verdict, and what stays of persons only."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

import nikawa as nk
from nikawa.aggregation.agree_job import AgreeOptions, AgreeResult, agree, plan_test
from nikawa.aggregation.alternative import AlternativeOptions, run_alternative_test
from nikawa.aggregation.alternative_plan import (
    AlternativeGoal,
    answer_shares,
    compare_answers,
    winning_rates,
)
from nikawa.aggregation.judgements import build_table, open_source
from nikawa.aggregation.machines import (
    GroupAgreement,
    MachineReport,
    Mixed,
    compare_machines,
    overlap_of,
)
from nikawa.aggregation.table import Table
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement
from nikawa.reporting.agreement import render_page

ITEMS = 40
LABELS = ("no", "perhaps", "yes")


def judge(worker: str, answers: list[Any]) -> list[Judgement]:
    kind: Any = "machine" if worker.startswith("model:") else "person"
    return [
        Judgement(example=str(item), worker=worker, question="label", answer=answer, kind=kind)
        for item, answer in enumerate(answers)
    ]


def write(folder: Path, workers: dict[str, list[Any]]) -> str:
    path = folder / "judgements.jsonl"
    rows = [row for name, answers in workers.items() for row in judge(name, answers)]
    write_records(path, rows, overwrite=True)
    return str(path)


def invent() -> dict[str, list[Any]]:
    """Four persons who err on an item of ten each, and a machine that says yes for perhaps."""
    truth = [LABELS[item % 3] for item in range(ITEMS)]
    workers: dict[str, list[Any]] = {}
    for number, name in enumerate(("aki", "ben", "chie", "dan")):
        workers[name] = [
            LABELS[(LABELS.index(answer) + 1) % 3] if item % 10 == number else answer
            for item, answer in enumerate(truth)
        ]
    machine = ["yes" if answer == "perhaps" else answer for answer in truth]
    workers["model:m#1"] = [*machine[:-1], None]
    workers["model:m#2"] = truth
    return workers


def measure(path: str, **options: Any) -> AgreeResult:
    return agree(path, options=AgreeOptions(resamples=50, **options))


def find(report: MachineReport, who: str, measure_name: str) -> GroupAgreement:
    return next(row for row in report.agreement if (row.who, row.measure) == (who, measure_name))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("judged"), invent())


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("examples") / "examples.jsonl"
    rows = []
    for item in range(ITEMS):
        premise, hypothesis = "猫が寝ている。" * (1 + item % 5), "猫が寝る。"
        inputs = {"premise": premise, "hypothesis": hypothesis if item % 2 else "雨だ。"}
        rows.append(Example(id=str(item), inputs=inputs, meta={"source": "ab"[item % 2]}))
    write_records(path, rows)
    return str(path)


def test_figures_of_persons_are_those_without_machines(judged: str, tmp_path: Path) -> None:
    persons = {name: answers for name, answers in invent().items() if ":" not in name}
    alone = measure(write(tmp_path, persons)).report
    mixed = measure(judged).report
    assert mixed.measures == alone.measures
    assert (mixed.workers, mixed.answers, mixed.distribution) == (4, 160, alone.distribution)
    assert alone.machines is msgspec.UNSET
    assert b"machines" not in msgspec.json.encode(alone)


def test_agreement_of_each_group(judged: str) -> None:
    report = measure(judged).machines
    assert report is not None
    assert (report.machines, report.items, report.answers, report.unanswered) == (
        ("model:m#1", "model:m#2"),
        40,
        79,
        1,
    )
    # four items of ten have one odd answer among four: half of their pairs are equal
    assert find(report, "persons", "equal answers").value == pytest.approx(0.6 + 0.4 * 0.5)
    second = find(report, "model:m#2 and persons", "equal answers")
    assert second.value == pytest.approx(0.6 + 0.4 * 0.75)
    machines = find(report, "machines", "equal answers")
    assert machines.value == pytest.approx(26 / 39)
    assert machines.items == 39
    both, persons = (
        find(report, who, "kappa").value for who in ("machines and persons", "persons")
    )
    assert both is not None
    assert persons is not None
    assert 0 < both < persons < 1
    difference = find(report, "difference", "equal answers")
    assert difference.low is not None
    assert difference.high is not None
    assert difference.low < (difference.value or 0) < difference.high


def test_a_label_is_not_unusual_because_persons_agree_on_it() -> None:
    """Persons who disagree name no label: on the items that have one a machine that answers as they do looks worse."""
    draw = random.Random(3)
    rows = []
    for n in range(200):
        truth = draw.choice(LABELS)
        for worker in ("aki", "ben", "model:m#1"):
            answer = truth if draw.random() < 0.75 else draw.choice(LABELS)
            rows.append({"example": f"q{n}", "worker": worker, "answer": answer})
    report = nk.agree(rows).machines
    assert report is not None
    assert {part.where for part in report.slices} == {f"label={label}" for label in LABELS}
    assert not any(part.unusual for part in report.slices)


def test_huge_numbers_are_not_planned_with(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    rows = [
        Judgement(example=str(n), worker=name, question="score", answer=(1e308, -1e308, 5)[n % 3])
        for n in range(6)
        for name in ("aki", "ben")
    ]
    write_records(path, rows)
    with pytest.raises(BadInput, match=r"as large as -?1e\+308"):
        plan_test(str(path), None, AgreeOptions(), AlternativeGoal(accuracy=0.9))


def test_what_machines_do_otherwise(judged: str, examples: str) -> None:
    report = measure(judged, examples=examples, by=("source",)).machines
    assert report is not None
    habits = {(habit.persons_answer, habit.answer): habit.difference for habit in report.habits}
    assert habits["", "yes"] > 0
    assert habits["perhaps", "yes"] > 0.3
    assert ("yes", "perhaps") not in habits
    slices = {part.where: part for part in report.slices}
    assert slices["label=perhaps"].unusual
    assert slices["label=perhaps"].difference < 0 < slices["label=no"].difference
    assert {where.partition("=")[0] for where in slices} == {
        "label",
        "source",
        "length",
        "overlap",
    }
    assert "Where a person answers perhaps, they answer yes more often" in report.verdict
    assert "label=perhaps" in report.verdict


def test_the_verdict_follows_the_test(judged: str) -> None:
    report = measure(judged).machines
    assert report is not None
    first, second = report.tests
    assert (first.passed, second.passed) == (False, True)
    assert [row.worker for row in first.persons] == ["aki", "ben", "chie", "dan"]
    assert second.winning_rate == 1
    assert "model:m#1 does not pass: winning rate 0.00 (0 of 4 persons)" in report.verdict
    assert "only model:m#2 may replace a person" in report.verdict
    lenient = measure(judged, alternative=AlternativeOptions(epsilon=0.9)).machines
    assert lenient is not None
    assert all(test.passed for test in lenient.tests)


def test_columns_are_named_as_such(judged: str) -> None:
    source = open_source(judged, None, JudgementOptions())
    mixed = Mixed.of(build_table(source), source.machines)
    report = compare_machines(mixed, None, workers_are="columns", resamples=10)
    assert "the winning rate counts columns, not people" in report.verdict
    simulated = compare_machines(mixed, None, workers_are="simulated", resamples=10)
    assert simulated.verdict.endswith("justify nothing.")


def test_numbers(tmp_path: Path) -> None:
    scores: list[float] = [item % 6 for item in range(ITEMS)]
    workers = {
        "aki": scores,
        "ben": [score + (item % 2) / 2 for item, score in enumerate(scores)],
        "chie": scores,
        "model:m#1": [score + 1 for score in scores],
    }
    path = write(tmp_path, workers)
    report = measure(path).machines
    assert report is not None
    assert report.tests[0].score == "neg-rmse"
    bias = find(report, "machines and persons", "mean difference")
    assert bias.value == pytest.approx(1 - 0.25 / 3)
    assert "root mean square" in report.verdict
    nominal = measure(path, level="nominal").machines
    assert nominal is not None
    assert nominal.tests[0].score == "equality"


def test_spans(tmp_path: Path) -> None:
    first, last = {"start": 0, "end": 1, "label": "A"}, {"start": 3, "end": 4, "label": "A"}
    marks: list[Any] = [[first] if item % 2 else [last] for item in range(ITEMS)]
    workers = {"aki": marks, "ben": marks, "chie": marks, "model:m#1": [[first]] * ITEMS}
    texts = tmp_path / "texts.jsonl"
    write_records(
        texts, [Example(id=str(item), inputs={"text": "東京駅へ"}) for item in range(ITEMS)]
    )
    report = measure(write(tmp_path, workers), examples=str(texts)).machines
    assert report is not None
    assert find(report, "machines and persons", "span F1").value == 0.5
    slices = {part.where: part.machines for part in report.slices}
    assert slices["position=1 first third"] > slices["position=3 last third"]
    assert "had an F1 of 0.500" in report.verdict


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ({"a": ["x"], "b": ["x"], "model:m": [None]}, None),
        ({"a": ["x"], "b": [None], "c": [None], "model:m": ["x"]}, "single"),
    ],
)
def test_too_little(tmp_path: Path, workers: dict[str, list[Any]], message: str | None) -> None:
    path = write(tmp_path, workers)
    if message is None:
        assert measure(path).machines is None
    else:
        with pytest.raises(BadInput):
            measure(path)


def test_few_items_are_said_and_not_tested(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": ["x", "y"], "b": ["x", "y"], "model:m": ["x", "x"]})
    report = measure(path).machines
    assert report is not None
    assert report.tests == ()
    assert "could not be run" in report.verdict
    assert "model:m was not tested: no person shares 30 items" in report.remarks[0]


def test_the_python_result_shows_the_verdict(judged: str) -> None:
    result = nk.agree(judged)
    assert result.machines is not None
    assert result.machines.verdict[:40] in repr(result)
    assert set(result.to_pandas("machines: agreement").columns) >= {"who", "measure", "value"}


def test_terminal_and_page(judged: str, examples: str) -> None:
    words = ["agree", judged, "--examples", examples, "--alternative", "--resamples", "50"]
    said = CliRunner().invoke(build(), words)
    assert said.exit_code == 0, said.output
    for line in ("Machines and persons (40 shared items)", "model:m#2 passes", "replaced"):
        assert line in said.stdout
    result = measure(judged, examples=examples)
    page = render_page(result.report, result.table)
    assert result.machines is not None
    for words_on_page in ("Machines compared with persons", "model:m#2", "label=perhaps", "passes"):
        assert words_on_page in page


def test_the_test_needs_a_machine(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": ["x", "y"], "b": ["x", "y"]})
    said = CliRunner().invoke(build(), ["agree", path, "--alternative"])
    assert isinstance(said.exception, BadInput)
    assert "no machine answers this question" in str(said.exception)


def test_overlap() -> None:
    assert overlap_of(Example(id="1", inputs={"text": "一つ"})) is None
    assert overlap_of(Example(id="1", inputs={"a": "猫が寝る", "b": "猫が起きる"})) == 0.33
    assert overlap_of(None) is None


# Planning


def test_a_plan(judged: str) -> None:
    goal = AlternativeGoal(accuracy=0.95, persons=(3, 5), items=(30, 120), studies=60)
    options = AgreeOptions(alternative=AlternativeOptions(epsilon=0.2))
    made = plan_test(judged, None, options, goal)
    assert made == plan_test(judged, None, options, goal)
    assert [(row.persons, row.items) for row in made.rows] == [(3, 30), (3, 120), (5, 30), (5, 120)]
    assert made.rows[1].power >= made.rows[0].power
    assert made.rows[1].power > 0.9
    assert made.needed_items is not None
    hopeless = plan_test(
        judged, None, options, AlternativeGoal(accuracy=0.3, persons=(3,), items=(60,), studies=60)
    )
    assert hopeless.rows[0].power < 0.1
    assert hopeless.needed_items is None
    of_pilot = plan_test(
        judged, None, options, AlternativeGoal(persons=(3,), items=(30,), studies=5)
    )
    assert of_pilot.accuracy == pytest.approx((26.5 + 13 * 0.5) / 40, abs=0.02)


def test_plans_that_cannot_be_made(tmp_path: Path, judged: str) -> None:
    persons = write(tmp_path, {"a": ["x", "y"], "b": ["x", "y"]})
    with pytest.raises(BadInput, match="its accuracy is not known"):
        plan_test(persons, None, AgreeOptions(), AlternativeGoal())
    with pytest.raises(BadInput, match=r"the power 1\.5 is not between"):
        plan_test(judged, None, AgreeOptions(), AlternativeGoal(power=1.5))
    marks = [[], [{"start": 0, "end": 1, "label": "PS"}]]
    spans = write(tmp_path, {"a": marks, "b": marks})
    with pytest.raises(BadInput, match="not labels or points of a scale"):
        plan_test(spans, None, AgreeOptions(), AlternativeGoal(accuracy=0.9))


def test_a_scale_is_planned_by_distance(tmp_path: Path) -> None:
    """A machine is worth more where its errors are near: on a scale, not among labels."""
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 5, 60)
    scores = {name: (truth + rng.integers(-1, 2, 60)).tolist() for name in "abc"}
    goal = AlternativeGoal(accuracy=0.6, persons=(3,), items=(60,), studies=60)
    plans = [
        plan_test(write(tmp_path, answers), None, AgreeOptions(), goal)
        for answers in (scores, {name: [f"l{n}" for n in row] for name, row in scores.items()})
    ]
    assert [len(plan.rows) for plan in plans] == [1, 1]
    assert plans[0].rows[0].winning_rate > plans[1].rows[0].winning_rate


@pytest.mark.parametrize("points", [None, np.array([0.0, 1.0, 5.0])])
def test_simulated_studies_are_tested_as_real_ones(points: Any) -> None:
    generator = np.random.default_rng(0)
    answers = generator.integers(0, 3, (4, 40, 5)).astype(np.int8)
    answers = np.where(generator.random(answers.shape) < 0.6, 0, answers)
    machine = np.where(generator.random((4, 40, 1)) < 0.75, 0, 2).astype(np.int8)
    difference = compare_answers(answers, machine, points).astype(np.int32)
    options = AlternativeOptions(epsilon=0.2, level=0.2)
    fast = winning_rates(difference.sum(axis=1), (difference**2).sum(axis=1), 40, options)
    for study in range(4):
        everyone = np.concatenate([answers[study], machine[study]], axis=1)
        items, workers = np.indices(everyone.shape)
        table = Table.from_columns(
            items.ravel(),
            workers.ravel(),
            [f"l{a}" if points is None else points[a] for a in everyone.ravel().tolist()],
        )
        slow = run_alternative_test(table, np.arange(6) < 5, 5, options)
        assert slow.winning_rate == fast[study]
    assert 0 < fast.mean() < 1


def test_shares_of_a_machine() -> None:
    shares = answer_shares(np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]), 0.9)
    assert shares[0].tolist() == pytest.approx([0.9, 0.06, 0.04])
    assert shares.sum(axis=1).tolist() == [1.0, 1.0]
