"""Sentence boundaries. In the cases `|` marks a boundary; the text is the case without it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.errors import BadInput, UnknownName
from nikawa.text.sentences import sentences

JAPANESE = (
    "犬が走る。|猫が眠る。",
    "犬が走る。|猫が眠る",
    "犬が走る",
    "本当ですか？|はい、本当です！|よかった。",
    "本当ですか?|はい!|よかった。",
    "えっ！？|まさか！！|そんな。",
    "えっ⁉|まさか‼|そんな。",
    "犬が走る｡|猫が眠る｡",
    "「犬が走る。猫が眠る。」と彼は言った。|そして帰った。",
    "「犬が走る。」",
    "「そうです。」と言った。",
    "「そうですか？」って聞いた。",
    "「もう帰る。」|太郎はそう告げた。",
    "「もう帰る。」|「まだ早いよ。」|「では失礼。」",
    "「もう帰る」。|外は雨だった。",
    "『月へ行こう！』第二話を見た。|面白かった。",
    "彼は（本当は医者だ。）と名乗った。|嘘だった。",
    "それは正しい。|（理由は後で述べる。）|次に進む。",
    "犬（柴犬。三歳。）が走る。|猫は眠る。",
    "「彼は『行くな。危ない。』と叫んだ。」と書いてある。|終わり。",
    "開いたままの「括弧がある。|でも分かれる。",
    "閉じるだけの括弧がある。」|でも分かれる。",
    "円周率は３．１４です。|覚えよう。",
    "円周率は3.14です。|覚えよう。",
    "これは犬である．|次に猫を述べる．",
    "これは犬である. |次に猫を述べる.",
    "Ｎｏ．３の部屋。|鍵は無い。",
    "No.3の部屋。|鍵は無い。",
    "１．はじめに|\n犬の話をする。",
    "https://example.jp/search?q=inu&p=2を見た。|良かった。",
    "https://example.jp/検索?q=inuを見た。|良かった。",
    "Yahoo!で調べた。|何も無い。",
    "モーニング娘。の歌を聞く。|楽しい。",
    "そう……かもしれない。|でも違う。",
    "そうですか… |分かりました。",
    "彼は…黙った。",
    "楽しかったwww|明日も行く。",
    "楽しかったｗｗｗ|明日も行く。",
    "楽しかった！www|明日も行く。",
    "楽しかった（笑）|明日も行く。",
    "楽しかった（笑）。|明日も行く。",
    "楽しかった。（笑）|明日も行く。",
    "楽しかった😊|明日も行く。",
    "楽しかった！😊✨|明日も行く。",
    "りんご🍎とみかん🍊が好き。|梨も好き。",
    "wwwの話をする。|短い。",
    "すごい！と叫んだ。|誰もいない。",
    "なぜ？と思った。|答えは無い。",
    "なぜ？|とても不思議だ。",
    "犬。\n|猫。\n\n|鳥",
    "見出し|\n犬が走る。",
    "犬が走る。\u3000|猫が眠る。",
    "“犬が走る。”と言った。|帰った。",
    '"犬が走る。"と言った。|帰った。',
    "今日は2021年3月4日。|晴れ。",
    "ラ・ラ・ラと歌う。|止まる。",
    "すごい～！！|行こう♪",
    "。",
)

KOREAN = (
    "개가 뛴다. |고양이가 잔다.",
    "개가 뛴다. |고양이가 잔다",
    "개가 뛴다",
    "정말이에요? |네, 정말이에요! |다행이다.",
    "뭐라고?! |그럴 리가!! |세상에.",
    "정말이야?|그래!|좋아.",
    "파이는 3.14이다. |기억하자.",
    "가격은 3.5달러였다. |쌌다.",
    "2021. 3. 4. 서울에서 만났다. |추웠다.",
    "2021.3.4.에 만났다. |추웠다.",
    "회의는 2021. 3. 4. 열린다.",
    "1. 서론을 쓴다. |2. 본론을 쓴다.",
    "가. 목적을 밝힌다. |나. 방법을 밝힌다.",
    "네. |알겠습니다.",
    "개가 뛰었다.|그리고 고양이가 잤다.",
    "개가 뛰었어요.|고양이도요.",
    "서울.부산.대구를 돌았다. |피곤하다.",
    '"개가 뛴다. 고양이가 잔다."라고 말했다. |그리고 갔다.',
    '"개가 뛴다." 라고 말했다. |그리고 갔다.',
    "“개가 뛴다.”라며 웃었다. |그리고 갔다.",
    "'개가 뛴다.'고 말했다. |그리고 갔다.",
    '"이제 간다." |철수는 그렇게 알렸다.',
    '"이제 간다." |"벌써 가니?" |"응."',
    '그는 "왜?"라는 말만 했다. |그리고 갔다.',
    "개(진돗개. 세 살.)가 뛴다. |고양이는 잔다.",
    "그 말은 맞다. |(이유는 나중에 쓴다.) |다음으로 간다.",
    '닫히지 않은 "따옴표가 있다. |그래도 나뉜다.',
    "닫기만 하는 괄호가 있다.) |그래도 나뉜다.",
    "글쎄... 모르겠다. |그래도 간다.",
    "글쎄… 모르겠다. |그래도 간다.",
    "모르겠어요... |그래도 갑니다.",
    "모르겠다…. |그래도 간다.",
    "... 그래서 갔다. |끝.",
    "Dr. Kim이 왔다. |반갑다.",
    "U.S. 정부가 말했다. |그렇다.",
    "나는 Python. |너는 Java.",
    "주소는 example.com이다. |보자.",
    "https://example.kr/search?q=gae를 봤다. |좋았다.",
    "https://example.kr/검색?q=gae를 봤다. |좋았다.",
    "너무 웃겨요ㅋㅋㅋ |내일 또 봐요.",
    "너무 웃겨요!ㅋㅋㅋ |내일 또 봐요.",
    "너무 웃겨요. ㅋㅋㅋ |내일 또 봐요.",
    "슬퍼요ㅠㅠ |내일은 나을까요?",
    "좋아요!😊 |내일 또 봐요.",
    "좋아요. 😊 |내일 또 봐요.",
    "좋아요~!! |내일 또 봐요~",
    "왜?라고 물었다. |답은 없다.",
    "제목|\n개가 뛴다.",
    "개.\n|고양이.\n\n|새",
    "개가 뛴다。|고양이가 잔다。",
    "비율은 50%. |높다.",
    "ㄱ. 개가 뛴다. |ㄴ. 새가 난다.",
    "'90년대' 노래를 들었다. |좋다.",
    "It's 좋은 날이다. |그렇다.",
    ".",
)


def marked(text: str, language: str, newline: bool = True) -> list[str]:
    return [text[s.start : s.end] for s in sentences(text, language, newline=newline)]


@pytest.mark.parametrize("case", JAPANESE)
def test_japanese(case: str) -> None:
    assert marked(case.replace("|", ""), "ja") == [part.strip() for part in case.split("|")]


@pytest.mark.parametrize("case", KOREAN)
def test_korean(case: str) -> None:
    assert marked(case.replace("|", ""), "ko") == [part.strip() for part in case.split("|")]


def test_a_line_break_need_not_end_a_sentence() -> None:
    assert marked("犬が庭を\n走る。猫は\n\n眠る", "ja", newline=False) == [
        "犬が庭を\n走る。",
        "猫は",
        "眠る",
    ]
    assert marked("개가 마당에서\n뛴다. 새는\n \n난다", "ko", newline=False) == [
        "개가 마당에서\n뛴다.",
        "새는",
        "난다",
    ]


ALPHABET = st.text(
    st.sampled_from("犬たと개다라고 \n\u3000。.．！?…「」『（)\"'w😊ㅋ3a笑・~"), max_size=40
)


@settings(max_examples=300, deadline=None, database=None)
@given(ALPHABET | st.text(max_size=20), st.sampled_from(["ja", "ko"]), st.booleans())
def test_nothing_but_white_space_is_lost(text: str, language: str, newline: bool) -> None:
    end = 0
    for span in sentences(text, language, newline=newline):
        assert not text[end : span.start].strip()
        assert text[span.start : span.end] == text[span.start : span.end].strip() != ""
        end = span.end
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "「" * 40_000 + "）" * 40_000),
        ("ko", "(\"'.? " * 20_000),
        ("ja", "。」" * 40_000),
        ("ja", "「犬。」の" * 20_000),
        ("ko", "3.5 " * 40_000),
        ("ko", "ㅋㅋ...!" * 20_000),
    ],
)
def test_awkward_texts_do_not_take_for_ever(language: str, text: str) -> None:
    began = time.process_time()
    spans = sentences(text, language)
    assert time.process_time() - began < 20  # square time would be minutes
    assert spans[-1].end <= len(text)


@pytest.mark.slow
def test_kiwi_finds_ends_without_a_full_stop() -> None:
    text = "  안녕하세요 반갑습니다 저는 내일 학교에 갑니다. 그럼 이만."
    found = [text[s.start : s.end] for s in sentences(text, "ko", method="kiwi")]
    assert found[0] == "안녕하세요"
    assert found[-1] == "그럼 이만."
    assert " ".join(found) == text.strip()


def test_wrong_requests_are_explained() -> None:
    with pytest.raises(UnknownName, match="no language with sentence rules 'jp'"):
        sentences("犬。", "jp")
    with pytest.raises(BadInput, match="Kiwi splits Korean only"):
        sentences("犬。", "ja", method="kiwi")
    with pytest.raises(UnknownName, match="no method 'kss'"):
        sentences("개.", "ko", method="kss")  # type: ignore[arg-type]
