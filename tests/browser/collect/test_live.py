"""Two workers in two browsers write a dialogue: they meet, search, mark, lose their connection, and end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.browser.collect.conftest import Page, Served

from nikawa.collect.forms.dialogue import FORM, SAMPLE_TURNS

pytestmark = pytest.mark.slow
LATE_SEARCH = """() => {
  window.searched = false;
  const start = window.setTimeout;
  const run = (action) => { action(); window.searched = true; };
  window.setTimeout = (action, wait, ...rest) => (wait === 200 ? start(run, 1000, action) : start(action, wait, ...rest));
  document.getElementById('search-words').dispatchEvent(new Event('input'));
  window.setTimeout = start;
}"""
"""Begin a search of the table whose turn comes when the item has changed."""
PHONE = {"width": 360, "height": 740}


def serve_live(serve: Callable[..., Served], **options: Any) -> Served:
    assert FORM.sample is not None
    settings = {**FORM.sample.settings, "mode": "live", **options}
    return serve("dialogue", 2, form_settings=settings, assign={"workers_per_item": 2})


def said(page: Page, text: str) -> None:
    """Wait until a turn is in the log of a page."""
    page.page.wait_for_selector(f"[role=log] .text:text-is('{text}')")


def send(page: Page, text: str) -> None:
    page.page.fill("#field-turn", text)
    page.page.focus("#field-turn")
    page.keys("Enter")
    said(page, text)


def test_two_workers_write_a_dialogue(serve: Callable[..., Served]) -> None:
    served = serve_live(serve)
    user = served.worker("aki", "ja")
    user.open()
    user.page.wait_for_selector("#partner[data-partner=none]")
    agent = served.worker("beni", "ko", color_scheme="dark")
    agent.open()
    agent.page.wait_for_selector("#partner[data-partner=here]")
    first, second, third, fourth = (turn["text"] for turn in SAMPLE_TURNS)
    assert user.page.locator("#item").is_visible()
    assert agent.page.locator("#item").is_hidden()
    assert agent.page.locator("#send-turn").is_disabled()
    send(user, first)
    said(agent, first)
    user.shot("live-user-waits")
    user.page.set_viewport_size({"width": 1000, "height": 710})
    user.page.focus("#field-turn")
    user.page.mouse.wheel(0, 2000)
    user.page.wait_for_function("() => scrollY + innerHeight >= document.body.scrollHeight - 2")
    user.view("live-user-scrolled")
    box = user.page.locator("#item").bounding_box()
    assert box["y"] == 0  # the goal stays in sight
    agent.page.wait_for_selector(".entities .use:has-text('물안개여관')")
    agent.page.locator("#prompt").click()
    agent.keys("1")  # the value that the turn names
    agent.page.wait_for_selector(".state .new:has-text('강변')")
    agent.page.wait_for_function("() => document.querySelectorAll('.entities li').length === 1")
    agent.shot("live-agent-ko-dark")
    send(agent, second)
    said(user, second)
    # the connection of the user drops while a turn is sent; the page is opened again meanwhile
    user.context.set_offline(True)
    user.page.fill("#field-turn", third)
    user.keys("Enter")
    user.page.wait_for_selector("#offline:not([hidden])")
    user.context.set_offline(False)
    said(user, third)
    said(agent, third)
    for text in ("물안개여관", "토요일"):
        agent.page.click(f".state .offered .choice:has-text('{text}')")
    agent.page.reload()  # a draft keeps the state
    agent.ready()
    agent.page.wait_for_selector(".state .new:has-text('토요일')")
    send(agent, fourth)
    said(user, fourth)
    user.page.wait_for_function(
        "() => [...document.querySelectorAll('.met')].every((mark) => mark.classList.contains('done'))"
    )
    user.shot("live-user-end")
    user.page.fill("#field-turn", "감사")
    user.keys("Control+Enter")  # what is typed is not lost: it is to be sent or deleted first
    user.page.wait_for_selector("#problem-turn:not(:empty)")
    assert user.page.locator("[role=log] li").count() == 4
    user.page.fill("#field-turn", "")
    agent.page.evaluate(LATE_SEARCH)
    searches: list[str] = []
    agent.page.on(
        "request", lambda sent: searches.extend([sent.url] if "/search" in sent.url else [])
    )
    user.keys("Control+Enter")
    agent.page.wait_for_function(
        "() => document.getElementById('progress').textContent.includes('1')"
    )
    user.page.wait_for_function("() => document.querySelectorAll('[role=log] li').length === 0")
    found = served.answers("aki")["dialogue"]
    assert [turn["text"] for turn in found["turns"]] == [first, second, third, fourth]
    assert found["how"] == "live"
    assert served.answers("beni")["dialogue"] == {**found, "speaker": 1}
    agent.page.wait_for_function("() => searched")
    assert not searches  # the table of an item that is over is not searched
    assert user.faults == agent.faults == []


def test_a_misunderstanding_is_shown_and_one_goes_on_alone_on_a_phone(
    serve: Callable[..., Served],
) -> None:
    served = serve_live(serve, partner_seconds=5)
    user, agent = (
        served.worker("aki", "en", viewport=PHONE),
        served.worker("beni", "ja", viewport=PHONE),
    )
    user.open()
    user.page.wait_for_selector("#partner[data-partner=none]")
    agent.open()
    agent.page.wait_for_selector("#partner[data-partner=here]")
    user.page.fill("#field-turn", "강변이 좋아.")
    user.page.wait_for_selector("#problem-turn:not(:empty)")  # the style, while it is typed
    send(user, SAMPLE_TURNS[0]["text"])
    said(agent, SAMPLE_TURNS[0]["text"])
    agent.page.click(".state .more summary")
    agent.page.locator(".state select").nth(0).select_option("숙소-지역")
    agent.page.locator(".state select").nth(1).select_option("시장")
    agent.page.click(".state .more button")
    send(agent, SAMPLE_TURNS[1]["text"])
    user.page.wait_for_selector(".wrong li:has-text('강변')")
    user.shot("live-misunderstood-phone-en")
    agent.shot("live-agent-phone")
    agent.page.close()
    user.page.wait_for_selector("#alone:visible")
    user.shot("live-partner-away-phone")
    user.page.click("#alone")
    user.page.wait_for_selector("#partner[data-partner=alone]")
    for text in (turn["text"] for turn in SAMPLE_TURNS[2:3]):
        send(user, text)
    state = user.page.locator(".state")
    state.locator(".remove").first.click()
    for text in ("강변", "물안개여관", "토요일"):
        state.locator(f".offered .choice:has-text('{text}')").first.click()
    send(user, SAMPLE_TURNS[3]["text"])
    user.shot("live-alone-phone")
    user.page.click("#submit")
    user.page.wait_for_selector("#partner[data-partner=none]")
    assert served.answers("aki")["dialogue"]["how"] == "alone"
    assert served.answers("beni") == {}
    assert user.faults == agent.faults == []
