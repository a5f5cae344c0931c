"""Pre-labels: who is shown a machine's answer, that the record says so, and what control items come filled in with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.collect.conftest import LABELS, Crowd

from nikawa.aggregation.prelabels import measure_prelabels
from nikawa.collect.export import ExportOptions, export
from nikawa.collect.form import Form, forms
from nikawa.collect.items import import_judgements, sync_items
from nikawa.collect.prelabels import describe_prelabels, make_wrong_answer
from nikawa.collect.project import create_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import ADDED_TABLES, Store, open_store
from nikawa.collect.submissions import Submission, save_answer
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions, open_judgements
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement, Prelabel
from nikawa.serve.database import Connection

MACHINE = "model:small#1"
Begin = Callable[..., Crowd]


@pytest.fixture
def with_machine(make: Callable[..., Any], database: str) -> Callable[..., Crowd]:
    """Workers at a project whose machine has answered every main item."""
    stores: list[Store] = []

    def start(items: int = 40, control: int = 0, trial: int = 0, **tables: Any) -> Crowd:
        prelabels = {"source": "machine.jsonl", **tables.pop("prelabels", {})}
        project = make(items=items, control=control, trial=trial, prelabels=prelabels, **tables)
        rows = [
            Judgement(example=f"i{n:03}", worker="small#1", question="label", answer="entailment")
            for n in range(items)
        ]
        write_records(project.folder / "machine.jsonl", rows)
        store = open_store(database, project.folder, project.name)
        stores.append(store)
        sync_items(project, store)
        return Crowd(project, store)

    return start


def work(crowd: Crowd, name: str, answer: str | None = None) -> dict[str, Any]:
    """Answer all there is; by item what the page was filled in with. No answer: what it came with, else neutral."""
    seen = {}
    while item := crowd.state(name)["item"]:
        filled = item["prelabel"]
        seen[item["inputs"]["premise"].removeprefix("前提")] = filled
        label = answer or (filled["label"] if filled else "neutral")
        crowd.answer(name, label, lease=item["lease"])
        crowd.now += 3
    return seen


def test_a_random_part_is_filled_in_and_the_record_says_which(with_machine: Begin) -> None:
    crowd = with_machine()
    crowd.join("aki", "ben")
    seen = {name: work(crowd, name) for name in ("aki", "ben")}
    for name, pages in seen.items():
        assert 8 <= sum(page is not None for page in pages.values()) <= 32, name
    assert {k for k, v in seen["aki"].items() if v} != {k for k, v in seen["ben"].items() if v}
    exported = crowd.exported()
    assert len(exported) == 80
    for row in exported:
        assert row.prelabel is not None
        assert (row.prelabel.answer, row.prelabel.worker) == ("entailment", MACHINE)
        assert row.prelabel.shown == (seen[row.worker][row.example] is not None)
        assert not row.prelabel.changed


def test_a_changed_answer_is_recorded_as_changed(with_machine: Begin) -> None:
    crowd = with_machine(items=10, prelabels={"share": 1.0})
    crowd.join("aki")
    work(crowd, "aki", "neutral")
    assert [row.prelabel and row.prelabel.changed for row in crowd.exported()] == [True] * 10


def test_the_draw_is_by_item_where_that_is_asked_for(with_machine: Begin) -> None:
    crowd = with_machine(items=30, prelabels={"draw": "item"})
    crowd.join("aki", "ben")
    one, other = work(crowd, "aki"), work(crowd, "ben")
    assert one == other
    assert 0 < sum(page is not None for page in one.values()) < 30


def test_the_page_keeps_what_it_was_filled_in_with(with_machine: Begin) -> None:
    """After a reload, an undo, another seed and other answers of the machine."""
    crowd = with_machine(items=1, prelabels={"share": 1.0})
    crowd.join("aki")
    first = crowd.state("aki")["item"]
    rows = [Judgement(example="i000", worker="small#1", question="label", answer="contradiction")]
    write_records(crowd.project.folder / "machine.jsonl", rows, overwrite=True)
    sync_items(crowd.project, crowd.store)
    again = crowd.state("aki")["item"]
    assert first["prelabel"] == again["prelabel"] == {"label": "entailment"}
    crowd.answer("aki", "neutral")
    assert crowd.undo("aki")["item"]["prelabel"] == {"label": "entailment"}
    crowd.answer("aki", "entailment")
    (row,) = crowd.exported()
    assert row.prelabel == Prelabel(answer="entailment", worker=MACHINE, shown=True)
    crowd.join("ben")
    assert crowd.state("ben")["item"]["prelabel"] == {"label": "contradiction"}


def test_the_pilot_is_never_filled_in(with_machine: Begin) -> None:
    crowd = with_machine(items=2, trial=3, prelabels={"share": 1.0})
    crowd.join("aki")
    stages = []
    while item := crowd.state("aki")["item"]:
        stages.append((item["stage"], item["prelabel"] is not None))
        crowd.answer("aki", "neutral", lease=item["lease"], correct=True)
    assert stages == [("pilot", False)] * 3 + [("main", True)] * 2


def test_control_items_come_with_a_wrong_answer(with_machine: Begin) -> None:
    crowd = with_machine(items=20, control=10, gold={"rate": 0.5, "after": 100})
    crowd.join("aki")
    work(crowd, "aki")
    control = crowd.exported("gold")
    shown = [row for row in control if row.prelabel and row.prelabel.shown]
    assert shown
    assert len(shown) < len(control)
    for row in control:
        assert row.prelabel is not None
        assert row.prelabel.worker == "control"
        assert row.prelabel.answer in set(LABELS) - {"neutral"}  # the gold of all control items


def test_control_items_may_come_without(with_machine: Begin) -> None:
    crowd = with_machine(
        items=20,
        control=10,
        gold={"rate": 0.5, "after": 100},
        prelabels={"control": "none", "share": 1.0},
    )
    crowd.join("aki")
    work(crowd, "aki", "neutral")
    assert all(row.prelabel is None for row in crowd.exported("gold"))
    assert crowd.exported("gold")


@pytest.mark.parametrize(
    ("source", "rows", "words"),
    [
        ("nobody.jsonl", None, "neither a machine nor a file in the project"),
        ("machine.jsonl", [("i000", "a", "neutral"), ("i001", "b", "neutral")], "2 workers"),
        ("machine.jsonl", [("i000", "a", "so-so")], "breaks a rule of the form"),
        ("machine.jsonl", [("x", "a", "neutral")], "not an item of the project"),
    ],
)
def test_a_source_that_cannot_be_used_is_named(
    make: Callable[..., Any], source: str, rows: Any, words: str
) -> None:
    project = make(items=3, prelabels={"source": source})
    if rows is not None:
        given = [
            Judgement(example=item, worker=who, question="label", answer=label)
            for item, who, label in rows
        ]
        write_records(project.folder / source, given)
    with (
        open_store("", project.folder, project.name) as store,
        pytest.raises(BadInput, match=words),
    ):
        sync_items(project, store)


def test_a_machine_whose_judgements_are_imported_fills_pages(tmp_path: Path) -> None:
    settings = msgspec.convert(
        {
            "title": "試験",
            "form": "choice",
            "prelabels": {"source": MACHINE, "share": 1.0},
            "assign": {"order": "file"},
        },
        Settings,
    )
    examples = [Example(id=f"i{n}", inputs={"text": "文"}) for n in range(2)]
    project = create_project(tmp_path / "p", settings, examples)
    rows = [
        Judgement(example="i0", worker=MACHINE, question="label", answer="neutral", kind="machine")
    ]
    write_records(tmp_path / "judged.jsonl", rows)
    open_store("", project.folder, project.name).close()
    import_judgements(project.folder, tmp_path / "judged.jsonl", JudgementOptions())
    with open_store("", project.folder, project.name) as store:
        crowd = Crowd(project, store)
        crowd.join("aki")
        pages = []
        while item := crowd.state("aki")["item"]:
            pages.append(item["prelabel"])
            crowd.answer("aki", "neutral", lease=item["lease"])
        assert sorted(pages, key=str) == [None, {"label": "neutral"}]


@pytest.mark.parametrize(("form", "changed"), [("multiple-selection", False), ("ranked", True)])
def test_labels_in_another_order_are_a_change_of_a_ranking_alone(
    form: str, changed: bool, tmp_path: Path
) -> None:
    """A page of check boxes sends labels in its own order, whatever order the machine gave them in."""
    labels = {"labels": ["joy", "fear", "anger"], "shows": ["text"]}
    table = {"title": "t", "form": form, "form_settings": labels}
    table |= {"prelabels": {"source": "machine.jsonl", "share": 1.0}}
    sample = forms()[form]
    question = sample.main_question(sample.parse_options(labels))
    settings = msgspec.convert(table, Settings)
    example = Example(id="i0", inputs={"text": "文"})
    project = create_project(tmp_path / "p", settings, [example])
    row = Judgement(example="i0", worker=MACHINE, question=question, answer=["fear", "joy"])
    write_records(project.folder / "machine.jsonl", [row])
    with open_store("", project.folder, project.name) as store:
        sync_items(project, store)
        crowd = Crowd(project, store)
        crowd.join("aki")
        lease = crowd.state("aki")["item"]["lease"]
        crowd.now += 3
        body = json.dumps({question: ["joy", "fear"]})
        crowd.do(save_answer, "aki", Submission(lease, "k", body))
        (row,) = crowd.exported()
    assert row.prelabel is not None
    assert row.prelabel.shown
    assert row.prelabel.changed is changed
    report = measure_prelabels([row])
    assert report is not None
    assert report.changed.value == float(changed)


@pytest.mark.parametrize("answered", [0, 20])
def test_control_items_are_filled_in_no_more_often_than_others(
    make: Callable[..., Any], database: str, answered: int
) -> None:
    """Where the machine answered no item, or a third: else whoever sees a filled page knows that it is a control item."""
    project = make(
        items=60,
        control=60,
        prelabels={"source": MACHINE, "share": 1.0},
        gold={"rate": 0.5, "after": 1000},
    )
    with open_store(database, project.folder, project.name) as store:
        sync_items(project, store)
        rows = [
            Judgement(
                example=f"i{n:03}",
                worker=MACHINE,
                question="label",
                answer="neutral",
                kind="machine",
            )
            for n in range(answered)
        ]
        if rows:
            write_records(project.folder / "judged.jsonl", rows)
            import_judgements(
                project.folder,
                project.folder / "judged.jsonl",
                JudgementOptions(),
                database=database,
            )
        crowd = Crowd(project, store)
        crowd.join("aki")
        work(crowd, "aki")
        control = [row.prelabel is not None for row in crowd.exported("gold")]
        assert len(control) >= 30
        if answered:
            assert 0 < sum(control) < 0.7 * len(control)  # a third is due
            assert describe_prelabels(store, project) == ""
        else:
            assert not any(control)
            assert f"no item has an answer of {MACHINE}" in describe_prelabels(store, project)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("all.jsonl", None),
        ("all.csv", None),
        ("all.tsv", None),
        ("all.parquet", None),
        ("studio.json", "label-studio"),
        ("doccano", "doccano"),
        ("yahoo.tsv", "yahoo"),
    ],
)
def test_the_record_goes_out_and_comes_back(
    with_machine: Begin, tmp_path: Path, name: str, form: str | None, database: str
) -> None:
    crowd = with_machine(items=6)
    crowd.join("aki")
    work(crowd, "aki", "neutral")
    out = tmp_path / name
    export(crowd.project.folder, out, ExportOptions(form=form), database)
    reading = open_judgements(out)
    back = {row.example: row.prelabel for _, row in reading.rows}
    assert back == {row.example: row.prelabel for row in crowd.exported()}
    assert any(prelabel and prelabel.changed for prelabel in back.values())


@pytest.mark.parametrize("form", forms().values(), ids=list(forms()))
def test_every_form_that_offers_answers_has_a_wrong_one_for_control_items(
    form: Form, tmp_path: Path
) -> None:
    sample = form.sample
    assert sample is not None
    settings = Settings(title="試し", form=form.name, options=dict(sample.settings))
    example = Example(id="i", inputs=dict(sample.inputs))
    project = create_project(tmp_path / "p", settings, [example])
    wrong = [make_wrong_answer(project, f"i{n}", example, sample.answer, {}) for n in range(5)]
    if form.offers is None and form.mislead is None:
        assert wrong == [None] * 5
        return
    for answer in wrong:
        assert answer is not None
        assert not form.gold_matches(answer, sample.answer, project.options)
    assert json.dumps(wrong) == json.dumps(
        [make_wrong_answer(project, f"i{n}", example, sample.answer, {}) for n in range(5)]
    )


def test_older_databases_get_the_tables(make: Callable[..., Any], database: str) -> None:
    project = make(items=2)
    with open_store(database, project.folder, project.name) as store:

        def drop(db: Connection) -> None:
            for table in ADDED_TABLES:
                db.execute(f"DROP TABLE {table}")

        store.write(drop)
    with open_store(database, project.folder, project.name) as store:
        sync_items(project, store)
        crowd = Crowd(project, store)
        crowd.join("aki")
        crowd.answer("aki")
        assert len(crowd.exported()) == 1
