"""What submitters and programs send, against the real application: what counts, what is refused, and who may do it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient
from tests.board.conftest import BoardUnderTest, HiddenData, MakeBoard
from tests.browser.conftest import Listening
from typer.testing import CliRunner

import nikawa as nk
from nikawa.board.accounts import make_token, set_account_state, start_account_session
from nikawa.board.app import create_app
from nikawa.board.client import SubmitOptions, submit
from nikawa.board.interface import OPERATIONS, openapi_document
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.serve.login import hash_password, set_person

PASSWORD = "a long password"
HERE = "http://testserver"


class Programs:
    """A board's application, and tokens of accounts."""

    def __init__(self, under: BoardUnderTest) -> None:
        self.under = under
        self.app = create_app(
            under.board,
            under.store,
            clock=lambda: under.now,
            queue=under.queue,
            checker=under.checker,
        )
        self.client = TestClient(self.app)

    def token(self, name: str = "ann") -> str:
        account = self.under.account(name)
        return self.under.store.write(make_token, account.id, "test", self.under.now)

    def send(self, method: str, path: str, token: str = "", **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.request(method, path, headers=headers, **more)

    def upload(self, token: str, data: bytes, **query: Any) -> Any:
        query = {"name": "a.jsonl", **query}
        return self.send("POST", "/api/v1/uploads", token, params=query, content=data)

    def form(self, path: str, **fields: str) -> Any:
        """Send a form of the page that the client has just seen."""
        return self.client.post(path, data=fields, headers={"origin": HERE}, follow_redirects=False)

    def csrf(self, path: str) -> str:
        found = re.search(r'name="X-CSRF-Token" value="([^"]+)"', self.client.get(path).text)
        assert found
        return found[1]

    def sign_up(self, name: str, **more: str) -> Any:
        fields = {"name": name, "email": "x@y.example", "password": PASSWORD, **more}
        return self.form("/sign-up", **{"X-CSRF-Token": self.csrf("/sign-up"), **fields})


@pytest.fixture
def programs(make_sqlite_board: MakeBoard) -> Programs:
    return Programs(make_sqlite_board())


def test_a_file_a_submission_and_its_result(programs: Programs) -> None:
    under, token = programs.under, programs.token()
    sent = programs.upload(token, under.answers(150))
    assert sent.status_code == 200
    assert (sent.json()["task"], sent.json()["split"], sent.json()["answers"]) == (
        "tides",
        "test",
        200,
    )
    body = {
        "new_system": {"name": "A", "links": [{"title": "Code", "address": "https://x.example"}]},
        "uploads": [sent.json()["upload"]],
        "key": "k1",
    }
    taken = programs.send("POST", "/api/v1/submissions", token, json=body).json()
    again = programs.send("POST", "/api/v1/submissions", token, json=body).json()
    assert (taken["duplicate"], again["duplicate"]) == (False, True)
    assert taken["submission"] == again["submission"]
    assert taken["remaining"] == again["remaining"] == [{"task": "tides", "today": 2, "in_all": 99}]
    path = f"/api/v1/submissions/{taken['submission']}"
    assert programs.send("GET", path, token).json()["state"] == "received"
    under.queue.run_once()
    before = programs.send("GET", path, token).json()
    assert (before["state"], before["scores"]) == ("received", [])  # its tick has not come
    under.score()
    after = programs.send("GET", path, token).json()
    assert after["state"] == "scored"
    assert (after["scores"][0]["metric"], after["scores"][0]["value"]) == ("accuracy", 76.0)
    assert programs.send("GET", path, programs.token("bob")).status_code == 404
    me = programs.send("GET", "/api/v1/me", token).json()
    assert [one["name"] for one in me["systems"]] == ["A"]
    assert me["systems"][0]["submissions"][0]["scores"]


def test_what_is_wrong_with_a_file_is_one_line_and_nothing_is_kept(programs: Programs) -> None:
    under, token = programs.under, programs.token()
    lines = under.answers(150).splitlines(keepends=True)
    refused = programs.upload(token, b"".join(lines[:10]))
    assert refused.status_code == 422
    assert refused.json()["message"].startswith("a.jsonl: 190 of 200 items have no answer")
    assert "\n" not in refused.json()["message"]
    assert programs.upload(token, b"").json()["error"] == "empty_file"
    assert programs.upload(token, b"x" * 21_000_000).status_code == 413
    assert programs.upload(token, lines[0], seed="-1").status_code == 400
    assert list(under.board.submissions.iterdir()) == []
    me = programs.send("GET", "/api/v1/me", token).json()
    assert me["remaining"] == [{"task": "tides", "today": 3, "in_all": 100}]


def test_answers_that_cannot_be_read_are_called_so_where_there_are_several_splits(
    make_sqlite_board: MakeBoard,
) -> None:
    programs = Programs(make_sqlite_board(final=("final",), closes="2027-03-31T23:59:59+09:00"))
    rows = map(json.loads, programs.under.answers(150, "final").splitlines())
    lines = [json.dumps({**row, "answer": "perhaps"}).encode() for row in rows]
    refused = programs.upload(programs.token(), b"\n".join(lines)).json()["message"]
    assert refused.startswith("a.jsonl: none of the answers can be read; the first is 'perhaps'")


def test_uploads_belong_to_their_account(programs: Programs) -> None:
    under, ann, bob = programs.under, programs.token("ann"), programs.token("bob")
    upload = programs.upload(ann, under.answers(150)).json()["upload"]
    body = {"new_system": {"name": "B"}, "uploads": [upload], "key": "k"}
    refused = programs.send("POST", "/api/v1/submissions", bob, json=body)
    assert (refused.status_code, refused.json()["error"]) == (404, "unknown_upload")
    assert programs.send("GET", "/api/v1/me", bob).json()["systems"] == []  # no half a submission
    system = programs.send("POST", "/api/v1/systems", ann, json={"name": "A"}).json()["system"]
    for method, path, sent in (
        ("PATCH", f"/api/v1/systems/{system}", {"name": "mine now"}),
        ("POST", "/api/v1/submissions", {**body, "system": system, "new_system": None}),
    ):
        assert programs.send(method, path, bob, json=sent).status_code == 404


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/submissions/x"])
@pytest.mark.parametrize("token", ["", "nikawa_wrong"])
def test_without_a_token_nothing_is_said(programs: Programs, path: str, token: str) -> None:
    refused = programs.send("GET", path, token)
    assert refused.status_code == 401
    assert set(refused.json()) == {"error", "message"}


def test_a_closed_account_and_a_revoked_token(programs: Programs) -> None:
    token, account = programs.token(), programs.under.account("ann")
    programs.under.store.write(set_account_state, account.id, "closed", "owner", 1.0)
    assert programs.send("GET", "/api/v1/me", token).status_code == 401


def test_a_system_changes_hands_out_only_what_it_should(programs: Programs) -> None:
    token = programs.token()
    made = programs.send("POST", "/api/v1/systems", token, json={"name": "A", "publish": False})
    path = f"/api/v1/systems/{made.json()['system']}"
    change = {"name": "B", "licence": "MIT", "state": "published"}
    changed = programs.send("PATCH", path, token, json=change).json()
    assert (changed["name"], changed["licence"], changed["state"]) == ("B", "MIT", "published")
    bad = programs.send("PATCH", path, token, json={"links": [{"address": "javascript:1"}]})
    assert bad.status_code == 422
    assert bad.json()["message"].startswith("A link is wrong. Write one per line")
    long = programs.send("PATCH", path, token, json={"name": "n" * 500})
    assert (long.status_code, "(name: expected str of length" in long.json()["message"]) == (
        422,
        True,
    )
    assert programs.send("PATCH", path, token, json={"unknown": 1}).status_code == 422
    assert programs.send("PATCH", path, token, json={"state": "withdrawn"}).status_code == 200
    again = programs.send("PATCH", path, token, json={"name": "C"})
    assert (again.status_code, again.json()["error"]) == (409, "withdrawn")


def test_the_final_split_is_chosen_before_the_close(make_sqlite_board: MakeBoard) -> None:
    programs = Programs(make_sqlite_board(final=("final",), closes="2027-03-31T23:59:59+09:00"))
    under, token = programs.under, programs.token()
    uploads = [
        programs.upload(token, under.answers(n, split)).json()["upload"]
        for n, split in ((150, "test"), (90, "final"))
    ]
    body = {"new_system": {"name": "A"}, "uploads": uploads, "key": "k"}
    taken = programs.send("POST", "/api/v1/submissions", token, json=body).json()
    choice = {"task": "tides", "submission": taken["submission"]}
    chosen = programs.send("POST", "/api/v1/finals", token, json=choice)
    assert chosen.json()["finals"] == {"tides": taken["submission"]}
    assert (
        programs.send("POST", "/api/v1/finals", token, json={**choice, "task": "x"}).status_code
        == 404
    )
    under.now += 400 * 86_400
    late = programs.send("POST", "/api/v1/finals", token, json=choice)
    assert (late.status_code, late.json()["error"]) == (409, "closed")
    assert programs.client.get("/api/v1/board").json()["state"] == "closed"


def test_a_withdrawn_choice_is_none(make_sqlite_board: MakeBoard) -> None:
    """The best one that is shown is scored then, as without a choice; nothing after that was scored."""
    programs = Programs(make_sqlite_board(final=("final",), closes="2027-03-31T23:59:59+09:00"))
    under, token = programs.under, programs.token()
    taken = []
    for name, right in (("A", 150), ("B", 190)):
        uploads = [
            programs.upload(token, under.answers(n, split)).json()["upload"]
            for n, split in ((right, "test"), (right // 2, "final"))
        ]
        body = {"new_system": {"name": name}, "uploads": uploads, "key": name}
        taken.append(programs.send("POST", "/api/v1/submissions", token, json=body).json())
        under.score()
    first, second = taken
    choice = {"task": "tides", "submission": first["submission"]}
    assert programs.send("POST", "/api/v1/finals", token, json=choice).status_code == 200
    gone = {"state": "withdrawn"}
    programs.send("PATCH", f"/api/v1/systems/{first['system']}", token, json=gone)
    assert programs.send("GET", "/api/v1/me", token).json()["finals"] == {}
    again = programs.send("POST", "/api/v1/finals", token, json=choice)
    assert (again.status_code, again.json()["error"]) == (409, "withdrawn")

    def list_scored() -> list[str]:
        sql = "SELECT DISTINCT submission FROM true_scores WHERE split = 'final'"
        return [row[0] for row in under.store.read(lambda db: db.rows(sql))]

    under.now += 400 * 86_400
    under.queue.tick()
    assert list_scored() == [second["submission"]]
    programs.send("PATCH", f"/api/v1/systems/{second['system']}", token, json=gone)
    under.now += 1000
    under.queue.tick()
    assert list_scored() == [second["submission"]]


def test_the_final_split_comes_first_once_it_has_results(make_sqlite_board: MakeBoard) -> None:
    changes = {"slices = []": 'slices = ["meta.source"]', "min_items = 50": "min_items = 20"}
    under = make_sqlite_board(changes, final=("final",), closes="2027-03-31T23:59:59+09:00")
    programs = Programs(under)
    under.submit(under.answers(150), under.answers(90, "final"))
    under.score()
    before = programs.client.get("/board.json").json()["tasks"][0]
    assert [split["name"] for split in before["splits"]] == ["test", "final"]
    assert "open until 2027-03-31 23:59 UTC+9" in programs.client.get("/").text
    under.now += 400 * 86_400
    under.queue.tick()
    under.score()
    programs = Programs(under)  # without the page that it has made already
    task = programs.client.get("/board.json").json()["tasks"][0]
    assert [split["name"] for split in task["splits"]] == ["final", "test"]
    assert "120 items" in programs.client.get("/").text.split("<section")[0]
    heads = {
        split: set(
            re.findall(
                r"(\d+) items</span>", programs.client.get(f"/t/tides?by=source&split={split}").text
            )
        )
        for split in ("test", "final")
    }
    assert heads == {"test": {"133", "67"}, "final": {"80", "40"}}


# Pages


def test_my_systems_says_what_is_left_out_of_the_final_test(make_sqlite_board: MakeBoard) -> None:
    under = make_sqlite_board(final=("final",), closes="2027-03-31T23:59:59+09:00")
    programs = Programs(under)
    for number, right in enumerate((150, 180)):
        under.submit(under.answers(right, "test"), under.answers(90 + number, "final"))
        under.score()

    def count_words(words: str) -> int:
        account = under.account("ann").id
        cookie = under.store.write(start_account_session, account, under.now)
        programs.client.cookies.set("nikawa_account", cookie)
        return programs.client.get("/me").text.count(words)

    assert count_words("shown after the closing date") == 2
    under.now += 400 * 86_400
    assert count_words("shown after the closing date") == 2  # its tick has not come
    under.queue.tick()
    under.score()
    assert count_words("not scored on the final test") == 1
    assert count_words("shown after the closing date") == 0


def test_sign_up_says_what_is_wrong_and_keeps_what_was_typed(programs: Programs) -> None:
    short = programs.sign_up("Ann", password="short")
    assert short.status_code == 422
    assert "at least 10 characters" in short.text
    assert 'value="Ann"' in short.text
    assert programs.sign_up("Ann").status_code == 303
    assert programs.client.get("/me").status_code == 200
    taken = programs.sign_up("ａｎｎ")
    assert (taken.status_code, "This name is taken" in taken.text) == (409, True)
    assert programs.sign_up("B\u200bb").status_code == 422
    assert programs.sign_up("B", email="nowhere").status_code == 422


@pytest.mark.parametrize("path", ["/sign-up", "/log-in"])
def test_forms_without_their_token_are_refused(programs: Programs, path: str) -> None:
    programs.csrf(path)
    assert programs.form(path, name="Ann", password=PASSWORD).status_code == 403
    crossed = programs.client.post(
        path, data={"name": "Ann"}, headers={"origin": "https://evil.example"}
    )
    assert crossed.status_code == 403


def test_a_session_cannot_be_used_from_another_site(programs: Programs) -> None:
    programs.sign_up("Ann")
    csrf = programs.csrf("/me")
    for fields in ({}, {"X-CSRF-Token": "x"}):
        assert programs.form("/me/tokens", label="l", **fields).status_code == 403
    with_cookie = programs.client.post("/api/v1/systems", json={"name": "A"})
    assert with_cookie.status_code == 403
    headers = {"X-CSRF-Token": csrf, "origin": HERE}
    made = programs.client.post("/api/v1/systems", json={"name": "A"}, headers=headers)
    assert made.status_code == 200


def test_a_form_of_an_ended_session_gets_a_page(programs: Programs) -> None:
    headers = {"accept": "text/html,*/*", "origin": HERE}
    refused = programs.client.post("/me/tokens", data={"label": "x"}, headers=headers)
    assert refused.status_code == 401
    assert refused.headers["content-type"].startswith("text/html")
    assert programs.client.post("/me/tokens").json()["error"] == "not_allowed"


def test_log_in_goes_to_the_right_place_and_nowhere_else(programs: Programs) -> None:
    kept = hash_password(PASSWORD)
    programs.under.store.write(set_person, "own", "owner", kept, 1.0)
    programs.sign_up("Ann")
    programs.client.cookies.clear()

    def log_in(name: str, to: str = "", password: str = PASSWORD) -> Any:
        csrf = programs.csrf("/log-in")
        fields = {"X-CSRF-Token": csrf, "name": name, "password": password, "next": to}
        return programs.form("/log-in", **fields)

    assert log_in("Ann", password="wrong password").status_code == 401
    assert log_in("ANN ", "/submit").headers["location"] == "/submit"
    assert log_in("Ann", "https://evil.example").headers["location"] == "/me"
    assert log_in("own").headers["location"] == "/owner"
    assert programs.client.get("/owner").status_code == 200
    programs.client.cookies.clear()
    assert log_in("Ann").status_code == 303
    assert programs.client.get("/owner", follow_redirects=False).status_code == 303


def test_a_reviewer_changes_nothing(programs: Programs) -> None:
    kept = hash_password(PASSWORD)
    programs.under.store.write(set_person, "mio", "reviewer", kept, 1.0)
    account = programs.under.account("ann")
    csrf = programs.csrf("/log-in")
    programs.form("/log-in", **{"X-CSRF-Token": csrf, "name": "mio", "password": PASSWORD})
    token = programs.csrf("/owner")
    for path in (
        f"/owner/accounts/{account.id}/close",
        "/owner/flags/x/near/resolve",
        "/owner/invitations",
    ):
        refused = programs.form(path, **{"X-CSRF-Token": token, "notes": "x", "days": "1"})
        assert refused.status_code == 403, path
    assert "ann" in programs.client.get("/owner").text


def test_an_invitation_works_once(make_sqlite_board: MakeBoard) -> None:
    programs = Programs(make_sqlite_board({'who = "open"': 'who = "invited"'}))
    kept = hash_password(PASSWORD)
    programs.under.store.write(set_person, "own", "owner", kept, 1.0)
    assert programs.sign_up("Ann").status_code == 403
    csrf = programs.csrf("/log-in")
    programs.form("/log-in", **{"X-CSRF-Token": csrf, "name": "own", "password": PASSWORD})
    made = programs.form(
        "/owner/invitations",
        **{"X-CSRF-Token": programs.csrf("/owner"), "notes": "Ann", "days": "7"},
    )
    found = re.search(r"/sign-up\?invitation=([\w-]+)", made.text)
    assert found
    with_link = programs.client.get(f"/sign-up?invitation={found[1]}").text
    assert "Your invitation lets you submit at once." in with_link
    assert programs.sign_up("Ann", invitation=found[1]).status_code == 303
    assert programs.sign_up("Bob", invitation=found[1]).status_code == 403


# The client, over a real connection


@pytest.fixture
def listening(programs: Programs) -> Iterator[Listening]:
    served = Listening(programs.app)
    yield served
    served.close()


def test_the_client_sends_a_run_once(
    programs: Programs, listening: Listening, hidden_data: HiddenData, tmp_path: Path
) -> None:
    under, token = programs.under, programs.token()
    runs = nk.run(["char-linear"], tasks=[str(hidden_data.folder)], seeds=2, out=tmp_path / "runs")
    options = SubmitOptions(parameters="2k")
    report = submit(listening.address, [tmp_path / "runs"], token=token, options=options)
    assert (report.files, report.is_duplicate) == (2, False)
    again = nk.submit(listening.address, runs, token=token, options=options)
    assert (again.submission, again.is_duplicate) == (report.submission, True)
    assert again.remaining[0].today == 2
    under.queue.run_once()
    under.score()
    state = programs.send("GET", f"/api/v1/submissions/{report.submission}", token).json()
    assert state["name"] == "char-linear"
    assert state["state"] == "scored"
    stored = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert token.encode() not in stored


def test_the_client_reports_what_the_board_refuses(
    programs: Programs, listening: Listening, tmp_path: Path
) -> None:
    under, token = programs.under, programs.token()
    file = tmp_path / "answers.jsonl"

    def send(right: int, **more: Any) -> Any:
        file.write_bytes(under.answers(right))
        options = SubmitOptions(name=f"System {right}")
        return submit(listening.address, [file], token=more.get("token", token), options=options)

    with pytest.raises(BadInput, match=r"refuses the token; make a token at http.*/me"):
        send(100, token="nikawa_wrong")
    for right in (100, 110, 120):
        send(right)
    with pytest.raises(BadInput, match="You have no submission left today"):
        send(130)
    file.write_bytes(under.answers(10)[:-5])
    with pytest.raises(BadInput) as problem:
        submit(listening.address, [file], token=token, options=SubmitOptions(name="x"))
    assert str(problem.value).startswith(f"{file}, line 200: ")


def test_the_client_says_what_is_missing_or_private(
    make_sqlite_board: MakeBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = Programs(make_sqlite_board(final=("final",), closes="2027-03-31T23:59:59+09:00"))
    under = programs.under
    monkeypatch.setenv("NIKAWA_BOARD_TOKEN", programs.token())
    served = Listening(programs.app)
    try:
        for name, files, options in (
            ("test", ["test"], ["--private"]),
            ("both", ["test", "final"], []),
        ):
            for split in files:
                (tmp_path / f"{split}.jsonl").write_bytes(under.answers(80 + len(files), split))
            paths = [str(tmp_path / f"{split}.jsonl") for split in files]
            words = ["board", "submit", served.address, *paths, "--name", name, *options]
            done = CliRunner().invoke(build(), words)
            assert done.exit_code == 0, done.output
            is_private = name == "test"
            assert ("no answers to tides:final" in done.stderr) is is_private
            assert (f"{served.address}/s/" in done.stdout) is not is_private
    finally:
        served.close()


# The document


def test_the_document_describes_every_route_of_programs(programs: Programs) -> None:
    document = programs.client.get("/api/v1/openapi.json").json()
    made = openapi_document("Tides", document["info"]["version"])
    assert document == msgspec.json.decode(msgspec.json.encode(made))
    assert document["openapi"] == "3.1.0"
    routes = {
        (method.lower(), route.path)
        for route in _list_routes(programs)
        for method in route.methods - {"HEAD"}
        if route.path.startswith("/api/v1/") and not route.path.endswith(".json")
    }
    described = {(one.method, one.path) for one in OPERATIONS if one.path.startswith("/api/")}
    assert routes == described
    page = programs.client.get("/api").text
    for one in OPERATIONS:
        assert one.path in page
    assert 'src="http' not in page


def _list_routes(programs: Programs) -> Any:
    from nikawa.board.routes_submitter import SubmitterRoutes
    from nikawa.board.site import Site

    return SubmitterRoutes(Site(programs.under.board, programs.under.store)).routes()
