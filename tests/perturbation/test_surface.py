"""Surface operations: sentences made up for this, what comes of each, and what must be left alone (None)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest

from nikawa.perturbation import apply, perturbations
from nikawa.records import Example
from nikawa.text import analyser

Run = Callable[[str, str], str | None]


@pytest.fixture(scope="session")
def changed() -> Run:
    """`changed("ja/polite", text)`: the new text, or None where it is not eligible."""

    def run(name: str, text: str) -> str | None:
        example = Example(
            id="1", inputs={"premise": text, "hypothesis": text}, gold={"label": "neutral"}
        )
        language = name.partition("/")[0] if "/" in name else "ja"
        child = next(apply(perturbations()[name], [example], analyser(language)), None)
        assert child is None or child.inputs["hypothesis"] == text
        return None if child is None else str(child.inputs["premise"])

    return run


JAPANESE = (
    ("猫が眠っています。", "猫が眠っている。"),
    ("彼女は学生です", "彼女は学生だ"),
    ("夜は静かでした。", "夜は静かだった。"),
    ("狐は行きませんでした！", "狐は行かなかった！"),
    ("塔は高いです。", "塔は高い。"),
    ("塔は高くありません。", "塔は高くない。"),
    ("塔は高くありませんでした。", "塔は高くなかった。"),
    ("これは本ではありません。", "これは本ではない。"),
    ("猫じゃありませんでした。", "猫じゃなかった。"),
    ("橋まで行きましょう。", "橋まで行こう。"),
    ("雨が降るでしょう。", "雨が降るだろう。"),
    ("月が見られます", "月が見られる"),
    ("狸は桃を食べたいです。", "狸は桃を食べたい。"),
    ("狐は笑っていません", "狐は笑っていない"),
    ("狐は走りませんでした。", "狐は走らなかった。"),
    ("父は医者でした。", "父は医者だった。"),
    ("魔女が来ました。", "魔女が来た。"),
    ("皆で勉強しました。", "皆で勉強した。"),
    ("魚が泳ぎました。", "魚が泳いだ。"),
    ("鍵がなくなりました。", "鍵がなくなった。"),
    ("狐が笛を吹きます。狸は踊りました！", "狐が笛を吹く。狸は踊った！"),
    ("船が来ますよ。", "船が来るよ。"),
    ("猫が好きですね", "猫が好きだね"),
    ("行かなければなりません。", "行かなければならない。"),
    ("雨らしいです。", "雨らしい。"),
    ("狸も行ったのです。", "狸も行ったのだ。"),
    ("彼は「行く。」と言いました。", "彼は「行く。」と言った。"),
    ("桃がありません。", "桃がない。"),
    ("空が美しかったです", "空が美しかった"),
)
"""Polite and plain."""


@pytest.mark.parametrize(("polite", "plain"), JAPANESE)
def test_japanese_endings_both_ways(polite: str, plain: str, changed: Run) -> None:
    assert changed("ja/plain", polite) == plain
    assert changed("ja/polite", plain) == polite
    assert changed("ja/plain", plain) is None
    assert changed("ja/polite", polite) is None


@pytest.mark.parametrize(
    "text",
    [
        "これは何ですか。",
        "三匹の猫",
        "橋まで走れ。",
        "扉を開けてください。",
        "",
        "。",
        "だ",
        "です",
        "ない",
    ],
)
def test_no_statement_keeps_its_ending(text: str, changed: Run) -> None:
    assert changed("ja/polite", text) is None
    assert changed("ja/plain", text) is None


@pytest.mark.parametrize(
    ("polite", "plain"),
    [
        ("明日は雨が降ります。", "明日は雨が降る。"),
        ("山では雪も降りました。", "山では雪も降った。"),
        ("狐はバスを降りました。", "狐はバスを降りた。"),
        ("狐は駅で降ります。", "狐は駅で降りる。"),
        ("狐は山をおります。", "狐は山をおりる。"),
        ("狐は山に降ります。", None),
        ("狐は家におります。", None),
        ("狐は坂を下りました。", None),
        ("狐は恩に報います。", None),
    ],
)
def test_a_stem_of_two_verbs_is_settled_or_left(
    polite: str, plain: str | None, changed: Run
) -> None:
    assert changed("ja/plain", polite) == plain


@pytest.mark.parametrize(
    ("plain", "polite"),
    [
        ("狐は食べすぎだ。", None),
        ("狐は食べすぎだった。", None),
        ("狐は水を飲んだ。", "狐は水を飲みました。"),
        ("それはありうる。", "それはありえます。"),
        ("狐も王になりうる。", "狐も王になりえます。"),
    ],
)
def test_no_past_where_there_is_none_and_uru_is_eru(
    plain: str, polite: str | None, changed: Run
) -> None:
    assert changed("ja/polite", plain) == polite


@pytest.mark.parametrize(
    "stem", ["여우가 노래하였", "여우가 왕이 되었", "여우가 달을 보았", "여우가 탑을 이루었"]
)
def test_a_tense_written_in_full_stays_so(stem: str, changed: Run) -> None:
    ends = {"plain": "다.", "polite": "습니다.", "polite-informal": "어요."}
    for name, wanted in ends.items():
        for other in set(ends.values()) - {wanted}:
            assert changed(f"ko/{name}", stem + other) == stem + wanted


def test_written_style_becomes_polite(changed: Run) -> None:
    assert changed("ja/polite", "狐は賢者である。") == "狐は賢者です。"
    assert changed("ja/polite", "狐は賢者であった。") == "狐は賢者でした。"


KOREAN = (
    ("여우가 시계를 닦는다.", "여우가 시계를 닦습니다.", "여우가 시계를 닦아요."),
    ("곰이 물을 마신다", "곰이 물을 마십니다", "곰이 물을 마셔요"),
    ("곰이 산에 산다.", "곰이 산에 삽니다.", "곰이 산에 살아요."),
    ("꽃이 예쁘다.", "꽃이 예쁩니다.", "꽃이 예뻐요."),
    ("그는 의사다.", "그는 의사입니다.", "그는 의사예요."),
    ("그는 학생이다.", "그는 학생입니다.", "그는 학생이에요."),
    ("여우는 닦지 않는다.", "여우는 닦지 않습니다.", "여우는 닦지 않아요."),
    ("꽃이 예쁘지 않다.", "꽃이 예쁘지 않습니다.", "꽃이 예쁘지 않아요."),
    ("배가 있다.", "배가 있습니다.", "배가 있어요."),
    ("여우가 노래를 부른다.", "여우가 노래를 부릅니다.", "여우가 노래를 불러요."),
    ("밤이 조용하다.", "밤이 조용합니다.", "밤이 조용해요."),
    ("배가 고프다.", "배가 고픕니다.", "배가 고파요."),
    ("여우가 왔다. 곰은 갔다!", "여우가 왔습니다. 곰은 갔습니다!", "여우가 왔어요. 곰은 갔어요!"),
    ("그는 “간다”고 말했다.", "그는 “간다”고 말했습니다.", "그는 “간다”고 말했어요."),
    ("그는 도둑이 아니다.", "그는 도둑이 아닙니다.", "그는 도둑이 아니에요."),
    ("여우가 곰을 돕는다.", "여우가 곰을 돕습니다.", "여우가 곰을 도와요."),
    ("여우가 음악을 듣는다.", "여우가 음악을 듣습니다.", "여우가 음악을 들어요."),
    ("여우가 갈 것이다.", "여우가 갈 것입니다.", "여우가 갈 것이에요."),
    ("곰은 자고 있었다.", "곰은 자고 있었습니다.", "곰은 자고 있었어요."),
)
"""Plain, polite and informal polite."""


@pytest.mark.parametrize("row", KOREAN, ids=lambda row: row[0])
def test_korean_endings_all_ways(row: tuple[str, str, str], changed: Run) -> None:
    for name, wanted in zip(("ko/plain", "ko/polite", "ko/polite-informal"), row, strict=True):
        assert {changed(name, text) for text in row} == {wanted, None}


@pytest.mark.parametrize(
    "text",
    [
        "문을 닫아요.",
        "어서 가세요.",
        "같이 갑시다.",
        "어디에 갑니까?",
        "여우가 웃네요.",
        "큰 여우",
        "다",
        "요",
        "",
    ],
)
def test_no_statement_keeps_its_korean_ending(text: str, changed: Run) -> None:
    assert {changed(f"ko/{name}", text) for name in ("plain", "polite", "polite-informal")} == {
        None
    }


def test_contracted_thing_and_honorific(changed: Run) -> None:
    assert changed("ko/polite", "여우가 할 거예요.") == "여우가 할 겁니다."
    assert changed("ko/plain", "왕이 말하십니다.") == "왕이 말하신다."
    assert changed("ko/polite-informal", "왕이 말하십니다.") is None


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("width-full", "狐がABCで3台!", "狐がＡＢＣで３台！"),
        ("width-full", "ﾊﾟﾝと \\500 'x'", "パンと \\５００ 'ｘ'"),
        ("width-full", "狐が笛を吹く。", None),
        ("width-half", "カメラ３台、「ＡＢＣ」。", "ｶﾒﾗ3台､｢ABC｣｡"),
        ("width-half", "￥ と ３ヶ月", "￥ と 3ヶ月"),
        ("width-half", "여우 ABC", None),
        ("ja/kana-hiragana", "カメラとコーヒーが３ヶ月ある", "かめらとこーひーが３ヶ月ある"),
        ("ja/kana-hiragana", "ヴァイオリン・ケース", "ゔぁいおりん・けーす"),
        ("ja/kana-hiragana", "狐がトを見る", None),
        ("ja/kana-katakana", "狐がりんごをかぶった。", "狐がリンゴをカブった。"),
        ("ja/kana-katakana", "とても楽しく過ごした", "トテモ楽しく過ごした"),
        ("ja/kana-katakana", "狐が橋にいる。", None),
        ("ja/punctuation-drop", "狐は、橋で眠って、狸が踊る。", "狐は橋で眠って狸が踊る"),
        ("ja/punctuation-drop", "犬、猫、鳥がいる", None),
        ("ja/punctuation-drop", "ここで、はきものを脱ぐ", None),
        ("ja/punctuation-drop", "眠い。。。", None),
        ("ja/punctuation-drop", "本当？", None),
        ("ja/punctuation-add", "狐は橋で眠る", "狐は、橋で眠る。"),
        ("ja/punctuation-add", "これは本ではない。", "これは、本ではない。"),
        ("ja/punctuation-add", "狐は、橋で眠る！", None),
        (
            "ko/punctuation-drop",
            "곰이 쓰고, 여우가 사과, 배를 먹었다.",
            "곰이 쓰고 여우가 사과, 배를 먹었다",
        ),
        ("ko/punctuation-drop", "곰이 왔다...", None),
        ("ko/punctuation-add", "곰이 왔다", "곰이 왔다."),
        ("ko/punctuation-add", "곰이 왔니?", None),
        ("ko/spacing-drop", "여우가 시계를 닦고 있다.", "여우가 시계를 닦고있다."),
        ("ko/spacing-drop", "고양이 세 마리를 볼 수 있다.", "고양이 세마리를 볼수 있다."),
        ("ko/spacing-drop", "아버지가 방에 들어갔다.", None),
        ("ko/spacing-add", "우체국직원이 항구에서 잤다.", "우체국 직원이 항구 에서 잤다."),
        ("ko/spacing-add", "곰이 물을 마신다.", None),
        ("ko/jamo-compatibility", "여우 A, 닭값", "ㅇㅕㅇㅜ A, ㄷㅏㄺㄱㅏㅄ"),
        ("ko/jamo-compatibility", "ㅋㅋ abc", None),
        ("ko/jamo-nfd", "여우é", unicodedata.normalize("NFD", "여우") + "é"),
        ("ko/jamo-nfd", "abc", None),
    ],
)
def test_changed_or_left_alone(name: str, text: str, wanted: str | None, changed: Run) -> None:
    assert changed(name, text) == wanted


def test_width_and_kana_and_jamo_can_be_read_back(changed: Run) -> None:
    text = "カメラガパンヴ、３台。ＡＢＣ"
    narrow = changed("width-half", text)
    assert narrow is not None
    assert changed("width-full", narrow) == text
    assert unicodedata.normalize("NFC", str(changed("ko/jamo-nfd", "여우 닭값"))) == "여우 닭값"


@pytest.mark.parametrize(
    "name",
    [
        n
        for n, p in ((n, perturbations()[n]) for n in perturbations())
        if p.name.startswith(("width", "kana", "polite", "plain", "punct", "spac", "jamo"))
    ],
)
def test_surface_operations_keep_the_label(name: str) -> None:
    assert perturbations()[name].effect == "keeps"


@pytest.mark.parametrize(
    "name",
    [
        "width-full",
        "width-half",
        "ja/kana-hiragana",
        "ko/jamo-compatibility",
        "ko/jamo-nfd",
        "ko/punctuation-add",
    ],
)
def test_the_first_text_changes_and_questions_too(name: str) -> None:
    question = Example(
        id="1", inputs={"context": "A カメラ 곰", "question": "A カメラ 곰"}, gold={"answers": []}
    )
    (child,) = apply(perturbations()[name], [question], analyser("characters"))
    assert child.inputs["context"] == question.inputs["context"]
    assert child.inputs["question"] != question.inputs["question"]
