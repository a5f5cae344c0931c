"""What is seen in several systems: stress with seeds, suspects by votes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nikawa.analysis.across_systems import stress_systems
from nikawa.analysis.answers import ItemSets, SystemAnswers, match_system
from nikawa.analysis.set_analysis import AnalysisOptions
from nikawa.analysis.suspects import find_suspects
from nikawa.records import Card, Example, Origin, Prediction, Task
from nikawa.runs.load import AnsweredSets, LoadedRun, LoadedSystem
from nikawa.runs.records import EvaluationProtocol, RunSpec, Variation
from nikawa.runs.store import StoredRun

TASK = Task(
    name="toy-nli",
    dataset="toy",
    kind="inference",
    question="label",
    inputs=("premise", "hypothesis"),
    labels=("entailment", "contradiction", "neutral"),
    metrics=("accuracy",),
)
E, C, N = TASK.labels
CARD = Card(
    name="toy",
    title="Toy",
    version="1",
    languages=("ja",),
    licence="none",
    homepage="",
    citation="",
    description="",
    source="",
    labels="",
    workers="",
    workers_are="none",
)


def example(name: str, gold: str, **more: Any) -> Example:
    inputs = {"premise": f"=文{name}", "hypothesis": f"仮説{name}"}
    return Example(id=name, inputs=inputs, gold={"label": gold}, group=name, **more)


def loaded(
    sets: dict[str, list[Example]],
    answers: dict[str, Sequence[Sequence[Any]]],
    model: str = "m",
    share: float = 1.0,
    dataset: str = "toy",
) -> LoadedSystem:
    """A system whose answers to a set are given seed by seed: an answer, or probabilities of the labels."""
    runs = []
    answered = AnsweredSets(TASK, sets, CARD, "ja", sets)
    for seed in range(len(next(iter(answers.values())))):
        spec = RunSpec(
            task=TASK.name,
            predictor=model,
            seed=seed,
            variation=Variation(share=share),
            protocol=EvaluationProtocol(
                kind="answers", evaluate=tuple(f"{dataset}:{name}" for name in sets)
            ),
            data=(),
        )
        given = {
            name: [_prediction(e.id, a) for e, a in zip(sets[name], each[seed], strict=True)]
            for name, each in answers.items()
        }
        runs.append(LoadedRun(StoredRun(Path(f"run{seed}")), spec, given, answered))
    return _Toy(tuple(runs), answered)


class _Toy(LoadedSystem):
    @property
    def stem(self) -> str:
        return f"toy--{self.spec.model}"


def _prediction(name: str, answer: Any) -> Prediction:
    if not isinstance(answer, tuple):
        return Prediction(example=name, answer=answer)
    scores = dict(zip(TASK.labels, answer, strict=True))
    return Prediction(
        example=name, answer=max(scores, key=lambda label: scores[label]), scores=scores
    )


def seated(one: LoadedSystem, name: str = "test") -> SystemAnswers:
    found = match_system(one, name, ItemSets())
    assert found is not None
    return found


def test_stress_is_the_mean_over_seeds_of_answers_that_stay() -> None:
    originals = [example(str(i), E) for i in range(4)]
    made = [
        example(
            f"s{i}",
            E,
            origin=Origin(
                recipe="jsick-stress", parents=(f"toy:test/{i}",), step="swap-o", gold="inherited"
            ),
        )
        for i in range(4)
    ]
    before = [[E, E, C, N], [E, E, E, E]]
    after = [[E, E, C, C], [E, E, N, N]]
    one = loaded({"test": originals, "swap-o": made}, {"test": before, "swap-o": after})
    (found,) = stress_systems([one], AnalysisOptions(resamples=100))
    whole = next(c for c in found.cells if not c.case and not c.gold)
    assert found.measure == "same"
    assert (whole.operation, whole.n) == ("swap", 4)
    assert whole.value == pytest.approx((75 + 50) / 2)
    assert whole.sd == pytest.approx(17.67767)
    assert whole.to_neutral == pytest.approx(100 * 2 / 7)
    assert whole.low is None
    twelve = [example(str(i), E) for i in range(12)]
    more = [
        example(
            f"s{i}",
            E,
            origin=Origin(
                recipe="jsick-stress", parents=(f"toy:test/{i}",), step="swap-o", gold="inherited"
            ),
        )
        for i in range(12)
    ]
    many = loaded(
        {"test": twelve, "swap-o": more},
        {"test": [b * 3 for b in before], "swap-o": [a * 3 for a in after]},
    )
    (found,) = stress_systems([many], AnalysisOptions(resamples=100))
    whole = next(c for c in found.cells if not c.case and not c.gold)
    assert whole.low is not None
    assert whole.high is not None
    assert whole.low <= 62.5 <= whole.high


def test_no_originals_no_stress() -> None:
    assert (
        stress_systems([loaded({"test": [example("1", E)]}, {"test": [[E]]})], AnalysisOptions())
        == ()
    )


def test_suspects_are_what_systems_agree_on() -> None:
    golds = [E, E, E, C, C, C, N, N, N]
    examples = [example(str(i), gold) for i, gold in enumerate(golds)]
    sure = {E: (0.9, 0.05, 0.05), C: (0.05, 0.9, 0.05), N: (0.05, 0.05, 0.9)}
    first = [sure[g] for g in golds]
    first[2], first[7] = sure[C], (0.5, 0.1, 0.4)
    second: list[Any] = list(golds)
    second[2] = C
    systems = [
        loaded({"test": examples}, {"test": [a]}, m) for a, m in ((first, "a"), (second, "b"))
    ]
    systems.append(loaded({"test": examples}, {"test": [[N] * 9]}, "constant"))
    systems.append(loaded({"test": examples}, {"test": [[N, *golds[1:]]]}, "half", share=0.5))
    (suspected,), _ = find_suspects([seated(one) for one in systems], AnalysisOptions())
    found, sheet = suspected.suspects, suspected.items
    assert found.systems == ("toy--a", "toy--b")
    assert [(s.example, s.gold, s.suggested, s.against, s.suggest) for s in found.items] == [
        ("toy:test/2", E, C, 2, 2)
    ]
    assert found.items[0].p_suggested == pytest.approx(0.95)
    assert [e.id for e in sheet] == ["toy:test/2"]
    assert sheet[0].gold == {}


def test_one_system_without_probabilities_suspects_nothing() -> None:
    examples = [example(str(i), (E, C, N)[i % 3]) for i in range(6)]
    one = loaded({"test": examples}, {"test": [[E, C, N, C, C, N]]})
    suspected, (skipped,) = find_suspects([seated(one)], AnalysisOptions())
    assert suspected == ()
    assert skipped.why == "the model returns no probabilities, and there is no second system"


def test_answers_that_could_not_be_read_are_nobodys_vote() -> None:
    examples = [example(str(i), (E, C, N)[i % 3]) for i in range(6)]
    two = [loaded({"test": examples}, {"test": [[E, C, None, E, C, N]]}, name) for name in "ab"]
    (suspected,), _ = find_suspects([seated(one) for one in two], AnalysisOptions())
    found = suspected.suspects
    assert found.total == 0
    assert (found.n, found.sheet) == (6, "")


def test_a_label_that_is_inherited_is_not_the_one_to_look_at() -> None:
    golds = [E, E, E, C, C, C, N, N, N]
    made = Origin(recipe="perturb", parents=("toy:test/2",), step="swap-o", gold="inherited")
    plain = [example(str(i), gold) for i, gold in enumerate(golds)]
    sure = {E: (0.9, 0.05, 0.05), C: (0.05, 0.9, 0.05), N: (0.05, 0.05, 0.9)}
    given = [sure[gold] for gold in golds]
    given[2] = given[8] = sure[C]
    mixed = [msgspec.structs.replace(e, origin=made) if e.id == "2" else e for e in plain]
    (suspected,), _ = find_suspects(
        [seated(loaded({"test": mixed}, {"test": [given]}))], AnalysisOptions()
    )
    found, sheet = suspected.suspects, suspected.items
    assert ([s.example for s in found.items], found.n) == (["toy:test/8"], 8)
    assert (found.items[0].gold, found.items[0].suggested) == (N, C)
    assert [e.id for e in sheet] == ["toy:test/8"]
    every = [msgspec.structs.replace(e, origin=made) for e in plain]
    alone = seated(loaded({"test": every}, {"test": [given]}))
    assert find_suspects([alone], AnalysisOptions()) == ((), ())


def test_systems_that_answered_other_items_of_a_set_stay_apart() -> None:
    """A sweep in folds sets some items aside."""
    golds = [E, C, N, E, C, N]
    examples = [example(str(i), gold) for i, gold in enumerate(golds)]
    sure = {E: (0.9, 0.05, 0.05), C: (0.05, 0.9, 0.05), N: (0.05, 0.05, 0.9)}
    wrong = [sure[E], sure[C], sure[N], sure[E], sure[C], sure[C]]
    two = [
        loaded({"test": examples}, {"test": [wrong]}, "a"),
        loaded({"test": examples[1:]}, {"test": [wrong[1:]]}, "b"),
    ]
    found, _ = find_suspects([seated(one) for one in two], AnalysisOptions())
    assert [one.suspects.n for one in found] == [6, 5]
    assert len({one.suspects.sheet for one in found}) == 2


def test_rows_that_stand_in_for_a_test_set_go_by_where_they_lie() -> None:
    """JAMP's stand-in is no split that gold could be amended in: its items are rows of train."""
    golds = [E, C, N, E, C, N]
    sure = {E: (0.9, 0.05, 0.05), C: (0.05, 0.9, 0.05), N: (0.05, 0.05, 0.9)}
    given = [sure[gold] for gold in (E, C, N, E, C, C)]
    one = loaded(
        {"stand-in": [example(str(i), g) for i, g in enumerate(golds)]},
        {"stand-in": [given]},
        dataset="jamp",
    )
    (suspected,), _ = find_suspects([seated(one, "stand-in")], AnalysisOptions())
    found = suspected.suspects
    assert [s.example for s in found.items] == ["jamp:train/5"]
