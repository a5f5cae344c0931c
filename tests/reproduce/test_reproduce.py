"""Verdicts on figures, on invented papers and on the published data."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput, UnknownName
from nikawa.reproduce.figures import Explanation, Figures, Partial, Printed, papers, read_figures
from nikawa.reproduce.job import decimals, equal_as_printed, judge, reproduce

FIGURES = Figures(
    printed={"a": 10, "b": 10, "c": 10},
    slips={"b": Explanation(12, "a misprint")},
    versions={"c": Explanation(11, "a later release")},
)


@pytest.mark.parametrize(
    ("name", "found", "verdict"),
    [
        ("a", 10, "equal"),
        ("a", 11, "differs"),
        ("a", None, "absent"),
        ("a", Partial(7, "the test file"), "absent"),
        ("b", 12, "slip"),
        ("b", 13, "differs"),
        ("b", 10, "equal"),
        ("c", 11, "version"),
        ("c", 12, "differs"),
    ],
)
def test_verdicts(name: str, found: int | Partial | None, verdict: str) -> None:
    assert judge(name, 10, found, FIGURES).verdict == verdict


def test_partial_value_stands_in_the_note() -> None:
    result = judge("a", 10, Partial(7, "the test file"), FIGURES)
    assert result.recomputed is None
    assert result.note == "7 without the test file"


@pytest.mark.parametrize(
    ("found", "printed", "same"),
    [
        (0.64568, 0.65, True),
        (13.458, 13.5, True),
        (13.458, 13.4, False),
        (2.5, 3, True),
        (2.5, 2, True),
        (70.08, 70.1, True),
    ],
)
def test_equal_means_as_printed(found: float, printed: float, same: bool) -> None:
    assert equal_as_printed(found, printed) is same


def test_a_printed_zero_counts() -> None:
    assert not equal_as_printed(0.8715, Printed("0.870"))
    assert equal_as_printed(0.8704, Printed("0.870"))
    assert equal_as_printed(0.8715, 0.87)


def test_decimals_are_those_written() -> None:
    assert [decimals(x) for x in (48, 70.1, 0.65, 1e-05)] == [0, 1, 2, 5]


def test_unknown_paper_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="jsick"):
        reproduce("jsik")


@pytest.mark.parametrize("paper", papers())
def test_explanations_name_printed_figures(paper: str) -> None:
    figures = read_figures(paper)
    assert {*figures.slips, *figures.versions} <= set(figures.printed)
    assert all(entry.note for entry in (*figures.slips.values(), *figures.versions.values()))


@pytest.mark.parametrize("paper", papers())
def test_without_data_only_arithmetic_is_left(paper: str, tmp_path: Path) -> None:
    verdicts = {result.verdict for result in reproduce(paper, tmp_path)}
    assert "absent" in verdicts
    assert not verdicts & {"differs", "version"}


@pytest.mark.slow
@pytest.mark.parametrize("paper", papers())
def test_no_unexplained_difference(paper: str, shared_data: Path) -> None:
    results = reproduce(paper, shared_data)
    assert [r for r in results if r.verdict == "differs"] == []
    assert sum(r.verdict == "equal" for r in results) >= 20


def test_a_data_folder_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIKAWA_DATA", str(tmp_path / "none"))
    done = CliRunner().invoke(build("reproduce"), ["reproduce", "jsick"])
    assert isinstance(done.exception, BadInput)
    assert str(done.exception).endswith(
        "none: no such folder; set NIKAWA_DATA to the folder that holds the repositories (jglue/, jsick/, …)"
    )
