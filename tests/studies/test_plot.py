"""The picture of a study's differences."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from studies._pairs import Contest
from studies._plot import in_order, rows, write_differences

from nikawa.reporting.plots import Dot

PAIRS = {("encoder:a", "encoder:b"): "b - a", ("encoder:a", "encoder:c"): "c - a"}


def contest(task: str, metric: str, second: str, difference: float, variation: str = "") -> Contest:
    return Contest(
        task,
        variation,
        "test",
        metric,
        "encoder:a",
        f"encoder:{second}",
        difference,
        difference - 1,
        difference + 2,
        0.25,
    )


FOUND = [
    contest("jamp", "accuracy", "b", 3.0, "trained on jamp:template-easy"),
    contest("jamp", "accuracy", "b", 4.0),
    contest("jsick-sts", "pearson", "b", -1.5),
    contest("jsick-sts", "mse", "b", -0.2),
    contest("jsick-sts", "pearson", "c", 0.5),
    contest("jsick-sts", "pearson", "d", 9.0),
]


def test_a_row_has_the_mark_of_every_pair_that_was_asked_for() -> None:
    made = {line.name: line.dots for line in rows(FOUND, PAIRS)}
    assert list(made) == ["jamp template-easy, accuracy", "jamp, accuracy", "jsick-sts, pearson"]
    assert made["jsick-sts, pearson"] == [
        Dot(-1.5, -2.5, 0.5, 0, "b - a: -1.50 (-2.50 to +0.50), p 0.250"),
        Dot(0.5, -0.5, 2.5, 1, "c - a: +0.50 (-0.50 to +2.50), p 0.250"),
    ]


def test_tasks_stand_as_the_study_lists_them() -> None:
    made = in_order(FOUND, {"ja": {"jsick-sts": 1, "jamp": 1}})
    assert [(one.task, one.variation) for one in made[3:]] == [
        ("jsick-sts", ""),
        ("jamp", ""),
        ("jamp", "trained on jamp:template-easy"),
    ]


def test_the_picture_is_one_file_that_names_rows_and_pairs(tmp_path: Path) -> None:
    write_differences(tmp_path / "results.svg", FOUND, PAIRS, "A study")
    drawn = "".join(ElementTree.parse(tmp_path / "results.svg").getroot().itertext())
    assert all(
        word in drawn
        for word in ("A study", "b - a", "c - a", "jamp template-easy, accuracy", "p 0.250")
    )
