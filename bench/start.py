"""What a user waits for: import, help, the list of tasks, and reading two published files (CPU seconds)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = {
    "import nikawa": ("-c", "import nikawa"),
    "nikawa --help": (
        "-c",
        "import sys; sys.argv[1:] = ['--help']; from nikawa.cli import main; main()",
    ),
    "nikawa tasks": (
        "-c",
        "import sys; sys.argv[1:] = ['tasks']; from nikawa.cli import main; main()",
    ),
}


def shared() -> Path:
    return Path(os.environ.get("NIKAWA_SHARED", Path(__file__).parents[2] / "shared")) / "data"


def of_command(words: tuple[str, ...]) -> float:
    """CPU seconds of a fresh process, best of five."""
    times = []
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        times.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return min(times)


def of_reading(spec: str) -> float:
    """CPU seconds to load a dataset, best of five."""
    from nikawa import load

    times = []
    for _ in range(5):
        start = time.process_time()
        load(spec, data=shared())
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    for name, words in COMMANDS.items():
        print(f"{name:24} {of_command(words):.3f} s")
    for spec in ("jsick", "klue-ner:dev"):
        if shared().is_dir():
            print(f"{'read ' + spec:24} {of_reading(spec):.3f} s")
