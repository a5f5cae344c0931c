"""The board in a real browser: sorting, looks in light, dark and on a phone, keyboard, no script, no other place, and the export as files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import HTMLResponse
from tests.board.filled import MARKUP, NOW, ODD, USUAL, fill_store, make_board, many
from tests.browser.conftest import Listening

from nikawa.board.app import create_app
from nikawa.board.export_html import export_html
from nikawa.board.snapshot import describe_tasks, read_board
from nikawa.board.store import open_store

pytestmark = pytest.mark.slow
SHOTS = os.environ.get("NIKAWA_SCREENSHOTS")
"""A folder for pictures of the pages, to look at."""
PHONE = {"viewport": {"width": 360, "height": 780}, "has_touch": True, "is_mobile": True}

CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const read = (c) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const light = (c) => { const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const poor = [];
  let seen = 0;
  for (const e of document.querySelectorAll("body *")) {
    const words = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    if (!words || e.closest("title, desc, script, option, .unseen, .skip, .faint") || !e.checkVisibility()) continue;
    let ground = null;
    for (let one = e; one; one = one.parentElement) {
      const style = getComputedStyle(one), flat = style.backgroundImage.match(/rgba?\\([^)]*\\)/);
      const colour = flat ? read(flat[0]) : read(style.backgroundColor);
      if (colour[3] > 0.99) { ground = colour; break; }
    }
    ground ??= [255, 255, 255];
    const style = getComputedStyle(e), ink = read(e.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    seen += 1;
    if (ratio < 4.5) poor.push(`${words.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return { poor, seen };
}"""
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Boards:
    """Boards on ports, all with one browser."""

    folder: Path
    browser: Any
    running: dict[str, Listening] = field(default_factory=dict)
    stores: list[Any] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def address(self, name: str) -> str:
        """The board of a name; it is started when it is first asked for."""
        if name not in self.running:
            entrants = {"usual": USUAL, "odd": ODD, "many": many(), "one": USUAL[:1], "none": ()}
            tasks = ("tides", "moon") if name == "two" else ("tides",)
            (self.folder / name).mkdir()
            board = make_board(self.folder / name, tasks, shown={"slices": ["tag"]})
            store = open_store("", board)
            fill_store(store, board, entrants.get(name, USUAL))
            self.stores.append(store)
            self.running[name] = Listening(create_app(board, store, clock=lambda: NOW))
        return self.running[name].address

    def open(self, name: str, path: str = "/", language: str = "en", **how: Any) -> Any:
        """A page of a board; the caller closes its context."""
        return self.visit(self.address(name) + path, language, **how)

    def visit(self, address: str, language: str = "en", **how: Any) -> Any:
        """A page in a window of its own that reports faults, and requests to any other place."""
        how = {"viewport": {"width": 1100, "height": 900}, "locale": language, **how}
        page = self.browser.new_context(**how).new_page()
        page.set_default_timeout(60_000)
        place = "/".join(address.split("/")[:3])
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on(
            "console", lambda said: self.faults.append(said.text) if said.type == "error" else None
        )
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(place) else self.faults.append(asked.url),
        )
        page.goto(address)
        return page

    def shot(self, page: Any, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(Path(SHOTS) / f"board-{name}.png"), full_page=True)


@pytest.fixture(scope="module")
def boards(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boards]:
    made = Boards(tmp_path_factory.mktemp("boards"), chromium)
    yield made
    for listening in made.running.values():
        listening.close()
    for store in made.stores:
        store.close()
    assert made.faults == []


def names(page: Any) -> list[str]:
    return [str(name) for name in page.locator("table.board tbody th > a").all_inner_texts()]


@pytest.mark.parametrize(
    ("board", "path", "language", "how"),
    [
        ("usual", "/", "en", {"color_scheme": "light"}),
        ("usual", "/t/tides?by=tag", "ja", {"color_scheme": "dark"}),
        ("usual", "/", "ko", {"color_scheme": "dark", **PHONE}),
        ("usual", "/s/sys000000000", "ja", {"color_scheme": "light", **PHONE}),
        ("usual", "/about", "ko", {"color_scheme": "dark", **PHONE}),
        ("usual", "/compare", "ja", {"color_scheme": "light", **PHONE}),
        ("two", "/", "ja", {"color_scheme": "light", **PHONE}),
        ("odd", "/", "en", {"color_scheme": "dark", **PHONE}),
        ("odd", "/s/sys000000004", "ko", {"color_scheme": "light", **PHONE}),
        ("many", "/", "en", {"color_scheme": "light", **PHONE}),
        ("none", "/", "ko", {"color_scheme": "light", **PHONE}),
        ("one", "/", "ja", {"color_scheme": "dark", "reduced_motion": "reduce"}),
    ],
)
def test_pages_fit_and_can_be_read(
    boards: Boards, board: str, path: str, language: str, how: dict[str, Any]
) -> None:
    page = boards.open(board, path, language, **how)
    place = path.replace("/", "_").replace("?", "_")
    boards.shot(page, f"{board}{place}-{language}-{how['color_scheme']}")
    assert page.evaluate(SIDEWAYS) == 0
    seen = page.evaluate(CONTRAST)
    assert seen["poor"] == []
    assert seen["seen"] > 10
    assert page.get_attribute("html", "lang") == language
    page.context.close()


def test_a_click_sorts_as_a_link_does(boards: Boards) -> None:
    page = boards.open("usual")
    plain = boards.open("usual", java_script_enabled=False)
    for column in ("Parameters", "macro-f1", "macro-f1", "Submitted", "Rank"):
        for one in (page, plain):
            one.get_by_role("columnheader").get_by_role("link", name=column).click()
            one.wait_for_load_state()
        head = page.get_by_role("columnheader", name=column)
        same = plain.get_by_role("columnheader", name=column)
        assert head.get_attribute("aria-sort") == same.get_attribute("aria-sort")
        assert names(page) == names(plain), column
    assert page.inner_text("#sort-status") == "Sorted by Rank, ascending"
    assert page.url == plain.url
    page.context.close()
    plain.context.close()


def test_long_tables_are_filtered(boards: Boards) -> None:
    page = boards.open("many")
    assert len(names(page)) == 204
    page.get_by_label("Filter by name").fill("SYSTEM-00")
    assert page.locator("tbody tr:visible").count() == 10
    assert page.inner_text("#matches") == "10 shown"
    page.get_by_label("Filter by name").fill("")
    assert page.locator("tbody tr:visible").count() == 204
    few = boards.open("usual")
    assert few.locator("#filter").is_hidden()
    page.context.close()
    few.context.close()


def test_keyboard_and_screen_reader_find_their_way(boards: Boards) -> None:
    page = boards.open("usual")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    table = page.get_by_role("table", name="tides, test, 40 items.")
    assert table.get_by_role("row").count() == 13
    best = table.get_by_role("row", name="Tide-Large-v2")
    assert best.get_by_role("rowheader").count() == 1
    assert "88.5 ±0.4 95% interval 87.1–89.9" in " ".join(best.inner_text().split())
    picture = page.get_by_role("img", name="accuracy on tides over time")
    assert picture.count() == 1
    assert picture.locator("desc").text_content().startswith("10 systems from 2026-09-17")
    assert page.locator("svg.bar:not([aria-hidden=true])").count() == 0
    page.get_by_role("link", name="accuracy").focus()
    page.keyboard.press("Enter")
    assert names(page)[0] == "majority"
    page.context.close()


def test_markup_in_names_runs_nowhere(boards: Boards) -> None:
    for path in ("/", "/s/sys000000004", "/compare", "/embed/tides"):
        page = boards.open("odd", path)
        assert MARKUP in page.inner_text("body").replace("\n", " ") or path == "/compare"
        assert page.locator("main b, main script").count() == 0
        page.context.close()


def test_paper_is_light_and_has_every_column(boards: Boards) -> None:
    page = boards.open("usual", color_scheme="dark", viewport={"width": 700, "height": 1000})
    page.emulate_media(media="print")
    boards.shot(page, "print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.get_by_role("columnheader", name="Submitted").is_visible()
    assert page.locator("nav").is_hidden()
    assert page.locator("svg.history:visible").count() == 1
    assert page.evaluate(CONTRAST)["poor"] == []
    page.context.close()


def test_a_frame_on_another_site_shows_the_table(boards: Boards) -> None:
    body = f'<iframe src="{boards.address("usual")}/embed/tides" title="t"></iframe>'
    boards.running["other"] = Listening(HTMLResponse(body))
    page = boards.browser.new_context().new_page()
    page.goto(boards.address("other"))
    frame = page.frame_locator("iframe")
    assert frame.get_by_role("link", name="Tide-Large-v2").get_attribute("target") == "_blank"
    page.context.close()


def test_the_export_works_as_files(boards: Boards, tmp_path: Path) -> None:
    board = make_board(tmp_path, ("tides", "moon"), shown={"slices": ["tag"]})
    with open_store("", board) as store:
        fill_store(store, board, USUAL)
        view = store.read(read_board, board, describe_tasks(board), NOW)
    export_html(board, view, tmp_path / "site", now=NOW)
    page = boards.visit((tmp_path / "site" / "index.html").as_uri())
    page.get_by_role("link", name="English").click()
    page.get_by_role("link", name="details").nth(1).click()
    first = names(page)
    page.get_by_role("columnheader", name="System").get_by_role("button").click()
    assert names(page) == sorted(names(page), key=str.casefold) or names(page) != first
    page.get_by_role("link", name="Tide-Base").click()
    assert page.inner_text("h1") == "Tide-Base"
    page.get_by_role("link", name="한국어").click()
    assert page.inner_text("#h-results") == "결과"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 249)"
    page.context.close()
