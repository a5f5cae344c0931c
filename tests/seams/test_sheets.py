"""From a recipe's sheets to the annotation server and back into the build, as a user takes the way by commands.

`tests/contracts/test_sheets.py` walks every question of every recipe; here are the matters that were lost on the way.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.recipes.sheet_walk import answer_sheet, read_sheet, served, write_sources

from nikawa.collect.job import create_links
from nikawa.collect.project import open_project
from nikawa.io.json import read_json_lines
from nikawa.io.records import read_examples
from nikawa.io.task_sheet import CELLS, SHEET, TASKS
from nikawa.records import Judgement

Run = Callable[..., CompletedProcess[str]]


def make_project(nikawa: Run, tasks: Path, folder: Path, *options: str) -> CompletedProcess[str]:
    made = nikawa("collect", "new", str(folder), "--examples", str(tasks), *options)
    assert made.returncode == 0, made.stderr
    return made


def take_answers(nikawa: Run, folder: Path, tasks: Path) -> None:
    answers = tasks.with_name("answers.jsonl")
    done = nikawa("collect", "export", str(folder), "--out", str(answers))
    assert done.returncode == 0, done.stderr


def first_item(folder: Path, worker: str = "보는 사람") -> dict[str, Any]:
    with served(folder) as (_, client):
        ((_, link),) = create_links(folder, [worker], "http://here").links
        item: dict[str, Any] = client.get(f"{link}/next").json()["item"]
        return item


def test_a_premise_reaches_its_writer_as_one(nikawa: Run, tmp_path: Path) -> None:
    write_sources("klue-nli", tmp_path)()
    _, tasks = read_sheet(tmp_path / "out", "hypotheses")
    make_project(nikawa, tasks, tmp_path / "p")
    assert first_item(tmp_path / "p")["inputs"]["premise"].endswith("밝혔다.")
    with (tasks.with_name(CELLS)).open(encoding="utf-8-sig", newline="") as stream:
        assert next(csv.reader(stream)) == ["example", "premise"]


def test_a_scale_keeps_the_anchors_of_its_paper(nikawa: Run, tmp_path: Path) -> None:
    write_sources("klue-sts", tmp_path)()
    sheet, tasks = read_sheet(tmp_path / "out", "similarity")
    make_project(nikawa, tasks, tmp_path / "p")
    options = open_project(tmp_path / "p").options
    assert options.anchors == sheet.anchors
    assert options.anchors["1"] == "주제만 같다"
    assert set(options.anchors) == set("012345")


def test_reports_are_answers_of_the_build(nikawa: Run, tmp_path: Path) -> None:
    """A writer hands a premise back: the build takes the word for their answer, and asks a reviewer."""
    run = write_sources("klue-nli", tmp_path)
    run()
    sheet, tasks = read_sheet(tmp_path / "out", "hypotheses")
    make_project(nikawa, tasks, tmp_path / "p")
    settings = open_project(tmp_path / "p").settings.reports
    assert settings.codes == ("personal", "hate", "bias", "undecidable")
    assert settings.counted
    answer_sheet(tmp_path / "p", sheet)
    status = json.loads(nikawa("collect", "status", str(tmp_path / "p"), "--json").stdout)
    assert (status["progress"]["complete"], status["progress"]["set_aside"]) == (sheet.items, 0)
    assert status["progress"]["uncounted"] == 0
    take_answers(nikawa, tmp_path / "p", tasks)
    report = run()
    assert [waiting.ask for waiting in report.waiting] == ["review", "validation"][:1]
    stage = next(stage for stage in report.stages if stage.name == "checked")
    assert stage.wrote == {"unreported": sheet.items - 2, "reported": 1}
    assert stage.dropped == {"skipped by the writer": 1}


def test_who_wrote_a_pair_is_not_given_it(nikawa: Run, tmp_path: Path) -> None:
    run = write_sources("jsick", tmp_path)
    run()
    sheet, tasks = read_sheet(tmp_path / "out", "translation")
    make_project(nikawa, tasks, tmp_path / "p")
    answer_sheet(tmp_path / "p", sheet)
    take_answers(nikawa, tmp_path / "p", tasks)
    run()
    _, again = read_sheet(tmp_path / "out", "validation")
    barred = again.with_name("tasks.writers.jsonl")
    assert barred.stat().st_mode & 0o077 == 0
    (writer,) = {
        row.worker for _, row in read_json_lines(tasks.with_name("answers.jsonl"), Judgement)
    }
    make_project(nikawa, again, tmp_path / "q")
    assert first_item(tmp_path / "q", writer) is None
    assert first_item(tmp_path / "q", "다른 사람")["inputs"]["begun"]


def test_a_translation_left_as_it_is_was_found_good(nikawa: Run, tmp_path: Path) -> None:
    run = write_sources("jsick", tmp_path)
    run()
    for ask in ("translation", "validation"):
        sheet, tasks = read_sheet(tmp_path / "out", ask)
        make_project(nikawa, tasks, tmp_path / ask)
        answer_sheet(tmp_path / ask, sheet)
        take_answers(nikawa, tmp_path / ask, tasks)
        run()
    trace = (tmp_path / "out" / "build" / "validated" / "trace.jsonl").read_text("utf-8")
    assert trace.count('"found good"') == sheet.items
    assert "corrected" not in trace


def test_a_simulated_build_writes_the_sheets_of_a_real_one(nikawa: Run, tmp_path: Path) -> None:
    write_sources("ynat", tmp_path)()
    words = ("build", "ynat", "--config", str(tmp_path / "config.toml"))
    trial = tmp_path / "trial"
    for _ in range(2):  # also where the answers were there before the sheets
        assert nikawa(*words, "--out", str(trial), "--simulate", "1").returncode == 0
        real = tmp_path / "out" / "people" / "topics"
        for name in (TASKS, CELLS, SHEET):
            path = trial / "people" / "topics" / name
            assert path.read_bytes() == (real / name).read_bytes()
            path.unlink()
    sheet, tasks = read_sheet(trial, "review")
    assert sheet.simulated
    made = make_project(nikawa, tasks, tmp_path / "p")
    assert "these tasks come from answers of simulated workers" in made.stdout + made.stderr


def test_a_build_that_ends_with_nothing_says_why(nikawa: Run, tmp_path: Path) -> None:
    write_sources("marc-ja", tmp_path)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text("utf-8") + "longest = 3\n", "utf-8")
    words = ("build", "marc-ja", "--config", str(config), "--out", str(tmp_path / "out"))
    done = nikawa(*words, "--simulate", "1")
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["stage", "by", "state", "in", "out", "dropped"]
    (row,) = [line for line in lines if line.split()[:1] == ["reviewed"]]
    assert "reviewed 0" in row
    assert "over 3 characters 8" in row
    (message,) = done.stderr.splitlines()
    assert "the stage reviewed dropped all 8 (over 3 characters 8); change longest" in message
    assert not (tmp_path / "out" / "card.json").exists()
    report = json.loads(nikawa(*words, "--simulate", "1", "--json").stdout)
    assert report["stages"][0]["dropped"] == {"over 3 characters": 8}
    assert nikawa(*words, "--simulate", "1", "--quiet").stdout == ""


def test_too_little_for_a_stage_shows_what_went_before(nikawa: Run, tmp_path: Path) -> None:
    write_sources("klue-nli", tmp_path)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text("utf-8") + "shortest = 89\n", "utf-8")
    done = nikawa("build", "klue-nli", "--config", str(config), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "not 89 to 90 characters 12" in " ".join(done.stdout.split())
    assert "the stage premises failed: 0 premises are too few for the split" in done.stderr


@pytest.mark.parametrize("answer", ["유지", "keep"])
def test_a_spreadsheet_may_say_what_the_page_says(nikawa: Run, answer: str, tmp_path: Path) -> None:
    run = write_sources("ynat", tmp_path)
    run()
    sheet, tasks = read_sheet(tmp_path / "out", "topics")
    make_project(nikawa, tasks, tmp_path / "p")
    answer_sheet(tmp_path / "p", sheet)
    take_answers(nikawa, tmp_path / "p", tasks)
    run()
    _, tasks = read_sheet(tmp_path / "out", "review")
    (item,) = read_examples(tasks)
    assert item.inputs["reported_for"] == "혐오 표현이 있음"  # the reviewer sees why
    make_project(nikawa, tasks, tmp_path / "q")
    assert "신고하기" in open_project(tmp_path / "p").guideline("ko")
    assert "신고하기" not in open_project(tmp_path / "q").guideline(
        "ko"
    )  # nor is sent to report it again
    table = f"example,worker,answer\n{item.id},검토자,{answer}\n"
    tasks.with_name("answers.csv").write_text(table, "utf-8")
    assert run().released is not None
    judged = read_json_lines(tmp_path / "out" / "build" / "review" / "review.jsonl", Judgement)
    assert [judgement.answer for _, judgement in judged] == ["keep"]
    released = (tmp_path / "out").glob("*.jsonl")
    assert not any("reported_for" in path.read_text("utf-8") for path in released)


def test_items_with_spans_keep_their_marks_for_spreadsheets(tmp_path: Path) -> None:
    write_sources("klue-ner", tmp_path)()
    _, tasks = read_sheet(tmp_path / "out", "tagging")
    with tasks.with_name(CELLS).open(encoding="utf-8-sig", newline="") as stream:
        row = next(csv.DictReader(stream))
    assert row["marked"].startswith("<김하늘:PS>은 <2000년:DT>")
    assert "marked" not in next(iter(read_examples(tasks))).inputs
