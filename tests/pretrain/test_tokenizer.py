"""The released tokenizer: loads without our code, loses nothing, tells the right places, keeps placeholders whole."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nikawa.pretrain.personal_data import PLACEHOLDERS, RESERVED
from nikawa.pretrain.tokenizer import (
    BYTES,
    FIRST_TEXT_ID,
    build_tokenizer,
    load_tokenizer,
    save_tokenizer,
)
from nikawa.pretrain.vocabulary import VocabularyOptions, learn_vocabulary

Invented = Callable[[str, int], list[str]]


@pytest.fixture(scope="session")
def tokenizers(invented: Invented) -> dict[str, Any]:
    """One of each language."""
    made = {}
    for language in ("ja", "ko"):
        lines = invented(language, 300)
        options = VocabularyOptions(language, "subwords", 700)
        learned = learn_vocabulary(lines.copy, options)
        made[language] = build_tokenizer(language, learned.tokens)
    return made


@pytest.fixture(scope="session")
def folder(tokenizers: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(tokenizers["ko"], place)
    return place


def test_special_pieces_have_fixed_numbers(tokenizers: dict[str, Any]) -> None:
    for tokenizer in tokenizers.values():
        assert [tokenizer.token_to_id(name) for name in (*RESERVED, *BYTES)] == list(
            range(FIRST_TEXT_ID)
        )


@pytest.mark.slow
def test_it_loads_with_plain_transformers(folder: Path, tokenizers: dict[str, Any]) -> None:
    from transformers import AutoTokenizer

    found = AutoTokenizer.from_pretrained(folder)
    assert found.is_fast
    assert (found.pad_token_id, found.mask_token, found.model_max_length) == (0, "[MASK]", 512)
    assert found.model_input_names == ["input_ids", "attention_mask"]
    text = "선장은 항구에서 [MASK] 주웠다."
    assert found(text)["input_ids"] == tokenizers["ko"].encode(text).ids
    pair = found("선장은", "항구에서", return_token_type_ids=True)
    pieces = found.convert_ids_to_tokens(pair["input_ids"])
    assert pieces[0] == "[CLS]"
    assert [n for n, piece in enumerate(pieces) if piece == "[SEP]"] == [
        pair["token_type_ids"].index(1) - 1,
        len(pieces) - 1,
    ]
    assert found.decode(found(text, add_special_tokens=False)["input_ids"]) == text
    assert load_tokenizer(folder).encode(text).ids == found(text)["input_ids"]


def test_placeholders_are_never_split(tokenizers: dict[str, Any]) -> None:
    for tokenizer in tokenizers.values():
        for word in PLACEHOLDERS:
            found = tokenizer.encode(f"市場{word}시장", add_special_tokens=False)
            assert found.tokens.count(word) == 1
            assert tokenizer.decode(found.ids) == f"市場{word}시장"


TEXT = st.text(
    st.one_of(
        st.sampled_from("庭師は港で。、「」Ａ①㍿ガｶﾞ정원사는ㅋㅏ 한글\u3000 \t(12)%▲aé한😀𠮷"),
        st.characters(
            codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me", "Mc")
        ),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=150)
@given(TEXT, st.sampled_from(["ja", "ko"]))
def test_nothing_is_lost(tokenizers: dict[str, Any], text: str, language: str) -> None:
    tokenizer = tokenizers[language]
    found = tokenizer.encode(text, add_special_tokens=False)
    assert "[UNK]" not in found.tokens
    normal = tokenizer.normalizer.normalize_str(text)  # of an older Unicode than Python's
    wanted = " ".join(normal.replace("▁", " ").split())
    assert " ".join(tokenizer.decode(found.ids, skip_special_tokens=False).split()) == wanted


@settings(deadline=None, max_examples=150)
@given(TEXT, st.sampled_from(["ja", "ko"]))
def test_places_cover_the_text_in_order(
    tokenizers: dict[str, Any], text: str, language: str
) -> None:
    found = tokenizers[language].encode(text, add_special_tokens=False)
    last = 0
    covered = set[int]()
    for start, end in found.offsets:
        assert 0 <= start <= end <= len(text)
        assert start >= last or (start, end) in found.offsets
        last = max(last, start)
        covered.update(range(start, end))
    lost = [c for place, c in enumerate(text) if place not in covered and not c.isspace()]
    assert not [c for c in lost if not unicodedata.combining(unicodedata.normalize("NFKC", c)[-1])]


def test_digits_and_marks_stand_alone_and_places_are_exact(tokenizers: dict[str, Any]) -> None:
    text = "12日目、ｶﾞﾗｽの庭師は（坂の上）で"
    found = tokenizers["ja"].encode(text, add_special_tokens=False)
    parts = [text[start:end] for start, end in found.offsets]
    assert parts[:2] == ["1", "2"]
    assert {"、", "（", "）"} < set(parts)
    assert tokenizers["ja"].decode(found.ids) == unicodedata.normalize("NFKC", text)


def test_blanks_are_kept_in_both_languages(tokenizers: dict[str, Any]) -> None:
    for language, text in (("ja", "庭師 は 港"), ("ko", "정원사는 항구에서 편지를")):
        tokenizer = tokenizers[language]
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert (
        tokenizers["ko"]
        .encode("정원사는 항구에서", add_special_tokens=False)
        .tokens[0]
        .startswith("▁")
    )


def test_old_and_loose_jamo_stay_as_they_are(tokenizers: dict[str, Any]) -> None:
    for text in ("ㅋㅋㅋ 그렸다ㅠㅠ", "ᄒᆞᆫ글"):
        assert tokenizers["ko"].decode(tokenizers["ko"].encode(text).ids) == text
