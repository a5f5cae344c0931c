from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.generation.lexicon import Frame
from nikawa.generation.review import (
    REASONS,
    Plausibility,
    read_review_sheet,
    score_phrase,
    write_review_sheet,
)
from nikawa.records import Example


@pytest.fixture(scope="module")
def ja() -> Plausibility:
    return Plausibility("ja")


@pytest.mark.parametrize(
    ("verb", "nouns", "natural"),
    [
        ("読む", {"ヲ": "本"}, True),
        ("読む", {"ヲ": "石"}, False),
        ("飲む", {"ヲ": "お茶"}, True),
        ("飲む", {"ヲ": "机"}, False),
        ("住む", {"ニ": "東京"}, True),
        ("住む", {"ニ": "速度"}, False),
        ("塗る", {"ニ": "パン", "ヲ": "バター"}, True),
        ("塗る", {"ニ": "壁", "ヲ": "バター"}, False),
        ("置く", {"ヲ": "本"}, False),
    ],
)
def test_score(ja: Plausibility, verb: str, nouns: dict[str, str], natural: bool) -> None:
    assert (score_phrase(verb, nouns) > 0) is natural
    assert (ja.score(verb, nouns) > 0) is natural


def test_nothing_known_is_nought(ja: Plausibility) -> None:
    assert ja.score("吸い上げまくる", {"ヲ": "墨汁"}) == pytest.approx(0)
    assert ja.score("走る", {}) == 0


def test_reason(ja: Plausibility) -> None:
    assert ja.reason("置く", {"ヲ": "本"}) == "incomplete sentence"
    assert ja.reason("飲む", {"ヲ": "机"}) == "semantically unnatural"


@pytest.mark.parametrize("cases", [("ヲ",), ("ニ",), ("ニ", "ヲ"), ("ノ~ヲ", "ヲ")], ids="-".join)
def test_what_the_lexicon_lists_passes_and_what_is_shuffled_does_not(
    ja: Plausibility, cases: tuple[str, ...]
) -> None:
    chance, frames = random.Random(1), ja.lexicon.find_frames(cases)
    pool = {case: [noun for frame in frames for noun in frame.nouns[case]] for case in cases}

    def passing(pick: Callable[[Frame, str], Sequence[str]]) -> float:
        drawn = [chance.choice(frames) for _ in range(1000)]
        natural = [
            ja.score(f.verb, {c: chance.choice(pick(f, c)) for c in cases}) > 0 for f in drawn
        ]
        return sum(natural) / 1000

    def own(frame: Frame, case: str) -> tuple[str, ...]:
        return frame.nouns[case]

    assert passing(own) == 1
    assert passing(lambda frame, case: pool[case]) < 0.12


def examples() -> list[Example]:
    return [
        Example(
            id="a",
            inputs={"premise": "健太は\t笑った。", "hypothesis": "健太は笑う。"},
            meta={"plausibility": 2.0},
        ),
        Example(
            id="b",
            inputs={"premise": "石が笑った。", "hypothesis": "石は笑う。"},
            meta={"plausibility": -4.25},
        ),
        Example(id="c", inputs={"premise": "雨だ。", "hypothesis": "雪だ。"}),
    ]


def filled(path: Path, decisions: dict[str, str]) -> None:
    header, *rows = path.read_text("utf-8").splitlines()
    done = [header]
    for row in rows:
        cells = row.split("\t")
        cells[4:] = decisions.get(cells[0], "\t").split("\t")
        done.append("\t".join(cells))
    path.write_text("\n".join(done) + "\n", "utf-8")


def test_review(tmp_path: Path) -> None:
    path = tmp_path / "review.tsv"
    assert write_review_sheet(examples(), path) == 3
    ids = [line.split("\t", 1)[0] for line in path.read_text("utf-8").splitlines()]
    assert ids == ["id", "b", "a", "c"]
    assert read_review_sheet(path) == []
    filled(path, {"b": f"drop\t{REASONS[0]}", "a": "Keep\t"})
    first, second = read_review_sheet(path)
    assert (first.id, first.keep, first.reason) == ("b", False, "semantically unnatural")
    assert (second.id, second.keep) == ("a", True)


def test_scores_may_be_given_and_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "review.tsv"
    write_review_sheet(examples(), path, score=lambda example: float(ord(example.id)))
    assert "98.00" in path.read_text("utf-8")
    with pytest.raises(BadInput, match="exists"):
        write_review_sheet(examples(), path)
    write_review_sheet(examples(), path, overwrite=True)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("maybe\t", "write keep or drop"),
        ("drop\t", "without a reason"),
        ("drop\tugly", "semantically unnatural"),
        ("keep\tincomplete sentence", "without drop"),
    ],
)
def test_a_broken_sheet(tmp_path: Path, said: str, problem: str) -> None:
    path = tmp_path / "review.tsv"
    write_review_sheet(examples(), path)
    filled(path, {"b": said})
    with pytest.raises(BadInput, match="line 2") as caught:
        read_review_sheet(path)
    assert problem in str(caught.value)


def test_an_id_decided_twice(tmp_path: Path) -> None:
    path = tmp_path / "review.tsv"
    path.write_text("id\tdecision\treason\na\tkeep\t\na\tkeep\t\n", "utf-8")
    with pytest.raises(BadInput, match="line 3: 'a' was decided on line 2"):
        read_review_sheet(path)
