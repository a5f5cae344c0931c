"""Analyses of stored runs: what is written, that it agrees with the runs' own scores, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from nikawa.analysis.job import Analyses, AnalysisOptions, analyse, read_analyses
from nikawa.analysis.results import Analysis
from nikawa.datasets import benchmarks
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.records import Example, Origin
from nikawa.runs import stored_runs
from nikawa.runs.job import RunOptions, RunRequest, run

QUICK = AnalysisOptions(resamples=200, tokeniser="characters")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the embedded tasks: two models, two seeds, one of them also with the hypothesis alone and of half the data."""
    out = tmp_path_factory.mktemp("analyse") / "runs"
    nli, options = ("mini-ja-nli",), RunOptions(out=out, workers=1)
    run(RunRequest(tasks=nli, models=("majority", "char-linear"), seeds=(0, 1)), options)
    run(RunRequest(tasks=nli, models=("char-linear",), inputs=("hypothesis",)), options)
    run(RunRequest(tasks=nli, models=("char-linear",), shares=(0.5,)), options)
    run(
        RunRequest(tasks=("mini-ja-sts", "mini-ja-qa", "mini-ja-choice"), models=("baseline",)),
        options,
    )
    return out


@pytest.fixture(scope="module")
def found(runs: Path) -> Analyses:
    analyse([runs], options=QUICK)
    return read_analyses(runs)


def one(found: Analyses, task: str, model: str, variation: str = "") -> Analysis:
    names = (task, model, variation)
    return next(
        x for x in found.each if (x.system.task, x.system.model, x.system.variation) == names
    )


def test_seeds_of_a_system_belong_together(found: Analyses) -> None:
    whole = one(found, "mini-ja-nli", "char-linear")
    assert whole.system.seeds == (0, 1)
    assert len(whole.system.runs) == 2
    assert whole.score.sd is not None
    assert len(found.each) == 7


def test_the_scores_are_those_of_the_runs(found: Analyses, runs: Path) -> None:
    stored = {r.path.name: r.scores()[0].scores[0].value for r in stored_runs(runs)}
    for x in found.each:
        values = [stored[name] for name in x.system.runs]
        assert x.score.value == pytest.approx(sum(values) / len(values))


def test_slices_add_up_to_the_whole(found: Analyses) -> None:
    x = one(found, "mini-ja-nli", "char-linear")
    for key in {s.by for s in x.slices} - {"tag"}:
        parts = [s for s in x.slices if s.by == key]
        total = sum(s.n for s in parts)
        assert total <= x.n
        if total == x.n:
            mean = sum(s.n * (s.value or 0) for s in parts) / x.n
            assert mean == pytest.approx(x.score.value)


def test_confusion_calibration_and_surprises_hang_together(found: Analyses) -> None:
    x = one(found, "mini-ja-nli", "char-linear")
    assert x.confusion is not None
    assert x.calibration is not None
    right = sum(x.confusion.counts[label][label] for label in x.confusion.labels)
    assert 100 * right / x.n == pytest.approx(x.score.value)
    assert 100 * x.calibration.accuracy == pytest.approx(x.score.value)
    assert x.surprises_by == "probability"
    assert all(s.gold != s.answer for s in x.surprises)
    bits = [s.bits for s in x.surprises]
    assert bits == sorted(bits, key=lambda b: -(b or 0))


def test_other_kinds_have_what_fits_them(found: Analyses) -> None:
    sts, reading = one(found, "mini-ja-sts", "baseline"), one(found, "mini-ja-qa", "baseline")
    choice = one(found, "mini-ja-choice", "baseline")
    assert (sts.surprises_by, reading.surprises_by) == ("error", "score")
    assert (sts.confusion, sts.calibration, sts.no_calibration) == (
        None,
        None,
        "answers are not labels",
    )
    assert reading.overlap is not None
    assert (reading.overlap.of, reading.overlap.inside, reading.overlap.segmentation) == (
        "question",
        "context",
        "characters",
    )
    assert 0 < (reading.overlap.mean.value or 0) <= 1
    assert (choice.overlap, choice.no_overlap) == (None, "choice tasks do not have two texts")


def test_partial_inputs_stand_against_the_majority_and_the_whole(found: Analyses) -> None:
    (partial,) = found.across.partial
    majority = one(found, "mini-ja-nli", "majority")
    assert partial.inputs == ("hypothesis",)
    assert partial.majority == pytest.approx(majority.score.value)
    assert partial.full == pytest.approx(one(found, "mini-ja-nli", "char-linear").score.value)
    assert partial.difference.value == pytest.approx((partial.score.value or 0) - partial.majority)
    assert 0 <= partial.p <= partial.p_holm <= 1


def test_the_curve_goes_from_few_to_many(found: Analyses) -> None:
    (curve,) = found.across.curves
    assert [p.share for p in curve.points] == [0.5, 1.0]
    assert curve.points[0].trained < curve.points[1].trained
    assert curve.doubling is not None


def test_the_sheet_tells_workers_nothing(found: Analyses, runs: Path) -> None:
    sheets = {s.task: s for s in found.across.suspects}
    suspects = sheets["mini-ja-nli"]
    assert all("majority" not in name and "hypothesis" not in name for name in suspects.systems)
    folder = runs / "analyses" / suspects.sheet
    tasks = list(read_examples(folder / "tasks.jsonl"))
    assert {e.id for e in tasks} == {s.example for s in suspects.items}
    assert all(not (e.gold or e.meta or e.tags) for e in tasks)
    assert all(set(e.inputs) == {"premise", "hypothesis"} for e in tasks)
    rows = list(csv.DictReader((folder / "tasks.csv").read_text("utf-8-sig").splitlines()))
    assert [row["example"] for row in rows] == [e.id for e in tasks]
    sheet = json.loads((folder / "sheet.json").read_bytes())
    assert (sheet["question"], sheet["form"], sheet["workers"], sheet["items"]) == (
        "label",
        "inference",
        3,
        len(tasks),
    )


def test_suspects_are_disagreements(found: Analyses) -> None:
    for suspects in found.across.suspects:
        assert suspects.total >= len(suspects.items)
        for s in suspects.items:
            assert s.gold != s.suggested
            assert s.p_suggested > s.p_gold
            assert 0 < s.suggest <= s.systems or s.systems == 1


def test_the_same_again_is_the_same_bytes_and_is_asked_for(
    runs: Path, tmp_path: Path, found: Analyses
) -> None:
    analyse([runs], out=tmp_path / "again", options=QUICK)
    for path in sorted((runs / "analyses").rglob("*.json*")):
        if path.name != "index.json":
            assert (
                path.read_bytes()
                == (tmp_path / "again" / path.relative_to(runs / "analyses")).read_bytes()
            )
    with pytest.raises(BadInput, match=r"already exists; .*--overwrite"):
        analyse([runs], options=QUICK)
    assert found.index.command.startswith("nikawa analyse ")


def test_what_workers_sent_back_is_not_replaced(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "analyses"
    sts = str(runs / "mini-ja-sts--*")
    analyse([sts], out=out, options=QUICK)
    analyse([sts], out=out, options=QUICK, overwrite=True)
    (out / "suspects" / "x").mkdir(parents=True)
    (out / "suspects" / "x" / "answers.csv").write_text("example,worker,label\n")
    with pytest.raises(BadInput, match=r"answers\.csv; move it away"):
        analyse([sts], out=out, options=QUICK, overwrite=True)
    assert (out / "suspects" / "x" / "answers.csv").exists()


def test_keys_and_metrics_can_be_chosen(runs: Path, tmp_path: Path) -> None:
    pattern = str(runs / "mini-ja-nli--char-linear--*")
    got = analyse(
        [pattern], out=tmp_path / "a", options=replace_how(by=("gold",), metric="macro-f1")
    )
    assert {x.metric for x in got.each} == {"macro-f1"}
    assert {s.by for x in got.each for s in x.slices} == {"gold"}
    assert "--by gold --metric macro-f1" in got.index.command
    with pytest.raises(
        BadInput, match="no result can be sliced by 'colour': no item has this field"
    ):
        analyse([pattern], out=tmp_path / "b", options=replace_how(by=("colour",)))
    with pytest.raises(BadInput, match="pearson does not score any of these tasks"):
        analyse([pattern], out=tmp_path / "c", options=replace_how(metric="pearson"))
    assert not (tmp_path / "b").exists()


def test_rank_correlations_have_fewer_resamples_and_say_so(runs: Path, tmp_path: Path) -> None:
    how = AnalysisOptions(metric="spearman", tokeniser="none")
    (sts,) = analyse([str(runs / "mini-ja-sts--*")], out=tmp_path / "a", options=how).each
    assert (sts.metric, sts.resamples) == ("spearman", 200)
    assert sts.score.value is not None


def replace_how(by: tuple[str, ...] = (), metric: str = "") -> AnalysisOptions:
    return AnalysisOptions(by=by, metric=metric, resamples=100, tokeniser="none")


def test_unfinished_runs_are_left_out_and_told(runs: Path, tmp_path: Path) -> None:
    names = sorted(path for path in runs.glob("mini-ja-nli--majority--*"))
    for path in names:
        shutil.copytree(path, tmp_path / "some" / path.name)
    (tmp_path / "some" / names[0].name / "done.json").unlink()
    got = analyse([tmp_path / "some"], options=replace_how())
    assert got.index.left_out == {names[0].name: "not finished"}
    assert len(got.each[0].system.seeds) == 1
    (tmp_path / "some" / names[1].name / "done.json").unlink()
    with pytest.raises(BadInput, match="no finished run: not finished"):
        analyse([tmp_path / "some"], out=tmp_path / "x", options=replace_how())


def test_a_run_that_does_not_say_what_it_is_does_not_stop_the_others(
    runs: Path, tmp_path: Path
) -> None:
    names = sorted(runs.glob("mini-ja-nli--majority--*"))
    for path in names:
        shutil.copytree(path, tmp_path / "some" / path.name)
    (tmp_path / "some" / names[0].name / "run.json").write_text("{}")
    (tmp_path / "some" / names[1].name / "about.json").unlink()
    with pytest.raises(BadInput, match=r"about\.json"):
        analyse([tmp_path / "some"], options=replace_how())
    shutil.copy(names[1] / "about.json", tmp_path / "some" / names[1].name)
    got = analyse([tmp_path / "some"], options=replace_how())
    assert "missing required field" in got.index.left_out[names[0].name]
    assert [x.system.model for x in got.each] == ["majority"]


def test_a_place_that_cannot_be_written_is_told_before_the_work(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    monkeypatch.setattr(
        "nikawa.analysis.job.compute_analyses", lambda *_, **__: pytest.fail("the work began")
    )
    with pytest.raises(BadInput, match="cannot be written; choose another folder"):
        analyse([runs], out=tmp_path / "some" / "where")


def test_answers_that_were_changed_are_told(runs: Path, tmp_path: Path) -> None:
    path = next(runs.glob("mini-ja-sts--*"))
    shutil.copytree(path, tmp_path / path.name)
    answers = tmp_path / path.name / "predictions" / "test.jsonl"
    answers.write_bytes(answers.read_bytes().replace(b'"answer"', b'"answer" '))
    with pytest.raises(BadInput, match="has changed since the run wrote it"):
        analyse([tmp_path / path.name], options=replace_how())
    good = next(runs.glob("mini-ja-nli--majority--*"))
    got = analyse([tmp_path / path.name, good], out=tmp_path / "out", options=replace_how())
    assert [x.system.task for x in got.each] == ["mini-ja-nli"]
    assert "has changed since the run wrote it" in got.index.left_out[path.name]
    with pytest.raises(BadInput, match="in several folders"):
        analyse([tmp_path / path.name, good])


@pytest.mark.parametrize(
    ("name", "what"),
    [("nothing", "no such folder"), ("file", "is a file"), ("empty", "contains no runs")],
)
def test_what_is_no_run_is_refused(tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=what):
        analyse([tmp_path / name])


def test_hidden_labels_never_appear(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gold that is marked hidden is in no file, even where the data on this machine holds it."""
    from nikawa.runs import data

    real = data.load_answered_sets

    def marked(*given: Any) -> dict[str, list[Example]]:
        hide = Origin(recipe="test", gold="hidden")
        return {
            name: [replace(e, id=e.id, origin=hide) if i < 4 else e for i, e in enumerate(examples)]
            for name, examples in real(*given).items()
        }

    monkeypatch.setattr("nikawa.runs.load.load_answered_sets", marked)
    got = analyse([str(runs / "mini-ja-nli--*")], out=tmp_path / "out", options=replace_how())
    stored = next(runs.glob("mini-ja-nli--*")) / "predictions" / "test.jsonl"
    ids = [json.loads(line)["example"] for line in stored.read_text().splitlines()]
    text = b"".join(
        path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    ).decode()
    assert not any(f'"{name}"' in text or f"/{name}" in text for name in ids[:4])
    assert {x.n for x in got.each} == {len(ids) - 4}


def test_formulas_are_neutralised(tmp_path: Path) -> None:
    from nikawa.io.task_sheet import write_cells

    write_cells(
        tmp_path / "t.csv", [Example(id="a:b/1", inputs={"premise": "=1+1", "hypothesis": "x"})]
    )
    assert "'=1+1" in (tmp_path / "t.csv").read_text("utf-8-sig")


def test_everything_written_can_be_read_by_its_type(found: Analyses) -> None:
    for x in found.each:
        assert msgspec.json.decode(msgspec.json.encode(x), type=Analysis) == x


@pytest.mark.slow
def test_jsick_tables_9_and_10(shared_data: Path, tmp_path: Path) -> None:
    """The numbers of pairs of Table 9, with gold as the answers; correlations of gold with itself are 1."""
    from nikawa.datasets import load_task
    from nikawa.io.jsonl import write_lines_of_records
    from nikawa.records import Prediction

    for name, question in (("jsick-nli", "label"), ("jsick-sts", "relatedness")):
        _, examples = load_task(name, "test", data=shared_data)
        answers = [Prediction(example=e.id, answer=e.gold[question]) for e in examples]
        write_lines_of_records(tmp_path / f"{name}.jsonl", answers, overwrite=False)
        request = RunRequest(tasks=(name,), models=(f"replay:{tmp_path / f'{name}.jsonl'}",))
        run(request, RunOptions(out=tmp_path / "runs", workers=1, data=shared_data))
    got = analyse(
        [tmp_path / "runs"],
        data=shared_data,
        options=AnalysisOptions(resamples=100, tokeniser="none"),
    )
    nli, sts = (
        next(x for x in got.each if x.system.task == name) for name in ("jsick-nli", "jsick-sts")
    )
    assert nli.cross is not None
    assert sts.cross is not None
    counts = {(c.label, c.bin): c.n for c in nli.cross.cells}
    assert [counts["entailment", b] for b in ("1-2", "2-3", "3-4", "4-5 without 5", "")] == [
        0,
        3,
        157,
        643,
        1_088,
    ]
    assert [counts["contradiction", b] for b in ("1-2", "2-3", "3-4", "4-5 without 5", "")] == [
        4,
        83,
        327,
        383,
        797,
    ]
    assert [counts["neutral", b] for b in ("1-2", "2-3", "3-4", "4-5 without 5", "")] == [
        647,
        1_162,
        1_103,
        130,
        3_042,
    ]
    assert [counts["", b] for b in ("1-2", "2-3", "3-4", "4-5 without 5", "4-5")] == [
        651,
        1_248,
        1_587,
        1_156,
        1_441,
    ]
    assert {c.value for c in nli.cross.cells if c.n} == {100.0}
    assert all(c.value == pytest.approx(100) for c in sts.cross.cells if c.value is not None)


@pytest.mark.slow
def test_jsquad_overlap(shared_data: Path) -> None:
    """JGLUE tells 0.795; of the segmentations here Juman's dictionary comes nearest (0.793)."""
    from nikawa.analysis.set_analysis import count_shared
    from nikawa.datasets import load
    from nikawa.text import analyser

    pytest.importorskip("jumandic", reason="Juman's dictionary is not installed")
    examples = load("jsquad:dev", data=shared_data).splits["dev"]
    found = count_shared(examples, ("question", "context"), analyser("juman", cache=0))
    assert float(found.shares.mean()) == pytest.approx(0.7932, abs=5e-5)


def test_every_dataset_has_a_language_to_cut_by() -> None:
    # the languages without an analyser are cut at blanks
    assert {b.language for b in benchmarks().values()} <= {"ja", "ko", "en", "nl", "pt"}
