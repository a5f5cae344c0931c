"""Vocabularies: three kinds, any size, the same twice, and no learned piece across a morpheme boundary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from nikawa.errors import BadInput, UnknownName
from nikawa.pretrain.tokenizer import BLANK, FIRST_TEXT_ID, build_tokenizer
from nikawa.pretrain.vocabulary import (
    MIN_CHARACTER_COUNT,
    Vocabulary,
    VocabularyOptions,
    learn_vocabulary,
    read_text_lines,
)
from nikawa.text.morpheme_starts import find_starts

Invented = Callable[[str, int], list[str]]
SEGMENTERS = {"ja": "ja", "ko": "mecab-ko"}


def cuts(language: str) -> Callable[[Sequence[str]], list[list[int]]]:
    return lambda texts: find_starts(texts, SEGMENTERS[language])


def learned(lines: list[str], language: str, kind: str, size: int = 800) -> Vocabulary:
    plan = VocabularyOptions(
        language, kind, size, segmenter=cuts(language) if kind == "morphemes" else None
    )
    return learn_vocabulary(lambda: lines, plan)


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_no_piece_crosses_a_morpheme_boundary(invented: Invented, language: str) -> None:
    lines = invented(language, 300)
    found = learned(lines, language, "morphemes")
    inside = set[str]()
    for line, places in zip(lines, find_starts(lines, SEGMENTERS[language]), strict=True):
        for start, end in pairwise([*places, len(line)]):
            word = line[start:end].strip()
            inside |= {word[a:b] for a in range(len(word)) for b in range(a + 1, len(word) + 1)}
    pieces = [name.removeprefix(BLANK) for name, _ in found.tokens]
    assert [piece for piece in pieces if piece and piece not in inside] == []
    assert any(len(piece) > 1 for piece in pieces)


def test_plain_subwords_do_cross(invented: Invented) -> None:
    lines = invented("ja", 300)
    names = [
        {name for name, _ in learned(lines, "ja", kind).tokens}
        for kind in ("subwords", "morphemes")
    ]
    assert any("で" in name and len(name) > 2 for name in names[0] - names[1])
    tokens = [
        build_tokenizer("ja", learned(lines, "ja", kind).tokens)
        .encode(lines[0], add_special_tokens=False)
        .tokens
        for kind in ("characters", "morphemes", "subwords")
    ]
    assert len(tokens[0]) == len(lines[0])
    assert len(tokens[0]) > len(tokens[1]) > len(tokens[2])


def test_characters_are_one_piece_each(invented: Invented) -> None:
    lines = invented("ko", 300)
    found = learned(lines, "ko", "characters")
    assert max(len(name.removeprefix(BLANK)) for name, _ in found.tokens) == 1
    tokenizer = build_tokenizer("ko", found.tokens)
    for line in lines[:20]:
        assert len(tokenizer.encode(line, add_special_tokens=False).ids) == len(
            line.replace(" ", "")
        )


def test_the_size_is_kept_and_the_same_comes_twice(invented: Invented) -> None:
    lines = invented("ja", 300)
    for size in (380, 440):
        found = learned(lines, "ja", "subwords", size)
        assert (
            len(found.tokens) + FIRST_TEXT_ID
            == size
            == build_tokenizer("ja", found.tokens).get_vocab_size()
        )
        assert found == learned(lines, "ja", "subwords", size)


def test_rare_characters_are_spelled_in_bytes(invented: Invented) -> None:
    lines = [
        *invented("ja", 100),
        *["鬱々とした鷺"] * (MIN_CHARACTER_COUNT - 1),
        *["朧な橋"] * MIN_CHARACTER_COUNT,
    ]
    names = {name for name, _ in learned(lines, "ja", "characters").tokens}
    assert "鷺" not in names
    assert "朧" in names


def test_a_sample_hangs_on_the_lines_not_on_their_order(invented: Invented) -> None:
    lines = invented("ja", 300)
    plan = VocabularyOptions("ja", "subwords", 600, seed=3, sample=2_000)
    one = learn_vocabulary(lambda: lines, plan)
    other = learn_vocabulary(lambda: lines[::-1], plan)
    assert one.sampled == other.sampled < 3_000
    assert dict(one.tokens) == dict(other.tokens)


def test_bad_wishes() -> None:
    with pytest.raises(UnknownName, match="did you mean 'subwords'"):
        learn_vocabulary(lambda: ["あ"], VocabularyOptions("ja", "subword"))
    with pytest.raises(BadInput, match=r"100 tokens is too small; pass --vocabulary 366"):
        learn_vocabulary(lambda: ["あ"], VocabularyOptions("ja", "subwords", 100))
    with pytest.raises(BadInput, match="no text to learn"):
        learn_vocabulary(list, VocabularyOptions("ja", "subwords"))


def test_prepared_text_is_read_without_its_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("一\n\n二\n", "utf-8")
    assert list(read_text_lines(tmp_path / "a.txt")) == ["一", "二"]


@pytest.mark.parametrize("kind", ["subwords", "morphemes"])
def test_characters_leave_a_third_of_the_room_for_longer_pieces(
    invented: Invented, kind: str
) -> None:
    rare = [
        f"{a}{b}の庭" for a, b in pairwise(map(chr, range(0x5000, 0x5200)))
    ] * MIN_CHARACTER_COUNT
    found = learned([*invented("ja", 300), *rare], "ja", kind, 600)
    long = [name for name, _ in found.tokens if len(name) > 1]
    assert found.alphabet == int((600 - FIRST_TEXT_ID) * 2 / 3)
    assert len(long) == 600 - FIRST_TEXT_ID - found.alphabet
    assert found.crowded > 300
    assert (
        learned([*invented("ja", 300), *rare], "ja", "characters", 600).alphabet
        == 600 - FIRST_TEXT_ID
    )


def test_a_vocabulary_with_room_for_all_is_as_it_always_was(invented: Invented) -> None:
    found = learned(invented("ja", 300), "ja", "subwords", 600)
    assert found.crowded == 0
    assert found.alphabet == len({c for line in invented("ja", 300) for c in line}) + 1
