"""Models that tell how far they are: they do so, and can be kept whoever listens."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from nikawa.models import Trainable, model, models
from nikawa.records import Kind


@pytest.mark.parametrize("name", ["crf", "tree-graph", "ontology-match"])
def test_progress_is_told_and_not_kept(name: str, invented: Mapping[Kind, Any]) -> None:
    case = invented[models()[name].kinds[0]]
    told: list[tuple[str, int, int | None]] = []
    found = model(name, progress=lambda *step: told.append(step))
    assert isinstance(found, Trainable)
    found.fit(case.task, case.learn)
    assert told
    assert all(0 < done <= (total or 0) for _, done, total in told)
    kept = pickle.loads(pickle.dumps(found))
    assert kept.predict(case.task, case.ask) == found.predict(case.task, case.ask)


def test_examples_without_anything_to_find(invented: Mapping[Kind, Any]) -> None:
    """No span in any text, no slot in any state: nothing is found afterwards either."""
    for name, question in (("crf", "spans"), ("ontology-match", "state")):
        case = invented[models()[name].kinds[0]]
        found = model(name)
        assert isinstance(found, Trainable)
        found.fit(
            case.task, [type(e)(id=e.id, inputs=e.inputs, gold={question: []}) for e in case.learn]
        )
        assert [a.answer for a in found.predict(case.task, case.ask)] == [[]] * len(case.ask)
