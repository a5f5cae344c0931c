"""The table of waits: what is run, what it costs, and whether two trees write the same."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # bench lies beside the package, not in it

from bench.waits import Job
from tests.docs.page_steps import STEPS

from bench import waits


def list_jobs() -> list[Job]:
    return [
        Job("docs", line, line, page, tuple(files), tuple(steps))
        for page, line, files, steps in waits.read_pages()
    ]


def test_commands_of_the_pages_are_found_with_their_files() -> None:
    jobs = list_jobs()
    assert {"README", "quickstart", "score-answers", "run"} <= {job.folder for job in jobs}
    (score, *_) = [job for job in jobs if job.line == "nikawa score reviews answers.csv"]
    assert [name for name, *_ in score.files] == ["answers.csv"]
    assert score.verb == "score"
    (pack,) = [job for job in jobs if job.line == "nikawa generate my-pack -n 5 --gate --out gated"]
    assert [(name, is_added) for name, _, is_added in pack.files] == [
        ("my-pack/templates.txt", True)
    ]
    session = [text for job in jobs if job.folder == "python" for _, text, _ in job.files]
    assert not any(">>>" in text for text in session)


def test_what_is_left_out_has_a_reason_and_its_files_stay() -> None:
    jobs = list_jobs()
    kept, left = waits.leave_out(jobs)
    assert len(kept) + len(left) == len(jobs)
    assert len(kept) > 2 * len(left)
    reasons = {job.line: reason for job, reason in left}
    assert reasons["nikawa collect demo"] == "serves until it is stopped"
    assert reasons["nikawa data fetch jsts"] == "needs a network"
    assert all(reasons.values())
    assert not any(re.search("https?://|data fetch| serve ", job.line) for job in kept)
    (first,) = [job for job in kept if job.line.startswith("nikawa judge texts.jsonl")]
    assert len(first.steps) == 3  # of a command before it that needs a server


def test_every_step_comes_before_a_command() -> None:
    taken = {(job.folder, step) for job in list_jobs() for step in job.steps}
    assert taken == {(page, n) for page, steps in STEPS.items() for n in range(len(steps))}


def test_without_published_data_what_reads_it_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NIKAWA_SHARED", str(tmp_path))
    kept, left = waits.leave_out(list_jobs())
    reasons = {job.line: reason for job, reason in left}
    assert reasons["nikawa data check jsick"] == "needs the published data"
    assert "nikawa build jnli --config jnli.toml --out my-jnli" in {job.line for job in kept}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("nikawa score nothing nothing.jsonl", 2),
        ("python -c 'raise SystemExit(1)'", 1),
    ],
)
def test_a_job_that_fails_is_told(
    line: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = waits.measure([Job("docs", line, line, "page")], {"new": waits.ROOT}, tmp_path)
    assert not waits.print_rest(rows, [])
    assert f"- failed: {line} (status {status}: " in capsys.readouterr().out


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
