"""The owner's pages in a real browser: figures that update, the artifact gate, decisions that overwrite nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from nikawa.collect.form import forms
from nikawa.records import Example

pytestmark = pytest.mark.slow
Own = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202e逆さま\u202c"
NAME = HOSTILE.partition(" \u202e")[0]
"""What turns words around is refused as a name."""
LABELS = ("entailment", "contradiction", "neutral")


def pairs(count: int) -> list[Example]:
    return [
        Example(
            id=f"p{n:03}",
            inputs={"premise": f"{n}匹の犬が庭にいる。", "hypothesis": f"犬が{n}匹いる。"},
        )
        for n in range(count)
    ]


def labels(count: int) -> list[tuple[str, str, str, float]]:
    rows = []
    for n in range(count):
        for place, worker in enumerate(("aki", "beni", NAME)):
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
    assert NAME in page.locator("#workers").inner_text()
    assert "30" in page.locator("#complete").inner_text()
    owned.take(labels(40)[90:])
    page.wait_for_function("() => document.getElementById('complete').textContent.match(/40.*40/)")
    assert owned.faults == []


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_names_that_look_alike_are_shown(own: Own, language: str) -> None:
    """Each with the characters that tell it from the others."""
    owned = own("choice", pairs(4), labels=list(LABELS))
    owned.take([(name, "p000", "neutral", 5.0) for name in ("aki", "beni")])
    page = owned.log_in(language=language)
    page.wait_for_selector("#workers tbody tr")
    assert page.locator("#look-alikes").count() == 0
    owned.take([("\u0430ki", "p000", "neutral", 5.0)])
    page.wait_for_selector("#look-alikes li")
    assert page.locator("#look-alikes li").inner_text() == "aki (U+0061), \u0430ki (U+0430)"
    owned.shot(page, f"look-alikes-{language}")
    assert owned.faults == []


@pytest.mark.parametrize(
    ("language", "last", "first"),
    [
        (
            "en",
            r"^Analyses as of .*\d:\d\d.*, now updating$",
            "^The first analysis is running$",
        ),
        ("ja", r"^.*\d:\d\d.*時点の分析（更新中）$", "^最初の分析を実行中$"),
    ],
    ids=["en", "ja"],
)
def test_it_says_of_what_time_the_analyses_are(
    own: Own, language: str, last: str, first: str
) -> None:
    """The last ones stand while newer ones are made; before the first, nothing is said of agreement."""
    owned = own("choice", pairs(6), labels=list(LABELS))
    owned.take(labels(6))
    page, state = owned.enter("/owner", locale=language), {"at": 1_700_000_000.0, "working": True}

    def told(route: Any) -> None:
        reply = route.fetch()
        data = {**reply.json(), "analysed": {"judged": dict(state), "gate": dict(state)}}
        none = {"judged": None, "gate": None}
        route.fulfill(response=reply, json=data if state["at"] else {**data, "analyses": none})

    page.wait_for_selector("#agreement tbody tr")
    page.route("**/owner/data", told)
    shown = "pattern => new RegExp(pattern).test(document.getElementById('analysed').textContent)"
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # looks at once
    page.wait_for_function(shown, arg=last)
    assert page.locator("#agreement tbody tr").count() > 3
    state["at"] = None  # type: ignore[assignment]
    page.reload()
    page.wait_for_function(shown, arg=first)
    assert page.locator("#agreement tbody tr").count() == 0
    assert page.locator("#agreement .empty").count() == 1
    assert page.locator("#workers tbody tr").count() == 3
    assert owned.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_gate_names_words_and_writers(own: Own, scheme: str) -> None:
    owned = own(
        "write-hypotheses",
        [Example(id=e.id, inputs={"premise": e.inputs["premise"]}) for e in pairs(40)],
    )
    rows = []
    for n in range(40):
        for worker in ("nagi", "mado"):
            drawn = Random(f"{n} {worker}")
            texts = [
                f"{drawn.choice('犬猫馬鳥')}が{drawn.choice('山海庭町')}で{drawn.choice(('走る', '眠る'))}。"
                for _ in LABELS
            ]
            texts[1] = (
                texts[1].replace("。", "わけがまったくない。") if worker == "mado" else texts[1]
            )
            rows.append((worker, f"p{n:03}", texts, 30.0))
    owned.take(rows)
    page = owned.log_in(
        color_scheme=scheme, viewport={"width": 420 if scheme == "dark" else 1200, "height": 900}
    )
    page.wait_for_selector("#verdict.notice")
    owned.shot(page, f"gate-{scheme}")
    row = page.locator("#gate tbody tr", has_text="まったく").first.inner_text()
    assert "Must be false" in row  # the label by its name
    assert "mado (40)" in row
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert owned.faults == []


def test_a_project_that_nobody_answered_yet(own: Own) -> None:
    effort = {"effort": {"most": 5}}
    page = own("choice", pairs(2), effort, labels=list(LABELS)).log_in()
    saved = page.locator("#effort").inner_text()
    assert "0 answers so far; 5 workers for every item would give 10" in saved
    assert (
        page.locator("#agreement")
        .inner_text()
        .endswith("Agreement needs at least one item with two answers.")
    )
    assert "There are no texts to check yet" in page.locator("#gate").inner_text()


def test_a_worker_is_excluded_with_a_reason_and_comes_back(own: Own) -> None:
    owned = own("choice", pairs(30), labels=list(LABELS))
    owned.take(labels(30))
    page = owned.log_in()
    page.wait_for_selector("#workers .flag")
    first = page.locator("#workers tbody tr").first
    assert NAME in first.inner_text()
    first.get_by_role("button", name="Exclude").click()
    page.click("#ask .main")
    assert page.locator("#ask[open]").count() == 1  # no reason, no exclusion
    page.fill("#ask-reason", "too fast")
    owned.shot(page, "exclude")
    page.click("#ask .main")
    page.wait_for_selector("#workers button:text('Reinstate')")
    facts = page.locator("#progress .facts div").all_inner_texts()
    assert [fact.split("\n") for fact in facts[:2]] == [
        ["Answers", "60"],
        ["Answers needed", "90"],
    ]
    assert facts[5].split("\n") == ["Not counted (excluded, withdrawn, surplus)", "30"]
    owned.shot(page, "excluded")
    page.get_by_role("button", name="Reinstate").click()
    page.fill("#ask-reason", "asked, and it was fine")
    page.click("#ask .main")
    page.wait_for_function(
        "() => !document.querySelector('#workers').textContent.includes('Reinstate')"
    )
    page.click("#audit summary")
    page.wait_for_selector("#audit tbody tr")
    told = [row.inner_text() for row in page.locator("#audit tbody tr").all()[:2]]
    assert "reinstate" in told[0]
    assert "asked, and it was fine" in told[0]
    assert "too fast" in told[1]
    assert NAME in told[1]
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
    listed = page.locator("#cases button")
    listed.nth(1).wait_for()
    assert listed.evaluate_all("all => all.map((one) => one.dataset.ref)") == ["odd", "p001"]
    assert HOSTILE in page.locator("#item").inner_text()
    listed.nth(1).click()
    assert page.locator(".side li").all_inner_texts() == ["a (4 s)", "b (4 s)", "c (4 s)"]
    page.get_by_role("button", name="Contradiction").click()
    page.get_by_role("button", name="Decide", exact=True).click()
    assert owned.decisions() == []  # a reason is needed
    page.get_by_label("Reason").fill("the number differs")
    listed.nth(0).click()
    assert page.get_by_label("Reason").input_value() == ""
    listed.nth(1).click()  # what was begun is there again
    assert page.get_by_label("Reason").input_value() == "the number differs"
    assert page.locator("#answer input:checked").get_attribute("value") == "1"
    page.keyboard.press("Control+Enter")
    page.locator(".decision").wait_for()
    page.keyboard.press("3")  # as on a worker's page
    page.get_by_label("Reason").fill("no, it may be either")
    page.get_by_role("button", name="Decide", exact=True).dblclick()
    page.locator(".decision").nth(1).wait_for()
    owned.shot(page, "adjudicate")
    found = [(one.example, one.worker, one.answer) for one in owned.decisions()]
    assert found == [
        ("p001", "decision:owner", "contradiction"),
        ("p001", "decision:owner", "neutral"),
    ]
    page.reload()
    page.locator(".decision").nth(1).wait_for()
    assert "Neutral" in page.locator(".decision").first.inner_text()
    page.check("#hide")
    listed.nth(0).click()
    assert listed.count() == 1
    assert owned.faults == []


ANOTHER: dict[str, tuple[dict[str, Any], str]] = {
    "inference": ({"label": "neutral", "naturalness": "both"}, "必ず正しい"),
    "multiple-choice": ({"choice": 3}, "傘"),
    "ranked": ({"label": ["스포츠"]}, "생활문화"),
    "span-tagging": ({"spans": []}, "한결시 地名"),
    "write-hypotheses": ({"hypotheses": ["두부", "두부", "두부"]}, "할머니는 매일 시장에 간다."),
    "write-question": ({"questions": []}, "石油ランプ"),
    "relation": ({"relation": "no_relation"}, ""),
    "dialogue": ({"dialogue": {"how": "self", "turns": []}}, "물안개여관이 있습니다."),
    "dialogue-states": ({"states": [[], []]}, "숙소-이름-물안개여관"),
    "tree": (
        {"tree": {"heads": [2, 4, 4, 0], "labels": ["NP_SBJ", "NP_OBJ", "AP", "VP"]}},
        "하루가 → 쳤다.",
    ),
    "acceptability": ({"label": "acceptable", "other": "acceptable"}, "言えない"),
    "preference": ({"better": "b", "by": 1}, "内容が正しい"),
    "best-worst": ({"best": "A", "worst": "C"}, "少々お待ちください"),
    "multiple-selection": ({"labels": ["anger"]}, "喜び"),
    "reading": ({"questions": []}, "石油ランプ"),
    "reading-answers": ({"answers": {"text": "", "start": -1}}, "석유등"),
    "free-text": ({"text": "朝市だ。"}, "焼きたての魚"),
    "translation": ({"japanese": "Two cats are asleep on a bench."}, "寝ている"),
}
"""An answer unlike the form's sample, and what of the sample is to be read among the answers given."""


@pytest.mark.parametrize("name", list(ANOTHER))
def test_any_form_is_decided_in_its_own_page(own: Own, name: str) -> None:
    other, told = ANOTHER[name]
    form = forms()[name]
    assert form.sample is not None
    owned = own(name, [Example(id="i", inputs=dict(form.sample.inputs))], **form.sample.settings)
    owned.give({"a": dict(form.sample.answer), "b": other})
    page = owned.enter(
        "/owner/adjudicate", "reviewer", locale="ja", viewport={"width": 390, "height": 800}
    )
    assert page.locator("[href='/owner/export']").count() == 0  # that is the owner's
    page.wait_for_selector("#case:not([hidden])")
    owned.shot(page, f"adjudicate-{name}")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("textarea").evaluate_all(
        "all => all.every((one) => !one.value.includes('{'))"
    )
    given = page.locator(".side .choice")
    assert given.count() == 2
    assert told in given.first.inner_text()
    page.fill("#reason", "読み直した")
    given.first.click()
    page.locator("#answer button.main").click()
    page.wait_for_selector(".decision")
    assert {one.question: one.answer for one in owned.decisions()} == dict(
        form.to_judgements(form.sample.answer)
    )
    assert owned.faults == []


def test_trees_are_decided_arc_by_arc(own: Own) -> None:
    """What workers share is there at once; each other word gets the arc of one of them, or one of the owner's own."""
    form = forms()["tree"]
    assert form.sample is not None
    owned = own("tree", [Example(id="i", inputs=dict(form.sample.inputs))])
    labels = ["NP_SBJ", "NP_OBJ", "AP", "VP"]
    owned.give(
        {
            "a": {"tree": {"heads": [4, 4, 2, 0], "labels": labels}},
            "b": {"tree": {"heads": [2, 4, 4, 0], "labels": ["NP_AJT", *labels[1:]]}},
        }
    )
    page = owned.enter("/owner/adjudicate", locale="en", viewport={"width": 1200, "height": 900})
    page.wait_for_selector("#case:not([hidden])")
    shown = page.locator(".word:not(.root-word)")
    assert shown.locator(".to").all_inner_texts() == ["→ ?", "→ 4", "→ ?", "→ root"]
    assert page.locator(".word.disputed").count() == 2
    assert page.locator("#tree-now").inner_text() == "1 하루가"  # the first that is open
    page.click(".sides-of .choice:has-text('a: 4')")
    assert page.locator("#tree-now").inner_text() == "3 힘껏"
    owned.shot(page, "adjudicate-arcs")
    page.click(".sides-of .choice:has-text('b: 4')")
    page.click("#word-1")
    assert page.locator(".sides-of").is_hidden()  # both say the same
    page.click("[data-value=VP_OBJ]")  # and both are wrong
    page.fill("#reason", "a on the subject, b on the adverb")
    page.locator("#answer button.main").click()
    page.wait_for_selector(".decision")
    (decision,) = owned.decisions()
    wanted = {"heads": [4, 4, 4, 0], "labels": ["NP_SBJ", "VP_OBJ", "AP", "VP"]}
    assert decision.answer == wanted
    assert owned.faults == []


def test_a_decision_is_held_to_the_rules(own: Own) -> None:
    owned = own(
        "write-hypotheses", [Example(id="i", inputs={"premise": "할머니는 아침마다 두부를 산다."})]
    )
    owned.give({"a": {"hypotheses": ["두부", "두부", "두부"]}})
    page = owned.enter("/owner/adjudicate", locale="ko")
    page.wait_for_selector(".side .problem")
    page.fill("#reason", "다시 썼다")
    page.locator("#answer button.main").click()
    page.wait_for_selector(".problem:visible:not(:empty)")
    assert owned.decisions() == []
    for place, text in enumerate(
        ("할머니는 두부를 산다.", "할머니는 콩만 산다.", "할머니는 두부를 굽는다.")
    ):
        page.fill(f"#field-text-{place}", text)
    page.locator("#answer button.main").click()
    page.wait_for_selector(".decision")
    assert len(owned.decisions()) == 1


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_answers_to_recheck_are_a_queue(own: Own, language: str) -> None:
    """From the dashboard to the most doubtful answer, with the models' answers beside; a model's name stays text."""
    owned = own("choice", pairs(12), labels=list(LABELS))
    rows = []
    for n in range(12):
        right, other = LABELS[n % 3], LABELS[(n + 1) % 3]
        rows += [("aki", f"p{n:03}", right, 6.0), ("beni", f"p{n:03}", right, 6.0)]
        rows.append(("chie", f"p{n:03}", other if n in (3, 7) else right, 6.0))
        rows.append((f"model:{NAME}#1", f"p{n:03}", other if n == 7 else right, 0.0))
    owned.take(rows)
    page = owned.log_in(language=language)
    page.wait_for_selector("#doubtful a")
    assert "1" in page.locator("#doubtful").inner_text()
    assert f"model:{NAME}#1" in page.locator("#workers").inner_text()
    assert page.locator("#workers tbody tr").count() == 4
    owned.shot(page, f"dashboard-models-{language}")
    page.click("#doubtful a")
    page.wait_for_selector("#sides .flag")
    assert page.is_checked("#recheck")
    assert page.locator("#cases li").count() == 1
    assert page.locator("#ref").inner_text() == "p003"
    flagged = page.locator("#sides li", has=page.locator(".flag"))
    assert flagged.count() == 1
    assert "chie" in flagged.inner_text()
    page.click("#models summary")
    assert f"model:{NAME}#1" in page.locator("#model-answers").inner_text()
    owned.shot(page, f"recheck-{language}")
    page.uncheck("#recheck")
    page.wait_for_function("() => document.querySelectorAll('#cases li').length === 2")
    assert page.locator("#sides .flag").count() == 0
    page.check("#recheck")
    page.wait_for_selector("#sides .flag")
    page.click("#sides .choice >> nth=0")
    page.fill("#reason", "checked")
    page.click("#answer button[type=submit]")
    page.wait_for_selector("#past .decision")
    assert [row.answer for row in owned.decisions()] == [LABELS[0]]
    assert page.locator("img").count() == 0
    assert owned.faults == []
