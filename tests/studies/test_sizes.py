"""What the study of pieces reads of its encoders, and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies._sizes import ENCODERS, read_sizes

from nikawa.errors import BadInput

OLD = '["ko","characters",600,9000,"1.0",60,600,"2.0"]'


def test_columns_of_an_older_version_are_filled_up(tmp_path: Path) -> None:
    path = tmp_path / "encoders.json"
    path.write_text(f'[{OLD}, ["ko","subwords",600,9000,"1.0",60,600,"2.0","81.5%"]]')
    rows = read_sizes(path)
    assert [len(row) for row in rows] == [len(ENCODERS)] * 2
    assert [row[-1] for row in rows] == [None, "81.5%"]


@pytest.mark.parametrize(
    "row",
    [
        "[]",
        '["ko","characters",3]',
        OLD.replace("60,", "[60],"),
        OLD.replace('"ko"', "7"),
        f"{OLD[:-1]},1,2]",
    ],
)
def test_rows_that_tell_no_encoder_are_refused(tmp_path: Path, row: str) -> None:
    path = tmp_path / "encoders.json"
    path.write_text(f"[{OLD},{row}]")
    with pytest.raises(
        BadInput, match="row 2 does not describe an encoder of this study; remove it"
    ):
        read_sizes(path)
