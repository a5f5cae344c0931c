"""The owner's pages over HTTP: who may see them, what a decision needs, and words in all three languages."""

from __future__ import annotations

import re
from functools import partial
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from nikawa.aggregation.agree_job import AgreeOptions, measure_rows
from nikawa.aggregation.table import Table
from nikawa.collect.analyses import ANALYSES
from nikawa.collect.app import create_app
from nikawa.collect.dashboard import latest_answers, reported_items
from nikawa.collect.form import forms
from nikawa.collect.items import add_judgements, sync_items
from nikawa.collect.project import create_project
from nikawa.collect.settings import Settings
from nikawa.collect.site import owner_messages
from nikawa.collect.store import open_store
from nikawa.collect.workers import exclude
from nikawa.errors import BadInput
from nikawa.records import Example, Judgement
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.login import hash_password, set_person

PASSWORD = "とても長い合言葉です"
PAGES = ("/owner", "/owner/adjudicate")


class Site:
    """A project with three workers' answers, served."""

    def __init__(self, crowd: Any) -> None:
        crowd.join("aki", "beni", "chie")
        for name, label in (("aki", "neutral"), ("beni", "entailment"), ("chie", "neutral")):
            lease = crowd.lease(name)
            crowd.now += 5.0
            crowd.answer(name, label, lease=lease, seconds=4.0)
        self.crowd, self.project = crowd, crowd.project
        app = create_app(crowd.project, crowd.store, analyses=ANALYSES)
        self.client = TestClient(app, base_url="http://here")

    def log_in(self, role: str) -> dict[str, str]:
        """The headers of a POST of somebody in that role."""
        kept = hash_password(PASSWORD)
        self.crowd.store.write(lambda db: set_person(db, role, role, kept, 1.0))
        csrf = re.findall(r'name="X-CSRF-Token" value="([^"]+)"', self.client.get("/login").text)[0]
        fields = {"name": role, "password": PASSWORD, "X-CSRF-Token": csrf}
        page = self.client.post("/login", data=fields)
        return {"X-CSRF-Token": re.findall(r'data-csrf="([^"]+)"', page.text)[0]}


@pytest.fixture
def site(crowd: Any, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(
        "nikawa.serve.background.FIRST_FIGURES_SECONDS", 30
    )  # a busy machine must not fail a test
    return Site(crowd(items=1))


def test_what_the_dashboard_asks_for(site: Site) -> None:
    site.log_in("owner")
    told = site.client.get("/owner/data").json()["analyses"]
    assert {row["worker"] for row in told["judged"]["workers"]} == {"aki", "beni", "chie"}
    assert told["judged"]["time"]["median"] == 4.0
    assert told["gate"]["texts"] == 1


def test_nobody_waits_for_an_analysis_that_takes_long(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.serve.background.FIRST_FIGURES_SECONDS", 0.05)
    done, ended = Event(), Event()

    def long(*_: object) -> dict[str, int]:
        done.wait(60)
        ended.set()
        return {"texts": 7}

    app = create_app(site.project, site.crowd.store, analyses={"gate": long}, clock=lambda: 50.0)
    site.client = TestClient(app, base_url="http://here")
    site.log_in("owner")
    told = site.client.get("/owner/data").json()
    assert told["progress"]["answers"] == 3
    assert (told["analyses"], told["analysed"]) == (
        {"gate": None},
        {"gate": {"at": None, "working": True}},
    )
    done.set()
    assert ended.wait(60)
    monkeypatch.setattr("nikawa.serve.background.FIRST_FIGURES_SECONDS", 60)
    told = site.client.get("/owner/data").json()
    assert (told["analyses"]["gate"], told["analysed"]["gate"]["at"]) == ({"texts": 7}, 50.0)


def test_an_analysis_that_fails_leaves_the_rest(site: Site) -> None:
    def fails(*_: object) -> None:
        raise BadInput("no text has a word", cure="none")

    app = create_app(site.project, site.crowd.store, analyses={**ANALYSES, "gate": fails})
    site.client = TestClient(app, base_url="http://here")
    site.log_in("owner")
    told = site.client.get("/owner/data").json()
    assert told["progress"]["answers"] == 3
    assert told["analyses"]["gate"] is None
    assert len(told["analyses"]["judged"]["workers"]) == 3


def test_no_worker_and_no_stranger_gets_any_of_it(site: Site) -> None:
    token = site.project.token("aki")
    link = f"/w/{token}"
    site.client.get(link)
    for path in PAGES:
        reply = site.client.get(path, follow_redirects=False)
        assert (reply.status_code, reply.headers["location"]) == (303, "/login")
    for path in ("data", "disagreements", "items", "case?ref=i000"):
        for headers in (
            {},
            {"Authorization": f"Bearer {token}"},
            {"Cookie": f"nikawa_session={token}"},
        ):
            assert site.client.get(f"/owner/{path}", headers=headers).status_code == 401
    decision = {"ref": "i000", "answer": {"label": "neutral"}, "reason": "x"}
    assert site.client.post("/owner/decide", json=decision).status_code == 401
    page = site.client.get(link).text
    assert owner_messages("ja")["gate"] not in page
    assert "beni" not in page


def test_the_reviewer_has_no_way_to_what_is_the_owners(site: Site) -> None:
    headers = site.log_in("reviewer")
    page = site.client.get("/owner").text
    assert "/owner/export" not in page
    assert 'id="make-links"' not in page
    assert (
        site.client.post("/owner/exclude", json={"worker": "aki"}, headers=headers).status_code
        == 403
    )
    site.log_in("owner")
    page = site.client.get("/owner").text
    assert "/owner/export" in page
    assert 'id="make-links"' in page


def test_a_decision_needs_a_reason_a_token_and_stays(site: Site) -> None:
    headers = site.log_in("reviewer")
    decision = {"ref": "i000", "answer": {"label": "neutral"}, "reason": "読み直した"}
    for reason in ("", "  ", None):
        reply = site.client.post(
            "/owner/decide", json={**decision, "reason": reason}, headers=headers
        )
        assert reply.status_code == 422
    assert site.client.post("/owner/decide", json=decision).status_code == 403
    assert site.crowd.exported("decisions") == []
    for label in ("neutral", "contradiction"):
        body = {**decision, "answer": {"label": label}}
        assert site.client.post("/owner/decide", json=body, headers=headers).status_code == 200
    (row,) = site.client.get("/owner/disagreements").json()["cases"]
    assert [one["answer"]["label"] for one in row["decisions"]] == ["contradiction", "neutral"]
    assert row["decision"] == row["decisions"][0]
    assert len(row["answers"]) == 3
    assert site.client.get("/owner/disagreements?undecided=1").json() == {
        "cases": [],
        "after": None,
    }
    assert len(site.crowd.exported()) == 3


def test_the_latest_answers_stand(crowd: Any) -> None:
    here = crowd(items=2, assign={"workers_per_item": 5})
    here.join("aki", "beni", "chie")
    for name in ("aki", "beni", "chie"):
        here.answer(name)
    here.answer("aki", "entailment")
    here.undo("aki")
    here.change(exclude, "beni")
    with here.store.connection() as db:
        found = list(latest_answers(db, 10))
        assert [one.worker for one in latest_answers(db, 1)] == ["chie"]
    assert [(one.worker, one.answer) for one in found] == [
        (name, {"label": "neutral"}) for name in ("chie", "aki")
    ]
    assert found[0].inputs["premise"].startswith("前提")


def test_reported_items_are_troubled(crowd: Any) -> None:
    here = crowd(items=3, limits={"reports_per_item": 1})
    here.join("aki")
    assert here.store.read(lambda db: reported_items(db, 5)) == []
    here.report("aki")
    ((_, reports, aside),) = here.store.read(lambda db: reported_items(db, 5))
    assert (reports, aside) == (1, True)


def test_every_measure_of_agreement_has_a_name_in_every_language() -> None:
    items, workers = [f"i{n % 4}" for n in range(12)], [f"w{n // 4}" for n in range(12)]
    found = set()
    for answers in (["a", "b", "a", "b", "a", "b", "b", "b", "a", "a", "a", "b"], list(range(12))):
        table = Table.from_columns(items, workers, answers, "q")
        found |= {(row.name, row.level) for row in measure_rows(table, AgreeOptions(resamples=2))}
        found |= {
            (row.name, row.level)
            for row in measure_rows(table, AgreeOptions(resamples=2, author="w0"))
        }
    assert {"alpha", "fleiss", "variance-mean", "author-is-gold"} <= {name for name, _ in found}
    for language in LANGUAGES:
        for name, level in found:
            assert f"measure_{name}" in owner_messages(language)
            assert f"level_{level}" in owner_messages(language)


def test_words_are_the_same_in_all_languages_and_all_are_there() -> None:
    tables = {language: owner_messages(language) for language in LANGUAGES}
    assert tables["ja"].keys() == tables["ko"].keys() == tables["en"].keys()
    for key in tables["en"]:
        assert (
            len({tuple(sorted(re.findall(r"\{(\w+)\}", table[key]))) for table in tables.values()})
            == 1
        ), key
    pages = files("nikawa.collect") / "pages"
    scripts = "".join(
        (pages / "static" / f"{name}.js").read_text("utf-8")
        for name in ("owner", "dashboard", "gate", "adjudicate")
    )
    pattern = r"""(?<!\.)\bwords\.(\w+)|\b(?:say|empty)\("(\w+)\""""
    asked = {first or second for first, second in re.findall(pattern, scripts)}
    assert len(asked) > 40
    assert asked <= tables["en"].keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pages_in_each_language(site: Site, language: str) -> None:
    site.log_in("owner")
    for path in PAGES:
        page = site.client.get(path, headers={"Accept-Language": language}).text
        assert f'<html lang="{language}">' in page
        assert owner_messages(language)["adjudicate"] in page
        assert not re.findall(r"<script(?![^>]*src=)|\son\w+=|style=", page)


def test_the_queue_of_answers_to_recheck(site: Site) -> None:
    assert site.client.get("/owner/recheck").status_code == 401
    row = Judgement(example="i000", worker="model:m#1", question="label", answer="neutral")
    store, project = site.crowd.store, site.project
    store.write(lambda db: add_judgements(db, project, [(1, row)], "m.jsonl", 5.0))
    headers = site.log_in("reviewer")
    figures = site.client.get("/owner/data").json()
    expected = {"compared": 3, "by_others": 1, "answers": 1, "items": 1}
    assert figures["analyses"]["recheck"] == expected
    page = site.client.get("/owner/recheck").json()
    (case,) = page["cases"]
    assert (case["ref"], case["doubtful"]) == ("i000", ["beni"])
    assert case["machines"] == [{"worker": "model:m#1", "answer": {"label": "neutral"}}]
    assert [one["worker"] for one in case["answers"]] == ["aki", "beni", "chie"]
    decision = {"ref": "i000", "answer": {"label": "neutral"}, "reason": "読み直した"}
    assert site.client.post("/owner/decide", json=decision, headers=headers).status_code == 200
    assert len(site.client.get("/owner/recheck").json()["cases"]) == 1
    assert site.client.get("/owner/recheck?undecided=1").json()["cases"] == []
    assert site.client.get("/owner/recheck?after=7").json()["cases"] == []
    assert site.client.get("/owner/recheck?after=x").status_code == 200


def test_without_models_nothing_is_to_recheck(site: Site) -> None:
    site.log_in("owner")
    assert site.client.get("/owner/data").json()["analyses"]["recheck"] is None
    empty: dict[str, Any] = {"cases": [], "after": None, "working": False}
    assert site.client.get("/owner/recheck").json() == empty


def test_every_form_has_a_queue_or_none(tmp_path: Path) -> None:
    """Three persons and a model answer the sample item; those that are compared find nothing to recheck in equal answers."""
    compared = set()
    for name in forms():
        form = forms()[name]
        assert form.sample is not None
        table = {"title": "t", "form": name, "form_settings": dict(form.sample.settings)}
        examples = [Example(id="i0", inputs=dict(form.sample.inputs))]
        project = create_project(tmp_path / name, msgspec.convert(table, Settings), examples)
        rows = [
            Judgement(example="i0", worker=worker, question=question, answer=answer)
            for worker in ("aki", "beni", "model:m#1")
            for question, answer in form.to_judgements(dict(form.sample.answer))
        ]
        with open_store("", project.folder, project.name) as store:
            sync_items(project, store)
            given = list(enumerate(rows, start=1))
            store.write(partial(add_judgements, project=project, rows=given, file="m", now=5.0))
            found = ANALYSES["recheck"](project, store)
        if found is not None:
            compared.add(name)
            assert (found["compared"], found["answers"]) == (2, 0)
    simple = {"choice", "scale", "inference", "ranked", "relation", "multiple-choice"}
    assert {*simple, "span-tagging", "tree"} <= compared
    assert not any(forms()[name].writes for name in compared)
