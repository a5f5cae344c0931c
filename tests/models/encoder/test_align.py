"""Sub-words and the characters they stand for: with offsets, without them, after a segmentation."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.models.encoder import alignment as align_module
from nikawa.models.encoder.alignment import UNITS, UnitCounts, align_subwords, make_disjoint
from nikawa.models.encoder.settings import make_word_finder
from nikawa.models.encoder.subwords import SubwordReader, cover_text
from nikawa.records import Kind

UNKNOWN = "[UNK]"


def _read(text: str, pieces: Sequence[str]) -> tuple[list[str], str]:
    spans, lost = make_disjoint(text, align_subwords(text, pieces, UNKNOWN))
    return [text[a:b] for a, b in spans], lost


CASES = [
    ("가나 서울", ["가", "##나", "서울"], ["가", "나", "서울"]),
    ("뷁뷁이 왔다", [UNKNOWN, "왔", "##다"], ["뷁뷁이", "왔", "다"]),
    ("베쏭이,제5", [UNKNOWN, ",", "제", "##5"], ["베쏭이", ",", "제", "5"]),
    (
        "미나藤井美菜27가",
        ["미나", UNKNOWN, UNKNOWN, "美", UNKNOWN, "27", "##가"],
        ["미나", "藤", "井", "美", "菜", "27", "가"],
    ),
    ("쏭27가 서울", [UNKNOWN, "27", "##가", "서울"], ["쏭", "27", "가", "서울"]),
    ("xa a", [UNKNOWN, "a"], ["xa", "a"]),
    ("a x a", ["a", UNKNOWN, "a"], ["a", "x", "a"]),
    ("xx yy zz", [UNKNOWN, UNKNOWN, "zz"], ["xx", "yy", "zz"]),
    ("xx yy", [UNKNOWN], ["xx yy"]),
    ("x", [UNKNOWN, UNKNOWN], ["x", ""]),
    ("㍿と", ["株式", "##会社", "と"], ["㍿", "", "と"]),
    ("ｶﾞあ", ["ガ", "##あ"], ["ｶﾞ", "あ"]),
    ("Éa Bc", ["ea", "bc"], ["Éa", "Bc"]),
    ("が は", ["▁か", "▁は"], ["が", "は"]),
    ("ばは", [UNKNOWN, "は"], ["ば", "は"]),
    ("가あ나", ["▁가", "<0xE3>", "<0x81>", "<0x82>", "나"], ["가", "あ", "", "", "나"]),
    ("か\u3099き", ["が", "##き"], ["か\u3099", "き"]),
    ("", [], []),
    ("##", ["#", "#"], ["#", "#"]),
]


@pytest.mark.parametrize(("text", "pieces", "expected"), CASES)
def test_pieces_find_their_characters(text: str, pieces: list[str], expected: list[str]) -> None:
    assert _read(text, pieces) == (expected, "")


def test_characters_without_a_piece_are_told() -> None:
    assert _read("가☃나", ["가", "나"]) == (["가", "나"], "☃")
    assert _read("가나", []) == ([], "가나")


WORDS = st.text(st.sampled_from("あいがカﾊ漢字漢Aaéß０1가나뷁-。"), min_size=1, max_size=5)


def _pieces(
    words: Sequence[str], known: Callable[[str], bool], sizes: Sequence[int]
) -> tuple[list[str], list[str]]:
    """What a tokenizer like BERT's makes of words, and the characters each piece stands for."""
    pieces, truth = [], []
    for number, word in enumerate(words):
        if not known(word):
            pieces.append(UNKNOWN)
            truth.append(word)
            continue
        size = sizes[number % len(sizes)]
        parts = [word[i : i + size] for i in range(0, len(word), size)]
        shown = [unicodedata.normalize("NFKC", part).lower() for part in parts]
        pieces += [piece if i == 0 else f"##{piece}" for i, piece in enumerate(shown)]
        truth += parts
    return pieces, truth


@given(st.lists(WORDS, max_size=8), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_known_pieces_are_found_to_the_character(words: list[str], sizes: list[int]) -> None:
    text = "  ".join(words)
    pieces, truth = _pieces(words, lambda _: True, sizes)
    assert _read(text, pieces) == (truth, "")


@given(
    st.lists(st.text("abcde", min_size=1, max_size=4), max_size=8),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
def test_unknown_words_are_found_where_the_known_ones_are_told_apart(
    words: list[str], sizes: list[int]
) -> None:
    marked = [word if i % 2 else f"{word}{i}" for i, word in enumerate(words)]
    pieces, truth = _pieces(marked, lambda w: w[-1].isdigit(), sizes)
    assert _read(" ".join(marked), pieces) == (truth, "")


@given(
    st.lists(WORDS, max_size=8),
    st.sets(st.sampled_from("あが漢Aé가뷁-")),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
def test_every_character_is_in_one_piece_or_told_lost(
    words: list[str], strange: set[str], sizes: list[int]
) -> None:
    text = " ".join(words)
    pieces, _ = _pieces(words, lambda w: not strange & set(w), sizes)
    spans, lost = make_disjoint(text, align_subwords(text, pieces, UNKNOWN))
    assert len(spans) == len(pieces)
    assert all(a <= b for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    held = sum(len("".join(text[a:b].split())) for a, b in spans)
    assert held + len(lost) == len("".join(words))
    assert not lost


@given(
    st.text(max_size=20), st.lists(st.tuples(st.integers(0, 22), st.integers(0, 22)), max_size=6)
)
def test_words_with_what_lies_between_hold_every_character_once(
    text: str, raw: list[tuple[int, int]]
) -> None:
    words = sorted((min(a, b), max(a, b)) for a, b in raw if max(a, b) <= len(text))
    found = cover_text(text, words)
    assert "".join("".join(text[a:b].split()) for a, b in found) == "".join(text.split())


@pytest.mark.parametrize("name", ["none", "ja-ipadic", "ja-unidic", "ja-juman", "ipadic"])
def test_segmented_japanese_keeps_its_places(
    name: str, tiny: Path, invented: Mapping[Kind, Any]
) -> None:
    _holds(
        SubwordReader(_tokenizer(tiny), make_word_finder(name)),
        [e.inputs["premise"] for e in invented["inference"].ask],
    )


@pytest.mark.parametrize("name", [pytest.param("ko-kiwi", marks=pytest.mark.slow), "ko-mecab"])
def test_segmented_korean_keeps_its_places(
    name: str, tiny: Path, invented: Mapping[Kind, Any]
) -> None:
    texts = [e.inputs["text"] for e in invented["tagging"].ask]
    _holds(SubwordReader(_tokenizer(tiny), make_word_finder(name)), [*texts, "집에 했다 갔었다"])


def _tokenizer(folder: Path) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)


def _holds(reader: SubwordReader, texts: Sequence[str]) -> None:
    for text, found in zip(texts, reader.read(texts), strict=True):
        assert "".join(text[a:b] for a, b in found.spans) == "".join(text.split())
        names = reader.tokenizer.convert_ids_to_tokens(found.ids)
        for name, (a, b) in zip(names, found.spans, strict=True):
            assert name == UNKNOWN or name.removeprefix("##") == unicodedata.normalize(
                "NFKC", text[a:b]
            )
    assert not reader.lost


def test_a_slow_tokenizer_of_words_gives_the_same_places(tmp_path: Path) -> None:
    from transformers import BertJapaneseTokenizer

    words = [
        "[PAD]",
        UNKNOWN,
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "ねこ",
        "が",
        "公園",
        "で",
        "遊",
        "##ん",
        "##で",
        "いる",
        "。",
        "1",
    ]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tokenizer = BertJapaneseTokenizer(
        str(tmp_path / "vocab.txt"),
        word_tokenizer_type="mecab",
        mecab_kwargs={"mecab_dic": "ipadic"},
    )
    assert not tokenizer.is_fast
    text = "ねこが 公園で遊んでいる。鰯雲"
    (found,) = SubwordReader(tokenizer).read([text])
    shown = [text[a:b] for a, b in found.spans]
    assert "".join(shown) == "".join(text.split())
    assert shown[:4] == ["ねこ", "が", "公園", "で"]
    assert shown[-1] == "鰯雲"


def test_a_sentencepiece_tokenizer_without_offsets_gives_its_places(tmp_path: Path) -> None:
    import sentencepiece
    from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

    lines = ["ねこが公園で遊ぶ", "いぬが庭で眠る", "とりが駅で鳴く", "ねこは庭にいる 1"] * 8
    (tmp_path / "text").write_text("\n".join(lines), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"),
        model_prefix=str(tmp_path / "spiece"),
        vocab_size=44,
        hard_vocab_limit=False,
        minloglevel=2,
        pad_id=3,
    )

    class Plain(SentencePieceBackend):  # type: ignore[misc]  # not followed by the type checker
        vocab_files_names = {"vocab_file": "spiece.model"}  # noqa: RUF012

    tokenizer = Plain(
        vocab_file=str(tmp_path / "spiece.model"),
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
    )
    assert not tokenizer.is_fast
    reader = SubwordReader(tokenizer)
    for text in ("ねこが公園で遊ぶ", "とりは ☃鰯 庭にいる", "ﾈｺが１"):
        (found,) = reader.read([text])
        assert "".join(text[a:b] for a, b in found.spans) == "".join(text.split())
    assert not reader.lost


def test_many_unknown_pieces_are_found_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    cost = align_module.cost_of_gap

    def counted(*given: Any) -> float:
        nonlocal tried
        tried += 1
        return cost(*given)

    monkeypatch.setattr(align_module, "cost_of_gap", counted)
    text, pieces = "の😀は、" * 100, ["の", "[UNK]", "は", "、"] * 100
    assert [text[a:b] for a, b in align_subwords(text, pieces, "[UNK]")] == list(text)
    bound = (align_module.MAX_STATES + 1) * (align_module.MAX_CANDIDATES + 1)
    assert tried <= 100 * bound


@given(st.text("のはabc 😀가1_", max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_units_of_a_stretch_are_those_found_in_it(text: str, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(end, len(text))
    found = [len(units.findall(text, start, end)) for units in UNITS]
    assert UnitCounts(text).counts(start, end) == found


def test_hangul_taken_apart_stays_with_its_syllable(
    tiny: Path, made: Callable[..., Any], invented: Mapping[Kind, Any]
) -> None:
    reader, case = SubwordReader(_tokenizer(tiny)), invented["tagging"]
    for text in (e.inputs["text"] for e in case.ask):
        apart = unicodedata.normalize("NFD", text)
        (found,), (whole,) = reader.read([apart]), reader.read([text])
        assert found.ids == whole.ids
        assert [unicodedata.normalize("NFC", apart[a:b]) for a, b in found.spans] == [
            text[a:b] for a, b in whole.spans
        ]
    assert not reader.lost
