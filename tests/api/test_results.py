"""How results look at a prompt, and what they become next."""

from __future__ import annotations

from pathlib import Path

import pytest

import nikawa as nk
from nikawa.tables import format_cell

VOTES = [
    ("q1", "ann", "yes"),
    ("q1", "ben", "yes"),
    ("q1", "cho", "no"),
    ("q2", "ann", "no"),
    ("q2", "ben", "yes"),
]
JUDGEMENTS = [{"task": item, "worker": worker, "label": label} for item, worker, label in VOTES]
EXAMPLES = [nk.Example(id=name, inputs={"text": f"これは{name}です。"}) for name in ("q1", "q2")]


def test_a_rounding_error_is_shown_as_zero() -> None:
    assert format_cell(-2.498e-16) == "0"
    assert format_cell(1e-9) == "1e-09"


def test_one_example_is_not_plural() -> None:
    assert repr(nk.load(EXAMPLES[:1])).startswith("Dataset: examples 0 (ja), 1 example\n")
    assert repr(nk.load(EXAMPLES)).startswith("Dataset: examples 0 (ja), 2 examples\n")


def test_a_cell_leaves_out_fields_without_a_value() -> None:
    assert "different ," not in repr(nk.aggregate("mini-ja", rule="majority"))


def test_gold_becomes_a_dataset() -> None:
    result = nk.aggregate(JUDGEMENTS, rule="majority", ties="drop", examples=EXAMPLES)
    made = result.to_dataset()
    assert [(e.id, e.gold) for e in made] == [("q1", {"label": "yes"})]
    assert made[0].inputs == EXAMPLES[0].inputs


def test_gold_of_a_published_dataset_keeps_its_splits() -> None:
    made = nk.aggregate("mini-ja", rule="majority").to_dataset()
    assert {name: len(part) for name, part in made.splits.items()} == {
        "train": 18,
        "dev": 9,
        "test": 9,
    }


def test_gold_without_examples_is_no_dataset() -> None:
    with pytest.raises(nk.BadInput, match=r"pass examples= to nk\.aggregate"):
        nk.aggregate(JUDGEMENTS, rule="majority", ties="drop").to_dataset()


def test_a_model_of_workers_shows_their_skills() -> None:
    pytest.importorskip("pandas")
    skills = nk.aggregate(JUDGEMENTS, rule="dawid-skene").to_pandas("skills")
    assert skills["worker"].tolist() == ["ann", "ben", "cho"]


def test_one_analysis_is_a_table(tmp_path: Path) -> None:
    runs = nk.run("majority", tasks="mini-ja-nli", out=tmp_path)
    [one] = nk.analyse(runs).each
    head, columns, *_ = repr(one).split("\n")
    assert head == "Analysis: mini-ja-nli, majority, test, n 9, accuracy 33.33 (percent)"
    assert columns.split() == ["by", "where", "n", "value", "rest"]


def test_agreement_lists_its_functions_alone() -> None:
    assert dir(nk.agreement) == sorted(nk.agreement.__all__)


def test_no_temporary_path_is_shown() -> None:
    nli = nk.load("mini-ja").filter(lambda example: "label" in example.gold)
    gold = {example.id: example.gold["label"] for example in nli["dev"]}
    other = dict.fromkeys(gold, "neutral")
    result = nk.compare({"A": gold, "B": other}, task=nli, rounds=100)
    assert list(result.differing) == ["mini-ja: A against B"]
    for shown in (result, nk.score(nli, gold), nk.agree(JUDGEMENTS), nk.aggregate(JUDGEMENTS)):
        assert "nikawa-" not in repr(shown)
        assert "/tmp" not in shown._repr_html_()
