"""The report in a real browser: filters, keys, schemes, ten thousand examples, nothing from outside."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def ready(page: Any, number: int = 0) -> Any:
    """The browser of examples, unpacked."""
    place = page.locator(".browser").nth(number)
    place.scroll_into_view_if_needed()
    place.locator(".row").first.wait_for()
    return place


def told(place: Any) -> str:
    return str(place.locator("[role=status]").text_content())


def test_ten_thousand_examples_open_in_two_seconds_and_five_megabytes(
    visit: Any, large: Path
) -> None:
    assert large.stat().st_size < 5_000_000
    took = []
    for _ in range(8):  # other work on the machine must not decide
        begin = time.perf_counter()
        place = ready(visit(large))
        took.append(time.perf_counter() - begin)
        if took[-1] < 2.0:
            break
    assert min(took) < 2.0
    assert told(place) == "10,000 examples"
    assert place.locator(".row").count() < 40  # only what is in sight


def test_filters(visit: Any, large: Path) -> None:
    place = ready(visit(large))
    place.get_by_label("Gold").select_option(label="neutral")
    assert told(place) == "3,333 of 10,000 examples"
    place.get_by_label("Outcome").select_option(label="wrong")
    assert told(place) == "833 of 10,000 examples"
    place.get_by_label("Set").select_option(label="swapped")
    place.get_by_label("Tag").select_option(label="phenomenon-3")
    seen = place.locator(".row .sub").all_text_contents()
    assert seen
    assert all("gold neutral" in line and "✗" in line for line in seen)
    place.get_by_role("button", name="Clear").click()
    assert told(place) == "10,000 examples"
    place.get_by_label("Outcome").select_option(label="only this one right")
    assert told(place) == "2,500 of 10,000 examples"


def test_search_folds_width_and_case_and_stays_quick(visit: Any, large: Path) -> None:
    page = visit(large)
    place = ready(page)
    script = """() => { const b = document.querySelector('.browser').browser; const t = performance.now();
        b.state.q = '９９９番目の子供が'; b.filter(); b.state.q = '犬'; b.filter(); return performance.now() - t }"""
    assert any(page.evaluate(script) < 400 for _ in range(8))
    place.get_by_label("Search the examples").fill("９９９９番目")
    assert told(place) == "1 of 10,000 examples"
    place.get_by_label("Search the examples").fill("9998")
    assert place.locator(".row .sub").first.text_content().startswith("9998")
    place.get_by_label("Search the examples").fill("ないものはない")
    assert place.locator(".row").count() == 0
    assert "No example" in place.locator(".empty").text_content()


def test_keys_move_and_search(visit: Any, large: Path) -> None:
    page = visit(large)
    place = ready(page)
    for _ in range(12):
        page.keyboard.press("j")
    page.keyboard.press("k")
    chosen = place.locator(".row[aria-selected=true]")
    assert chosen.count() == 1
    assert chosen.get_attribute("id") == "items-large-11"
    assert (
        place.locator("[role=listbox]").get_attribute("aria-activedescendant") == "items-large-11"
    )
    assert "test / 11" in place.locator(".view h4").first.text_content()
    page.keyboard.press("End")
    assert place.locator(".row[aria-selected=true]").get_attribute("id") == "items-large-9999"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("j1番目")
    assert place.get_by_label("Search the examples").input_value() == "j1番目"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.type") != "search"
    assert place.get_by_label("Search the examples").input_value() == "j1番目", (
        "what filters stays in sight"
    )


def test_perturbed_pairs_stand_side_by_side(visit: Any, large: Path) -> None:
    place = ready(visit(large))
    place.get_by_label("Set").select_option(label="swapped")
    twin = place.locator(".twin")
    assert "original test / 0" in twin.text_content()
    marks = twin.locator("dd[lang=ja] mark").all_text_contents()
    assert marks[0] == "500"  # 0 against 5000
    assert place.locator(".view thead th").all_text_contents() == [
        "system",
        "answer to the original",
        "answer to the perturbed",
    ]


def test_markup_in_texts_stays_text(visit: Any, large: Path) -> None:
    page = visit(large)
    place = ready(page)
    assert "<script>window.hacked=1</script>" in place.locator(".view").text_content()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script").count() == 0


def test_examples_can_be_saved(visit: Any, large: Path) -> None:
    page = visit(large)
    place = ready(page)
    place.get_by_label("Search the examples").fill("9998")
    with page.expect_download() as waiting:
        place.get_by_role("button", name="Save as JSONL").click()
    (line,) = Path(waiting.value.path()).read_text("utf-8").splitlines()
    assert json.loads(line)["inputs"]["hypothesis"] == "9998番目の子供は外にいる。"


def test_a_cell_of_the_confusion_shows_its_examples(visit: Any, small: Path) -> None:
    page = visit(small)
    rect = page.locator("figure.heat[data-system=majority] rect").first
    rect.focus()
    page.keyboard.press("Enter")
    place = ready(page)
    assert place.get_by_label("System").evaluate("f => f.selectedOptions[0].text") == "majority"
    assert place.get_by_label("Gold").evaluate(
        "f => f.selectedOptions[0].text"
    ) == rect.get_attribute("data-gold")


def test_arrows_move_between_the_cells_of_the_confusion(visit: Any, small: Path) -> None:
    page = visit(small)
    figure = page.locator("figure.heat[data-system=majority]")
    assert figure.locator("rect[tabindex='0']").count() == 1, "one stop of the tab key"
    figure.locator("rect").first.focus()
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    golds = figure.locator("rect").evaluate_all(
        "cells => [...new Set(cells.map(c => c.dataset.gold))]"
    )
    at = page.evaluate(
        "[document.activeElement.dataset.gold, document.activeElement.dataset.answer]"
    )
    assert at[0] == golds[1]
    assert at[1] == figure.locator("rect").nth(1).get_attribute("data-answer")
    note = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    status = page.locator(".browser").first.locator("[role=status]")
    status.wait_for()
    assert status.text_content().split(" ")[0] == note.split(": ")[1].split(" ")[0]


def test_schemes(visit: Any, small: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit(small, color_scheme="light"), visit(small, color_scheme="dark")
    assert light.evaluate(ground) == "rgb(253, 252, 249)"
    assert dark.evaluate(ground) == "rgb(21, 23, 26)"
    button = light.get_by_role("button", name="Theme: auto")
    button.click()
    light.get_by_role("button", name="Theme: light").click()
    assert light.evaluate(ground) == "rgb(21, 23, 26)"


def test_a_phone_does_not_scroll_sideways(visit: Any, small: Path, tmp_path: Path) -> None:
    page = visit(small, viewport={"width": 390, "height": 844})
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=tmp_path / "phone.png")
    assert (tmp_path / "phone.png").stat().st_size > 5_000


def test_languages_are_named_and_the_skip_link_comes_first(visit: Any, small: Path) -> None:
    page = visit(small)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert ready(page, 0).locator("dd[lang=ja]").count() >= 2
    assert ready(page, 1).locator("dd[lang=ko]").count() >= 2


def test_print_opens_details_and_leaves_the_browser_out(
    visit: Any, small: Path, tmp_path: Path
) -> None:
    page = visit(small)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator(".browser").first.is_visible()
    assert not page.locator("nav").is_visible()
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
