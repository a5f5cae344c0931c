"""The verdict on machine workers: one paragraph that a paper can quote, made from the figures of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nikawa.aggregation.alternative import FEW_PERSONS, PASSING_RATE
from nikawa.errors import list_names
from nikawa.printable import printable

if TYPE_CHECKING:
    from nikawa.aggregation.alternative import AlternativeTest
    from nikawa.aggregation.machines import GroupAgreement, MachineReport

MAX_TESTS_NAMED = 4
"""Machines whose tests a verdict names one by one."""
MAX_NAMED = 2
"""Habits, and slices, that a verdict names."""
COLUMNS_REMARK = (
    "The persons are columns of a file: a column may mix the answers of several people, so the test compares the machine with a mixed "
    "annotator, and the winning rate counts columns, not people."
)
SIMULATED_REMARK = "The persons are simulated: these figures show the method and justify nothing."
UNKNOWN_REMARK = "The file does not say whether its workers are persons."
REMARKS = {"columns": COLUMNS_REMARK, "simulated": SIMULATED_REMARK, "unknown": UNKNOWN_REMARK}
"""What it means for the test that workers are no persons, or may not be."""


WORDS = {
    "equal arcs": "share of equal arcs",
    "answer F1": "mean F1 of the marked characters",
    "Jaccard": "mean Jaccard index of the label sets",
    "state F1": "mean F1 of the states",
}
"""How a sentence calls the closeness of two answers, where it differs from the table."""


def write_verdict(report: MachineReport, workers_are: str) -> MachineReport:
    """The report with its verdict."""
    sentences = [*_list_sentences(report), *describe_habits(report)]
    return replace(report, verdict=_join(sentences, workers_are))


def write_card_verdict(report: MachineReport, workers_are: str) -> str:
    """The verdict for the card of a dataset: without habits, which say how frequent the labels are."""
    return _join(_list_sentences(report), workers_are)


def _list_sentences(report: MachineReport) -> Iterator[str]:
    yield from describe_agreement(report)
    yield from describe_left_out(report)
    yield from describe_tests(report.tests)


def _join(sentences: Iterable[str], workers_are: str) -> str:
    """One paragraph on one line; control characters in names are escaped."""
    remark = [REMARKS[workers_are]] if workers_are in REMARKS else []
    return printable(" ".join((*sentences, *remark)))


def describe_agreement(report: MachineReport) -> Iterator[str]:
    """How close machines are to persons, and persons to each other."""
    rows = {row.who: row for row in report.agreement if row.measure == report.unit}
    who = list_names(report.machines)
    items = f"On {report.items:,} items"
    both, persons, gap = rows["machines and persons"], rows["persons"], rows["difference"]
    if None in (both.value, persons.value, gap.value):
        return
    if report.unit == "equal answers":
        yield (
            f"{items}, {who} and a person gave the same answer in {_percent(both)}, two persons in {_percent(persons)}: "
            f"a difference of {_points(gap)}."
        )
    elif report.unit == "span F1":
        yield (
            f"{items}, the spans of {who} had an F1 of {_interval(both)} against those of a person; the spans of two persons "
            f"{_interval(persons)}: a difference of {_interval(gap)}."
        )
    elif report.unit == "negative squared difference":
        yield (
            f"{items}, {who} and a person differed by {_root(both)} (root mean square); two persons by {_root(persons)}."
        )
    else:
        yield (
            f"{items}, the {WORDS.get(report.unit, report.unit)} between {who} and a person was {_interval(both)}, between two "
            f"persons {_interval(persons)}: a difference of {_interval(gap)}."
        )


def describe_left_out(report: MachineReport) -> Iterator[str]:
    """The answers of persons that are not compared."""
    if report.filled_in:
        noun = "answer" if report.filled_in == 1 else "answers"
        yield (
            f"{report.filled_in:,} {noun} of persons that came filled in with a machine's answer "
            f"{'is' if report.filled_in == 1 else 'are'} left out: filling in pulls persons towards it."
        )


def _percent(row: GroupAgreement) -> str:
    """`78.1% of the pairs (95% interval 75.0% to 81.2%)`."""
    value = 100 * (row.value or 0.0)
    if row.low is None or row.high is None:
        return f"{value:.1f}% of the pairs"
    return f"{value:.1f}% of the pairs (95% interval {100 * row.low:.1f}% to {100 * row.high:.1f}%)"


def _points(row: GroupAgreement) -> str:
    value = 100 * (row.value or 0.0)
    if row.low is None or row.high is None:
        return f"{value:+.1f} points"
    return f"{value:+.1f} points ({100 * row.low:+.1f} to {100 * row.high:+.1f})"


def _interval(row: GroupAgreement) -> str:
    if row.low is None or row.high is None:
        return f"{row.value:.3f}"
    return f"{row.value:.3f} (95% interval {row.low:.3f} to {row.high:.3f})"


def _root(row: GroupAgreement) -> str:
    """The root of a mean squared difference, which is kept negative; so the ends change places."""
    value, low, high = (
        None if each is None else math.sqrt(max(0.0, -each))
        for each in (row.value, row.high, row.low)
    )
    if low is None or high is None:
        return f"{value:.2f}"
    return f"{value:.2f} (95% interval {low:.2f} to {high:.2f})"


def describe_tests(tests: Sequence[AlternativeTest]) -> Iterator[str]:
    """The alternative annotator test of each machine, and what follows."""
    if not tests:
        yield "The alternative annotator test could not be run: too few items are shared with each person."
        return
    first = tests[0]
    yield (
        f"Alternative annotator test (Calderon, Reichart and Dror, 2025; score {first.score}, epsilon {first.epsilon:g}, "
        f"Benjamini-Yekutieli at {first.level:g}):"
    )
    named = tests if len(tests) <= MAX_TESTS_NAMED else _extremes(tests)
    for test in named:
        won = sum(row.beaten for row in test.persons)
        interval = ""
        if test.low is not None and test.high is not None:
            interval = f", 95% interval {test.low:.2f} to {test.high:.2f}"
        verb = "passes" if test.passed else "does not pass"
        yield (
            f"{test.machine} {verb}: winning rate {test.winning_rate:.2f} ({won} of {_count(len(test.persons), 'person')}), "
            f"average advantage probability {test.advantage:.2f}{interval}."
        )
    if len(named) < len(tests):
        passed = sum(test.passed for test in tests)
        yield f"These are the best and the worst of {len(tests)} machines, of which {passed} pass."
    yield from _conclude(tests)


def _extremes(tests: Sequence[AlternativeTest]) -> tuple[AlternativeTest, AlternativeTest]:
    def rank(test: AlternativeTest) -> tuple[float, float]:
        return test.winning_rate, test.advantage

    return max(tests, key=rank), min(tests, key=rank)


def _conclude(tests: Sequence[AlternativeTest]) -> Iterator[str]:
    passed = [test.machine for test in tests if test.passed]
    if len(passed) == len(tests):
        who = "one of them" if len(tests) > 1 else "it"
        yield f"By this test, {who} may replace a person of this group on such items."
    elif passed:
        yield f"By this test, only {list_names(passed)} may replace a person of this group on such items."
    else:
        who = "none of them may" if len(tests) > 1 else "it may not"
        yield f"By this test, {who} replace a person of this group: a winning rate of {PASSING_RATE:g} is needed."
    fewest = min(len(test.persons) for test in tests)
    if fewest < FEW_PERSONS:
        yield f"With only {_count(fewest, 'person')} the winning rate says little; {FEW_PERSONS} or more are advised."
    skipped = {name for test in tests for name in test.skipped_persons}
    if skipped:
        yield f"{_count(len(skipped), 'person')} with too few items {'is' if len(skipped) == 1 else 'are'} not in the test."


def describe_habits(report: MachineReport) -> Iterator[str]:
    """What machines do otherwise: the largest differences that are unusual."""
    plain = [habit for habit in report.habits if not habit.persons_answer][:MAX_NAMED]
    mixed_up = [habit for habit in report.habits if habit.persons_answer][:1]
    for habit in plain:
        more = "more" if habit.difference > 0 else "less"
        yield (
            f"Machines answer {habit.answer} {more} often than persons ({100 * habit.machines:.1f}% against "
            f"{100 * habit.persons:.1f}%)."
        )
    for habit in mixed_up:
        more = "more" if habit.difference > 0 else "less"
        yield (
            f"Where a person answers {habit.persons_answer}, they answer {habit.answer} {more} often than another person "
            f"({100 * habit.machines:.1f}% against {100 * habit.persons:.1f}%)."
        )
    overall = next((row.value for row in report.agreement if row.who == "difference"), None)
    apart = [part for part in report.slices if part.unusual and part.difference < (overall or 0)]
    apart.sort(key=lambda part: part.difference)
    if apart:
        names = list_names([part.where for part in apart[:MAX_NAMED]])
        yield f"They fall behind persons most on {names}."
    if not (plain or mixed_up or apart):
        yield "No answer, confusion or slice is unusual."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
