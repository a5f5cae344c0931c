from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nikawa.generation.frame_counts import FrameCounts, Triple
from nikawa.generation.lexicon_build import count_sentences, extract_by_adjacency, extract_by_heads
from nikawa.text import analyser


def found(text: str) -> set[Triple]:
    return set(extract_by_adjacency(analyser("ja").analyse(text)))


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("机に本をそっと置いた。", {("置く", "ニ", "机"), ("置く", "ヲ", "本")}),
        ("館長が新しい図鑑を購入した。", {("購入する", "ヲ", "図鑑")}),
        ("部屋の窓を開ける", {("開ける", "ヲ", "窓"), ("開ける", "ノ~ヲ", "部屋")}),
        ("郵便局まで歩いた。", {("歩く", "マデ", "郵便局")}),
        ("港から荷物を運ぶ", {("運ぶ", "カラ", "港"), ("運ぶ", "ヲ", "荷物")}),
        ("石より軽い。", set()),
        ("本が机に置かれている。", set()),
        ("弟に野菜を食べさせた。", set()),
        ("荷物を運搬された。", set()),
        ("それを見た。三個を数えた。", set()),
        ("庭を見ると、犬が走った。", {("見る", "ヲ", "庭"), ("走る", "ガ", "犬")}),
        ("", set()),
    ],
)
def test_adjacent(text: str, triples: set[Triple]) -> None:
    assert found(text) == triples


def test_a_chain_ends_with_the_sentence() -> None:
    assert found("駅に。本を読む。") == {("読む", "ヲ", "本")}


@pytest.mark.slow
def test_parsed_reaches_over_what_stands_between() -> None:
    tokens = analyser("ginza").analyse("郵便局まで友人と歩いた。本が机に置かれた。")
    triples = set(extract_by_heads(tokens))
    assert ("歩く", "マデ", "郵便局") in triples
    assert not [verb for verb, _, _ in triples if verb == "置く"]


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("雨だ", 1), ("雨だ。雪だ。", 2), ("雨だ！？晴れ", 2), ("。", 0)]
)
def test_sentences(text: str, count: int) -> None:
    assert count_sentences(analyser("ja").analyse(text)) == count


@given(st.text(alphabet="机本を に が置い読んする勉強れるせ。、まで😀\u3099", max_size=40))
@example("゙ 勉でい")
def test_any_text(text: str) -> None:
    for verb, case, noun in found(text):
        assert verb
        assert case
        assert noun in text


def test_pmi() -> None:
    counts = FrameCounts(
        {
            ("読む", "ヲ", "本"): 40,
            ("読む", "ヲ", "手紙"): 20,
            ("食べる", "ヲ", "米"): 50,
            ("投げる", "ヲ", "本"): 1,
        }
    )
    assert counts.pmi("読む", "ヲ", "本") > 0.5
    assert counts.pmi("読む", "ヲ", "米") < -1
    assert counts.pmi("知らない動詞", "ヲ", "本") == pytest.approx(0)
    assert abs(counts.pmi("投げる", "ヲ", "本")) < 0.5
    assert FrameCounts({}).pmi("読む", "ヲ", "本") == pytest.approx(0)
