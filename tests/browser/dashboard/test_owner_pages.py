"""The owner's pages in a real browser: figures that update, the artifact gate, decisions that overwrite nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from nikawa.records import Example

pytestmark = pytest.mark.slow
Own = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202e逆さま\u202c"
LABELS = ("entailment", "contradiction", "neutral")


def pairs(count: int) -> list[Example]:
    return [
        Example(id=f"p{n:03}", inputs={"premise": f"{n}匹の犬が庭にいる。", "hypothesis": f"犬が{n}匹いる。"})
        for n in range(count)
    ]


def labels(count: int) -> list[tuple[str, str, str, float]]:
    rows = []
    for n in range(count):
        for place, worker in enumerate(("aki", "beni", HOSTILE)):
            right = Random(f"{n} {worker}").random() < (0.9, 0.8, 0.2)[place]
            label = LABELS[n % 3] if right else LABELS[(n + 1) % 3]
            rows.append((worker, f"p{n:03}", label, (6.0, 9.0, 1.5)[place]))
    return rows


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_the_dashboard_shows_and_updates(own: Own, language: str) -> None:
    owned = own("choice", pairs(40), labels=list(LABELS))
    owned.take(labels(30))
    page = owned.log_in(language=language)
    page.wait_for_selector("#map circle")
    owned.shot(page, f"dashboard-{language}")
    assert page.locator("#map circle").count() == 3
    assert page.locator("#agreement tbody tr").count() > 3
    assert page.locator("#agreement .whisker").count() > 0
    assert page.locator("#workers tbody tr").count() == 3
    assert HOSTILE in page.locator("#workers").inner_text()
    assert "30" in page.locator("#complete").inner_text()
    owned.take(labels(40)[90:])
    page.wait_for_function("() => document.getElementById('complete').textContent.match(/40.*40/)")
    assert owned.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_gate_names_words_and_writers(own: Own, scheme: str) -> None:
    owned = own(
        "write-hypotheses", [Example(id=e.id, inputs={"premise": e.inputs["premise"]}) for e in pairs(40)]
    )
    rows = []
    for n in range(40):
        for worker in ("nagi", "mado"):
            drawn = Random(f"{n} {worker}")
            texts = [
                f"{drawn.choice('犬猫馬鳥')}が{drawn.choice('山海庭町')}で{drawn.choice(('走る', '眠る'))}。"
                for _ in LABELS
            ]
            texts[1] = texts[1].replace("。", "わけがまったくない。") if worker == "mado" else texts[1]
            rows.append((worker, f"p{n:03}", texts, 30.0))
    owned.take(rows)
    page = owned.log_in(
        color_scheme=scheme, viewport={"width": 420 if scheme == "dark" else 1200, "height": 900}
    )
    page.wait_for_selector("#verdict.notice")
    owned.shot(page, f"gate-{scheme}")
    row = page.locator("#gate tbody tr", has_text="まったく").first.inner_text()
    assert "contradiction" in row
    assert "mado (40)" in row
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert owned.faults == []


def test_a_project_that_nobody_answered_yet(own: Own) -> None:
    page = own("choice", pairs(2), labels=list(LABELS)).log_in()
    assert page.locator("#agreement").inner_text().endswith("Agreement needs an item with two answers.")
    assert "No text to look at yet" in page.locator("#gate").inner_text()


def test_a_worker_is_excluded_with_a_reason_and_comes_back(own: Own) -> None:
    owned = own("choice", pairs(30), labels=list(LABELS))
    owned.take(labels(30))
    page = owned.log_in()
    page.wait_for_selector("#workers .flag")
    first = page.locator("#workers tbody tr").first
    assert HOSTILE in first.inner_text()
    first.get_by_role("button", name="Exclude").click()
    page.click("#ask .main")
    assert page.locator("#ask[open]").count() == 1  # no reason, no exclusion
    page.fill("#ask-reason", "too fast")
    owned.shot(page, "exclude")
    page.click("#ask .main")
    page.get_by_role("button", name="Reinstate").click()
    page.fill("#ask-reason", "asked, and it was fine")
    page.click("#ask .main")
    page.wait_for_function("() => !document.querySelector('#workers').textContent.includes('Reinstate')")
    assert owned.faults == []


def test_decisions_are_judgements_and_stay(own: Own) -> None:
    examples = [*pairs(2), Example(id="odd", inputs={"premise": HOSTILE, "hypothesis": HOSTILE})]
    owned = own("choice", examples, labels=list(LABELS))
    split = [
        (worker, item.id, label, 4.0)
        for item in examples
        for worker, label in zip("abc", LABELS, strict=True)
    ]
    owned.take([*split[3:], ("a", "p000", "neutral", 4.0), ("b", "p000", "neutral", 4.0)])
    page = owned.log_in()
    page.get_by_role("link", name="Disagreements").click()
    page.wait_for_selector(".case")
    assert page.locator(".case").evaluate_all("all => all.map((one) => one.dataset.ref)") == ["odd", "p001"]
    case = page.locator('[data-ref="p001"]')
    assert case.locator(".side li").all_inner_texts() == ["a (4 s)", "b (4 s)", "c (4 s)"]
    case.locator("input[type=radio]").nth(1).check()
    case.get_by_role("button", name="Decide").click()
    assert owned.decisions() == []  # a reason is needed
    case.get_by_label("Reason").fill("the number differs")
    case.get_by_role("button", name="Decide").click()
    case.locator(".decision").wait_for()
    case.locator("select").select_option("neutral")
    case.get_by_label("Reason").fill("no, it may be either")
    case.get_by_role("button", name="Decide").click()
    case.locator(".decision").nth(1).wait_for()
    owned.shot(page, "adjudicate")
    found = [(one.example, one.worker, one.answer) for one in owned.decisions()]
    assert found == [("p001", "decision:owner", "contradiction"), ("p001", "decision:owner", "neutral")]
    page.reload()
    case.locator(".decision").nth(1).wait_for()
    assert "Neutral" in case.locator(".decision").first.inner_text()
    page.check("#hide")
    assert case.is_hidden()
    assert owned.faults == []


def test_any_form_is_decided_even_by_another_answer(own: Own) -> None:
    owned = own("scale", pairs(2))
    owned.take([("a", "p000", 1, 4.0), ("b", "p000", 4, 4.0)])
    page = owned.log_in("reviewer", "ja")
    assert page.locator("#links, [href='/owner/export']").count() == 0  # those are the owner's
    page.goto(f"{owned.address}/owner/adjudicate")
    field = page.locator(".case .side textarea")
    for text in ("{", '{"score": 99}'):
        field.fill(text)
        page.locator(".case .field textarea").fill("間をとる")
        page.locator(".case button.main").click()
        page.wait_for_selector("#alert:not([hidden])")
    field.fill('{"score": 3}')
    page.locator(".case button.main").click()
    page.wait_for_selector(".decision")
    owned.shot(page, "adjudicate-scale")
    assert [(one.worker, one.answer) for one in owned.decisions()] == [("decision:reviewer", 3)]
