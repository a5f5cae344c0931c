"""Models and datasets in memory: objects as models, names of registered datasets, datasets saved and loaded again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pytest

import nikawa as nk
from nikawa.models import models
from nikawa.objects import name_keywords
from nikawa.pairing.job import PairOptions
from nikawa.records import Example, Prediction, Task


class Constant:
    """Answers as it was made, without learning."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def predict(self, task: Task, examples: Sequence[Example]) -> list[str]:
        assert all(not example.gold for example in examples)
        return [self.answer for _ in examples]


class Learner:
    """Learns how often it is fitted, and answers with records."""

    name = "learner"

    def __init__(self) -> None:
        self.fitted: list[int] = []

    def fit(self, task: Task, examples: Sequence[Example]) -> None:
        self.fitted.append(len(examples))

    def predict(self, task: Task, examples: Sequence[Example]) -> list[Prediction]:
        return [Prediction(example=each.id, answer=task.labels[0]) for each in examples]


def test_objects_run_as_models_beside_names(tmp_path: Path) -> None:
    learner = Learner()
    done = nk.run(
        ["majority", learner, Constant("neutral")],
        tasks="mini-ja-nli",
        seeds=2,
        out=tmp_path / "runs",
    )
    assert done.problems == ()
    assert {cell.model for cell in done.cells} == {"majority", "learner", "Constant"}
    assert len(learner.fitted) == 2
    assert learner.fitted[0] > 0
    assert set(nk.report(done, out=tmp_path / "page").systems) == {
        "majority",
        "learner",
        "Constant",
    }
    nk.analyse(done)
    assert "object" not in models()


def test_a_changed_object_is_never_taken_for_the_one_before(tmp_path: Path) -> None:
    def score(answer: str) -> float:
        done = nk.run({"mine": Constant(answer)}, tasks="mini-ja-nli", out=tmp_path)
        assert (done.done, done.skipped) == (1, 0)
        return next(cell.mean or 0 for cell in done.cells if cell.metric == "accuracy")

    assert len({score("entailment"), score("neutral"), score("contradiction"), score("x")}) > 1


def test_an_object_that_fails_is_a_problem_of_its_runs(tmp_path: Path) -> None:
    class Short:
        def predict(self, task: Task, examples: Sequence[Example]) -> list[str]:
            return []

    done = nk.run({"short": Short(), "m": "majority"}, tasks="mini-ja-nli", out=tmp_path)
    assert done.done == 1
    assert "returned 0 answers for 9 examples" in done.problems[0].problem


@pytest.mark.parametrize("model", [3, Constant, object(), None])
def test_what_is_no_model_is_refused(model: object, tmp_path: Path) -> None:
    with pytest.raises(nk.BadInput, match=r"cannot use '\w+' as a model"):
        nk.run([model], tasks="mini-ja-nli", out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_objects_may_answer_with_arrays_and_mappings(tmp_path: Path) -> None:
    class Answering(Constant):
        def predict(self, task: Task, examples: Sequence[Example]) -> Any:
            answers = {each.id: "neutral" for each in reversed(examples)}
            return answers if self.answer == "mapping" else numpy.array([*answers.values()])

    models = {name: Answering(name) for name in ("mapping", "array")}
    done = nk.run({**models, "list": Constant("neutral")}, "mini-ja-nli", out=tmp_path)
    assert done.problems == ()
    files = sorted(tmp_path.glob("*/predictions/*.jsonl"))
    assert len(files) == 3
    assert len({file.read_bytes() for file in files}) == 1


@pytest.mark.parametrize("answers", [None, "neutral", {"other": "neutral"}])
def test_what_is_no_list_of_answers_is_refused(answers: object, tmp_path: Path) -> None:
    class Answering(Constant):
        def predict(self, task: Task, examples: Sequence[Example]) -> Any:
            return answers

    [problem] = nk.run({"mine": Answering("")}, "mini-ja-nli", out=tmp_path).problems
    assert problem.bad_input
    assert "'mine' returned" in problem.problem


def test_objects_need_one_process_and_different_names(tmp_path: Path) -> None:
    with pytest.raises(nk.BadInput, match="two models are called 'Constant'"):
        nk.run([Constant("a"), Constant("b")], tasks="mini-ja-nli", out=tmp_path)
    with pytest.raises(nk.BadInput, match="leave out workers="):
        nk.run(Constant("a"), tasks="mini-ja-nli", out=tmp_path, workers=2)
    with pytest.raises(nk.BadInput, match="equals sign"):
        nk.run({"a=b": Constant("a")}, tasks="mini-ja-nli", out=tmp_path)


def test_a_registered_dataset_keeps_its_task_names(tmp_path: Path) -> None:
    whole = nk.load("mini-ja")
    done = nk.run("majority", tasks=whole, out=tmp_path)
    assert {cell.task for cell in done.cells} >= {"mini-ja-nli"}
    assert nk.run("majority", tasks="mini-ja", out=tmp_path).skipped == done.done
    part = whole.filter(lambda example: "label" in example.gold)
    changed = nk.run("majority", tasks=part, out=tmp_path)
    assert {cell.task for cell in changed.cells} == {"own-mini-ja"}  # not the published dataset


def test_a_saved_dataset_is_loaded_equal(tmp_path: Path) -> None:
    table = nk.load(
        {"train": [{"text": "犬", "label": "a"}], "dev": [{"text": "猫", "label": "b"}]}
    )
    made = nk.generate("temporal-ja", per_cell={"train": 0, "test": 1})
    fields = msgspec.structs.asdict(table)
    plain = nk.Dataset(**{name: getattr(made, name) for name in fields})  # without the report
    for number, dataset in enumerate([nk.load("mini-ja"), nk.load("mini-ja:dev"), table, plain]):
        dataset.save(tmp_path / str(number))
        assert nk.load(tmp_path / str(number)) == dataset
    nk.load("mini-ja")["dev"].save(tmp_path / "split")
    assert nk.load(tmp_path / "split") == nk.load("mini-ja:dev")
    with pytest.raises(nk.BadInput, match="overwrite=True"):
        table.save(tmp_path / "0")
    table.save(tmp_path / "0", overwrite=True)
    assert nk.load(tmp_path / "0") == table


def test_cures_name_keyword_arguments() -> None:
    def name(text: str) -> str:
        return name_keywords(text, nk.pair, PairOptions)

    assert name("choose another folder with --out DIR") == "choose another folder with out=DIR"
    assert name("pass --units characters or --units words") == (
        'pass units="characters" or units="words"'
    )
    assert name("leave --field out") == "leave field= out"
    assert name("pass a model: --method lm:PATH") == 'pass a model: method="lm:PATH"'
    assert name("pass --overwrite") == "pass options=PairOptions(overwrite=True)"
    assert name("pass --unheard-of X") == "pass --unheard-of X"
    command = "run: nikawa pair x --out DIR"
    assert name(command) == command
    assert name("use `nikawa pair --out DIR`, or pass --seed 3") == (
        "use `nikawa pair --out DIR`, or pass seed=3"
    )
