"""Personal data: every number and address here is invented or reserved for examples."""

from __future__ import annotations

import pytest

from nikawa.cleaning import steps
from nikawa.cleaning.engine import Passage
from nikawa.cleaning.national_ids import japanese_check, korean_check
from nikawa.cleaning.personal import find_personal_data

FOUND = [
    ("email", "메일은 gil.dong+1@example.co.kr로 보내라.", "메일은 <email>로 보내라."),
    ("email", "宛先はhanako＠example.jpです。", "宛先は<email>です。"),
    ("email", "宛先：ｈａｎａｋｏ＠ｅｘａｍｐｌｅ．ｊｐ", "宛先：<email>"),
    ("url", "ｈｔｔｐｓ：／／ｅｘａｍｐｌｅ．ｃｏｍ／ａを見よ。", "<url>を見よ。"),
    ("url", "자세히는 https://example.com/a?b=1&c=%20#d 를 보라.", "자세히는 <url> 를 보라."),
    ("url", "詳しくはwww.example.jp/橋をご覧ください。", "詳しくは<url>橋をご覧ください。"),
    ("url", "example.co.kr에서 봤다. (http://example.org)", "<url>에서 봤다. (<url>)"),
    ("url", "bit.ly/3abc와 example.kr/a, youtu.be/b9", "<url>와 <url>, <url>"),
    ("mention", "@gildong 그리고 @홍길동 봤어?", "<mention> 그리고 <mention> 봤어?"),
    ("mention", "＠hanako_1 さんへ", "<mention> さんへ"),
    ("phone", "010-1234-5678, 01012345678, 010 1234 5678", "<phone>, <phone>, <phone>"),
    ("phone", "02-123-4567이나 (031) 123-4567, 1588-1234", "<phone>이나 <phone>, <phone>"),
    ("phone", "1577-1577, (+82) 10-1234-5678, 02 123 4567", "<phone>, <phone>, <phone>"),
    ("phone", "+81 3 1234 5678、06 1234 5678", "<phone>、<phone>"),
    ("phone", "+82-10-1234-5678, 1588-9999, 070-1234-5678", "<phone>, <phone>, <phone>"),
    ("phone", "電話は03-1234-5678か０９０－１２３４－５６７８。", "電話は<phone>か<phone>。"),
    ("phone", "03(1234)5678、0120-123-456、+81-90-1234-5678", "<phone>、<phone>、<phone>"),
    ("phone", "0466-12-3456へ。", "<phone>へ。"),
    ("identity", "번호는 900101-1234567이다.", "번호는 <identity>이다."),
    ("identity", "９００１０１－２３４５６７８", "<identity>"),
]
NOT_FOUND = [
    ("email", "3 @ 500원, a@b, @gildong, 메일 주소가 없다."),
    ("email", "価格は@500円、x＠yとは違う。"),
    ("url", "끝났다.그리고 3.14는 파이다. Node.js와 ASP.NET, e.g. this"),
    ("url", "橋である．次に（ａ．ｂ）を見る．"),
    ("url", "and.so/on, log.in, 3.in/a는 없다. TCP.IO/x"),
    ("url", "版はv1.2.3。ファイルはa.txt、b.py。"),
    ("mention", "1개 @ 3,000원, gil@example.com, @ 그리고 @123"),
    ("mention", "単価は＠５００円。"),
    ("phone", "1592-1598년, 2021-03-04, 2010-2015, 1800-1850, 12-34, 010은 번호다."),
    ("phone", "1588-1598년, 1577-1600, 제1588-1234호, 05 2019 2020"),
    ("phone", "3.141592-65358, 0-0-1, 2020-12-1234, 제2019-0123호"),
    ("phone", "1980-90年代、０－３で負けた。得点は10-12-1234。"),
    ("identity", "901301-1234567, 900101-9234567, 9001011234560, 1234-567"),
    ("identity", "番号123456789012、1111 1111 1111、1234-5678-9012-3456"),
]


def replaced(name: str, text: str) -> str:
    step = steps()[name]
    assert step.edits is not None
    assert step.pii
    return Passage(text).apply(step.edits(text, "ko")).text


@pytest.mark.parametrize(("name", "before", "after"), FOUND)
def test_found(name: str, before: str, after: str) -> None:
    assert replaced(name, before) == after


@pytest.mark.parametrize(("name", "text"), NOT_FOUND)
def test_not_found(name: str, text: str) -> None:
    assert replaced(name, text) == text


@pytest.mark.parametrize(("name", "before", "after"), FOUND)
def test_a_stand_in_is_not_found_again(name: str, before: str, after: str) -> None:
    for step in steps().values():
        if step.pii and step.edits:
            assert step.name != name or not step.edits(after, "ko")


def test_check_digits() -> None:
    twelve, eleven = "900101123456", "12345678901"
    assert replaced("identity", f"{twelve}{korean_check(twelve)}") == "<identity>"
    assert replaced("identity", f"{twelve}{(korean_check(twelve) + 1) % 10}") != "<identity>"
    mine = f"{eleven}{japanese_check(eleven)}"
    assert replaced("identity", mine) == "<identity>"
    assert replaced("identity", f"{mine[:4]} {mine[4:8]} {mine[8:]}") == "<identity>"
    assert replaced("identity", f"{eleven}{(japanese_check(eleven) + 1) % 10}") != "<identity>"


def test_every_kind_has_cases() -> None:
    kinds = {s.name for s in steps().values() if s.pii}
    assert kinds == {name for name, *_ in FOUND} == {name for name, _ in NOT_FOUND}


@pytest.mark.parametrize("sign", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u200d", "\ufe0f"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("email", "メールはhan{}ako@exam{}ple.jpまで"),
        ("phone", "전화는 010-12{}34-56{}78"),
        ("identity", "번호는 90{}0101-12{}34567이다."),
    ],
)
def test_invisible_characters_hide_nothing_from_the_check(kind: str, text: str, sign: str) -> None:
    assert find_personal_data([text.replace("{}", "")], "ko") == (kind,)
    assert kind in find_personal_data([text.replace("{}", sign)], "ko")


def test_what_is_found_as_it_stands_is_found_whatever_follows_an_invisible_character() -> None:
    assert find_personal_data(["010-1234-5678\u200b90"], "ko") == ("phone",)
    assert find_personal_data(["좋은\u200b 가게다."], "ko") == ()
