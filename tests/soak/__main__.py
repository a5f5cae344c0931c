"""All long tests, or some of them: `python -m tests.soak [PART ...]`.

    python -m tests.soak                      # all parts, one after the other
    python -m tests.soak cluster corpus       # some
    python -m tests.soak --list

Each part is one or more commands. A part that needs what is absent is skipped with a reason; the others still run. At the end
there is a line for each with its time. The exit status is 1 if one of them failed. Parts that hold answers to a time limit
(`load`, `attacks`) want a machine without other work.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MILLION = "--judgements 1000000 --asked 30 --items 40000 --owner --seconds 120"


def find_missing_ray() -> str:
    return "" if importlib.util.find_spec("ray") else "the package ray is not installed"


def find_missing_postgres() -> str:
    installed = shutil.which("postgres") or any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return "" if installed else "there is no PostgreSQL here; install the package postgresql"


def find_missing_nginx() -> str:
    found = shutil.which("nginx") or Path("/usr/sbin/nginx").exists()
    return "" if found else "there is no nginx here"


def need_nothing() -> str:
    return ""


PARTS: dict[str, list[tuple[str, Callable[[], str]]]] = {
    "fuzz": [("fuzz --cases 20000 --seed 1", need_nothing)],
    "corpus": [("long_corpus --gigabytes 10", need_nothing)],
    "cluster": [("cluster_kill", find_missing_ray), ("slurm_script", find_missing_ray)],
    "shards": [("shards_kill", find_missing_ray)],
    "checkpoint": [("published_checkpoint", need_nothing)],
    "kill": [
        ("collect_kill --database sqlite", need_nothing),
        ("collect_kill --database postgres", find_missing_postgres),
        (
            "collect_kill --database postgres --what database --kills 10 --seconds 60",
            find_missing_postgres,
        ),
        ("board_kill --database sqlite", need_nothing),
        ("board_kill --database postgres", find_missing_postgres),
    ],
    "load": [
        ("collect_load --database sqlite", need_nothing),
        (f"collect_load --database sqlite {MILLION}", need_nothing),
        ("collect_load --database postgres", find_missing_postgres),
        (f"collect_load --database postgres {MILLION}", find_missing_postgres),
        ("board_load --database sqlite", need_nothing),
        ("board_load --database postgres", find_missing_postgres),
    ],
    "attacks": [
        ("attack silent", need_nothing),
        ("attack wire", need_nothing),
        ("attack postgres", find_missing_postgres),
        ("attack timing", need_nothing),
        ("attack timing --database postgres", find_missing_postgres),
        ("attack nginx", find_missing_nginx),
    ],
}
"""By name the commands of each part, with what tells why one cannot run here."""


def report_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run_command(words: str, find_missing: Callable[[], str]) -> tuple[str, float]:
    """Run a command; how it ended, and its seconds."""
    if missing := find_missing():
        return f"skipped: {missing}", 0.0
    report_line(f"== {words}")
    begin = time.monotonic()
    module, *options = words.split()
    done = subprocess.run([sys.executable, "-m", f"tests.soak.{module}", *options], check=False)
    status = "passed" if done.returncode == 0 else f"FAILED with status {done.returncode}"
    return status, time.monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--list", action="store_true", help="list the commands, and run none")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {min(unknown)}; write some of {', '.join(PARTS)}")
    chosen = options.parts or list(PARTS)
    if options.list:
        for part in chosen:
            report_line("\n".join(f"{part}: {words}" for words, _ in PARTS[part]))
        return
    results = [
        (words, *run_command(words, find_missing))
        for part in chosen
        for words, find_missing in PARTS[part]
    ]
    report_line("")
    for words, status, seconds in results:
        report_line(f"{seconds:6.0f} s  {words}: {status}")
    report_line(f"{sum(seconds for *_, seconds in results):6.0f} s  in all")
    sys.exit(any(status.startswith("FAILED") for _, status, _ in results))


if __name__ == "__main__":
    main()
