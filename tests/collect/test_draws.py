"""Whether a worker who knows names, seed and source code can tell control items before they come."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

from tests.collect.conftest import Crowd

from nikawa.collect.export import ExportOptions, export
from nikawa.collect.form import forms
from nikawa.collect.items import import_judgements, key_draws, open_synced
from nikawa.collect.job import create, rekey
from nikawa.collect.permutation import draw_index_start, draw_number, draw_share, permute
from nikawa.collect.sources import NewProject
from nikawa.collect.store import DRAWS, TEXT_ORDER
from nikawa.collect.submissions import next_item
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement

VALUES = (DRAWS, TEXT_ORDER)
RATE, REQUESTS = 0.25, 160
NAME = "hana"


def play(crowd: Crowd, count: int = REQUESTS) -> list[tuple[str, int]]:
    """Kind and position of what a worker gets, who answers everything."""
    position = "SELECT position FROM items WHERE id = ?"
    handed = []
    for _ in range(count):
        assigned = crowd.do(next_item, NAME).assigned
        (place,) = crowd.store.read(lambda db: db.required(position, assigned.item))  # noqa: B023
        handed.append((assigned.kind, int(place)))
        crowd.answer(NAME, lease=assigned.lease)
    return handed


def share_predicted(handed: list[tuple[str, int]]) -> float:
    """Of the control items that came, the share at requests where the worker expected one."""
    expected = [draw_share(0, "gold", NAME, serial) < RATE for serial in range(len(handed))]
    hits = [guess for guess, (kind, _) in zip(expected, handed, strict=True) if kind == "gold"]
    assert len(hits) > REQUESTS * RATE / 2
    return sum(hits) / len(hits)


def settled(make_crowd: Callable[..., Crowd]) -> Crowd:
    crowd = make_crowd(
        items=300, control=140, gold={"rate": RATE, "after": 1000}, assign={"seed": 0}
    )
    crowd.join(NAME)
    return crowd


def test_a_worker_cannot_tell_which_request_brings_a_control_item_nor_which_items_come(
    crowd: Callable[..., Crowd],
) -> None:
    """Chance is a quarter, with a standard deviation of 0.07 here; knowing the rule was 1."""
    handed = play(settled(crowd))
    assert share_predicted(handed) < 0.65
    for kind, size, label in (("main", 300, "order"), ("gold", 140, "control")):
        came = [position for one, position in handed if one == kind]
        guess = permute(range(size), size, draw_number(0, label, NAME))[: len(came)]
        hits = sum(one == other for one, other in zip(came, guess, strict=True))
        assert hits < 8  # by chance one in `size`


def as_made_before(crowd: Crowd) -> None:
    """Let a project look as one that was begun before draws were keyed."""
    crowd.store.write(lambda db: db.execute("DELETE FROM meta WHERE key IN (?, ?)", *VALUES))
    spots = "SELECT id, ref FROM items"
    rows = crowd.store.read(lambda db: db.rows(spots))
    old = [(draw_index_start(0, "item", ref), item) for item, ref in rows]
    crowd.store.write(lambda db: db.execute_many("UPDATE items SET spot = ? WHERE id = ?", old))


def test_a_project_in_progress_keeps_its_draws(crowd: Callable[..., Crowd]) -> None:
    """Every draw is the one that the rule of before gives: kind, control item, main item."""
    began = settled(crowd)
    as_made_before(began)
    handed = play(began)
    assert share_predicted(handed) == 1
    for kind, size, label in (("main", 300, "order"), ("gold", 140, "control")):
        came = [position for one, position in handed if one == kind]
        assert came == permute(range(size), size, draw_number(0, label, NAME))[: len(came)]


def test_the_owner_has_draws_keyed(crowd: Callable[..., Crowd], database: str) -> None:
    """It is said before it is done; nobody gets an item twice, and links and answers stay."""
    began = settled(crowd)
    as_made_before(began)
    folder = began.project.folder
    first = play(began, 40)
    for _ in range(2):
        report = rekey(folder, database=database)
        assert (report.done, report.draws, report.workers) == (False, True, 1)
        assert "the order changes for workers who have started (1 so far)" in report.changes[0]
    answered = began.worker(NAME).answered
    assert rekey(folder, apply=True, database=database).draws
    assert began.worker(NAME).answered == answered
    then = play(began, 120)
    assert len(set(first + then)) == 160
    expected = [draw_share(0, "gold", NAME, serial) < RATE for serial in range(40, 160)]
    hits = [guess for guess, (kind, _) in zip(expected, then, strict=True) if kind == "gold"]
    assert sum(hits) / len(hits) < 0.7
    again = rekey(folder, apply=True, database=database)
    assert (again.draws, again.changes) == (False, ())


def test_every_control_item_comes_after_a_change_of_draws(crowd: Callable[..., Crowd]) -> None:
    """Of a new order the worker has seen some at every place."""
    began = crowd(items=40, control=8, gold={"rate": 0.5, "after": 1000})
    began.join(NAME)
    as_made_before(began)
    first = play(began, 10)
    began.store.write(key_draws, began.project, 0.0)
    handed = first + play(began, 38)
    assert Counter(kind for kind, _ in handed) == {"gold": 8, "main": 40}


def test_the_command_that_keys_draws(
    tmp_path: Path, nikawa: Callable[..., CompletedProcess[str]]
) -> None:
    write_records(tmp_path / "e.jsonl", [Example(id="e", inputs={"text": "文"})])
    create(tmp_path / "p", str(tmp_path / "e.jsonl"), NewProject("choice"))
    done = nikawa("collect", "rekey", str(tmp_path / "p"))
    assert (done.returncode, done.stdout) == (
        0,
        f"{tmp_path / 'p'} already has these keys; nothing changes\n",
    )
    with open_synced(tmp_path / "p") as (_, store):
        store.write(lambda db: db.execute("DELETE FROM meta WHERE key = ?", DRAWS))
    for words, told in (((), "pass --yes"), (("--yes",), "secret"), ((), "nothing changes")):
        assert told in nikawa("collect", "rekey", str(tmp_path / "p"), *words).stdout
    assert json.loads(nikawa("collect", "rekey", str(tmp_path / "p"), "--json").stdout) == {
        "project": str(tmp_path / "p"),
        "done": False,
        "draws": False,
        "pseudonyms": False,
        "workers": 0,
        "changes": [],
    }


def test_the_place_of_a_text_does_not_tell_its_writers_friend_the_label(tmp_path: Path) -> None:
    """Who knows the writer and the premise could work out the order of texts, and so what each was meant to be."""
    sample = forms()["write-hypotheses"].sample
    assert sample is not None
    premises = [Example(id=f"p{n}", inputs=dict(sample.inputs)) for n in range(40)]
    write_records(tmp_path / "p.jsonl", premises)
    create(tmp_path / "w", str(tmp_path / "p.jsonl"), NewProject("write-hypotheses", workers=1))
    texts = sample.answer["hypotheses"]
    given = [
        Judgement(example=f"p{n}", worker="nagi", question="hypotheses", answer=texts)
        for n in range(40)
    ]
    write_records(tmp_path / "j.jsonl", given)
    import_judgements(tmp_path / "w", tmp_path / "j.jsonl", JudgementOptions())

    def share_told(out: Path) -> float:
        export(tmp_path / "w", out, ExportOptions(form="examples"))
        right = 0
        for example in read_examples(out):
            ref, number = example.id.split("-")
            order = sorted(range(3), key=lambda n: sha256(f"{ref}\0nagi\0{n}".encode()).digest())
            right += example.inputs["hypothesis"] == texts[order[int(number) - 1]]
        return right / 120

    assert share_told(tmp_path / "keyed.jsonl") < 0.7  # chance is a third
    with open_synced(tmp_path / "w") as (_, store):
        store.write(lambda db: db.execute("DELETE FROM meta WHERE key IN (?, ?)", *VALUES))
    assert share_told(tmp_path / "before.jsonl") == 1  # ids of a project in progress do not move
    rekey(tmp_path / "w", apply=True)
    assert share_told(tmp_path / "after.jsonl") == 1
