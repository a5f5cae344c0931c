"""Prompts put together from parts have the tokens of the whole text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

from tests.models.lm.checkpoints import TEXTS, make_tokenizer

from nikawa.models.lm.tokens import Encoder, Tokens, find_start_tokens

KINDS = ("byte", "metaspace", "unigram", "wordpiece")
WORDS = sorted({word for text in TEXTS for word in text.split()})
TEXT = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from([" ", "\n", "\n\n", " \n", ":", "。", "<|user|>", "</s>", "猫", "한", "é"]),
        st.text(max_size=3),
    ),
    max_size=8,
).map("".join)
FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def encode_whole(tokenizer: Any, text: str) -> tuple[int, ...]:
    return (1, *tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("kind", KINDS)
@given(head=TEXT, rests=st.lists(TEXT, min_size=1, max_size=3), options=st.lists(TEXT, min_size=1))
@FEW
def test_parts_have_the_tokens_of_the_whole(
    kind: str, head: str, rests: list[str], options: list[str]
) -> None:
    tokenizer = make_tokenizer(kind)
    encoder = Encoder(tokenizer, find_start_tokens(tokenizer))
    prompts = [head + rest for rest in rests]
    rows = encoder.encode_prompts(prompts, [head] * len(rests))
    assert rows == [encode_whole(tokenizer, prompt) for prompt in prompts]
    options = [f" {option}" for option in options]
    queries = encoder.join_queries(prompts, rows, [options] * len(prompts), [head] * len(prompts))
    for prompt, query in zip(prompts, queries, strict=True):
        for option, branch in zip(options, query.branches, strict=True):
            assert query.context + branch == encode_whole(tokenizer, prompt + option)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_prompt_keeps_its_first_token_and_its_end(kind: str) -> None:
    tokenizer = make_tokenizer(kind)
    encoder = Encoder(tokenizer, find_start_tokens(tokenizer))
    for prompt in ("\n".join(TEXTS), " ".join(TEXTS).replace("\n", "")):
        (row,) = encoder.encode([prompt])
        short = encoder.shorten(row, 9)
        assert len(short) == 9
        assert short == (1, *row[-8:])
        (query,) = encoder.join_queries([prompt], [short], [[" A", " B C"]], [""])
        for text, branch in zip((" A", " B C"), query.branches, strict=True):
            (full,) = encoder.encode([prompt + text])
            assert query.context + branch == (1, *full[len(row) - 8 :])


def test_long_texts_are_no_message_of_the_tokenizer() -> None:
    tokenizer = make_tokenizer("unigram")
    tokenizer.model_max_length, before = 2, tokenizer.model_max_length
    try:
        Encoder(tokenizer).encode([TEXTS[0]])
        assert not tokenizer.deprecation_warnings  # transformers notes here what it has printed
    finally:
        tokenizer.model_max_length = before


def test_an_end_token_of_the_tokenizer_is_not_part_of_a_prompt() -> None:
    tokenizer = make_tokenizer("wordpiece")
    assert tokenizer("a")["input_ids"][-1] == 2
    encoder = Encoder(tokenizer, find_start_tokens(tokenizer))
    assert encoder.start == (1,)
    assert 2 not in encoder.encode(["答え:"])[0]


def test_only_last_lines_are_tokenised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes it fast: no prompt is tokenised once per option."""
    encoder = Encoder(make_tokenizer())
    head = "\n".join(TEXTS) * 3 + "\n\n"
    lengths: list[int] = []
    prompts = [f"{head}前提: {number}番の犬\n答え:" for number in range(5)]
    encode = encoder.encode_parts

    def count(texts: Sequence[str]) -> list[Tokens]:
        lengths.extend(map(len, texts))
        return encode(texts)

    monkeypatch.setattr(encoder, "encode_parts", count)
    rows = encoder.encode_prompts(prompts, [head] * 5)
    encoder.join_queries(prompts, rows, [[" A", " B"]] * 5, [head] * 5)
    assert sum(lengths) < len(head) + 500
