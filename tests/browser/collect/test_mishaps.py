"""What goes wrong between a worker and the server while an item is in hand, and what a screen reader makes of the page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from nikawa.collect.site import page_message
from nikawa.collect.workers import exclude, find_worker_by_name

pytestmark = pytest.mark.slow
Serve = Callable[..., Any]
LINES = ["黒い犬が川辺を走っている。", "白い犬が川辺で寝ている。", "白い犬は川辺を走っていない。"]


def written(page: Any) -> None:
    for place, text in enumerate(LINES):
        page.fill(f"#field-text-{place}", text)


def test_two_tabs_are_one_worker(serve: Serve) -> None:
    """The second tab finds its item answered: it says so, shows the next one, and nothing counts twice."""
    served = serve("choice", items=2)
    first = served.worker(language="en")
    inner = first.open()
    other = first.context.new_page()
    other.goto(first.address)
    other.wait_for_selector("#answer:not([hidden])[aria-busy=false]")
    first.keys("1", "Enter")
    inner.wait_for_function("() => document.getElementById('progress').textContent.startsWith('1')")
    other.keyboard.press("2")
    other.keyboard.press("Enter")
    other.wait_for_selector("#problems:has-text('already answered')")
    assert other.locator("#answer input:checked").count() == 0
    assert [one.answer for one in served.read_judgements()] == ["positive"]
    other.keyboard.press("2")
    other.keyboard.press("Enter")
    other.wait_for_selector("#ended:not([hidden])")
    assert sorted(one.answer for one in served.read_judgements()) == ["negative", "positive"]


def test_a_lease_that_ran_out_while_writing(serve: Serve) -> None:
    """Somebody else has taken the item and answered it: the text is kept and paid, and the item not overfilled."""
    served = serve(
        "write-contradictions", items=1, assign={"workers_per_item": 1}, pay={"per_item": 7}
    )
    late = served.worker(language="en")
    inner = late.open()
    written(inner)
    inner.wait_for_selector("#kept:not(:empty)")  # a draft that came later would keep the item
    served.store.write(lambda db: db.execute("UPDATE leases SET expires = 0"))
    quick = served.worker("taro").open()
    written(quick)
    quick.click("#submit")
    quick.wait_for_selector("#ended:not([hidden])")
    inner.click("#submit")
    late.ended()
    assert inner.inner_text("#earned") == "Earned 7 JPY (7 per item)"
    assert served.read_judgements() == []
    assert len(served.read_judgements("taro")) == 1
    rows = served.store.read(lambda db: db.rows("SELECT surplus FROM answers ORDER BY seq"))
    assert [row[0] for row in rows] == [0, 1]


def test_an_earlier_state_of_the_database_is_told_in_the_workers_language(serve: Serve) -> None:
    """A backup was put back: the item in hand is nobody's, and the page goes on with one that is."""
    served = serve("choice", items=2)
    page = served.worker(language="ko", locale="en-US")
    inner = page.open()
    served.store.write(lambda db: db.execute("DELETE FROM leases"))
    page.keys("1", "Enter")
    inner.wait_for_selector("#problems:not(:empty)")
    assert page_message("ko", "lease_unknown") in inner.inner_text("#problems")
    page.ready()
    page.keys("1", "Enter")
    page.ended()
    assert len(served.read_judgements()) == 1
    assert page.faults == []


def test_an_exclusion_ends_the_work_in_words(serve: Serve) -> None:
    served = serve("choice", items=2)
    page = served.worker(language="ko")
    inner = page.open()
    found = served.store.read(lambda db: find_worker_by_name(db, "hanako"))
    served.store.write(partial(exclude, worker=found, reason="너무 빠름", who="owner", now=1.0))
    page.keys("1", "Enter")
    page.ended()
    assert inner.inner_text("#ended-heading") == page_message("ko", "stage_excluded")
    assert inner.is_hidden("#code")
    assert "너무 빠름" not in inner.content()  # why is the owner's to tell
    assert served.read_judgements() == []


def test_going_back_and_forth_keeps_what_is_written(serve: Serve) -> None:
    served = serve("write-contradictions", items=1)
    page = served.worker()
    inner = page.open()
    inner.goto("about:blank")
    inner.go_back()
    page.ready()
    written(inner)
    inner.goto("about:blank")
    inner.go_back()
    page.ready()
    assert inner.input_value("#field-text-2") == LINES[2]
    inner.click("#submit")
    page.ended()
    assert served.answers() == {"contradictions": LINES}


def test_what_a_screen_reader_hears(serve: Serve) -> None:
    """Everything has a role and a name, numbers of a scale among them, and what changes is announced."""
    served = serve("scale", items=1, pay={"per_item": 3})
    page = served.worker(language="en")
    inner = page.open()
    inner.wait_for_selector(
        "[role=status]:has-text('0 answered')"
    )  # announced after the item is drawn
    heard = inner.locator("body").aria_snapshot()
    for part in (
        'heading "How similar in meaning are the two sentences?" [level=2]',
        'group "How similar in meaning are the two sentences?"',
        'radio "0 Nothing in common"',
        'radio "5 The same meaning"',
        'navigation "Help and settings"',
        'button "Guideline"',
        'combobox "Language"',
        'button "Undo" [disabled]',
        'button "Submit"',
        "status: 0 answered",
    ):
        assert part in heard, part
    page.keys("r")
    inner.wait_for_selector("#report[open]")
    told = inner.locator("#report").aria_snapshot()
    assert 'radiogroup "Why are you reporting this item?"' in told
    assert 'textbox "Comment"' in told
    page.keys("Escape", "Enter")
    inner.wait_for_selector("#problem-score:not(:empty)")
    group = inner.locator("fieldset")
    assert group.get_attribute("aria-invalid") == "true"
    assert group.get_attribute("aria-describedby") == "problem-score"
    assert inner.get_attribute("#problem-score", "aria-live") == "polite"
