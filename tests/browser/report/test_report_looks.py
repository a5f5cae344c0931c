"""How the report looks: screenshots in light, dark, print and on a phone; contrast, clipped labels, fonts."""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from nikawa.reporting import plots
from nikawa.reporting.page import style_sheet
from nikawa.reporting.plots import SHEET_HEIGHT

pytestmark = pytest.mark.slow

SIGHTS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 780}, "color_scheme": "light"},
    "print": {"viewport": {"width": 720, "height": 1000}, "color_scheme": "dark"},
}
GROUNDS = {
    "light": (253, 252, 249),
    "dark": (21, 23, 26),
    "phone": (253, 252, 249),
    "print": (255, 255, 255),
}

INK = """async (address) => {
  const image = new Image(); image.src = address; await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height), tones = new Map();
  for (let i = 0; i < data.length; i += 4) { const tone = data[i] << 16 | data[i + 1] << 8 | data[i + 2]; tones.set(tone, (tones.get(tone) || 0) + 1); }
  const [ground, count] = [...tones].sort((a, b) => b[1] - a[1])[0];
  return { ground: [ground >> 16, ground >> 8 & 255, ground & 255], ink: 1 - count / (data.length / 4), tones: tones.size };
}"""
"""The commonest colour of a picture and the share of what is not of it."""

CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const read = (colour) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, ground, share) => [0, 1, 2].map((i) => top[i] * top[3] * share + ground[i] * (1 - top[3] * share));
  const light = (c) => { const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const chain = (e) => { const found = []; for (; e; e = e.parentElement) found.unshift(e); return found; };
  const poor = [];
  let seen = 0;
  for (const e of document.querySelectorAll("body *")) {
    const words = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    if (!words || e.closest("title,script,style,optgroup,option") || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    let ground = [255, 255, 255], share = 1;
    for (const one of chain(e)) { const style = getComputedStyle(one); ground = over(read(style.backgroundColor), ground, 1); share *= +style.opacity; }
    const style = getComputedStyle(e), rect = e.closest("g")?.querySelector("rect");
    if (rect) ground = over(read(getComputedStyle(rect).fill), ground, +getComputedStyle(rect).fillOpacity);
    const ink = over(read(e.namespaceURI.endsWith("svg") ? style.fill : style.color), ground, share);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    seen += 1;
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) poor.push(`${ratio.toFixed(2)} ${e.tagName}.${e.getAttribute("class")} ${words.slice(0, 30)}`);
  }
  return { seen, poor };
}"""
"""Texts in sight whose colour is too near to what lies below them."""

CLIPPED = """() => {
  const found = [];
  for (const svg of document.querySelectorAll("main svg")) {
    const { width, height } = svg.viewBox.baseVal, boxes = [];
    for (const text of svg.querySelectorAll("text")) {
      const turned = text.hasAttribute("transform"), box = text.getBBox();
      if (!turned && (box.x < -1 || box.x + box.width > width + 1 || box.y < -2 || box.y + box.height > height + 2)) found.push(`clipped: ${text.textContent}`);
      if (!turned) boxes.push([box, text.textContent]);
    }
    for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
      const [a, b] = [boxes[i][0], boxes[j][0]];
      const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x), down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      if (across > 1 && down > 4) found.push(`over each other: ${boxes[i][1]} and ${boxes[j][1]}`);
    }
  }
  return found;
}"""
"""Labels of plots that leave their picture, or lie over each other."""

GLYPHS = """([place, letters]) => {
  const { fontFamily } = getComputedStyle(document.querySelector(place));
  return letters.map((letter) => {
    const pen = Object.assign(document.createElement("canvas"), { width: 40, height: 40 }).getContext("2d", { willReadFrequently: true });
    pen.font = `32px ${fontFamily}`; pen.fillText(letter, 2, 34);
    return [pen.measureText(letter).width, [...pen.getImageData(0, 0, 40, 40).data].filter((_, i) => i % 4 === 3).join()];
  });
}"""
"""Width and ink of letters in the font of a place."""


@pytest.fixture
def seen(visit: Any, small: Path, request: pytest.FixtureRequest) -> tuple[str, Any]:
    """The page under one of the sights, with everything open and the examples unpacked."""
    name = request.param
    page = visit(small, reduced_motion="reduce", **SIGHTS[name])
    for place in page.locator(".browser").all():
        place.scroll_into_view_if_needed()
        place.locator(".row").first.wait_for()
    if name == "print":
        page.emulate_media(media="print")
    page.evaluate(
        "document.querySelectorAll('details').forEach((d) => { d.open = true; }); scrollTo(0, 0)"
    )
    return name, page


@pytest.mark.parametrize("seen", list(SIGHTS), indirect=True)
def test_it_is_drawn_and_can_be_read(seen: tuple[str, Any], visit: Any, tmp_path: Path) -> None:
    name, page = seen
    picture = page.screenshot(full_page=True)
    drawn = page.context.browser.new_page()  # the page itself may load no picture
    found = drawn.evaluate(INK, f"data:image/png;base64,{b64encode(picture).decode()}")
    drawn.close()
    assert tuple(found["ground"]) == GROUNDS[name]
    assert 0.02 < found["ink"] < 0.5
    assert found["tones"] > 100  # letters with soft edges, plots with colours
    told = page.evaluate(CONTRAST)
    assert told["seen"] > 300
    assert told["poor"] == []
    assert page.evaluate(CLIPPED) == []
    width = SIGHTS[name].get("viewport", {"width": 1200})["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("seen", ["print"], indirect=True)
def test_sources_are_printed_and_tools_are_not(seen: tuple[str, Any], tmp_path: Path) -> None:
    _, page = seen
    lines = page.locator("p.source", has_text="Source:")
    assert lines.count() > 10
    assert all(line.is_visible() for line in lines.all())
    assert not page.locator(".browser, nav, #theme, a.file").first.is_visible()
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(("width", "height"), [(688, 1001), (710, 935)], ids=["A4", "letter"])
def test_tall_plots_are_printed_in_parts_that_fit_on_a_sheet(
    visit: Any, tmp_path: Path, width: int, height: int
) -> None:
    """Sheets without their margins; four systems on forty slices are some 2,500 pixels high."""
    lines = [
        plots.PlotRow(
            f"値 {i}", [plots.Dot(20.0 + i, 10.0 + i, 30.0 + i, s) for s in range(4)], "tag"
        )
        for i in range(40)
    ]
    picture = plots.draw_dots(lines, "t", (0, 100), list("abcd"), 40.0, SHEET_HEIGHT)
    body = f'<h3>Slices</h3><p class="soft">Each row …</p><figure class="parts">{picture}</figure>'
    (tmp_path / "tall.html").write_text(
        f'<!doctype html><meta charset="utf-8"><style>{style_sheet()}</style><main>{body}</main>',
        "utf-8",
    )
    page = visit(tmp_path / "tall.html", viewport={"width": width, "height": height})
    page.emulate_media(media="print")
    parts = page.locator("figure.parts > svg")
    assert parts.count() == 4
    head = parts.first.bounding_box()["y"]
    assert max(part.bounding_box()["height"] for part in parts.all()) + head < height
    inside = "e => getComputedStyle(e).breakInside"
    assert (parts.first.evaluate(inside), page.locator("figure").evaluate(inside)) == (
        "avoid",
        "auto",
    )
    page.pdf(path=tmp_path / "tall.pdf", width=f"{width}px", height=f"{height}px")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", (tmp_path / "tall.pdf").read_bytes())) == 4


@pytest.mark.parametrize(("language", "letters"), [("ja", "犬猫薔薇がポ"), ("ko", "한글뷁책")])
def test_letters_are_drawn_as_themselves(
    visit: Any, small: Path, language: str, letters: str
) -> None:
    """Where a font lacks letters, all of them are the same box: here no two are, and none is that box."""
    listed = shutil.which("fc-list")
    fonts = (
        subprocess.run([listed, f":lang={language}"], capture_output=True, check=True).stdout
        if listed
        else b""
    )
    if not fonts:
        pytest.skip(f"no font for {language} here: install the package fonts-noto-cjk")
    page = visit(small)
    for place in page.locator(".browser").all():
        place.scroll_into_view_if_needed()
        place.locator(".row").first.wait_for()
    missing = "\U000e0fff"
    for place in (f"dd[lang={language}]", "h1", "td", "svg text"):
        *shown, box = page.evaluate(GLYPHS, [place, [*letters, missing]])
        assert len({ink for _, ink in (*shown, box)}) == len(letters) + 1, place
        assert all(25 < width <= 33 for width, _ in shown), place


def test_the_ring_around_the_list_is_whole(visit: Any, small: Path) -> None:
    """Rows must not lie over it: the pixels of its right edge are all of one colour."""
    page = visit(small, reduced_motion="reduce")
    place = page.locator(".browser").first
    place.scroll_into_view_if_needed()
    place.locator(".row").first.wait_for()
    page.keyboard.press("j")
    page.mouse.move(0, 0)
    place.locator(".panes").evaluate(
        "e => scrollTo(0, scrollY + e.getBoundingClientRect().top - 100)"
    )
    listed = place.locator("[role=listbox]").bounding_box()
    right = listed["x"] + listed["width"]
    strip = {"x": right - 2, "y": listed["y"] + 12, "width": 1, "height": listed["height"] - 24}
    picture = page.screenshot(clip=strip)
    drawn = page.context.browser.new_page()
    found = drawn.evaluate(INK, f"data:image/png;base64,{b64encode(picture).decode()}")
    drawn.close()
    assert found["ink"] == 0, "one colour from top to bottom"
    assert tuple(found["ground"]) == (29, 95, 141)


def test_the_best_system_is_looked_at_first(visit: Any, small: Path) -> None:
    page = visit(small)
    for number, section in enumerate(page.locator("section.task").all()):
        place = page.locator(".browser").nth(number)
        place.scroll_into_view_if_needed()
        place.locator(".row").first.wait_for()
        best = section.locator("tbody th").first.text_content()
        assert place.get_by_label("System").evaluate("f => f.selectedOptions[0].text") == best


def test_the_pointer_shows_where_a_number_is_from(visit: Any, small: Path) -> None:
    page = visit(small)
    value = page.locator("#summary .v").first
    value.hover()
    assert "/scores.json#/0/scores/0" in value.get_attribute("title")
    spread = page.locator("#summary .ci[data-src]").first
    spread.hover()
    assert "numbers.json#/sections/0/rows/0/metrics/accuracy" in spread.get_attribute("title")
    dot = page.locator("figure svg path.m[data-src]").first
    dot.hover()
    assert "numbers.json#/sections/0/rows/0" in dot.locator("title").text_content()


def test_answers_name_the_file_they_are_in(visit: Any, small: Path) -> None:
    page = visit(small)
    place = page.locator(".browser").first
    place.scroll_into_view_if_needed()
    place.locator(".row").first.wait_for()
    files = place.locator(".view tbody tr").first.get_attribute("data-src").split(" ")
    assert len(files) == 2  # two seeds
    for file in files:
        assert (small.parent / file).is_file()
