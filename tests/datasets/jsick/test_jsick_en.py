"""The English side: SICK's own texts and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from nikawa.datasets import load
from nikawa.datasets.jsick.jsick_en import read
from nikawa.errors import BadInput

Write = Callable[[str, Sequence[Mapping[str, str]]], Path]


def test_an_english_pair(write: Write) -> None:
    row = {
        "entailment_label_En": "neutral",
        "corr_entailment_labelAB_En": "contradiction",
        "data": "trial",
    }
    (example,) = read(write("jsick/jsick.tsv", [row]))
    assert example.inputs == {
        "premise": "A kite circles the old tower",
        "hypothesis": "A kite is in the air",
    }
    assert example.gold == {"label": "neutral", "relatedness": 4.2}
    assert example.meta == {"split": "dev", "corrected_ab": "contradiction"}
    assert example.group == "A kite circles the old tower"


def test_the_answers_file_holds_english_too(write: Write) -> None:
    (example,) = read(write("jsick/jsick-all-annotations.tsv", [{}]))
    assert example.gold == {"label": "entailment", "relatedness": 4.2}


def test_the_train_file_has_no_english(write: Write) -> None:
    path = write("jsick/train.tsv", [{}])
    with pytest.raises(
        BadInput, match=r"line 2: the English side is empty; read jsick.tsv instead"
    ):
        list(read(path))


def test_a_wrong_english_label_is_named(write: Write) -> None:
    path = write("jsick/jsick.tsv", [{"entailment_label_En": "ENTAILMENT"}])
    with pytest.raises(BadInput, match="line 2: label 'ENTAILMENT'"):
        list(read(path))


def test_published_english(shared_data: Path) -> None:
    english, japanese = (load(name, data=shared_data).splits for name in ("jsick-en", "jsick"))
    assert {s: [e.id for e in examples] for s, examples in english.items()} == {
        s: [e.id for e in examples] for s, examples in japanese.items()
    }
    everything = [e for examples in english.values() for e in examples]
    assert Counter(e.gold["label"] for e in everything) == {
        "neutral": 5611,
        "entailment": 2857,
        "contradiction": 1459,
    }
    assert len({text for e in everything for text in e.inputs.values()}) == 6077
    assert sum("corrected_ab" in e.meta for e in everything) == 381
