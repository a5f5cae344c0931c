"""Normal forms and the way back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.errors import UnknownName
from nikawa.text.normalise import FORMS, normalise, normalise_with_offsets

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(
        "かｶﾞﾟﾊｱ\u3099\u309a각ᄀ의ㄳㅎㅏ\u1161\u11a8ﾡￂ㍿㌔ﷺé\u0301\u0344\u0b47\u0b3e ａＡ１ \u3000\t\n\\`\"'“”’￥"
    ),
    max_size=20,
)


def test_full_width_as_zenhan() -> None:
    text = "ab AZ09 !\"#'()\\^`~ ｱｶﾞﾊﾟｳﾞｯｰ｡､･｢｣ 猫か漢"
    assert normalise(text, "fullwidth") == (
        "ａｂ\u3000ＡＺ０９\u3000！”＃’（）￥＾‘～\u3000アガパヴッー。、・「」\u3000猫か漢"
    )
    assert normalise("ｱﾞﾟaﾞ", "fullwidth") == "ア゛゜ａ゛"


def test_the_form_of_zenhan_has_its_own_hyphen_and_tilde() -> None:
    """Both characters as `zenhan.h2z` of zenhan 0.5.2 writes them; all others are as in `fullwidth`."""
    assert normalise("a-b~c", "zenhan") == "ａ\u2212ｂ\u301cｃ"
    text = "ab AZ09 !\"#'()\\^` ｱｶﾞﾊﾟｳﾞｯｰ｡､･｢｣ 猫か漢"
    assert normalise(text, "zenhan") == normalise(text, "fullwidth")


def test_half_width_is_the_way_back() -> None:
    text = "ab AZ09 !\"#'()\\^`~ ｱｶﾞﾊﾟｳﾞｯｰ｡､･｢｣ 猫"
    assert normalise(normalise(text, "fullwidth"), "halfwidth") == text


def test_unicode_forms() -> None:
    assert normalise("か\u3099㍿ｶﾞ", "nfc") == "が㍿ｶﾞ"
    assert normalise("か\u3099㍿ｶﾞ") == "が株式会社ガ"
    assert normalise("\u1112\u1161\u11ab글", "nfc") == "한글"


def test_jamo_that_join_the_syllable_before_them() -> None:
    done = normalise_with_offsets("의ㄳ ㅎㅏ", "nfkc")
    assert done.text == normalise("의ㄳ ㅎㅏ") == "읛 하"
    assert done.original(0, 1) == (0, 2)


def test_spaces() -> None:
    assert normalise(" 犬\u3000 と\n猫\t", "spaces") == "犬 と 猫"
    assert normalise("  ", "spaces") == ""


def test_forms_are_applied_from_left_to_right() -> None:
    assert normalise("Ａ\u3000 ｂ ", "nfkc+spaces") == "A b"
    assert normalise("a  b", "spaces+fullwidth") == "ａ\u3000ｂ"


def test_offsets_lead_back() -> None:
    text = "新㍿ の ｶﾞﾗｽか\u3099"
    done = normalise_with_offsets(text, "nfkc+spaces")
    assert done.text == "新株式会社 の ガラスが"
    at = done.text.index("株式")
    assert done.original(at, at + 2) == (1, 2)
    at = done.text.index("ガラス")
    start, end = done.original(at, at + 3)
    assert text[start:end] == "ｶﾞﾗｽ"
    start, end = done.original(len(done.text) - 1, len(done.text))
    assert text[start:end] == "か\u3099"
    assert done.original(0, 0) == (0, 0)
    assert done.original(len(done.text), len(done.text)) == (len(text), len(text))


def test_offsets_after_trimming_and_of_nothing() -> None:
    done = normalise_with_offsets("  犬  猫 ", "spaces")
    assert (done.text, done.starts, done.ends) == ("犬 猫", (2, 3, 5), (3, 5, 6))
    assert normalise_with_offsets("", "nfkc").original(0, 0) == (0, 0)


@settings(max_examples=400, deadline=None, database=None)
@given(TEXTS, st.sampled_from([*FORMS, "nfkc+spaces", "halfwidth+nfc"]))
def test_with_offsets_is_the_same_text(text: str, form: str) -> None:
    done = normalise_with_offsets(text, form)
    assert done.text == normalise(text, form)
    assert len(done.starts) == len(done.ends) == len(done.text)
    assert all(0 <= a < b <= len(text) for a, b in zip(done.starts, done.ends, strict=True))
    assert list(done.starts) == sorted(done.starts)


@settings(max_examples=200, deadline=None, database=None)
@given(TEXTS, st.sampled_from(["nfc", "nfkc"]))
def test_a_stretch_normalises_to_its_image(text: str, form: str) -> None:
    done = normalise_with_offsets(text, form)
    for i, character in enumerate(done.text):
        start, end = done.original(i, i + 1)
        assert character in unicodedata.normalize(form.upper(), text[start:end])  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None, database=None)
@given(TEXTS, st.sampled_from([*FORMS]))
def test_forms_are_stable(text: str, form: str) -> None:
    once = normalise(text, form)
    if form != "halfwidth":  # ガ written as カ゛ becomes ｶﾞ, which is read as one character
        assert normalise(once, form) == once


def test_a_wrong_form_gets_suggestions() -> None:
    with pytest.raises(
        UnknownName, match="there is no normal form 'nfck'; did you mean 'nfc' or 'nfkc'"
    ):
        normalise("犬", "nfck")
