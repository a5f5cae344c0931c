"""All long tests, or some of them: `python -m tests.soak [PART ...]`.

    python -m tests.soak                      # all parts, one after the other
    python -m tests.soak cluster corpus       # some
    python -m tests.soak cluster_kill         # one program of a part
    python -m tests.soak --list

Each part is one or more commands. A part that needs what is absent is skipped with a reason; the others still run. At the end
there is a line for each with its time. The exit status is 1 if one of them failed. Commands that hold answers to a time limit
(`collect_load`, `board_load`, `attack silent`) are skipped if other programs use more than a quarter of the processors just before.
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

MOST_OTHER_WORK = 0.25
"""Share of the processors that other programs may use before a command with a time limit."""
LOOK_SECONDS = 5.0
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


def find_other_work() -> str:
    """Whether other programs use the processors, so that a time limit would measure them; only Linux tells."""
    busy = measure_use()
    if busy <= MOST_OTHER_WORK:
        return ""
    return f"needs a quiet machine; other programs use {busy:.0%} of the processors"


def measure_use() -> float:
    """The share of the processors that is used in the next seconds; 0 where the system does not tell."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0

    def read_times() -> tuple[int, int]:
        user, nice, system, idle, waiting, *others = map(
            int, stat.read_text("utf-8").partition("\n")[0].split()[1:9]
        )
        return idle + waiting, user + nice + system + idle + waiting + sum(others)

    idle, total = read_times()
    time.sleep(LOOK_SECONDS)
    idle_then, total_then = read_times()
    return 1 - (idle_then - idle) / max(1, total_then - total)


def need_all(*finders: Callable[[], str]) -> Callable[[], str]:
    """What tells the first thing that is absent."""
    return lambda: next(filter(None, (find() for find in finders)), "")


PARTS: dict[str, list[tuple[str, Callable[[], str]]]] = {
    "fuzz": [("fuzz --cases 20000 --seed 1", need_nothing)],
    "corpus": [("long_corpus --gigabytes 10", need_nothing)],
    "cluster": [("cluster_kill", find_missing_ray), ("slurm_script", find_missing_ray)],
    "shards": [("shards_kill", find_missing_ray)],
    "stores": [("google_storage", need_nothing)],
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
    "dialogue": [
        ("dialogue_kill --database sqlite", need_nothing),
        ("dialogue_kill --database postgres", find_missing_postgres),
    ],
    "load": [
        ("collect_load --database sqlite", find_other_work),
        (f"collect_load --database sqlite {MILLION}", find_other_work),
        ("collect_load --database postgres", need_all(find_missing_postgres, find_other_work)),
        (
            f"collect_load --database postgres {MILLION}",
            need_all(find_missing_postgres, find_other_work),
        ),
        ("board_load --database sqlite", find_other_work),
        ("board_load --database postgres", need_all(find_missing_postgres, find_other_work)),
    ],
    "attacks": [
        ("attack silent", find_other_work),
        ("attack wire", need_nothing),
        ("attack postgres", find_missing_postgres),
        ("attack timing", need_nothing),
        ("attack timing --database postgres", find_missing_postgres),
        ("attack nginx", find_missing_nginx),
        ("board_attack", need_nothing),
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
    seconds = time.monotonic() - begin
    status = "passed" if done.returncode == 0 else f"FAILED with status {done.returncode}"
    return status, seconds


def choose_commands(names: list[str]) -> list[tuple[str, str, Callable[[], str]]]:
    """Each command of some parts or programs, with its part; of all parts, where none is named."""
    return [
        (part, words, find_missing)
        for part, commands in PARTS.items()
        for words, find_missing in commands
        if not names or part in names or words.split()[0] in names
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--list", action="store_true", help="list the commands, and run none")
    options = parser.parse_args()
    programs = {words.split()[0] for _, words, _ in choose_commands([])}
    if unknown := set(options.parts) - set(PARTS) - programs:
        parser.error(f"there is no part {min(unknown)}; write some of {', '.join(PARTS)}")
    chosen = choose_commands(options.parts)
    if options.list:
        report_line("\n".join(f"{part}: {words}" for part, words, _ in chosen))
        return
    results = [(words, *run_command(words, find_missing)) for _, words, find_missing in chosen]
    report_line("")
    for words, status, seconds in results:
        report_line(f"{seconds:6.0f} s  {words}: {status}")
    report_line(f"{sum(seconds for *_, seconds in results):6.0f} s  in all")
    sys.exit(any(status.startswith("FAILED") for _, status, _ in results))


if __name__ == "__main__":
    main()
