"""Adaptive effort: who is asked about what, and how sure the answers are."""

import random
from time import process_time
from typing import Any

import numpy as np
import pytest

from nikawa.aggregation.effort import (
    EffortAnswers,
    EffortModel,
    EffortRule,
    draw_order,
    plan_next,
)
from nikawa.aggregation.full_votes import learn_shares, list_full_votes, match_votes
from nikawa.aggregation.label_forecast import measure_overtaking
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
    true, answers = draw_crowd(200, 3)
    answers += [judge("agreed", name, "a") for name in ("aki", "ben")]
    answers += [judge("split", "aki", "a"), judge("split", "ben", "b")]
    answers += [judge("once", "aki", "a")]
    items = [*true, "agreed", "split", "once", "new"]
    plan = plan_next(answers, items, EffortRule(same=0.9, most=5), labels=("a", "b", "c"))
    rows = {row.example: row for row in plan.items}
    assert (rows["agreed"].reason, rows["agreed"].answer) == ("sure", "a")
    assert (rows["agreed"].same or 0) > 0.9
    assert rows["split"].reason == "not sure"
    assert (rows["split"].same or 1) < 0.6
    assert (rows["once"].reason, rows["once"].more) == ("too few", 1)
    assert (rows["new"].reason, rows["new"].more, rows["new"].same) == ("too few", 2, None)
    assert rows["new"].answer is None
    gains = [row.gain for row in plan.to_ask]
    assert gains == sorted(gains, reverse=True)
    assert not plan.items[-1].more


def test_as_many_items_are_done_as_the_share_allows() -> None:
    """Of items in the same state some are done and others are not: the promise is about all items together."""
    true, answers = draw_crowd(1000, 1)
    pilot = set(draw_order(true, 0)[:100])
    rng = random.Random(8)
    for item in pilot:
        for worker in range(40, 42):
            right = rng.random() < 0.9
            answers.append(judge(item, f"w{worker}", true[item] if right else rng.choice("abc")))
    done = {}
    for same in (0.9, 0.97, 0.99):
        rule = EffortRule(same=same, least=1, most=3, pilot=100)
        plan = plan_next(answers, true, rule, labels=("a", "b", "c"))
        ended = [row for row in plan.items if row.reason == "sure"]
        wrong = sum(1 - (row.same or 0) for row in ended)
        assert wrong <= (1 - same) * 1000 + 1e-6
        assert wrong > (1 - same) * 1000 - 0.3 or not plan.to_ask
        done[same] = len(ended)
    assert done[0.99] < done[0.97] < done[0.9] <= 900


def test_the_last_answers_are_not_bought_when_they_cannot_change_the_vote() -> None:
    answers = [judge("1", name, "yes") for name in ("aki", "ben", "eve")]
    plan = plan_next(answers, ["1"], EffortRule(same=0.9999, most=5), labels=LABELS)
    assert (plan.items[0].reason, plan.items[0].same) == ("settled", 1.0)
    answers = [judge("1", name, label) for name, label in zip("abcd", "nnny", strict=True)]
    plan = plan_next(answers, ["1"], EffortRule(same=0.9999, most=6), labels=("n", "y"))
    assert plan.items[0].reason == "not sure"  # two more could draw level
    plan = plan_next(answers, ["1"], EffortRule(same=0.9999, most=5), labels=("n", "y"))
    assert plan.items[0].reason == "settled"


def test_where_only_one_label_was_given_so_far_others_may_come() -> None:
    answers = [judge("1", name, "yes") for name in ("aki", "ben")]
    for known, reason in (((), "not sure"), (LABELS, "sure")):
        plan = plan_next(answers, ["1"], EffortRule(same=0.5, most=5), labels=known)
        assert plan.items[0].reason == reason


def test_the_chance_of_a_change_is_that_of_the_votes_to_come() -> None:
    """Against votes drawn one by one, each more probable by the answers before (Polya's urn)."""
    rng = np.random.default_rng(3)
    errors = np.array([[0.8, 0.1, 0.2], [0.1, 0.7, 0.2], [0.1, 0.2, 0.6]])
    counts, strength, most = np.array([2, 1, 0]), 6.0, 6
    by_formula = measure_overtaking(counts[None, :], np.array([0]), errors, strength, most)[0]
    for label in range(3):
        lost = 0
        for _ in range(4000):
            urn = strength * errors[:, label] + counts
            for _ in range(most - 3):
                urn[rng.choice(3, p=urn / urn.sum())] += 1
            votes = urn - strength * errors[:, label]
            lost += int((votes[1:] >= votes[0] - 1e-9).sum())  # each rival counts
        assert by_formula[label] == pytest.approx(lost / 4000, abs=0.03)


def test_full_votes_are_learnt_from_parts_bought_because_of_earlier_answers() -> None:
    """A third answer is bought only where two differ; the share of unanimous votes is found all the same."""
    rng = np.random.default_rng(4)
    full = list_full_votes(2, 3)
    assert full is not None
    true = np.array([0.15, 0.2, 0.05, 0.6])
    votes = full[rng.choice(4, 20_000, p=true)]
    parts = []
    for count in votes:
        order = rng.permutation([0] * count[0] + [1] * count[1])
        kept = order[:2] if order[0] == order[1] else order
        parts.append([int((kept == 0).sum()), int((kept == 1).sum())])
    states, weights = np.unique(parts, axis=0, return_counts=True)
    # pairs alone do not tell 2:1 from 3:0, so some items get all three
    some, of_some = np.unique(votes[:500], axis=0, return_counts=True)
    matches = match_votes(np.vstack([states, some]), full)
    counted = np.concatenate([weights, of_some]).astype(np.float64)
    assert learn_shares(matches, counted, np.full(4, 0.25)) == pytest.approx(true, abs=0.03)
    assert list_full_votes(30, 5) is None


def test_no_item_gets_more_than_most_and_waits_for_what_is_under_way() -> None:
    answers = [judge("split", "aki", "no"), judge("split", "ben", "yes")]
    rule = EffortRule(same=0.99, least=2, most=3)
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
    wrong = [sum(1 - (row.same or 0) for row in plan.items) for plan in (five, without)]
    assert wrong[0] < wrong[1]


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


def test_what_the_plan_says_of_the_full_vote_comes_true() -> None:
    true, answers = draw_crowd(3000, 5, accuracy=0.6)
    given: dict[str, list[Judgement]] = {}
    for answer in answers:
        given.setdefault(answer.example, []).append(answer)
    first = [answer for rows in given.values() for answer in rows[:3]]
    plan = plan_next(first, true, EffortRule(most=5), labels=("a", "b", "c"))
    stated, kept = [], []
    for row in plan.items:
        votes = sorted([one.answer for one in given[row.example]].count(x) for x in "abc")
        leads = [one.answer for one in given[row.example]].count(row.answer) == votes[2] > votes[1]
        stated.append(row.same or 0)
        kept.append(leads)
    assert np.mean(stated) == pytest.approx(np.mean(kept), abs=0.02)
    unsure = [place for place, share in enumerate(stated) if share < 0.9]
    assert np.mean([stated[n] for n in unsure]) == pytest.approx(
        np.mean([kept[n] for n in unsure]), abs=0.06
    )
    assert plan.persons_accuracy == pytest.approx(0.73, abs=0.03)  # 0.6 and a third of the guesses


def test_items_that_differ_in_difficulty_are_known_as_such() -> None:
    """With as many errors in all, a crowd that errs on hard items only is surer of the others."""
    rng = random.Random(6)
    rows: dict[bool, list[Judgement]] = {True: [], False: []}
    for alike in rows:
        for n in range(1500):
            accuracy = 0.8 if alike else rng.choice((0.99, 0.99, 0.42))
            rows[alike] += [
                judge(str(n), f"w{worker}", LABELS[(rng.random() < accuracy) ^ (n % 2)])
                for worker in range(5)
            ]
    fits = {}
    for alike, answers in rows.items():
        rule = EffortRule(kind="labels", most=40)
        read = EffortAnswers.read(answers, map(str, range(1500)), rule, labels=LABELS)
        model = EffortModel.fit(read, rule)
        assert model.labels is not None
        fits[alike] = model.labels.strength
    assert fits[True] > 2 * fits[False]


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


@pytest.mark.parametrize("estimates", [False, True])
def test_scales_stop_where_the_mean_will_stay(estimates: bool) -> None:
    means, rows = draw_ratings(1500, 5)
    first = [row for row in rows if int(row.worker[1:]) < 3 or row.example in list(means)[:100]]
    rule = EffortRule(same=0.95, most=5, estimates=estimates)
    plan = plan_next(first, means, rule)
    assert plan.kind == "numbers"
    full: dict[str, float] = dict.fromkeys(means, 0.0)
    for given in rows:
        full[given.example] += given.answer / 5
    near = [abs(row.answer - full[row.example]) <= 0.5 + 1e-9 for row in plan.items]
    assert np.mean([row.same or 0 for row in plan.items]) == pytest.approx(np.mean(near), abs=0.02)
    ended = [kept for row, kept in zip(plan.items, near, strict=True) if row.reason == "sure"]
    assert len(ended) > 500
    assert np.mean(ended) > 0.93
    done = plan_next(rows, means, rule)
    assert {row.reason for row in done.items} == {"most"}
    assert all(row.answer == pytest.approx(full[row.example]) for row in done.items)


def test_the_gold_of_a_scale_is_the_mean_unless_an_estimate_is_wanted() -> None:
    means, rows = draw_ratings(300, 2)
    top = [judge("top", f"w{n}", 5, "score") for n in range(2)]
    golds = []
    for estimates in (False, True):
        rule = EffortRule(most=3, estimates=estimates)
        plan = plan_next([*rows, *top], [*means, "top"], rule)
        golds.append(next(row.answer for row in plan.items if row.example == "top"))
    assert golds[0] == 5.0
    assert 4.0 < golds[1] <= 5.0


def test_a_fine_scale_is_planned_without_listing_its_votes() -> None:
    rng = random.Random(3)
    rows = [
        judge(str(n), f"w{worker}", min(100, max(0, round(rng.gauss(60, 20)))), "score")
        for n in range(200)
        for worker in range(2)
    ]
    rows += [judge("odd", "w0", 0.5, "score"), judge("odd", "w1", 99.25, "score")]
    rule = EffortRule(same=0.8, most=6, tolerance=10)
    plan = plan_next(rows, [*map(str, range(200)), "odd"], rule)
    shares = {row.example: row.same or 0 for row in plan.items}
    assert all(0 < share < 1 for share in shares.values())
    assert {row.reason for row in plan.items} >= {"not sure"}


def test_a_machine_that_predicts_the_mean_makes_surer() -> None:
    means, rows = draw_ratings(400, 2)
    rows += [
        judge(item, f"x{n}", min(5, max(1, round(means[item]))), "score")
        for item in list(means)[:60]
        for n in range(4)
    ]
    helpful = [judge(item, "model:m#1", round(mean), "score") for item, mean in means.items()]
    rng = random.Random(1)
    useless = [judge(item, "model:m#1", rng.randint(1, 5), "score") for item in means]
    rule = EffortRule(machines=True, most=6, same=0.995, estimates=True)

    def count_done(machine: list[Judgement]) -> int:
        return plan_next([*rows, *machine], means, rule).reasons.get("sure", 0)

    assert count_done(helpful) > 1.3 * count_done([])
    assert count_done(useless) == pytest.approx(count_done([]), rel=0.2)


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
    [
        {"same": 1.0},
        {"tolerance": -1},
        {"least": 3, "most": 2},
        {"least": 0},
        {"budget": -1},
        {"most": 101},
    ],
)
def test_rules_without_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        EffortRule(**fields)


def test_thousands_of_items_are_planned_within_a_second() -> None:
    true, answers = draw_crowd(5000, 10)
    start = process_time()
    plan = plan_next(answers, true, EffortRule(most=12), labels=("a", "b", "c"))
    assert process_time() - start < 1.5
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
    plan = plan_next(first, true, EffortRule(least=1, same=0.999), labels=("a", "b", "c"))
    assert plan.persons_accuracy == pytest.approx(0.8, abs=0.1)
    assert plan.reasons["not sure"] > 290


def test_a_machine_does_not_overrule_the_vote_of_persons() -> None:
    true, rows = draw_crowd(300, 3)
    rows += [judge(item, "model:m#1", right) for item, right in true.items()]
    rows += [judge("odd", name, "a") for name in ("w1", "w2")]
    rows += [judge("odd", "model:m#1", "b")]
    rule = EffortRule(machines=True, most=9, same=0.6)
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
