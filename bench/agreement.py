"""Krippendorff's alpha from raw judgements against crowd-kit (nltk) and krippendorff, same judgements, same run.

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
from pathlib import Path
from typing import Any

import numpy as np

from bench.metrics import best, line
from nikawa.aggregation.agree_job import bootstrap_interval
from nikawa.aggregation.agreement import measures
from nikawa.aggregation.alpha import alpha
from nikawa.aggregation.kappa import fleiss
from nikawa.aggregation.table import Table

ITEMS, EACH, WORKERS = 200_000, 5, 1000

PEER = """
import json, sys, time
import numpy as np, pandas as pd, krippendorff
from crowdkit.metrics.data import alpha_krippendorff
data = np.load(sys.argv[1], allow_pickle=True)
frame = pd.DataFrame({name: data[name] for name in ("task", "worker", "label")})
def best(run, times):
    found = []
    for _ in range(times):
        start = time.process_time(); value = run(); found.append(time.process_time() - start)
    return min(found), float(value)
def from_counts():
    counts = pd.crosstab(frame["task"], frame["label"]).to_numpy()
    return krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
print(json.dumps({
    "crowd-kit (nltk)": best(lambda: alpha_krippendorff(frame), 5),
    "krippendorff, pandas crosstab": best(from_counts, 5),
}))
"""

STREAM = """
import resource, sys
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
print(len(table), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, *found[0])
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


def peers(data: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Seconds and value of each peer; none where no Python that has them is named."""
    python = os.environ.get("NIKAWA_BENCH_CROWDKIT")
    if not python:
        print("crowd-kit is not measured: set NIKAWA_BENCH_CROWDKIT to a Python that has it")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgements.npz"
        np.savez(path, **data)
        done = subprocess.run(
            [python, "-c", PEER, str(path)], capture_output=True, text=True, check=True
        )
    found: dict[str, tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


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
    data = judgements()

    def table() -> Table:
        return Table.from_columns(data["task"], data["worker"], data["label"])

    own, value = best(lambda: alpha(table()).value, 15)
    found = peers(data)
    for name, target in (("crowd-kit (nltk)", 40), ("krippendorff, pandas crosstab", 1)):
        if name in found:
            seconds, theirs = found[name]
            line(
                f"alpha of 1,000,000 labels: {name}",
                seconds,
                own,
                target,
                abs(theirs - value) < 1e-9,
            )
    print(f"alpha of 1,000,000 labels from columns: {own * 1e3:.1f} ms")
    apart = np.array([label.encode().decode() for label in data["label"].tolist()], dtype=object)
    slow, _ = best(lambda: alpha(Table.from_columns(data["task"], data["worker"], apart)).value, 15)
    print(f"the same if every label is a separate object: {slow * 1e3:.1f} ms")
    task, worker = (
        [f"{letter}{n}" for n in data[name].tolist()]
        for letter, name in (("i", "task"), ("w", "worker"))
    )
    names, _ = best(lambda: alpha(Table.from_columns(task, worker, data["label"])).value, 3)
    print(f"the same if items and workers are texts: {names * 1e3:.1f} ms")
    made = table()
    kappa, _ = best(lambda: fleiss(made).value)
    drawn, _ = best(lambda: bootstrap_interval(next(measures(made, by_kind=True)), ITEMS), 3)
    print(
        f"Fleiss' kappa of the table: {kappa * 1e3:.1f} ms; interval of alpha, 1,000 resamples: {drawn * 1e3:.0f} ms"
    )
    memory()
