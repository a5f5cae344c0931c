"""The table of waits: what is run, what it costs, and whether two trees write the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # bench lies beside the package, not in it

from bench.waits import Job

from bench import waits


def test_commands_of_the_pages_are_found_with_their_files() -> None:
    jobs = [Job("docs", line, line, page, tuple(files)) for page, line, files in waits.read_pages()]
    by_page = {job.folder: job for job in jobs}
    assert {"README.md", "quickstart.md", "score-answers.md", "run.md"} <= by_page.keys()
    (score, *_) = [job for job in jobs if job.line == "nikawa score reviews answers.csv"]
    assert [name for name, _ in score.files] == ["answers.csv"]
    assert score.verb == "score"
    skipped = [job.line for job in jobs if waits.SKIPPED.search(job.line)]
    assert any(" serve " in line for line in skipped)
    assert "nikawa collect demo" in skipped  # it serves until it is stopped
    assert not any("data fetch" in job.line for job in jobs if job.line not in skipped)


def test_a_job_is_measured_and_compared(tmp_path: Path) -> None:
    line = "python -c 'sum(i * i for i in range(2_000_000)); print(1)' > made.txt"
    job = Job("everyday", "sum", line, "sum")
    (row,) = waits.measure([job], {"old": waits.ROOT, "new": waits.ROOT}, tmp_path)
    assert row.former is not None
    assert 0.02 < row.now.seconds < 60
    assert row.now.megabytes > 5
    assert (row.now.status, row.differing) == (0, [])
    (tmp_path / "old" / "sum" / "made.txt").write_text("2\n")
    assert waits.find_differences(tmp_path / "old" / "sum", tmp_path / "new" / "sum") == [
        "made.txt"
    ]


def test_times_of_the_clock_are_no_difference(tmp_path: Path) -> None:
    for name, text in (
        ("a", "2026-01-02T03:04:05Z in 1.5 s: 3"),
        ("b", "2026-01-03T09:04:05Z in 2 s: 3"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log").write_text(text)
    assert waits.find_differences(tmp_path / "a", tmp_path / "b") == []


def test_the_slowest_come_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [
        waits.Row(
            Job("everyday", name, f"nikawa {name} x", name),
            waits.Cost(seconds, 50, 0, tmp_path, ""),
        )
        for name, seconds in (("score", 0.5), ("run", 9.0), ("report", 2.0))
    ]
    waits.print_slowest(rows, 2, {"report": 0.2})
    table = capsys.readouterr().out.splitlines()
    assert table[2:] == ["| run (models) | 9.00 |  | 50 |", "| report | 2.00 | 0.20 | 50 |"]
