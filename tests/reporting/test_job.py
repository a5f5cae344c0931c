"""Reports of real runs: what is found, what is told, what is refused."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets.load import load_task
from nikawa.errors import BadInput
from nikawa.records import Example, Origin, Span, Task
from nikawa.reporting.browser_items import collect_items, format_answer, shared_spans
from nikawa.reporting.job import ReportOptions, ReportResult, report
from nikawa.reporting.scores import compare_tasks, system_rows
from nikawa.reporting.systems import load_task_runs, remake_command
from nikawa.runs.job import RunOptions, RunRequest, run
from nikawa.runs.load import find_runs
from nikawa.runs.store import DONE, SCORES, digest_of, read_predictions

Reach = Callable[[Path, str], Any]
TASKS = ("mini-ja-nli", "mini-ja-sts", "mini-ja-ner")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "runs"
    run(
        RunRequest(tasks=TASKS, models=("majority", "baseline"), seeds=(0, 1)),
        RunOptions(out=out, workers=1),
    )
    half = RunRequest(tasks=TASKS[:1], models=("baseline",), seeds=(3,), shares=(0.5,))
    run(half, RunOptions(out=out, workers=1))
    return out


@pytest.fixture(scope="module")
def made(runs: Path) -> tuple[Path, ReportResult]:
    out = runs.parent / "report"
    return out, report([str(runs)], out, ReportOptions(rounds=200))


def test_what_was_written(made: tuple[Path, ReportResult]) -> None:
    out, found = made
    assert found.tasks == TASKS
    assert set(found.systems) == {"majority", "baseline"}
    assert found.runs == 13
    assert {"index.html", "summary.md", "summary.tex", "summary.csv", "numbers.json"} < set(
        found.files
    )
    assert found.bytes == (out / "index.html").stat().st_size


def test_every_score_can_be_traced_to_its_file(
    made: tuple[Path, ReportResult], reached: Reach
) -> None:
    """Mean and place of every number of every table of scores, followed to the runs."""
    numbers = json.loads((made[0] / "numbers.json").read_bytes())
    followed = 0
    for section in numbers["sections"]:
        for row in section["rows"]:
            for number in row["metrics"].values():
                values = [reached(made[0], place)["value"] for place in number["source"].split(" ")]
                if number["value"] is not None:
                    assert number["value"] == pytest.approx(sum(values) / len(values))
                    followed += len(values)
    assert followed >= 12


def test_every_source_of_the_page_is_a_place_in_a_file(
    made: tuple[Path, ReportResult], reached: Reach
) -> None:
    html = (made[0] / "index.html").read_text("utf-8")
    places = {
        word
        for found in re.findall(r'data-src="([^"]+)"', html)
        for word in unescape(found).split(" ")
    }
    assert len(places) > 300
    for place in places:
        assert reached(made[0], place) is not None or place.endswith(
            ("/full", "/p_holm", "/smallest")
        ), place


def test_numbers_shown_are_those_of_their_places(
    made: tuple[Path, ReportResult], reached: Reach
) -> None:
    """Every number of the page that stands alone in its cell, held against the file."""
    html = (made[0] / "index.html").read_text("utf-8")
    held = 0
    for place, shown in re.findall(r'data-src="([^" ]+)"[^<>]*>([−\d.,]+)<', html):
        found = reached(made[0], unescape(place))
        value = found.get("value", found.get("n")) if isinstance(found, dict) else found
        if isinstance(value, int | float):
            if place.endswith(("/precision", "/recall", "/f1")):
                value *= 100  # files hold the rates of labels as fractions
            exact = float(shown.replace("−", "-").replace(",", ""))
            assert exact == pytest.approx(value, abs=0.0501), (place, shown)
            held += 1
    assert held > 150


@pytest.mark.slow
def test_the_same_runs_give_the_same_bytes(runs: Path, made: tuple[Path, ReportResult]) -> None:
    again = runs.parent / "other"
    report([str(runs)], again, ReportOptions(rounds=200))
    for name in made[1].files:
        one, two = (made[0] / name).read_text("utf-8"), (again / name).read_text("utf-8")
        assert one == two.replace(str(again), str(made[0])), name


def test_a_part_of_the_training_data_makes_a_curve_not_a_system(
    made: tuple[Path, ReportResult],
) -> None:
    section = json.loads((made[0] / "numbers.json").read_bytes())["sections"][0]
    assert {row["system"] for row in section["rows"]} == {"baseline", "majority"}
    assert any(len(curve["found"]["points"]) == 2 for curve in section["curves"])


@pytest.mark.slow
def test_the_commands_make_the_runs_anew(runs: Path, made: tuple[Path, ReportResult]) -> None:
    commands = json.loads((made[0] / "numbers.json").read_bytes())["commands"]
    assert len(commands) == 8
    before = {path.name for path in runs.iterdir() if path.is_dir()}
    for line in (commands[0], next(line for line in commands if "--share 0.5" in line)):
        done = CliRunner().invoke(
            build("run"), [*shlex.split(line)[1:], "--workers", "1", "--json"]
        )
        assert done.exit_code == 0, line
        assert json.loads(done.stdout)["done"] == 0
    assert {path.name for path in runs.iterdir() if path.is_dir()} == before
    assert commands[-1].startswith("nikawa report ")


def test_seeds_are_written_as_run_reads_them(runs: Path) -> None:
    spec = find_runs([str(runs)]).results[0].spec
    assert "--seeds 2 " in remake_command(spec, [0, 1], "runs")
    assert "--seeds 3, " in remake_command(spec, [3], "runs")
    assert "--seeds 3,5 " in remake_command(spec, [3, 5], "runs")


def test_hidden_labels_are_nowhere(runs: Path) -> None:
    part = load_task_runs(find_runs([str(runs / "mini-ja-nli--*")]).results)[0]
    origin = Origin(recipe="test", gold="hidden")
    hidden = {name: [replace(e, origin=origin) for e in found] for name, found in part.sets.items()}
    shown, kept = collect_items(part, "ja"), collect_items(_with(part, hidden), "ja")
    assert max(shown.gold) >= 0
    assert set(kept.gold) == {-1}
    assert {point for column in kept.points for point in column} == {-1}
    assert any(shown.tags)
    assert not any(kept.tags), "a tag may tell the label"


def _with(part: Any, sets: dict[str, list[Example]]) -> Any:
    from dataclasses import replace as exchanged

    return exchanged(part, answered=exchanged(part.answered, examples=sets))


def test_systems_of_one_name_are_told_apart_by_what_differs_in_them(tmp_path: Path) -> None:
    for settings in (
        {"longest": 2, "strength": 2.0},
        {"longest": 4, "strength": 2.0},
        {"strength": 2.0},
    ):
        asked = RunRequest(tasks=TASKS[:1], models=("char-linear",), settings=settings)
        run(asked, RunOptions(out=tmp_path / "runs", workers=1))
    run(
        RunRequest(tasks=TASKS[:1], models=("majority",)),
        RunOptions(out=tmp_path / "runs", workers=1),
    )
    (part,) = load_task_runs(find_runs([str(tmp_path / "runs")]).results)
    names = {system.name for system in part.systems}
    assert names == {
        "char-linear [longest=2]",
        "char-linear [longest=4]",
        "char-linear [default]",
        "majority",
    }


def test_systems_that_differ_in_their_files_alone_have_names_of_their_own(tmp_path: Path) -> None:
    for content in ("neutral", "entailment"):
        gold = [{"id": e.id, "answer": content} for e in load_task(TASKS[0], "test")[1]]
        (tmp_path / "a.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in gold), "utf-8"
        )
        asked = RunRequest(tasks=TASKS[:1], models=(f"mine=replay:{tmp_path / 'a.jsonl'}",))
        run(asked, RunOptions(out=tmp_path / "runs", workers=1))
    (part,) = load_task_runs(find_runs([str(tmp_path / "runs")]).results)
    first, second = (system.name for system in part.systems)
    assert first != second
    assert {first[:6], second[:6]} == {"mine #"}


def test_systems_that_cannot_be_told_apart_share_a_letter(runs: Path) -> None:
    parts = load_task_runs(find_runs([str(runs)]).results)
    compared = compare_tasks(parts, 200)
    ties = [row.ties["accuracy"] for row in system_rows(parts[0], compared)]
    assert ties == ["a", "a"]  # nine examples tell nothing apart
    alone = load_task_runs(find_runs([str(runs / "mini-ja-nli--majority--*")]).results)
    assert system_rows(alone[0], compare_tasks(alone, 200))[0].ties == {}


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("choice", 1, "1. 猫"),
        ("choice", 9, "9"),
        ("reading", [{"text": "犬", "start": 0}, {"text": "犬", "start": 3}], "犬"),
        ("reading", [], "(no answer)"),
        ("reading", "", "(no answer)"),
        ("tagging", [Span(0, 2, "PS")], "田中 PS"),
        ("tagging", [], "(none)"),
        ("similarity", 2.6, "2.6"),
        ("dialogue", ["b-c-d", "a-b-c"], "a-b-c · b-c-d"),
        ("tree", {"heads": [2, 0], "labels": ["NP", "VP"]}, "2:NP 0:VP"),
    ],
)
def test_answers_in_words(kind: Any, value: Any, words: str) -> None:
    example = Example(id="1", inputs={"choices": ["犬", "猫"], "text": "田中が来た"})
    task = Task(name="t", dataset="d", kind=kind, question="q", inputs=(), metrics=("accuracy",))
    assert format_answer(task, example, value) == words


def test_what_is_refused(runs: Path, made: tuple[Path, ReportResult], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder"):
        report([str(tmp_path / "none")], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="contains no runs"):
        report([str(tmp_path / "empty")], tmp_path / "out")
    with pytest.raises(BadInput, match="already exists"):
        report([str(runs)], made[0])
    with pytest.raises(BadInput, match="is not a report"):
        report([str(runs)], runs, ReportOptions(overwrite=True))
    assert not (tmp_path / "out").exists()


def test_a_changed_file_is_told(runs: Path, tmp_path: Path) -> None:
    import shutil

    one = next(runs.glob("mini-ja-nli--majority--*"))
    shutil.copytree(one, tmp_path / one.name)
    with (tmp_path / one.name / "predictions" / "test.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("\n")
    with pytest.raises(BadInput, match="has changed since the run wrote it"):
        report([str(tmp_path / one.name)], tmp_path / "out")


def _change_scores(runs: Path, to: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """Copies of two runs whose stored scores of each set are changed, as an older version may have written them."""
    import shutil

    stored = find_runs([str(runs / "mini-ja-nli--majority--*")]).results
    folders = [one.path for one in sorted(stored, key=lambda one: one.spec.seed)]
    for folder in folders:
        path = shutil.copytree(folder, to / folder.name) / SCORES
        sets = json.loads(path.read_bytes())
        for each in sets:
            change(each)
        path.write_text(json.dumps(sets), "utf-8")
        marker = path.with_name(DONE)
        done = json.loads(marker.read_bytes())
        done["files"][SCORES] = [path.stat().st_size, digest_of(path)]
        marker.write_text(json.dumps(done), "utf-8")
    return [folder.name for folder in folders]


def _drop_metric(scores: dict[str, Any]) -> None:
    scores["scores"] = [score for score in scores["scores"] if score["metric"] != "accuracy"]


def _count_one_more_item(scores: dict[str, Any]) -> None:
    scores["n"] += 1


def _hide_one_item(scores: dict[str, Any]) -> None:
    scores["n"] -= 1
    scores["hidden"] = scores.get("hidden", 0) + 1


def _rename_set(scores: dict[str, Any]) -> None:
    scores["set"] = "other"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_drop_metric, "its stored scores lack accuracy"),
        (_count_one_more_item, "its data has changed"),
        (_hide_one_item, "other labels are hidden now"),
        (_rename_set, "its stored scores lack the set test"),
    ],
)
def test_scores_again_and_says_so(
    runs: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    folders = _change_scores(runs, tmp_path / "runs", change)
    progress: list[str] = []
    options = ReportOptions(analyses=False, dataset=False, on_progress=progress.append)
    written = report([str(tmp_path / "runs")], tmp_path / "page", options)
    assert written.scored_again == {reason: tuple(folders)}
    assert f"rescoring {folders[0]}: {reason}" in progress
    (task,) = load_task_runs(find_runs([str(tmp_path / "runs")]).results)
    (whole,) = load_task_runs(find_runs([str(runs / "mini-ja-nli--majority--*")]).results)
    for again, stored in zip(task.systems[0].runs, whole.systems[0].runs, strict=True):
        assert again.scores == stored.scores


def test_the_command_line_says_what_was_scored_again(runs: Path, tmp_path: Path) -> None:
    first, second = _change_scores(runs, tmp_path / "runs", _drop_metric)
    words = ["report", str(tmp_path / "runs"), "--no-analyses", "--no-dataset", "--out"]
    done = CliRunner().invoke(build("report"), [*words, str(tmp_path / "page")])
    line = f"scored again because its stored scores lack accuracy: {first}, {second} (2 runs)"
    assert line in done.stdout.splitlines()
    done = CliRunner().invoke(build("report"), [*words, str(tmp_path / "other"), "--json"])
    reasons = json.loads(done.stdout)["scored_again"]
    assert reasons == {"its stored scores lack accuracy": [first, second]}


def test_takes_stored_scores_where_all_match(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[str] = []
    monkeypatch.setattr(
        "nikawa.reporting.systems.score_set", lambda spec, *rest: scored.append(spec.hash)
    )
    words = ["report", str(runs), "--no-analyses", "--no-dataset", "--out"]
    done = CliRunner().invoke(build("report"), [*words, str(tmp_path / "page")])
    assert done.exit_code == 0, done.output
    assert not scored
    assert "scored again" not in done.stdout
    done = CliRunner().invoke(build("report"), [*words, str(tmp_path / "other"), "--json"])
    assert "scored_again" not in json.loads(done.stdout)


def test_the_command_line(runs: Path, tmp_path: Path) -> None:
    words = [
        "report",
        str(next(runs.glob("mini-ja-ner--*"))),
        "--out",
        str(tmp_path / "r"),
        "--no-analyses",
    ]
    done = CliRunner().invoke(
        build("report"), [*words, "--no-dataset", "--title", "題 <b>", "--json"]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tasks"] == ["mini-ja-ner"]
    html = (tmp_path / "r" / "index.html").read_text("utf-8")
    assert "<h1>題 &lt;b&gt;</h1>" in html
    assert "The dataset" not in html
    assert "nikawa report" in html


@pytest.mark.parametrize("there", [True, False])
def test_the_page_is_opened(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    opened: list[str] = []

    def show(address: str) -> bool:
        opened.append(address)
        return there

    monkeypatch.setattr("webbrowser.open", show)
    one = str(next(runs.glob("mini-ja-ner--*")))
    words = ["report", one, "--out", str(tmp_path / "r"), "--no-analyses", "--no-dataset", "--open"]
    done = CliRunner().invoke(build("report"), words)
    assert done.exit_code == 0
    assert opened == [(tmp_path / "r" / "index.html").resolve().as_uri()]
    assert ("no browser found" in done.stderr) is not there


def test_answers_are_those_of_the_files(runs: Path) -> None:
    part = load_task_runs(find_runs([str(runs / "mini-ja-nli--majority--*")]).results)[0]
    found = collect_items(part, "ja")
    run_ = part.systems[0].runs[0]
    stored = read_predictions(run_.stored.answers_file("test"), part.task)
    assert [found.words[n] for n in found.answers[0][0]] == [p.answer for p in stored]


def test_a_part_of_the_spans_is_a_part_of_the_score() -> None:
    one, two, other = Span(0, 2, "PS"), Span(3, 5, "LC"), Span(3, 5, "OG")
    assert shared_spans([one, two], [two, one]) == 1.0
    assert shared_spans([one, two], [one, other]) == 0.5
    assert shared_spans([], []) == 1.0
    assert shared_spans([], [one]) == 0.0
    assert shared_spans([one], None) == 0.0
