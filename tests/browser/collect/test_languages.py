"""Every worker's page in Japanese and Korean, with its dialogs open: no English left over, nothing wider than a phone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.browser.collect.conftest import Served

from nikawa.collect.form import forms
from nikawa.records import texts_inside

pytestmark = pytest.mark.slow
LATIN = re.compile(r"[A-Za-z]{2,}")
ALLOWED = {"Enter", "Esc", "Shift", "Ctrl", "Delete", "English", "IT"}
"""Keys of the keyboard, the name of a language, and a topic of KLUE-TC."""
PHONE = {"width": 360, "height": 740}
VISIBLE = """() => [document.body.innerText,
  ...[...document.querySelectorAll('[data-label]')].map((mark) => mark.dataset.label),
  ...[...document.querySelectorAll('[aria-label]')].map((part) => part.getAttribute('aria-label')),
  ...[...document.querySelectorAll('dialog')].map((dialog) => dialog.textContent)].join('\\n')"""
CLIPPED = """() => [...document.querySelectorAll('button, h1, h2, h3, label, legend, .choice span, dialog[open] *')]
  .filter((one) => one.offsetParent && !one.closest('.unseen, .long') && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).display !== 'inline' && getComputedStyle(one).overflowX === 'hidden')
  .map((one) => one.outerHTML.slice(0, 120))"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("language", ["ja", "ko"])
@pytest.mark.parametrize("name", list(forms()))
def test_a_page_and_its_dialogs_are_in_one_language(
    serve: Callable[..., Served], name: str, language: str
) -> None:
    served = serve(name)
    sample = served.form.sample
    assert sample is not None
    data = {word for text in texts_inside(sample.inputs) for word in LATIN.findall(text)}
    page = served.worker("1", language, viewport=PHONE)
    shown = page.open()
    assert set(LATIN.findall(shown.evaluate(VISIBLE))) - ALLOWED - data == set()
    assert shown.evaluate(TOO_WIDE) <= 0
    for dialog in ("guideline", "keys", "report"):
        shown.click(f"#open-{dialog}")
        shown.wait_for_selector(f"#{dialog}[open]")
        page.shot(f"{name}-{dialog}-{language}")
        assert shown.evaluate(CLIPPED) == []
        assert shown.evaluate(TOO_WIDE) <= 0
        shown.keyboard.press("Escape")
    assert page.faults == []
