"""What a worker sees of how much is left, and what a report does where it is an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from nikawa.collect import routes_worker
from nikawa.collect.app import create_app
from nikawa.collect.dashboard import overview
from nikawa.collect.items import import_reports
from nikawa.collect.project import Project
from nikawa.collect.site import page_message
from nikawa.collect.store import Store
from nikawa.collect.workers import add_worker, exclude, find_worker_by_name, reinstate
from nikawa.records import Judgement
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.login import hash_token

Start = Callable[..., tuple[Project, Store]]


class Pages:
    """Workers at the routes of their pages."""

    def __init__(self, project: Project, store: Store) -> None:
        self.project, self.store = project, store
        self.client = TestClient(create_app(project, store), base_url="http://here")

    def join(self, *names: str) -> None:
        for name in names:
            token = hash_token(self.project.token(name))
            self.store.write(add_worker, name, token, "link", language="ja", now=1.0)

    def state(self, name: str) -> dict[str, Any]:
        state: dict[str, Any] = self.client.get(f"/w/{self.project.token(name)}/next").json()
        return state

    def left(self, name: str) -> Any:
        return self.state(name)["progress"]["left"]

    def send(self, name: str, what: str = "answer", **more: Any) -> dict[str, Any]:
        item = self.state(name)["item"]
        body = {"answer": {"label": "neutral"}} if what == "answer" else {"code": "hate"}
        body = {"lease": item["lease"], "key": item["lease"], **body, **more}
        reply = self.client.post(f"/w/{self.project.token(name)}/{what}", json=body)
        assert reply.status_code == 200, reply.text
        state: dict[str, Any] = reply.json()["state"]
        return state


@pytest.fixture
def pages(start: Start) -> Callable[..., Pages]:
    return lambda **how: Pages(*start(**how))


def test_a_worker_sees_how_many_items_are_left(pages: Callable[..., Pages]) -> None:
    here = pages(items=4, assign={"workers_per_item": 2})
    here.join("a", "b", "c")
    assert here.left("a") == 4
    assert [here.send("a")["progress"]["left"] for _ in range(4)] == [3, 2, 1, 0]
    assert here.left("b") == 4
    here.send("b")
    here.send("b")
    assert here.left("b") == 2
    assert here.left("c") == 1  # b holds one, and two have their answers
    state = here.state("a")
    assert (state["stage"], state["progress"]["more"]) == ("done", False)


def test_the_most_of_a_worker_and_one_of_a_group_bound_what_is_left(
    pages: Callable[..., Pages],
) -> None:
    here = pages(items=8, assign={"items_per_worker": 3})
    here.join("a")
    assert here.left("a") == 3
    assert here.send("a")["progress"]["left"] == 2


def test_of_a_group_one_is_left(pages: Callable[..., Pages]) -> None:
    here = pages(items=8, assign={"one_per_group": True})
    here.join("a")
    assert here.left("a") == 4
    assert here.send("a")["progress"]["left"] == 3


def test_more_than_are_counted_are_said_to_be_more(
    pages: Callable[..., Pages], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes_worker, "MAX_LEFT_COUNTED", 3)
    here = pages(items=8)
    here.join("a")
    progress = here.state("a")["progress"]
    assert (progress["left"], progress["more"]) == (
        4,
        True,
    )  # three that are free, and the one in hand
    wanted = ("残り4件以上", "4건 이상 남음", "4 or more left")
    for language, text in zip(("ja", "ko", "en"), wanted, strict=True):
        assert language in LANGUAGES
        assert page_message(language, "left_more", {"left": 4}) == text


def test_what_is_left_tells_no_control_item(pages: Callable[..., Pages]) -> None:
    """The number falls by one with every answer, whatever it was given to."""
    here = pages(items=18, control=8, gold={"rate": 0.4, "pass_mark": 0.0})
    here.join("a")
    seen = [here.left("a")]
    while seen[-1] > 1:
        seen.append(here.send("a")["progress"]["left"])
    assert seen == list(range(18, 0, -1))
    with here.store.connection() as db:
        (control,) = db.required("SELECT gold FROM workers")
    assert control > 0


def test_a_report_takes_the_place_of_an_answer(pages: Callable[..., Pages]) -> None:
    here = pages(
        items=2, assign={"workers_per_item": 2}, reports={"codes": ["hate"], "counted": True}
    )
    here.join("a", "b", "c")
    here.send("a", "report")
    here.send("a")
    here.send("b")
    here.send("b")
    assert here.state("c")["stage"] == "done"  # nobody is asked in the place of who reported
    figures = here.store.read(lambda db: overview(db, here.project))["progress"]
    assert (figures["complete"], figures["set_aside"], figures["uncounted"]) == (2, 0, 0)

    def change(what: Callable[..., None]) -> None:
        here.store.write(lambda db: what(db, find_worker_by_name(db, "a"), "because", "owner", 2.0))

    change(exclude)
    assert here.left("c") == 2
    change(reinstate)
    assert here.store.read(lambda db: overview(db, here.project))["progress"]["complete"] == 2


def test_a_reason_that_is_not_offered_is_refused(pages: Callable[..., Pages]) -> None:
    here = pages(items=1, reports={"codes": ["hate"], "counted": True})
    here.join("a")
    page = here.client.get(f"/w/{here.project.token('a')}").text
    assert 'value="hate"' in page
    assert 'value="broken"' not in page
    lease = here.state("a")["item"]["lease"]
    body = {"lease": lease, "key": "k", "code": "broken"}
    reply = here.client.post(f"/w/{here.project.token('a')}/report", json=body)
    assert reply.status_code == 400


def test_reports_that_come_in_count_as_those_made_here(pages: Callable[..., Pages]) -> None:
    here = pages(items=1, assign={"workers_per_item": 2}, reports={"counted": True})
    here.join("a", "b", "c")
    here.send("a")
    report = Judgement(example="i000", worker="b", question="report", answer="bias", kind="report")
    for _ in range(2):  # a file that comes in twice is one report
        here.store.write(
            lambda db: import_reports(db, here.project, [(1, report)], "in.jsonl", 2.0)
        )
    assert here.state("b")["stage"] == here.state("c")["stage"] == "done"
    figures = here.store.read(lambda db: overview(db, here.project))["progress"]
    assert (figures["complete"], figures["uncounted"]) == (1, 0)
