"""Every form with a machine's answer filled in: it says so, can be sent as it is or changed, and fits a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from nikawa.collect.form import forms
from nikawa.collect.items import sync_items
from nikawa.collect.settings import Prelabels
from nikawa.collect.site import page_message
from nikawa.io.records import write_records
from nikawa.records import Judgement

Served = Any
PHONE = {
    "viewport": {"width": 390, "height": 800},
    "is_mobile": True,
    "has_touch": True,
    "color_scheme": "dark",
}
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
NO_GLANCE = 1.1
"""Seconds after which an answer that came filled in may be sent unchanged."""


def fill_pages(served: Served, items: int) -> dict[str, Any]:
    """Have the machine answer every item as the sample of the form does; the judgements of that answer."""
    form = served.form
    answers = dict(form.to_judgements(dict(form.sample.answer)))
    rows = [
        Judgement(
            example=f"i{n}", worker="model:m", question=question, answer=answer, kind="machine"
        )
        for n in range(items)
        for question, answer in answers.items()
    ]
    write_records(served.project.folder / "machine.jsonl", rows)
    settings = replace_prelabels(served.project.settings)
    object.__setattr__(served.project, "settings", settings)
    sync_items(served.project, served.store)
    return answers


def replace_prelabels(settings: Any) -> Any:
    return msgspec.structs.replace(settings, prelabels=Prelabels(source="machine.jsonl", share=1.0))


@pytest.mark.parametrize("name", list(forms()))
def test_a_machines_answer_is_filled_in_and_marked(name: str, serve: Callable[..., Served]) -> None:
    served = serve(name, items=2)
    answers = fill_pages(served, 2)
    for language, device in (("ja", {}), ("ko", PHONE)):
        page = served.worker(language, language, **device)
        inner = page.open()
        note = inner.inner_text("#suggested:visible")
        assert note == page_message(language, "suggested")
        assert inner.evaluate(TOO_WIDE) <= 0
        page.shot(f"prelabel-{name}-{language}")
        page.let_pass(NO_GLANCE)
        inner.click("#submit")
        inner.wait_for_function(
            "() => document.getElementById('progress').textContent.includes('1')"
        )
        page.ready()
        assert page.faults == []
        first = served.read_judgements(language)
        assert {row.question: row.answer for row in first} == answers
        for row in first:
            assert row.prelabel is not None
            assert (row.prelabel.shown, row.prelabel.changed) == (True, False)


def test_a_filled_in_answer_is_not_sent_unread_and_a_changed_one_is_known(
    serve: Callable[..., Served],
) -> None:
    served = serve("choice", items=1)
    fill_pages(served, 1)
    page = served.worker(language="en")
    inner = page.open()
    page.hold_clock()
    inner.keyboard.press("Enter")  # at once: nothing was read
    assert "Check your answer" in inner.locator("#status:has-text('Check')").inner_text()
    assert served.read_judgements() == []
    page.shot("prelabel-choice-en")
    page.let_pass(0)
    inner.keyboard.press("2")
    inner.reload()
    page.ready()
    assert inner.is_visible("#suggested")  # the draft came back, and the note stays
    inner.keyboard.press("Enter")
    page.ended()
    (row,) = served.read_judgements()
    assert row.answer == "negative"
    assert row.prelabel is not None
    assert row.prelabel.changed


def test_without_a_machine_nothing_is_marked(serve: Callable[..., Served]) -> None:
    page = serve("choice", items=1).worker()
    assert page.open().is_hidden("#suggested")
