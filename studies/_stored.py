"""The figures of finished runs, read from their folder alone: wherever they were made, nothing is run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nikawa.io.json import encode_json
from nikawa.run.data import Shelf
from nikawa.run.material import task_of
from nikawa.run.plan import Family, Settings
from nikawa.run.store import stored_runs
from nikawa.run.summary import Cell, summarise
from nikawa.run.value import RunSpec, Stage


@dataclass(frozen=True)
class _Done(Family):
    """Runs that differ in their seeds alone, as they lie there."""

    kept: tuple[RunSpec, ...] = ()

    def runs(self, settings: Settings, stage: Stage = "result") -> list[RunSpec]:
        """Those that are there."""
        return list(self.kept)


def stored_cells(runs: Path, data: Path | None = None) -> list[Cell]:
    """Every figure of the finished runs of a folder, in the order of their tasks as they were first met."""
    groups: dict[bytes, list[RunSpec]] = {}
    for stored in stored_runs(runs):
        if stored.done and stored.spec.stage == "result":
            spec = stored.spec
            key = encode_json((spec.task, spec.model, spec.settings, spec.variation, spec.protocol))
            groups.setdefault(key, []).append(spec)
    return [cell for specs in groups.values() for cell in _cells(specs, runs, Shelf(data))]


def _cells(specs: Sequence[RunSpec], runs: Path, shelf: Shelf) -> Iterator[Cell]:
    ordered = sorted(specs, key=lambda spec: spec.seed)
    first = ordered[0]
    seeds = tuple(spec.seed for spec in ordered)
    family = _Done(
        task_of(first), first.model, first.variation, first.protocol, seeds, (first.settings,), (), shelf, (), tuple(ordered)
    )  # fmt: skip
    yield from summarise(family, first.settings, runs)
