"""Columns as codes: however a column comes, the codes are those of looking up one entry after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nikawa.io import coding
from nikawa.io.coding import ArrowCoder, CodedColumn, HeldNames, Numbering, code_texts

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def look_up(entries: list[Any]) -> tuple[list[int], list[Any]]:
    numbering = Numbering()
    codes = [numbering[entry] for entry in entries]
    return codes, list(numbering)


def describe(column: CodedColumn | None) -> tuple[list[int], list[Any]]:
    assert column is not None
    assert column.codes.dtype == np.int32
    return column.codes.tolist(), list(column.names)


@st.composite
def draw_texts(draw: st.DrawFn) -> list[str]:
    """Labels, one text throughout, items that come several times in a row, names in any order; now and then a late one."""
    size = draw(st.integers(1, 40))
    names = draw(
        st.sampled_from(
            [
                ["yes"],
                ["yes", "no", "긍정"],
                [f"bench:test/{n:04}" for n in range(12)],
                [f"{n:04}bench:test" for n in range(12)],
                ["", "a", "a\0", "ann", "佐藤"],
            ]
        )
    )
    if draw(st.booleans()):
        run = draw(st.integers(1, 6))
        texts = [names[n // run % len(names)] for n in range(size)]
    else:
        texts = draw(st.lists(st.sampled_from(names), min_size=size, max_size=size))
    return [*texts, *draw(st.sampled_from([[], ["late"], [texts[0], "late", "later", "late"]]))]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of a few entries, so that each way of coding is taken."""
    monkeypatch.setattr(coding, "PEEKED_ENTRIES", 4)
    monkeypatch.setattr(coding, "MIN_TEXTS_FOR_ARROW", 1)
    monkeypatch.setattr(coding, "MIN_NAMES_HELD_BACK", 3)
    monkeypatch.setattr(coding, "ENTRIES_PER_NAME", 1)
    monkeypatch.setattr(coding, "PEEKED_ENTRIES_PER_NAME", 2)


@SETTINGS
@given(texts=draw_texts(), cut=st.integers(0, 40), is_large=st.booleans())
def test_texts_of_arrow(texts: list[str], cut: int, is_large: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    kind = pa.large_string() if is_large else pa.string()
    whole = pa.array(["before", *texts], kind).slice(1)
    parts = pa.chunked_array([whole.slice(0, cut), whole.slice(cut)], kind)
    assert describe(code_texts(parts)) == look_up(texts)
    assert describe(code_texts(texts)) == look_up(texts)
    assert describe(CodedColumn.of(np.array(texts, dtype=object))) == look_up(texts)


@SETTINGS
@given(texts=draw_texts(), cut=st.integers(0, 40), held=st.integers(0, 200))
def test_texts_that_come_in_arrays_are_coded_in_lots(texts: list[str], cut: int, held: int) -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coding, "MAX_BYTES_HELD", held)
        coder = ArrowCoder()
        for part in (texts[:cut], texts[cut:]):
            coder.add(pa.array(part, pa.string()))
        codes, distinct = coder.finish()
    assert (codes.tolist(), distinct.to_pylist()) == look_up(texts)


@SETTINGS
@given(
    kind=st.sampled_from(["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]),
    data=st.data(),
)
def test_integers_of_any_width(kind: str, data: st.DataObject) -> None:
    bounds = np.iinfo(kind)
    low = data.draw(st.sampled_from([bounds.min, 0, bounds.max - 60]))
    numbers = data.draw(st.lists(st.integers(low, low + 60), min_size=1, max_size=30))
    numbers += data.draw(st.sampled_from([[], [bounds.min], [bounds.max]]))
    assert describe(CodedColumn.of(np.array(numbers, dtype=kind))) == look_up(numbers)


def test_names_that_an_array_holds_behave_as_a_list() -> None:
    names = HeldNames(np.array([7, 8, 9]))
    assert (len(names), names[1], names[1:], 9 in names) == (3, 8, [8, 9], True)
    assert names == [7, 8, 9] == list(names)
    assert names.take(np.array([2, 0])) == HeldNames(np.array([9, 7]))
    assert all(type(name) is int for name in names)


def test_a_text_of_numpy_that_recurs_throughout_is_a_text_of_python() -> None:
    column = coding.CodedColumn.of(np.array(["yes"] * coding.MIN_TEXTS_FOR_ARROW))
    assert [type(name) for name in column.names] == [str]
