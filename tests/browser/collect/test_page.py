"""The page around every form: keys, undo, reports, languages, and nothing lost whatever happens to the connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from nikawa.collect.items import sync_items
from nikawa.io.records import write_records
from nikawa.records import Example

pytestmark = pytest.mark.slow
Serve = Callable[..., Any]
LINES = ["黒い犬が川辺を走っている。", "白い犬が川辺で寝ている。", "白い犬は川辺を走っていない。"]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202e逆さま\u202c ${7*7} {{7*7}}"

CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const ground = (e) => { for (let at = e; at; at = at.parentElement) { const c = rgb(getComputedStyle(at).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  return [...document.querySelectorAll('h1, h2, h3, p, label, button, legend, summary, kbd, mark, b, .count')]
    .filter((e) => e.checkVisibility() && e.textContent.trim() && !e.disabled && !e.closest(':disabled'))
    .map((e) => { const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
      return [(a + .05) / (b + .05), e.outerHTML.slice(0, 90)]; })
    .filter(([ratio]) => ratio < 4.5);
}"""


def wait(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)


def test_keys_open_everything(serve: Serve) -> None:
    served = serve("choice", items=2)
    page = served.worker()
    inner = page.open()
    for key, dialog in (("g", "guideline"), ("?", "keys"), ("r", "report")):
        page.keys(key)
        inner.wait_for_selector(f"#{dialog}[open]")
        page.shot(f"dialog-{dialog}")
        page.keys("Escape")
        inner.wait_for_selector(f"#{dialog}:not([open])", state="attached")
    page.keys("c")
    page.typed("u 2 は入力です")
    page.keys("Escape", "2", "Enter")
    wait(lambda: served.answers() == {"label": "negative"})
    page.ready()
    page.keys("?")
    inner.uncheck("#keys-on")
    page.keys("Escape", "u", "1")
    assert inner.locator("#answer input:checked").count() == 0
    assert served.answers() == {"label": "negative"}


def test_a_long_guideline_opens_at_its_start(serve: Serve) -> None:
    page = serve("inference", items=1).worker(viewport={"width": 390, "height": 420})
    inner = page.open()
    page.keys("g")
    inner.wait_for_selector("#guideline[open]")
    top, hidden = inner.evaluate(
        "(({scrollTop, scrollHeight, clientHeight}) => [scrollTop, scrollHeight - clientHeight])"
        "(document.getElementById('guideline'))"
    )
    assert hidden > 0
    assert top == 0


def test_undo_gives_the_answer_back(serve: Serve) -> None:
    served = serve("ranked", items=1)
    page = served.worker()
    inner = page.open()
    page.keys("2", "5", "Enter")
    page.ended()
    assert served.project.code("hanako") in inner.inner_text("#ended")
    page.keys("u")
    page.ready()
    assert served.answers() == {}
    assert inner.locator("[aria-pressed=true]").count() == 2
    page.keys("5", "Enter")
    page.ended()
    assert served.answers() == {"label": ["경제"]}


def test_a_report_hands_the_item_back(serve: Serve) -> None:
    served = serve("inference", items=1)
    page = served.worker()
    inner = page.open()
    page.keys("r")
    assert inner.is_disabled("#send-report")
    page.keys("4")
    inner.fill("#report-comment", "二通りに読める")
    inner.click("#send-report")
    page.ended()
    row = served.store.read(lambda db: db.rows("SELECT code, comment FROM reports"))
    assert [tuple(found) for found in row] == [("undecidable", "二通りに読める")]


def test_half_written_text_survives(serve: Serve) -> None:
    """A reload, another language, and another device."""
    served = serve("write-contradictions", items=1)
    page = served.worker()
    inner = page.open()
    inner.fill("#field-text-0", LINES[0])
    inner.reload()
    page.ready()
    assert inner.input_value("#field-text-0") == LINES[0]
    inner.fill("#field-text-1", LINES[1])
    inner.select_option("#language", "ko")
    inner.wait_for_selector("html[lang=ko] #answer:not([hidden])")
    assert inner.input_value("#field-text-1") == LINES[1]
    inner.fill("#field-text-1", "白い犬")
    wait(lambda: '白い犬"' in str(served.store.read(lambda db: db.rows("SELECT body FROM drafts"))))
    other = served.device()
    elsewhere = other.open()
    assert elsewhere.input_value("#field-text-0") == LINES[0]
    assert elsewhere.input_value("#field-text-1") == "白い犬"


def test_a_lost_connection_loses_nothing(serve: Serve) -> None:
    served = serve("write-contradictions", items=2)
    page = served.worker()
    inner = page.open()
    for place, text in enumerate(LINES):
        inner.fill(f"#field-text-{place}", text)
    page.context.set_offline(True)
    inner.click("#submit")
    inner.wait_for_selector("#offline:not([hidden])")
    page.shot("offline")
    assert served.read_judgements() == []
    page.context.set_offline(False)
    wait(lambda: served.answers() == {"contradictions": LINES})
    page.ready()
    assert inner.is_hidden("#offline")
    assert inner.input_value("#field-text-0") == ""


def test_a_reply_that_never_came_is_one_judgement(serve: Serve) -> None:
    """The server has the answer, the page does not know: a reload sends it again under the same key."""
    served = serve("choice", items=3)
    page = served.worker()
    inner = page.open()

    def swallow(route: Any) -> None:
        route.fetch()
        route.abort()

    inner.route("**/answer", swallow)
    page.keys("1", "Enter")
    inner.wait_for_selector("#offline:not([hidden])")
    inner.unroute("**/answer")
    inner.reload()
    page.ready()
    wait(lambda: inner.inner_text("#progress").startswith("1"))
    assert len(served.read_judgements()) == 1


def test_a_double_click_is_one_judgement(serve: Serve) -> None:
    served = serve("choice", items=3)
    page = served.worker()
    inner = page.open()
    page.keys("1")
    inner.dblclick("#submit")
    page.ready()
    wait(lambda: inner.inner_text("#progress").startswith("1"))
    assert len(served.read_judgements()) == 1


def test_rules_are_told_while_typing(serve: Serve) -> None:
    served = serve("write-contradictions", items=1)
    page = served.worker()
    inner = page.open()
    inner.fill("#field-text-0", LINES[2])
    inner.fill("#field-text-1", "白い犬は川辺にいない。")
    inner.wait_for_selector("#problem-text-1:not(:empty)")
    assert "否定" in inner.inner_text("#problem-text-1")
    assert inner.get_attribute("#field-text-1", "aria-invalid") == "true"
    assert inner.inner_text("#problem-text-2") == ""
    page.shot("rules")
    inner.fill("#field-text-1", LINES[1])
    inner.wait_for_selector("#problem-text-1:empty", state="attached")


def test_an_input_method_never_submits(serve: Serve) -> None:
    served = serve("concept-question", items=1)
    page = served.worker()
    inner = page.open()
    inner.fill("#field-text-0", "野菜を切るとき下に敷くものは？")
    composing = "(e) => e.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))"
    assert (
        inner.locator("#field-text-0").evaluate(composing) is True
    )  # not taken: the browser goes on
    time.sleep(0.2)
    assert served.read_judgements() == []
    inner.press("#field-text-0", "Enter")
    page.ended()
    assert len(served.read_judgements()) == 1


def test_hostile_texts_are_shown_as_texts(serve: Serve) -> None:
    served = serve("inference", items=1, inputs={"premise": HOSTILE, "hypothesis": "𠮷" * 3000})
    page = served.worker()
    inner = page.open()
    assert inner.locator(".block-premise .text").evaluate("(e) => e.textContent") == HOSTILE
    assert inner.locator("#item img, #item script").count() == 0
    assert page.faults == []


def test_offsets_count_characters_not_halves(serve: Serve) -> None:
    served = serve("span-tagging", items=1, inputs={"text": "😀𠮷野家で윤가람을 만났다"})
    page = served.worker()
    inner = page.open()
    inner.focus(".pick")
    page.keys("ArrowRight", *["Shift+ArrowRight"] * 3, "3", "Enter")
    page.ended()
    assert served.answers() == {"spans": [{"start": 1, "end": 4, "label": "OG"}]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(serve: Serve, scheme: str) -> None:
    served = serve("span-tagging", items=1)
    page = served.worker(color_scheme=scheme)
    assert page.open().evaluate(CONTRAST) == []
    page.shot(f"colours-{scheme}")


def test_the_focus_and_the_announcements(serve: Serve) -> None:
    """A screen reader is taken to the new question, told what was saved, and taken to what is wrong."""
    served = serve("choice", items=2, assign={"items_per_worker": 5}, pay={"per_item": 15})
    page = served.worker(language="en")
    inner = page.open()
    focused = "() => document.activeElement.id || document.activeElement.name"
    assert inner.evaluate(focused) == "prompt"
    page.keys("Enter")
    inner.wait_for_selector("#problem-label:not(:empty)")
    assert inner.evaluate(focused) == "q-label"
    page.keys("1", "Enter")
    inner.wait_for_selector("#status:has-text('Saved')")
    assert inner.evaluate(focused) == "prompt"
    assert inner.inner_text("#progress") == "1 answered · 1 left"
    assert inner.inner_text("#earned") == "Earned 15 JPY (15 per item)"
    assert (
        inner.locator("#status[role=status]").count()
        == inner.locator("#problems[role=alert]").count()
        == 1
    )


def test_a_choice_may_be_sent_at_once(serve: Serve) -> None:
    served = serve("choice", items=2, form_settings={"labels": ["yes", "no"], "quick": True})
    page = served.worker()
    inner = page.open()
    inner.click(".choice >> nth=1")
    wait(lambda: served.answers() == {"label": "no"})
    page.ready()
    page.keys("1")
    page.ended()
    assert len(served.read_judgements()) == 2


def test_two_questions_keep_their_own_answers(serve: Serve) -> None:
    served = serve("write-question", items=1, form_settings={"texts": 2})
    page = served.worker()
    inner = page.open()
    context = inner.inner_text(".pick")
    wanted = []
    for place, (question, answer) in enumerate(
        (("いつ建ちましたか？", "明治"), ("何に替わりましたか？", "電灯"))
    ):
        inner.fill(f"#field-text-{place}", question)
        start = context.index(answer)
        page.drag(start, start + len(answer))
        inner.wait_for_selector(f".answer >> nth={place} >> text={answer}")
        wanted.append({"question": question, "answer": answer, "start": start})
    inner.reload()
    page.ready()
    page.shot("two-questions")
    inner.click("#submit")
    page.ended()
    assert served.answers() == {"questions": wanted}


def test_a_link_that_is_gone_says_so(serve: Serve) -> None:
    served = serve("choice", items=1)
    page = served.worker()
    page.page.route(
        "**/next",
        lambda route: route.fulfill(status=404, json={"error": "x", "message": "使えません"}),
    )
    page.page.goto(page.address)
    assert page.ended().inner_text("#ended-heading") == "使えません"
    assert page.page.is_hidden("#answer")


def test_the_trial_says_that_it_is_one(serve: Serve) -> None:
    served = serve("choice", items=1)
    trial = Example(id="t", inputs={"text": "まずい。"}, gold={"label": "negative"})
    write_records(served.project.folder / "pilot.jsonl", [trial], overwrite=True)
    sync_items(served.project, served.store)
    page = served.worker()
    inner = page.open()
    assert inner.is_visible("#stage")
    assert inner.is_visible("#note")
    page.keys("2", "Enter")
    inner.wait_for_selector("#stage", state="hidden")
    assert inner.is_hidden("#note")


def _held(inner: Any, key: str, times: int) -> None:
    """A key that goes down once and repeats, as the system does while it is held."""
    for _ in range(times):
        inner.keyboard.down(key)
        time.sleep(0.03)
    inner.keyboard.up(key)


@pytest.mark.parametrize("name", ["span-tagging", "translation"])
def test_what_comes_filled_in_is_sent_by_no_key_that_is_held(serve: Serve, name: str) -> None:
    served = serve(name, items=8)
    page = served.worker()
    inner = page.open()
    page.let_pass(1.1)  # the first item was looked at
    if name == "translation":
        inner.keyboard.down("Control")
    _held(inner, "Enter", 30)
    inner.keyboard.up("Control")
    wait(lambda: inner.inner_text("#progress").startswith("1"))
    page.ready()
    assert len(served.read_judgements()) == 1


def test_a_second_click_sends_nothing_that_was_not_looked_at(serve: Serve) -> None:
    served = serve("span-tagging", items=4)
    page = served.worker()
    inner = page.open()
    page.hold_clock()
    for _ in range(4):
        inner.click("#submit")
    inner.wait_for_selector("#status:text('確認して')")
    assert served.read_judgements() == []
    page.let_pass(1.1)
    inner.click("#submit")
    wait(lambda: inner.inner_text("#progress").startswith("1"))
    page.ready()
    page.hold_clock()
    inner.click("#submit")
    inner.wait_for_selector("#status:text('確認して')")
    assert len(served.read_judgements()) == 1


def test_a_held_key_neither_undoes_nor_chooses_again(serve: Serve) -> None:
    served = serve("choice", items=6, form_settings={"labels": ["yes", "no"], "quick": True})
    page = served.worker()
    inner = page.open()
    _held(inner, "1", 12)
    wait(lambda: inner.inner_text("#progress").startswith("1"))
    page.ready()
    inner.dblclick(".choice >> nth=1")
    wait(lambda: inner.inner_text("#progress").startswith("2"))
    page.ready()
    time.sleep(0.2)
    assert len(served.read_judgements()) == 2
    _held(inner, "u", 12)
    page.ready()
    assert len(served.read_judgements()) == 1


KEY = """([key, code, shiftKey]) => document.activeElement.dispatchEvent(
  new KeyboardEvent('keydown', { key, code, shiftKey, bubbles: true, cancelable: true }))"""


@pytest.mark.parametrize(("key", "code"), [("ㅎ", "KeyG"), ("き", "KeyG"), ("ｇ", "KeyG")])
def test_keys_work_in_hangul_and_kana_mode(serve: Serve, key: str, code: str) -> None:
    served = serve("choice", items=2)
    page = served.worker(language="ko")
    inner = page.open()
    for letter, place, shift, dialog in (
        (key, code, False, "guideline"),
        ("ㄱ", "KeyR", False, "report"),
        ("・", "Slash", True, "keys"),
    ):
        inner.evaluate(KEY, [letter, place, shift])
        inner.wait_for_selector(f"#{dialog}[open]")
        page.keys("Escape")
        inner.wait_for_selector(f"#{dialog}:not([open])", state="attached")
    inner.evaluate(KEY, ["ぬ" if key != "ㅎ" else "１", "Digit1", False])
    assert inner.locator("#answer input:checked").count() == 1
    page.keys("Enter")
    wait(lambda: len(served.read_judgements()) == 1)
