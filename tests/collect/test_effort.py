"""Adaptive effort on the server: who is asked about what, when an item is done, and what a budget allows."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.collect.conftest import LABELS, Crowd, pair
from tests.collect.test_http import Serve, serve

import nikawa as nk
from nikawa.aggregation.report import write_result
from nikawa.collect.effort import (
    describe_effort,
    effort_summary,
    find_rule,
    plan_effort,
    read_main_answers,
    read_plan,
    store_plan,
)
from nikawa.collect.export import export
from nikawa.collect.items import import_judgements, sync_items
from nikawa.collect.project import EXAMPLES, create_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import open_store
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import write_records
from nikawa.records import Judgement

__all__ = ["serve"]

Begin = Callable[..., Crowd]
NAMES = ("aki", "ben", "chika", "dan", "emi", "fuu")


def opinion(item: str, worker: str, hard: bool) -> str:
    """The gold of an item is its number modulo 3; workers err by a hash: in 5%, in a third of hard items in half."""
    number = int(item[1:])
    chance = sha256(f"{item} {worker}".encode()).digest()[0] / 256
    wrong = chance < (0.5 if hard and number % 3 == 0 else 0.05)
    return LABELS[(number + wrong) % 3]


def work(crowd: Crowd, *, hard: bool = True, plan: bool = True) -> list[str]:
    """Workers take turns until none gets an item; the items in the order they were answered."""
    order = []
    idle = 0
    while idle < len(NAMES):
        for name in NAMES:
            item = crowd.state(name)["item"]
            idle = idle + 1 if item is None else 0
            if item is None:
                continue
            ref = item["inputs"]["premise"].removeprefix("前提")
            crowd.answer(name, opinion(ref, name, hard), lease=item["lease"])
            order.append(ref)
            if plan:
                crowd.store.write(plan_effort, crowd.project)
    return order


def asked(crowd: Crowd) -> list[tuple[int, int, int]]:
    sql = "SELECT asked, done, leased FROM items WHERE kind = 'main' ORDER BY id"
    return crowd.store.read(lambda db: db.rows(sql))


def test_only_unsure_items_get_more_persons(crowd: Begin) -> None:
    here = crowd(items=30, effort={"most": 5, "least": 2, "same": 0.9})
    here.join(*NAMES)
    order = work(here)
    counts = Counter(order)
    assert set(counts.values()) <= {2, 3, 4, 5}
    assert len(counts) == 30
    easy = [counts[f"i{n:03}"] for n in range(30) if n % 3]
    hard = [counts[f"i{n:03}"] for n in range(0, 30, 3)]
    assert sum(easy) / len(easy) < sum(hard) / len(hard)
    assert len(order) < 30 * 5
    assert all(done == most for most, done, _ in asked(here))
    assert here.state("aki")["stage"] == "done"


def test_the_fixed_number_stays_the_default(crowd: Begin) -> None:
    here = crowd(items=6, assign={"workers_per_item": 3})
    here.join(*NAMES)
    assert set(Counter(work(here)).values()) == {3}
    assert here.store.read(effort_summary, here.project) is None


@pytest.mark.parametrize("budget", [0, 25, 43])
def test_a_budget_is_never_exceeded(crowd: Begin, budget: int) -> None:
    here = crowd(items=20, effort={"most": 6, "same": 0.9999, "budget": budget})
    here.join(*NAMES)
    order = work(here)
    if budget:
        assert len(order) == budget
        summary = here.store.read(effort_summary, here.project)
        assert summary is not None
        assert summary["bought"] == budget
    else:
        assert len(order) > 43


def test_leases_count_towards_the_budget_and_come_back(crowd: Begin) -> None:
    here = crowd(items=4, effort={"most": 3, "least": 1, "budget": 2, "pilot": 4})
    here.join("aki", "ben", "chika")
    first, second = here.lease("aki"), here.lease("ben")
    here.store.write(plan_effort, here.project)
    assert first != second
    assert here.state("chika")["item"] is None
    here.now += 3 * 3600  # both run out
    here.store.write(plan_effort, here.project)
    assert here.state("chika")["item"] is not None
    here.store.write(plan_effort, here.project)
    assert sum(max(most, done + leased) for most, done, leased in asked(here)) == 2


def test_an_item_that_waits_is_open_again_when_its_lease_runs_out(crowd: Begin) -> None:
    here = crowd(items=1, effort={"most": 3, "least": 2, "same": 0.9999})
    here.join("aki", "ben", "chika")
    here.answer("aki", "neutral")
    here.answer("ben", "contradiction")
    here.store.write(plan_effort, here.project)
    assert here.state("chika")["item"] is not None
    here.join("dan")
    here.store.write(plan_effort, here.project)
    assert here.state("dan")["item"] is None
    here.now += 3 * 3600
    assert here.state("dan")["item"] is not None


def test_a_restart_changes_nothing(crowd: Begin) -> None:
    here = crowd(items=20, effort={"most": 5})
    here.join(*NAMES)
    for _ in range(9):
        for name in NAMES[:3]:
            item = here.state(name)["item"]
            ref = item["inputs"]["premise"].removeprefix("前提")
            here.answer(name, opinion(ref, name, True), lease=item["lease"])
    here.store.write(plan_effort, here.project)
    efforts = "SELECT item, place FROM efforts ORDER BY place"
    before = asked(here), here.store.read(lambda db: db.rows(efforts))
    here.store.write(lambda db: db.execute("DELETE FROM efforts"))
    sync_items(here.project, here.store)  # as the server does when it starts
    assert (asked(here), here.store.read(lambda db: db.rows(efforts))) == before


def test_items_come_by_expected_gain(crowd: Begin) -> None:
    here = crowd(items=6, effort={"most": 4, "least": 2, "same": 0.99})
    here.join(*NAMES)
    for name in ("aki", "ben"):
        for _ in range(6):
            item = here.state(name)["item"]
            ref = item["inputs"]["premise"].removeprefix("前提")
            disputed = ref == "i004" and name == "ben"
            here.answer(name, LABELS[disputed], lease=item["lease"])
    here.store.write(plan_effort, here.project)
    item = here.state("chika")["item"]
    assert item["inputs"]["premise"] == "前提i004"


def test_turning_it_off_asks_the_fixed_number_again(crowd: Begin) -> None:
    here = crowd(items=3, effort={"most": 5})
    assert {most for most, _, _ in asked(here)} == {2}
    object.__setattr__(
        here.project,
        "settings",
        msgspec.structs.replace(here.project.settings, effort=type(here.project.settings.effort)()),
    )
    sync_items(here.project, here.store)
    assert {most for most, _, _ in asked(here)} == {3}


@pytest.mark.parametrize(
    ("form", "options", "effort", "words"),
    [
        ("span-tagging", {}, {"most": 3}, "needs a form with one label or number"),
        ("ranked", {}, {"most": 3}, "needs a form with one label or number"),
        ("translation", {}, {"most": 3}, "needs a form with one label or number"),
        ("choice", {}, {"most": 2, "least": 3}, "least is 3 and most is 2"),
    ],
)
def test_settings_that_make_no_sense_are_named(
    tmp_path: Any, form: str, options: dict[str, Any], effort: dict[str, Any], words: str
) -> None:
    from nikawa.collect.form import forms

    sample = forms()[form].sample
    assert sample is not None
    settings = msgspec.convert(
        {"title": "試", "form": form, "effort": effort, "form_settings": options}, Settings
    )
    example = msgspec.structs.replace(pair("i"), inputs=dict(sample.inputs))
    project = create_project(tmp_path / "p", settings, [example])
    with (
        open_store("", project.folder, project.name) as store,
        pytest.raises(BadInput, match=words) as fault,
    ):
        sync_items(project, store)
    assert "project.toml" in str(fault.value)


def test_the_server_plans_as_answers_come(serve: Serve) -> None:
    """Through HTTP: with one item left to be unsure about, who would get nothing gets it."""
    here = serve(items=1, effort={"most": 3, "same": 0.9999}, limits={"requests_per_second": 1000})
    links = [here.base, *(here.link(name) for name in ("ben", "chika"))]
    for base, label in zip(links, ("neutral", "contradiction", "neutral"), strict=True):
        assert here.next(base)["item"] is not None
        status, _ = here.answer(label, base)
        assert status == 200
    assert here.next(here.link("dan"))["item"] is None  # `most` persons were asked


def test_five_thousand_items_are_planned_fast(crowd: Begin) -> None:
    here = crowd(items=5000, effort={"most": 5, "same": 0.9999})
    here.join(*NAMES)
    rows = [
        (0, 0, 0.0, item, worker, f"l{worker}-{item}", f"k{item}", "main", body, "", 1.0, 1.0)
        for worker in (1, 2, 3)
        for item in range(1, 5001)
        for body in (
            msgspec.json.encode({"label": LABELS[(item + (worker == item % 7)) % 3]}).decode(),
        )
    ]
    columns = "surplus, quick, pay, item, worker, lease, key, kind, body, comment, seconds, at"

    def load(db: Any) -> None:
        db.load("answers", columns, rows)
        db.execute("UPDATE items SET done = 3")
        db.execute("INSERT INTO seen (worker, item) SELECT worker, item FROM answers")

    here.store.write(load)
    began = time.process_time()
    here.store.write(plan_effort, here.project)
    assert time.process_time() - began < 4  # 0.3 s on an idle machine
    question = "label"
    assert len(here.store.read(read_main_answers, here.project, question, machines=False)) == 15000
    began = time.process_time()
    assert here.state("aki")["item"] is None  # has answered all of them
    assert here.state("emi")["item"] is not None
    assert time.process_time() - began < 0.5


def test_card_and_lineage_say_where_asking_stopped(crowd: Begin, tmp_path: Path) -> None:
    here = crowd(items=30, effort={"most": 5, "least": 2, "same": 0.9})
    here.join(*NAMES)
    bought = len(work(here))
    file = tmp_path / "round.jsonl"
    export(here.project.folder, file, database=here.store.database.address)
    examples = here.project.folder / EXAMPLES
    made = nk.aggregate(file, rule="majority", ties="drop", examples=examples)
    write_result(made, tmp_path / "gold")
    few = sum(done < 5 for _, done, _ in asked(here))
    said = json.loads((tmp_path / "gold" / "summary.json").read_text("utf-8"))["effort"]
    assert said.startswith("Persons were asked adaptively: 2 to 5 for each item, until 90.00%")
    assert f"{few} of 30 items have fewer than 5 persons" in said
    assert f"{bought} answers were bought instead of 150" in said
    nk.split(tmp_path / "gold" / "examples.jsonl", by="random", out=tmp_path / "out")
    card = json.loads((tmp_path / "out" / "card.json").read_text("utf-8"))
    assert f"Effort: {said}" in card["labels"]
    lines = (tmp_path / "out" / "lineage.jsonl").read_text("utf-8").splitlines()
    rules = [json.loads(line)["steps"][0]["rule"] for line in lines]
    assert all(" of at most 5 persons: " in rule for rule in rules)
    assert sum("further answers" in rule for rule in rules) >= few - 5  # ties were dropped


def test_answers_that_come_while_planning_do_not_raise_the_number_asked(crowd: Begin) -> None:
    here = crowd(items=2, effort={"most": 3, "least": 2, "pilot": 2})
    here.join(*NAMES)
    rule = find_rule(here.project)
    assert rule is not None
    plan = here.store.read(read_plan, here.project, rule)  # no one has answered: three for each
    for name in NAMES[:2]:
        for _ in range(2):
            item = here.state(name)["item"]
            here.answer(name, LABELS[0], lease=item["lease"])
    here.store.write(store_plan, plan, 0)
    assert [(most, done) for most, done, _ in asked(here)] == [(3, 2), (3, 2)]


def test_a_model_that_workers_see_does_not_count_towards_being_sure(
    tmp_path: Path,
) -> None:
    machines = ("model:small#1", "model:small#2", "model:other#1")
    rows = [
        Judgement(example=f"i{n}", worker=name, question="label", answer=LABELS[0], kind="machine")
        for n in range(4)
        for name in machines
    ]
    write_records(tmp_path / "judged.jsonl", rows)
    counted = {}
    for source in ("", machines[0], "parsed.jsonl"):
        tables = {
            "effort": {"most": 3, "machines": True},
            "prelabels": {"source": source},
            "form_settings": {"shows": ["premise", "hypothesis"]},
        }
        settings = msgspec.convert({"title": "試", "form": "choice", **tables}, Settings)
        folder = tmp_path / f"project-{source}"
        project = create_project(folder, settings, [pair(f"i{n}") for n in range(4)])
        write_records(folder / "parsed.jsonl", [row for row in rows if row.worker == machines[0]])
        open_store("", folder, project.name).close()
        import_judgements(folder, tmp_path / "judged.jsonl", JudgementOptions())
        with open_store("", folder, project.name) as store:
            answers = store.read(read_main_answers, project, "label", machines=True)
            counted[source] = sorted({answer.worker for answer in answers})
            note = describe_effort(store, project)
        assert (note == "") == (not source)
        assert source == "" or "model:small#1, model:small#2 do not count" in note
    assert counted[""] == sorted(machines)
    assert counted["model:small#1"] == counted["parsed.jsonl"] == ["model:other#1"]
