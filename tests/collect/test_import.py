"""Judgements that come in while the same people work here, and files that are corrected meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nikawa.collect.export import read_judgements
from nikawa.collect.items import add_judgements, sync_items
from nikawa.errors import BadInput
from nikawa.records import Judgement
from nikawa.serve.errors import Refused

Begin = Callable[..., Any]


def bring(here: Any, *rows: tuple[str, str]) -> Any:
    given = [
        (line, Judgement(example=ref, worker=worker, question="label", answer="neutral"))
        for line, (ref, worker) in enumerate(rows, start=1)
    ]
    return here.store.write(lambda db: add_judgements(db, here.project, given, "sheet.csv", 5.0))


def test_what_came_in_is_not_taken_back_here(crowd: Begin) -> None:
    here = crowd(items=2)
    bring(here, ("i000", "a"))
    assert not here.state("a")["can_undo"]
    with pytest.raises(Refused, match="nothing_to_undo"):
        here.undo("a")
    here.answer("a")
    assert here.undo("a", "again")["stage"] == "main"
    assert [row.example for row in here.exported()] == ["i000"]


def test_who_holds_an_item_does_not_judge_it_twice(crowd: Begin) -> None:
    here = crowd(items=2, assign={"workers_per_item": 2, "order": "file"})
    here.join("a")
    lease = here.lease("a")
    assert bring(here, ("i000", "a")) == (1, 0)
    assert here.counts() == [(1, 0), (0, 0)]
    with pytest.raises(Refused, match="already_answered"):
        here.answer("a", lease=lease)
    here.answer("a")
    assert [row.example for row in here.exported()] == ["i000", "i001"]


def test_an_export_under_other_names_is_known_again(crowd: Begin) -> None:
    here = crowd(items=3)
    here.join("a", "b")
    for name in "aabb":
        here.answer(name)
    with here.store.connection() as db:
        hidden = list(read_judgements(db, here.project, pseudonymise=True))
    assert {row.worker for row in hidden}.isdisjoint("ab")
    assert bring(here, *((row.example, row.worker) for row in hidden)) == (0, 4)


@pytest.mark.parametrize("name", ["a\0b", "x" * 201, "two\nlines"])
def test_a_name_that_is_none(crowd: Begin, name: str) -> None:
    here = crowd(items=1)
    with pytest.raises(BadInput, match=r"sheet\.csv, line 1: .* cannot be a worker's name"):
        bring(here, ("i000", name))


def test_corrected_gold_counts_from_the_next_start(crowd: Begin) -> None:
    here = crowd(items=1)
    path = here.project.folder / "gold.jsonl"
    line = '{"id": "g", "inputs": {"premise": "前", "hypothesis": "仮"}, "gold": {"label": "neutral"}}\n'
    path.write_text(line, "utf-8")
    assert sync_items(here.project, here.store)["gold"] == 1
    path.write_text(line.replace("neutral", "entailment").replace("仮", "説"), "utf-8")
    assert sync_items(here.project, here.store)["gold"] == 0
    sql = "SELECT t.body, t.gold FROM texts t JOIN items i ON i.id = t.item WHERE i.kind = 'gold'"
    ((body, gold),) = here.store.read(lambda db: db.rows(sql))
    assert gold == '{"label":"entailment"}'
    assert "説" in body


@pytest.mark.parametrize(
    ("field", "said"),
    [({"id": "a\0b"}, "NUL"), ({"group": "g\0"}, "NUL"), ({"id": "長" * 700}, "2,000 bytes")],
)
def test_ids_that_no_index_holds(crowd: Begin, field: dict[str, str], said: str) -> None:
    import json

    here = crowd(items=1)
    row = {"id": "x", "inputs": {"premise": "前", "hypothesis": "仮"}, **field}
    path = here.project.folder / "examples.jsonl"
    path.write_text(path.read_text("utf-8") + json.dumps(row) + "\n", "utf-8")
    with pytest.raises(BadInput, match=said):
        sync_items(here.project, here.store)
    assert len(here.counts()) == 1
