"""Submitters and owners in a real browser: an account, a file that is wrong, a submission, its result, and what the owner sees of it.

The tests of this file share one board; each has accounts of its own.
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

from nikawa.board.accounts import ACCOUNT_COOKIE, start_account_session
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
        page.set_default_timeout(60_000)
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

    def enter(self, name: str, path: str = "/me", page: Any = None, **how: Any) -> Any:
        """A page as an account sees it that is logged in; the account is made when it is first needed."""
        page = page or self.open("/about", **how)
        id = self.under.account(name).id
        value = self.under.store.write(start_account_session, id, self.under.now)
        self._add_cookie(page, ACCOUNT_COOKIE, value)
        page.goto(self.address + path)
        return page

    def enter_as_owner(self, name: str = "owner", page: Any = None) -> Any:
        """The dashboard as somebody sees it who is logged in."""
        page = page or self.open("/about")
        value = self.under.store.write(start_session, name, self.under.now)
        self._add_cookie(page, SESSION_COOKIE, value)
        page.goto(f"{self.address}/owner")
        return page

    def _add_cookie(self, page: Any, name: str, value: str) -> None:
        page.context.add_cookies([{"name": name, "value": value, "url": self.address}])

    def submit(self, name: str, right: int, system: str = "Model A") -> None:
        """A submission of an account, with its result."""
        made = self.under.system(name, system)
        files = [self.under.answers(right, seed=right), self.under.answers(70, "final", right)]
        self.under.submit(*files, system=made, account=name)
        self.under.score()

    def shot(self, page: Any, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture(scope="module")
def shared_board(
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


@pytest.fixture
def served(shared_board: Served) -> Iterator[Served]:
    """The board; the browser must have complained about nothing in the end."""
    yield shared_board
    assert shared_board.faults == []


def follow(target: Any) -> None:
    """Click something that leads to another page, and wait for it."""
    with target.page.expect_navigation():
        target.click()


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


def drop_run(page: Any, name: str, files: dict[str, str]) -> None:
    """Drag a run folder onto the page: a browser gives scripts no way to make one, so its entries are played."""
    page.evaluate(
        """([name, files]) => {
          const file = (name, text) => ({ isFile: true, isDirectory: false, name, file: (done) => done(new File([text], name)) });
          const folder = (name, inside) => ({ isFile: false, isDirectory: true, name, createReader: () => {
            let left = inside;
            return { readEntries: (done) => { done(left); left = []; } };
          } });
          const answers = Object.entries(files).map(([name, text]) => file(name, text));
          const run = folder(name, [file("run.json", "{}"), file("scores.json", "[]"), folder("predictions", answers)]);
          const event = new Event("drop", { bubbles: true, cancelable: true });
          Object.defineProperty(event, "dataTransfer", { value: { items: [{ webkitGetAsEntry: () => run }], files: [] } });
          document.getElementById("drop").dispatchEvent(event);
        }""",
        [name, files],
    )
    page.wait_for_selector(f"#files tr:has-text('{name}')")
    page.wait_for_function("() => !document.querySelector('tr.waiting, tr.checking')")


def test_an_account_waits_for_approval(served: Served) -> None:
    ann = served.open("/submit")
    assert ann.url.endswith("/log-in?next=/submit")
    ann.click("text=Sign up")
    ann.fill("#name", f"Ann {HOSTILE}")
    ann.fill("#email", "ann@lab.example")
    ann.fill("#password", PASSWORD)
    ann.fill("#note", "We want to submit our new model.")
    served.shot(ann, "sign-up")
    ann.click("main form button.main")
    ann.wait_for_url("**/me")
    assert "waits for approval" in ann.inner_text(".notice")
    served.shot(ann, "me-waiting")
    ann.goto(f"{served.address}/submit")
    assert ann.locator("#submission").count() == 0
    owner = served.open("/owner")
    assert owner.url.endswith("/log-in")
    owner.fill("#name", "owner")
    owner.fill("#password", PASSWORD)
    owner.click("main form button")
    owner.wait_for_url("**/owner")
    row = owner.locator("#approvals tbody tr", has_text="ann@lab.example")
    assert HOSTILE in row.inner_text()
    assert "We want to submit" in row.inner_text()
    served.shot(owner, "owner-approvals")
    follow(row.get_by_role("button", name="Approve"))
    assert owner.locator("#approvals").count() == 0
    ann.reload()
    assert ann.locator("#submission").count() == 1


def test_a_wrong_file_is_said_at_once_and_counts_nothing(served: Served) -> None:
    page = served.enter("Bea", "/submit")
    lines = served.under.answers(121, seed=9).splitlines()
    other = b"contradiction" if b"neutral" in lines[0] else b"neutral"
    twice = b"\n".join([*lines, re.sub(rb'answer":"[a-z]+', b'answer":"' + other, lines[0])])
    short = b"\n".join(lines[:50])
    add_files(page, ("twice.jsonl", twice), ("short.jsonl", short), ("notes.txt", b"hello"))
    shown = page.locator("#files .result").all_inner_texts()
    assert "twice.jsonl, line 201" in shown[0]
    assert "150 of 200 items have no answer" in shown[1]
    assert len(shown) == 3
    assert page.locator("#files tr.wrong").count() == 3
    assert page.is_disabled("#send")
    assert "Remove the files with errors" in page.inner_text("#summary")
    served.shot(page, "submit-wrong")
    for button in page.locator("#files .remove").all()[::-1]:
        button.click()
    assert page.locator("#files tr").count() == 0
    page.goto(f"{served.address}/me")
    assert "4 of 4 left" in page.inner_text("#left")


def test_seeds_become_one_submission_with_a_result(served: Served) -> None:
    page = served.enter("Cho", "/submit")
    seeds = [(f"seed{n}.jsonl", served.under.answers(118 + n, seed=n)) for n in range(3)]
    add_files(page, *seeds)
    assert "no answers to the final test (tides:final)" in page.inner_text("#missing")
    drop_file(page, "final.jsonl", served.under.answers(70, "final").decode())
    assert page.locator("#missing").is_hidden()
    assert page.locator("#files tr.fine").count() == 4
    assert "with 3 seeds" in page.inner_text("#summary")
    page.fill("#name", "Model C")
    page.fill("#description", "A **small** model. <script>alert(3)</script>")
    page.fill("#links", "Paper https://example.org/paper\nhttps://example.org/code")
    page.fill("#parameters", "110M")
    served.shot(page, "submit-ready")
    page.click("#send")
    page.wait_for_url("**/me?submitted=*")
    assert "was received" in page.inner_text("p.fine")
    assert "waiting to be scored" in page.inner_text(".submissions")
    assert "3 of 4 left" in page.inner_text("#left")
    served.under.queue.run_once()  # scored, but its tick has not come
    page.reload()
    assert "waiting to be scored" in page.inner_text(".submissions")
    served.under.score()
    page.goto(f"{served.address}/me")
    assert re.search(r"accuracy \d\d", page.inner_text(".submissions"))
    served.shot(page, "me-scored")
    system = page.locator(".system a.button").get_attribute("href")
    page.goto(served.address + system)
    assert "A small model. <script>alert(3)</script>" in page.inner_text("main")
    assert (
        page.get_by_role("link", name="Paper").get_attribute("href") == "https://example.org/paper"
    )


def test_of_a_run_folder_only_the_answers_are_sent(served: Served) -> None:
    page = served.enter("Jon", "/submit")
    answers = {
        name: served.under.answers(90, seed=n).decode()
        for n, name in enumerate(("test.jsonl", "train.jsonl"))
    }
    drop_run(page, "tides--encoder--0", answers)
    drop_run(page, "tides--encoder--1", {"test.jsonl": served.under.answers(91).decode()})
    shown = page.locator("#files td.file bdi").all_inner_texts()
    assert shown == [f"tides--encoder--{n}/predictions/test.jsonl" for n in range(2)]
    assert "with 2 seeds" in page.inner_text("#summary")


def test_a_system_is_edited_hidden_and_published(served: Served) -> None:
    served.submit("Dan", 131)
    page, visitor = served.enter("Dan"), served.open("/")

    def wait_until(is_listed: bool) -> None:
        """What visitors see is updated at most so often."""
        for _ in range(500):
            visitor.goto(served.address)
            if ("Model D" in visitor.inner_text("main")) == is_listed:
                return
            visitor.wait_for_timeout(100)
        raise AssertionError(f"listed: {not is_listed}")

    page.click(".system .edit summary")
    page.locator(".system .edit input[name=name]").fill("Model D")
    served.shot(page, "me-edit")
    page.click(".system .edit button.main")
    page.wait_for_url("**/me?done=saved*")
    wait_until(is_listed=True)
    follow(page.locator("text=Take off the leaderboard"))
    wait_until(is_listed=False)
    follow(page.get_by_role("button", name="Publish", exact=True))
    wait_until(is_listed=True)
    page.select_option("#final-1", index=1)
    follow(page.locator("#final button"))
    assert page.eval_on_selector("#final-1", "select => select.value") != ""


def test_a_token_is_shown_once(served: Served) -> None:
    page = served.enter("Eve")
    page.fill("#label", "cluster")
    page.click("#tokens form.inline button")
    token = page.inner_text(".token")
    assert token.startswith("nikawa_")
    served.shot(page, "me-token")
    page.goto(f"{served.address}/me")
    assert token not in page.content()
    assert "cluster" in page.inner_text("#tokens")
    follow(page.locator("#tokens td button"))
    assert "There are no tokens" in page.inner_text("#tokens")


@pytest.mark.parametrize(
    ("language", "scheme", "width"),
    [("en", "light", 1100), ("ja", "dark", 1100), ("ko", "light", 390), ("ja", "light", 390)],
    ids=str,
)
def test_pages_fit_in_every_language(
    served: Served, language: str, scheme: str, width: int
) -> None:
    name = f"Team {HOSTILE}"
    if name not in served.under.accounts:
        served.submit(name, 141, "Model F")
    page = served.open(
        "/sign-up", language, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    for path in ("/sign-up", "/log-in", "/submit", "/me", "/api", "/owner"):
        if path == "/submit":
            served.enter(name, page=page)
        if path == "/owner":
            served.enter_as_owner(page=page)
        page.goto(served.address + path)
        assert page.url == served.address + path
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), path
        assert page.evaluate("() => document.documentElement.lang") == language
        served.shot(page, f"{path.strip('/')}-{language}-{scheme}-{width}")


def test_the_owner_sees_flags_and_invites_and_a_reviewer_only_looks(served: Served) -> None:
    line = b'{"id": "%s", "answer": "neutral"}\n'
    answers = b"".join(line % id.encode() for id in served.under.gold["test"])
    served.under.submit(answers, system=served.under.system("Gus", "All neutral"), account="Gus")
    served.under.score()
    owner = served.enter_as_owner()
    flags = owner.locator("#flags tbody tr", has_text="One label")
    assert "share of that label" in flags.inner_text()
    assert re.search(r"\d bits", owner.inner_text("#leak"))
    # the accounts with the most bits, of those that the tests of this file have made
    listed = set(owner.locator("#leak tbody bdi").all_inner_texts())
    assert listed <= set(served.under.accounts)
    assert listed
    owner.fill("#notes", "Team Blue\nTeam Red")
    follow(owner.locator("#invitations button.main"))
    links = owner.locator("#invitations .token").all_inner_texts()
    assert len(links) == 2
    owner.click("#settings summary")
    owner.click("#audit summary")
    served.shot(owner, "owner")
    assert "submissions.per_day" in owner.inner_text("#settings")
    assert "invite" in owner.inner_text("#audit")
    mio = served.enter_as_owner("mio")
    assert "Only an owner can change" in mio.inner_text(".notice")
    assert mio.locator("main button:visible").all_inner_texts() == ["Log out"]
    assert mio.locator("#audit").count() == 0
    follow(flags.locator("button"))
    assert flags.count() == 0
    guest = served.open("/sign-up?" + links[0].partition("?")[2])
    guest.fill("#name", "Blue")
    guest.fill("#email", "blue@lab.example")
    guest.fill("#password", PASSWORD)
    guest.click("main form button.main")
    guest.wait_for_url("**/me")
    assert guest.locator(".notice").count() == 0  # an invitation needs no approval


def test_a_password_change_logs_others_out(served: Served) -> None:
    page, other = served.enter("Hal"), served.enter("Hal")
    page.click("#account summary")
    page.fill("#old", "correct horse")
    page.fill("#new", PASSWORD)
    page.click("#account button.main")
    page.wait_for_url("**/me?done=password_changed")
    other.goto(f"{served.address}/me")
    assert "/log-in" in other.url
    follow(page.locator("text=Log out"))
    page.goto(f"{served.address}/me")
    assert "/log-in" in page.url


def test_withdrawing_asks_first(served: Served) -> None:
    served.submit("Ida", 151)
    page = served.enter("Ida")
    page.click(".system .withdraw summary")
    served.shot(page, "me-withdraw")
    follow(page.locator(".system .withdraw button"))
    assert "withdrawn" in page.inner_text(".system h2")
    assert page.locator(".system form").count() == 0
