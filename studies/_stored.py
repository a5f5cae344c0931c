"""The figures of finished runs, read from their folder only: nothing is run again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from statistics import fmean

from nikawa.datasets.reader import ExampleReader
from nikawa.io.json import encode_json
from nikawa.metrics import metrics
from nikawa.models import parse_model_name
from nikawa.runs.data import SELECTION_SET, task_of
from nikawa.runs.plan import Family, Settings
from nikawa.runs.records import FILE, RunSpec, Stage
from nikawa.runs.store import DONE, StoredRun, official_scores, stored_runs
from nikawa.runs.summary import RunCell, summarise


@dataclass(frozen=True)
class _Done(Family):
    """Stored runs that differ only in their seeds."""

    kept: tuple[RunSpec, ...] = ()

    def runs(self, settings: Settings, stage: Stage = "result") -> list[RunSpec]:
        """The seeds that are done."""
        return list(self.kept)


def stored_cells(runs: Path, data: Path | None = None) -> list[RunCell]:
    """Every figure of the runs that count, in the order in which their tasks first occur."""
    groups: dict[bytes, list[RunSpec]] = {}
    for spec in (stored.spec for stored in told_runs(runs)):
        key = encode_json((spec.task, spec.model, spec.settings, spec.variation, spec.protocol))
        groups.setdefault(key, []).append(spec)
    return [cell for specs in groups.values() for cell in _cells(specs, runs, ExampleReader(data))]


def told_runs(runs: Path) -> list[StoredRun]:
    """Finished runs that count: if several settings were tried, only those with the best settings.

    A study that was widened leaves results of settings that are no longer the best. They are not shown. The new best
    settings are not shown either until their results are done.
    """
    done = counted_runs(runs)
    told = [stored for stored in done if stored.spec.stage == "result"]
    there = {(_family(stored.spec), _key(stored.spec)) for stored in told}
    best = _best((stored for stored in done if stored.spec.stage == "selection"), there)
    return [
        stored
        for stored in told
        if best.get(_family(stored.spec), _key(stored.spec)) == _key(stored.spec)
    ]


def counted_runs(runs: Path) -> list[StoredRun]:
    """Finished runs, without those of replaced models: if two models of one name did a task, the earlier one does not count."""
    done = [stored for stored in stored_runs(runs) if stored.done]
    latest: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
    for stored in done:
        files = latest.setdefault((stored.spec.task, stored.spec.model), {})
        own = _own(stored.spec)
        when = (
            stored.about().finished,
            (stored.path / DONE).stat().st_mtime_ns,
        )  # the first has whole seconds
        files[own] = max(files.get(own, when), when)
    newest = {key: max(files, key=lambda own: (files[own], own)) for key, files in latest.items()}
    replaced = {own for key, files in latest.items() for own in files if own != newest[key]}
    return [stored for stored in done if not (own := _own(stored.spec)) or own not in replaced]


def shown_runs(runs: Path) -> list[str]:
    """The input of a page: the folder of the runs, or only the runs that count."""
    counted = counted_runs(runs)
    done = sum(stored.done for stored in stored_runs(runs))
    return [str(runs)] if len(counted) == done else [str(stored.path) for stored in counted]


def _own(spec: RunSpec) -> str:
    """The digest of the files of a run's model; empty without files."""
    return next(
        (
            part.digest
            for part in spec.data
            if part.version == FILE and part.name == parse_model_name(spec.predictor).short
        ),
        "",
    )


def _best(
    chosen: Iterator[StoredRun], there: Collection[tuple[bytes, bytes]]
) -> dict[bytes, bytes]:
    """The best settings by family, on the set that chooses settings; ties go to settings with results."""
    values: dict[bytes, dict[bytes, list[float]]] = {}
    lost: set[tuple[bytes, bytes]] = set()
    for stored in chosen:
        spec, metric = stored.spec, task_of(stored.spec).metrics[0]
        if stored.diverged:
            lost.add((_family(spec), _key(spec)))
        sign = -1 if metrics()[metric].better == "lower" else 1
        found = [
            sign * s.value
            for s in official_scores(stored.scores(), SELECTION_SET)
            if s.metric == metric
        ]
        values.setdefault(_family(spec), {}).setdefault(_key(spec), []).extend(
            v for v in found if not isnan(v)
        )
    best: dict[bytes, bytes] = {}
    for family, tried in values.items():
        ranked = [
            (fmean(found), (family, key) in there, key)
            for key, found in tried.items()
            if found and (family, key) not in lost
        ]
        if ranked:
            best[family] = max(ranked)[2]
    return best


def _family(spec: RunSpec) -> bytes:
    return encode_json((spec.task, spec.model, spec.variation))


def _key(spec: RunSpec) -> bytes:
    """The choice and its set: the same settings without a held-out part learn from more examples."""
    return encode_json((dict(sorted(spec.settings.items())), spec.protocol))


def _cells(specs: Sequence[RunSpec], runs: Path, reader: ExampleReader) -> Iterator[RunCell]:
    ordered = sorted(specs, key=lambda spec: spec.seed)
    first = ordered[0]
    seeds = tuple(spec.seed for spec in ordered)
    family = _Done(
        task_of(first),
        first.model,
        first.variation,
        first.protocol,
        seeds,
        (first.settings,),
        (),
        reader,
        (),
        tuple(ordered),
    )
    yield from summarise(family, first.settings, runs)
