from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets.klue.klue_re import LABELS, read, relations
from nikawa.errors import BadInput
from nikawa.records import Finding, Span

Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]
SENTENCE = "두루는 하늘섬에서 태어났다."


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "guid": f"klue-re-v1_dev_{number:05}",
        "sentence": SENTENCE,
        "subject_entity": {"word": "두루", "start_idx": 0, "end_idx": 1, "type": "PER"},
        "object_entity": {"word": "하늘섬", "start_idx": 4, "end_idx": 6, "type": "LOC"},
        "label": "per:place_of_birth",
        "source": "wikipedia",
    } | changes


def test_ends_are_exclusive_here(lay: Lay) -> None:
    (example,) = read(lay("klue-re", "dev", [record(0)]))
    subject, thing = example.inputs["subject"], example.inputs["object"]
    assert (subject, thing) == (Span(0, 2, "PER"), Span(4, 7, "LOC"))
    assert SENTENCE[subject.start : subject.end] == "두루"
    assert SENTENCE[thing.start : thing.end] == "하늘섬"
    assert example.gold == {"relation": "per:place_of_birth"}
    assert example.meta == {"subject_type": "PER", "object_type": "LOC", "source": "wikipedia"}


def test_hidden_test(lay: Lay) -> None:
    (example,) = read(
        lay("klue-re", "test", [{k: v for k, v in record(0).items() if k != "label"}])
    )
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


@pytest.mark.parametrize(("start", "end"), [(-1, 1), (2, 1), (0, len(SENTENCE))])
def test_entity_outside_the_sentence(lay: Lay, start: int, end: int) -> None:
    entity = {"word": "두루", "start_idx": start, "end_idx": end, "type": "PER"}
    with pytest.raises(BadInput, match=r"record 1: entity '두루' at .* is outside the sentence"):
        list(read(lay("klue-re", "dev", [record(0, subject_entity=entity)])))


def test_unknown_relation(lay: Lay) -> None:
    with pytest.raises(
        BadInput, match=r"unknown relation 'per:place_of_brith'; did you mean 'per:place_of_birth'"
    ):
        list(read(lay("klue-re", "dev", [record(0, label="per:place_of_brith")])))


def test_traps(lay: Lay, tmp_path: Path, trapped: Trapped) -> None:
    moved = {"word": "두루", "start_idx": 1, "end_idx": 2, "type": "PER"}
    place = {"word": "두루", "start_idx": 0, "end_idx": 1, "type": "LOC"}
    path = lay(
        "klue-re",
        "dev",
        [record(0), record(1, subject_entity=moved), record(2, subject_entity=place)],
    )
    (path.parent / "relation_list.json").write_text(json.dumps({"relations": LABELS[::-1]}))
    found = trapped("klue-re", tmp_path)
    assert [i[-1] for i in found["entity-not-at-place"].ids] == ["1"]
    assert [i[-1] for i in found["subject-type"].ids] == ["2"]
    assert found["relation-list"].where == "relation_list.json"


def test_relation_list(tmp_path: Path) -> None:
    path = tmp_path / "relation_list.json"
    path.write_text(json.dumps({"relations": ["a", "a"]}))
    with pytest.raises(BadInput, match="names a relation twice"):
        relations(path)
    path.write_text(json.dumps({"labels": []}))
    with pytest.raises(BadInput, match="unknown field `labels`"):
        relations(path)


def test_published_relation_list(shared_data: Path) -> None:
    path = shared_data / "klue/klue_benchmark/klue-re-v1.1/relation_list.json"
    assert relations(path) == LABELS
    assert (len(LABELS), LABELS[0]) == (30, "no_relation")
