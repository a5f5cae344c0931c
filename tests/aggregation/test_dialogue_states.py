"""States of dialogues: measures against plain formulas, votes turn by turn and slot by slot, decisions, from file to gold."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.aggregation.test_structures import judgements, table_of, values

from nikawa.aggregation.agree_job import AgreeOptions, agree
from nikawa.aggregation.dialogue_states import DIALOGUE_STATES, States, list_changes
from nikawa.aggregation.job import AggregateOptions, aggregate
from nikawa.aggregation.measure import MAX_CATEGORIES
from nikawa.aggregation.verdicts import apply_rule
from nikawa.aggregation.workers import quality
from nikawa.errors import BadInput
from nikawa.io.jsonl import encode_record
from nikawa.metrics.wos import turn_f1

E, W, P, T = "hotel-area-east", "hotel-area-west", "hotel-parking-yes", "taxi-to-park"
GIVEN: dict[str, list[Any]] = {
    "a": [[[E], [E, P]], [[E], [P, E]], [[E], [W, P]]],
    "b": [[[], [T]], [[], []]],
    "c": [[[E], [E], [E, T]], [[], [E], [E, T]]],
}


def test_measures_are_those_of_their_formulas() -> None:
    found = values(DIALOGUE_STATES, GIVEN)
    sums = dict.fromkeys(("joint", "f1", "turns", "equal", "pairs"), 0.0)
    for answers in GIVEN.values():
        for one, other in combinations(answers, 2):
            weight = 1 / (len(answers) - 1)
            sums["turns"] += weight * len(one)
            sums["pairs"] += weight
            sums["equal"] += weight * all(set(a) == set(b) for a, b in zip(one, other, strict=True))
            for a, b in zip(one, other, strict=True):
                sums["joint"] += weight * (set(a) == set(b))
                sums["f1"] += weight * turn_f1(a, b)  # what the benchmark's metric calls it
    assert found["joint-goal"] == pytest.approx(sums["joint"] / sums["turns"])
    assert found["state-f1"] == pytest.approx(sums["f1"] / sums["turns"])
    assert found["dialogues-equal"] == pytest.approx(sums["equal"] / sums["pairs"])
    # a: equal, and twice two of two and three changes; b: one of one is missing; c: one of two is a turn late
    assert found["change-f1"] == pytest.approx((0.5 * (1 + 0.8 + 0.8) + 0 + 0.5) / 3.5)


def test_changes_count_once() -> None:
    one = States(((E,), (P, W)))
    assert list_changes(one) == {
        (0, "hotel-area", "east"),
        (1, "hotel-area", "west"),
        (1, "hotel-parking", "yes"),
    }
    assert list_changes(States(((E,), ()))) == {(0, "hotel-area", "east"), (1, "hotel-area", "")}


def test_alpha_over_slots_is_that_of_labels() -> None:
    """The same units written out as labels have the same alpha."""
    from nikawa.aggregation.agreement import measures
    from nikawa.aggregation.table import Table

    labels: dict[str, list[Any]] = {}
    for item, answers in GIVEN.items():
        slots = {
            entry.rpartition("-")[0] for answer in answers for state in answer for entry in state
        }
        for turn in range(len(answers[0])):
            for slot in slots:
                labels[f"{item} {turn} {slot}"] = [
                    next((e for e in answer[turn] if e.startswith(f"{slot}-")), "no value")
                    for answer in answers
                ]
    plain = {one.name: one.value for one in measures(Table.from_judgements(judgements(labels)))}
    assert values(DIALOGUE_STATES, GIVEN)["alpha-slots"] == pytest.approx(plain["alpha"])
    same = {"a": [[[E]], [[E]]], "b": [[[W, T]], [[W, T]]]}
    assert values(DIALOGUE_STATES, same)["alpha-slots"] == 1
    empty = values(DIALOGUE_STATES, {"a": [[[]], [[]]]})
    assert (empty["joint-goal"], empty["state-f1"]) == (1, 1)


def test_intervals_with_very_many_values(tmp_path: Path) -> None:
    """So many values that alpha counts them again for each resample, by dialogue."""
    many = {
        str(n): [[[f"hotel-name-h{n}"], [f"hotel-name-h{n}"]], [[f"hotel-name-h{n}"], []]]
        for n in range(MAX_CATEGORIES + 5)
    }
    file = tmp_path / "states.jsonl"
    file.write_bytes(b"".join(encode_record(row) + b"\n" for row in judgements(many, "states")))
    found = {
        row.name: row for row in agree(str(file), None, AgreeOptions(resamples=20)).report.measures
    }
    alpha = found["alpha-slots"]
    assert alpha.low is not None
    assert alpha.value is not None
    assert alpha.low == pytest.approx(alpha.value, abs=0.1)  # all dialogues are alike


def test_votes_are_counted_turn_by_turn_and_slot_by_slot() -> None:
    verdicts = apply_rule(table_of(GIVEN), "majority")
    assert verdicts.answers() == [[[E], [E, P]], None, None]
    assert verdicts.tied_places() == [1, 2]
    assert verdicts.strength[0] == pytest.approx((3 + 2 + 3) / 9)
    assert apply_rule(table_of(GIVEN), "votes:3", "drop").answers() == [None, None, None]
    split = {"a": [[[E]], [[W]], [[P]]]}  # three values of one slot, and another that one has
    assert apply_rule(table_of(split), "majority").tied_places() == [0]
    assert apply_rule(table_of({"a": [[[E]], [[E, P]], [[E]]]}), "majority").answers() == [[[E]]]


@pytest.mark.parametrize(
    ("answers", "what"),
    [
        ({"a": [[["hotel-area"]]]}, "state 1: 'hotel-area' is not domain-slot-value"),
        ({"a": [[[], [E, W]]]}, "state 2 has the slot 'hotel-area' twice"),
        ({"a": [[[E]], [[E], [E]]]}, "the answers about 'a' have 1 and 2 states"),
        ({"a": [[[E]], "x"]}, "some answers to 'answers' are states of dialogues"),
    ],
)
def test_what_is_no_list_of_states_is_named(answers: dict[str, list[Any]], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        apply_rule(table_of(answers), "majority")


def test_from_a_file_to_gold_with_a_decision(tmp_path: Path) -> None:
    file = tmp_path / "states.jsonl"
    rows = judgements(GIVEN, "states")
    file.write_bytes(b"".join(encode_record(row) + b"\n" for row in rows))
    report = agree(str(file), None, AgreeOptions(resamples=50)).report
    names = [row.name for row in report.measures]
    assert names == ["joint-goal", "state-f1", "change-f1", "dialogues-equal", "alpha-slots"]
    assert all(row.low is not None and row.low <= row.value <= row.high for row in report.measures)  # type: ignore[operator]
    assert report.distribution == {"hotel-area": 11, "hotel-parking": 3, "taxi-to": 3}
    sheet = tmp_path / "decided.tsv"
    sheet.write_text(
        "example\tquestion\tanswer\tperson\treason\n"
        f'b\tstates\t[[], ["{T}"]]\towner\tit was said\n',
        "utf-8",
    )
    options = AggregateOptions(adjudicated=sheet)
    result = aggregate(str(file), None, options)
    (verdicts,) = result.verdicts.values()
    assert verdicts.answers()[1] == [[], [T]]
    line = DIALOGUE_STATES.format_votes([States(((), (T,))), States(((), ()))])
    assert line == "turn 2 taxi-to: park 1, no value 1; of 2"
    figures = {row.worker: row for row in quality(result.tables[next(iter(result.tables))])}
    assert set(figures) == {"w0", "w1", "w2"}


def test_votes_of_equal_answers() -> None:
    same = [States(((E,),)), States(((E,),))]
    assert DIALOGUE_STATES.format_votes(same) == "all equal; of 2"
    assert DIALOGUE_STATES.shares(same) == {f"1 {E}": 1.0}
    assert DIALOGUE_STATES.closeness(*same) == 1
    with pytest.raises(ValueError, match="not JSON"):
        DIALOGUE_STATES.read_decided("hotel-area-east")
