"""Two workers who write a dialogue together: seats, turns sent twice, partners who leave, and the answer of both."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from nikawa.collect import routes_dialogue
from nikawa.collect.app import create_app
from nikawa.collect.export import ExportOptions, export, read_judgements
from nikawa.collect.forms.dialogue import FORM, SAMPLE_TURNS
from nikawa.collect.items import sync_items
from nikawa.collect.project import Project, create_project, open_project
from nikawa.collect.settings import Settings
from nikawa.collect.store import Store, open_store
from nikawa.collect.workers import exclude, find_worker_by_name, make_links
from nikawa.collect.writers import read_writers
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.records import Example, Judgement
from nikawa.serve.listeners import Listeners

assert FORM.sample is not None
SAMPLE = FORM.sample
LIVE = {**SAMPLE.settings, "mode": "live"}


class Room:
    """A project in which two workers meet, and its workers, with a clock of their own."""

    def __init__(self, project: Project, store: Store) -> None:
        self.project, self.store, self.now = project, store, 1000.0
        self.listeners = Listeners()
        self.app = create_app(project, store, clock=lambda: self.now, listeners=self.listeners)
        self.client = TestClient(self.app, base_url="http://here", raise_server_exceptions=False)
        self.links: dict[str, str] = {}
        self.leases: dict[str, str] = {}
        self.keys = 0

    def join(self, *names: str) -> None:
        links = self.store.write(lambda db: make_links(db, self.project, names, "o", self.now))
        for name, token in links:
            self.links[name] = f"/w/{token}"
        for name in names:
            self.next(name)

    def next(self, name: str) -> dict[str, Any]:
        state: dict[str, Any] = self.client.get(f"{self.links[name]}/next").json()
        if state["item"]:
            self.leases[name] = state["item"]["lease"]
        return state

    def post(self, name: str, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        body.setdefault("lease", self.leases[name])
        reply = self.client.post(f"{self.links[name]}/{path}", json=body)
        return reply.status_code, reply.json()

    def talk(self, name: str, mark: str = "", wait: int = 0) -> dict[str, Any]:
        query: dict[str, str | int] = {"lease": self.leases[name], "mark": mark, "wait": wait}
        reply = self.client.get(f"{self.links[name]}/talk", params=query)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    def say(self, name: str, place: int, **how: Any) -> tuple[int, dict[str, Any]]:
        """Send the turn of the sample with this number; the agent's with the state before it."""
        self.keys += 1
        turn = SAMPLE_TURNS[place]
        body = {"key": f"k{self.keys}", "place": place, "text": turn["text"], **how}
        if turn["role"] == "sys":
            body.setdefault("state", SAMPLE_TURNS[place - 1]["state"])
        return self.post(name, "turn", **body)

    def write_all(self, *speakers: str, start: int = 0) -> None:
        for place, name in enumerate(speakers, start=start):
            assert self.say(name, place)[0] == 200
            self.now += 5

    def finish(self, name: str, key: str = "end") -> tuple[int, dict[str, Any]]:
        return self.post(name, "answer", key=key, answer={})

    def judgements(self) -> list[Judgement]:
        with self.store.connection() as db:
            return list(read_judgements(db, self.project))

    def counts(self) -> list[tuple[int, ...]]:
        sql = "SELECT asked, done, leased, open FROM items ORDER BY id"
        return [tuple(map(int, row)) for row in self.store.read(lambda db: db.rows(sql))]


@pytest.fixture
def meet(tmp_path: Path, database: str) -> Iterator[Callable[..., Room]]:
    stores: list[Store] = []

    def begin(items: int = 1, *names: str, workers: int = 2, **options: Any) -> Room:
        table = {
            "title": "対話",
            "form": "dialogue",
            "assign": {"workers_per_item": workers},
            "form_settings": {**LIVE, **options},
        }
        settings = msgspec.convert(table, Settings)
        examples = [Example(id=f"g{n}", inputs=dict(SAMPLE.inputs)) for n in range(items)]
        project = create_project(tmp_path / "p", settings, examples)
        store = open_store(database, project.folder, project.name)
        stores.append(store)
        sync_items(project, store)
        room = Room(project, store)
        room.join(*names)
        return room

    yield begin
    for store in stores:
        store.close()


def test_two_write_a_dialogue_and_both_have_it_as_their_answer(
    meet: Callable[..., Room], tmp_path: Path
) -> None:
    room = meet(3, "aki", "beni")
    assert room.leases["aki"] != room.leases["beni"]
    user, agent = room.talk("aki"), room.talk("beni")
    assert (user["role"], agent["role"]) == ("user", "sys")
    assert user["goal"]["goal"] == SAMPLE.inputs["goal"]
    assert agent["goal"] is None  # who answers does not know the goal
    assert "강변" not in str(room.next("beni")["item"]["inputs"])
    assert user["partner"] == agent["partner"] == "here"
    assert (user["open_asks"], agent["open_asks"]) == (["숙소 전화번호"], [])
    room.write_all("aki", "beni", "aki", "beni")
    assert room.talk("aki")["open_asks"] == room.talk("beni")["open_asks"] == []
    turns = room.talk("aki")["turns"]
    assert [turn["own"] for turn in turns] == [True, False, True, False]
    assert turns[2]["state"] == SAMPLE_TURNS[2]["state"]
    assert room.finish("beni")[0] == 409  # the user ends it
    status, reply = room.finish("aki")
    assert status == 200
    assert reply["state"]["can_undo"] is False
    assert reply["state"]["progress"]["answered"] == 1
    assert room.talk("beni") == {"stage": "over"}
    assert room.finish("aki")[1]["duplicate"] is True
    assert room.next("beni")["progress"]["answered"] == 1
    first, second = room.judgements()
    assert [first.worker, second.worker] == ["beni", "aki"]
    assert second.answer["how"] == "live"
    assert [turn.get("by", 0) for turn in second.answer["turns"]] == [0, 1, 0, 1]
    assert first.answer == {**second.answer, "speaker": 1}
    assert sum(done for _, done, _, _ in room.counts()) == 2
    out = tmp_path / "written.jsonl"
    with room.store.connection():
        export(
            room.project.folder,
            out,
            ExportOptions(form="examples"),
            room.store.database.address if "postgres" in room.store.database.address else "",
        )
    (written,) = read_examples(out)
    assert len(written.inputs["turns"]) == 4
    assert written.meta["how"] == "live"
    (author,) = read_writers(tmp_path / "written.writers.jsonl").values()
    assert {author.writer, *author.others} == {"aki", "beni"}


def test_a_turn_sent_twice_counts_once_and_a_number_taken_is_refused(
    meet: Callable[..., Room],
) -> None:
    room = meet(1, "aki", "beni")
    body = {"key": "k", "place": 0, "text": f" {SAMPLE_TURNS[0]['text']} "}
    assert room.post("aki", "turn", **body) == (200, {"saved": True, "problems": []})
    assert room.post("aki", "turn", **body)[0] == 200  # the acknowledgement was lost
    assert room.post("aki", "turn", **{**body, "text": "다른 말입니다."})[1]["error"] == "key_used"
    assert room.say("aki", 0)[1]["error"] == "turn_taken"
    assert room.say("aki", 1, state=[])[1]["error"] == "turn_theirs"
    assert room.say("beni", 3)[1]["error"] == "turn_taken"
    assert room.say("beni", 1)[0] == 200
    assert room.post("aki", "turn", **body)[0] == 200  # however late
    texts = [turn["text"] for turn in room.talk("beni")["turns"]]
    assert texts == [SAMPLE_TURNS[0]["text"], SAMPLE_TURNS[1]["text"]]
    room.write_all("aki", "beni", start=2)
    room.finish("aki")
    assert room.post("aki", "turn", **body)[0] == 200  # even when all is over
    assert room.post("beni", "turn", key="new", place=4, text="네, 감사합니다.")[0] == 409


def test_rules_of_turns_and_of_the_whole(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni")
    status, reply = room.say("aki", 0, text="강변이 좋아.")
    assert (status, reply["error"]) == (422, "turn_polite")
    status, reply = room.say("aki", 0, text="강변이 좋아.", check=True)
    assert (status, reply["saved"], reply["problems"][0]["code"]) == (200, False, "turn_polite")
    assert room.talk("aki")["turns"] == []
    room.write_all("aki")
    assert room.say("beni", 1, state=None)[1]["error"] == "state_first"
    assert room.say("beni", 1, state=["숙소-지역-산"])[1]["error"] == "answer_invalid"
    assert room.say("beni", 1, state=["숙소-지역-시장"])[0] == 200  # misunderstood
    (problem,) = room.talk("aki")["problems"]
    assert (problem["code"], problem["values"]["value"]) == ("value_other", "강변")
    assert room.talk("beni")["problems"] == []  # it would give the goal away
    assert room.finish("aki")[1]["error"] in ("value_other", "turns_few")
    room.write_all("aki", "beni", start=2)  # put right
    assert room.talk("aki")["problems"] == []
    assert room.finish("aki")[0] == 200


def test_the_one_who_left_is_replaced_and_the_record_says_so(meet: Callable[..., Room]) -> None:
    room = meet(2, "aki", "beni")
    room.write_all("aki", "beni", "aki")
    room.now += 30
    room.talk("aki")
    assert room.talk("aki")["partner"] == "here"
    room.now += 20
    room.talk("aki")
    assert room.talk("aki")["partner"] == "away"
    room.join("chika")
    assert room.talk("chika")["role"] == "sys"
    assert len(room.talk("chika")["turns"]) == 3
    assert room.talk("beni") == {"stage": "lost"}
    assert room.say("beni", 3)[1]["error"] == "seat_lost"
    old = room.leases["beni"]
    assert room.next("beni")["item"]["lease"] != old  # another goal
    room.write_all("chika", start=3)
    assert room.finish("aki")[0] == 200
    assert {row.worker for row in room.judgements()} == {"aki", "chika"}
    answer = room.judgements()[0].answer
    assert answer["how"] == "replaced"
    assert [turn.get("by", 0) for turn in answer["turns"]] == [0, 1, 0, 2]


def test_who_comes_back_in_time_goes_on(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni")
    room.write_all("aki")
    room.now += 100
    room.talk("aki")
    lease = room.leases["beni"]
    room.next("beni")  # a browser that was opened again
    assert room.leases["beni"] == lease
    room.talk("beni")
    assert room.talk("aki")["partner"] == "here"
    room.write_all("beni", "aki", "beni", start=1)
    assert room.finish("aki")[0] == 200


def test_the_rest_is_written_alone(meet: Callable[..., Room]) -> None:
    room = meet(2, "aki", "beni")
    room.write_all("aki")
    assert room.post("aki", "alone")[1]["error"] == "partner_here"
    room.now += 60
    room.talk("aki")
    assert room.post("aki", "alone")[0] == 200
    assert room.post("aki", "alone")[0] == 200
    talk = room.talk("aki")
    assert (talk["role"], talk["partner"]) == ("both", "alone")
    assert room.talk("beni") == {"stage": "lost"}
    room.next("beni")
    assert room.talk("beni")["turns"] == []  # another dialogue
    room.write_all("aki", "aki", "aki", start=1)
    assert room.finish("aki")[0] == 200
    (judgement,) = room.judgements()
    assert judgement.answer["how"] == "alone"
    assert (1, 1, 0, 0) in room.counts()
    room.next("aki")
    assert room.talk("aki")["role"] == "sys"  # to beni, who waits


def test_nobody_is_there_and_one_writes_alone(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki")
    assert room.talk("aki")["partner"] == "none"
    assert room.post("aki", "alone")[0] == 200
    room.join("beni")
    assert "beni" not in room.leases
    room.write_all(*["aki"] * 4)
    assert room.finish("aki")[0] == 200


def test_who_keeps_the_other_waiting_is_away(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni", reply_seconds=60)
    room.write_all("aki")
    for _ in range(4):
        room.now += 20
        room.talk("aki"), room.talk("beni")
    assert room.talk("aki")["partner"] == "away"
    assert room.talk("beni")["partner"] == "here"
    room.post("beni", "draft", draft={"value": 1})
    assert room.talk("aki")["partner"] == "here"


def test_the_last_word_counts_even_if_its_writer_is_gone(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni")
    room.write_all("aki", "beni", "aki", "beni")
    room.now += 60
    room.talk("aki")
    room.join("chika")  # takes the seat, and finds nothing to do
    assert room.finish("aki")[0] == 200
    assert {row.worker for row in room.judgements()} == {"aki", "beni"}
    assert room.talk("chika") == {"stage": "lost"}
    assert room.counts() == [(2, 2, 0, 0)]


def test_all_leave_and_others_go_on(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni")
    room.write_all("aki")
    room.now += 3600
    room.join("chika", "dai")
    assert {room.talk("chika")["role"], room.talk("dai")["role"]} == {"user", "sys"}
    assert room.talk("chika")["role"] == "sys"  # whose turn it is
    room.write_all("chika", "dai", "chika", start=1)
    assert room.finish("dai")[0] == 200
    assert room.judgements()[0].answer["how"] == "replaced"


def test_an_excluded_worker_leaves_the_seat(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni")
    room.store.write(
        lambda db: exclude(db, find_worker_by_name(db, "beni"), "spam", "o", room.now)  # type: ignore[arg-type]
    )
    assert room.talk("aki")["partner"] == "away"
    room.join("chika")
    assert room.talk("chika")["role"] == "sys"
    assert room.talk("aki")["partner"] == "here"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_news_arrive_while_a_page_waits(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", "beni")
    mark = room.talk("beni")["mark"]
    found: list[dict[str, Any]] = []
    begin = time.monotonic()
    assert room.talk("beni", mark, wait=1)["mark"] == mark
    assert time.monotonic() - begin > 0.8
    with room.client:  # both requests share a loop
        waiting = threading.Thread(target=lambda: found.append(room.talk("beni", mark, wait=8)))
        waiting.start()
        time.sleep(0.3)
        room.write_all("aki")
        waiting.join()
    assert len(found[0]["turns"]) == 1


@pytest.mark.parametrize("end", ["the page is closed", "the server stops"])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_request_that_waits_is_let_go(
    meet: Callable[..., Room], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(routes_dialogue, "MAX_WAIT_SECONDS", 3600)
    room = meet(1, "aki", "beni")
    mark = room.talk("beni")["mark"]
    seen = "SELECT seen FROM seats WHERE lease = ?"
    (before,) = room.store.read(lambda db: db.required(seen, room.leases["beni"]))
    received = [{"type": "http.request"}]
    sent: list[Any] = []

    async def receive() -> Any:
        while not received:
            await asyncio.sleep(0.01)
        return received.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    async def wait_and_let_go() -> None:
        query = f"lease={room.leases['beni']}&mark={mark}&wait=3600".encode()
        scope = {
            "type": "http",
            "method": "GET",
            "path": f"{room.links['beni']}/talk",
            "query_string": query,
            "headers": [(b"host", b"here")],
            "client": ("127.0.0.1", 1),
        }
        async with asyncio.timeout(60):
            held = asyncio.create_task(room.app(scope, receive, send))
            while not room.listeners._events:
                await asyncio.sleep(0.01)
            if end == "the server stops":
                room.listeners.release()
            else:
                room.now += 3600  # a page that is there would count as seen again
                received.append({"type": "http.disconnect"})
            await held

    asyncio.run(wait_and_let_go())
    (after,) = room.store.read(lambda db: db.required(seen, room.leases["beni"]))
    assert sent[0]["status"] == 200
    assert after == before


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_settings_that_do_not_fit_are_named(meet: Callable[..., Room]) -> None:
    with pytest.raises(BadInput, match="workers_per_item is 3"):
        meet(1, workers=3)
    room = meet(1)
    folder = room.project.folder
    text = (folder / "project.toml").read_text("utf-8")
    (folder / "project.toml").write_text(
        text.replace("workers_per_item = 2", "workers_per_item = 1"), "utf-8"
    )
    with pytest.raises(BadInput, match="two workers answer an item together"):
        open_project(folder)
    pilot = Example(id="p", inputs=dict(SAMPLE.inputs), gold={"dialogue": {}})
    (folder / "pilot.jsonl").write_bytes(msgspec.json.encode(pilot) + b"\n")
    with pytest.raises(BadInput, match="no control or pilot items"):
        sync_items(replace(room.project), room.store)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_project_of_one_worker_has_no_such_routes(meet: Callable[..., Room]) -> None:
    room = meet(1, "aki", workers=1, mode="self")
    reply = room.client.get(f"{room.links['aki']}/talk", params={"lease": "x"})
    assert reply.status_code == 404
    assert room.say("aki", 0)[0] == 404
