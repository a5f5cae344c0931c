"""The same number of each source and style in the evaluation parts (KLUE-NLI, KLUE-DP)."""

from __future__ import annotations

from collections.abc import Sequence

from nikawa.datasets.subsets import group_by
from nikawa.errors import BadInput
from nikawa.records import Example
from nikawa.splitting.base import (
    Parts,
    Sizes,
    Splitter,
    SplitterSettings,
    evaluation_sizes,
    kind_of,
    quotas,
    shuffle,
    training_part,
)


def split_evenly(examples: Sequence[Example], sizes: Sizes, settings: SplitterSettings) -> Parts:
    """As even a number of each combination of the fields as can be.

    One that is too small gives what it has.
    """
    if not settings.fields:
        raise BadInput("balanced by what?", cure="pass meta fields: --field source --field style")
    kinds = group_by(shuffle(examples, settings.seed), lambda e: kind_of(e, settings))
    parts: Parts = {training_part(sizes): []}
    for name, size in evaluation_sizes(sizes).items():
        counts = quotas({kind: len(kinds[kind]) for kind in sorted(kinds)}, size)
        parts[name] = [example for kind, count in counts.items() for example in kinds[kind][:count]]
        kinds = {kind: members[counts[kind] :] for kind, members in kinds.items()}
    parts[training_part(sizes)] = [example for members in kinds.values() for example in members]
    return parts


SPLITTERS = (
    Splitter(
        "balanced", "the same number of each source or style in evaluation (--field)", split_evenly
    ),
)
