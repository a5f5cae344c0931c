"""The official functions' values, all of them."""

from __future__ import annotations

from pathlib import Path

from nikawa.metrics import golden_adapters
from nikawa.scoring.conformance import check_conformance


def test_every_official_value(shared_golden: Path) -> None:
    report = check_conformance(shared_golden / "metrics.json")
    assert [(g.name, f) for g in report.groups for f in g.failures] == []
    assert {group.name for group in report.groups} == set(golden_adapters())
    assert sum(group.passed for group in report.groups) == 106


def test_groups_of_other_stages_are_listed_as_failed(shared_golden: Path) -> None:
    report = check_conformance(shared_golden / "encoder.json")
    assert report.failed == sum(group.cases for group in report.groups) > 0
