"""Every form in every language: a worker answers it with hands on the keys or the mouse, and that is what is kept.

In Japanese and Korean the page and its dialogs have no English left over, and nothing is wider than a phone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from nikawa.collect.form import forms
from nikawa.collect.site import page_message
from nikawa.records import texts_inside
from nikawa.serve.languages import LANGUAGES

pytestmark = pytest.mark.slow
Served = Any
Page = Any

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

AUDIT = """() => {
  const faults = [];
  const named = (e) => (e.getAttribute('aria-label') || '').trim() || e.labels?.length || e.textContent.trim()
    || e.getAttribute('aria-labelledby');
  for (const e of document.querySelectorAll('input, textarea, select, button, dialog, [role=textbox], progress'))
    if (!named(e)) faults.push('no name: ' + e.outerHTML.slice(0, 120));
  for (const e of document.querySelectorAll('[aria-describedby], [aria-labelledby]'))
    for (const id of `${e.getAttribute('aria-describedby') || ''} ${e.getAttribute('aria-labelledby') || ''}`.trim().split(/\\s+/))
      if (!document.getElementById(id)) faults.push('no element ' + id);
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  if (new Set(ids).size !== ids.length) faults.push('an id twice');
  for (const e of document.querySelectorAll('#answer *'))
    if (/undefined|\\{\\w+\\}|\\[object/.test([...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join('')))
      faults.push('unfilled: ' + e.textContent.slice(0, 80));
  if (document.querySelector('[style]')) faults.push('inline style');
  if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window');
  return faults;
}"""


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202e逆さま\u202c{{7*7}}"


def hostile(value: Any) -> Any:
    """An input with markup, code and another direction behind its texts; where something stands in it does not change."""
    if isinstance(value, str):
        return f"{value} {HOSTILE}"
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [hostile(one) for one in value]
    if isinstance(value, list) and value and isinstance(value[0], dict) and "text" in value[0]:
        return [{**one, "text": hostile(one["text"])} for one in value]
    return value


def pressed(*keys: str) -> Callable[[Page, Any], None]:
    return lambda page, _: page.keys(*keys)


def written(page: Page, answer: Any) -> None:
    (texts,) = answer.values()
    page.page.click("#field-text-0")
    page.keys("Control+a")
    for text in texts if isinstance(texts, list) else [texts]:
        page.typed(text)
        page.keys("Enter")


def related(page: Page, answer: Any) -> None:
    assert page.page.locator("#fields .choice").count() < 9
    page.keys("a")
    page.typed(answer["relation"])
    assert page.page.locator("#fields .choice:visible").count() == 1
    page.page.click("#fields .choice:visible")
    page.page.click("#submit")


def clicked(page: Page, answer: Any) -> None:
    page.page.locator("#fields .choice").nth(answer["choice"]).click()
    page.page.click("#submit")


def asked(page: Page, answer: Any) -> None:
    (pair,) = answer["questions"]
    page.page.fill("#field-text-0", pair["question"])
    page.drag(pair["start"], pair["start"] + len(pair["answer"]))
    page.page.wait_for_selector(f".answer:text-is('{pair['answer']}')")
    page.page.click("#submit")


def asked_by_type(page: Page, answer: Any) -> None:
    """The first answer by mouse, the second by keys; the share that is copied is shown while typing."""
    shown = page.page
    for place, row in enumerate(answer["questions"]):
        shown.focus(f"#field-text-{place}")
        page.typed("岬の灯台は明治の中ごろに建てられたか")
        assert "94%" in shown.inner_text(f"#copied-{place}")
        assert shown.inner_text(".mark-copied") == "岬の灯台は明治の中ごろに建てられた"
        shown.wait_for_selector(f"#problem-text-{place}:has-text('94')")
        shown.fill(f"#field-text-{place}", row["question"])
        if (
            place
        ):  # back to the passage past the first question, which does not become the current one
            page.keys("Shift+Tab", "Shift+Tab")
            assert shown.evaluate("document.activeElement.className").startswith("text pick")
            page.keys("Home", *["ArrowRight"] * row["start"])
            page.keys(*["Shift+ArrowRight"] * len(row["answer"]))
        else:
            page.drag(row["start"], row["start"] + len(row["answer"]))
        shown.wait_for_selector(f".answer:text-is('{row['answer']}')")
    page.keys("Control+Enter")


def selected(page: Page, answer: Any) -> None:
    """A label that stands alone goes when another is chosen; a third label is one too many; keys and the mouse."""
    boxes = page.page.locator("#fields input")
    page.keys("5", "1")
    assert [n for n in range(5) if boxes.nth(n).is_checked()] == [0]
    page.page.locator("#fields .choice").nth(3).click()
    page.keys("2")
    assert [n for n in range(5) if boxes.nth(n).is_checked()] == [0, 3]
    page.keys("Control+Enter")


def marked_or_none(page: Page, answer: Any) -> None:
    """First that there is no answer, by its key; then the answer by keys."""
    page.keys("n")
    page.page.wait_for_selector(".choice[aria-pressed=true]")
    page.page.focus(".pick")
    page.keys(*["ArrowRight"] * answer["answers"]["start"], *["Shift+ArrowRight"] * 3)
    page.page.wait_for_selector(".choice[aria-pressed=false]")
    page.keys("Control+Enter")


def marked(page: Page, answer: Any) -> None:
    page.page.focus(".pick")
    page.keys(
        *["ArrowRight"] * answer["start"],
        *["Shift+ArrowRight"] * len(answer["answer"]),
        "Control+Enter",
    )


def tagged(page: Page, answer: Any) -> None:
    """The second span by keys, the third by mouse."""
    _, second, third = answer["spans"]
    page.page.focus(".pick")
    page.keys(
        *["ArrowRight"] * second["start"],
        *["Shift+ArrowRight"] * (second["end"] - second["start"]),
        "4",
    )
    page.drag(third["start"], third["end"])
    page.page.locator(".palette .choice").nth(1).click()
    page.page.click("#submit")


def conversed(page: Page, answer: Any) -> None:
    """The first turns by keys, a state by what is offered, another from the lists; the agent searches the table."""
    first, second, third, fourth = answer["dialogue"]["turns"]
    page.page.focus("#field-turn-0")
    page.typed(first["text"])
    page.page.click(".turn.active .offered .choice:has-text('강변')")
    page.page.focus("#field-turn-0")
    page.keys("Enter")
    page.page.wait_for_selector(".entities .use:has-text('물안개여관')")
    assert page.page.locator(".entities li").count() == 1  # the other one does not fit the state
    page.page.click(".entities .use")
    assert page.page.input_value("#field-turn-1") == "물안개여관"
    page.page.fill("#field-turn-1", second["text"])
    page.keys("Enter")
    page.typed(third["text"])
    for text in ("물안개여관", "토요일"):
        page.page.click(f".turn.active .offered .choice:has-text('{text}')")
    page.page.click("#add-turn")
    page.typed(fourth["text"])
    page.page.wait_for_function(
        "() => [...document.querySelectorAll('.met')].every((mark) => mark.classList.contains('done'))"
    )
    page.keys("Control+Enter")


def checked(page: Page, answer: Any) -> None:
    """What the writer missed is added by its key, in the second turn."""
    page.keys("n")
    page.page.wait_for_selector(".turn.active[data-user='1']")
    offered = page.page.locator(".turn.active .offered .choice").all_inner_texts()
    place = next(n for n, text in enumerate(offered) if "물안개여관" in text)
    page.keys(str(place + 1))
    page.page.locator(".turn.active .tags li:has-text('토요일') .remove").click()
    page.page.click(".turn.active .more summary")
    page.page.locator(".turn.active select").nth(0).select_option("숙소-예약 요일")
    page.page.locator(".turn.active select").nth(1).select_option("토요일")
    page.page.click(".turn.active .more button")
    page.page.click("#submit")


def parsed(page: Page, answer: Any) -> None:
    """The first word by keys, the second by clicks, the third by dragging, the last is the root."""
    inner = page.page
    inner.focus("#word-0")
    page.keys("h", *["ArrowRight"] * 3, "Enter", "1")
    inner.click("#word-1")
    inner.click("#word-3")
    inner.click("[data-value=NP_OBJ]")
    inner.drag_and_drop("#word-2", "#word-3")
    page.keys("1", "0", "1", "Control+Enter")


def preferred(page: Page, answer: Any) -> None:
    """The better text stands first or second; the reasons by a key and by the mouse."""
    first = page.page.locator(".columns .text").first.inner_text()
    page.keys("1" if first.startswith("夜の") else "5", "6")
    page.page.locator("[data-where=why] .choice").nth(3).click()
    page.page.click("#submit")


def extremes(page: Page, answer: Any) -> None:
    """The best by its key, the worst by the mouse; what was the best first gives way."""
    inner = page.page
    rows = inner.locator(".contender")
    shown = [row.split("\n")[-1] for row in inner.locator(".contender .text").all_inner_texts()]
    best, worst = (
        next(n for n, text in enumerate(shown) if part in text) for part in ("少々", "待ってろ")
    )
    page.keys(str(worst + 1))
    rows.nth(worst).locator(".pole-worst").click()
    page.keys(str(best + 1))
    page.page.click("#submit")


STEPS: dict[str, Callable[[Page, Any], None]] = {
    "choice": pressed("1", "Enter"),
    "inference": pressed("1", "4", "Enter"),
    "scale": pressed("4", "Enter"),
    "ranked": pressed("1", "4", "1", "6", "Enter"),
    "multiple-choice": clicked,
    "multiple-selection": selected,
    "relation": related,
    "write-contradictions": written,
    "write-hypotheses": written,
    "concept-question": written,
    "distractors": written,
    "translation": written,
    "free-text": written,
    "write-question": asked,
    "further-answers": marked,
    "reading": asked_by_type,
    "reading-answers": marked_or_none,
    "span-tagging": tagged,
    "dialogue": conversed,
    "dialogue-states": checked,
    "tree": parsed,
    "acceptability": pressed("2", "3", "Enter"),
    "preference": preferred,
    "best-worst": extremes,
}


def guided(page: Page, text: str) -> None:
    """The guideline is one key away, and another key leads back."""
    page.keys("g")
    page.page.wait_for_selector("#guideline[open]")
    first = text.splitlines()[0].lstrip("# ")
    assert page.page.inner_text("#guideline h2") == first
    page.keys("Escape")
    page.page.wait_for_selector("#guideline:not([open])", state="attached")


def counted(page: Page, language: str, answered: int) -> None:
    """Progress and earnings, in the worker's language, and what an item is paid."""
    wanted = page_message(language, "progress", {"answered": answered})
    page.page.wait_for_function(
        "(text) => document.getElementById('progress').textContent.startsWith(text)", arg=wanted
    )
    currency = {"ja": "円", "ko": "엔", "en": "JPY"}[language]
    values = {"amount": 10 * answered, "each": 10, "currency": currency}
    assert page.page.inner_text("#earned") == page_message(language, "earned", values)


def undone(page: Page, served: Served, worker: str) -> None:
    """The last answer comes back as it was, is paid no more, and may be sent again."""
    before = served.answers(worker)
    page.ready()
    page.keys("u")
    counted(page, worker, 0)
    assert served.answers(worker) == {}
    page.ready()
    page.keys("Control+Enter")
    counted(page, worker, 1)
    assert served.answers(worker) == before


def in_one_language(page: Page, served: Served, language: str) -> None:
    """The page and its dialogs on a phone: no English left over, nothing clipped or too wide."""
    shown, desk = page.page, page.page.viewport_size
    shown.set_viewport_size(PHONE)
    data = {
        word for text in texts_inside(served.form.sample.inputs) for word in LATIN.findall(text)
    }
    assert set(LATIN.findall(shown.evaluate(VISIBLE))) - ALLOWED - data == set()
    assert shown.evaluate(TOO_WIDE) <= 0
    for dialog in ("guideline", "keys", "report"):
        shown.click(f"#open-{dialog}")
        shown.wait_for_selector(f"#{dialog}[open]")
        page.shot(f"{served.form.name}-{dialog}-{language}")
        assert shown.evaluate(CLIPPED) == []
        assert shown.evaluate(TOO_WIDE) <= 0
        shown.keyboard.press("Escape")
        shown.wait_for_selector(f"#{dialog}:not([open])", state="attached")
    shown.set_viewport_size(desk)


def test_a_translation_is_asked_for_in_its_language(serve: Callable[..., Served]) -> None:
    served = serve(
        "translation",
        items=1,
        inputs={"korean": "고양이가 잔다.", "check": "수"},
        form_settings={"source_language": "ko", "target_language": "en"},
    )
    page = served.worker(language="ja")
    inner = page.open()
    assert inner.evaluate(AUDIT) == []
    assert inner.get_attribute(".block-korean .text", "lang") == "ko"
    assert inner.inner_text(".block-korean h3") == "韓国語"
    assert inner.get_attribute("#field-text-0", "lang") == "en"
    assert inner.inner_text("label[for=field-text-0]") == "訳文（英語）"
    inner.fill("#field-text-0", "猫が寝る。")
    inner.click("#submit")
    inner.wait_for_selector("#problem-text-0:has-text('指定された言語の文字')")
    inner.fill("#field-text-0", "A cat sleeps.")
    inner.click("#submit")
    page.ended()
    assert served.answers() == {"english": "A cat sleeps."}
    assert page.faults == []


SELECT = """([start, end]) => {
  const [range, text] = [document.createRange(), document.querySelector('.pick').firstChild.firstChild];
  range.setStart(text, start); range.setEnd(text, end);
  getSelection().removeAllRanges(); getSelection().addRange(range);
}"""
"""What the handles of a selection on a phone do, which touch events of a test do not make."""


@pytest.mark.parametrize("name", ["further-answers", "reading"])
def test_what_was_selected_stays_marked(name: str, serve: Callable[..., Served]) -> None:
    """The browser shows a selection until another place is touched; from then on the page does."""
    page = serve(name, items=1).worker(language="ja")
    inner = page.open()
    page.drag(22, 27)
    inner.wait_for_selector("output.answer:not(.empty)")
    chosen = inner.inner_text("output.answer >> nth=0")
    assert inner.locator(".mark-answer").count() == 0  # no mark under a selection that may grow
    inner.click("#prompt")
    inner.wait_for_selector(f".mark-answer:text-is('{chosen}')")
    page.drag(4, 6)  # over a text with a mark in it
    inner.wait_for_function(  # the first of them: others are empty and differ from the begin
        "(chosen) => document.querySelector('output.answer').innerText !== chosen", arg=chosen
    )
    other = inner.inner_text("output.answer >> nth=0")
    inner.click("#prompt")
    inner.wait_for_selector(f".mark-answer:text-is('{other}')")
    phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
    touched = serve(name, items=1).worker(language="ko", **phone)
    inner = touched.open()
    inner.evaluate(SELECT, [22, 27])
    inner.wait_for_selector(f"output.answer:text-is('{chosen}')")
    inner.tap("#prompt")
    inner.wait_for_selector(f".mark-answer:text-is('{chosen}')")
    assert page.faults == touched.faults == []


def test_every_form_is_walked() -> None:
    assert set(STEPS) == set(forms())


@pytest.mark.parametrize("name", list(forms()))
def test_a_form_is_answered_in_every_language(name: str, serve: Callable[..., Served]) -> None:
    served = serve(name, items=2, pay={"per_item": 10})
    assert served.form.sample is not None
    wanted = served.form.sample.answer
    for language in LANGUAGES:
        page = served.worker(language, language)
        inner = page.open()
        assert inner.evaluate("document.documentElement.lang") == language
        prompt = inner.inner_text("#prompt")
        words = served.form.words[language]
        # the sample comes with something begun, or with a pair
        message = words.get("prompt_begun") or words.get("prompt_both") or words["prompt"]
        message = message.replace("{subject}", "윤가람").replace("{answer}", "まな板")
        assert prompt[:4] == message[:4]
        assert inner.evaluate(AUDIT) == []
        page.shot(f"{name}-{language}")
        guided(page, served.project.guideline(language))
        STEPS[name](page, wanted)
        counted(page, language, 1)
        assert served.answers(language) == dict(served.form.to_judgements(wanted))
        assert page.faults == []
        loaded = page.loaded()
        assert {url.split("/")[2] for url, _ in loaded} == {served.address.removeprefix("http://")}
        assert 10_000 < sum(size for _, size in loaded) < 100_000
        if language != "en":  # with the next item, which is the same
            page.ready()
            in_one_language(page, served, language)
            assert page.faults == []
    undone(page, served, language)


@pytest.mark.parametrize("name", list(forms()))
def test_a_form_refuses_in_words_and_fits_a_phone(name: str, serve: Callable[..., Served]) -> None:
    phone = {
        "viewport": {"width": 360, "height": 740},
        "is_mobile": True,
        "has_touch": True,
        "color_scheme": "dark",
    }
    sample = forms()[name].sample
    assert sample is not None
    served = serve(
        name, items=1, inputs={key: hostile(value) for key, value in sample.inputs.items()}
    )
    page = served.worker(language="ko", **phone)
    inner = page.open()
    assert inner.evaluate(AUDIT) == []
    assert "<script>alert(2)</script>" in inner.inner_text("#work")  # to be read, not run
    assert inner.locator("#work :is(img, script, b[onclick])").count() == 0
    assert page.faults == []
    small = inner.evaluate("""() => [...document.querySelectorAll('button, .choice, select, textarea')]
      .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44).map((e) => e.outerHTML.slice(0, 90))""")
    assert small == []
    page.shot(f"{name}-phone")
    if name in ("span-tagging", "dialogue-states"):  # nothing to tag is an answer
        return
    if name == "translation":  # one to correct is there
        inner.fill("#field-text-0", "")
    inner.tap("#submit")
    inner.wait_for_selector(".problem:visible:not(:empty)")
    page.ready()
    assert served.read_judgements() == []
    page.shot(f"{name}-refused")
