"""Which answers begin and end where pieces do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from studies._ends import marked, share

from nikawa.records import Example, Span

TEXT = "봄에 서울로 갔다"
TAGGED = Example(
    id="1", inputs={"text": TEXT}, gold={"spans": [Span(3, 5, "LC"), Span(0, 1, "DT")]}
)
READ = Example(
    id="2",
    inputs={"context": "山は緑だ"},
    gold={"answers": [{"text": "緑", "start": 2}, {"text": "山", "start": 0}]},
)


class Cut:
    """A tokenizer that cuts every text at the same places."""

    def __init__(self, *places: tuple[int, int]) -> None:
        self.places = places

    def __call__(self, texts: Sequence[str], **_: Any) -> dict[str, Any]:
        return {"offset_mapping": [list(self.places) for _ in texts]}


def test_gold_of_tagging_and_reading_is_found_and_no_other() -> None:
    other = Example(id="3", inputs={"premise": "a", "hypothesis": "b"}, gold={"label": "neutral"})
    assert marked([TAGGED, READ, other]) == [(TEXT, [(3, 5), (0, 1)]), ("山は緑だ", [(2, 3)])]


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (Cut((0, 1), (1, 2), (3, 5), (5, 6), (7, 9)), 1.0),
        (Cut((0, 2), (2, 5), (5, 6), (6, 9)), 0.5),  # a blank goes with the word behind it
        (Cut((0, 2), (2, 6), (6, 9)), 0.0),
    ],
)
def test_both_ends_must_be_ends_of_pieces(cut: Cut, expected: float) -> None:
    assert share(cut, marked([TAGGED])) == expected


def test_texts_that_ask_for_nothing_have_no_share() -> None:
    assert share(Cut((0, 9)), [(TEXT, [])]) is None
