"""What the network may not do to a board: every route without a right to it, limits, hostile texts, and what the audit log keeps."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.board.conftest import MakeBoard
from tests.board.test_submitting import HERE, PASSWORD, Programs

import nikawa.board.routes_submitter as submitter_routes
from nikawa.board.accounts import (
    NewAccount,
    make_token,
    set_account_state,
    sign_up,
    start_account_session,
)
from nikawa.board.app import create_app
from nikawa.board.routes_owner import OwnerRoutes
from nikawa.board.routes_submitter import SubmitterRoutes
from nikawa.board.routes_visitor import VisitorRoutes
from nikawa.board.site import Site
from nikawa.board.submissions import MAX_SYSTEMS, create_system
from nikawa.serve.audit import audit_rows
from nikawa.serve.errors import Refused
from nikawa.serve.login import hash_password, password_matches, set_person, start_session

OPEN_TO_ALL = {"/sign-up", "/log-in"}
"""Forms for people without a session; they need the token of their page."""
SESSIONS = {"/log-out"}
"""Ends the sessions whose token is sent; without one it ends none."""


@pytest.fixture
def programs(make_sqlite_board: MakeBoard) -> Programs:
    return Programs(make_sqlite_board())


def list_routes(programs: Programs) -> Iterator[tuple[str, str]]:
    """Method and a path of every route."""
    site = Site(programs.under.board, programs.under.store)
    for part in (VisitorRoutes(site), SubmitterRoutes(site), OwnerRoutes(site)):
        for route in part.routes():
            assert isinstance(route, Route)
            path = route.path.replace("{id:int}", "1").replace("{seq:int}", "1")
            for name, value in (
                ("id", "x"),
                ("state", "withdraw"),
                ("action", "close"),
                ("task", "tides"),
                ("token", "x"),
            ):
                path = path.replace(f"{{{name}}}", value)
            for method in (route.methods or set()) - {"HEAD"}:
                yield method, path


def sessions(programs: Programs, name: str = "ann") -> dict[str, dict[str, str]]:
    """The cookies of a submitter, and of an owner."""
    under = programs.under
    under.store.write(set_person, "own", "owner", hash_password(PASSWORD), under.now)
    account = under.account(name)
    return {
        "submitter": {
            "nikawa_account": under.store.write(start_account_session, account.id, under.now)
        },
        "owner": {"nikawa_session": under.store.write(start_session, "own", under.now)},
    }


def test_no_route_changes_anything_without_a_right(programs: Programs) -> None:
    """Without a session, with a session but without its token, with that of somebody else, and from another site."""
    under = programs.under
    cookies = sessions(programs)
    tried = 0
    before = under.store.read(count_rows)
    for method, path in list_routes(programs):
        if method == "GET" or path in SESSIONS:
            continue
        for who, jar in {"visitor": {}, **cookies}.items():
            for headers in (
                {},
                {"origin": "https://evil.example"},
                {"origin": HERE, "X-CSRF-Token": "x"},
            ):
                programs.client.cookies.clear()
                for name, value in jar.items():
                    programs.client.cookies.set(name, value)
                data = {"X-CSRF-Token": "x", "name": "x", "password": PASSWORD}
                response = programs.client.request(
                    method, path, data=data, headers=headers, follow_redirects=False
                )
                assert response.status_code in (401, 403, 429), (who, method, path, headers)
                tried += 1
    assert tried > 100
    assert under.store.read(count_rows) == before


def count_rows(db: Any) -> dict[str, int]:
    """Rows by table, without the audit log, which notes refused log-ins."""
    names = [row[0] for row in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: db.required(f"SELECT COUNT(*) FROM {name}")[0] for name in names if name != "audit"
    }


def test_pages_of_owners_and_submitters_are_closed_to_others(programs: Programs) -> None:
    cookies = sessions(programs)
    allowed = {"/me": "submitter", "/submit": "submitter", "/owner": "owner"}
    for path, right in allowed.items():
        for who in ("submitter", "owner"):
            programs.client.cookies.clear()
            for name, value in cookies[who].items():
                programs.client.cookies.set(name, value)
            status = programs.client.get(path, follow_redirects=False).status_code
            assert status == (200 if who == right else 303), (path, who)


def test_every_response_is_sealed(programs: Programs) -> None:
    """No script, frame, form or request leads elsewhere; what is private is not cached."""
    cookies = sessions(programs)
    for jar in ({}, *cookies.values()):
        programs.client.cookies.clear()
        for name, value in jar.items():
            programs.client.cookies.set(name, value)
        for method, path in (*list_routes(programs), ("GET", "/nowhere"), ("GET", "/s/none")):
            if method != "GET":
                continue
            response = programs.client.get(
                path, headers={"accept": "text/html"}, follow_redirects=False
            )
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy or "default-src 'self'" in policy, path
            assert "unsafe-inline" not in policy
            assert "unsafe-eval" not in policy
            assert "frame-ancestors" in policy
            assert response.headers["x-content-type-options"] == "nosniff", path
            assert response.headers["referrer-policy"] in ("no-referrer", "same-origin"), path
            if path.startswith(("/me", "/owner", "/submit", "/api/v1/me")):
                assert "no-store" in response.headers.get("cache-control", ""), path
            assert "server" not in response.headers
            for word in ("<script>", "javascript:", " onclick=", " style="):
                assert word not in response.text, (path, word)


def test_hostile_texts_of_accounts_are_text_for_the_owner(programs: Programs) -> None:
    under = programs.under
    hostile = "<script>alert(1)</script>\u202e'\"&"
    new = NewAccount("Eve", hash_password(PASSWORD), "e@x.example", "en", hostile)
    account = under.store.write(sign_up, under.board.settings, new, under.now)
    under.store.write(
        create_system,
        account.id,
        {"name": "A&B <i>", "description": hostile},
        under.now,
        state="published",
    )
    token = programs.token("ann")
    programs.upload(token, under.answers(100), name="<img src=x onerror=alert(1)>.jsonl")
    cookies = sessions(programs)
    for jar in cookies.values():
        for name, value in jar.items():
            programs.client.cookies.set(name, value)
    for path in ("/owner", "/me", "/"):
        text = programs.client.get(path).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "A&B <i>" not in text
    refused = programs.upload(token, b"\x00", name="<img src=x onerror=alert(1)>")
    assert refused.headers["content-type"].startswith("application/json")


def test_an_account_that_waits_can_neither_send_files_nor_be_seen(programs: Programs) -> None:
    """What is not approved takes no disk, no time of the check, and has no public page."""
    under, token = programs.under, programs.token()
    account = under.account("ann")
    under.store.write(set_account_state, account.id, "waiting", "own", under.now)
    sent = programs.upload(token, under.answers(100))
    assert (sent.status_code, sent.json()["error"]) == (403, "not_active")
    made = programs.send("POST", "/api/v1/systems", token, json={"name": "A"})
    assert (made.status_code, made.json()["error"]) == (403, "not_active")
    assert not under.board.submissions.exists() or not list(under.board.submissions.iterdir())


def test_rates_are_limited(make_sqlite_board: MakeBoard) -> None:
    """Log-ins and unknown tokens by address, everything else by account; readers are not stopped."""
    programs = Programs(make_sqlite_board({"requests_per_second = 20": "requests_per_second = 1"}))
    statuses = []
    for _ in range(12):
        csrf = programs.csrf("/log-in")
        fields = {"X-CSRF-Token": csrf, "name": "ann", "password": "wrong"}
        statuses.append(programs.form("/log-in", **fields).status_code)
    assert statuses[:3] == [401] * 3
    assert 429 in statuses
    tokens = [programs.send("GET", "/api/v1/me", f"nikawa_{n}").status_code for n in range(150)]
    assert tokens[0] == 401
    assert 429 in tokens
    assert programs.client.get("/").status_code == 200
    token = programs.token("bob")
    known = [programs.send("GET", "/api/v1/me", token).status_code for _ in range(30)]
    assert known[:3] == [200] * 3
    assert 429 in known


def test_an_account_has_a_bounded_number_of_systems(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.board.submissions.MAX_SYSTEMS", 3)
    assert MAX_SYSTEMS == 1000
    for n in range(3):
        programs.under.system(name=f"S{n}")
    with pytest.raises(Refused, match="too_many_systems"):
        programs.under.system(name="S3")


def test_what_small_files_unpack_to_counts(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.board.submissions.MAX_UPLOAD_BYTES", 30_000)
    token = programs.token()
    for right, status in ((100, 200), (101, 429)):
        small = gzip.compress(programs.under.answers(right))
        assert len(small) < 5_000
        sent = programs.send("POST", "/api/v1/uploads?name=a.jsonl.gz", token, content=small)
        assert sent.status_code == status
    kept = list(programs.under.board.submissions.rglob("predictions.jsonl"))
    assert len(kept) == 1
    assert 15_000 < kept[0].stat().st_size < 30_000


def test_files_that_take_long_leave_threads_to_readers(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account's files are checked one after the other, and more than a few at once are refused; a reader waits for none of them."""
    release, running = threading.Event(), []

    def slow(*args: Any, **more: Any) -> Any:
        running.append(1)
        release.wait(120)
        raise Refused("bad_request", 400)

    monkeypatch.setattr(submitter_routes, "receive_file", slow)
    token = programs.token()

    async def attack() -> tuple[list[int], int, int]:
        import httpx

        transport = httpx.ASGITransport(app=programs.app)
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
            headers = {"Authorization": f"Bearer {token}"}
            sent = [
                asyncio.create_task(
                    client.post("/api/v1/uploads?name=a", content=b"x", headers=headers)
                )
                for _ in range(50)
            ]
            async with asyncio.timeout(
                60
            ):  # one is being checked, all that are too many are refused
                while not running or sum(one.done() for one in sent) < 30:
                    await asyncio.sleep(0.01)
                page = await client.get("/")
            at_once = len(running)
            release.set()
            return [(await one).status_code for one in sent], page.status_code, at_once

    statuses, page, at_once = asyncio.run(attack())
    assert page == 200
    assert at_once == 1
    assert statuses.count(429) == 30
    assert statuses.count(400) == 20


def test_the_time_of_a_log_in_does_not_tell_a_known_name(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wrong log-in computes the same number of hashes, whether the name is an account's, an owner's or no one's."""
    sessions(programs)
    real, counts = password_matches, list[str]()

    def counted(kept: str, password: str) -> bool:
        counts.append(kept.split("$")[1])
        return real(kept, password)

    monkeypatch.setattr(submitter_routes, "password_matches", counted)
    seen = {}
    for name in ("ann", "own", "no one"):
        counts.clear()
        csrf = programs.csrf("/log-in")
        fields = {"X-CSRF-Token": csrf, "name": name, "password": "wrong"}
        assert programs.form("/log-in", **fields).status_code == 401
        seen[name] = tuple(counts)
    assert len(set(seen.values())) == 1
    assert seen["no one"] == ("argon2id", "argon2id")


def test_an_anonymous_system_has_no_name_before_the_date(make_sqlite_board: MakeBoard) -> None:
    """Neither a visitor nor another account can read who it is; its own account and the owner can."""
    programs = Programs(make_sqlite_board())
    under, token = programs.under, programs.token("Yuna Kim")
    sent = programs.upload(token, under.answers(150)).json()["upload"]
    system = {"name": "Hidden Bear", "anonymous": True}
    body = {"new_system": system, "uploads": [sent], "key": "k"}
    taken = programs.send("POST", "/api/v1/submissions", token, json=body).json()
    other = under.submit(under.answers(90), account="bob")
    under.score()
    cookies = {name: sessions(programs, name) for name in ("Yuna Kim", "bob")}
    pair = f"/compare?a={taken['system']}&b={other.system}"
    pages = [
        "/",
        "/t/tides",
        f"/s/{taken['system']}",
        pair,
        "/embed/tides",
        "/board.json",
        "/board.csv",
    ]

    def names_in(jar: dict[str, str], path: str) -> list[str]:
        programs.client.cookies.clear()
        for name, value in jar.items():
            programs.client.cookies.set(name, value)
        response = programs.client.get(path)
        assert response.status_code == 200, path
        told = response.text + str(response.headers)
        return [name for name in ("Yuna Kim", "Hidden Bear") if name in told]

    for path in pages:
        assert names_in({}, path) == [], path
        assert names_in(cookies["bob"]["submitter"], path) == [], path
    assert names_in(cookies["bob"]["submitter"], "/me") == []
    assert "Hidden Bear" in names_in(cookies["Yuna Kim"]["submitter"], "/me")
    assert names_in(cookies["bob"]["owner"], "/owner") == ["Yuna Kim", "Hidden Bear"]


def test_the_audit_log_names_who_did_what(programs: Programs) -> None:
    under, token = programs.under, programs.token()
    sent = programs.upload(token, under.answers(120)).json()["upload"]
    body = {"new_system": {"name": "A"}, "uploads": [sent], "key": "k"}
    taken = programs.send("POST", "/api/v1/submissions", token, json=body).json()
    change = {"state": "withdrawn"}
    programs.send("PATCH", f"/api/v1/systems/{taken['system']}", token, json=change)
    programs.form(
        "/log-in", **{"X-CSRF-Token": programs.csrf("/log-in"), "name": "x", "password": "y"}
    )
    under.store.write(set_account_state, under.account("ann").id, "closed", "own", under.now)
    rows = under.store.read(audit_rows, 0, 1000)
    told = " ".join(str(row) for row in rows)
    for action in (
        "make token",
        "make system",
        "submit",
        "change system",
        "log in refused",
        "account closed",
    ):
        assert action in told, action
    assert token not in told
    assert PASSWORD not in told


def test_a_nul_is_no_fault_of_the_server(make_board: MakeBoard) -> None:
    """PostgreSQL keeps none in a text; wherever one is sent, the request is refused, and never answered with 500."""
    here = make_board()
    token = here.store.write(make_token, here.account("ann").id, "t", here.now)
    app = create_app(here.board, here.store, clock=lambda: here.now, checker=here.checker)
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        headers = {"authorization": f"Bearer {token}"}
        for path in ("/s/%00", "/t/a%00", "/api/v1/submissions/%00", "/embed/%00", "/invite/%00"):
            assert client.get(path, headers=headers).status_code == 404, path
        answer = client.patch("/api/v1/systems/%00", headers=headers, json={"name": "x"})
        assert answer.status_code == 404
        for field in ("name", "email", "note", "invitation", "password"):
            csrf = re.findall(r'name="X-CSRF-Token" value="([^"]+)"', client.get("/sign-up").text)
            form = {"name": "zed", "password": "a long password", "email": "", "note": ""}
            answer = client.post(
                "/sign-up",
                data={**form, field: f"{form.get(field, '')}\0@b.c", "X-CSRF-Token": csrf[0]},
            )
            assert answer.status_code == 400, field


def test_before_its_tick_a_right_answer_looks_like_a_wrong_one(
    make_sqlite_board: MakeBoard,
) -> None:
    """Answers, lengths and headers of every request are the same, whether the file is right or wrong, waits or was scored."""
    here = make_sqlite_board()
    app = create_app(
        here.board,
        here.store,
        clock=lambda: here.now,
        view_seconds=0,
        queue=here.queue,
        checker=here.checker,
    )
    heard: dict[str, list[tuple[int, str, list[tuple[str, str]]]]] = {}
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        for name, right in (("ann", 200), ("bob", 0)):
            token = here.store.write(make_token, here.account(name).id, "t", here.now)
            own = heard.setdefault(name, [])
            hidden: list[str] = [here.account(name).id, name]

            def ask(
                method: str,
                path: str,
                token: str = token,
                own: list[Any] = own,
                hidden: list[str] = hidden,
                **more: Any,
            ) -> Any:
                answer = client.request(
                    method, path, headers={"authorization": f"Bearer {token}"}, **more
                )
                body = re.sub(r'"bytes": \d+', "", json.dumps(answer.json()))
                hidden.extend(
                    value
                    for key, value in answer.json().items()
                    if key in ("upload", "submission", "system", "digest") and value not in hidden
                )
                for text in hidden:
                    body = body.replace(text, "?")
                own.append((answer.status_code, body, sorted(answer.headers.items())))
                return answer.json()

            sent = ask("POST", "/api/v1/uploads?name=a.jsonl", content=here.answers(right))
            new = {"name": "Model", "publish": False}
            made = ask(
                "POST",
                "/api/v1/submissions",
                json={"new_system": new, "uploads": [sent["upload"]], "key": "k"},
            )
            ask("GET", f"/api/v1/submissions/{made['submission']}")
            here.queue.run_once()
            ask("GET", f"/api/v1/submissions/{made['submission']}")
            ask("GET", "/api/v1/me")
            assert own[2] == own[3]
        assert heard["ann"] == heard["bob"]
        board = client.get("/board.json").content
        here.queue.run_once()
        assert client.get("/board.json").content == board
