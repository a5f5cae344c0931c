"""`--extract`: which part of a text expressions give, and what they are refused for."""

from __future__ import annotations

import pytest

from nikawa.errors import BadInput
from nikawa.io.answers import extract
from nikawa.io.answers.extract import Extractor, check_expressions, read_extracts
from nikawa.io.answers.reader import make_reader
from nikawa.records import Example, Task

TASK = Task(
    name="own",
    dataset="own",
    kind="inference",
    question="label",
    inputs=(),
    labels=("entailment", "contradiction", "neutral"),
    metrics=(),
)
EXAMPLE = Example(id="1", inputs={})


@pytest.mark.parametrize(
    ("expressions", "text", "part"),
    [
        ((r"\d",), "1 2 3", "3"),
        ((r"<(.)>",), "<a> <b>", "b"),
        ((r"x(.)(.)",), "xyz", "y"),
        ((r"<.*>", r"\w", r"."), "p <q r> s", "r"),
        ((r"(?s)答え.*",), "答えは\n含意", "答えは\n含意"),
        ((r"[ＡＢ]",), "Ａか𠮷Ｂ", "Ｂ"),
        ((r".",), "half \ud800", "\ud800"),
        ((r"\w+",), "<think>one two</think>three <think>four</think>", "three"),
        ((r"^",), "ab", ""),
    ],
)
def test_the_part_that_is_taken(expressions: tuple[str, ...], text: str, part: str) -> None:
    extractor = Extractor(expressions)
    taken = extractor.find(text)
    extractor.close()
    assert (text[taken.start : taken.end], taken.missed) == (part, None)


@pytest.mark.parametrize(
    ("expressions", "missed"), [((r"x",), "x"), ((r"a(b)?",), "a(b)?"), ((r"a", r"b"), "b")]
)
def test_what_matches_nothing_is_said(expressions: tuple[str, ...], missed: str) -> None:
    read = read_extracts(make_reader(TASK), expressions)
    assert read("a c", EXAMPLE).why == f"--extract matches nothing: {missed}"


def test_a_reading_points_into_the_whole_text() -> None:
    text = "矛盾か。最終: <答えは中立です>"
    reading = read_extracts(make_reader(TASK), (r"<(.*)>",))(text, EXAMPLE)
    assert (reading.answer, text[reading.start : reading.end]) == ("neutral", "中立")
    assert reading.pattern == "extract, cue"
    assert read_extracts(make_reader(TASK), (r"x",))(0, EXAMPLE).why == (
        make_reader(TASK)(0, EXAMPLE).why
    )


@pytest.mark.parametrize("expression", ["(", "*", r"\1", "(?P<n>a)(?P<n>b)", "a{99999999999}", ""])
def test_bad_expressions_are_refused(expression: str) -> None:
    with pytest.raises(BadInput) as problem:
        check_expressions([expression])
    assert "\n" not in str(problem.value)


def test_too_many_expressions_are_refused() -> None:
    with pytest.raises(BadInput, match="21 expressions are too many"):
        check_expressions(["a"] * 21)


def test_one_text_that_takes_too_long_ends_the_process_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extractor = Extractor(["(a|aa)+$"])
    assert extractor.find("aa").missed is None
    monkeypatch.setattr(extract, "MAX_SECONDS", 0.2)
    with pytest.raises(BadInput, match=r"takes more than 0\.2 s on one text"):
        extractor.find("a" * 80 + "b")
    monkeypatch.setattr(extract, "MAX_SECONDS", 30.0)
    assert extractor.find("aa").missed is None
    extractor.close()
    extractor.close()
