"""The particle operations against JSICK's published stress sets, and how sure that is on sentences not looked at."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from nikawa.datasets import load
from nikawa.perturbation import apply, perturbations
from nikawa.records import Example
from nikawa.text import Analyser

EXACT = {"delete": 0.985, "swap": 0.985, "scramble": 0.98}
PUBLISHED = {"o": 1666, "de": 1006, "ni": 797}
LETTERS = {"o": "scramble", "c": "swap", "d": "delete"}


@pytest.fixture(scope="module")
def premises(shared_data: Path) -> tuple[Example, ...]:
    return load("jsick:test", data=shared_data).splits["test"]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["o", "de"])
@pytest.mark.parametrize("operation", EXACT)
def test_rewritten_as_published(
    shared_data: Path, premises: tuple[Example, ...], ipadic: Analyser, operation: str, case: str
) -> None:
    name = f"{operation}-{case}"
    published = {e.id: e for e in load(f"jsick-stress:{name}", data=shared_data).splits[name]}
    parents = [e for e in premises if e.id in published]
    found = apply(perturbations("ja")[name], parents, ipadic, assume_eligible=True)
    same = sum(e.inputs == published[e.id].inputs for e in found)
    assert len(published) == PUBLISHED[case]
    assert same / len(published) >= EXACT[operation]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["o", "de"])
def test_selected_as_published(
    shared_data: Path, premises: tuple[Example, ...], ipadic: Analyser, case: str
) -> None:
    name = f"swap-{case}"
    published = {e.id for e in load(f"jsick-stress:{name}", data=shared_data).splits[name]}
    found = {e.id for e in apply(perturbations("ja")[name], premises, ipadic)}
    assert 2 * len(found & published) / (len(found) + len(published)) >= 0.93


def _judged_ni(shared_data: Path) -> dict[str, dict[str, str]]:
    """Operation to pair id to rewritten premise, of the ga-ni pairs that workers judged."""
    table = shared_data / "jsick" / "jsick-stress" / "jsick-stress-all-annotations.tsv"
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in table.read_text("utf-8").splitlines()[1:]:
        pair, case, letter, premise = line.split("\t")[:4]
        if case == "ni":
            found[LETTERS[letter]][pair.partition("_")[0]] = premise
    return found


@pytest.mark.slow
@pytest.mark.parametrize("operation", EXACT)
def test_judged_ni_pairs_rewritten_as_published(
    shared_data: Path, premises: tuple[Example, ...], ipadic: Analyser, operation: str
) -> None:
    judged = _judged_ni(shared_data)[operation]
    parents = [e for e in premises if e.id in judged]
    found = apply(perturbations("ja")[f"{operation}-ni"], parents, ipadic, assume_eligible=True)
    assert len(judged) == 100
    assert sum(e.inputs["premise"] == judged[e.id] for e in found) >= 96


@pytest.mark.slow
def test_ni_selection_by_recall_and_count(
    shared_data: Path, premises: tuple[Example, ...], ipadic: Analyser
) -> None:
    """Judged pairs are a sample of the 797: recall on them, with the number selected, estimates F1."""
    judged = {pair for pairs in _judged_ni(shared_data).values() for pair in pairs}
    found = {e.id for e in apply(perturbations("ja")["swap-ni"], premises, ipadic)}
    recall = len(found & judged) / len(judged)
    assert 2 * recall * PUBLISHED["ni"] / (len(found) + PUBLISHED["ni"]) >= 0.89
