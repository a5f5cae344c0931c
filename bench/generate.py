"""Generation: problems per second, two processes against one, memory at a million, and against plain Python a problem at a time.

CheckList's `Editor.template` was meant to be the peer; its package does not install here (its set-up script calls pip for jupyter). In its place
is the simplest program for the same job: fit the frames to the template, fill a text, draw times until the label comes out right.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from nikawa.generation.generator import Generator, PlannedCell, load_pack_lexicon
from nikawa.generation.job import GenerateOptions, Plan, generate
from nikawa.generation.lexicon import Lexicon
from nikawa.generation.pack import Pack, open_pack
from nikawa.text.conjugation_ja import conjugate

PROBLEMS = int(os.environ.get("NIKAWA_BENCH_PROBLEMS", "1000000"))
PACK = "temporal-ja"
PLAIN_PACK = "temporal-ja@1"
"""The version of the pack with the template that the plain program writes."""
TEXT = (
    "{agent}は{time1}以来ずっと{noun}を{te}いる。現在は{time2}である。",
    "{agent}は{time3}に{noun}を{te}いた。",
)
"""since-3 as a plain text, for the plain program."""
CELLS = (
    "since-3/年月日/random/entailment",
    "since-3/年月日/random/contradiction",
    "since-3/年月日/random/neutral",
)


def plain(lexicon: Lexicon, label: str, number: int) -> str:
    """One problem of since-3, the way a first script does it."""
    frames = [
        f
        for f in lexicon.frames
        if set(f.cases) == {"ガ", "ヲ"} and f.transitive and "during" in f.times
    ]
    frames = [f for f in frames if "year" in f.units]
    frame = random.choice(frames)
    fillers = {
        "agent": random.choice(lexicon.agents),
        "noun": random.choice(frame.nouns["ヲ"]),
        "te": conjugate(frame.verb, "te", frame.ctype),
    }
    while True:
        first, now, then = (
            datetime(2000, 1, 1) + timedelta(days=random.randrange(7670)) for _ in range(3)
        )
        if len({first, now, then}) < 3 or now < first:
            continue
        found = (
            "entailment" if first <= then <= now else "contradiction" if then < first else "neutral"
        )
        if found == label:
            break
    for name, day in (("time1", first), ("time2", now), ("time3", then)):
        fillers[name] = f"{day.year}年{day.month}月{day.day}日"
    premise, hypothesis = (text.format(**fillers) for text in TEXT)
    problem = {
        "id": str(number),
        "inputs": {"premise": premise, "hypothesis": hypothesis},
        "gold": {"label": label},
    }
    return json.dumps(problem, ensure_ascii=False)


def rate(made: Iterator[object]) -> float:
    began, count = time.process_time(), sum(1 for _ in made)
    return count / (time.process_time() - began)


def plan_template(pack: Pack) -> list[PlannedCell]:
    """The cells of the template that the plain program writes."""
    plan = Plan(pack, "1", {"train": 1}, ())
    cells = [planned for planned in plan.cells["train"] if planned.cell.name in CELLS]
    if len(cells) != len(CELLS):
        raise LookupError(f"{pack.head.name} {pack.head.version} has not all of {CELLS}")
    return cells


def against_plain() -> None:
    pack = open_pack(PLAIN_PACK)
    lexicon = load_pack_lexicon(pack)
    cells = plan_template(pack)
    ours = Plan(pack, "1", {"train": 1}, ())
    ours.cells = {"train": [PlannedCell(one.number, one.cell, 14_000) for one in cells]}
    # What is loaded once is loaded before the clock starts.
    ours.generator.lines("train", ours.cells["train"][0], 0, 100)
    began = time.process_time()
    done = sum(
        len(lines) and lines.count(b"\n")
        for chunk in ours.chunks(5000)
        for lines in ours.make(chunk)
    )
    fast = done / (time.process_time() - began)
    labels = [planned.cell.label for planned in cells]
    slow = rate(plain(lexicon, labels[i % 3], i) for i in range(6_000))
    print(
        f"since-3, records as JSON    nikawa {fast:>9,.0f}/s   plain Python {slow:>7,.0f}/s   {fast / slow:.1f} times"
    )


def texts_alone() -> None:
    pack = open_pack(PACK)
    generator = Generator(pack, load_pack_lexicon(pack), "1")
    cells = generator.plan_cells("train", 20)
    speed = rate(example for one in cells for example in generator.problems("train", one))
    print(f"{PACK}, all templates     {speed:>9,.0f} problems/s per core, as records in memory")


class Run(NamedTuple):
    """The cost of a run in a separate process."""

    seconds: float
    problems: int
    own: float
    """CPU seconds of the process that plans and writes."""
    made: float
    """CPU seconds of its workers."""
    memory: int
    """MB of the largest process."""

    def show(self, workers: int) -> str:
        cpu = self.own + self.made
        return (
            f"to disk, {workers} worker{'s' if workers > 1 else ' '} {self.problems:>9,} problems {self.seconds:>6.1f} s"
            f" {self.problems / self.seconds:>9,.0f}/s   {cpu:>5.1f} s of CPU, {self.problems / cpu:>7,.0f}/s per core"
            f"   {self.memory} MB per process at most"
        )


def whole(workers: int, per: int) -> Run:
    code = "from bench.generate import child; import sys; child(int(sys.argv[1]), int(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(workers), str(per)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, problems, own, made, kilobytes = done.stdout.split()
    return Run(float(seconds), int(problems), float(own), float(made), int(kilobytes) // 1024)


def child(workers: int, per: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), time.process_time()
        report = generate(
            PACK,
            Path(folder) / "out",
            options=GenerateOptions(counts={"": per, "test": 0}, workers=workers),
        )
        took, own = time.perf_counter() - began, time.process_time() - cpu
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    made = usage[1].ru_utime + usage[1].ru_stime
    print(took, report.splits["train"].problems, own, made, max(found.ru_maxrss for found in usage))


def main() -> None:
    texts_alone()
    against_plain()
    cells = len(open_pack(PACK).cells())
    per = -(-PROBLEMS // cells)
    alone = whole(1, per)
    print(alone.show(1))
    two = whole(2, per)
    print(two.show(2))
    busy = os.getloadavg()[0]
    print(
        f"two workers are {alone.seconds / two.seconds:.2f} times one on {os.cpu_count()} cores; load at the end {busy:.1f}"
    )


if __name__ == "__main__":
    main()
