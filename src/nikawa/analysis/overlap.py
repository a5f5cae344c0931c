"""Lexical overlap between the two inputs of a set, computed once for all systems that answered it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nikawa.analysis.results import Overlap
from nikawa.analysis.sample import Sitting
from nikawa.analysis.set_analysis import How
from nikawa.checks.overlap import Shared, mean_share, overlap_bins, rank_correlation, shared_tokens
from nikawa.errors import MissingExtra
from nikawa.records import Example, Task
from nikawa.stats.resample import Floats
from nikawa.text import Analyser, analyser
from nikawa.text.analysers import DEFAULTS

SIDES = {"reading": ("question", "context"), "inference": ("hypothesis", "premise")}
"""Kind to (the input whose tokens are looked for, the input they are looked for in)."""
NONE, PLAIN = "none", "whitespace"
TITLE = " [SEP] "
"""What parts title and body in a published context: only the body counts."""


def sides_of(task: Task) -> tuple[str, str] | None:
    """The two inputs whose tokens are compared; None where there are no two texts."""
    if task.kind == "similarity":
        return task.inputs[1], task.inputs[0]
    return SIDES.get(task.kind)


class Overlaps:
    """Overlaps by set; a set that several systems answered is cut into tokens once."""

    def __init__(self, how: How) -> None:
        self.how = how
        self._kept: dict[tuple[str, str, str], dict[str, tuple[int, int]]] = {}

    def of(self, sitting: Sitting) -> tuple[Overlap | None, str]:
        """The overlap of a set and its relation to the metric, or why there is none."""
        task, language = sitting.task, sitting.loaded.system.language
        sides = sides_of(task)
        if sides is None:
            return None, f"{task.kind} tasks have no two texts"
        if self.how.tokeniser == NONE:
            return None, "left out as asked"
        own = language if language in DEFAULTS else PLAIN
        try:
            cutter = analyser(self.how.tokeniser or own, cache=0)
        except MissingExtra as problem:
            return None, str(problem)
        if cutter.language not in ("", language):
            return None, f"{cutter.name} is for {cutter.language}, the texts are {language}"
        shared = self._shared(sitting, sides, cutter)
        return _overlap(sitting, sides, shared, cutter.name, self.how), ""

    def _shared(self, sitting: Sitting, sides: tuple[str, str], cutter: Analyser) -> Shared:
        key = (sitting.task.dataset, sitting.set, cutter.name)
        known = self._kept.setdefault(key, {})
        new = [e for e in sitting.examples if e.id not in known]
        if new:
            found = count(new, sides, cutter)
            pairs = zip(found.found.tolist(), found.tokens.tolist(), strict=True)
            known.update((e.id, (int(a), int(b))) for e, (a, b) in zip(new, pairs, strict=True))
        table = np.array([known[e.id] for e in sitting.examples], dtype=np.float64)
        return Shared(table[:, 0], table[:, 1])


def count(examples: Sequence[Example], sides: tuple[str, str], cutter: Analyser) -> Shared:
    """Tokens of one input that are in the other; each distinct text is cut once."""
    asked = [str(e.inputs.get(sides[0], "")) for e in examples]
    within = [str(e.inputs.get(sides[1], "")).rpartition(TITLE)[2] for e in examples]
    tokens = dict(_cut(list(dict.fromkeys(asked)), cutter))
    held = {text: frozenset(each) for text, each in _cut(list(dict.fromkeys(within)), cutter)}
    return shared_tokens((tokens[a], held[w]) for a, w in zip(asked, within, strict=True))


def _cut(texts: Sequence[str], cutter: Analyser) -> Iterator[tuple[str, list[str]]]:
    for text, found in zip(texts, cutter.analyse_many(texts), strict=True):
        yield text, [token.surface for token in found]


def _overlap(
    sitting: Sitting, sides: tuple[str, str], shared: Shared, segmentation: str, how: How
) -> Overlap:
    sample, shares = sitting.sample, shared.shares
    detail = sample.detail
    if (
        detail is None
    ):  # a correlation has no score an item: there it is the squared error, with its sign turned
        detail = _closeness(sitting)
    n, settings = len(shares), {"resamples": how.resamples, "seed": how.seed}
    rho = rank_correlation(shares, detail, sample.units, **settings)
    return Overlap(
        of=sides[0],
        inside=sides[1],
        segmentation=segmentation,
        n=n,
        mean=mean_share(shared, sample.units, **settings),
        pooled=shared.pooled,
        labels=_by_label(sitting.task, sitting.examples, shares),
        metric=sitting.metric.name,
        unit=sitting.unit,
        bins=overlap_bins(shares, sample, scale=sitting.scale, **settings),
        correlation=rho,
    )


def _closeness(sitting: Sitting) -> Floats:
    if sitting.task.kind != "similarity":
        rows = [[g == a for g, a in zip(r.gold, r.answers, strict=True)] for r in sitting.runs]
    else:
        rows = [
            [-((a - g) ** 2) for g, a in zip(r.gold, r.answers, strict=True)] for r in sitting.runs
        ]
    mean: Floats = np.array(rows, dtype=np.float64).mean(axis=0)
    return mean


def _by_label(task: Task, examples: Sequence[Example], shares: Floats) -> dict[str, float]:
    gold = [e.gold.get(task.question) for e in examples]
    names = sorted({g for g in gold if isinstance(g, str)}) if task.labels else []
    return {name: float(shares[[g == name for g in gold]].mean()) for name in names}
