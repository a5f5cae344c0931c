"""From files of answers to a page: systems have the names their owner gave them, and gaps are told."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.datasets.load import load, load_task
from nikawa.io.folders import write_folder
from nikawa.recipes.score_changes import system_title as title_of
from nikawa.reporting.job import ReportOptions, report
from nikawa.reporting.systems import remake_command
from nikawa.runs.load import find_runs

NLI, STS = "mini-ja-nli", "mini-ja-sts"
SYSTEMS = ("north", "東の系", "half done")


def write_answers(folder: Path, task_name: str, *, share: float, keep: int | None = None) -> None:
    """The first answers right, as many as `share` says; the rest wrong; of all of them `keep`."""
    task, examples = load_task(task_name, "test")
    lines = []
    for i, example in enumerate(examples[:keep]):
        gold = example.gold[task.question]
        wrong = next(x for x in task.labels if x != gold) if task.labels else float(i % 3)
        lines.append({"id": example.id, "answer": gold if i < share * len(examples) else wrong})
    folder.mkdir(exist_ok=True)
    (folder / f"{task_name}.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), "utf-8"
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of three systems on two tasks, one of which did not answer everything."""
    root = tmp_path_factory.mktemp("answers")
    for name, share, keep in (("a", 0.9, None), ("b", 0.6, None), ("c", 0.4, 5)):
        for task in (NLI, STS):
            write_answers(root / name, task, share=share, keep=keep)
    return root


def call(place: Path, *more: str) -> str:
    words = [
        "run",
        "--tasks",
        f"{NLI},{STS}",
        "--out",
        str(place / "runs"),
        "--workers",
        "1",
        *more,
    ]
    for name, folder in zip(SYSTEMS, "abc", strict=True):
        words += ["--model", f"{name}=replay:{place / folder}"]
    done = CliRunner().invoke(build("run"), words)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_names_and_gaps_are_in_the_table(place: Path) -> None:
    rows = list(csv.reader(call(place, "--as", "csv").splitlines()))
    assert rows[0] == ["task", "set", "metric", *SYSTEMS, "n"]
    found = {(row[0], row[2]): row[3:] for row in rows[1:]}
    assert [row[2] for row in rows[1:]] == [
        "accuracy",
        "answered",
        "pearson",
        "spearman",
        "answered",
    ]
    assert found[NLI, "answered"] == ["9 of 9", "9 of 9", "5 of 9 (55.6%)", "9"]
    assert found[STS, "answered"][2:] == ["5 of 6 (83.3%)", "6"]
    assert found[NLI, "accuracy"][2].startswith("44.44"), "a gap earns nothing"


def test_the_line_below_counts_items_not_answers(place: Path) -> None:
    said = call(place)
    assert (
        f"{NLI} half done test: 4 of 9 items have no answer (4 not in the file); add the missing answers to the file"
        in said
    )
    assert f"{STS} half done test: 1 of 6 items have no answer" in said


def test_a_file_of_nulls_is_told_what_helps(tmp_path: Path) -> None:
    _, examples = load_task(NLI, "test")
    lines = [json.dumps({"id": example.id, "answer": None}) + "\n" for example in examples]
    (tmp_path / "nulls.jsonl").write_text("".join(lines), "utf-8")
    words = ("run", "--tasks", NLI, "--out", str(tmp_path / "runs"), "--workers", "1", "--model")
    said = (
        CliRunner().invoke(build("run"), [*words, f"none=replay:{tmp_path / 'nulls.jsonl'}"]).stdout
    )
    assert (
        "9 of 9 items have no answer (9 the file gives no answer); add the missing answers to the file"
        in said
    )
    assert "0 of 9" in said


def test_json_has_names_and_counts(place: Path) -> None:
    cells = {
        (c["task"], c["model"], c["metric"]): c for c in json.loads(call(place, "--json"))["cells"]
    }
    assert {model for _, model, _ in cells} == set(SYSTEMS)
    gap = cells[STS, "half done", "pearson"]
    assert (gap["answered"], gap["asked"], gap["unanswered"], gap["n"]) == (5, 6, 1, 5)
    assert gap["reasons"] == {"not in the file": 1}
    whole = cells[NLI, "north", "accuracy"]
    assert (whole["answered"], whole["asked"], whole["unanswered"]) == (9, 9, 0)


def test_the_list_of_runs_has_the_names(place: Path) -> None:
    call(place, "--quiet")
    done = CliRunner().invoke(
        build("run"), ["run", "list", "--out", str(place / "runs"), "--model", "東の系", "--json"]
    )
    assert [(row["task"], row["model"]) for row in json.loads(done.stdout)] == [
        (NLI, "東の系"),
        (STS, "東の系"),
    ]


def test_the_page_has_names_and_gaps(place: Path) -> None:
    call(place, "--quiet")
    found = report(
        [str(place / "runs")],
        place / "page",
        ReportOptions(rounds=200, analyses=False, dataset=False),
    )
    assert set(found.systems) == set(SYSTEMS)
    html = (place / "page" / "index.html").read_text("utf-8")
    assert (
        "replay:"
        not in re.sub(r"<pre>.*?</pre>", "", html, flags=re.DOTALL).partition('id="method"')[0]
    )
    assert re.search(r'title="not answered: not in the file: 4">5 of 9 answered</span>', html)
    section = html.partition("Scores on test")[2].partition("</table>")[0]
    assert re.findall(r">(\d of 9)<", section) == ["9 of 9", "9 of 9", "5 of 9"]
    summary = (place / "page" / "summary.md").read_text("utf-8")
    assert "44.4 (—), 5 of 9 answered" in summary
    assert "An item without an answer scores 0; a correlation leaves it out." in summary
    caption = (place / "page" / "summary.tex").read_text("utf-8")
    assert f"Answered: half done 5 of 9 on {NLI}; half done 5 of 6 on {STS}." in caption


def test_names_that_look_alike_have_figures_of_their_own(place: Path, tmp_path: Path) -> None:
    words = ["run", "--tasks", NLI, "--out", str(tmp_path / "runs"), "--workers", "1"]
    names = ("Mine 1", "mine-1", "mine-1-2", "長" * 79 + "い", "長" * 80)
    words += [
        word
        for name, file in zip(names, "abcab", strict=True)
        for word in ("--model", f"{name}=replay:{place / file}")
    ]
    assert CliRunner().invoke(build("run"), words).exit_code == 0
    report([str(tmp_path / "runs")], tmp_path / "page", ReportOptions(rounds=200, dataset=False))
    drawn = [
        path.read_text("utf-8")
        for path in (tmp_path / "page" / "figures").glob(f"{NLI}-confusion-*.svg")
    ]
    assert [sum(f"Confusion of {name} on" in picture for picture in drawn) for name in names] == [
        1
    ] * 5


def test_the_command_that_makes_a_run_anew_names_it(place: Path) -> None:
    call(place, "--quiet")
    (stored,) = find_runs([str(place / "runs" / f"{NLI}--half-done--*")]).results
    assert f"--model 'half done=replay:{place / 'c'}' " in remake_command(stored.spec, [0], "runs")


def test_a_new_release_tells_of_scores_under_the_name(place: Path) -> None:
    call(place, "--quiet")
    titles = [
        title_of(stored.spec) for stored in find_runs([str(place / "runs" / f"{NLI}--*")]).results
    ]
    assert sorted(titles) == sorted(SYSTEMS)


def test_where_all_is_answered_nothing_is_said(place: Path, tmp_path: Path) -> None:
    words = [
        "run",
        "--tasks",
        NLI,
        "--model",
        f"a=replay:{place / 'a'}",
        "--out",
        str(tmp_path / "runs"),
        "--workers",
        "1",
    ]
    done = CliRunner().invoke(build("run"), words)
    assert " of 9" not in done.stdout
    report(
        [str(tmp_path / "runs")],
        tmp_path / "page",
        ReportOptions(rounds=200, analyses=False, dataset=False),
    )
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert " of 9" not in page
    assert "An item without an answer" not in page


def test_a_file_that_answers_nothing_of_a_set_is_refused(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    test = load("mini-ja").splits["test"]
    more = tuple(replace(example, id=f"more-{example.id}") for example in test)
    write_folder(replace(load("mini-ja"), name="own", splits={"test": test, "ood": more}), folder)
    words = ["run", "--tasks", f"{folder}-label", "--out", str(tmp_path / "runs"), "--workers", "1"]
    done = CliRunner().invoke(
        build("run"), [*words, "--model", f"x=replay:{place / 'a' / f'{NLI}.jsonl'}"]
    )
    said = done.stderr
    assert "ids is among the 9 examples" in said
    assert "if the task has further sets, add answers to them" in said
