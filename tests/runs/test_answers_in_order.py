"""Stored answers that are made when they are looked at are those that were stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from nikawa.datasets.load import load_task
from nikawa.errors import BadInput
from nikawa.records import Prediction
from nikawa.runs.store import read_answers_in_order, read_predictions, write_predictions


def test_answers_in_order_are_the_predictions(tmp_path: Path) -> None:
    task, examples = load_task("mini-ja-nli", "dev")
    path = tmp_path / "dev.jsonl"
    given = [Prediction(example=each.id, answer="neutral") for each in examples]
    given[1] = Prediction(example=examples[1].id, answer="neutral", scores={"neutral": 0.5})
    given[2] = Prediction(example=examples[2].id, raw="?", why="unreadable")
    write_predictions(path, given)
    made = read_answers_in_order(path, task, examples)
    assert list(made) == [made[place] for place in range(len(made))] == given
    assert list(made[1:3]) == given[1:3]
    for wrong in (examples[1:], examples[::-1], (*examples, examples[0])):
        messages = []
        for read in (read_predictions, read_answers_in_order):
            with pytest.raises(BadInput) as caught:
                read(path, task, wrong)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
