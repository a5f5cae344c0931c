"""The owner's pages in Japanese and Korean: no English on them, and no page that is wider than a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from nikawa.collect.workers import exclude, find_worker_by_name
from nikawa.records import Example

pytestmark = pytest.mark.slow
Own = Callable[..., Any]
LABELS = ("entailment", "contradiction", "neutral")
PHONE = {"width": 360, "height": 740}
ALLOWED = {"owner", "answers"}
"""The name that the owner logs in with, and the file that the answers came from."""
TEXTS = {
    "ja": ("{}匹の犬が庭にいる。", "犬が{}匹いる。", "{}匹の猫が寝ている。", "わたし{}"),
    "ko": ("개 {}마리가 마당에 있다.", "개가 {}마리 있다.", "고양이 {}마리가 잔다.", "사람{}"),
}
VISIBLE = """() => [document.body.innerText, ...[...document.querySelectorAll('svg title')].map((one) => one.textContent),
  ...[...document.querySelectorAll('[aria-label]')].map((one) => one.getAttribute('aria-label'))].join('\\n')"""
TOO_WIDE = """() => [...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll, svg, dialog, .unseen, #cases')
  && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((one) => one.outerHTML.slice(0, 120))"""


def english_words(page: Any) -> set[str]:
    """The words in Latin letters that somebody sees or hears; completion codes are none."""
    page.evaluate("() => document.querySelectorAll('code').forEach((one) => one.remove())")
    return set(re.findall(r"[A-Za-z]{2,}", page.evaluate(VISIBLE))) - ALLOWED


def pairs(language: str, count: int) -> list[Example]:
    first, second, other, _ = TEXTS[language]
    return [
        Example(
            id=f"{n:03}",
            inputs={"premise": first.format(n), "hypothesis": (second, other)[n % 2].format(n)},
        )
        for n in range(count)
    ]


def rows(language: str, count: int) -> list[tuple[str, str, str, float]]:
    name = TEXTS[language][3]
    answers = []
    for n in range(count):
        for worker in range(3):
            right = Random(f"{n} {worker}").random() < (0.9, 0.8, 0.2)[worker]
            label = LABELS[n % 3] if right else LABELS[(n + 1) % 3]
            answers.append((name.format(worker), f"{n:03}", label, (6.0, 9.0, 1.5)[worker]))
    return answers


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_dashboard_speaks_the_owners_language_on_a_phone(own: Own, language: str) -> None:
    owned = own("inference", pairs(language, 240))
    owned.take(rows(language, 220))
    worker, reason = (
        TEXTS[language][3].format(2),
        "3 of 5 control items right since they were taken back",
    )

    def spoil(db: Any) -> None:
        spoiler = find_worker_by_name(db, worker)
        assert spoiler is not None
        exclude(db, spoiler, reason, "server", 2.0)
        db.execute(
            "INSERT INTO reports (item, worker, lease, key, code, comment, at) VALUES (3, 1, 'l', 'k', 'broken', '', 2.0)"
        )
        db.execute("UPDATE items SET reports = 1 WHERE id = 3")

    owned.store.write(spoil)
    page = owned.log_in(language=language, viewport=PHONE)
    page.wait_for_selector("#map circle")
    page.wait_for_selector("#gate table")
    page.click("#audit summary")
    page.wait_for_selector("#audit table")
    page.evaluate(
        "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    page.wait_for_timeout(100)
    owned.shot(page, f"dashboard-phone-{language}")
    assert english_words(page) == set()
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    page.goto(f"{owned.address}/owner/adjudicate")
    page.wait_for_selector("#case:not([hidden])")
    owned.shot(page, f"adjudicate-phone-{language}")
    assert english_words(page) == set()
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    assert owned.faults == []
