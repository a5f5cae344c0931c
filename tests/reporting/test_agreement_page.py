"""The page of plots: one file, well formed, every script readable, whatever the answers are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from nikawa.aggregation.agree_job import AgreeOptions, agree
from nikawa.aggregation.table import Table
from nikawa.io.judgements import write_judgements
from nikawa.records import Judgement
from nikawa.reporting.agreement import (
    count_coincidences,
    locate_workers,
    render_page,
    shorten_name,
    write_page,
)


def made(folder: Path, answers: list[Any], workers: int = 3) -> str:
    rows = [
        Judgement(
            example=f"i{n}",
            worker=f"작업자<{w}>",
            question="답",
            answer=answers[(n * 7 + w * w) % len(answers)],
        )
        for n in range(40)
        for w in range(workers)
    ]
    path = folder / "j.jsonl"
    write_judgements(path, rows)
    found = agree(str(path), options=AgreeOptions(resamples=20))
    return render_page(found.report, found.table)


@pytest.mark.parametrize(
    "answers",
    [
        ["はい", "いいえ", "どちら & とも"],
        [1, 2, 3, 4, 5],
        [n / 7 for n in range(97)],
        [f"自由な答え{n}" for n in range(97)],
        ["同じ"],
    ],
    ids=["labels", "ratings", "numbers", "texts", "one"],
)
def test_pictures_are_well_formed(tmp_path: Path, answers: list[Any]) -> None:
    text = made(tmp_path, answers)
    pictures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(pictures) >= 2
    for picture in pictures:
        ElementTree.fromstring(picture)
        assert "nan" not in picture.replace("unanimous", "")


def test_nothing_comes_from_outside(tmp_path: Path) -> None:
    text = made(tmp_path, ["はい", "いいえ"])
    assert not re.search(r"<script|<link|https?:|src=|url\(", text)
    assert "prefers-color-scheme:dark" in text
    assert "작업자&lt;1&gt;" in text
    assert "작업자<1>" not in text


def test_many_workers(tmp_path: Path) -> None:
    text = made(tmp_path, ["a", "b"], workers=60)
    assert "kappa between workers" not in text  # too many to hold each against each
    assert text.count('class="tag"') == 20


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    found = agree("mini-ko", options=AgreeOptions(resamples=20, by=("tag",)))
    written = write_page(tmp_path / "p", found.report, found.table)
    assert written == tmp_path / "p" / "index.html"
    assert "<h2>Slices</h2>" in written.read_text("utf-8")


def test_what_others_say() -> None:
    table = Table.from_columns([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], ["a", "a", "a", "b", "b"])
    assert count_coincidences(table) == pytest.approx(np.array([[2 / 3, 1 / 3], [1.0, 0.0]]))


def test_where_workers_stand() -> None:
    numbers = Table.from_columns([0, 0, 0, 1], [0, 1, 2, 0], [1, 2, 6, 4])
    x, y, _, _ = locate_workers(numbers)
    assert x == pytest.approx([-3.0, -1.5, 4.5])
    assert y == pytest.approx([3.0, 1.5, 4.5])
    labels = Table.from_columns([0, 0, 0, 1], [0, 1, 2, 0], ["a", "a", "b", "b"])
    given, same, _, _ = locate_workers(labels)
    assert given.tolist() == [2, 1, 1]
    assert same == pytest.approx([0.5, 0.5, 0.0])


def test_long_names_are_cut() -> None:
    assert shorten_name("短い") == "短い"
    assert shorten_name("とても" * 20).endswith("…")
    assert len(shorten_name("とても" * 20)) < 20
