"""What holds on SQLite and PostgreSQL alike: leases, answers, undo, reports, pilot, control items, exclusion, export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from nikawa.collect.adjudication import add_decision, find_disagreements, resolve_item
from nikawa.collect.dashboard import audit_rows, item_rows, overview
from nikawa.collect.submissions import Report, report_item, save_draft
from nikawa.collect.workers import exclude, join_worker, reinstate
from nikawa.serve.errors import Refused

Begin = Callable[..., Any]


def test_each_item_is_answered_as_often_as_asked(crowd: Begin) -> None:
    here = crowd(items=5, assign={"workers_per_item": 2})
    names = ["a", "b", "c", "d"]
    here.join(*names)
    for _ in range(5):
        for name in names:
            if here.state(name)["item"]:
                here.answer(name)
    found = here.exported()
    assert len(found) == 10
    assert set(Counter(j.example for j in found).values()) == {2}
    assert len({(j.example, j.worker) for j in found}) == 10
    assert all(here.state(name)["stage"] == "done" for name in names)


def test_a_reload_shows_the_same_item(crowd: Begin) -> None:
    here = crowd()
    here.join("a")
    assert here.state("a") == here.state("a")
    assert sum(leased for _, leased in here.counts()) == 1


def test_orders_differ_by_worker_and_stay(crowd: Begin) -> None:
    here = crowd(items=30, assign={"workers_per_item": 5})
    orders: dict[str, list[str]] = {}
    for name in ("a", "b", "c"):
        here.join(name)
        orders[name] = []
        for _ in range(30):
            orders[name].append(here.state(name)["item"]["inputs"]["premise"])
            here.answer(name)
        assert len(set(orders[name])) == 30
    assert orders["a"] != orders["b"] != orders["c"] != sorted(orders["a"])


def test_file_order(crowd: Begin) -> None:
    here = crowd(items=4, assign={"order": "file"})
    here.join("a")
    seen = []
    for _ in range(4):
        seen.append(here.state("a")["item"]["inputs"]["premise"])
        here.answer("a")
    assert seen == ["前提i000", "前提i001", "前提i002", "前提i003"]


def test_the_same_key_is_one_answer(crowd: Begin) -> None:
    here = crowd()
    here.join("a")
    lease = here.lease("a")
    assert not here.answer("a", key="once", lease=lease).duplicate
    assert here.answer("a", "neutral", key="once", lease=lease).duplicate
    assert len(here.exported()) == 1
    with pytest.raises(Refused, match="already_answered"):
        here.answer("a", key="other", lease=lease)
    with pytest.raises(Refused, match="key_used"):
        here.answer("a", key="once", lease=here.lease("a"))


def test_a_lease_is_its_workers_alone(crowd: Begin) -> None:
    here = crowd()
    here.join("a", "b")
    with pytest.raises(Refused, match="lease_unknown"):
        here.answer("b", lease=here.lease("a"))
    with pytest.raises(Refused, match="link_unknown"):
        here.state("nobody")


def test_a_lease_runs_out_and_the_item_goes_on(crowd: Begin) -> None:
    here = crowd(items=1, assign={"workers_per_item": 1, "lease_minutes": 10})
    here.join("a", "b")
    late = here.lease("a")
    assert here.state("b")["stage"] == "waiting"
    here.now += 601
    assert here.lease("b") != late
    saved = here.answer("a", lease=late)
    assert saved.surplus
    assert not here.answer("b").surplus
    assert [j.worker for j in here.exported()] == ["b"]
    assert {j.worker for j in here.exported("main", "surplus")} == {"a", "b"}
    assert here.counts() == [(1, 0)]


def test_a_late_answer_counts_where_nobody_took_over(crowd: Begin) -> None:
    here = crowd(items=1, assign={"workers_per_item": 1, "lease_minutes": 10})
    here.join("a", "b")
    late = here.lease("a")
    here.now += 601
    assert not here.answer("a", lease=late).surplus
    assert here.counts() == [(1, 0)]
    assert here.state("b")["stage"] == "done"


def test_who_comes_back_late_goes_on_where_they_were(crowd: Begin) -> None:
    here = crowd(items=3, assign={"lease_minutes": 10})
    here.join("a")
    late = here.lease("a")
    here.now += 10_000
    assert here.lease("a") == late
    assert sum(leased for _, leased in here.counts()) == 1


def test_a_draft_is_kept_and_prolongs(crowd: Begin) -> None:
    here = crowd(assign={"lease_minutes": 10})
    here.join("a")
    lease = here.lease("a")
    here.now += 500
    assert here.do(save_draft, "a", lease, '{"text": "書きかけ"}')
    here.now += 500
    item = here.state("a")["item"]
    assert (item["lease"], item["draft"]) == (lease, {"text": "書きかけ"})
    here.answer("a")
    with pytest.raises(Refused, match="already_answered"):
        here.do(save_draft, "a", lease, "1")


def test_undo_adds_and_hands_the_item_out_again(crowd: Begin) -> None:
    here = crowd(items=4, pay={"per_item": 5})
    here.join("a")
    assert not here.state("a")["can_undo"]
    first = here.state("a")["item"]["inputs"]
    here.answer("a", "neutral")
    held = here.lease("a")
    here.now += 1
    state = here.undo("a")
    assert (state["item"]["inputs"], state["item"]["previous"]) == (first, {"label": "neutral"})
    assert (state["progress"]["answered"], state["earned"]["amount"]) == (0, 0)
    assert here.undo("a")["item"]["lease"] == state["item"]["lease"]
    here.answer("a", "entailment")
    assert here.lease("a") == held
    assert [j.answer for j in here.exported()] == ["entailment"]
    assert [j.answer for j in here.exported("main", "withdrawn")] == ["neutral", "entailment"]
    assert sum(done + leased for done, leased in here.counts()) == 2


def test_nothing_to_undo(crowd: Begin) -> None:
    here = crowd()
    here.join("a")
    with pytest.raises(Refused, match="nothing_to_undo"):
        here.undo("a")


def test_one_of_a_group(crowd: Begin) -> None:
    here = crowd(items=6, assign={"one_per_group": True})
    here.join("a")
    seen = []
    while here.state("a")["item"]:
        seen.append(here.state("a")["item"]["inputs"]["premise"])
        here.answer("a")
    assert len({int(text[-3:]) // 2 for text in seen}) == len(seen) == 3


def test_a_limit_for_each_worker(crowd: Begin) -> None:
    here = crowd(items=6, assign={"items_per_worker": 2})
    here.join("a")
    here.answer("a")
    assert here.state("a")["progress"] == {
        "answered": 1,
        "left": 1,
        "more": False,
        "pilot_left": 0,
    }
    here.answer("a")
    state = here.state("a")
    assert (state["stage"], state["item"], state["code"]) == ("done", None, here.project.code("a"))


def test_the_pilot_comes_first_and_is_passed(crowd: Begin) -> None:
    here = crowd(trial=2)
    here.join("a", "b")
    assert here.state("a")["stage"] == "pilot"
    for correct in (True, True):
        here.answer("a", correct=correct)
    assert here.state("a")["stage"] == "main"
    assert not here.state("a")["can_undo"]
    for correct in (True, False):
        here.answer("b", correct=correct)
    assert here.state("b")["stage"] == "failed"
    assert here.state("b")["item"] is None
    assert not here.exported()
    assert len(here.exported("pilot")) == 4
    here.change(reinstate, "b")
    assert here.state("b")["stage"] == "main"


def test_control_items_are_mixed_in_and_exclude(crowd: Begin) -> None:
    here = crowd(items=40, control=10, gold={"rate": 0.4, "after": 3, "pass_mark": 0.5})
    here.join("a")
    while here.worker("a").state == "active" and here.state("a")["item"]:
        premise = here.state("a")["item"]["inputs"]["premise"]
        here.answer("a", correct=False if "gold" in premise else None)
    worker = here.worker("a")
    assert worker.state == "excluded"
    assert (worker.gold, worker.gold_right, worker.reason) == (3, 0, "0 of 3 control items right")
    assert not here.exported()
    assert len(here.exported("main", "excluded")) == worker.answered - 3
    assert {done for done, _ in here.counts()} == {0}
    assert here.state("a")["stage"] == "excluded"


def test_too_quick_is_excluded(crowd: Begin) -> None:
    here = crowd(items=20, speed={"min_seconds": 2, "after": 4})
    here.join("quick", "slow")
    for _ in range(4):
        for name, seconds in (("quick", 1.0), ("slow", 3.0)):
            lease = here.lease(name)
            here.now += 5
            here.answer(name, lease=lease, seconds=seconds)
    assert here.worker("quick").state == "excluded"
    assert (here.worker("slow").state, here.worker("slow").seconds) == ("active", 12)


def _work(here: Any, name: str, answers: int, *, right: bool = True, seconds: float = 9.0) -> None:
    for _ in range(answers):
        state = here.state(name)
        lease, premise = state["item"]["lease"], state["item"]["inputs"]["premise"]
        here.now += 10
        here.answer(
            name, lease=lease, seconds=seconds, correct=right if "gold" in premise else None
        )


def test_who_is_taken_back_is_judged_by_what_they_do_from_then_on(crowd: Begin) -> None:
    here = crowd(items=40, control=12, gold={"rate": 0.4, "after": 3, "pass_mark": 0.5})
    here.join("a")
    while here.worker("a").state == "active":
        _work(here, "a", 1, right=False)
    here.change(reinstate, "a")
    while here.worker("a").gold < 5:
        _work(here, "a", 1, right=False)
    assert (here.worker("a").state, here.worker("a").reason) == ("active", "")
    assert len(here.exported()) == here.worker("a").answered - 5 > 0
    while here.worker("a").state == "active":
        _work(here, "a", 1, right=False)
    assert here.worker("a").reason == "0 of 3 control items right since they were taken back"
    here.change(reinstate, "a")
    while here.state("a")["item"]:
        _work(here, "a", 1)
    assert here.worker("a").state == "active"


def test_who_was_too_quick_and_is_taken_back_may_go_on(crowd: Begin) -> None:
    here = crowd(items=20, speed={"min_seconds": 2, "after": 4})
    here.join("a")
    _work(here, "a", 4, seconds=1.0)
    assert here.worker("a").state == "excluded"
    here.change(reinstate, "a")
    _work(here, "a", 3, seconds=1.0)
    assert here.worker("a").state == "active"
    _work(here, "a", 1, seconds=1.0)
    assert here.worker("a").reason == "4 of 4 answers under 2 s since they were taken back"


def test_who_reported_a_pilot_item_and_is_let_in_can_work(crowd: Begin) -> None:
    here = crowd(trial=2)
    here.join("a")
    here.report("a")
    here.answer("a", correct=True)
    assert here.state("a")["stage"] == "failed"
    here.change(reinstate, "a")
    assert here.state("a")["stage"] == "main"


def test_a_page_cannot_claim_more_time_than_went_by(crowd: Begin) -> None:
    here = crowd()
    here.join("a")
    lease = here.lease("a")
    here.now += 7
    here.answer("a", lease=lease, seconds=1000.0)
    assert here.exported()[0].seconds == 7


def test_excluding_opens_the_items_again(crowd: Begin) -> None:
    here = crowd(items=2, assign={"workers_per_item": 1})
    here.join("a", "b")
    held = here.lease("a")
    here.answer("a", lease=held)
    here.lease("a")
    assert here.state("b")["stage"] == "waiting"
    here.change(exclude, "a")
    assert here.counts() == [(0, 0), (0, 0)]
    here.answer("b")
    here.answer("b")
    assert len(here.exported()) == 2
    here.change(reinstate, "a")
    assert sorted(here.counts()) == [(1, 0), (2, 0)]
    assert len(here.exported()) == 3


def test_progress_counts_what_was_asked_for_and_tells_the_rest_apart(crowd: Begin) -> None:
    here = crowd(items=2, assign={"workers_per_item": 2})
    here.join("a", "b", "c")
    for name in ("a", "a", "b"):
        here.answer(name)
    here.change(exclude, "a")

    def told() -> tuple[int, int, int, int]:
        found = here.store.read(lambda db: overview(db, here.project))["progress"]
        return found["done"], found["asked"], found["uncounted"], found["answers"]

    assert told() == (1, 4, 2, 3)
    for name in ("b", "c", "c"):
        here.answer(name)
    assert told() == (4, 4, 2, 6)
    here.change(reinstate, "a")
    assert told() == (4, 4, 2, 6)


def test_reports_set_an_item_aside(crowd: Begin) -> None:
    here = crowd(items=1, limits={"reports_per_item": 2})
    here.join("a", "b", "c")
    assert not here.report("a").duplicate
    assert here.state("a")["item"] is None
    here.report("b", "hate")
    assert here.state("c")["stage"] == "done"
    found = here.store.read(lambda db: overview(db, here.project))
    assert [r["code"] for r in found["reports"]] == ["broken", "hate"]
    assert found["progress"]["set_aside"] == 1
    assert (
        here.store.write(lambda db: resolve_item(db, "i000", "reopen", "", who="o", now=1.0))
        == "open"
    )
    assert here.state("c")["item"] is not None


def test_who_is_excluded_sets_nothing_aside(crowd: Begin) -> None:
    here = crowd(items=1, limits={"reports_per_item": 1})
    here.join("a", "b")
    lease = here.lease("a")
    here.change(exclude, "a")
    here.do(report_item, "a", Report(lease, "r", "hate"))
    assert here.state("b")["item"] is not None
    found = here.store.read(lambda db: overview(db, here.project))
    assert [r["code"] for r in found["reports"]] == ["hate"]
    assert found["progress"]["set_aside"] == 0


def test_decisions_are_added(crowd: Begin) -> None:
    here = crowd(items=1)
    here.join("a", "b")
    here.answer("a", "neutral", comment="迷った")
    here.answer("b", "entailment")
    (row,) = here.store.read(lambda db: find_disagreements(db, here.project))["cases"]
    assert [(a["worker"], a["answer"]["label"], a["comment"]) for a in row["answers"]] == [
        ("a", "neutral", "迷った"),
        ("b", "entailment", ""),
    ]
    for label in ("neutral", "contradiction"):
        body = msgspec.json.encode({"label": label}).decode()
        here.store.write(
            partial(add_decision, ref="i000", body=body, reason="読み直した", who="o", now=2.0)
        )
    (row,) = here.store.read(lambda db: find_disagreements(db, here.project))["cases"]
    assert row["decision"]["answer"] == {"label": "contradiction"}
    told = here.exported("decisions")
    assert [(j.worker, j.answer) for j in told] == [
        ("decision:o", "neutral"),
        ("decision:o", "contradiction"),
    ]
    assert [row["what"] for row in here.store.read(audit_rows)] == ["decide", "decide"]


def test_items_by_state(crowd: Begin) -> None:
    here = crowd(items=3, assign={"workers_per_item": 1})
    here.join("a")
    here.answer("a")
    here.lease("a")
    states = Counter(row["state"] for row in here.store.read(item_rows))
    assert states == {"complete": 1, "in-hand": 1, "open": 1}
    assert len(here.store.read(lambda db: item_rows(db, "complete"))) == 1
    with pytest.raises(Refused):
        here.store.read(lambda db: item_rows(db, "nonsense"))


def test_platforms_bring_as_many_as_allowed(crowd: Begin) -> None:
    here = crowd(crowd={"join": True, "max_workers": 1})

    def come(name: str) -> Any:
        return here.store.write(join_worker, here.project, name, language="ja", now=1.0)

    assert come("p1").id == come("p1").id
    with pytest.raises(Refused, match="worker_full"):
        come("p2")
    here.join("hanako")
    with pytest.raises(Refused, match="not_allowed"):  # whoever knows her name would get her link
        come("hanako")


def test_texts_of_any_kind_survive(crowd: Begin) -> None:
    here = crowd(items=1)
    odd = "<script>alert(1)</script> \u202e逆 \U0001f408 ' \" \\ %s ? \u2028"
    here.join(odd)
    here.answer(odd, odd, comment=odd)
    (told,) = here.exported()
    assert (told.worker, told.answer) == (odd, odd)
