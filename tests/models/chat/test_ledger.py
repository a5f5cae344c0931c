"""The ledger that processes share: nothing is spent twice, and nothing that a kill leaves is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nikawa.models.base import SpendingScope
from nikawa.models.chat.estimate import estimate_request, estimate_tokens
from nikawa.models.chat.journal import Reply
from nikawa.models.chat.ledger import (
    LEDGER_FILE,
    Ledger,
    LedgerEntry,
    add_missing_costs,
    read_total,
    remove_from_ledger,
)
from nikawa.models.chat.responses import RequestProblem
from nikawa.models.chat.settings import ChatSettings, read_max_tokens
from nikawa.models.chat.usage import Budget, OutOfBudget, Usage, sum_usage
from nikawa.records import Example, Task

SETTINGS = ChatSettings(price_in=1e6, price_out=1e6, budget=10.0)
"""A token costs one."""
PAID = Reply(key="k", tokens_in=2, tokens_out=1)


def make_budget(
    folder: Path, run: str, *, runs: tuple[str, ...] = ("a", "b"), running: tuple[str, ...] = ()
) -> Budget:
    """The budget of a run as one of its processes has it."""
    scope = SpendingScope(folder / LEDGER_FILE, run, frozenset(runs), running.__contains__)
    return Budget(SETTINGS, Usage(), scope, "model")


def test_two_processes_share_one_budget(tmp_path: Path) -> None:
    one, other = (make_budget(tmp_path, run) for run in "ab")

    async def spend() -> None:
        async with one.reserve("k", 5, 1) as first:
            with pytest.raises(OutOfBudget, match=r"6\.0000 is spent by the 2 runs of the command"):
                async with other.reserve("k", 4, 1):
                    pass
            first.pay(PAID)
        async with other.reserve("k", 4, 1) as second:
            second.pay(PAID)

    asyncio.run(spend())
    assert read_total(tmp_path, ["a", "b"]) == 6
    assert read_total(tmp_path, ["a"]) == 3


def test_a_reservation_of_a_living_process_is_waited_for(tmp_path: Path) -> None:
    one = make_budget(tmp_path, "a")
    other = make_budget(tmp_path, "b", running=("a",))

    async def spend() -> None:
        async with one.reserve("k", 8, 1) as first:
            waiting = asyncio.ensure_future(other.open("k", 5.0))
            await asyncio.sleep(0)
            assert not waiting.done()
            first.pay(PAID)
        await asyncio.wait_for(waiting, 60)

    asyncio.run(spend())
    assert read_total(tmp_path, ["a", "b"]) == 8


def test_a_request_that_a_kill_left_counts_at_its_dearest(tmp_path: Path) -> None:
    killed = make_budget(tmp_path, "a")
    asyncio.run(killed.open("under way", 4.0))
    asyncio.run(killed.open("answered", 4.0))  # its reply is on disk, its payment is not
    again = make_budget(tmp_path, "a")
    reply = Reply(key="answered", tokens_in=2, tokens_out=1)
    again.usage.recount([reply], SETTINGS)
    again.begin([reply])
    assert read_total(tmp_path, ["a"]) == 7
    assert again.usage.cost_lost == 4
    third = make_budget(tmp_path, "a")
    third.usage.recount([reply], SETTINGS)
    third.begin([reply])
    assert read_total(tmp_path, ["a"]) == 7


@pytest.mark.parametrize(("may_be_billed", "total"), [(True, 6), (False, 0)])
def test_a_try_without_a_reply(tmp_path: Path, may_be_billed: bool, total: float) -> None:
    budget = make_budget(tmp_path, "a")

    async def fail() -> None:
        async with budget.reserve("k", 5, 1):
            raise RequestProblem("no", "stop", may_be_billed=may_be_billed)

    with pytest.raises(RequestProblem):
        asyncio.run(fail())
    assert read_total(tmp_path, ["a"]) == total == budget.usage.cost_lost


def test_a_further_try_needs_room_too(tmp_path: Path) -> None:
    budget = make_budget(tmp_path, "a")

    async def retry() -> None:
        async with budget.reserve("k", 5, 1) as reservation:
            await reservation.renew()

    with pytest.raises(OutOfBudget):
        asyncio.run(retry())
    assert read_total(tmp_path, ["a"]) == 6


def test_torn_lines_and_lines_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / LEDGER_FILE
    ledger = Ledger(path)
    with ledger.locked():
        ledger.add(LedgerEntry(event="pay", run="a", amount=1.5))
    ledger.close()
    path.write_bytes(path.read_bytes() + b'{"event": "dance", "run": "a"}\n{"event": "pay", "ru')
    with ledger.locked():
        ledger.add(LedgerEntry(event="pay", run="a", amount=2.0))
    assert ledger.total(["a"]) == 3.5
    assert read_total(tmp_path, ["a"]) == 3.5


def test_runs_of_an_older_version_and_runs_that_are_removed(tmp_path: Path) -> None:
    add_missing_costs(tmp_path, {"a": 2.0})
    add_missing_costs(tmp_path, {"a": 9.0, "b": 1.0})
    assert read_total(tmp_path, ["a", "b"]) == 3
    remove_from_ledger(tmp_path, ["a", "unknown"])
    assert read_total(tmp_path, ["a", "b"]) == 1
    remove_from_ledger(tmp_path / "nowhere", ["a"])
    assert read_total(tmp_path / "nowhere", ["a"]) == 0


def test_usage_of_several_models_is_summed() -> None:
    one = {"cost": 0.1, "requests": 2, "none": {"length": 1}}
    other = {"cost": 0.2, "requests": 3, "none": {"length": 1, "refusal": 1}, "how": "parse"}
    assert sum_usage([one, other]) == {
        "cost": 0.3,
        "requests": 5,
        "none": {"length": 2, "refusal": 1},
        "how": "parse",
    }


def test_tokens_are_estimated_by_script() -> None:
    assert estimate_tokens("ねこ") == 1.5
    assert estimate_tokens("猫") < estimate_tokens("🐈猫")
    assert estimate_tokens("고양이") == pytest.approx(2.7)
    assert estimate_request({"prompt": "ねこ"}) == 1.5
    assert estimate_request({"messages": [{"role": "user", "content": "ねこ"}]}) == 5.5


def test_extra_fields_may_allow_longer_answers() -> None:
    assert read_max_tokens({"max_tokens": 9}, 4) == 9
    assert read_max_tokens({"max_completion_tokens": 2}, 4) == 4
    assert read_max_tokens({"max_tokens": "many"}, 4) == 4


TASK = Task(
    name="own",
    dataset="own",
    kind="text",
    question="label",
    inputs=("text",),
    labels=("good", "bad"),
    metrics=(),
)
TEXTS = [Example(id=f"t{i}", inputs={"text": f"{i}番の店です"}) for i in range(4)]
PRICES = {"price_in": 1000.0, "price_out": 1000.0, "how": "parse"}


@pytest.mark.parametrize(
    ("fault", "is_lost"),
    [("reset", True), ((200, {}, b"{}"), True), ((503, {}, b"busy"), False)],
    ids=["broken off", "no choices", "refused"],
)
def test_what_a_server_may_have_billed_is_counted(
    server: Any, chat: Any, tmp_path: Path, fault: Any, is_lost: bool
) -> None:
    server.trouble = lambda number, question: fault if number == 1 else None
    model = chat(tmp_path, budget=100.0, **PRICES)
    model.predict(TASK, TEXTS)
    assert model.usage["retries"] == 1
    assert (model.usage["cost_lost"] > 0) is is_lost
    again = chat(tmp_path, budget=100.0, **PRICES)
    again.predict(TASK, TEXTS)  # nothing is sent; what was is still known
    assert again.usage == model.usage


def test_a_model_without_a_folder_counts_all_of_its_calls(server: Any, chat: Any) -> None:
    model = chat(**PRICES)
    model.predict(TASK, TEXTS[:2])
    model.predict(TASK, TEXTS[1:])
    assert (model.usage["requests"], len(server.asked)) == (5, 4)
    assert model.usage["cost"] == pytest.approx(5 * 0.012)
