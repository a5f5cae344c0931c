"""The agreement of the published judgements, to the last digit printed or measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.aggregation.agreement import classify_items, measures
from nikawa.aggregation.table import Table
from nikawa.datasets.load import read_judgements

Values = dict[str, float]


def values_of(table: Table) -> Values:
    return {f"{m.name} {m.level}".removesuffix(" nominal"): m.value for m in measures(table)}


def test_jsick(shared_data: Path) -> None:
    table = Table.from_judgements(read_judgements("jsick", data=shared_data), "label")
    assert values_of(table)["alpha"] == pytest.approx(0.64568, abs=5e-6)
    counts = {name: int(which.sum()) for name, which in classify_items(table).items()}
    assert counts == {"unanimous": 6957, "majority": 2922, "none": 46, "incomplete": 2}


def test_jsick_relatedness(shared_data: Path) -> None:
    table = Table.from_judgements(read_judgements("jsick", data=shared_data), "relatedness")
    assert values_of(table)["alpha interval"] == pytest.approx(0.580, abs=5e-4)


def test_klue_sts(shared_data: Path) -> None:
    table = Table.from_judgements(read_judgements("klue-sts", data=shared_data))
    assert (len(table.items), len(table.workers), len(table)) == (519, 17, 3262)
    found = values_of(table)
    expected = {
        "alpha interval": 0.7477,
        "alpha ordinal": 0.7495,
        "alpha": 0.2714,
        "sd-mean interval": 0.6974,
    }
    assert {name: round(found[name], 4) for name in expected} == expected


def test_klue_nli(shared_data: Path) -> None:
    table = Table.from_judgements(read_judgements("klue-nli", data=shared_data))
    found = values_of(table)
    expected = {
        "unanimous": 0.7633,
        "none": 0.0,
        "validator-is-gold": 0.9256,
        "validator-is-author": 0.9256,
        "individual-is-majority": 0.9405,
        "author-is-gold": 1.0,
        "fleiss": 0.8381,
        "fleiss-validators": 0.8047,
    }
    assert {name: round(found[name], 4) for name in expected} == expected
