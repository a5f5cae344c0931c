"""The effect of pre-labels: planted anchoring is found with its size, and none where there is none."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from nikawa.aggregation.agree_job import AgreeOptions, agree
from nikawa.aggregation.job import AggregateOptions, aggregate
from nikawa.aggregation.prelabels import (
    compare_answers,
    is_same_answer,
    measure_prelabels,
)
from nikawa.datasets.aggregated import read_aggregation_facts
from nikawa.io.records import write_records
from nikawa.records import Judgement, Prelabel

LABELS = ("a", "b", "c")


def simulate(items: int, follow: float, seed: int = 0, workers: int = 4) -> list[Judgement]:
    """Workers right in 80%, a machine in 70%; who sees its answer takes it over with the probability `follow`."""
    chance = random.Random(seed)
    rows = []
    for number in range(items):
        gold = chance.choice(LABELS)
        machine = gold if chance.random() < 0.7 else chance.choice([x for x in LABELS if x != gold])
        for worker in range(workers):
            own = gold if chance.random() < 0.8 else chance.choice([x for x in LABELS if x != gold])
            shown = chance.random() < 0.5
            answer = machine if shown and chance.random() < follow else own
            rows.append(
                Judgement(
                    example=f"i{number}", worker=f"w{worker}", question="label", answer=answer,
                    seconds=chance.lognormvariate(1.5 if shown else 2.0, 0.4),
                    prelabel=Prelabel(
                        answer=machine, worker="model:m", shown=shown,
                        changed=shown and answer != machine,
                    ),
                )
            )  # fmt: skip
    return rows


def test_planted_anchoring_is_found() -> None:
    report = measure_prelabels(simulate(1500, follow=0.3))
    assert report is not None
    # without: 0.7*0.8 + 0.3*0.1 = 0.59 agree with the machine; with: 0.3 + 0.7*0.59 = 0.713
    assert report.agreement_withheld.value == pytest.approx(0.59, abs=0.03)
    assert report.effect.value == pytest.approx(0.123, abs=0.03)
    assert report.effect.low is not None
    assert report.effect.low > 0
    # neither: 0.8² + 2 * 0.1² = 0.66; both: 0.3² + 2 * 0.3 * 0.7 * 0.59 + 0.7² * 0.66 = 0.661
    assert report.persons_withheld.value == pytest.approx(0.66, abs=0.04)
    assert report.persons_effect.value == pytest.approx(0.0, abs=0.05)
    assert report.time_ratio.value == pytest.approx(0.607, abs=0.03)
    assert report.changed.value == pytest.approx(1 - 0.713, abs=0.03)
    assert "lean towards what the machine says" in report.verdict
    assert "model:m" in report.verdict


def test_workers_who_lean_the_same_way_agree_more() -> None:
    report = measure_prelabels(simulate(800, follow=0.6))
    assert report is not None
    # both: 0.6² + 2 * 0.6 * 0.4 * 0.59 + 0.4² * 0.66 = 0.749, neither: 0.66
    assert report.persons_effect.value == pytest.approx(0.089, abs=0.05)
    assert report.persons_effect.low is not None
    assert report.persons_effect.low > 0


def test_without_anchoring_the_interval_holds_zero_as_often_as_it_says() -> None:
    missed = 0
    for seed in range(30):
        report = measure_prelabels(simulate(100, follow=0.0, seed=seed), resamples=200)
        assert report is not None
        low, high = report.effect.low, report.effect.high
        assert low is not None
        assert high is not None
        missed += not low <= 0 <= high
    assert missed <= 5  # 1.5 are expected; more than 5 has a probability of 0.3%


def test_control_items_are_apart() -> None:
    rows = simulate(30, follow=0.3)
    control = [
        Judgement(
            example=f"g{n}", worker="w0", question="label", answer="a" if n < 3 else "b",
            prelabel=Prelabel(answer="a", worker="control", shown=True),
        )
        for n in range(10)
    ]  # fmt: skip
    with_control, without = measure_prelabels([*rows, *control]), measure_prelabels(rows)
    assert with_control is not None
    assert without is not None
    assert with_control.effect == without.effect
    assert with_control.control == {"shown": 10, "accepted": 3, "withheld": 0, "same": 0}
    assert "3 were accepted as they were" in with_control.verdict


def test_there_is_nothing_to_say_without_prelabels() -> None:
    rows = [Judgement(example="i", worker="w", question="label", answer="a")]
    assert measure_prelabels(rows) is None
    machine = [
        Judgement(
            example="i", worker="model:n", question="label", answer="a", kind="machine",
            prelabel=Prelabel(answer="a", worker="model:m", shown=True),
        )
    ]  # fmt: skip
    assert measure_prelabels(machine) is None


def test_few_answers_have_no_interval() -> None:
    report = measure_prelabels(simulate(3, follow=1.0))
    assert report is not None
    assert report.effect.low is None
    assert "too few items" in report.verdict


@pytest.mark.parametrize(
    ("one", "other", "close"),
    [
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        (4, 4.0, 1.0),
        (["a", "b"], ["b", "a"], 1.0),
        ([], [{"start": 0, "end": 1, "label": "X"}], 0.0),
        (
            [{"start": 3, "end": 5, "label": "X"}, {"start": 0, "end": 1, "label": "X"}],
            [{"start": 0, "end": 1, "label": "X"}, {"start": 3, "end": 5, "label": "X"}],
            1.0,
        ),
        (
            [{"start": 0, "end": 1, "label": "X"}],
            [{"start": 0, "end": 1, "label": "X"}, {"start": 3, "end": 5, "label": "X"}],
            2 / 3,
        ),
    ],
)
def test_answers_are_compared_by_what_they_say(one: object, other: object, close: float) -> None:
    assert compare_answers(one, other) == pytest.approx(close)
    assert is_same_answer(one, other) == (close == 1.0)


def test_agree_and_the_card_report_it(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    write_records(path, simulate(60, follow=0.9))
    result = agree(str(path), options=AgreeOptions(resamples=100))
    assert result.prelabels is not None
    assert result.prelabels.verdict in result.headline()
    report = aggregate(str(path)).report
    assert isinstance(report.prelabels, str)
    assert "filled in at random" in report.prelabels
    summary = tmp_path / "summary.json"
    summary.write_bytes(msgspec.json.encode(report))
    assert "Pre-labels: The answer of model:m" in read_aggregation_facts(summary)["labels"]


def test_agree_says_nothing_of_files_without(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    rows = [msgspec.structs.replace(row, prelabel=None) for row in simulate(20, follow=0.5)]
    write_records(path, rows)
    result = agree(str(path), options=AgreeOptions(resamples=100))
    assert result.prelabels is None
    assert b"prelabel" not in msgspec.json.encode(result.report)
    assert b"prelabel" not in path.read_bytes()


def test_machines_are_not_compared_with_answers_that_they_filled_in(tmp_path: Path) -> None:
    """Persons who take over what they see agree with the machine: that says nothing of what the machine is worth."""
    rows = simulate(150, follow=1.0)
    seen = {row.example: row.prelabel.answer for row in rows if row.prelabel is not None}
    rows += [
        Judgement(example=item, worker="model:m", question="label", answer=answer, kind="machine")
        for item, answer in seen.items()
    ]
    filled = sum(row.prelabel is not None and row.prelabel.shown for row in rows)
    path, unseen, always = (tmp_path / name for name in ("some.jsonl", "none.jsonl", "all.jsonl"))
    write_records(path, rows)
    free = [row for row in rows if row.prelabel is None or not row.prelabel.shown]
    write_records(unseen, free)
    some, none = (
        agree(str(file), options=AgreeOptions(resamples=100)).machines for file in (path, unseen)
    )
    assert some is not None
    assert none is not None
    assert some.filled_in == filled
    assert none.filled_in is msgspec.UNSET
    assert [(one.who, one.value) for one in some.agreement] == [
        (one.who, one.value) for one in none.agreement
    ]
    assert some.tests == none.tests
    said = f"{filled} answers of persons that came filled in with a machine's answer are left out"
    assert said in some.verdict
    verdict = aggregate(str(path)).report.machine_verdict
    assert isinstance(verdict, str)
    assert said in verdict
    shown = [
        msgspec.structs.replace(row, prelabel=msgspec.structs.replace(row.prelabel, shown=True))
        if row.prelabel is not None
        else row
        for row in rows
    ]
    write_records(always, shown)
    result = agree(str(always), options=AgreeOptions(resamples=100))
    assert result.machines is None
    assert "without the 600 that came filled in" in " ".join(result.report.remarks)


def test_who_counts_machines_that_filled_answers_in_is_told(tmp_path: Path) -> None:
    rows = simulate(20, follow=0.5)
    shown = sum(row.prelabel is not None and row.prelabel.shown for row in rows)
    machine = {row.example: row.prelabel.answer for row in rows if row.prelabel is not None}
    rows += [
        Judgement(example=item, worker="model:m", question="label", answer=answer, kind="machine")
        for item, answer in machine.items()
    ]
    path = tmp_path / "judgements.jsonl"
    write_records(path, rows)
    for machines, told in (("ignore", 0), ("tie-break", shown)):
        notes = aggregate(
            str(path), options=AggregateOptions(rules=("majority",), machines=machines)
        ).report.notes
        assert sum(note.count for note in notes if "came filled in" in note.what) == told


def test_machines_that_share_no_item_with_two_persons_do_not_stop_agree(tmp_path: Path) -> None:
    """The figures of persons are those without the machine, also while most items wait for a second person."""
    path, plain = tmp_path / "judgements.jsonl", tmp_path / "plain.jsonl"
    persons = [
        Judgement(example=f"i{n}", worker=name, question="label", answer=LABELS[n % 3])
        for n in range(12)
        for name in ("aki", "ben")
    ]
    persons.append(Judgement(example="new", worker="aki", question="label", answer="a"))
    machine = Judgement(
        example="new", worker="model:m", question="label", answer="a", kind="machine"
    )
    write_records(path, [*persons, machine])
    write_records(plain, persons)
    both, alone = (
        agree(str(file), options=AgreeOptions(resamples=50)).report for file in (path, plain)
    )
    assert both.measures == alone.measures
    assert both.machines is msgspec.UNSET
    assert any("machines are not compared" in remark for remark in both.remarks)


def test_states_are_compared_turn_by_turn() -> None:
    """The order of the requests of a turn does not count, that of the turns does."""
    first, second = ["a-b-c", "a-d-e"], ["a-b-c", "a-d-e", "f-g-h"]
    assert is_same_answer([first, second], [first[::-1], second[::-1]])
    assert not is_same_answer([first, second], [second, first])
    assert compare_answers([first, second], [first, first]) == pytest.approx(8 / 9)
    assert compare_answers([["a-b-c"], []], [[], ["a-b-c"]]) == 0
    assert compare_answers([[], []], [[], []]) == 1
    assert compare_answers(["x", "y"], ["y", "x"], is_ranking=True) == 0
