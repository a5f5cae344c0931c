"""Tables on narrow terminals: no number is cut, nothing is lost, and what fits stays as it was."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from nikawa.cli.terminal import output as _show
from nikawa.cli.terminal.output import fold_text

COLUMNS = (
    "part",
    "rows",
    "95%",
    "contradiction > entailment",
    "entailment > contradiction",
    "note",
)
ROWS = [
    ("tag=Quantification", 12_345, "12.7-14.1", 1_328, 7, "a note that goes on for a while"),
    ("all", 9_927, "0.4-1.2", 20, 1_000_000, Text("styled", "bold")),
]
Show = Callable[..., str]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    def run(
        width: int, columns: tuple[str, ...] = COLUMNS, rows: object = ROWS, **more: object
    ) -> str:
        screen = Console(file=io.StringIO(), width=width, highlight=False)
        monkeypatch.setattr(_show, "console", lambda: screen)
        _show.print_table(columns, rows, numbers=columns[1:5], **more)  # type: ignore[arg-type]
        return screen.file.getvalue()  # type: ignore[attr-defined,no-any-return]

    return run


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_numbers_are_never_cut_and_nothing_is_lost(show: Show, width: int) -> None:
    text = show(width, title="Shift")
    assert all(cell_len(line) <= width for line in text.split("\n"))
    words = text.split()
    for number in ("12,345", "12.7-14.1", "1,328", "7", "9,927", "0.4-1.2", "20", "1,000,000"):
        assert words.count(number) == 1, number
    assert {"tag=Quantification", "styled", "while", "contradiction"} <= set(words)
    assert words.count("Shift") == 1


def test_what_fits_is_one_table_as_in_a_pipe(show: Show) -> None:
    assert show(160) == show(_show.UNFOLDED_WIDTH)
    assert show(160).count("part") == 1
    assert show(60).count("part") > 1


def test_words_give_way_before_numbers(show: Show) -> None:
    text = show(30, ("name", "n"), [("a long name in several words", 1_234_567)])
    assert text.count("name") == 2
    assert "1,234,567" in text


def test_every_part_has_the_columns_that_tell_rows_apart(show: Show) -> None:
    columns = ("side", "label", *(f"figure{n}" for n in range(9)))
    rows = [
        (side, label, *range(9)) for side in ("premise", "hypothesis") for label in ("yes", "no")
    ]
    heads = [line.split() for line in show(50, columns, rows).split("\n") if "figure" in line]
    assert len(heads) > 1
    assert all(head[:2] == ["side", "label"] for head in heads)


def test_a_short_row_is_filled(show: Show) -> None:
    assert "alone" in show(30, ("a", "b"), [("alone",)])


def test_an_empty_table_shows_its_columns(show: Show) -> None:
    assert "part" in show(30, COLUMNS, [])


def test_texts_fold_between_words_and_letters() -> None:
    assert fold_text("灯台は2019年8月に建った。", 12) == "灯台は2019年\n8月に建っ\nた。"
    assert fold_text("등대는 언덕에 있다", 12) == "등대는\n언덕에 있다"
    assert fold_text("a-very-long-path/of/a/file", 10) == "a-very-lon\ng-path/of/\na/file"
    assert fold_text("one\ntwo three", 5) == "one\ntwo\nthree"
