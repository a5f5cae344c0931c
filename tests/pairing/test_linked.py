"""Pairs by image and intent, and round trips."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.pairing.linked import Linked, pair_different_links, pair_same_link
from nikawa.pairing.translate import round_trip, translate

CAPTIONS = [Linked(f"c{i}", f"image{i % 4}") for i in range(20)]


def test_two_of_one_image() -> None:
    pairs = list(pair_same_link(CAPTIONS))
    assert len(pairs) == 4
    assert all(CAPTIONS[a].link == CAPTIONS[b].link and a < b for a, b in pairs)
    assert len(list(pair_same_link(CAPTIONS, most=3))) == 12
    assert pairs != list(pair_same_link(CAPTIONS, seed=1))


def test_two_of_two_images_each_once() -> None:
    pairs = list(pair_different_links(CAPTIONS))
    used = [place for pair in pairs for place in pair]
    assert len(used) == len(set(used)) == 20
    assert all(CAPTIONS[a].link != CAPTIONS[b].link for a, b in pairs)


def test_two_intents_of_one_topic() -> None:
    asked = [Linked(f"q{i}", f"intent{i % 6}", f"topic{i % 2}") for i in range(24)]
    pairs = list(pair_different_links(asked))
    assert len(pairs) == 12
    assert all(
        asked[a].link != asked[b].link and asked[a].within == asked[b].within for a, b in pairs
    )


def test_one_link_alone_makes_no_different_pairs() -> None:
    assert list(pair_different_links([Linked("a", "x"), Linked("b", "x")])) == []


def test_a_draw_does_not_depend_on_the_order() -> None:
    names = {(CAPTIONS[a].name, CAPTIONS[b].name) for a, b in pair_different_links(CAPTIONS)}
    turned = CAPTIONS[::-1]
    again = {(turned[a].name, turned[b].name) for a, b in pair_different_links(turned)}
    assert {frozenset(pair) for pair in names} == {frozenset(pair) for pair in again}


def script(folder: Path, body: str) -> str:
    path = folder / "translator.py"
    path.write_text(f"import sys\n{body}\n", "utf-8")
    return f"{sys.executable} {path}"


def test_there_and_back(tmp_path: Path) -> None:
    shout = script(
        tmp_path,
        "for line in sys.stdin.buffer: sys.stdout.buffer.write(line.strip()[::-1] + b'\\n')",
    )
    assert round_trip(["abc", "de f"], shout) == ["cba", "f ed"]
    assert round_trip(["abc", "de f"], shout, shout) == ["abc", "de f"]
    assert translate([], shout) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("print('one')", "answered 1 lines to 2"),
        ("sys.exit('no such model')", "no such model"),
        ("sys.stdout.buffer.write(b'\\xff\\n\\xff\\n')", "UTF-8"),
    ],
)
def test_a_bad_translator_is_named(body: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        translate(["a", "b"], script(tmp_path, body))


def test_a_translator_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"did not end within 0\.2 seconds"):
        translate(["a"], script(tmp_path, "import time; time.sleep(60)"), seconds=0.2)


@pytest.mark.parametrize("command", ["", "/no/such/translator", "echo 'open"])
def test_no_translator(command: str) -> None:
    with pytest.raises(BadInput):
        translate(["a"], command)
