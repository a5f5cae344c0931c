"""Every step that edits or judges one text: what it takes out and what it must leave."""

from __future__ import annotations

import time

import pytest

from nikawa.cleaning import Settings, choose_steps, steps
from nikawa.cleaning.engine import Passage
from nikawa.errors import UnknownName

EDITS = [
    ("invisible", "ko", "바\u200b다로\ufeff 갔다.", "바다로 갔다."),
    ("invisible", "ja", "海\u2060へ\u00ad行った\u0007。", "海へ行った。"),
    ("invisible", "ko", "빈\u3164칸", "빈칸"),
    ("invisible", "ja", "文\u200d字", "文字"),
    ("compose", "ko", "\u1107\u1161다\u1105\u1169 \u1100\u1161\u11bb\ub2e4.", "바다로 갔다."),
    ("compose", "ko", "\uac00\u11bb다", "갔다"),
    ("compose", "ja", "か\u3099っこうと\u30cf\u309aン", "がっこうとパン"),
    (
        "html",
        "ko",
        "끝났다.<br/>그리고 <b class='x'>바다</b>로 갔다.",
        "끝났다.\n그리고 바다로 갔다.",
    ),
    ("html", "ja", "<p>A&amp;Bと<!-- 秘密 --><i>海</i></p>", "\nA&Bと海\n"),
    ("html", "ja", "<ruby>膠<rp>(</rp><rt>にかわ</rt><rp>)</rp></ruby>の店", "膠の店"),
    ("html", "ko", "앞<script>if (a < b) { x() }</script>뒤<STYLE>p{}</STYLE>", "앞뒤"),
    ("html", "ja", "<a href=\"x>y\" title='z'>店</a>へ", "店へ"),
    ("html", "ja", "&amp;amp;lt;と&amp;amp;と&amp;", "<と&と&"),
    ("html", "ko", "&#48148;&#xB2E4;&nbsp;", "바다\xa0"),
    ("hashtags", "ko", "바다가 좋다 #여름 #바다여행#JMT", "바다가 좋다  "),
    ("hashtags", "ja", "猫がいた。＃猫の日 #ねこ2", "猫がいた。 "),
    ("hashtags", "ko", "맛있다#맛집", "맛있다"),
    ("hashtags", "ja", "#kubeと#橋のタグ", "と"),
    ("brackets", "ko", "실복()은 장군( , )이다[].", "실복은 장군이다."),
    ("brackets", "ko", "장군" + "([" * 500 + "])" * 500 + "이다(a()b).", "장군이다(ab)."),
    ("brackets", "ja", "鴨川（、）は川「」である【 】。", "鴨川は川である。"),
    ("blanks", "ko", "  바다로 \t 갔다.\u00a0 ", "바다로 갔다."),
    ("blanks", "ja", "海へ\u3000行った。 \n\n 山も。\n", "海へ 行った。\n山も。"),
]
STAYS = [
    ("invisible", "ja", "葛\U000e0100城市の👩\u200d🚀と❤\ufe0fです。\n次の行。"),
    ("invisible", "ko", "보통 글이다."),
    ("compose", "ko", "옛말 \u1112\u119e과 ㅋㅋ, 갔\u11bb, 가."),
    ("compose", "ja", "か\u309aの音、\ufa19田と神田、が。"),
    ("html", "ko", "영화 <기생충>과 <email>을 봤다. 3 < 5 & 7 > 2; AT&T"),
    ("html", "ja", "a<bとc>dの間、<みかん>、&unknownthing;"),
    ("hashtags", "ko", "C#과 F# 그리고 #1 자리, example.org/#part"),
    ("hashtags", "ko", "색은 #ff9500 이고 채널은 #sig-docs 이다."),
    ("hashtags", "ja", "C#言語で#３を選ぶ。&#44032;"),
    ("hashtags", "ja", "＃は古い橋を渡る乗客のための回数券が使える会社"),
    ("brackets", "ko", "그는 (아마) 갔다 [1]. :) (-)"),
    ("brackets", "ja", "彼（かれ）は「はい」と言った。（)"),
    ("blanks", "ko", "바다로 갔다.\n산으로 갔다."),
    ("blanks", "ja", "海へ 行った。"),
]


def edited(name: str, text: str, language: str) -> str:
    find = steps()[name].edits
    assert find is not None
    return Passage(text).apply(find(text, language)).text


@pytest.mark.parametrize(("name", "language", "before", "after"), EDITS)
def test_what_goes(name: str, language: str, before: str, after: str) -> None:
    assert edited(name, before, language) == after


@pytest.mark.parametrize(("name", "language", "text"), STAYS)
def test_what_stays(name: str, language: str, text: str) -> None:
    assert edited(name, text, language) == text


def test_every_editing_step_has_cases_of_both_kinds_in_both_languages() -> None:
    ours = {s.name for s in steps().values() if s.edits and not s.pii} - {"press"}
    for name in ours:
        assert {language for n, language, *_ in EDITS if n == name} == {"ja", "ko"}
        assert {language for n, language, *_ in STAYS if n == name} == {"ja", "ko"}


HOSTILE = (
    "<!--",
    "<a '",
    "(",
    "( ",
    "&amp",
    "www.",
    "a.",
    "@a",
    "#a",
    "01-",
    "기자 ",
    "사진=",
    "ⓒ",
    "[가=",
    "가" * 9,
)


@pytest.mark.parametrize("seed", HOSTILE)
def test_hostile_text_takes_no_long_time(seed: str) -> None:
    began = time.process_time()
    for step in steps().values():
        if step.edits:
            step.edits(seed * 10_000 + "끝", "ko")
            step.edits(seed * 10_000 + "終", "ja")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("language", "text", "why"),
    [
        (
            "ko",
            "그는 漢字漢字漢字漢字漢字漢을 아주 오래 공부했다고 한다.",
            "11 Chinese or Japanese characters",
        ),
        ("ko", "그는 漢字漢字漢字漢字漢字를 아주 오래 공부했다고 한다.", ""),
        ("ko", "Open the window and 보다.", "2 of 18 letters are of the language"),
        ("ko", "2021. 3. 4.", "0 of 0 letters are of the language"),
        ("ko", "문의는 <email> 또는 <phone>으로.", ""),
        (
            "ja",
            "彼は바다바다바다바다바다바と書いた紙を壁に貼って出かけた。",
            "11 Hangul characters",
        ),
        ("ja", "彼は바다と書いた。", ""),
        ("ja", "我們明天早上去海邊看日出然後回家吃早飯再睡覺", "22 kanji without kana"),
        ("ja", "市議会本会議開会", ""),
        ("ja", "Pythonのlist型とdict型について。", "8 of 22 letters are of the language"),
    ],
)
def test_script(language: str, text: str, why: str) -> None:
    fault = steps()["script"].fault
    assert fault is not None
    assert fault(text, Settings(language=language)) == why


def test_script_by_other_numbers() -> None:
    fault = steps()["script"].fault
    assert fault is not None
    text = "Open the window and 보다."
    assert fault(text, Settings(language="ko", min_own=0.1)) == ""
    assert fault("漢字를 배운다.", Settings(language="ko", max_other=1)) != ""


@pytest.mark.parametrize(
    ("size", "why"), [(4, "4 characters"), (5, ""), (7, ""), (8, "8 characters")]
)
def test_length(size: int, why: str) -> None:
    fault = steps()["length"].fault
    assert fault is not None
    assert fault("あ" * size, Settings(language="ja", min_length=5, max_length=7)) == why


def test_choice_of_steps() -> None:
    assert [s.name for s in choose_steps(["length", "html"])] == ["html", "length"]
    assert "html" not in {s.name for s in choose_steps(without=["html"])}
    with pytest.raises(UnknownName, match="did you mean 'hashtags'"):
        choose_steps(["hashtag"])
    order = [s.place for s in choose_steps()]
    assert order == sorted(order)


def test_a_step_does_one_thing() -> None:
    for step in steps().values():
        assert (
            sum(
                (
                    step.edits is not None,
                    step.fault is not None,
                    step.late,
                    step.name == "sentences",
                )
            )
            == 1
        )
