"""Analyses of an invented dataset whose answers are chosen, so that every figure can be counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nikawa.analysis.job import AnalysisOptions, compute_analyses
from nikawa.analysis.results import Analysis
from nikawa.io.folders import write_folder
from nikawa.records import Card, Dataset, Example
from nikawa.runs.job import RunOptions, RunRequest, run

E, C, N = "entailment", "contradiction", "neutral"
CARD = Card(
    name="meadow",
    title="Meadow",
    version="1",
    languages=("ja",),
    licence="CC0",
    citation="none",
    homepage="none",
    description="",
    labels="",
    workers="",
    workers_are="none",
    source="",
)
GOLD = [
    (N, 1.0),
    (N, 1.8),
    (C, 2.0),
    (N, 2.9),
    (E, 3.0),
    (C, 3.6),
    (E, 4.2),
    (E, 4.4),
    (C, 4.9),
    (E, 5.0),
    (E, 5.0),
    (N, 4.0),
]
"""Label and similarity of each pair."""
GIVEN = [N, N, N, N, E, E, E, C, C, E, N, E]
QUICK = AnalysisOptions(resamples=100, tokeniser="characters")


def pair(n: int) -> Example:
    label, score = GOLD[n]
    inputs = {
        "premise": f"牛が{n}頭いる。",
        "hypothesis": "牛がいる。" if label == E else "馬が走る。",
    }
    return Example(id=f"m{n}", inputs=inputs, gold={"label": label, "relatedness": score})


@pytest.fixture
def meadow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    splits = {"test": tuple(map(pair, range(len(GOLD))))}
    write_folder(
        Dataset(name="meadow", language="ja", version="1", card=CARD, splits=splits), Path("meadow")
    )
    return Path("meadow")


def replayed(task: str, lines: list[dict[str, object]], name: str = "given") -> Analysis:
    Path(f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run(
        RunRequest(tasks=(task,), models=(f"replay:{name}.jsonl",)),
        RunOptions(out=Path("runs"), workers=1),
    )
    assert not done.problems
    (one,) = compute_analyses([Path("runs")], options=QUICK).analyses.each
    return one


def test_labels_by_similarity_are_counted(meadow: Path) -> None:
    lines: list[dict[str, object]] = [
        {"id": f"m{n}", "answer": answer} for n, answer in enumerate(GIVEN)
    ]
    one = replayed("meadow-label", lines)
    assert one.cross is not None
    assert one.cross.bins == ("1-2", "2-3", "3-4", "4-5", "4-5 without 5")
    cells = {(c.label, c.bin): (c.n, c.value, c.answered) for c in one.cross.cells}
    assert cells[E, "4-5"] == (4, 50.0, 3.0)
    assert cells[E, "4-5 without 5"] == (2, 50.0, 2.0)
    assert cells[N, "4-5"] == (1, 0.0, 1.0)
    assert cells[C, "2-3"] == (1, 0.0, 0.0)
    assert cells[E, "1-2"] == (0, None, 0.0)
    assert cells[N, ""][0] == 4
    assert cells["", ""][1] == pytest.approx(100 * 7 / 12)
    assert (
        sum(
            n
            for (label, part), (n, _, _) in cells.items()
            if label and part in ("1-2", "2-3", "3-4", "4-5")
        )
        == 12
    )


def test_a_model_from_a_file_has_its_name_wherever_that_lies(meadow: Path) -> None:
    (meadow.parent / "far").mkdir()
    lines: list[dict[str, object]] = [
        {"id": f"m{n}", "answer": answer} for n, answer in enumerate(GIVEN)
    ]
    one = replayed("meadow-label", lines, "far/away")
    assert one.system.model == "replay:away.jsonl"


def test_answers_without_probabilities_have_no_calibration(meadow: Path) -> None:
    one = replayed(
        "meadow-label", [{"id": f"m{n}", "answer": answer} for n, answer in enumerate(GIVEN)]
    )
    assert (one.calibration, one.no_calibration) == (None, "the model returns no probabilities")
    assert one.surprises_by == "score"
    assert {s.example for s in one.surprises} == {"m2", "m5", "m7", "m10", "m11"}
    assert compute_analyses([Path("runs")], options=QUICK).analyses.across.suspects == ()


def test_calibration_and_surprises_by_probability(meadow: Path) -> None:
    sure = 0.8
    lines: list[dict[str, object]] = [
        {
            "id": f"m{n}",
            "answer": answer,
            "scores": {x: sure if x == answer else (1 - sure) / 2 for x in (E, C, N)},
        }
        for n, answer in enumerate(GIVEN)
    ]
    one = replayed("meadow-label", lines)
    assert one.calibration is not None
    assert one.calibration.confidence == pytest.approx(sure)
    assert one.calibration.accuracy == pytest.approx(7 / 12)
    assert sum(part.n for part in one.calibration.bins) == 12
    assert one.calibration.brier.value == pytest.approx(
        (7 * 0.06 + 5 * (0.9**2 + 0.8**2 + 0.1**2)) / 12
    )
    assert (one.surprises_by, len(one.surprises)) == ("probability", 5)
    assert one.surprises[0].bits == pytest.approx(3.321928)


def test_scores_by_label_and_similarity(meadow: Path) -> None:
    lines: list[dict[str, object]] = [
        {"id": f"m{n}", "answer": score + 0.1 * (n % 3)} for n, (_, score) in enumerate(GOLD)
    ]
    one = replayed("meadow-relatedness", lines)
    assert one.cross is not None
    cells = {(c.label, c.bin): c for c in one.cross.cells}
    assert cells["", ""].value == pytest.approx(one.score.value)
    assert cells[N, "1-2"].n == 2
    assert cells[N, "1-2"].value == pytest.approx(100)
    assert cells[C, "2-3"].value is None  # a correlation of one item
    assert all(c.answered is None for c in one.cross.cells)
    assert one.surprises_by == "error"


def test_overlap_of_characters_is_counted(meadow: Path) -> None:
    one = replayed(
        "meadow-label", [{"id": f"m{n}", "answer": answer} for n, answer in enumerate(GIVEN)]
    )
    assert one.overlap is not None
    assert (one.overlap.of, one.overlap.inside, one.overlap.segmentation) == (
        "hypothesis",
        "premise",
        "characters",
    )
    assert one.overlap.labels == {E: 1.0, C: pytest.approx(0.6), N: pytest.approx(0.6)}
    assert one.overlap.mean.value == pytest.approx((5 * 1.0 + 7 * 0.6) / 12)


def test_a_single_item_and_one_label_throughout_have_analyses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, numbers in (("one", [0]), ("same", [0, 1, 3, 11])):
        splits = {"test": tuple(map(pair, numbers)), "train": tuple(map(pair, range(4, 9)))}
        write_folder(
            Dataset(name=name, language="ja", version="1", card=CARD, splits=splits), Path(name)
        )
        run(
            RunRequest(tasks=(f"{name}-label",), models=("majority",)),
            RunOptions(out=Path(name) / "runs", workers=1),
        )
        (one,) = compute_analyses([Path(name) / "runs"], options=QUICK).analyses.each
        assert (one.n, one.score.value) == (len(numbers), 0.0)
        assert all(part.p is None for part in one.slices)
    done = run(
        RunRequest(tasks=("one-relatedness",), models=("char-overlap",)),
        RunOptions(out=Path("sts"), workers=1),
    )
    assert not done.problems
    assert {cell.mean for cell in done.cells} == {None}
    (why,) = compute_analyses([Path("sts")], options=QUICK).analyses.index.left_out.values()
    assert why == "no metric is defined for its answers"
