"""Krippendorff's alpha from raw judgements against crowd-kit (nltk) and krippendorff: `python -m bench.agreement`.

Both start from what a user has: a DataFrame, records in memory (crowd-kit needs a DataFrame of them) or a file, and the
same judgements in one run. Seconds are of CPU, the best of a few.

crowd-kit is not a dependency: `NIKAWA_BENCH_CROWDKIT` names a Python that has it and krippendorff (a virtual environment
made with `pip install crowd-kit krippendorff`); without it only our own times are shown. Memory is the peak of a fresh
process that streams 10,000,000 judgements (`NIKAWA_BENCH_JUDGEMENTS`) and takes alpha with its interval.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from bench.metrics import best, line
from nikawa.aggregation.agree_job import bootstrap_interval
from nikawa.aggregation.agreement import measures
from nikawa.aggregation.frames import make_table
from nikawa.aggregation.kappa import fleiss
from nikawa.agreement import krippendorff_alpha
from nikawa.io.json import encode_json
from nikawa.records import Judgement

ITEMS, EACH, WORKERS = 200_000, 5, 1000

TARGET = 40
"""How many times as fast as crowd-kit alpha is to be, from whatever a user has."""

PEER = """
import json, sys, time
from pathlib import Path
import pandas as pd, krippendorff
from crowdkit.metrics.data import alpha_krippendorff
folder = Path(sys.argv[1])
texts = pd.read_parquet(folder / "judgements.parquet")
names = {"example": "task", "worker": "worker", "answer": "label"}
frame = texts.rename(columns=names)
integers = pd.read_parquet(folder / "integers.parquet").rename(columns=names)
rows = texts.to_dict("records")
def best(run, times):
    found = []
    for _ in range(times):
        start = time.process_time(); value = run(); found.append(time.process_time() - start)
    return min(found), float(value)
def from_counts():
    counts = pd.crosstab(integers["task"], integers["label"]).to_numpy()
    return krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
def from_file(read, name, **how):
    return lambda: alpha_krippendorff(read(folder / name, **how).rename(columns=names))
print(json.dumps({
    "integers": best(lambda: alpha_krippendorff(integers), 3),
    "text ids": best(lambda: alpha_krippendorff(frame), 3),
    "text ids, object columns": best(lambda: alpha_krippendorff(frame.astype(object)), 2),
    "records": best(lambda: alpha_krippendorff(pd.DataFrame(rows).rename(columns=names)), 2),
    "a Parquet file": best(from_file(pd.read_parquet, "judgements.parquet"), 2),
    "a JSONL file": best(from_file(pd.read_json, "judgements.jsonl", lines=True), 2),
    "a CSV file": best(from_file(pd.read_csv, "judgements.csv"), 2),
    "krippendorff, pandas crosstab": best(from_counts, 3),
}))
"""

STREAM = """
import sys
import numpy as np
from nikawa.aggregation.agreement import measures
from nikawa.aggregation.table import Table
from nikawa.aggregation.agree_job import bootstrap_interval
from nikawa.records import Judgement
count = int(sys.argv[1])
def judgements():
    draw = np.random.default_rng(0)
    for item in range(count // 5):
        first = item * 37 % 996
        for place, answer in enumerate(draw.integers(0, 4, 5).clip(1).tolist()):
            yield Judgement(example=f"bench:test/{item}", worker=f"w{first + place}", question="label", answer="abcd"[answer])
table = Table.from_judgements(judgements())
found = [(m.value, *bootstrap_interval(m, len(table.items))) for m in measures(table, by_kind=True)]
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024
print(len(table), peak, *found[0])
"""


def judgements() -> dict[str, Any]:
    """A million labels of three classes: workers who are right four times in five or so."""
    draw = np.random.default_rng(0)
    skill = draw.beta(8, 3, WORKERS)
    task = np.repeat(np.arange(ITEMS), EACH)
    worker = (draw.integers(0, WORKERS // EACH, len(task)) * EACH) + np.tile(np.arange(EACH), ITEMS)
    truth = draw.integers(0, 3, ITEMS)[task]
    right = draw.random(len(task)) < skill[worker]
    code = np.where(right, truth, draw.integers(0, 3, len(task)))
    label = np.array(["entailment", "contradiction", "neutral"], dtype=object)[code]
    return {"task": task, "worker": worker, "label": label}


def peers(folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds and value of each peer; none where no Python that has them is named."""
    python = os.environ.get("NIKAWA_BENCH_CROWDKIT")
    if not python:
        print("crowd-kit is not measured: set NIKAWA_BENCH_CROWDKIT to a Python that has it")
        return {}
    words = [python, "-c", PEER, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_files(folder: Path) -> None:
    """The same judgements in every kind of file, and with integers as ids."""
    integers = pd.DataFrame(judgements()).rename(columns={"task": "example", "label": "answer"})
    texts = integers.assign(
        example=[f"bench:test/{number}" for number in integers["example"].tolist()],
        worker=[f"w{number}" for number in integers["worker"].tolist()],
        question="label",
    )[["example", "worker", "question", "answer"]]
    texts = texts.astype(dict.fromkeys(texts, "str"))
    texts.to_parquet(folder / "judgements.parquet", index=False)
    integers.to_parquet(folder / "integers.parquet", index=False)
    texts.to_csv(folder / "judgements.csv", index=False)
    with (folder / "judgements.jsonl").open("wb") as stream:
        stream.writelines(encode_json(row) + b"\n" for row in texts.to_dict("records"))


def list_cases(folder: Path) -> dict[str, Callable[[], Any]]:
    """What users have judgements in: how to get it."""
    texts = folder / "judgements.parquet"
    return {
        "integers": lambda: pd.read_parquet(folder / "integers.parquet"),
        "text ids": lambda: pd.read_parquet(texts),
        "text ids, object columns": lambda: pd.read_parquet(texts).astype(object),
        "records": lambda: msgspec.convert(
            pd.read_parquet(texts).to_dict("records"), list[Judgement]
        ),
        "a Parquet file": lambda: texts,
        "a JSONL file": lambda: folder / "judgements.jsonl",
        "a CSV file": lambda: folder / "judgements.csv",
    }


def memory() -> None:
    count = os.environ.get("NIKAWA_BENCH_JUDGEMENTS", "10000000")
    done = subprocess.run(
        [sys.executable, "-c", STREAM, count], capture_output=True, text=True, check=True
    )
    size, peak, value, low, high = done.stdout.split()
    shown = f"alpha {float(value):.4f} ({float(low):.4f} to {float(high):.4f})"
    verdict = "" if int(peak) < 500 else "MISSED"
    print(
        f"{int(size):,} judgements streamed: peak {peak} MB (target 500 MB), {shown} {verdict}".rstrip()
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        found = peers(folder)
        for what, get in list_cases(folder).items():
            data = get()
            own, value = best(
                partial(krippendorff_alpha, data), 3 if isinstance(data, Path) else 15
            )
            if what not in found:
                print(f"alpha of 1,000,000 labels from {what}: {own * 1e3:.1f} ms")
                continue
            seconds, theirs = found[what]
            line(f"alpha from {what}: crowd-kit", seconds, own, TARGET, abs(theirs - value) < 1e-9)
            if what == "integers":
                seconds, theirs = found["krippendorff, pandas crosstab"]
                same = abs(theirs - value) < 1e-9
                line("alpha from integers: krippendorff, pandas", seconds, own, 1, same)
    table = make_table(pd.DataFrame(judgements()))
    kappa, _ = best(lambda: fleiss(table).value)
    drawn, _ = best(lambda: bootstrap_interval(next(measures(table, by_kind=True)), ITEMS), 3)
    print(
        f"Fleiss' kappa of the table: {kappa * 1e3:.1f} ms; interval of alpha, 1,000 resamples: {drawn * 1e3:.0f} ms"
    )
    memory()


if __name__ == "__main__":
    main()
