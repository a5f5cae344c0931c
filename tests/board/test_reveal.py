"""What is shown of true scores: side doors around the ladder are closed, and everything shown is counted."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from nikawa.board.leakage import TestLabels, make_leak
from nikawa.board.records import (
    BoardSet,
    LadderState,
    Place,
    ShownScore,
    TrueComparison,
    TrueScore,
)
from nikawa.board.reveal import (
    WIDTHS,
    Revealed,
    RevealRules,
    choose_slices,
    choose_visible_at,
    coarse_p,
    comparison_bits,
    largest_p,
    next_tick,
    rank_key,
    reveal_comparison,
    reveal_scores,
    share_half_width,
    tie_letters,
)
from nikawa.board.settings import BoardSettings

SET = BoardSet(
    task="nli", split="test", role="public", dataset="nli", metrics=("accuracy", "macro-f1")
)
MAIN = Place(task="nli", split="test", metric="accuracy")
RULES = RevealRules(step=1.0, slices=("tag", "meta.source"))
N = 2_000


def true(value: float, **more: Any) -> TrueScore:
    fields: dict[str, Any] = {
        "submission": "s",
        "task": "nli",
        "split": "test",
        "metric": "accuracy",
        "mode": "official",
        "where": "",
        "low": value - 1.7,
        "high": value + 1.7,
        "sd": None,
        "n": N,
        "unit": "percent",
        "values": (value,),
    }
    return TrueScore(**{**fields, "value": value, **more})


class Account:
    """Submits score after score, as a board does."""

    def __init__(self, rules: RevealRules = RULES, board_set: BoardSet = SET) -> None:
        self.rules, self.board_set = rules, board_set
        self.states: dict[Place, LadderState] = {}
        self.bits = 0.0

    def submit(self, *scores: TrueScore, noise: float = 0.3, name: str | None = "a") -> Revealed:
        revealed = reveal_scores(
            scores,
            self.board_set,
            self.rules,
            states=self.states,
            noise=dict.fromkeys(self.states, noise),
            account=name,
            at=60.0,
        )
        self.states.update(revealed.states)
        self.bits += sum(one.bits for one in revealed.disclosures)
        return revealed


def test_a_score_is_shown_only_as_a_new_best() -> None:
    account = Account()
    seen = [account.submit(true(value)).scores[0] for value in (70.4, 71.9, 71.2, 72.3, 90.0)]
    assert [one.value for one in seen] == [70.0, 72.0, None, None, 90.0]
    assert [one.reason for one in seen] == [None, None, "no-better", "no-better", None]
    assert {one.visible_at for one in seen} == {60.0}
    assert account.states[MAIN].tries == 5
    assert account.states[MAIN].bests == 3
    for one in seen:
        if one.value is None:
            shown = msgspec.structs.asdict(one)
            assert {shown[name] for name in ("low", "high", "sd", "n")} == {None}


def test_two_exact_scores_with_the_same_steps_give_the_same_rows() -> None:
    """Nothing that is shown depends on the score but by its step: value, interval and order are equal."""
    rows = [Account().submit(true(value)).scores for value in (79.51, 79.9, 80.0, 80.3, 80.49)]
    assert all(row == rows[0] for row in rows)
    (one,) = rows[0]
    assert (one.value, one.low, one.high) == (80.0, 78.0, 82.0)


def test_slices_and_further_metrics_are_no_free_queries() -> None:
    """They are shown with a new best alone, and then climb ladders of their own."""
    account = Account()

    def submit(main: float, f1: float, part: float) -> list[float | None]:
        part_score = true(part, where="tag=negation", n=500)
        scores = (true(main), true(f1, metric="macro-f1"), part_score)
        return [one.value for one in account.submit(*scores).scores]

    assert submit(70.0, 60.0, 50.0) == [70.0, 60.0, 50.0]
    assert submit(69.0, 90.0, 99.0) == [None, None, None]
    assert submit(75.0, 59.0, 80.0) == [75.0, None, 80.0]
    assert account.states[Place(task="nli", split="test", metric="macro-f1")].tries == 2


def test_what_must_not_be_sliced_is_never_shown() -> None:
    rules = RevealRules(
        step=1.0,
        slices=("tag", "gold"),
        closed_slices=frozenset({"tag=all-but-three"}),
        published_slices=frozenset({"tag=rare", "tag=all-but-three", "tag=common"}),
    )
    scores = [
        true(80.0),
        true(80.0, where="gold=entailment", n=700),
        true(80.0, where="bin=0-1", n=700),
        true(80.0, where="length=1-5", n=700),
        true(80.0, where="tag=only-the-keys-have-it", n=700),
        true(80.0, where="tag=rare", n=49),
        true(80.0, where="tag=all-but-three", n=1_997),
        true(0.3, metric="mse"),
        true(80.0, metric="accuracy", where="tag=common", n=700),
    ]
    board_set = msgspec.structs.replace(SET, metrics=("accuracy", "mse"))
    shown = {
        (one.metric, one.where): one.value if one.reason is None else one.reason
        for one in Account(rules, board_set).submit(*scores).scores
    }
    assert shown == {
        ("accuracy", ""): 80.0,
        ("mse", ""): "hidden",
        ("accuracy", "gold=entailment"): "hidden",
        ("accuracy", "bin=0-1"): "hidden",
        ("accuracy", "length=1-5"): "hidden",
        ("accuracy", "tag=only-the-keys-have-it"): "hidden",
        ("accuracy", "tag=rare"): "too-few",
        ("accuracy", "tag=all-but-three"): "too-few",
        ("accuracy", "tag=common"): 80.0,
    }


def test_seeds_are_one_query_and_their_spread_is_coarse() -> None:
    account = Account()
    seeds = [true(80.0, sd=sd, values=(79.0, 81.0)) for sd in (0.2, 0.6, 1.0, 30.0)]
    spreads = [Account().submit(one).scores[0].sd for one in seeds]
    assert spreads == [0.5, 1.0, 1.0, 16.0]
    account.submit(seeds[0])
    assert account.states[MAIN].tries == 1


def test_withdrawing_and_other_names_give_no_try_back() -> None:
    """The state belongs to account and set: a submission of another system, or after a withdrawal, meets the same ladder."""
    account = Account()
    account.submit(true(80.0, submission="first"))
    again = account.submit(true(80.0, submission="another system")).scores[0]
    assert (again.value, again.reason) == (None, "no-better")
    assert account.states[MAIN].best == "first"


def test_intervals_never_become_narrower_and_hold_the_true_one() -> None:
    account = Account()
    widths = []
    for value, half in ((50.0, 2.2), (60.0, 4.5), (70.0, 0.4), (80.0, 1.8)):
        (one,) = account.submit(true(value, low=value - half, high=value + half)).scores
        assert one.low is not None
        assert one.high is not None
        assert one.low <= value - half / 1.1
        assert one.high >= value + half / 1.1
        widths.append(account.states[MAIN].width)
    assert widths == sorted(widths)
    assert share_half_width(50.0, N) * WIDTHS[-1] > 8


@pytest.mark.parametrize("rule", ["ladder", "rounded", "exact"])
def test_everything_shown_is_counted(rule: Any) -> None:
    """The bits are enough to write down all that was shown: nothing is free, and a rule that shows more costs more."""
    account = Account(RevealRules(rule=rule, step=1.0, intervals=False))
    for value in (50.3, 49.0, 51.9, 50.0):
        account.submit(true(value))
    least = {"ladder": np.log2(101 * 100), "rounded": 4 * np.log2(101), "exact": 4 * np.log2(N + 1)}
    assert account.bits >= least[rule]
    leak = make_leak(TestLabels("nli", "test", N, 3_000.0, 0.4), "a", {"score": account.bits})
    assert 0.4 < leak.accuracy < 0.6


def test_rules_without_a_ladder_show_every_score() -> None:
    values = (70.44, 69.0, 71.26)
    rounded = Account(RevealRules(rule="rounded", step=0.5))
    assert [rounded.submit(true(value)).scores[0].value for value in values] == [70.5, 69.0, 71.5]
    exact = Account(RevealRules(rule="exact"))
    (one,) = exact.submit(true(70.44)).scores
    assert (one.value, one.low, one.high) == (70.44, 70.44 - 1.7, 70.44 + 1.7)


def test_entries_of_the_owner_and_the_final_split_need_no_best() -> None:
    owner = Account()
    values = [owner.submit(true(value), name=None).scores[0].value for value in (80.2, 60.4)]
    assert values == [80.0, 60.0]
    final = Account(board_set=msgspec.structs.replace(SET, role="final"))
    assert final.submit(true(80.237)).scores[0].value == 80.24


def test_fractions_are_shown_in_percent() -> None:
    (one,) = Account().submit(true(0.832, low=0.815, high=0.849, unit="fraction")).scores
    assert (one.value, one.unit) == (83.0, "percent")


def test_undefined_scores_say_so() -> None:
    revealed = Account().submit(true(float("nan"), low=None, high=None))
    (one,) = revealed.scores
    assert (one.value, one.reason) == (None, "undefined")
    assert revealed.disclosures[0].bits >= 1  # the reason tells something too


def test_slices_that_differ_in_few_items_are_closed() -> None:
    """A board that showed both would show the score of the items between them."""
    places = {
        "tag=a": np.arange(900),
        "tag=a-but-one": np.arange(899),
        "tag=same-as-a": np.arange(900),
        "tag=all-but-ten": np.arange(1_990),
        "tag=rest": np.arange(900, 2_000),
        "tag=few": np.arange(20),
    }
    closed = choose_slices(places, N, 50)
    assert closed == {"tag=a-but-one", "tag=all-but-ten", "tag=few"}


def test_slices_that_leave_a_few_items_are_closed() -> None:
    """The slices of a field taken together differ from all items in a handful: one more slice is closed to hide it."""
    places = {
        "source=news": np.arange(1_000),
        "source=web": np.arange(1_000, 1_900),
        "source=chat": np.arange(1_900, 1_990),
        "source=mail": np.arange(1_990, 2_000),
        "length=long": np.arange(0, 2_000, 2),
        "length=short": np.arange(1, 2_000, 2),
    }
    assert choose_slices(places, N, 50) == {"source=mail", "source=chat"}
    places["source=mail"] = np.arange(1_940, 2_000)  # many enough for a score of its own
    assert choose_slices(places, N, 50) == frozenset()


def comparison(p: float, **more: float) -> TrueComparison:
    fields: dict[str, Any] = {"difference": 3.1, "low": 1.0, "high": 5.2, "se": 1.0, **more}
    return TrueComparison(
        task="nli", split="test", metric="accuracy", first="s", second="t", p=p, n=N, **fields
    )


def shown(value: float | None, name: str = "s") -> ShownScore:
    return ShownScore(
        submission=name, task="nli", split="test", metric="accuracy", where="", value=value
    )


def test_a_comparison_shows_the_shown_difference_and_classes() -> None:
    """The exact difference and p do not reach the page."""
    rows = {
        reveal_comparison(
            comparison(p, difference=d, low=d - 2.1, high=d + 2.1),
            shown(80.0),
            shown(83.0, "t"),
            RULES,
            "percent",
        )
        for p, d in ((0.012, 3.1), (0.049, 2.2), (0.03, 3.9))
    }
    (one,) = rows
    assert (one.difference, one.p) == (3.0, "<0.05")
    assert one.low is not None
    assert one.high is not None
    assert one.low <= 0.9
    assert one.high >= 5.1
    assert comparison_bits(RULES) < 5


def test_the_difference_of_a_final_split_is_that_of_the_scores_next_to_it() -> None:
    """They are shown to two decimals there, whatever the step of the ladder."""
    one = reveal_comparison(comparison(0.4), shown(32.33), shown(33.0, "t"), RULES, "percent")
    assert one.difference == 0.67


def test_a_comparison_needs_two_shown_scores() -> None:
    one = reveal_comparison(comparison(0.01), shown(80.0), shown(None, "t"), RULES, "percent")
    assert (one.difference, one.low, one.high, one.p) == (None, None, None, "")
    assert one.reason is not None


def test_p_has_five_classes_and_a_correction_takes_the_largest() -> None:
    classes = {coarse_p(p) for p in np.linspace(0.00001, 1, 5_001)} | {coarse_p(0.00005)}
    assert classes == {"<0.0001", "<0.001", "<0.01", "<0.05", "≥0.05"}
    for p in (0.00002, 0.0004, 0.004, 0.03, 0.3):
        assert p <= largest_p(coarse_p(p))


def test_tie_letters_come_from_what_is_shown() -> None:
    scores = [shown(90.0, "a"), shown(80.0, "b"), shown(79.0, "c"), shown(None, "d")]
    pairs = {("a", "b"): "<0.001", ("c", "a"): "<0.0001", ("b", "c"): "≥0.05"}
    assert tie_letters(scores[:3], pairs) == ["a", "b", "b"]
    # three tests of one family: 0.05 is no longer enough
    assert tie_letters(scores[:3], dict.fromkeys(pairs, "<0.05")) == ["a", "a", "a"]
    assert len(tie_letters(scores, pairs)) == 4


def test_equal_shown_scores_are_ordered_by_date() -> None:
    rows = [(shown(80.0, "late"), 9.0), (shown(80.0, "early"), 3.0), (shown(81.0, "best"), 12.0)]
    rows.append((shown(None, "none"), 1.0))
    ordered = sorted(rows, key=lambda row: rank_key(*row))
    assert [one.submission for one, _ in ordered] == ["best", "early", "late", "none"]


def settings(**tables: Any) -> BoardSettings:
    sets = [{"dataset": "nli", "split": "test"}]
    return msgspec.convert({"name": "b", "title": "b", "sets": sets, **tables}, BoardSettings)


def test_results_appear_at_ticks_whenever_scoring_ended() -> None:
    board = settings(scoring={"release_seconds": 60.0, "seconds": 30.0})
    ticks = {choose_visible_at(board, "public", 601.0, ended) for ended in (601.1, 612.0, 631.0)}
    assert ticks == {660.0}
    assert choose_visible_at(board, "public", 601.0, 700.0) == 720.0
    assert next_tick(0.0, 60.0) == 0.0


def test_dates_hold_results_back() -> None:
    closes = {"closes": "1970-01-02T00:00:00+00:00"}
    late = settings(dates=closes, shown={"public": "after-close"})
    assert choose_visible_at(late, "public", 600.0, 601.0) == 86_400.0
    assert choose_visible_at(settings(dates=closes), "final", 600.0, 601.0) == 86_400.0
    assert choose_visible_at(settings(dates=closes), "final", 86_500.0, 86_501.0) == 86_700.0
    assert choose_visible_at(settings(), "final", 600.0, 601.0) is None
