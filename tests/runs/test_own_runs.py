"""A dataset folder of one's own: run, listed, told apart, scored, compared, analysed and reported like a published one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nikawa.analysis.job import compute_analyses
from nikawa.cli.terminal.app import build
from nikawa.datasets.task_lookup import typed_name
from nikawa.errors import BadInput
from nikawa.io.folders import write_folder
from nikawa.io.json import encode_json, read_json
from nikawa.records import Card, Dataset, Example
from nikawa.reporting.job import ReportOptions, report
from nikawa.reporting.systems import load_task_runs, remake_command
from nikawa.runs import open_run, stored_runs
from nikawa.runs.data import task_of
from nikawa.runs.job import RunOptions, RunReport, RunRequest, run
from nikawa.runs.load import find_runs
from nikawa.runs.manage import diff_runs, list_runs
from nikawa.runs.plan import plan_runs
from nikawa.scoring.score import score

CARD = Card(
    name="weather",
    title="Weather",
    version="3",
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
LABELS = ("entailment", "contradiction", "neutral")
WORDS = {"entailment": "降る", "contradiction": "降らない", "neutral": "寒い"}


def items(numbers: Sequence[int], word: str = "雨", marked: bool = False) -> tuple[Example, ...]:
    return tuple(
        Example(
            id=f"w{n}",
            inputs={
                "premise": f"{n}日に{word}が降る。",
                "hypothesis": f"{n}日は{WORDS[LABELS[n % 3]]}。",
            },
            gold={"label": LABELS[n % 3]},
            meta={"no-snow": "seen" if n % 2 else "unseen"} if marked else {},
            group=f"g{n // 3}",
        )
        for n in numbers
    )


@pytest.fixture
def weather(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a training split of its own and a further set to answer."""
    monkeypatch.chdir(tmp_path)
    splits = {
        "train": items(range(60)),
        "test": items(range(60, 90), marked=True),
        "no-snow": items(range(30)),
        "hard": items(range(90, 99), "雪"),
    }
    write_folder(
        Dataset(name="weather", language="ja", version="3", card=CARD, splits=splits), Path("mine")
    )
    return Path("mine")


def done(*tasks: str, out: str = "runs", **asked: Any) -> RunReport:
    request = RunRequest(**{"models": ("majority", "char-linear"), **asked}, tasks=tasks)
    return run(request, RunOptions(out=Path(out), workers=1))


@pytest.mark.slow
@pytest.mark.usefixtures("weather")
def test_a_run_brings_its_task_and_counts_by_content() -> None:
    found = done("mine")
    assert not found.problems
    assert {(c.task, c.set, c.where) for c in found.cells} == {
        ("mine", "test", ""),
        ("mine", "hard", ""),
    }
    assert {c.metric for c in found.cells} == {"accuracy", "macro-f1"}
    best = next(c for c in found.cells if (c.model, c.set) == ("char-linear", "test"))
    assert best.mean == 100
    stored = stored_runs(Path("runs"))[0].spec
    assert task_of(stored).labels == LABELS
    assert [(d.name, d.version) for d in stored.data] == [
        ("mine:train", "3"),
        ("mine:test", "3"),
        ("mine:hard", "3"),
    ]
    Path("other").mkdir()
    shutil.copytree("mine", "other/mine")
    for place in ("./mine/", "other/mine", str(Path("mine").absolute())):
        assert (done(place).done, done(place).skipped) == (0, 2)
    shutil.copytree("mine", "yours")
    assert done("yours").done == 2


def test_published_tasks_are_written_down_as_before() -> None:
    (family,) = plan_runs(RunRequest(tasks=("mini-ja-nli",), models=("majority",))).families
    assert b'"own"' not in encode_json(family.runs({})[0])


@pytest.mark.usefixtures("weather")
def test_other_content_is_another_run() -> None:
    done("mine", models=("majority",))
    with Path("mine/test.jsonl").open("ab") as stream:
        stream.write(encode_json(items([99])[0]) + b"\n")
    assert done("mine", models=("majority",)).done == 1
    assert len(stored_runs(Path("runs"))) == 2


@pytest.mark.usefixtures("weather")
def test_a_training_split_is_told_by_seen_and_unseen() -> None:
    found = done("mine", models=("char-linear",), train=("./mine:no-snow",))
    rows = {c.where: c for c in found.cells if (c.set, c.metric) == ("test", "accuracy")}
    assert set(rows) == {"", "seen", "unseen", "seen - unseen"}
    assert (rows["seen"].n, rows["unseen"].n) == (15, 15)
    assert {c.variation for c in found.cells} == {"trained on mine:no-snow"}
    assert {c.set for c in found.cells} == {"test", "hard"}
    slices = [
        part for each in compute_analyses(find_runs(["runs"])).analyses.each for part in each.slices
    ]
    assert {part.where for part in slices if part.by == "part"} == {"seen", "unseen"}


@pytest.mark.usefixtures("weather")
def test_runs_are_listed_compared_scored_and_analysed() -> None:
    done("mine")
    a, b = (run.path.name for run in stored_runs(Path("runs")))
    assert {row.state for row in list_runs(Path("runs"), task="mine")} == {"done"}
    assert {pair.set: pair.n for pair in diff_runs(a, b, Path("runs")).answers} == {
        "hard": 9,
        "test": 30,
    }
    answers = Path("runs") / a / "predictions" / "test.jsonl"
    for name in ("mine", "mine:test", "mine-label"):
        scored = score(name, answers)
        assert (scored.report.split, scored.report.version, scored.report.n) == ("test", "3", 30)
        stored = open_run(a, Path("runs")).scores()
        assert (
            scored.report.scores[0].value
            == next(s for s in stored if s.set == "test").scores[0].value
        )
    other = Path("runs") / b / "predictions" / "test.jsonl"
    shown = CliRunner().invoke(
        build("compare"), ["compare", str(answers), str(other), "--task", "mine"]
    )
    assert shown.exit_code == 0, shown.output
    analyses = compute_analyses(find_runs(["runs"])).analyses
    assert {(each.system.task, each.system.language) for each in analyses.each} == {("mine", "ja")}


@pytest.mark.slow
@pytest.mark.usefixtures("weather")
def test_a_report_tells_the_card_and_how_to_make_it_anew() -> None:
    done("mine")
    done("mine", models=("char-linear",), inputs=("hypothesis",))
    told = report(["runs"], Path("report"), ReportOptions(rounds=50))
    assert (told.runs, told.tasks) == (3, ("mine",))
    page = Path(told.page).read_text("utf-8")
    assert "Weather" in page
    assert "Report: mine<" in page
    assert "nikawa data show mine" in page
    spec = stored_runs(Path("runs"))[0].spec
    line = remake_command(spec, [0], "runs")
    assert f"--tasks {typed_name(task_of(spec))} " in line
    again = CliRunner().invoke(build("run"), [*line.split()[1:], "--json"])
    assert '"skipped": 1' in again.stdout


@pytest.mark.usefixtures("weather")
def test_namesakes_are_kept_apart(tmp_path: Path) -> None:
    splits = {"train": items(range(60), "雹"), "test": items(range(60, 90), "雹")}
    other = Dataset(name="weather", language="ja", version="3", card=CARD, splits=splits)
    write_folder(other, tmp_path / "sub" / "mine")
    with pytest.raises(BadInput, match="mine and sub/mine are both named mine"):
        done("mine", "sub/mine")
    done("mine", models=("majority",))
    done("sub/mine", models=("majority",))
    found = load_task_runs(find_runs(["runs"]).results)
    assert [part.name for part in found] == ["mine on test (mine)", "mine on test (sub/mine)"]


@pytest.mark.usefixtures("weather")
def test_a_dataset_that_is_gone_or_changed_is_told() -> None:
    done("mine", models=("majority",))
    Path("mine").rename("moved")
    with pytest.raises(BadInput, match="mine: the dataset of the run is missing; restore it"):
        load_task_runs(find_runs(["runs"]).results)
    Path("moved").rename("mine")
    Path("mine/test.jsonl").write_bytes(encode_json(items([1])[0]) + b"\n")
    with pytest.raises(BadInput, match="mine:test has changed since the run was planned"):
        load_task_runs(find_runs(["runs"]).results)


@pytest.mark.usefixtures("weather")
def test_a_split_called_valid_is_dev() -> None:
    Path("mine/test.jsonl").rename("mine/valid.jsonl")
    (cell, *_) = done("mine", models=("majority",)).cells
    assert (cell.set, cell.protocol) == ("dev", "on dev")
    (stored,) = stored_runs(Path("runs"))
    assert "mine:dev" in stored.spec.protocol.evaluate
    for name in ("mine", "mine:valid", "mine:dev"):
        assert score(name, stored.answers_file("dev")).report.split == "dev"


@pytest.mark.usefixtures("weather")
def test_a_file_alone_is_answered_in_folds() -> None:
    found = done("mine/train.jsonl", models=("char-linear",))
    assert {(c.task, c.set, c.protocol, c.n) for c in found.cells} == {
        ("train", "train", "5 folds of train", 60)
    }


@pytest.mark.usefixtures("weather")
def test_bad_input_is_one_line_and_leaves_nothing() -> None:
    Path("mine/train.jsonl").write_text('{"id":"1","inputs":{"song":"la"},"gold":{"label":"x"}}\n')
    for name in ("test", "no-snow", "hard"):
        Path(f"mine/{name}.jsonl").unlink()
    found = CliRunner().invoke(build("run"), ["run", "--model", "majority", "--tasks", "mine"])
    assert isinstance(found.exception, BadInput)
    assert "no kind of task has the inputs song" in str(found.exception)
    assert not Path("runs").exists()
    assert read_json(Path("mine/card.json"), Card).name == "weather"
