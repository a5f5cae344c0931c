"""The form of dependency trees in a real browser: heads by keys, clicks, dragging and touch, what is refused, long sentences on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Served = Any
Page = Any
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
SHORT = "할머니는 이른 아침마다 마당에 나가 빨간 고추를 널었다."
SHORT_TAGS = "NNG+JX VA+ETM NNG+JX NNG+JKB VV+EC VA+ETM NNG+JKO VV+EP+EF+SF"
SHORT_TREE: dict[str, list[Any]] = {
    "heads": [8, 3, 8, 5, 8, 7, 8, 0],
    "labels": ["NP_SBJ", "VP_MOD", "NP_AJT", "NP_AJT", "VP", "VP_MOD", "NP_OBJ", "VP"],
}
LONG = (
    "우리 마을 도서관은 지난봄부터 저녁마다 문을 열어 두고 늦게 퇴근하는 사람들이 편하게 책을 읽을 수 있도록 작은 등불을 "
    "켜 놓았는데 그 덕분에 아이들과 함께 오는 부모도 올해 부쩍 늘었다고 한다."
)


def words_of(text: str, tags: str = "") -> list[dict[str, str]]:
    forms = text.split()
    return [
        {"form": form, "lemma": "", "pos": tag}
        for form, tag in zip(forms, tags.split() or ["NNG"] * len(forms), strict=True)
    ]


def chain(size: int) -> dict[str, Any]:
    """Every word depends on the next, some on one further on."""
    heads = [
        min(size, place + (3 if place % 5 == 0 else 1)) if place < size else 0
        for place in range(1, size + 1)
    ]
    return {"heads": heads, "labels": [*["NP"] * (size - 1), "VP"]}


def inputs(text: str = SHORT, tags: str = SHORT_TAGS, **more: Any) -> dict[str, Any]:
    return {"text": text, "words": words_of(text, tags), **more}


def tree_of(page: Any) -> dict[str, Any]:
    """Heads and relations as the page shows them, from the names that screen readers read."""
    heads = page.eval_on_selector_all(
        ".word:not(.root-word) .to", "all => all.map((one) => one.textContent)"
    )
    return {"heads": [head.removeprefix("→ ") for head in heads]}


def sent(served: Served, page: Page) -> Any:
    page.page.click("#submit")
    page.ended()
    assert page.faults == []
    return served.answers()["tree"]


def test_all_by_keys(serve: Callable[..., Served]) -> None:
    served = serve("tree", items=1, inputs=inputs())
    page = served.worker(language="en")
    inner = page.open()
    inner.focus("#word-0")
    for place, (head, label) in enumerate(
        zip(SHORT_TREE["heads"], SHORT_TREE["labels"], strict=True)
    ):
        assert inner.evaluate("document.activeElement.id") == f"word-{place}"
        if head:
            page.keys("h", *["ArrowRight"] * (head - 1 - place), "Enter")
        else:
            page.keys("0")
        shown = inner.eval_on_selector_all(
            ".palette [data-value]", "all => all.map((one) => one.dataset.value)"
        )
        page.keys(
            str(shown.index(label) + 1)
        )  # the next open word becomes the current one by itself
    page.keys("Control+Enter")
    page.ended()
    assert served.answers()["tree"] == SHORT_TREE
    assert page.faults == []


def test_clicks_and_dragging(serve: Callable[..., Served]) -> None:
    served = serve("tree", items=1, inputs=inputs())
    page = served.worker(language="ko")
    inner = page.open()
    for place, (head, label) in enumerate(
        zip(SHORT_TREE["heads"], SHORT_TREE["labels"], strict=True)
    ):
        if place % 2 == 0:
            inner.click(f"#word-{place}")  # a word without a head asks for it at once
            inner.click(f"#word-{head - 1}" if head else ".root-word")
        else:
            inner.drag_and_drop(f"#word-{place}", f"#word-{head - 1}" if head else ".root-word")
        inner.click(f"[data-value={label}]")
    page.shot("tree-short-ko")
    assert inner.locator(".arc:not(.root)").count() == 7
    assert sent(served, page) == SHORT_TREE


def test_touch(serve: Callable[..., Served]) -> None:
    served = serve("tree", items=1, inputs=inputs())
    page = served.worker(language="ja", **PHONE)
    inner = page.open()
    for place, (head, label) in enumerate(
        zip(SHORT_TREE["heads"], SHORT_TREE["labels"], strict=True)
    ):
        if place == 3:  # by its handle, with a finger
            finger(page, f"li:nth-child({place + 2}) .grip", f"#word-{head - 1}")
        else:
            inner.tap(f"#word-{place}")
            inner.tap(f"#word-{head - 1}" if head else ".root-word")
        inner.tap(f"[data-value={label}]")
    page.shot("tree-short-phone")
    assert sent(served, page) == SHORT_TREE


def finger(page: Page, start: str, end: str) -> None:
    """Drag with a finger, by the browser's own touch events."""
    client = page.context.new_cdp_session(page.page)
    page.page.locator(start).scroll_into_view_if_needed()
    places = [page.page.locator(name).bounding_box() for name in (start, end)]
    (x, y), (to_x, to_y) = [
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in places
    ]
    client.send(
        "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]}
    )
    for part in (0.3, 0.6, 1.0):
        point = {"x": x + (to_x - x) * part, "y": y + (to_y - y) * part}
        client.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_cycles_and_second_roots(serve: Callable[..., Served]) -> None:
    served = serve("tree", items=1, inputs=inputs(tree=SHORT_TREE))
    page = served.worker(language="en")
    inner = page.open()
    inner.select_option("#tree-head", "8")
    inner.click("#word-7")
    inner.select_option("#tree-head", "1")  # 1 depends on 8
    assert "depends on" in inner.inner_text("[data-problem=tree]")
    assert tree_of(inner)["heads"][7] == "root"
    inner.click("#word-4")
    page.keys("0")
    assert tree_of(inner)["heads"][7] == "?"
    assert tree_of(inner)["heads"].count("root") == 1
    inner.click("#submit")
    inner.wait_for_selector(".problem:visible:not(:empty)")
    assert "without a head: 1" in inner.inner_text("[data-problem=tree]")
    page.keys("z")
    assert tree_of(inner)["heads"][7] == "root"
    page.ready()
    assert sent(served, page) == SHORT_TREE


def test_crossing_arcs_are_marked(serve: Callable[..., Served]) -> None:
    served = serve("tree", items=1, inputs=inputs(tree=SHORT_TREE))
    page = served.worker(language="en")
    inner = page.open()
    assert inner.locator(".word.odd").count() == 0
    inner.click("#word-1")
    inner.select_option("#tree-head", "6")  # over 3, whose head is 8
    crossed = inner.eval_on_selector_all(".word.odd", "all => all.map((one) => one.id)")
    assert crossed == ["word-1", "word-2", "word-4"]
    assert "Crosses another arc" in (inner.get_attribute("#word-1", "aria-label") or "")
    assert inner.locator(".arc.crossed").count() == 3
    page.shot("tree-crossing")
    assert sent(served, page)["heads"][1] == 6


def test_a_beginning_can_be_switched_off(serve: Callable[..., Served]) -> None:
    settings = {"form_settings": {"preparse": False}}
    shown = serve("tree", items=1, inputs=inputs(tree=SHORT_TREE)).worker().open()
    assert "?" not in tree_of(shown)["heads"]
    shown = serve("tree", items=1, inputs=inputs(tree=SHORT_TREE), **settings).worker().open()
    assert set(tree_of(shown)["heads"]) == {"?"}


def test_a_draft_comes_back(serve: Callable[..., Served]) -> None:
    served = serve("tree", items=1, inputs=inputs())
    page = served.worker()
    inner = page.open()
    inner.click("#word-0")
    inner.click("#word-7")
    inner.reload()
    page.ready()
    assert tree_of(inner)["heads"] == ["8", *["?"] * 7]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_thirty_words_on_a_phone(serve: Callable[..., Served], scheme: str) -> None:
    size = len(LONG.split())
    assert size == 30
    served = serve("tree", items=1, inputs=inputs(LONG, " ".join(["NNG"] * size), tree=chain(size)))
    page = served.worker(language="ko", color_scheme=scheme, **PHONE)
    inner = page.open()
    assert inner.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = inner.eval_on_selector_all(
        ".word, .grip", "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 43.9
    inner.locator("#word-17").scroll_into_view_if_needed()
    inner.tap("#word-17")
    seen = inner.evaluate("""() => {
      const [word, panel] = [document.querySelector('#word-17'), document.querySelector('.tree-panel')].map((one) => one.getBoundingClientRect());
      return [word.top >= 0, word.bottom <= panel.top, panel.bottom <= innerHeight];
    }""")
    assert seen == [True, True, True]  # the word and its panel are in sight together
    page.view(f"tree-30-phone-{scheme}")
    inner.tap("#pick-head")
    inner.tap("#word-19")
    inner.tap("[data-value=NP_AJT]")
    answer = sent(served, page)
    assert (answer["heads"][17], answer["labels"][17]) == (20, "NP_AJT")


def test_thirty_words_in_a_row(serve: Callable[..., Served]) -> None:
    size = len(LONG.split())
    served = serve("tree", items=1, inputs=inputs(LONG, " ".join(["NNG"] * size), tree=chain(size)))
    page = served.worker(language="ja", viewport={"width": 1280, "height": 800})
    inner = page.open()
    assert inner.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.view("tree-30-row")
    inner.focus("#word-0")
    page.keys("h", *["ArrowRight"] * 25)
    box = inner.locator("#word-25").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= 1280 - box["width"]  # what the keys point at is in sight
    page.keys("Enter")
    assert tree_of(inner)["heads"][0] == "26"
