"""The study of second looks: what it counts, that the list sees only what was drawn, and that better machines save more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies.recheck import FIGURES, Look, differs, main, replay, study

from nikawa.aggregation.table import Table


def invent(numeric: bool = False) -> Table:
    """Five workers of 400 items who err on an item in six."""
    rng = np.random.default_rng(3)
    items, workers, answers = [], [], []
    labels = [0, 1, 2, 3, 4, 5] if numeric else ["no", "perhaps", "yes"]
    for item in range(400):
        for worker in range(5):
            wrong = rng.random() < 1 / 6
            items.append(str(item))
            workers.append(f"w{worker}")
            answers.append(labels[(item + (3 if numeric else 1) * wrong) % len(labels)])
    return Table.from_columns(items, workers, answers, "score" if numeric else "label")


def test_what_is_counted() -> None:
    """Four answers of two items; the list holds the two that are wrong, the order without a machine finds them last."""
    look = Look(
        item=np.array([0, 0, 1, 1]),
        wrong=np.array([False, True, False, True]),
        others=np.array([True, True, True, True]),
        listed=np.array([False, True, False, True]),
        counted=np.array([True, True, True]),
        same=np.array([False, False, True]),
    )
    figures = dict(zip(FIGURES, look.measure(np.ones(3)).tolist(), strict=True))
    assert figures["others"] == 1
    assert figures["others right"] == 0.5
    assert (figures["list"], figures["list right"], figures["found"]) == (0.5, 1, 1)
    assert figures["saved"] == 0.5
    assert figures["before"] == pytest.approx(1 / 3)
    assert figures["after"] == figures["after others"] == 1


def test_only_drawn_persons_reach_the_list() -> None:
    table = invent()
    one = replay(table, 3, 0.8, 1)
    assert len(one.drawn) == 1200
    assert len(one.mixed.table) == 1600
    assert one.drawn.per_item().max() == 3
    assert 0.1 < one.wrong.mean() < 0.25
    assert differs(one.drawn).mean() > one.wrong.mean()


def test_better_machines_save_more_and_intervals_hold_the_value() -> None:
    page = study([("own", "label", invent())], 2, (0.6, 0.95))
    rows = [line for line in page.splitlines() if "simulated" in line]
    assert len(rows) == 2
    saved = [float(row.split("|")[8].split("%")[0]) for row in rows]
    assert saved[0] < saved[1]
    right = [float(row.split("|")[6].split("%")[0]) for row in rows]
    assert right[0] < right[1]
    scale = study([("own", "score", invent(numeric=True))], 1, (0.9,))
    assert scale.startswith("Margin of scales, chosen on own score: ")


def test_the_command_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tmp_path / "out"), "--data", str(tmp_path)]) == 2
    assert "jsick" in capsys.readouterr().err
