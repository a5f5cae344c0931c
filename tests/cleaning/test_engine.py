"""Steps together: order, offsets, and that cleaning twice is cleaning once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.cleaning import Settings, choose_steps
from nikawa.cleaning.base import Pii
from nikawa.cleaning.engine import Cleaner, Passage, Rejection

NOISE = [
    "<br>",
    "<b>",
    "</b>",
    "&lt;br&gt;",
    "&amp;lt;",
    "<!-- x -->",
    "()",
    "( )",
    "（（））",
    "[",
    "]",
    "\u200b",
    "\ufeff",
    "  ",
    "\n",
    "\u3000",
    "#여름",
    "#猫",
    "@gildong",
    "gil@example.com",
    "http://example.com/?a=1",
    "010-1234-5678",
    "900101-1234567",
    "(서울=연합뉴스) 홍길동 기자 = ",
    " 홍길동 기자",
    "【札幌＝山田】",
    "〔共同〕",
    "（共同）",
    "©",
    "사진=",
    "「",
    "」",
    '"',
    "w",
    "ㅋㅋ",
    "…",
    "?",
    "!",
    "=",
    "1",
    ".",
]
WORDS = [
    "눈이 왔다.",
    "그는 떠났다",
    "바다로 갔다. ",
    "다.",
    "橋が開いた。",
    "海へ行く",
    "と言った。",
    "は",
    "漢字",
    "Open it",
]
TEXTS = st.lists(st.sampled_from(NOISE + WORDS), max_size=12).map("".join) | st.text(max_size=40)


def run(text: str, language: str, pii: Pii = "drop") -> list[Passage | Rejection]:
    cleaner = Cleaner(
        choose_steps(without=["length", "script"]), Settings(language=language, pii=pii)
    )
    return list(cleaner.clean(text))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(text=TEXTS, language=st.sampled_from(["ja", "ko"]), pii=st.sampled_from(["drop", "replace"]))
def test_cleaning_twice_is_cleaning_once(text: str, language: str, pii: Pii) -> None:
    for found in run(text, language, pii):
        if isinstance(found, Passage):
            again = run(found.text, language, pii)
            assert [a.text if isinstance(a, Passage) else a for a in again] == [found.text]


@settings(max_examples=200, deadline=None)
@given(text=TEXTS, language=st.sampled_from(["ja", "ko"]))
def test_places_lie_in_the_text_in_order(text: str, language: str) -> None:
    last = 0
    for found in run(text, language):
        start, end = (found.passage if isinstance(found, Rejection) else found).locate()
        assert last <= start <= end <= len(text)
        last = start


def test_offsets_lead_back_through_every_change() -> None:
    text = "첫째다.<br>\u200b둘째는 &lt;b&gt;바다&lt;/b&gt;()였다. 셋째다."
    found = [p for p in run(text, "ko") if isinstance(p, Passage)]
    assert [p.text for p in found] == ["첫째다.", "둘째는 바다였다.", "셋째다."]
    assert [text[slice(*p.locate())] for p in found] == [
        "첫째다.",
        "둘째는 &lt;b&gt;바다&lt;/b&gt;()였다.",
        "셋째다.",
    ]


def test_a_byline_that_comes_to_the_start_by_splitting(kept: Callable[..., list[str]]) -> None:
    text = "눈이 많이 왔다. (서울=연합뉴스) 홍길동 기자 = 비도 왔다."
    assert kept(text, "ko") == ["눈이 많이 왔다.", "비도 왔다."]


def test_personal_data_dropped_or_replaced(kept: Callable[..., list[str]]) -> None:
    text = "橋が開いた。連絡はhanako@example.jpまで。"
    assert kept(text, "ja") == ["橋が開いた。"]
    assert kept(text, "ja", pii="replace") == ["橋が開いた。", "連絡は<email>まで。"]


@pytest.mark.parametrize("text", ["<br>", "()", "#여름", "\u200b \u200b", "【札幌＝山田】"])
def test_a_text_of_which_nothing_is_left_is_told(text: str) -> None:
    (found,) = run(text, "ja")
    assert isinstance(found, Rejection)
    assert found.why == "nothing is left"


def test_counts_add_up() -> None:
    cleaner = Cleaner(choose_steps(), Settings(language="ko"))
    text = (
        "<b>첫째다.</b> 이 문장은 스무 글자가 넘기 때문에 남는다. #끝 보라 http://example.com 여기."
    )
    found = list(cleaner.clean(text))
    gone = [f for f in found if isinstance(f, Rejection)]
    assert sum(count.removed for count in cleaner.tally.counts.values()) == len(gone) == 2
    assert cleaner.tally.of("html").changed == 1
    assert cleaner.tally.of("length").removed == 1
    assert cleaner.tally.of("url").examples == ["보라 http://example.com 여기."]
    assert cleaner.tally.of("brackets").changed == 0


def test_without_the_split_a_text_stays_whole() -> None:
    cleaner = Cleaner(choose_steps(["html"]), Settings(language="ko"))
    (found,) = cleaner.clean("첫째다. <b>둘째다.</b>")
    assert isinstance(found, Passage)
    assert found.text == "첫째다. 둘째다."


def test_corpus_cleaned_twice(corpus: tuple[str, list[str]]) -> None:
    language, lines = corpus
    sentences = [
        f.text for line in lines[:600] for f in run(line, language) if isinstance(f, Passage)
    ]
    assert len(sentences) > 600
    again = [f.text for s in sentences for f in run(s, language) if isinstance(f, Passage)]
    assert again == sentences
