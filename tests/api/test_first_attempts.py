"""Calls that new users type first: they work, or the error says what to type instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nikawa as nk

NLI = nk.load("mini-ja").filter(lambda example: "label" in example.gold)
SENTENCES = ["犬が走る", "犬が歩く", "雨が降る", "雪が降る"]
VOTES = [("q1", "ann", "yes"), ("q1", "ben", "yes"), ("q2", "ann", "no"), ("q2", "ben", "yes")]
JUDGEMENTS = [{"task": item, "worker": worker, "label": label} for item, worker, label in VOTES]
CANDIDATE = "これは短い例文ですが、候補として残るだけの長さがあります。"


def test_load_takes_a_split() -> None:
    assert nk.load("mini-ja", split="dev") == nk.load("mini-ja:dev")
    assert nk.load(NLI, split="dev") == NLI["dev"].dataset
    with pytest.raises(nk.BadInput, match="validation"):
        nk.load("mini-ja", split="validation")


def test_load_task_takes_a_dataset(tmp_path: Path) -> None:
    task, examples = nk.load_task(NLI, "train")
    assert (task.kind, task.dataset, len(examples)) == ("inference", "mini-ja", 18)
    NLI.save(tmp_path / "nli")
    again, same = nk.load_task(tmp_path / "nli", "train")
    assert (again.labels, same) == (task.labels, examples)
    model = nk.model("majority")
    model.fit(task, examples)  # type: ignore[attr-defined]
    assert len(model.predict(task, examples)) == 18


def test_load_task_names_the_tasks_of_a_dataset() -> None:
    with pytest.raises(nk.BadInput, match=r"5 tasks; name one: mini-ja-nli, "):
        nk.load_task("mini-ja", "dev")


def test_tasks_may_come_second_in_run(tmp_path: Path) -> None:
    assert nk.run("majority", NLI, out=tmp_path).done == 1
    assert nk.run("majority", "mini-ja-nli", out=tmp_path).done == 1


def test_the_rule_may_come_second_in_aggregate() -> None:
    assert nk.aggregate(JUDGEMENTS, "majority", ties="drop").gold == {"q1": {"label": "yes"}}


def test_judgements_in_memory_are_called_so() -> None:
    assert nk.agree(JUDGEMENTS).report.judgements == "in memory"
    assert nk.aggregate(JUDGEMENTS).report.judgements == "in memory"
    assert nk.agree("mini-ja").report.judgements == "mini-ja"


def test_clean_takes_the_name_of_the_column() -> None:
    made = nk.clean([{"sentence": CANDIDATE}], field="sentence")
    assert made[0].inputs == {"text": CANDIDATE}
    with pytest.raises(nk.BadInput, match="field="):
        nk.clean([{"sentence": CANDIDATE}])


def test_perturb_and_pair_take_either_order() -> None:
    dev = NLI["dev"]
    assert nk.perturb(dev, "swap") == nk.perturb("swap", dev)
    assert nk.perturb("mini-ja:dev", "swap") == nk.perturb("swap", "mini-ja:dev")
    assert nk.perturb(list(dev), ["swap", "delete"]) == nk.perturb(["swap", "delete"], list(dev))
    assert nk.pair(SENTENCES, "greedy") == nk.pair("greedy", SENTENCES)


def test_perturb_says_what_to_try_when_nothing_fits() -> None:
    with pytest.raises(nk.BadInput, match="try another operation or case"):
        nk.perturb("swap", NLI["dev"], case="o")


def test_sizes_may_be_a_mapping_or_one_fraction() -> None:
    sizes = {"train": 27, "test": 9}
    expected = nk.split(NLI, sizes=(0.75, 0.25), names=("train", "test"), seed=1)
    assert {name: len(part) for name, part in expected.splits.items()} == sizes
    assert nk.split(NLI, sizes={"train": 0.75, "test": 0.25}, seed=1) == expected
    assert nk.split(NLI, sizes=0.75, seed=1) == expected


def test_a_numbered_series_has_answers_in_order() -> None:
    pandas = pytest.importorskip("pandas")
    answers = [example.gold["label"] for example in NLI["dev"]]
    result = nk.score("mini-ja-nli", pandas.Series(answers), split="dev")
    assert result.report.scores[0].value == 100
    by_id = pandas.Series(answers, index=[example.id for example in NLI["dev"]])
    assert nk.score("mini-ja-nli", by_id).report.scores[0].value == 100


def test_generate_takes_no_number_as_its_folder() -> None:
    with pytest.raises(nk.BadInput, match="pass per_cell=10 or total=10"):
        nk.generate("temporal-ja", 10)  # type: ignore[call-overload]


WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (nk.score, {"metric": "f1"}, r"nk.score\(\) has no argument 'metric'; did you mean 'metrics'"),
    (nk.score, {"predictions": {}}, "did you mean 'answers'"),
    (nk.aggregate, {"method": "majority"}, "did you mean 'rule'"),
    (nk.run, {"task": "jnli"}, "did you mean 'tasks'"),
    (nk.split, {"test_size": 0.2}, "did you mean 'sizes'"),
    (nk.generate, {"n": 10}, "did you mean 'per_cell'"),
    (nk.report, {"output": "page"}, "did you mean 'out'"),
]


@pytest.mark.parametrize(("function", "keywords", "message"), WRONG)
def test_a_wrong_keyword_names_the_right_one(
    function: Callable[..., Any], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        function("mini-ja", **keywords)


def test_other_wrong_calls_list_the_arguments() -> None:
    with pytest.raises(TypeError, match=r"nk\.load\(\): missing .*; its arguments are dataset, "):
        nk.load()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"too many positional .* systems, task, split"):
        nk.compare("mini-ja-nli", {}, {})  # type: ignore[arg-type, call-arg]
    with pytest.raises(TypeError, match="pass the systems as one mapping: "):
        nk.compare({}, {}, task="mini-ja-nli")  # type: ignore[misc]
