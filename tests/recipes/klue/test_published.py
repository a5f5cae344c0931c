"""The rules of the recipes give the published labels where the published data holds the answers they were made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from nikawa.aggregation.decisions import DecisionBook
from nikawa.datasets import benchmarks, load
from nikawa.recipes.klue.klue_nli import fault, label_pairs
from nikawa.recipes.klue.klue_sts import score_pairs
from nikawa.recipes.recipe import Kept, Outcome
from nikawa.records import Example, Judgement

Stage = Callable[[Any, Any], Iterable[Outcome]]


def outcomes(
    name: str, data: Path, stage: Stage, config: Any, keep: Callable[[Judgement], bool]
) -> list[Outcome]:
    """What a stage makes of the published items and answers, gold taken off."""
    judged = benchmarks()[name].judgements
    assert judged is not None
    answers = [
        replace(j, example=j.example.rpartition("/")[2]) for j in judged(data / "klue") if keep(j)
    ]
    items = [replace(example, gold={}) for example in load(name, data=data).splits["dev"]]
    inputs = SimpleNamespace(
        examples=lambda _: iter(items),
        judgements=lambda _: iter(answers),
        decisions=lambda _: DecisionBook(),
    )
    return list(stage(inputs, config))


def gold(name: str, data: Path) -> dict[str, Example]:
    return {example.id: example for example in load(name, data=data).splits["dev"]}


@pytest.mark.slow
def test_means_of_klue_sts(shared_data: Path) -> None:
    config = SimpleNamespace(
        least_r=-1.0, least_alpha=-1.0, ratings=5, deviation=2.0, paraphrase=3.0
    )
    made = outcomes("klue-sts", shared_data, score_pairs, config, lambda _: True)
    published = gold("klue-sts", shared_data)
    assert len(made) == 519
    for outcome in made:
        assert isinstance(outcome, Kept)
        known = published[outcome.example.id]
        assert outcome.example.gold == known.gold
        assert outcome.example.meta["rounded"] == known.meta["rounded"]
        assert outcome.example.meta["ratings"] == known.meta["ratings"]


@pytest.mark.slow
def test_votes_of_klue_nli(shared_data: Path) -> None:
    config = SimpleNamespace(votes=3)
    made = outcomes(
        "klue-nli", shared_data, label_pairs, config, lambda judgement: judgement.worker != "author"
    )
    published = gold("klue-nli", shared_data)
    assert len(made) == 3000
    assert all(isinstance(o, Kept) and o.example.gold == published[o.example.id].gold for o in made)


def test_premises_of_klue_nli(shared_data: Path) -> None:
    """One published premise is too short; 29, nearly all film reviews, end in no predicate."""
    config = SimpleNamespace(shortest=20, longest=90, propositions=True)
    premises = {
        example.inputs["premise"] for example in load("klue-nli", data=shared_data).splits["dev"]
    }
    found = [why for premise in premises if (why := fault(premise, config))]
    assert sorted(set(found)) == ["does not end in a predicate", "not 20 to 90 characters"]
    assert (len(premises), len(found)) == (1000, 30)
