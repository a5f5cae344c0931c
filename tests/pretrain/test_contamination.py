"""Benchmark text in a corpus: found whatever the blanks, width and case; counted by benchmark; chance is no hit."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.pretrain.contamination import (
    MIN_TEXT_CHARS,
    RUN_CHARS,
    BenchmarkText,
    Searcher,
    build_index,
    find_examples,
    fold_text,
    hash_runs,
)

LONG = "赤い灯台の下で三人の少年が古い手紙を順番に読み上げている。"
BRIEF = "船長は静かに帽子を脱いだ。"
TEXTS = [
    BenchmarkText("alpha", "alpha:dev/1", LONG),
    BenchmarkText("beta", "beta:dev/7", BRIEF),
    BenchmarkText("beta", "beta:dev/8", "水"),
]


def codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@given(st.text(alphabet="あいうab", min_size=1, max_size=60), st.integers(1, 25))
def test_equal_runs_have_equal_hashes_and_others_do_not(text: str, size: int) -> None:
    found = hash_runs(codes(text), size).tolist()
    runs = [text[at : at + size] for at in range(len(text) - size + 1)]
    assert len(found) == len(runs)
    assert len(set(found)) == len(set(runs))
    assert len(set(zip(found, runs, strict=True))) == len(set(runs))


@pytest.mark.parametrize(
    ("line", "mask"),
    [
        (f"昨日の話だが、{LONG}と聞いた。", 1),
        (f"話 {' '.join(LONG)}", 1),
        (f"彼によると{BRIEF}という。", 2),
        (f"{BRIEF}{LONG}", 3),
        (LONG[: RUN_CHARS - 1] + "、でも別の話だ。", 0),
        ("船長は静かに帽子を被った。水を飲んだ。", 0),
        ("", 0),
    ],
)
def test_lines_that_hold_benchmark_text(line: str, mask: int) -> None:
    found = Searcher(build_index(TEXTS)).search(["何でもない行。", line, "もう一つの行。"])
    assert found.lines.tolist() == ([1] if mask else [])
    assert found.masks.tolist() == ([mask] if mask else [])


def test_width_case_and_marks_do_not_hide_a_copy() -> None:
    index = build_index(
        [BenchmarkText("c", "c:dev/1", "The Lighthouse Keeper counted 12 boats, ｶﾓﾒ twice.")]
    )
    line = "「ＴＨＥ lighthouse・keeper」 counted１２boats カモメ twice"
    assert Searcher(index).search([line]).lines.tolist() == [0]


def test_no_run_goes_from_one_line_into_the_next_or_from_one_text_into_the_next() -> None:
    searcher = Searcher(build_index([BenchmarkText("a", "a:1", LONG)]))
    assert not len(searcher.search([LONG[:14], LONG[14:26]]).lines)
    halves = [BenchmarkText("a", "a:1", LONG[:17]), BenchmarkText("a", "a:2", LONG[17:])]
    assert not len(Searcher(build_index(halves)).search([LONG[5:25]]).lines)


def test_examples_that_were_met_are_named() -> None:
    found = Searcher(build_index(TEXTS)).search([f"そして{BRIEF}"])
    assert find_examples(TEXTS, found.hashes) == {"alpha": [], "beta": ["beta:dev/7"]}


def test_an_index_of_nothing_finds_nothing() -> None:
    assert not len(Searcher(build_index([])).search([LONG]).lines)


def test_a_brute_search_finds_the_same() -> None:
    random = Random(0)

    def draw(size: int) -> str:
        return "".join(random.choice("あい") for _ in range(size))

    texts = [
        BenchmarkText("t", f"t:{n}", draw(random.randrange(MIN_TEXT_CHARS, 40))) for n in range(20)
    ]
    lines = [draw(random.randrange(0, 80)) for _ in range(500)]
    parts = {
        text.text if len(text.text) < RUN_CHARS else text.text[at : at + RUN_CHARS]
        for text in texts
        for at in range(max(1, len(text.text) - RUN_CHARS + 1))
    }
    brute = [n for n, line in enumerate(lines) if any(part in line for part in parts)]
    assert Searcher(build_index(texts)).search(lines).lines.tolist() == brute
    assert 0 < len(brute) < len(lines)


def test_folding() -> None:
    assert fold_text("Ａ_b・ ｶﾞ！") == "abガ"
