"""The split of KLUE-NLI (KLUE 3.3.1): premise sets whose hypotheses give the least away, of each source by its style.

A model that sees hypotheses alone is trained on the other premises; the sets whose mean cross entropy with the uniform
distribution is least are for dev and test. Only intact sets qualify: a premise with all its hypotheses, each with the label its
writer meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from nikawa.datasets.klue.klue_nli import DATASET, LABELS
from nikawa.records import Example

FORMAL, COLLOQUIAL = "formal", "colloquial"
TASK = replace(DATASET.tasks[0], name="klue-nli, hypothesis only", inputs=("hypothesis",))


def intact(pairs: Sequence[Example]) -> set[str]:
    """The premises that have all their hypotheses, each with the label that was meant."""
    right = Counter(str(pair.group) for pair in pairs if pair.gold["label"] == pair.meta["author"])
    return {group for group, count in right.items() if count == len(LABELS)}


def quotas(pairs: Sequence[Example], wanted: int, colloquial: float) -> dict[str, int]:
    """Pairs of each source in an evaluation part, in whole sets; each source of a style gives the same."""
    styles: dict[str, dict[str, int]] = {FORMAL: {}, COLLOQUIAL: {}}
    for pair in pairs:
        found = styles[pair.meta["style"]]
        found[pair.meta["source"]] = found.get(pair.meta["source"], 0) + 1
    shares = {FORMAL: 1 - colloquial, COLLOQUIAL: colloquial}
    total = sum(shares[style] for style, sources in styles.items() if sources) or 1
    size = len(LABELS)
    return {
        source: min(round(wanted * shares[style] / total / len(sources) / size), held // size // 2)
        * size
        for style, sources in styles.items()
        for source, held in sources.items()
    }


def signal(pairs: Sequence[Example], config: Any) -> Mapping[str, Mapping[str, float]]:
    """By pair the probabilities a model gives the labels that sees the hypothesis alone, and never the pair's premise."""
    from nikawa.errors import BadInput
    from nikawa.models import Trainable, model
    from nikawa.models.folds import out_of_fold

    groups = [str(pair.group) for pair in pairs]
    found = out_of_fold(
        lambda: cast(Trainable, model(config.model, seed=config.seed)),
        TASK,
        pairs,
        groups,
        seed=config.seed,
    )
    if any(prediction.scores is None for prediction in found):
        raise BadInput(f"the model {config.model} gives no probabilities", cure="use char-linear")
    return {pair.id: prediction.scores or {} for pair, prediction in zip(pairs, found, strict=True)}


def least_signal(
    pairs: Sequence[Example], wanted: Mapping[str, int], config: Any
) -> dict[str, list[Example]]:
    """Train, dev and test; `wanted` says how many pairs dev and test should hold."""
    from nikawa.splitting.artifacts import least_artifact
    from nikawa.splitting.base import Options

    scores, whole = signal(pairs, config), intact(pairs)
    options = Options(
        seed=config.seed, fields=("group",), signal=lambda some, _: [scores[e.id] for e in some]
    )
    parts: dict[str, list[Example]] = {
        "train": [e for e in pairs if e.group not in whole],
        "dev": [],
        "test": [],
    }
    able = [pair for pair in pairs if pair.group in whole]
    given = {part: quotas(able, count, config.colloquial) for part, count in wanted.items()}
    for source in dict.fromkeys(str(pair.meta["source"]) for pair in able):
        members = [pair for pair in able if pair.meta["source"] == source]
        dev, test = given["dev"][source], given["test"][source]
        sizes = {"train": len(members) - dev - test, "dev": dev, "test": test}
        for part, chosen in least_artifact(members, sizes, options).items():
            parts[part] += chosen
    return parts
