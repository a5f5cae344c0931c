"""CPU seconds of `nikawa report` over eight systems a task: `python -m bench.report [--against SRC] [--runs DIR]`.

The runs are made once: baselines with two seeds on the embedded datasets, and, where the published data is here, baselines
and answer files of different quality on JNLI, JSTS and JSICK. SRC is the `src` folder of another version: both report the same
runs with one BLAS thread, since the number of threads moves the last digits, and the files that differ are listed.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from shutil import rmtree

from bench.start import shared

ROOT = Path(__file__).parents[1]
SMALL = ("mini-ja-nli", "mini-ja-sts", "mini-ja-choice", "mini-ja-ner")
LARGE = {"jnli": "dev", "jsts": "dev", "jsick-nli": "test", "jsick-sts": "test"}
"""Task to the split that results are on."""
QUALITIES = (0.6, 0.7, 0.8, 0.9)
"""Shares of items that the answer files have right, or how far their scores stay near gold."""
REPEATS = 2


def write_answers(folder: Path, task: str, quality: float) -> Path:
    """A file of answers that are gold in so many cases; scores are gold with noise."""
    from nikawa.datasets import load_task

    found, examples = load_task(task, LARGE[task], data=shared())
    chance = Random(f"{task} {quality}")
    path = folder / f"{task}-{quality}.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for example in examples:
            answer = example.gold[found.question]
            if isinstance(answer, float):
                answer = min(5.0, max(0.0, answer + chance.gauss(0, 5 * (1 - quality))))
            elif chance.random() > quality:
                answer = chance.choice(found.labels)
            stream.write(json.dumps({"example": example.id, "answer": answer}) + "\n")
    return path


def make_runs(folder: Path) -> None:
    """Eight systems a task."""
    from nikawa.runs.job import RunOptions, RunRequest, run

    data = shared() if shared().is_dir() else None
    options = RunOptions(out=folder / "runs", data=data, workers=2)
    learners = ("majority", "baseline", "char-linear")
    run(RunRequest(tasks=SMALL, models=("majority", "baseline"), seeds=(0, 1)), options)
    if data is None:
        return
    for task in LARGE:
        extra = "pair-linear" if task.endswith("nli") else "char-overlap"
        run(RunRequest(tasks=(task,), models=(*learners, extra), seeds=(0, 1)), options)
        for quality in QUALITIES:
            path = write_answers(folder, task, quality)
            run(RunRequest(tasks=(task,), models=(f"q{quality}=replay:{path}",)), options)


def cpu_seconds(source: Path, folder: Path) -> float:
    """CPU seconds of a report on the runs next to a folder, by the code of `source`, best of a few.

    The command is the same for every version: a page names it.
    """
    data = ["--data", str(shared())] if shared().is_dir() else []
    words = [sys.executable, "-m", "nikawa", "report", "../runs", "--out", "page", "-q", *data]
    folder.mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    times = []
    for _ in range(REPEATS):
        rmtree(folder / "page", ignore_errors=True)
        before = os.times()
        subprocess.run(words, check=True, env=environment, cwd=folder)
        after = os.times()
        user = after.children_user - before.children_user
        times.append(user + after.children_system - before.children_system)
    return min(times)


def differing_files(one: Path, other: Path) -> list[str]:
    """Files of two folders that are not the same."""
    names = {path.relative_to(folder) for folder in (one, other) for path in folder.rglob("*.*")}
    files = sorted(str(name) for name in names)
    _, different, missing = filecmp.cmpfiles(one, other, files, shallow=False)
    return [*different, *missing]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--against", type=Path, help="src folder of another version to compare with"
    )
    parser.add_argument("--runs", type=Path, help="folder to keep the runs in")
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.runs or Path(temporary)).resolve()
        if not (folder / "runs").is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            make_runs(folder)
        new, old = folder / "new", folder / "old"
        seconds = cpu_seconds(ROOT / "src", new)
        print(f"{'report':24} {seconds:.2f} s")
        if given.against is not None:
            before = cpu_seconds(given.against.resolve(), old)
            print(f"{'report, other version':24} {before:.2f} s, {before / seconds:.2f} times")
            print(
                f"{'files that differ':24} {', '.join(differing_files(new / 'page', old / 'page')) or 'none'}"
            )


if __name__ == "__main__":
    main()
