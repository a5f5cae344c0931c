"""Submitters and owners in a real browser: an account, a file that is wrong, a submission, its result, and what the owner sees of it.

The tests of this file share one board and follow each other, as people do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.board.conftest import BoardMaker, BoardUnderTest, HiddenData
from tests.browser.conftest import Listening

from nikawa.board.app import create_app
from nikawa.board.flags import FlagFinder
from nikawa.serve.login import SESSION_COOKIE, hash_password, set_person, start_session

pytestmark = pytest.mark.slow
SHOTS = os.environ.get("NIKAWA_SCREENSHOTS")
"""A folder for pictures of the pages, to look at."""
PASSWORD = "とても長い合言葉です"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


class Served:
    """A board on a port."""

    def __init__(self, under: BoardUnderTest, browser: Any) -> None:
        self.under, self.browser = under, browser
        self.faults: list[str] = []
        under.queue.find_flags = FlagFinder()
        self.listening = Listening(
            create_app(
                under.board,
                under.store,
                clock=lambda: under.now,
                view_seconds=0.0,
                queue=under.queue,
                checker=under.checker,
            )
        )
        self.address = self.listening.address

    def open(self, path: str, language: str = "en", **how: Any) -> Any:
        """A page in a browser of its own."""
        how = {"viewport": {"width": 1100, "height": 900}, "locale": language, **how}
        context = self.browser.new_context(**how)
        self.listening.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on("console", self._hear)
        page.on("request", self._watch)
        page.goto(self.address + path)
        return page

    def _hear(self, said: Any) -> None:
        if said.type == "error" and "422" not in said.text:  # a file that is refused is no fault
            self.faults.append(said.text)

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:")):
            self.faults.append(f"asked for {request.url}")

    def log_in(self, page: Any, name: str) -> None:
        page.goto(f"{self.address}/log-in")
        page.fill("#name", name)
        page.fill("#password", PASSWORD)
        page.click("main form button")
        page.wait_for_load_state()

    def enter_as_owner(self, page: Any) -> None:
        """Log in without the form, which takes its time."""
        value = self.under.store.write(start_session, "owner", self.under.now)
        cookie = {"name": SESSION_COOKIE, "value": value, "url": self.address}
        page.context.add_cookies([cookie])

    def shot(self, page: Any, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture(scope="module")
def served(
    hidden_data: HiddenData, chromium: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    with BoardMaker(hidden_data, tmp_path_factory.mktemp("served"), "") as make:
        under = make(
            {'who = "open"': 'who = "approved"', "per_day = 3": "per_day = 4"},
            public=("test",),
            final=("final",),
            closes="2027-03-31T23:59:59+09:00",
        )
        kept = hash_password(PASSWORD)
        for name, role in (("owner", "owner"), ("mio", "reviewer")):
            under.store.write(set_person, name, role, kept, under.now)
        made = Served(under, chromium)
        yield made
        made.listening.close()


@pytest.fixture(scope="module")
def ann(served: Served) -> Any:
    """The browser of a submitter, who signs up first."""
    page = served.open("/submit")
    assert page.url.endswith("/log-in?next=/submit")
    page.click("text=Sign up")
    served.shot(page, "sign-up")
    page.fill("#name", f"Ann {HOSTILE}")
    page.fill("#email", "ann@lab.example")
    page.fill("#password", PASSWORD)
    page.fill("#note", "We want to submit our new model.")
    page.click("main form button.main")
    page.wait_for_url("**/me")
    return page


def add_files(page: Any, *files: tuple[str, bytes]) -> None:
    page.set_input_files(
        "#pick",
        [{"name": name, "mimeType": "text/plain", "buffer": data} for name, data in files],
    )
    page.wait_for_function("() => !document.querySelector('tr.waiting, tr.checking')")


def drop_file(page: Any, name: str, text: str) -> None:
    """Drag a file onto the page."""
    page.evaluate(
        """([name, text]) => {
          const data = new DataTransfer();
          data.items.add(new File([text], name));
          const dropped = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
          document.getElementById("drop").dispatchEvent(dropped);
        }""",
        [name, text],
    )
    page.wait_for_selector(f"#files tr.fine:has-text('{name}')")


def test_an_account_waits_for_approval(served: Served, ann: Any) -> None:
    assert "waits for approval" in ann.inner_text(".notice")
    served.shot(ann, "me-waiting")
    owner = served.open("/owner")
    served.log_in(owner, "owner")
    owner.wait_for_url("**/owner")
    row = owner.locator("#approvals tbody tr")
    assert HOSTILE in row.inner_text()
    assert "We want to submit" in row.inner_text()
    served.shot(owner, "owner-approvals")
    row.get_by_role("button", name="Approve").click()
    owner.wait_for_load_state()
    assert owner.locator("#approvals").count() == 0
    ann.reload()
    assert ann.locator(".notice").count() == 0
    assert served.faults == []


def test_a_wrong_file_is_said_at_once_and_counts_nothing(served: Served, ann: Any) -> None:
    ann.goto(f"{served.address}/submit")
    good = served.under.answers(120)
    lines = good.splitlines()
    other = b"contradiction" if b"neutral" in lines[0] else b"neutral"
    twice = b"\n".join([*lines, re.sub(rb'answer":"[a-z]+', b'answer":"' + other, lines[0])])
    short = b"\n".join(lines[:50])
    add_files(ann, ("twice.jsonl", twice), ("short.jsonl", short), ("notes.txt", b"hello"))
    told = ann.locator("#files .result").all_inner_texts()
    assert "twice.jsonl, line 201" in told[0]
    assert "150 of 200 items have no answer" in told[1]
    assert len(told) == 3
    assert ann.locator("#files tr.wrong").count() == 3
    assert ann.is_disabled("#send")
    assert "Remove the files with errors" in ann.inner_text("#summary")
    served.shot(ann, "submit-wrong")
    for button in ann.locator("#files .remove").all()[::-1]:
        button.click()
    assert ann.locator("#files tr").count() == 0
    ann.goto(f"{served.address}/me")
    assert "4 of 4 left" in ann.inner_text("#left")
    assert served.faults == []


def test_seeds_become_one_submission_with_a_result(served: Served, ann: Any) -> None:
    ann.goto(f"{served.address}/submit")
    seeds = [(f"seed{n}.jsonl", served.under.answers(118 + n, seed=n)) for n in range(3)]
    add_files(ann, *seeds)
    drop_file(ann, "final.jsonl", served.under.answers(70, "final").decode())
    assert ann.locator("#files tr.fine").count() == 4
    assert "with 3 seeds" in ann.inner_text("#summary")
    ann.fill("#name", "Model A")
    ann.fill("#description", "A **small** model. <script>alert(3)</script>")
    ann.fill("#links", "Paper https://example.org/paper\nhttps://example.org/code")
    ann.fill("#parameters", "110M")
    served.shot(ann, "submit-ready")
    ann.click("#send")
    ann.wait_for_url("**/me?submitted=*")
    assert "was received" in ann.inner_text("p.fine")
    assert "waiting to be scored" in ann.inner_text(".submissions")
    assert "3 of 4 left" in ann.inner_text("#left")
    served.under.queue.run_once()  # scored, but its tick has not come
    ann.reload()
    assert "waiting to be scored" in ann.inner_text(".submissions")
    served.under.score()
    ann.goto(f"{served.address}/me")
    assert re.search(r"accuracy: \d\d", ann.inner_text(".submissions"))
    served.shot(ann, "me-scored")
    visitor = served.open("/")
    assert "Model A" in visitor.inner_text("main")
    assert served.faults == []


def test_a_system_is_edited_hidden_published_and_withdrawn(served: Served, ann: Any) -> None:
    visitor = served.open("/")

    def wait_until(is_listed: bool) -> None:
        """What visitors see is updated at most so often."""
        for _ in range(50):
            visitor.goto(served.address)
            if ("Model B" in visitor.inner_text("main")) == is_listed:
                return
            visitor.wait_for_timeout(100)
        raise AssertionError(f"listed: {not is_listed}")

    ann.goto(f"{served.address}/me")
    ann.click(".system .edit summary")
    field = ann.locator(".system .edit input[name=name]")
    field.fill("Model B")
    served.shot(ann, "me-edit")
    ann.click(".system .edit button.main")
    ann.wait_for_url("**/me?done=saved*")
    wait_until(is_listed=True)
    ann.click("text=Take off the leaderboard")
    ann.wait_for_load_state()
    wait_until(is_listed=False)
    ann.get_by_role("button", name="Publish", exact=True).click()
    ann.wait_for_load_state()
    wait_until(is_listed=True)
    ann.select_option("#final-1", index=1)
    ann.click("#final button")
    ann.wait_for_load_state()
    assert ann.eval_on_selector("#final-1", "select => select.value") != ""
    assert served.faults == []


def test_a_token_is_shown_once(served: Served, ann: Any) -> None:
    ann.goto(f"{served.address}/me")
    ann.fill("#label", "cluster")
    ann.click("#tokens form.inline button")
    token = ann.inner_text(".token")
    assert token.startswith("nikawa_")
    served.shot(ann, "me-token")
    ann.goto(f"{served.address}/me")
    assert token not in ann.content()
    assert "cluster" in ann.inner_text("#tokens")
    ann.click("#tokens td button")
    ann.wait_for_load_state()
    assert "There are no tokens" in ann.inner_text("#tokens")
    assert served.faults == []


@pytest.mark.parametrize(
    ("language", "scheme", "width"),
    [("en", "light", 1100), ("ja", "dark", 1100), ("ko", "light", 390), ("ja", "light", 390)],
    ids=str,
)
def test_pages_fit_in_every_language(
    served: Served, ann: Any, language: str, scheme: str, width: int
) -> None:
    page = served.open(
        "/sign-up", language, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    for path in ("/sign-up", "/log-in", "/submit", "/me", "/api", "/owner"):
        if path == "/submit":
            page.context.add_cookies(ann.context.cookies())
        if path == "/owner":
            served.enter_as_owner(page)
        page.goto(served.address + path)
        assert page.url == served.address + path
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), path
        assert page.evaluate("() => document.documentElement.lang") == language
        served.shot(page, f"{path.strip('/')}-{language}-{scheme}-{width}")
    assert served.faults == []


def test_the_owner_sees_flags_and_invites_and_a_reviewer_only_looks(
    served: Served, ann: Any
) -> None:
    ann.goto(f"{served.address}/submit")
    line = b'{"id": "%s", "answer": "neutral"}\n'
    add_files(ann, ("one.jsonl", b"".join(line % id.encode() for id in served.under.gold["test"])))
    ann.check("input[name=system] >> nth=1")
    ann.click("#send")
    ann.wait_for_url("**/me?submitted=*")
    served.under.score()
    owner = served.open("/about")
    served.enter_as_owner(owner)
    owner.goto(f"{served.address}/owner")
    assert "One label" in owner.inner_text("#flags")
    assert "share of that label" in owner.inner_text("#flags")
    assert re.search(r"\d bits", owner.inner_text("#leak"))
    assert "Ann" in owner.inner_text("#leak")
    owner.fill("#notes", "Team Blue\nTeam Red")
    owner.click("#invitations button.main")
    owner.wait_for_load_state()
    links = owner.locator("#invitations .token").all_inner_texts()
    assert len(links) == 2
    owner.click("#settings summary")
    owner.click("#audit summary")
    served.shot(owner, "owner")
    assert "submissions.per_day" in owner.inner_text("#settings")
    assert "sign up" in owner.inner_text("#audit")
    mio = served.open("/owner")
    served.log_in(mio, "mio")
    assert "Only an owner can change" in mio.inner_text(".notice")
    assert mio.locator("main button:visible").all_inner_texts() == ["Log out"]
    assert mio.locator("#audit").count() == 0
    owner.click("#flags tbody button")
    owner.wait_for_load_state()
    assert "No open flags" in owner.inner_text("#flags")
    guest = served.open(links[0].replace(links[0].partition("/sign-up")[0], ""))
    guest.fill("#name", "Blue")
    guest.fill("#email", "blue@lab.example")
    guest.fill("#password", PASSWORD)
    guest.click("main form button.main")
    guest.wait_for_url("**/me")
    assert guest.locator(".notice").count() == 0  # an invitation needs no approval
    assert served.faults == []


def test_withdrawing_asks_first_and_password_change_logs_others_out(
    served: Served, ann: Any
) -> None:
    other = served.open("/about")
    other.context.add_cookies(ann.context.cookies())
    ann.goto(f"{served.address}/me")
    ann.click("#account summary")
    ann.fill("#old", PASSWORD)
    ann.fill("#new", PASSWORD + "2")
    ann.click("#account button.main")
    ann.wait_for_url("**/me?done=password_changed")
    other.goto(f"{served.address}/me")
    assert "/log-in" in other.url
    ann.click(".system .withdraw summary")
    served.shot(ann, "me-withdraw")
    ann.click(".system .withdraw button")
    ann.wait_for_load_state()
    assert "withdrawn" in ann.inner_text(".system")
    ann.click("text=Log out")
    ann.wait_for_load_state()
    ann.goto(f"{served.address}/me")
    assert "/log-in" in ann.url
    assert served.faults == []
