"""Peak memory of the commands that hold a dataset, at 10,000, 100,000 and 1,000,000 items: `python -m bench.growth`.

    python -m bench.growth [COMMAND …] [--sizes 10000,100000,1000000] [--against CHECKOUT]

Every command runs in a fresh process on the same invented files. Its peak is the sum of the peaks of its process and of
the processes it starts (VmHWM); seconds are of CPU, with the start of the process. With `--against`, the same commands run
with the code of another checkout (`git worktree add ../before COMMIT`) as well, and what both write is compared byte by byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

COMMANDS = ("score", "compare", "analyse", "report", "agree", "data check", "split")
MAX_PEAK = 1000
"""MB that a command may take at the largest size."""
POLL_SECONDS = 0.02
LABELS = ("entailment", "contradiction", "neutral")
EACH = 3
"""Hypotheses of a premise, and answers about an item."""
WORKERS = 1000
GENRES = ("news", "novel", "letters", "minutes")
TAGS = ("negation", "numeral", "tense", "voice", "case")
CARD = {
    "name": "mine",
    "title": "Invented pairs",
    "version": "1",
    "languages": ["ja"],
    "licence": "CC0",
    "citation": "none",
    "homepage": "none",
    "description": "",
    "labels": "",
    "workers": "",
    "workers_are": "none",
    "source": "",
}


@dataclass
class Measured:
    """What one command took, and a digest of what it wrote."""

    peak: int
    seconds: float
    digest: str


@dataclass
class Inputs:
    """The files that the commands read, of one size."""

    folder: Path
    size: int
    outputs: dict[str, Path] = field(default_factory=dict)

    def write(self) -> None:
        """Pairs of sentences, three to a premise; two files of answers; judgements; a run of each file of answers."""
        draw = np.random.default_rng(self.size)

        def sentences(count: int, length: int) -> list[str]:
            codes = draw.integers(0x4E00, 0x4E00 + 2000, (count, length), dtype=np.uint32)
            return [f"{text}が見た。" for text in codes.view(f"<U{length}").ravel().tolist()]

        def labels(count: int) -> list[str]:
            return [LABELS[place] for place in draw.integers(0, len(LABELS), count).tolist()]

        shares = {"train": self.size - 2 * (self.size // 10)}
        shares |= dict.fromkeys(("dev", "test"), self.size // 10)
        for name, sizes in (("mine", {"test": self.size}), ("shared", shares)):
            place = self.folder / name
            place.mkdir(parents=True)
            (place / "card.json").write_text(json.dumps(CARD), "utf-8")
            for split, count in sizes.items():
                premises = sentences(count // EACH + 1, 20)
                rows = zip(sentences(count, 10), labels(count), strict=True)
                with (place / f"{split}.jsonl").open("w", encoding="utf-8") as out:
                    for number, (hypothesis, label) in enumerate(rows):
                        out.write(
                            f'{{"id":"{split}-{number}","inputs":{{"premise":"{premises[number // EACH]}",'
                            f'"hypothesis":"{hypothesis}"}},"gold":{{"label":"{label}"}},"tags":["{TAGS[number % 5]}"],'
                            f'"meta":{{"genre":"{GENRES[number % 4]}"}},"group":"{split}-{number // EACH}"}}\n'
                        )
        for system in ("a", "b"):
            with (self.folder / f"{system}.jsonl").open("w", encoding="utf-8") as out:
                for number, answer in enumerate(labels(self.size)):
                    out.write(f'{{"id":"test-{number}","answer":"{answer}"}}\n')
        votes = enumerate(labels(EACH * self.size))
        with (self.folder / "judgements.jsonl").open("w", encoding="utf-8") as out:
            for number, answer in votes:
                item = number // EACH
                out.write(
                    f'{{"example":"mine:test/test-{item}","worker":"w{(item * 37 + number % EACH) % WORKERS}",'
                    f'"question":"label","answer":"{answer}"}}\n'
                )

    def run_models(self, source: Path) -> None:
        """Store the answers as runs, for the commands that read runs."""
        words = ["run", "--model", "a=replay:a.jsonl", "--model", "b=replay:b.jsonl"]
        words += ["--tasks", "mine", "--out", "runs", "--quiet"]
        done = start(words, self.folder, source, self.folder / "run.out")
        if done.wait():
            raise RuntimeError((self.folder / "run.out").read_text("utf-8")[-2000:])


def list_words(command: str) -> list[str]:
    """The words of a command; what it writes goes to `out`."""
    return {
        "score": ["score", "mine", "a.jsonl", "--json"],
        "compare": [
            "compare",
            "a.jsonl",
            "b.jsonl",
            "--task",
            "mine",
            "--rounds",
            "1000",
            "--json",
        ],
        "analyse": ["analyse", "runs", "--out", "out", "--quiet"],
        "report": ["report", "runs", "--out", "out", "--quiet"],
        "agree": ["agree", "judgements.jsonl", "--json"],
        "data check": ["data", "check", "shared", "--json"],
        "split": ["split", "shared", "--out", "out", "--json"],
    }[command]


def start(words: list[str], folder: Path, source: Path, out: Path) -> subprocess.Popen[bytes]:
    """Start a command of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONWARNINGS": "ignore"}
    with out.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "nikawa", *words],
            cwd=folder,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )


def list_processes(root: int) -> Iterator[int]:
    """A process and those it started, as far as they live."""
    yield root
    with suppress(OSError):
        for task in Path(f"/proc/{root}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                yield from list_processes(int(child))


def read_peak(process: int) -> int:
    """The most memory that a process held so far, in KB; 0 where it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):  # unlike ru_maxrss, it begins again with the program
                return int(line.split()[1])
    return 0


def measure(command: str, inputs: Inputs, source: Path) -> Measured:
    """Run a command once, and look at its processes until it ends."""
    folder, printed = inputs.folder, inputs.folder / "printed"
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    running = start(list_words(command), folder, source, printed)
    peaks: dict[int, int] = {}
    ended, status = 0, 0
    while not ended:
        for process in list_processes(running.pid):
            peaks[process] = max(peaks.get(process, 0), read_peak(process))
        time.sleep(POLL_SECONDS)
        ended, status, usage = os.wait4(running.pid, os.WNOHANG)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode not in (0, 1):  # 1: the check found something new
        raise RuntimeError(f"{command}: {printed.read_text('utf-8')[-2000:]}")
    digest = hashlib.blake2b(printed.read_bytes(), digest_size=8)
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(out)).encode() + path.read_bytes())
    return Measured(
        sum(peaks.values()) // 1024, usage.ru_utime + usage.ru_stime, digest.hexdigest()
    )


def print_row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--against", type=Path, help="another checkout, to compare with")
    is_all = sys.argv[0].endswith("bench/__main__.py")
    chosen = parser.parse_args(["--sizes", "10000,100000"] if is_all else None)
    if unknown := [command for command in chosen.commands if command not in COMMANDS]:
        parser.error(f"there is no {unknown[0]!r} here; choose from {', '.join(COMMANDS)}")
    if not all(size.isdecimal() for size in chosen.sizes.split(",")):
        parser.error(
            f"--sizes {chosen.sizes}: write numbers with commas between, such as 10000,100000"
        )
    sizes = [int(size) for size in chosen.sizes.split(",")]
    own = Path(__file__).resolve().parents[1] / "src"
    other = chosen.against.resolve() / "src" if chosen.against else None
    print_row(
        "command",
        "items",
        "peak MB",
        "CPU s",
        *(["before MB", "before s", "output"] if other else []),
    )
    print_row(*(["---"] * (7 if other else 4)))
    large: list[str] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            inputs = Inputs(Path(name), size)
            inputs.write()
            if {"analyse", "report"} & set(chosen.commands):
                inputs.run_models(own)
            for command in chosen.commands:
                now = measure(command, inputs, own)
                cells = [command, f"{size:,}", f"{now.peak}", f"{now.seconds:.1f}"]
                if other:
                    before = measure(command, inputs, other)
                    same = "same bytes" if before.digest == now.digest else "OTHER BYTES"
                    cells += [f"{before.peak}", f"{before.seconds:.1f}", same]
                print_row(*cells)
                if now.peak > MAX_PEAK:
                    large.append(f"{command} at {size:,}")
    if large:
        print(f"MISSED: more than {MAX_PEAK} MB for {', '.join(large)}")


if __name__ == "__main__":
    main()
