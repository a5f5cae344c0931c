"""From a file to a shown score: what counts, what is refused, what is scored, and what becomes visible when."""

from __future__ import annotations

import pytest
from tests.board.conftest import HiddenData, MakeBoard

from nikawa.board.store import (
    list_waiting,
    read_shown_scores,
    read_shown_ties,
    read_true_scores,
    sum_disclosures,
)
from nikawa.board.submissions import change_system, count_allowance
from nikawa.board.wire import HelperGone, HelperUnreachable
from nikawa.errors import BadInput
from nikawa.scoring.score import ScoreOptions, score
from nikawa.serve.errors import Refused


def test_scores_are_those_of_nikawa_score_to_the_last_digit(
    make_board: MakeBoard, hidden_data: HiddenData
) -> None:
    here = make_board({"slices = []": 'slices = ["meta.source"]'})
    data = here.answers(130)
    submission = here.submit(data)
    here.score()
    path = here.board.folder / submission.files[0].path
    options = ScoreOptions(by=("source",), hidden=True, keys=hidden_data.keys)
    expected = score(str(hidden_data.folder), path, split="test", options=options).report.scores
    true = here.store.read(read_true_scores, submission.id)
    by_name = {(s.metric, s.mode, s.where): s for s in true}
    assert len(expected) == len(true) > 2
    for one in expected:
        same = by_name[one.metric, one.mode, one.where]
        assert (same.value, same.low, same.high, same.n, same.unit) == (
            one.value,
            one.low,
            one.high,
            one.n,
            one.unit,
        )
    assert by_name["accuracy", "official", ""].value == 130 / 200 * 100


def test_a_result_is_visible_from_its_tick_on_and_not_before(make_board: MakeBoard) -> None:
    here = make_board()
    submission = here.submit(here.answers(130))
    here.queue.run_once()
    scored = here.find(submission)
    assert scored.state == "scored"
    assert scored.visible_at is not None
    assert scored.visible_at > here.now
    assert scored.visible_at % 300 == 0
    assert here.store.read(read_shown_scores, scored.visible_at - 1) == []
    shown = here.store.read(read_shown_scores, scored.visible_at)
    assert {s.submission for s in shown} == {submission.id}


def test_the_ladder_shows_only_what_beats_the_shown_best(make_board: MakeBoard) -> None:
    here = make_board()
    system = here.system()
    for right in (100, 101, 150):
        here.submit(here.answers(right), system=system)
        here.score()
    shown = [
        (s.value, s.reason)
        for s in here.store.read(read_shown_scores, here.now)
        if s.metric == "accuracy" and not s.where
    ]
    assert sorted(shown, key=str) == [(50.0, None), (76.0, None), (None, "no-better")]


def test_several_seeds_are_one_submission_with_mean_and_spread(make_board: MakeBoard) -> None:
    here = make_board()
    submission = here.submit(here.answers(120), here.answers(140, seed=1))
    here.score()
    assert [file.seed for file in submission.files] == [0, 1]
    true = {
        s.metric: s
        for s in here.store.read(read_true_scores, submission.id)
        if s.mode == "official" and not s.where
    }
    accuracy = true["accuracy"]
    assert (accuracy.value, accuracy.values) == (65.0, (60.0, 70.0))
    assert accuracy.sd == pytest.approx(50**0.5)
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.low < 60.0
    assert accuracy.high > 70.0
    allowance = here.store.read(
        count_allowance, here.board.settings, here.account("ann").id, "tides", here.now
    )
    assert (allowance.today, allowance.in_all) == (2, 99)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data.replace(b"\n", b"", 1), "answers.jsonl, line 1"),
        (lambda data: b"\n".join(data.split(b"\n")[3:]), "3 of 200 items have no answer"),
        (lambda data: data.replace(b'"id":"', b'"id":"x'), "none of the ids is in the task"),
        (
            lambda data: data.replace(b"neutral", b"entailment", 1) + data,
            "has a different answer on line",
        ),
        (lambda _: b"", "answers.jsonl"),
        (lambda _: b"\x1f\x8b\x08broken", "answers.jsonl"),
    ],
)
def test_a_bad_file_is_refused_with_one_line_before_it_counts(
    make_sqlite_board: MakeBoard, spoil: object, message: str
) -> None:
    here = make_sqlite_board()
    assert callable(spoil)
    with pytest.raises(BadInput, match=message) as problem:
        here.upload(spoil(here.answers(100)))
    assert "\n" not in str(problem.value)
    assert str(here.board.folder) not in str(problem.value)
    assert list(here.board.submissions.iterdir()) == []


def test_limits_hold_for_a_day_and_in_all(make_board: MakeBoard) -> None:
    here = make_board({"per_day = 3": "per_day = 2", "in_all = 100": "in_all = 3"})
    system = here.system()
    for right in (100, 101):
        here.submit(here.answers(right), system=system)
    with pytest.raises(Refused, match="too_many_today"):
        here.submit(here.answers(102), system=system)
    here.submit(here.answers(102), account="bob")
    here.now += 86_401
    here.submit(here.answers(102), system=system)
    here.now += 86_401
    with pytest.raises(Refused, match="too_many_in_all"):
        here.submit(here.answers(103), system=system)


def test_the_same_answers_and_the_same_key_count_once(make_board: MakeBoard) -> None:
    here = make_board()
    system = here.system()
    first = here.submit(here.answers(100), system=system, key="k")
    assert here.submit(here.answers(101), system=system, key="k").id == first.id
    lines = here.answers(100).splitlines(keepends=True)
    with pytest.raises(Refused, match="same_answers"):
        here.submit(b"".join(reversed(lines)), system=system)
    here.submit(here.answers(100), account="bob")
    assert len(here.store.read(list_waiting)) == 2


def test_files_of_others_and_closed_boards_are_refused(make_board: MakeBoard) -> None:
    here = make_board(closes="2027-02-01T00:00:00Z")
    system = here.system()
    with pytest.raises(Refused, match="not_found"):
        here.submit(here.answers(100), system=system, account="bob")
    here.now = here.board.settings.dates.closes_at or 0.0
    with pytest.raises(Refused, match="closed"):
        here.submit(here.answers(100), system=system)


def test_the_final_split_is_scored_once_after_the_close(make_board: MakeBoard) -> None:
    here = make_board(final=("final",), closes="2027-02-01T00:00:00Z")
    system = here.system()
    weak = here.submit(here.answers(100), here.answers(50, "final"), system=system)
    here.score()
    best = here.submit(here.answers(150), here.answers(90, "final"), system=system)
    here.score()
    splits = {s.split for s in here.store.read(read_true_scores, best.id)}
    assert splits == {"test"}
    here.now = (here.board.settings.dates.closes_at or 0.0) + 1
    here.score()
    here.score()
    final = [s for s in here.store.read(read_shown_scores, here.now) if s.split == "final"]
    assert {s.submission for s in final} == {best.id}
    assert [s.value for s in final if s.metric == "accuracy"] == [75.0]
    assert not any(s.split == "final" for s in here.store.read(read_true_scores, weak.id))


def test_a_withdrawn_system_is_not_scored_on_the_final_split(make_board: MakeBoard) -> None:
    here = make_board(final=("final",), closes="2027-02-01T00:00:00Z")
    weak = here.submit(here.answers(100), here.answers(50, "final"))
    here.score()
    best = here.submit(here.answers(150), here.answers(90, "final"))
    here.score()
    here.store.write(
        change_system, here.account("ann").id, best.system, {"state": "withdrawn"}, here.now
    )
    here.now = (here.board.settings.dates.closes_at or 0.0) + 1
    here.score()
    scored = {
        s.submission for s in here.store.read(read_shown_scores, here.now) if s.split == "final"
    }
    assert scored == {weak.id}


def test_a_comparison_is_made_once_and_turns_with_its_sides(make_board: MakeBoard) -> None:
    here = make_board()
    first, second = (
        here.submit(here.answers(right), account=name).id
        for name, right in (("ann", 150), ("bob", 90))
    )
    here.score()
    (there, *_) = here.queue.compare_shown("tides", "test", first, second)
    (back, *_) = here.queue.compare_shown("tides", "test", second, first)
    assert (there.first, there.difference, there.p) == (first, -30.0, "<0.0001")
    assert (back.first, back.difference, back.p) == (second, 30.0, "<0.0001")
    assert there.low is not None
    assert back.high == -there.low
    counted = [row for row in here.store.read(sum_disclosures) if row[3] == "comparison"]
    assert counted[0][4] == 2  # of each metric
    assert counted[0][2] is None  # neither account knows the answers of the other
    withheld = here.submit(here.answers(151), account="ann").id
    here.score()
    assert here.queue.compare_shown("tides", "test", second, withheld) == []


def test_a_comparison_of_own_systems_counts_for_the_account(make_board: MakeBoard) -> None:
    """Who knows the answers of both sides learns from the comparison, in addition to the two scores."""
    here = make_board()
    ids = [here.submit(here.answers(right)).id for right in (90, 150)]
    here.score()
    assert here.queue.compare_shown("tides", "test", *ids)
    counted = [row for row in here.store.read(sum_disclosures) if row[3] == "comparison"]
    assert [row[2] for row in counted] == [here.account("ann").id]


def test_systems_that_cannot_be_told_apart_share_a_letter(make_board: MakeBoard) -> None:
    here = make_board()
    ids = [
        here.submit(here.answers(right), account=name).id
        for name, right in (("ann", 190), ("bob", 188), ("cho", 60))
    ]
    here.score()
    here.score()
    letters = here.store.read(read_shown_ties, here.now, "tides", "test")
    assert [letters[id, "accuracy"] for id in ids] == ["a", "a", "b"]


def test_a_submission_that_ends_the_scorer_again_and_again_fails(make_board: MakeBoard) -> None:
    here = make_board()
    submission = here.submit(here.answers(100))

    def crash(*_: object) -> None:
        raise HelperGone("gone")

    ask = here.queue.scorer.ask

    def be_away(*_: object) -> None:
        raise HelperUnreachable("away")

    for gone in (be_away, be_away, be_away, be_away, crash, crash):
        here.queue.scorer.ask = gone  # type: ignore[method-assign, assignment]
        with pytest.raises(HelperGone):
            here.queue.run_once()
        assert here.find(submission).state == "scoring"
    with pytest.raises(HelperGone):
        here.queue.run_once()
    here.queue.scorer.ask = ask  # type: ignore[method-assign]
    assert here.find(submission).state == "failed"
    left = here.store.read(
        count_allowance, here.board.settings, here.account("ann").id, "tides", here.now
    )
    assert (left.today, left.in_all) == (2, 100)  # the time of the scoring process is spent
    other = here.submit(here.answers(101))
    here.queue.run_once()
    assert here.find(other).state == "scored"


def test_a_submission_does_not_wait_for_the_ties_of_others(make_sqlite_board: MakeBoard) -> None:
    """A board of many systems has thousands of pairs: what waits is scored between them, and the pairs go on where they stopped."""
    here = make_sqlite_board()
    for name, right in (("ann", 100), ("bob", 102), ("cho", 104)):
        here.submit(here.answers(right), account=name)
    for _ in range(3):
        here.queue._score_or_fail(here.store.read(list_waiting, 1)[0])
    here.now += 900.0
    waiting = here.submit(here.answers(150), account="dan")
    assert not here.queue.update_ties()
    assert here.store.read(read_shown_ties, here.now, "tides", "test") == {}
    here.queue.run_once()
    assert here.find(waiting).state == "scored"
    assert len(here.store.read(read_shown_ties, here.now, "tides", "test")) == 6
