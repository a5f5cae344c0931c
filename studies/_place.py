"""The folder and device of a study, and how its runs start: they resume where they stopped, and share the GPU."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput, NikawaError, list_names
from nikawa.runs.job import RunOptions, RunReport, RunRequest, run_all
from nikawa.runs.plan import plan_runs
from nikawa.runs.records import Outcome

PARTS = ("train", "baselines", "report")
"""The parts of a study; the first needs a GPU, the others do not."""


@dataclass(frozen=True)
class Place:
    """The folder and the device of a study."""

    out: Path
    data: Path | None = None
    workers: int = 1
    threads: int = 1
    device: str = "auto"
    seeds: int = 3
    tiny: bool = False
    parts: tuple[str, ...] = PARTS

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return self.out / "runs"


def words(about: str, seeds: int) -> argparse.ArgumentParser:
    """The options that every study has."""
    made = argparse.ArgumentParser(description=about.partition("\n")[0])
    made.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder of the study; the same command resumes where it stopped",
    )
    made.add_argument(
        "--data", type=Path, help="folder of the published data (default: NIKAWA_DATA)"
    )
    made.add_argument(
        "--workers", type=int, default=1, help="runs at a time, also on one GPU (default 1)"
    )
    made.add_argument(
        "--threads", type=int, default=1, help="threads per run on the CPU (default 1)"
    )
    made.add_argument("--device", default="auto")
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument(
        "--only", default=",".join(PARTS), help=f"parts of the study: {','.join(PARTS)}"
    )
    made.add_argument(
        "--tiny",
        action="store_true",
        help="use very small models and few steps, to try the study itself",
    )
    return made


def place_of(asked: argparse.Namespace) -> Place:
    """The place from the options."""
    parts = tuple(word for word in asked.only.split(",") if word)
    if strange := set(parts) - set(PARTS):
        raise SystemExit(
            said(
                BadInput(
                    f"--only has unknown parts: {list_names(sorted(strange))}",
                    cure=f"choose from {list_names(PARTS)}",
                )
            )
        )
    if not parts:
        raise SystemExit(said(BadInput("--only is empty", cure=f"choose from {list_names(PARTS)}")))
    for word in ("workers", "threads", "seeds"):
        if (number := getattr(asked, word)) < 1:
            raise SystemExit(
                said(BadInput(f"--{word} is {number}", cure="pass a number that is 1 or more"))
            )
    return Place(
        asked.out,
        asked.data,
        asked.workers,
        asked.threads,
        asked.device,
        asked.seeds,
        asked.tiny,
        parts,
    )


def at_hand(names: Sequence[str], place: Place) -> tuple[str, ...]:
    """The tasks whose data is available; the others are reported."""
    found = []
    for name in names:
        try:
            plan_runs(RunRequest((name,), ("majority",)), place.data)
        except NikawaError as problem:
            tell(f"skipped: {name}: {problem}")
        else:
            found.append(name)
    return tuple(found)


def start(requests: Sequence[RunRequest], place: Place, *, only_choose: bool = False) -> RunReport:
    """Do the runs of all requests in one pool of processes; a failed run is reported and does not stop the others."""
    workers = place.workers
    how = RunOptions(
        place.runs,
        place.data,
        workers,
        place.threads,
        "pool" if workers > 1 else "here",
        only_choose=only_choose,
    )
    there = [replace(request, settings=_placed(request, place)) for request in requests]
    report = run_all(there, replace(how, on_outcome=_told))
    for problem in report.problems:
        tell(f"not done: {problem.run}: {problem.problem}")
    return report


def _placed(request: RunRequest, place: Place) -> Mapping[str, Any]:
    """The settings with the device, for models that are placed on one."""
    if not any(name.startswith("encoder:") for name in request.models):
        return request.settings
    return {**request.settings, "device": place.device}


def _told(outcome: Outcome | None, done: int, total: int) -> None:
    if outcome is not None and outcome.status != "skipped":
        run, why = outcome.run, f": {outcome.problem}" if outcome.problem else ""
        tell(
            f"{done}/{total} {run.task} {run.model} {run.variation.title} seed {run.seed}: {outcome.status}, {outcome.seconds:.1f} s{why}"
        )


def tell(line: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def said(problem: NikawaError) -> int:
    """One line for bad input, and its exit status."""
    tell(f"studies: {problem}")
    return 2
