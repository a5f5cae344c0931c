"""Many files of answers to one task: each has the report it has alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import nikawa as nk
from nikawa.cli.terminal.app import build
from nikawa.cli.terminal.output import ProgressBar
from nikawa.datasets import load
from nikawa.errors import BadInput, UnknownName
from nikawa.scoring.many import Place, score_many
from nikawa.scoring.score import ScoreOptions, score

TASK = "mini-ja-nli:dev"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Four systems in the current folder: the second one's file is of another task, and the last one's is absent."""
    monkeypatch.chdir(tmp_path)
    gold = {e.id: e.gold["label"] for e in load("mini-ja:dev").splits["dev"] if "label" in e.gold}
    Path("right.json").write_text(json.dumps(gold), "utf-8")
    Path("other.json").write_text(json.dumps({"x": "neutral"}), "utf-8")
    Path("same.json").write_text(json.dumps(dict.fromkeys(gold, "neutral")), "utf-8")
    return [Path(name) for name in ("right.json", "other.json", "same.json", "absent.json")]


def test_each_file_has_the_report_it_has_alone(files: list[Path]) -> None:
    options = ScoreOptions(by=("gold",))
    scored = score_many(TASK, files, options=options)
    assert [file.file for file in scored.files] == [str(path) for path in files]
    for number in (0, 2):
        report = score(TASK, files[number], options=options).report
        assert scored.files[number].report == report
        assert scored.files[number].problem == ""
    assert [scored.files[number].report for number in (1, 3)] == [None, None]
    assert scored.files[1].problem.startswith("other.json: none of the ids is in the task")
    assert scored.files[3].problem.startswith("absent.json: no such file")
    assert score_many(TASK, files, options=options, place=Place(workers=2)) == scored


def test_each_file_moves_the_bar(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[int, int | None]] = []
    update = ProgressBar.update

    def note(bar: ProgressBar, done: int, total: int | None = None) -> None:
        steps.append((done, total))
        update(bar, done, total)

    monkeypatch.setattr(ProgressBar, "update", note)
    CliRunner().invoke(build(), ["score", TASK, *map(str, files)])
    assert steps == [(done, len(files)) for done in range(len(files) + 1)]


def test_what_fits_no_file_is_refused_at_once(files: list[Path]) -> None:
    with pytest.raises(UnknownName, match="nonsense"):
        score_many("nonsense", files)
    with pytest.raises(BadInput, match="no file of answers was given"):
        score_many(TASK, [])


def test_a_metric_that_fails_on_a_file_costs_only_that_file(files: list[Path]) -> None:
    scored = score_many(TASK, [files[0], files[2]], options=ScoreOptions(by=("none",)))
    assert all("no example has the field 'none'" in file.problem for file in scored.files)


def test_one_table_and_a_line_for_each_problem(files: list[Path]) -> None:
    run = CliRunner()
    names = [str(path) for path in files]
    done = run.invoke(build(), ["score", TASK, *names, "--as", "csv"])
    assert done.exit_code == 2
    assert done.stdout.splitlines()[0] == "file,split,n,unreadable,accuracy"
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == [names[0], names[2]]
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [
        " other.json",
        " absent.json",
    ]
    done = run.invoke(build(), ["score", TASK, names[0], names[2], "--json"])
    assert done.exit_code == 0
    alone = run.invoke(build(), ["score", TASK, names[2], "--json"])
    rows = json.loads(done.stdout)
    assert [row["file"] for row in rows] == [names[0], names[2]]
    assert rows[1]["report"] == json.loads(alone.stdout)
    for word in ("--versions", "--confusion", "--show-reading"):
        refused = run.invoke(build(), ["score", TASK, *names, word])
        assert isinstance(refused.exception, BadInput)
        assert str(refused.exception).startswith(f"{word} takes one file")


def test_answers_in_memory_are_named_without_their_files(files: list[Path]) -> None:
    scored = nk.score_many(TASK, [files[0], {"x": "neutral"}])
    assert scored.files[0].report is not None
    assert scored.files[0].report.scores[0].value == 100
    assert "/" not in scored.files[1].problem
