"""What every model does, and what each of them learns."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from nikawa.datasets import load, tasks
from nikawa.errors import BadInput, MissingExtra, UnknownName
from nikawa.models import Predictor, Trainable, base, characters, model, models
from nikawa.models.folds import predict_out_of_fold
from nikawa.records import Example, Prediction, Task

TASK = Task(
    name="mood",
    dataset="invented",
    kind="text",
    question="label",
    inputs=("text",),
    labels=("good", "bad"),
    metrics=(),
)
LEARN = [
    Example(
        id=str(i),
        inputs={"text": f"{i}番の宿は{'よかった' if i % 3 else '最悪だ'}。"},
        gold={"label": "good" if i % 3 else "bad"},
    )
    for i in range(30)
]
SCORES = replace(
    TASK, kind="similarity", question="score", inputs=("a", "b"), scale=(0.0, 5.0), labels=()
)
SCORED = [
    Example(id=str(i), inputs={"a": "雨" * i, "b": "風"}, gold={"score": float(i)})
    for i in range(6)
]


def answering(kind: str) -> list[str]:
    """The models that answer this kind of task and need nothing more than their name."""
    return [m.name for m in models().values() if kind in m.kinds and not m.argument]


def learned(name: str, task: Task = TASK, examples: list[Example] = LEARN) -> Predictor:
    found = model(name)
    assert isinstance(found, Trainable)
    found.fit(task, examples)
    return found


@pytest.mark.parametrize("name", answering("text"))
def test_the_contract(name: str) -> None:
    assert isinstance(model(name), Predictor)
    with pytest.raises(BadInput, match="is not trained on"):
        model(name).predict(TASK, LEARN)
    first, second = learned(name), learned(name)
    answers = first.predict(TASK, LEARN)
    assert [a.example for a in answers] == [e.id for e in LEARN]
    assert (
        answers
        == second.predict(TASK, LEARN)
        == pickle.loads(pickle.dumps(first)).predict(TASK, LEARN)
    )
    assert all(
        a.answer in TASK.labels and sum((a.scores or {}).values()) == pytest.approx(1)
        for a in answers
    )
    assert first.predict(TASK, []) == []


@pytest.mark.parametrize("name", answering("similarity"))
def test_scores_stay_on_the_scale(name: str) -> None:
    answers = learned(name, SCORES, SCORED).predict(SCORES, SCORED)
    assert all(0.0 <= a.answer <= 5.0 for a in answers)


@pytest.mark.parametrize("name", answering("text"))
def test_it_sees_the_inputs_of_the_task_only(name: str) -> None:
    seen = learned(name)
    hidden = [replace(e, inputs={**e.inputs, "other": "x"}, gold={}) for e in LEARN]
    assert [a.answer for a in seen.predict(TASK, hidden)] == [
        a.answer for a in seen.predict(TASK, LEARN)
    ]


@pytest.mark.parametrize("name", answering("text"))
def test_nothing_to_learn_from(name: str) -> None:
    with pytest.raises(BadInput, match="no examples to train"):
        learned(name, TASK, [])
    with pytest.raises(BadInput, match="has no gold label for 'label'"):
        learned(name, TASK, [Example(id="9", inputs={"text": "雨"})])


def test_majority_and_its_ties() -> None:
    assert learned("majority").predict(TASK, LEARN[:1])[0].answer == "good"
    tied = [LEARN[0], LEARN[1]]  # bad, good
    assert learned("majority", TASK, tied).predict(TASK, tied)[0].answer == "good"
    assert learned("majority", SCORES, SCORED).predict(SCORES, SCORED)[0].answer == 2.5


def test_characters_tell_the_mood() -> None:
    asked = [
        Example(id="x", inputs={"text": "99番の店は最悪だった"}),
        Example(id="y", inputs={"text": "ここはよかった"}),
    ]
    assert [a.answer for a in learned("char-linear").predict(TASK, asked)] == ["bad", "good"]


def test_characters_refuse_what_they_cannot_answer() -> None:
    with pytest.raises(BadInput, match="does not answer tagging"):
        learned("char-linear", replace(TASK, kind="tagging"))
    with pytest.raises(BadInput, match="all examples have the label"):
        learned("char-linear", TASK, LEARN[1:2])
    with pytest.raises(BadInput, match="has no input 'mood'"):
        learned("char-linear", replace(TASK, inputs=("mood",)))


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(base, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"install .*\[models\]'"):
        learned("char-linear")


def test_names_arguments_and_settings() -> None:
    with pytest.raises(BadInput, match="takes nothing after its name"):
        model("majority:x")
    with pytest.raises(BadInput, match="has no settings"):
        model("majority", settings={"rate": 1})
    with pytest.raises(UnknownName, match="majority"):
        model("majorty")


def test_no_fold_sees_its_own_group() -> None:
    class Recall:
        name = "recall"

        def fit(self, task: Task, examples: list[Example]) -> None:
            self.known = {e.group for e in examples}

        def predict(self, task: Task, examples: list[Example]) -> list[Prediction]:
            assert not self.known & {e.group for e in examples}
            return [Prediction(example=e.id) for e in examples]

    examples = [replace(e, group=f"g{i // 3}") for i, e in enumerate(LEARN)]
    found = predict_out_of_fold(Recall, TASK, examples, [str(e.group) for e in examples])  # type: ignore[arg-type]
    assert [a.example for a in found] == [e.id for e in examples]
    with pytest.raises(BadInput, match="cannot be split"):
        predict_out_of_fold(Recall, TASK, examples[:3], ["a", "b", "c"])  # type: ignore[arg-type]


@pytest.mark.slow
def test_hypotheses_of_klue_nli_give_little_away(shared_data: Path) -> None:
    """About 0.40 where chance is a third: five folds by premise."""
    examples = load("klue-nli:dev", data=shared_data).splits["dev"]
    task = replace(tasks()["klue-nli"], inputs=("hypothesis",))
    settings = characters.CharSettings(strength=1.0)
    make = partial(characters.CharLinear, settings)
    found = predict_out_of_fold(make, task, examples, [e.inputs["premise"] for e in examples])
    right = sum(a.answer == e.gold["label"] for a, e in zip(found, examples, strict=True)) / len(
        examples
    )
    assert right == pytest.approx(0.401, abs=0.015)


def test_rare_labels_weigh_more_where_that_is_asked_for() -> None:
    rare = [
        *LEARN,
        *(
            Example(id=f"x{i}", inputs={"text": f"{i}の宿"}, gold={"label": "good"})
            for i in range(60)
        ),
    ]
    counts = []
    for balance in (False, True):
        found = model("char-linear", settings={"balance": balance, "strength": 0.01})
        assert isinstance(found, Trainable)
        found.fit(TASK, rare)
        counts.append(sum(a.answer == "bad" for a in found.predict(TASK, rare)))
    assert counts[0] < counts[1]
