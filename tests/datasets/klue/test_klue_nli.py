from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.klue.klue_nli import read
from nikawa.datasets.load import load, read_judgements
from nikawa.errors import BadInput
from nikawa.records import Finding

Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]
PREMISE = "두루는 어제 하늘섬에서 배를 타고 돌아왔다고 한다."


def record(number: int, **changes: Any) -> dict[str, Any]:
    votes = {
        "author": "neutral",
        "label2": "entailment",
        "label3": "entailment",
        "label4": "entailment",
    }
    return {
        "guid": f"klue-nli-v1_dev_{number:05}",
        "source": "airbnb",
        "premise": PREMISE,
        "hypothesis": "두루는 배를 탔다.",
        "gold_label": "entailment",
        **votes,
        "label5": "contradiction",
    } | changes


def test_pair(lay: Lay) -> None:
    (example,) = read(lay("klue-nli", "dev", [record(0)]))
    assert example.inputs == {"premise": PREMISE, "hypothesis": "두루는 배를 탔다."}
    assert example.gold == {"label": "entailment"}
    assert example.meta == {"source": "airbnb", "author": "neutral"}
    assert example.group == PREMISE


def test_judgements_are_columns(lay: Lay, tmp_path: Path) -> None:
    lay("klue-nli", "dev", [record(0), record(1, label5="", label4=None)])
    found = list(read_judgements("klue-nli", data=tmp_path))
    assert [j.worker for j in found[:5]] == ["author", "label2", "label3", "label4", "label5"]
    assert [j.answer for j in found[:5]] == ["neutral", *["entailment"] * 3, "contradiction"]
    assert [j.worker for j in found[5:]] == ["author", "label2", "label3"], (
        "an empty column is no judgement"
    )


def test_hidden_test(lay: Lay) -> None:
    bare = {k: v for k, v in record(0).items() if k in ("guid", "source", "premise", "hypothesis")}
    (example,) = read(lay("klue-nli", "test", [bare]))
    assert (example.gold, example.meta) == ({}, {"source": "airbnb"})
    assert example.origin is not None
    assert example.origin.gold == "hidden"


def test_bad_labels(lay: Lay, tmp_path: Path) -> None:
    path = lay("klue-nli", "dev", [record(0), record(1, gold_label="entails")])
    with pytest.raises(
        BadInput, match=r"record 2: unknown label 'entails'; did you mean 'entailment'"
    ):
        list(read(path))
    with pytest.raises(BadInput, match="record 1: there is no label"):
        list(read(lay("klue-nli", "dev", [record(0, gold_label=None)])))
    lay("klue-nli", "dev", [record(0, label3="yes")])
    with pytest.raises(BadInput, match="record 1: unknown label3 'yes'"):
        list(read_judgements("klue-nli", data=tmp_path))


def test_premise_length_counts_from_20_to_90(lay: Lay, tmp_path: Path, trapped: Trapped) -> None:
    records = [record(n, premise="가" * size) for n, size in enumerate((19, 20, 90, 91))]
    lay("klue-nli", "dev", records)
    assert [i[-1] for i in trapped("klue-nli", tmp_path)["premise-length"].ids] == ["0", "3"]


def test_published_dev(shared_data: Path, trapped: Trapped) -> None:
    dev = load("klue-nli", data=shared_data).splits["dev"]
    assert Counter(e.gold["label"] for e in dev) == {
        "entailment": 1000,
        "contradiction": 1000,
        "neutral": 1000,
    }
    assert Counter(e.meta["source"] for e in dev) == {
        "wikitree": 450,
        "policy": 450,
        "wikinews": 450,
        "wikipedia": 450,
        "NSMC": 600,
        "airbnb": 600,
    }
    assert set(Counter(e.group for e in dev).values()) == {3}
    assert all(e.gold["label"] == e.meta["author"] for e in dev)
    (found,) = trapped("klue-nli", shared_data).values()
    assert (found.check, found.count, found.note[-12:]) == ("premise-length", 3, "(1 distinct)")


def test_published_votes(shared_data: Path) -> None:
    votes: dict[str, Counter[str]] = {}
    for judgement in read_judgements("klue-nli", data=shared_data):
        votes.setdefault(judgement.example, Counter())[judgement.answer] += 1
    patterns = Counter(tuple(sorted(v.values(), reverse=True)) for v in votes.values())
    assert patterns == {(5,): 2290, (4, 1): 527, (3, 2): 152, (3, 1, 1): 31}
