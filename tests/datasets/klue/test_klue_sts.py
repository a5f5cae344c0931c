from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.klue.klue_sts import read
from nikawa.datasets.load import load, read_judgements
from nikawa.errors import BadInput
from nikawa.records import Finding

Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]


def record(number: int, ratings: list[int], **changes: Any) -> dict[str, Any]:
    mean = sum(ratings) / len(ratings)
    labels = {"label": round(mean, 1), "real-label": mean, "binary-label": int(mean >= 3)}
    votes = {
        "agreement": ":".join(str(ratings.count(n)) for n in range(6)),
        "annotators": [f"{n:02}" for n in range(2, 2 + len(ratings))],
        "annotations": ratings,
    }
    pair = {"sentence1": "방이 조용했어요.", "sentence2": "방은 고요했습니다."}
    guid = f"klue-sts-v1_dev_{number:05}"
    return {
        "guid": guid,
        "source": "airbnb-rtt",
        **pair,
        "labels": labels,
        "annotations": votes,
    } | changes


def test_pair(lay: Lay) -> None:
    (example,) = read(lay("klue-sts", "dev", [record(0, [3, 3, 3, 3, 3, 3, 2])]))
    assert example.id == "klue-sts-v1_dev_00000"
    assert set(example.inputs) == {"sentence1", "sentence2"}
    assert example.gold == {"score": 20 / 7, "binary": 0}, (
        "2.857 rounds to 2.9 and is cut before that"
    )
    assert example.meta == {
        "source": "airbnb-rtt",
        "corpus": "airbnb",
        "rounded": 2.9,
        "ratings": 7,
    }


def test_judgements_are_persons(lay: Lay, tmp_path: Path) -> None:
    lay("klue-sts", "dev", [record(0, [4, 5, 5, 4, 4])])
    found = list(read_judgements("klue-sts", data=tmp_path))
    assert [(j.worker, j.answer) for j in found] == [
        ("02", 4),
        ("03", 5),
        ("04", 5),
        ("05", 4),
        ("06", 4),
    ]
    assert {(j.example, j.question) for j in found} == {
        ("klue-sts:dev/klue-sts-v1_dev_00000", "score")
    }


def test_traps(lay: Lay, tmp_path: Path, trapped: Trapped) -> None:
    up = {"label": 2.2, "real-label": 15 / 7, "binary-label": 0}
    records = [
        record(0, [5] * 7),
        record(1, [5] * 6),
        record(2, [2, 2, 2, 2, 2, 2, 3], labels=up),
        record(3, [1] * 7, labels={"label": 2.0, "real-label": 2.0, "binary-label": 0}),
        record(4, [3] * 7, labels={"label": 3.0, "real-label": 3.0, "binary-label": 0}),
    ]
    lay("klue-sts", "dev", records)
    found = trapped("klue-sts", tmp_path)
    assert found["few-ratings"].ids == ("klue-sts:dev/klue-sts-v1_dev_00001",)
    assert [i[-1] for i in found["label-not-mean"].ids] == ["2", "3", "4"]


def test_hidden_test(lay: Lay) -> None:
    bare = {k: v for k, v in record(0, [1] * 7).items() if k not in ("labels", "annotations")}
    (example,) = read(lay("klue-sts", "test", [bare]))
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"
    with pytest.raises(BadInput, match="record 1: there are no labels"):
        list(read(lay("klue-sts", "dev", [bare])))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"label": 5.1, "real-label": 5.1, "binary-label": 1}, "outside 0 to 5"),
        ({"label": 4.0, "real-label": 4.0, "binary-label": 2}, "neither 0 nor 1"),
        ({"label": 4.0, "binary-label": 1}, "missing required field `real-label`"),
        ({"label": "4", "real-label": "4", "binary-label": 1}, "expected `float`"),
    ],
)
def test_bad_labels(lay: Lay, labels: dict[str, Any], said: str) -> None:
    path = lay("klue-sts", "dev", [record(0, [4] * 7), record(1, [4] * 7, labels=labels)])
    with pytest.raises(BadInput, match=f"record 2: .*{said}"):
        list(read(path))


def test_ratings_without_workers(lay: Lay, tmp_path: Path) -> None:
    lay(
        "klue-sts",
        "dev",
        [record(0, [4] * 5, annotations={"annotators": ["02"], "annotations": [4, 4]})],
    )
    with pytest.raises(BadInput, match="record 1: 1 workers gave 2 ratings"):
        list(read_judgements("klue-sts", data=tmp_path))


def test_published_dev(shared_data: Path, trapped: Trapped) -> None:
    dev = load("klue-sts", data=shared_data).splits["dev"]
    assert Counter(e.meta["corpus"] for e in dev) == {"airbnb": 255, "policy": 132, "paraKQC": 132}
    assert Counter(e.meta["source"] for e in dev) == {
        "airbnb-rtt": 107,
        "airbnb-sampled": 148,
        "policy-rtt": 74,
        "policy-sampled": 58,
        "paraKQC-para": 87,
        "paraKQC-sampled": 45,
    }
    assert Counter(e.gold["binary"] for e in dev) == {1: 220, 0: 299}
    assert Counter(e.meta["ratings"] for e in dev) == {5: 72, 6: 227, 7: 220}
    found = trapped("klue-sts", shared_data)
    assert {check: f.count for check, f in found.items()} == {"few-ratings": 299}


def test_published_judgements(shared_data: Path) -> None:
    found = list(read_judgements("klue-sts", data=shared_data))
    assert len(found) == 3262
    removed = {"01", "11"}
    assert {j.worker for j in found} == {f"{n:02}" for n in range(1, 20)} - removed
