"""A model kind of another package that notes each time it works, in a file outside: who did what how often?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

COUNTS_VARIABLE = "NIKAWA_TEST_COUNTS"
"""Names the file: each run adds a line when it begins and one when it ends."""
SOURCE = f'''
import os
import time

import msgspec

from nikawa.models.base import Model
from nikawa.models.majority import Majority, MODELS as MAJORITY


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seconds: float = 0.0


class Counted(Majority):
    name = "counted"

    def __init__(self, setup):
        super().__init__()
        self.seed, self.seconds = setup.seed, setup.settings.get("seconds", 0.0)

    def note(self, what):
        with open(os.environ["{COUNTS_VARIABLE}"], "a") as out:
            out.write(f"{{what}} {{self.seed}}\\n")

    def fit(self, task, examples, dev=()):
        self.note("begin")
        time.sleep(self.seconds)
        super().fit(task, examples, dev)
        self.note("end")


MODELS = (Model("counted", "counts its runs", MAJORITY[0].kinds, Counted, settings=Settings),)
'''
ENTRY_POINTS = "[nikawa.models]\ncounted = counted_model\n"


def write_model(folder: Path) -> None:
    """Write the package, as pip installs it, into a folder for PYTHONPATH."""
    (folder / "counted_model.py").write_text(SOURCE, "utf-8")
    about = folder / "counted_model-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: counted-model\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)


def count_runs(counts: Path) -> tuple[Counter[int], Counter[int]]:
    """How often the run of each seed began, and how often it ended."""
    begun: Counter[int] = Counter()
    ended: Counter[int] = Counter()
    for line in counts.read_text("utf-8").splitlines():
        what, seed = line.split()
        (begun if what == "begin" else ended)[int(seed)] += 1
    return begun, ended
