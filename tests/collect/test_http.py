"""The HTTP interface as browsers and strangers meet it: what it does, what it refuses, what it never tells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient
from tests.serve.conftest import make_outage

from nikawa.collect.app import create_app
from nikawa.collect.export import read_judgements
from nikawa.collect.form import REPORTS, forms
from nikawa.collect.items import sync_items
from nikawa.collect.project import Project
from nikawa.collect.site import Site
from nikawa.collect.store import Store, open_store
from nikawa.collect.workers import add_worker
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement
from nikawa.serve.clients import Networks
from nikawa.serve.database import DeferredWrites
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.login import hash_password, hash_token, set_person

PASSWORD = "とても長い合言葉です"
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> \u202e逆\u202c \" ' & ${7*7} {{7*7}}"
)
Make = Callable[..., Project]


class Here:
    """A project being served, a worker, and somebody who may log in."""

    def __init__(self, project: Project, store: Store) -> None:
        self.project, self.store = project, store
        self.app = create_app(project, store)
        self.client = TestClient(self.app, base_url="http://here", raise_server_exceptions=False)
        self.base = self.link("hanako")

    def link(self, name: str) -> str:
        token = self.project.token(name)
        self.store.write(
            lambda db: add_worker(db, name, hash_token(token), "link", language="ja", now=1.0)
        )
        return f"/w/{token}"

    def next(self, base: str = "") -> dict[str, Any]:
        reply = self.client.get(f"{base or self.base}/next")
        assert reply.status_code == 200
        state: dict[str, Any] = reply.json()
        return state

    def post(
        self, path: str, body: object, base: str = "", **headers: str
    ) -> tuple[int, dict[str, Any]]:
        reply = self.client.post(f"{base or self.base}/{path}", json=body, headers=headers)
        return reply.status_code, reply.json()

    def answer(
        self, label: object = "neutral", base: str = "", **more: Any
    ) -> tuple[int, dict[str, Any]]:
        lease = more.pop("lease", None) or self.next(base)["item"]["lease"]
        body = {"lease": lease, "key": more.pop("key", lease), "answer": {"label": label}, **more}
        return self.post("answer", body, base)

    def log_in(self, name: str = "owner", role: str = "owner", password: str = PASSWORD) -> str:
        """The token that POSTs need."""
        kept = hash_password(PASSWORD)
        self.store.write(lambda db: set_person(db, name, role, kept, 1.0))
        page = self.client.get("/login").text
        csrf = re.findall(r'name="X-CSRF-Token" value="([^"]+)"', page)[0]
        fields = {"name": name, "password": password, "X-CSRF-Token": csrf}
        reply = self.client.post("/login", data=fields, follow_redirects=False)
        assert reply.status_code == (303 if password == PASSWORD else 401), reply.text
        if password != PASSWORD:
            return ""
        page = self.client.get("/owner").text
        return str(re.findall(r'data-csrf="([^"]+)"', page)[0])


@pytest.fixture
def serve(make: Make) -> Iterator[Callable[..., Here]]:
    stores: list[Store] = []

    def begin(**how: Any) -> Here:
        project = make(**how)
        stores.append(open_store("", project.folder, project.name))
        sync_items(project, stores[-1])
        return Here(project, stores[-1])

    yield begin
    for store in stores:
        store.close()


Serve = Callable[..., Here]


def test_a_worker_from_the_first_page_to_the_code(serve: Serve) -> None:
    here = serve(items=2, pay={"per_item": 12.5})
    page = here.client.get(here.base)
    assert page.status_code == 200
    assert len(page.content) < 100_000
    status, told = here.answer(comment="よい")
    assert status == 200
    assert (told["saved"], told["duplicate"]) == (True, False)
    assert told["state"]["earned"] == {"amount": 12.5, "currency": "JPY", "per_item": 12.5}
    status, told = here.answer("entailment")
    assert (told["state"]["stage"], told["state"]["code"]) == ("done", here.project.code("hanako"))
    assert here.post("undo", {"key": "u"})[1]["state"]["item"]["previous"] == {
        "label": "entailment"
    }


def test_a_retry_is_one_judgement(serve: Serve) -> None:
    here = serve()
    lease = here.next()["item"]["lease"]
    told = [here.answer(lease=lease)[1] for _ in range(3)]
    assert [t["duplicate"] for t in told] == [False, True, True]
    assert told[1]["state"] == told[2]["state"]
    with here.store.connection() as db:
        assert len(list(read_judgements(db, here.project))) == 1


def test_the_form_refuses(serve: Serve) -> None:
    here = serve()
    status, told = here.answer("maybe")
    assert (status, told["error"], told["message"]) == (422, "choose_one", "一つ選んでください")
    lease = here.next()["item"]["lease"]
    status, told = here.post("check", {"lease": lease, "answer": {"other": 1}})
    assert (status, told["problems"][0]["code"]) == (200, "answer_invalid")
    odd: object
    for odd in (None, [], {}, 3, ["neutral"]):
        assert here.answer(odd)[0] == 422


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("answer", {}),
        ("answer", {"lease": 1, "key": "k", "answer": {}}),
        ("answer", {"lease": "l", "key": "", "answer": {}}),
        ("answer", {"lease": "l", "key": "k", "answer": []}),
        ("answer", {"lease": "l", "key": "k", "answer": {}, "seconds": -1}),
        ("answer", {"lease": "l", "key": "k\0", "answer": {}}),
        ("answer", {"lease": "l", "key": "k", "answer": {}, "gold": True}),
        ("report", {"lease": "l", "key": "k", "code": "bored"}),
        ("language", {"language": "xx"}),
        ("undo", []),
    ],
)
def test_bodies_that_do_not_fit(serve: Serve, path: str, body: object) -> None:
    assert serve().post(path, body)[0] == 422


def test_other_bodies_are_refused(serve: Serve) -> None:
    here = serve(limits={"body_kilobytes": 1})
    plain = here.client.post(
        f"{here.base}/answer", content=b"{}", headers={"content-type": "text/plain"}
    )
    assert plain.status_code == 415
    kind = {"content-type": "application/json"}
    for content, status in (
        (b"{", 422),
        (b"\xff\xfe", 422),
        (b'"\\ud800"', 422),
        (b"[" * 900 + b"]" * 100, 422),
        (b'{"lease": "' + b"x" * 5000 + b'"}', 413),
    ):
        assert (
            here.client.post(f"{here.base}/draft", content=content, headers=kind).status_code
            == status
        )
    streamed = (b"x" * 600 for _ in range(4))
    assert here.client.post(f"{here.base}/draft", content=streamed, headers=kind).status_code == 413


def test_reports_languages_and_drafts(serve: Serve) -> None:
    here = serve()
    for code in REPORTS[:2]:
        lease = here.next()["item"]["lease"]
        body = {"lease": lease, "key": lease, "code": code, "comment": "変"}
        assert here.post("report", body)[1]["duplicate"] is False
        assert here.post("report", body)[1]["duplicate"] is True
    lease = here.next()["item"]["lease"]
    assert here.post("draft", {"lease": lease, "draft": {"text": "途中"}}) == (
        200,
        {"saved": True, "held": True},
    )
    assert here.next()["item"]["draft"] == {"text": "途中"}
    assert here.post("language", {"language": "ko"})[0] == 200
    assert '<html lang="ko">' in here.client.get(here.base).text


def test_unknown_links_and_pages(serve: Serve) -> None:
    here = serve()
    for path in (
        "/w/guess",
        "/w/guess/next",
        "/nowhere",
        "/static/1/x.js",
        "/static/../project.toml",
        "/join/x",
    ):
        reply = here.client.get(path, headers={"accept": "text/html"})
        assert reply.status_code == 404, path
        assert "<h1>" in reply.text
        assert here.client.get(path).json()["error"] in ("link_unknown", "not_found")
    assert here.client.delete(here.base).status_code == 405


def test_every_reply_is_sealed(serve: Serve) -> None:
    here = serve()
    for path in (here.base, f"{here.base}/next", "/login", "/nowhere", "/owner/data", "/alive"):
        headers = here.client.get(path, follow_redirects=False).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert (headers["referrer-policy"], headers["x-content-type-options"]) == (
            "no-referrer",
            "nosniff",
        )
    page = here.client.get(here.base).text
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|javascript:", page)
    assert not re.search(r"(?:src|href)=\"(?!/)", page)
    static = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert static
    for path in static:
        assert "immutable" in here.client.get(path).headers["cache-control"]


def test_a_fault_of_our_own_tells_nothing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    here = serve()

    def fail(*_: object) -> None:
        raise RuntimeError("secret detail gold=neutral")

    monkeypatch.setattr("nikawa.collect.submissions.assign_item", fail)
    reply = here.client.get(f"{here.base}/next")
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "content-security-policy" in reply.headers


def test_a_database_that_is_away_asks_to_send_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = serve()

    def away(*_: object, **__: object) -> None:
        raise make_outage(here.store.database, "disk I/O error")

    lease = here.next()["item"]["lease"]
    with monkeypatch.context() as patch:
        patch.setattr("nikawa.collect.submissions._add_answer", away)
        status, told = here.answer(lease=lease)
        assert (status, told["error"]) == (503, "server_error")
    assert here.answer(lease=lease)[1]["duplicate"] is False


def test_a_wrong_statement_is_not_asked_for_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = serve()

    def mistype(writes: DeferredWrites, *_: object, **__: object) -> None:
        writes.add("UPDATE items SET dnoe = 1")

    lease = here.next()["item"]["lease"]
    with monkeypatch.context() as patch:
        patch.setattr("nikawa.collect.submissions._add_answer", mistype)
        status, refusal = here.answer(lease=lease)
        assert (status, refusal["error"]) == (500, "server_error")
    assert here.answer(lease=lease)[1]["duplicate"] is False


def test_no_gold_and_no_other_answers_reach_a_worker(serve: Serve) -> None:
    here = serve(
        items=8, control=4, trial=1, gold={"rate": 0.5}, limits={"requests_per_second": 1000}
    )
    other = here.link("taro")
    secrets = ("gold", "control", "taro", "i00", "correct")
    texts: list[str] = [here.client.get(here.base).text]
    for base in (other, here.base):
        while (state := here.next(base))["item"] is not None:
            assert set(state["item"]) == {
                "lease",
                "inputs",
                "draft",
                "previous",
                "prelabel",
                "expires",
                "stage",
            }
            state["item"]["inputs"] = {}
            texts.append(msgspec.json.encode(state).decode())
            status, told = here.answer("neutral", base)
            assert status == 200
            item = told["state"]["item"]
            texts.append(
                msgspec.json.encode(
                    {**told, "state": {**told["state"], "item": item and sorted(item)}}
                ).decode()
            )
            texts.append(str(here.answer("nonsense", base)) if told["state"]["item"] else "")
    texts.append(str(here.post("undo", {"key": "x"})[1]["state"]["progress"]))
    lowered = "\n".join(texts).lower()
    for secret in secrets:
        assert secret not in re.sub(
            r'"(?:lease|token|code)":"[^"]*"|/w/[\w-]+|data-[a-z]+="[^"]*"', "", lowered
        ), secret


def test_hostile_texts_are_text(make: Make) -> None:
    project = make(items=1)
    write_records(
        project.folder / "examples.jsonl",
        [Example(id=HOSTILE, inputs={"premise": HOSTILE, "hypothesis": "長" * 350_000})],
        overwrite=True,
    )
    (project.folder / "guideline.ja.md").write_text(
        f"# {HOSTILE}\n\n[a](javascript:alert(1))\n", "utf-8"
    )
    with open_store("", project.folder, project.name) as store:
        sync_items(project, store)
        here = Here(project, store)
        base = here.link(HOSTILE)
        page = here.client.get(base).text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'javascript:alert(1)"' not in page
        state = here.next(base)
        assert state["item"]["inputs"]["premise"] == HOSTILE
        assert len(state["item"]["inputs"]["hypothesis"]) == 350_000
        csrf = here.log_in()
        for path in ("/owner", "/owner/adjudicate"):
            assert "<script>alert" not in here.client.get(path).text
        assert here.client.get("/owner/data").headers["content-type"] == "application/json"
        body = {"ref": HOSTILE, "answer": {"label": "neutral"}, "reason": HOSTILE}
        told = here.client.post("/owner/decide", json=body, headers={"X-CSRF-Token": csrf})
        assert told.json() == {"seq": 1}


def test_owner_pages_need_a_log_in(serve: Serve) -> None:
    here = serve()
    for path in ("data", "items", "disagreements", "audit", "export"):
        assert here.client.get(f"/owner/{path}").status_code == 401
    assert here.client.get("/openapi.json").status_code == 401
    assert here.client.get("/owner", follow_redirects=False).headers["location"] == "/login"
    for path in ("decide", "exclude", "reinstate", "resolve", "links"):
        assert here.client.post(f"/owner/{path}", json={}).status_code == 401
    here.client.cookies.set("nikawa_session", "guess")
    assert here.client.get("/owner/data").status_code == 401


def test_log_in_log_out_and_wrong_passwords(serve: Serve) -> None:
    here = serve()
    assert here.log_in(password="wrong password") == ""
    csrf = here.log_in()
    assert here.client.get("/owner/data").json()["progress"]["items"] == 6
    stolen = here.client.cookies["nikawa_session"]
    assert here.client.post("/logout", headers={"X-CSRF-Token": csrf}).status_code == 200
    here.client.cookies.set("nikawa_session", stolen)
    assert here.client.get("/owner/data").status_code == 401
    log = here.store.read(
        lambda db: [row[0] for row in db.rows("SELECT what FROM audit ORDER BY seq")]
    )
    assert [what for what in log if what.startswith("log")] == [
        "log in refused",
        "log in",
        "log out",
    ]


def test_cookies_and_passwords_are_kept_safe(serve: Serve) -> None:
    here = serve()
    here.log_in()
    kept = here.store.read(lambda db: db.rows("SELECT p.password, s.id FROM people p, sessions s"))
    assert kept[0][0].startswith("$argon2id$")
    assert here.client.cookies["nikawa_session"] not in kept[0]
    page = here.client.get("/login")
    flags = page.headers["set-cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    stored = (here.project.folder / "collect.db").read_bytes() + (
        here.project.folder / "collect.db-wal"
    ).read_bytes()
    assert here.base.removeprefix("/w/").encode() not in stored


def test_a_post_from_elsewhere_is_refused(serve: Serve) -> None:
    here = serve()
    csrf = here.log_in()
    body = {"worker": "hanako", "reason": ""}
    for headers in (
        {},
        {"X-CSRF-Token": "guess"},
        {"X-CSRF-Token": csrf, "Origin": "http://evil.example"},
        {"X-CSRF-Token": csrf, "Origin": "null"},
        {"X-CSRF-Token": csrf, "Sec-Fetch-Site": "cross-site"},
    ):
        assert here.client.post("/owner/exclude", json=body, headers=headers).status_code == 403
    good = {"X-CSRF-Token": csrf, "Origin": "http://here"}
    assert here.client.post("/owner/exclude", json=body, headers=good).json()["state"] == "excluded"
    assert here.next()["stage"] == "excluded"
    assert here.post("undo", {"key": "u"}, Origin="http://evil.example")[0] == 403
    assert (
        here.client.post("/login", data={"name": "owner", "password": PASSWORD}).status_code == 403
    )


def test_roles(serve: Serve) -> None:
    here = serve()
    csrf = here.log_in("rev", "reviewer")
    headers = {"X-CSRF-Token": csrf}
    assert here.client.get("/owner/data").status_code == 200
    for path in ("/owner/export", "/owner/audit"):
        assert here.client.get(path).status_code == 403
    assert (
        here.client.post("/owner/exclude", json={"worker": "hanako"}, headers=headers).status_code
        == 403
    )
    assert (
        here.client.post("/owner/links", json={"names": ["x"]}, headers=headers).status_code == 403
    )
    decision = {"ref": "i000", "answer": {"label": "neutral"}, "reason": "明らか"}
    assert here.client.post("/owner/decide", json=decision, headers=headers).status_code == 200
    assert (
        here.client.post(
            "/owner/decide", json={**decision, "answer": {}}, headers=headers
        ).status_code
        == 422
    )
    assert (
        here.client.post(
            "/owner/decide", json={**decision, "ref": "no"}, headers=headers
        ).status_code
        == 404
    )


def test_the_owner_at_work(serve: Serve) -> None:
    here = serve(items=1, limits={"reports_per_item": 1})
    csrf = here.log_in()
    headers = {"X-CSRF-Token": csrf}
    made = here.client.post("/owner/links", json={"names": ["x", "y"]}, headers=headers).json()[
        "links"
    ]
    here.answer("neutral", made[0]["path"])
    here.answer("entailment", made[1]["path"])
    (row,) = here.client.get("/owner/disagreements").json()["cases"]
    assert [a["worker"] for a in row["answers"]] == ["x", "y"]
    assert here.client.get("/owner/case?ref=i000").json() == row
    assert here.client.get("/owner/case?ref=none").status_code == 404
    lease = here.next()["item"]["lease"]
    here.post("report", {"lease": lease, "key": "k", "code": "hate"})
    assert here.client.get("/owner/items?state=set-aside").json()[0]["ref"] == "i000"
    told = here.client.post(
        "/owner/resolve", json={"ref": "i000", "action": "drop"}, headers=headers
    )
    assert told.json() == {"ref": "i000", "state": "set-aside"}
    lines = here.client.get("/owner/export?pseudonymise=1").text.splitlines()
    found = [msgspec.json.decode(line, type=Judgement) for line in lines]
    answers = [j for j in found if j.kind == "person"]
    assert {j.worker for j in answers} == {here.project.pseudonym("x"), here.project.pseudonym("y")}
    (report,) = (j for j in found if j.kind == "report")
    assert (report.worker, report.answer) == (here.project.pseudonym("hanako"), "hate")
    rows = list(
        csv.reader(
            io.StringIO(here.client.get("/owner/export?form=csv").content.decode("utf-8-sig"))
        )
    )
    assert rows[0] == [
        *("example", "worker", "question", "answer", "seconds", "at"),
        *("comment", "kind"),
    ]
    assert [row[7] for row in rows[1:]] == ["", "", "report"]
    assert here.client.get("/owner/export?form=exe").status_code == 400
    assert here.client.get("/owner/audit?after=x").status_code == 400
    rows = here.client.get("/owner/audit").json()
    assert {row["what"] for row in rows} >= {"make links", "export", "drop"}
    assert here.client.get("/owner/audit?latest=1").json() == rows[::-1]


def test_rates_are_limited(serve: Serve) -> None:
    here = serve(limits={"requests_per_second": 0.01})
    statuses = [here.client.get(f"{here.base}/next").status_code for _ in range(2)]
    assert statuses[-1] == 429
    guesses = [here.client.post("/login", data={"name": "owner"}).status_code for _ in range(12)]
    assert (guesses[0], guesses[-1]) == (403, 429)


@pytest.mark.parametrize("path", ["", "/next", "/answer"])
def test_unknown_links_are_limited_by_address_and_known_ones_are_not(
    serve: Serve, path: str
) -> None:
    here = serve()
    body = {"lease": "x", "key": "x", "answer": {}}
    ask = here.client.get if path != "/answer" else lambda db: here.client.post(db, json=body)
    statuses = [ask(f"/w/{'x' * 20}{n}{path}").status_code for n in range(80)]
    assert statuses[0] == 404
    assert set(statuses) == {
        404,
        429,
    }  # the last may be either: a guess comes free every fifth of a second
    assert here.client.get(f"{here.base}/next").status_code == 200


def test_platforms(serve: Serve) -> None:
    here = serve(
        crowd={
            "join": True,
            "parameter": "PROLIFIC_PID",
            "completion_code": "C0DE",
            "max_workers": 3,
        }
    )
    entrance = f"/join/{here.project.join_key}"
    korean = {"accept-language": "ko-KR,ko;q=0.9,en;q=0.8"}
    reply = here.client.get(f"{entrance}?PROLIFIC_PID=p1", headers=korean, follow_redirects=False)
    base = reply.headers["location"]
    assert here.next(base)["language"] == "ko"
    again = here.client.get(f"{entrance}?PROLIFIC_PID=p1", follow_redirects=False)
    assert again.headers["location"] == base
    for query in ("", "?PROLIFIC_PID=", "?PROLIFIC_PID=%00", f"?PROLIFIC_PID={'x' * 201}"):
        assert here.client.get(entrance + query).status_code == 400
    for name in ("p2", "p3"):
        last = here.client.get(f"{entrance}?PROLIFIC_PID={name}", follow_redirects=False)
    assert last.status_code == 403
    while here.next(base)["item"]:
        here.answer("neutral", base)
    assert here.next(base)["code"] == "C0DE"


@pytest.mark.parametrize("name", list(forms()))
def test_every_form_has_its_files_and_titles(name: str, serve: Serve) -> None:
    form = forms()[name]
    assert set(form.title) == set(LANGUAGES)
    assert form.name == name
    here = serve(items=1)
    assert form.code in create_site(here).static.contents
    assert form.sample is not None
    options = form.parse_options(form.sample.settings if form.files else {})
    site = Site(replace(here.project, form=form, options=options), here.store)
    assert (
        {"form.js", "problems.js", "dialogs.js"} <= set(site.modules) <= set(site.static.contents)
    )
    here_templates = create_site(here).templates
    assert here_templates.get_template(form.page)


def test_a_guideline_may_be_saved_while_workers_read_it(serve: Serve) -> None:
    here = serve()
    (here.project.folder / "guideline.ja.md").write_bytes("# 新しい手引き\n".encode() + b"\xff\xfe")
    assert "新しい手引き" in here.client.get(here.base).text


def create_site(here: Here) -> Site:
    return Site(here.project, here.store)


def test_what_is_served_is_what_was_asked(serve: Serve) -> None:
    here = serve(items=3)
    shown = set()
    while (state := here.next())["item"]:
        shown.add(state["item"]["inputs"]["premise"])
        here.answer()
    assert shown == {
        e.inputs["premise"] for e in read_examples(here.project.folder / "examples.jsonl")
    }


def test_an_export_that_cannot_be_made_is_told(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """Not a file that ends in the middle: somebody broke the settings while the server ran."""
    here = serve()
    here.log_in()
    path = here.project.folder / "project.toml"
    path.write_text(path.read_text("utf-8").replace('form = "choice"', 'form = "none"'), "utf-8")
    reply = here.client.get("/owner/export")
    assert (reply.status_code, reply.json()["error"]) == (503, "server_error")
    assert "project.toml: there is no form 'none'" in caplog.text


def test_redirects_never_repeat_the_host_of_a_request(serve: Serve) -> None:
    here = serve(items=1, crowd={"join": True})
    join = f"/join/{here.project.join_key}?worker=p-1"
    for path in ("/", "/owner", "/owner/", "/login/", "/alive/?a=b", f"{here.base}/", join):
        reply = here.client.get(path, headers={"host": "evil.example"}, follow_redirects=False)
        where = reply.headers["location"]
        assert where.startswith("/"), (path, where)
        assert not where.startswith("//")
    assert here.client.get("/owner/", follow_redirects=False).headers["location"] == "/owner"
    assert here.client.get("/nothing/").status_code == 404


def test_only_the_hosts_of_the_settings_are_served(make: Make) -> None:
    project = make(items=1)
    settings = msgspec.structs.replace(project.settings, address="https://label.example")
    project = replace(project, settings=settings)
    with open_store("", project.folder, project.name) as store:
        here = Here(project, store)
        for host, status in (("evil.example", 421), ("label.example", 200), ("localhost", 200)):
            reply = here.client.get("/login", headers={"host": host})
            assert (reply.status_code, "evil" in reply.text) == (status, False)
            secure = "secure" in reply.headers.get("set-cookie", "").lower()
            assert secure == (host == "label.example")


def test_a_forwarded_address_counts_only_from_a_trusted_proxy(make: Make) -> None:
    project = make(items=1)
    with open_store("", project.folder, project.name) as store:
        plain = create_app(project, store)
        trusting = create_app(project, store, trusted=Networks(["10.0.0.1"]))
        for app, peer, limited in (
            (plain, "10.0.0.1", True),
            (trusting, "10.0.0.2", True),
            (trusting, "10.0.0.1", False),
        ):
            client = TestClient(app, base_url="http://here", client=(peer, 1))
            statuses = {
                client.get(f"/w/none-{n}", headers={"x-forwarded-for": f"192.0.2.{n}"}).status_code
                for n in range(100)
            }
            assert (429 in statuses) == limited
            reply = client.get("/login", headers={"x-forwarded-proto": "https"})
            assert ("secure" in reply.headers["set-cookie"].lower()) != limited
