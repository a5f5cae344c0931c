"""The soak tests for a few seconds: the server is killed while clients answer, and serves several at once.

`make soak` runs the same at full length: 50 clients and 50 kills, 200 workers for five minutes, on both databases.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def soak(name: str, *words: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.soak.{name}", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


def have_postgres() -> None:
    if not shutil.which("postgres") and not list(
        Path("/usr/lib/postgresql").glob("*/bin/postgres")
    ):
        pytest.skip("no PostgreSQL here: install the package postgresql")


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_what_was_acknowledged_survives_a_kill(database: str) -> None:
    if database == "postgres":
        have_postgres()
    words = (
        "--clients",
        "5",
        "--kills",
        "1",
        "--seconds",
        "0.3",
        "--items",
        "300",
        "--database",
        database,
    )
    found = soak("collect_kill", *words)
    assert found["acknowledged"] >= 10
    assert not any(found[name] for name in ("lost", "duplicated", "over_assigned", "miscounted"))


@pytest.mark.slow
def test_turns_of_two_workers_survive_a_kill() -> None:
    words = (
        "--minutes",
        "0.01",
        "--kills",
        "1",
        "--items",
        "50",
        "--pause",
        "0.05",
        "--drop",
        "0.2",
    )
    found = soak("dialogue_kill", *words, "--away", "0")
    assert found["acknowledged"] > 4
    assert found["given_up"] > 0
    assert not any(
        found[name] for name in ("lost", "duplicated", "gaps", "ends_lost", "answers_wrong")
    )


@pytest.mark.slow
def test_workers_wait_while_postgres_is_started_again() -> None:
    have_postgres()
    words = (
        "--clients",
        "5",
        "--kills",
        "1",
        "--seconds",
        "0.3",
        "--items",
        "300",
        "--database",
        "postgres",
    )
    found = soak("collect_kill", "--what", "database", *words)
    assert found["acknowledged"] >= 10
    assert found["retries"] > 0
    assert not any(
        found[name] for name in ("lost", "duplicated", "over_assigned", "miscounted", "tracebacks")
    )
    assert (
        2 <= found["log_lines"] <= 6
    )  # it is gone, it is back; not a line for every worker who met it


@pytest.mark.slow
def test_several_workers_at_once() -> None:
    words = ("--workers", "20", "--seconds", "2", "--items", "100", "--slow", "60000")
    found = soak("collect_load", *words, "--judgements", "100", "--asked", "4")
    assert found["answers"] >= 20  # one a worker, however slow the machine
    assert found["errors"] == 0
    assert found["page_bytes"] < 100_000


@pytest.mark.slow
def test_the_configuration_for_nginx_that_the_docs_give() -> None:
    if not shutil.which("nginx") and not shutil.which("nginx", path="/usr/sbin"):
        pytest.skip("no nginx here: install the package nginx")
    assert soak("attack", "nginx")["wrong"] == 0
