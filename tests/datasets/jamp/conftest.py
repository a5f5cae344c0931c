"""A small JAMP of invented sentences, in the published format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

HEADER = "num\tpremise\thypothesis\tgold_label\ttemplate_num\ttime_format\ttime_span\tcategory"
ROWS = (
    "1\tハルは港に船を停めている。\tハルは現在港に船を停めている。\tentailment\t0\tNone\tNone\t現在（現在形）",
    "2\t2019年以来、ミオは島に住んでいる。現在、2012年である。\tミオは2021年には島に住んでいた。\tneutral\t1\t年\tshort\t以来（状態動詞）",
    "3\t8月4日以来、ミオは塔を描いている。現在、8月9日である。\tミオは8月6日には塔を描いていた。\tentailment\t3\t月日\trandom\t以来（テイル形）",
    "4\tソラは最初の鐘を3月に鳴らした。\tソラは最初の鐘を5月に鳴らした。\tcontradiction\t20\t月\trandom\t未言及の時点（唯一事象）",
    "3763\tソラが7ヶ月間以内に橋を塗った。ソラは11月にその橋を塗り始めた。\tソラは12月までにその橋を塗り終えた。\tentailment\t25\t月\trandom\t2区間比較（以内/以内+区間計算）",
)

Write = Callable[..., Path]


@pytest.fixture
def write_rows(tmp_path: Path) -> Write:
    """Write rows below the header to a file of a `jamp` repository folder."""

    def write(*rows: str, name: str = "train_all.tsv", header: str = HEADER) -> Path:
        path = tmp_path / "jamp" / "dataset" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in (header, *rows)), "utf-8")
        return path

    return write


@pytest.fixture
def rows() -> tuple[str, ...]:
    return ROWS


@pytest.fixture
def segmented() -> tuple[str, ...]:
    """The rows with their texts cut after every character."""
    cells = [row.split("\t") for row in ROWS]
    return tuple("\t".join([c[0], " ".join(c[1]), " ".join(c[2]), *c[3:]]) for c in cells)
