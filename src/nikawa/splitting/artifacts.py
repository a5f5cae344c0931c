"""Least hypothesis-only signal (KLUE-NLI, 3.3.1).

A model that sees the hypothesis alone gives each label a probability p. The distance of an example
is the cross entropy of the uniform distribution with it, −(1/K) Σ log p, least (log K) where the
hypothesis says nothing. The sets of a premise and its hypotheses with the least mean distance are
for evaluation, parted by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from nikawa.datasets.subsets import draw, group_by
from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting.base import (
    Parts,
    Sizes,
    Splitter,
    SplitterSettings,
    evaluation_sizes,
    groups_of,
    training_part,
    unify_spelling,
)

MIN_PROBABILITY = 1e-12
"""No probability counts as less: one zero would be an infinite distance."""


def split_by_artifact(
    examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings
) -> Parts:
    """The sets nearest to uniform for evaluation; sets stay whole."""
    if settings.signal is None:
        raise BadInput(
            "no hypothesis-only model is given", cure="pass one as SplitterSettings(signal=…)"
        )
    groups = premises(examples, settings)
    distances = [distance(scores) for scores in settings.signal(examples, groups)]
    members = group_by(range(len(examples)), lambda place: groups[place])
    mean = {
        group: sum(distances[i] for i in places) / len(places) for group, places in members.items()
    }
    order = sorted(members, key=lambda g: (mean[g], draw(settings.seed, g)))
    evaluation = evaluation_sizes(sizes)
    # The first sets that together hold the wanted number, or as near as whole sets come from below.
    chosen, total = set(), 0
    for group in order:
        size = len(members[group])
        if size > sum(evaluation.values()):
            continue  # one too large must not end the search
        if total + size > sum(evaluation.values()):
            break
        chosen.add(group)
        total += size
    parts: Parts = {name: [] for name in sizes}
    for group in sorted(chosen, key=lambda g: draw(settings.seed, g)):
        part = max(evaluation, key=lambda p: evaluation[p] - len(parts[p]))
        parts[part] += [examples[i] for i in members[group]]
    parts[training_part(sizes)] = [
        e for group, e in zip(groups, examples, strict=True) if group not in chosen
    ]
    return parts


def premises(examples: Sequence[Example], settings: SplitterSettings) -> list[str]:
    """The set of each example: by the named fields, else its group, else its premise."""
    if settings.fields or all(example.group is not None for example in examples):
        return groups_of(examples, settings)
    return unify_spelling([str(example.inputs.get("premise", example.id)) for example in examples])


def distance(probabilities: Mapping[str, float]) -> float:
    """Cross entropy of the uniform distribution with a predicted one."""
    return -sum(log(max(p, MIN_PROBABILITY)) for p in probabilities.values()) / len(probabilities)


SPLITTERS = (
    Splitter(
        "least-artifact",
        "premise sets whose hypotheses reveal the least about the label (KLUE-NLI)",
        split_by_artifact,
        keeps_groups=True,
        needs_signal=True,
        needs_gold=lambda example: True,
    ),
)
