"""Golden files: what passes, what fails and how it is said, and what is no golden file at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nikawa.aggregation.golden import GOLDEN
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput
from nikawa.scoring.conformance import (
    EXACT,
    Refusal,
    call_or_refuse,
    check_conformance,
    find_difference,
)

OWN = Path(__file__).parents[1] / "metrics" / "golden.json"
NAN = {"special": "nan"}
RAISES = {"raises": "ValueError", "message": "no"}


def write(folder: Path, groups: Any) -> Path:
    path = folder / "golden.json"
    path.write_text(json.dumps({"meta": {}, "metrics": groups}), "utf-8")
    return path


def case(expected: Any, gold: list[int] | None = None) -> dict[str, Any]:
    gold = [0, 1] if gold is None else gold
    return {
        "cases": [
            {"id": "c", "input": {"gold": gold, "pred": [0] * len(gold)}, "expected": expected}
        ]
    }


def test_own_cases_pass() -> None:
    report = check_conformance(OWN)
    assert [f for group in report.groups for f in group.failures] == []
    assert report.failed == 0
    assert sum(group.cases for group in report.groups) == 27


def refusing() -> float:
    raise BadInput("no")


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (0.5, 0.5 + 0.9 * EXACT),
        (1, 1.0),
        ("a", "a"),
        (None, None),
        ([1, [2]], (1, [2.0])),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({}, {}),
        (NAN, float("nan")),
        ({"special": "-inf"}, float("-inf")),
        (RAISES, refusing),
        ({"a": RAISES, "b": NAN}, {"a": refusing, "b": lambda: float("nan")}),
        ({"a": RAISES, "b": {"c": RAISES}}, refusing),
    ],
)
def test_agreement(expected: Any, found: Any) -> None:
    assert find_difference(expected, found, EXACT) == ""


@pytest.mark.parametrize(
    ("expected", "found", "said"),
    [
        (0.5, 0.5 + 1.1 * EXACT, "expected 0.5, found 0.5"),
        (1, True, "expected 1, found True"),
        (1, "1", "found '1'"),
        (0.5, float("nan"), "expected 0.5, found nan"),
        (NAN, 0.5, "expected nan, found 0.5"),
        (NAN, refusing, "expected nan, found a refusal (BadInput: no)"),
        (RAISES, 0.5, "expected a refusal, found 0.5"),
        ([1, 2], [1], "expected 2 values, found 1"),
        ([1, 2], [1, 3], "[1]: expected 2, found 3"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: expected 1, found 2"),
        ({"a": 1}, {"b": 1}, "a: expected 1, found nothing"),
        ({"a": RAISES, "b": 1}, refusing, "b: expected 1, found a refusal (BadInput: no)"),
        ({}, 1, "expected {}, found 1"),
        ({}, refusing, "expected {}, found a refusal (BadInput: no)"),
    ],
)
def test_difference_is_named(expected: Any, found: Any, said: str) -> None:
    assert said in find_difference(expected, found, EXACT)


def test_whatever_is_raised_is_a_refusal() -> None:
    assert isinstance(call_or_refuse(lambda: int("no number")), Refusal)
    assert call_or_refuse(lambda: 3) == 3


def test_failures_name_case_and_place(tmp_path: Path) -> None:
    report = check_conformance(write(tmp_path, {"jcola_mcc": case({"mcc": 0, "acc": 0.75})}))
    (group,) = report.groups
    assert (group.cases, group.passed, report.failed) == (1, 0, 1)
    assert group.failures[0].why == "acc: expected 0.75, found 0.5"


def test_float32_groups_have_their_tolerance(tmp_path: Path) -> None:
    scores = {"gold": [1.0, 2.0, 3.0], "pred": [1.0, 2.0, 3.0]}
    for off, failed in ((0.9e-5, 0), (1.1e-4, 1)):
        expected = {"float32": 100 - off}
        group = {"cases": [{"id": 1, "input": scores, "expected": expected}]}
        assert check_conformance(write(tmp_path, {"klue_sts_pearsonr": group})).failed == failed


def test_unknown_group_fails_whole(tmp_path: Path) -> None:
    report = check_conformance(
        write(tmp_path, {"nobody": case(1), "empty": {"cases": []}, "jglue_accuracy": case(0.5)})
    )
    assert [(g.name, g.cases, g.passed) for g in report.groups] == [
        ("nobody", 1, 0),
        ("empty", 0, 0),
        ("jglue_accuracy", 1, 1),
    ]
    assert report.failed == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{", "the JSON is incomplete"),
        ("[]", "contains no groups"),
        ("{}", "contains no groups"),
        ('{"metrics": []}', "contains no groups"),
        ('{"metrics": {}}', "contains no groups"),
        ('{"metrics": {"wos": 3}}', "group wos: expected `object`, got `int`"),
        ('{"metrics": {"wos": {}}}', "group wos: missing required field `cases`"),
        (
            '{"metrics": {"wos": {"cases": [{"id": "a", "input": 1}]}}}',
            "missing required field `expected`",
        ),
        ('{"metrics": {"wos": {"cases": [{"id": [], "input": 1, "expected": 1}]}}}', "cases[0].id"),
        ('{"metrics": {"wos": {"cases": [{"id": 1, "input": NaN, "expected": 1}]}}}', "NaN"),
    ],
)
def test_no_golden_file(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput) as problem:
        check_conformance(path)
    assert said in str(problem.value)
    assert str(problem.value).startswith(str(path))
    assert "; " in str(problem.value)
    assert "\n" not in str(problem.value)


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        check_conformance(tmp_path / "absent.json")


def test_command_prints_a_line_a_group(tmp_path: Path) -> None:
    done = CliRunner().invoke(build(), ["conformance", str(OWN)])
    assert done.exit_code == 0
    assert "12 groups, 27 cases, 0 failed" in done.stdout
    done = CliRunner().invoke(
        build(), ["conformance", str(write(tmp_path, {"jglue_accuracy": case(1)}))]
    )
    assert done.exit_code == 1
    assert "c: expected 1, found 0.5" in done.stdout


def test_command_as_json(tmp_path: Path) -> None:
    path = write(tmp_path, {"nobody": case(1), "jglue_accuracy": case(0.5)})
    done = CliRunner().invoke(build(), ["conformance", str(path), "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["failed"] == 1
    assert [set(group) for group in found["groups"]] == [
        {"name", "cases", "passed", "failures"}
    ] * 2
    assert found["groups"][0]["failures"] == [
        {"id": "c", "why": "no metric is registered for this group"}
    ]


def test_agreement_is_held_against_golden_cases_too(tmp_path: Path) -> None:
    alike = {
        "id": 1,
        "input": [[1, 2], [1, 2], [None, 2]],
        "expected": {"nominal": 1.0, "interval": 1.0},
    }
    single = {"id": 2, "input": [[1, 1], [1, 1]], "expected": {"nominal": RAISES}}
    kappa = {"id": 3, "input": [[3, 0], [0, 3]], "expected": 1.0}
    groups = {"agreement": {"cases": [alike, single]}, "fleiss_kappa": {"cases": [kappa]}}
    report = check_conformance(write(tmp_path, groups), GOLDEN)
    assert [(group.passed, group.failures) for group in report.groups] == [(2, ()), (1, ())]
