"""Lexical overlap between the two inputs of a set, computed once for all systems that answered it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nikawa.analysis.answers import SystemAnswers
from nikawa.analysis.results import Overlap
from nikawa.analysis.set_analysis import AnalysisOptions
from nikawa.checks.overlap import Shared, mean_share, overlap_bins, rank_correlation, shared_tokens
from nikawa.errors import MissingExtra
from nikawa.records import Example, Task
from nikawa.stats.resample import Floats
from nikawa.text import Analyser, analyser
from nikawa.text.analysers import DEFAULTS

SIDES = {"reading": ("question", "context"), "inference": ("hypothesis", "premise")}
"""Kind to (the input whose tokens are looked for, the input they are looked for in)."""
NONE, PLAIN = "none", "whitespace"
TITLE_MARK = " [SEP] "
"""What parts title and body in a published context: only the body counts."""


def sides_of(task: Task) -> tuple[str, str] | None:
    """The two inputs whose tokens are compared; None where there are no two texts."""
    if task.kind == "similarity":
        return task.inputs[1], task.inputs[0]
    return SIDES.get(task.kind)


class Overlaps:
    """Overlaps of an analysis: each distinct text is cut into tokens once, whatever set it is in."""

    def __init__(self, options: AnalysisOptions) -> None:
        self.options = options
        self._tokens: dict[str, dict[str, list[str]]] = {}
        """Analyser to text to tokens."""
        self._shared: dict[tuple[int, str], Shared] = {}
        """Item set and analyser to what its texts share."""

    def measure(self, answers: SystemAnswers) -> tuple[Overlap | None, str]:
        """The overlap of a set and its relation to the metric, or why there is none."""
        task, language = answers.task, answers.loaded.sets.language
        sides = sides_of(task)
        if sides is None:
            return None, f"{task.kind} tasks have no two texts"
        if self.options.tokeniser == NONE:
            return None, "left out as asked"
        own = language if language in DEFAULTS else PLAIN
        try:
            cutter = analyser(self.options.tokeniser or own, cache=0)
        except MissingExtra as problem:
            return None, str(problem)
        if cutter.language not in ("", language):
            return None, f"{cutter.name} is for {cutter.language}, the texts are {language}"
        key = (id(answers.items), cutter.name)
        if key not in self._shared:
            known = self._tokens.setdefault(cutter.name, {})
            self._shared[key] = count_shared(answers.examples, sides, cutter, known)
        return self._relate(answers, sides, self._shared[key], cutter.name), ""

    def _relate(
        self, answers: SystemAnswers, sides: tuple[str, str], shared: Shared, segmentation: str
    ) -> Overlap:
        """The overlap of the texts with the metric on them."""
        sample, shares = answers.sample, shared.shares
        detail = sample.detail
        if detail is None:  # a correlation has no score an item
            detail = _closeness(answers)
        draws = {"resamples": self.options.resamples, "seed": self.options.seed}
        return Overlap(
            of=sides[0],
            inside=sides[1],
            segmentation=segmentation,
            n=len(shares),
            mean=mean_share(shared, sample.units, **draws),
            pooled=shared.pooled,
            labels=_mean_by_label(answers.task, answers.examples, shares),
            metric=answers.metric.name,
            unit=answers.unit,
            bins=overlap_bins(shares, sample, scale=answers.scale, **draws),
            correlation=rank_correlation(shares, detail, sample.units, **draws),
        )


def count_shared(
    examples: Sequence[Example],
    sides: tuple[str, str],
    cutter: Analyser,
    known: dict[str, list[str]] | None = None,
) -> Shared:
    """Tokens of one input that are in the other; `known` holds the tokens of texts that were cut before, and takes the new ones."""
    tokens = {} if known is None else known
    searched = [str(example.inputs.get(sides[0], "")) for example in examples]
    holding = [
        str(example.inputs.get(sides[1], "")).rpartition(TITLE_MARK)[2] for example in examples
    ]
    new = [text for text in dict.fromkeys((*searched, *holding)) if text not in tokens]
    for text, cut in zip(new, cutter.analyse_many(new), strict=True):
        tokens[text] = [token.surface for token in cut]
    token_sets = {text: frozenset(tokens[text]) for text in dict.fromkeys(holding)}
    pairs = zip(searched, holding, strict=True)
    return shared_tokens((tokens[one], token_sets[other]) for one, other in pairs)


def _closeness(answers: SystemAnswers) -> Floats:
    """A score an item: the squared error with its sign turned, or whether the answer is gold; mean over seeds."""
    is_similarity = answers.task.kind == "similarity"
    rows = []
    for run in answers.runs:
        pairs = zip(run.gold, run.answers, strict=True)
        if is_similarity:
            rows.append([-((answer - gold) ** 2) for gold, answer in pairs])
        else:
            rows.append([gold == answer for gold, answer in pairs])
    mean: Floats = np.array(rows, dtype=np.float64).mean(axis=0)
    return mean


def _mean_by_label(task: Task, examples: Sequence[Example], shares: Floats) -> dict[str, float]:
    """Mean share by gold label, for tasks with labels."""
    gold = [example.gold.get(task.question) for example in examples]
    names = sorted({label for label in gold if isinstance(label, str)}) if task.labels else []
    return {name: float(shares[[label == name for label in gold]].mean()) for name in names}
