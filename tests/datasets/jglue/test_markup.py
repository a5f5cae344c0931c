from __future__ import annotations

import pytest

from nikawa.datasets.jglue.markup import plain_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("ただの文。", "ただの文。"),
        ("一行目<br />二行目<br>三行目", "一行目二行目三行目"),
        ("<b>太い</b>文字と<a href='x'>先</a>", "太い文字と先"),
        ("A&amp;B &lt;良&gt;&hearts;", "A&B <良>♥"),
        ("不明な&kodama;です", "不明な&kodamaです"),
        ("&#12354;&#x3042;&#X3042;", "あああ"),
        ("&#146;と&#129;", "\u2019と\x81"),
        ("&#99999999;", "\N{REPLACEMENT CHARACTER}"),
        ("前<br />   <br />後", "前 後"),
        ("前<br /> \n <br />後", "前\n後"),
        ("前<pre>  </pre>後", "前  後"),
        ("前\u3000\u3000<br />後", "前\u3000\u3000後"),
        ("前<!-- 秘密 -->後", "前後"),
        ("前<script>var x = '悪';</script>後", "前後"),
        ("<ruby>峠<rt>とうげ</rt></ruby>道", "峠道"),
        ("前<rt>読み<b>太い</b>", "前"),
        ("閉じない<b>文", "閉じない文"),
        ("余分な</b>終わり", "余分な終わり"),
        ("前<br> </br> 後", "前  後"),
        ("3 < 5 は正しい", "3 < 5 は正しい"),
        ("AT&T と R&D部", "AT&T と R&D部"),
        ("前<?処理?>後<!DOCTYPE html>末", "前後末"),
    ],
)
def test_text_is_what_is_left_of_mark_up(markup: str, text: str) -> None:
    assert plain_text(markup) == text


def test_a_declaration_the_parser_refuses_is_left_alone() -> None:
    assert plain_text("前<![変 後") in {"前<![変 後", "前"}
