"""Adaptive effort: who is asked about what, and how sure the answers are."""

import random
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from nikawa.aggregation.effort import (
    EffortAnswers,
    EffortModel,
    EffortRule,
    draw_order,
    find_settled,
    measure_label_gain,
    plan_next,
)
from nikawa.aggregation.table import Table
from nikawa.errors import BadInput
from nikawa.records import Judgement, JudgementKind

LABELS = ("no", "yes")


def judge(
    example: str, worker: str, answer: Any, question: str = "label", kind: JudgementKind = "person"
) -> Judgement:
    return Judgement(example=example, worker=worker, question=question, answer=answer, kind=kind)


def draw_crowd(
    items: int, per_item: int, accuracy: float = 0.85
) -> tuple[dict[str, str], list[Judgement]]:
    """Persons who are right with a fixed probability, and what is true."""
    rng, labels = random.Random(1), ("a", "b", "c")
    true = {f"i{n}": rng.choice(labels) for n in range(items)}
    answers = [
        judge(item, f"w{worker}", right if rng.random() < accuracy else rng.choice(labels))
        for item, right in true.items()
        for worker in rng.sample(range(30), per_item)
    ]
    return true, answers


def test_items_come_by_gain_and_sure_items_are_done() -> None:
    answers = [judge("agreed", name, "yes") for name in ("aki", "ben")]
    answers += [judge("split", "aki", "no"), judge("split", "ben", "yes")]
    answers += [judge("once", "aki", "yes")]
    plan = plan_next(
        answers, ["agreed", "split", "once", "new"], EffortRule(sure=0.8, most=5), labels=LABELS
    )
    rows = {row.example: row for row in plan.items}
    assert rows["agreed"].reason == "sure"
    assert rows["agreed"].answer == "yes"
    assert rows["agreed"].sure is not None
    assert rows["agreed"].sure > 0.8
    assert rows["split"].reason == "not sure"
    assert rows["split"].sure is not None
    assert rows["split"].sure < 0.75
    assert (rows["once"].reason, rows["once"].more) == ("too few", 1)
    assert (rows["new"].reason, rows["new"].more, rows["new"].sure) == ("too few", 2, None)
    assert rows["new"].answer is None
    gains = [row.gain for row in plan.to_ask]
    assert gains == sorted(gains, reverse=True)
    assert [row.example for row in plan.items][-1] == "agreed"


def test_the_last_answers_are_not_bought_when_they_cannot_change_the_vote() -> None:
    persons = Table.from_columns("aaabbbccc", "xyz" * 3, list("nnynnnyyn"))
    assert find_settled(persons, 5).tolist() == [False, True, False]
    assert find_settled(persons, 3).tolist() == [True, True, True]
    answers = [judge("1", name, "yes") for name in ("aki", "ben", "eve")]
    plan = plan_next(answers, ["1"], EffortRule(sure=0.9999, most=5), labels=LABELS)
    assert plan.items[0].reason == "settled"


def test_no_item_gets_more_than_most_and_waits_for_what_is_under_way() -> None:
    answers = [judge("split", "aki", "no"), judge("split", "ben", "yes")]
    rule = EffortRule(sure=0.99, least=2, most=3)
    waiting = plan_next(
        answers, ["split", "new"], rule, labels=LABELS, pending={"split": 1, "new": 1}
    )
    rows = {row.example: row for row in waiting.items}
    assert (rows["split"].reason, rows["split"].more) == ("waits", 0)
    assert (rows["new"].reason, rows["new"].more) == ("too few", 1)
    full = plan_next([*answers, judge("split", "eve", "yes")], ["split"], rule, labels=LABELS)
    assert (full.items[0].reason, full.items[0].more) == ("most", 0)


def test_the_budget_cuts_the_list_where_it_is_spent() -> None:
    answers = [judge(str(n), "aki", "yes") for n in range(4)]
    rule = EffortRule(least=2, most=3, budget=7)
    plan = plan_next(answers, map(str, range(6)), rule, labels=LABELS)
    assert sum(row.more for row in plan.items) == 3
    assert plan.reasons["budget"] == 4
    assert plan_next(answers, map(str, range(6)), EffortRule(budget=0), labels=LABELS).to_ask == ()


def test_the_pilot_is_asked_first_and_fully() -> None:
    items = [str(n) for n in range(50)]
    plan = plan_next([], items, EffortRule(least=1, most=4, pilot=5, seed=3), labels=LABELS)
    first = plan.to_ask[:5]
    assert {row.example for row in first} == set(draw_order(items, 3)[:5])
    assert {(row.reason, row.more) for row in first} == {("pilot", 4)}
    assert {row.more for row in plan.to_ask[5:]} == {1}


def test_order_depends_on_the_seed_and_not_on_the_place_of_an_item() -> None:
    items = [str(n) for n in range(100)]
    assert draw_order(items, 1) == draw_order(items[::-1], 1)
    assert draw_order(items, 1) != draw_order(items, 2)
    part = [item for item in draw_order(items, 1) if int(item) < 50]
    assert part == draw_order(items[:50], 1)


def test_machines_count_only_when_asked_and_copies_count_once() -> None:
    true, answers = draw_crowd(300, 2)
    rng = random.Random(5)
    for item, right in true.items():
        answer = right if rng.random() < 0.9 else "a"
        answers += [judge(item, f"model:m#{copy}", answer) for copy in range(1, 6)]
    without = plan_next(answers, true, EffortRule(), labels=("a", "b", "c"))
    assert {row.machines for row in without.items} == {0}
    assert without.machine_accuracy == {}
    five = plan_next(answers, true, EffortRule(machines=True), labels=("a", "b", "c"))
    assert {row.machines for row in five.items} == {1}
    one = plan_next(
        [
            row
            for row in answers
            if not row.worker.startswith("model:") or row.worker.endswith("#1")
        ],
        true,
        EffortRule(machines=True),
        labels=("a", "b", "c"),
    )
    assert five.items == one.items  # more copies of the same answer are no more evidence
    assert five.machine_accuracy["model:m"] == pytest.approx(0.9, abs=0.06)
    gains = [sum(row.gain for row in plan.items) for plan in (five, without)]
    assert gains[0] < gains[1]  # less is left to learn


def test_what_a_machine_says_of_its_kind_counts_as_its_name_does() -> None:
    answers = [judge("1", "gpt", "yes", kind="machine"), judge("1", "simulated:x", "yes")]
    plan = plan_next(answers, ["1"], EffortRule(machines=True), labels=LABELS)
    assert (plan.items[0].persons, plan.items[0].machines) == (0, 1)
    assert plan.answers == 0


def test_a_useless_machine_changes_next_to_nothing() -> None:
    true, answers = draw_crowd(400, 3)
    rng = random.Random(7)
    noise = [judge(item, "model:coin#1", rng.choice("abc")) for item in true]
    plain = plan_next(answers, true, EffortRule(), labels=("a", "b", "c"))
    noisy = plan_next([*answers, *noise], true, EffortRule(machines=True), labels=("a", "b", "c"))
    leaders = {row.example: row.answer for row in plain.items}
    same = sum(row.answer == leaders[row.example] for row in noisy.items)
    assert same > 380
    assert noisy.machine_accuracy["model:coin"] < 0.45


def test_the_posterior_is_calibrated_on_persons_who_err_as_the_model_says() -> None:
    true, answers = draw_crowd(3000, 3, accuracy=0.7)
    plan = plan_next(answers, true, EffortRule(most=9), labels=("a", "b", "c"))
    stated = np.mean([row.sure or 0 for row in plan.items])
    right = np.mean([row.answer == true[row.example] for row in plan.items])
    assert stated == pytest.approx(right, abs=0.03)
    assert plan.persons_accuracy == pytest.approx(0.8, abs=0.03)  # 0.7 and a third of the guesses


def test_gain_is_the_mutual_information() -> None:
    errors = np.array([[0.9, 0.2], [0.1, 0.8]])
    posterior = np.array([[0.5, 0.5], [1.0, 0.0]])
    joint = errors * posterior[0]
    by_hand = sum(
        p * np.log2(p / (joint[a].sum() * posterior[0][t])) for (a, t), p in np.ndenumerate(joint)
    )
    assert measure_label_gain(posterior, errors) == pytest.approx([by_hand, 0.0])


def test_one_item_is_assessed_as_in_the_whole_plan() -> None:
    true, answers = draw_crowd(200, 3)
    answers += [judge(item, "model:m#1", right) for item, right in true.items()]
    rule = EffortRule(machines=True, most=5)
    read = EffortAnswers.read(answers, true, rule, labels=("a", "b", "c"))
    model = EffortModel.fit(read, rule)
    rows = {row.example: row for row in model.plan(read).items}
    for item in list(true)[:20]:
        mine = [answer for answer in answers if answer.example == item]
        alone = model.assess(item, mine)
        assert alone.reason == rows[item].reason
        assert alone.sure == pytest.approx(rows[item].sure)
    assert model.assess("new", []).reason == "too few"
    with pytest.raises(BadInput, match="fitted without the answer"):
        model.assess("i1", [judge("i1", "aki", "d")])


def draw_ratings(items: int, per_item: int) -> tuple[dict[str, float], list[Judgement]]:
    rng = random.Random(2)
    means = {f"i{n}": rng.uniform(1, 5) for n in range(items)}
    spread = {item: rng.choice((0.2, 1.0)) for item in means}
    rows = [
        judge(item, f"w{worker}", min(5, max(1, round(rng.gauss(mean, spread[item])))), "score")
        for item, mean in means.items()
        for worker in range(per_item)
    ]
    return means, rows


def test_scales_stop_by_the_width_of_the_interval_of_the_mean() -> None:
    means, rows = draw_ratings(600, 7)
    first = [row for row in rows if int(row.worker[1:]) < 3]
    rule = EffortRule(width=1.5, most=7)
    plan = plan_next(first, means, rule)
    assert plan.kind == "numbers"
    full: dict[str, float] = dict.fromkeys(means, 0.0)
    for given in rows:
        full[given.example] += given.answer / 7
    inside = [(row.low or 0) <= full[row.example] <= (row.high or 9) for row in plan.items]
    assert 0.9 < np.mean(inside) < 0.995
    assert {row.reason for row in plan.items} == {"sure", "not sure"}
    for row in plan.items:
        assert row.low is not None
        assert row.high is not None
        assert (row.high - row.low <= 1.5) == (row.reason == "sure")
    done = plan_next(rows, means, rule)
    assert {row.reason for row in done.items} == {"most"}
    assert all(row.answer == pytest.approx(full[row.example]) for row in done.items)


def test_a_machine_that_predicts_the_mean_narrows_the_interval() -> None:
    means, rows = draw_ratings(400, 2)
    helpful = [judge(item, "model:m#1", round(mean), "score") for item, mean in means.items()]
    rng = random.Random(1)
    useless = [judge(item, "model:m#1", rng.randint(1, 5), "score") for item in means]
    rule = EffortRule(machines=True, most=6)

    def mean_width(machine: list[Judgement]) -> float:
        plan = plan_next([*rows, *machine], means, rule)
        return sum((row.high or 0) - (row.low or 0) for row in plan.items) / len(plan.items)

    assert mean_width(helpful) < 0.85 * mean_width([])
    assert mean_width(useless) == pytest.approx(mean_width([]), rel=0.05)


def test_whole_numbers_can_be_labels() -> None:
    rows = [judge("1", "aki", 1), judge("1", "ben", 1), judge("2", "aki", 0), judge("2", "ben", 2)]
    plan = plan_next(rows, ["1", "2"], EffortRule(kind="labels", most=3))
    assert plan.kind == "labels"
    assert {row.answer for row in plan.items if row.example == "1"} == {1}
    assert plan_next(rows, ["1", "2"], EffortRule(most=3)).kind == "numbers"


@pytest.mark.parametrize(
    ("rows", "rule", "message"),
    [
        ([judge("1", "aki", [{"start": 0, "end": 1}])], {}, "are lists: no posterior"),
        ([judge("1", "aki", "yes")], {"kind": "numbers"}, "are not numbers"),
        ([judge("1", "aki", "yes"), judge("1", "aki", "yes", "other")], {}, "several questions"),
        ([judge("1", "aki", "yes"), judge("1", "aki", "no")], {}, "twice"),
    ],
)
def test_what_has_no_posterior_is_refused(
    rows: list[Judgement], rule: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        plan_next(rows, ["1"], EffortRule(**rule))


@pytest.mark.parametrize(
    "fields",
    [{"sure": 1.0}, {"width": 0}, {"least": 3, "most": 2}, {"least": 0}, {"budget": -1}],
)
def test_rules_without_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        EffortRule(**fields)


def test_thousands_of_items_are_planned_within_a_second() -> None:
    true, answers = draw_crowd(5000, 10)
    start = perf_counter()
    plan = plan_next(answers, true, EffortRule(most=12), labels=("a", "b", "c"))
    assert perf_counter() - start < 1.5
    assert len(plan.items) == 5000


def test_persons_do_not_look_worse_because_hard_items_got_more_answers() -> None:
    rng = random.Random(4)
    true, first = draw_crowd(2000, 1, accuracy=0.8)
    machine = {item: right if rng.random() < 0.9 else "a" for item, right in true.items()}
    rows = first + [judge(item, "model:m#1", answer) for item, answer in machine.items()]
    rule = EffortRule(least=1, most=5, pilot=100, machines=True)
    pilot = set(draw_order(true, 0)[:100])
    for row in first:  # more persons where the machine contradicts the first, and in the pilot
        if row.answer != machine[row.example] or row.example in pilot:
            right = true[row.example]
            for worker in range(4):
                answer = right if rng.random() < 0.8 else rng.choice("abc")
                rows.append(judge(row.example, f"more{worker}", answer))
    plan = plan_next(rows, true, rule, labels=("a", "b", "c"))
    assert plan.persons_accuracy == pytest.approx(0.867, abs=0.04)
    assert plan.machine_accuracy["model:m"] == pytest.approx(0.93, abs=0.04)
    right = np.mean([row.answer == true[row.example] for row in plan.items])
    assert right > 0.95


def test_without_a_pilot_single_answers_say_nothing_about_errors() -> None:
    true, first = draw_crowd(300, 1)
    plan = plan_next(first, true, EffortRule(least=1, sure=0.95), labels=("a", "b", "c"))
    assert plan.persons_accuracy == pytest.approx(0.8, abs=0.001)
    assert plan.reasons == {"not sure": 300}


def test_a_machine_does_not_overrule_the_vote_of_persons() -> None:
    true, rows = draw_crowd(300, 3)
    rows += [judge(item, "model:m#1", right) for item, right in true.items()]
    rows += [judge("odd", name, "a") for name in ("w1", "w2")]
    rows += [judge("odd", "model:m#1", "b")]
    rule = EffortRule(machines=True, most=9, sure=0.6)
    plan = plan_next(rows, [*true, "odd"], rule, labels=("a", "b", "c"))
    odd = next(row for row in plan.items if row.example == "odd")
    assert odd.answer == "a" or odd.reason == "not sure"
    for row in plan.items:
        votes = [given.answer for given in rows if given.example == row.example]
        if row.reason == "sure":
            persons = votes[: row.persons]
            assert persons.count(row.answer) > max(
                persons.count(x) for x in "abc" if x != row.answer
            )
