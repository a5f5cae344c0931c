"""Intervals of a report over several seeds: which are Student's t, which resamples, and what the page says of them."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from nikawa.analysis.across_systems import gap_p
from nikawa.datasets import load
from nikawa.io.folders import write_folder
from nikawa.records import Dataset, Example
from nikawa.reporting.job import ReportOptions, report
from nikawa.reporting.systems import load_task_runs
from nikawa.runs.job import RunOptions, RunRequest, run
from nikawa.runs.load import find_runs
from nikawa.stats.resample import draw_weights
from nikawa.stats.seeds import SHARE_LIMITS, mean_interval

LABELS = ("entailment", "contradiction", "neutral")
PLACES = ("港", "駅", "森", "島", "丘")


def item(n: int) -> Example:
    """Words of the hypothesis tell the label, now and then falsely."""
    label = LABELS[n % 3]
    word = ("着いた", "着かない", "遠い")[(n if n % 4 else n + 1) % 3]
    inputs = {
        "premise": f"{PLACES[n % 5]}に{n}便の船が着いた。",
        "hypothesis": f"{PLACES[n % 5]}に船が{word}。",
    }
    return Example(id=f"s{n}", inputs=inputs, gold={"label": label})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds of a system that learned from four examples a label, drawn by seed, and one of another."""
    root = tmp_path_factory.mktemp("seeds")
    splits = {"train": tuple(map(item, range(60))), "test": tuple(map(item, range(60, 150)))}
    data = Dataset(
        name="ships",
        language="ja",
        version="1",
        card=replace(load("mini-ja").card, name="ships"),
        splits=splits,
    )
    write_folder(data, root / "ships")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for model, seeds in (("char-linear", (0, 1, 2)), ("majority", (0,))):
            run(
                RunRequest(tasks=("ships",), models=(model,), seeds=seeds, shots=4),
                RunOptions(out=Path("runs"), workers=1),
            )
        report(["runs"], Path("page"), ReportOptions(rounds=300, dataset=False))
        report(
            ["runs/ships--majority--*"], Path("single"), ReportOptions(rounds=300, dataset=False)
        )
        run(
            RunRequest(tasks=("ships",), models=("majority", "char-linear")),
            RunOptions(out=Path("one-each"), workers=1),
        )
        report(["one-each"], Path("two"), ReportOptions(rounds=300, dataset=False))
    return root


def row_of(place: Path, system: str) -> Any:
    rows = json.loads((place / "page" / "numbers.json").read_bytes())["sections"][0]["rows"]
    return next(row for row in rows if row["system"].startswith(system))


def test_a_mean_over_items_has_students_interval_and_an_f1_has_not(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = row_of(place, "char-linear")["metrics"]
    assert found["accuracy"]["by"] == "t"
    assert "by" not in found["macro-f1"]
    monkeypatch.chdir(place)
    (part,) = load_task_runs(find_runs(["runs/ships--char-linear--*"]).results)
    gold = [example.gold["label"] for example in part.sets["test"]]
    right = np.array(
        [
            [
                answer.answer == label
                for answer, label in zip(one.answers["test"], gold, strict=True)
            ]
            for one in part.systems[0].runs
        ],
        dtype=np.float64,
    )
    assert np.ptp(right.mean(axis=1)) > 0, "the seeds must differ"
    drawn = np.concatenate([right @ weights.T / 90 for weights in draw_weights(90, 300, 0)], axis=1)
    ends = mean_interval(right.mean(axis=1), drawn, 90, SHARE_LIMITS)
    assert (found["accuracy"]["low"], found["accuracy"]["high"]) == pytest.approx(
        [100 * end for end in ends]
    )


def test_the_page_says_which_interval_it_shows(place: Path) -> None:
    html = unescape((place / "page" / "index.html").read_text("utf-8"))
    assert "the intervals of accuracy (means over examples) use Student's t" in html
    assert "The intervals of macro-f1 come from resamples of examples and seeds." in html
    single = (place / "single" / "index.html").read_text("utf-8")
    assert (
        "belong together) and, if a system has several seeds, of seeds. Scores and analyses"
        in single
    )
    assert "Student's t over examples and seeds, with" not in single


def test_the_page_names_the_test_that_was_made(place: Path) -> None:
    html = (place / "page" / "index.html").read_text("utf-8")
    assert "paired tests over examples and seeds" in html
    assert "the smallest p-value that these rounds can give" not in html
    two = (place / "two" / "index.html").read_text("utf-8")
    assert "paired tests with 300 resamples" in two
    assert "the smallest p-value that these rounds can give is" in two
    for folder, words in (("page", "over examples and seeds"), ("two", "with 300 resamples")):
        assert f"paired tests {words}" in (place / folder / "summary.md").read_text("utf-8")


def test_slices_and_the_whole_rest_on_the_same_model(place: Path) -> None:
    (path,) = (place / "page" / "analyses").glob("ships--char-linear--*--test.json")
    found, score = (
        json.loads(path.read_bytes()),
        row_of(place, "char-linear")["metrics"]["accuracy"],
    )
    assert found["score"]["low"] == pytest.approx(score["low"], abs=3)
    assert found["score"]["high"] == pytest.approx(score["high"], abs=3)
    wide = [one for one in found["slices"] if one["low"] is not None]
    assert wide
    assert all(0 <= one["low"] <= one["value"] <= one["high"] <= 100 for one in wide)


def test_seeds_that_differ_make_a_difference_from_the_majority_less_sure() -> None:
    drawn = np.random.default_rng(0).normal(0.1, 0.02, 1000)
    alike, apart = (np.array(values) for values in ((0.1, 0.1, 0.1), (0.0, 0.1, 0.2)))
    sure = gap_p(alike, np.stack([drawn] * 3))
    unsure = gap_p(apart, np.stack([drawn - 0.1, drawn, drawn + 0.1]))
    assert sure < 0.001
    assert unsure > 0.05
    assert gap_p(alike[:1], drawn[None]) == pytest.approx(sure, abs=1e-5)
