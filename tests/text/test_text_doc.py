"""docs/text.md: its Python runs and its table lists every analyser with its extra."""

from __future__ import annotations

import re
from pathlib import Path

from nikawa.text import ANALYSERS, Token
from nikawa.text.engine import MAX_PIECE

TEXT = (Path(__file__).parents[2] / "docs" / "text.md").read_text("utf-8")


def test_the_python_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    exec(compile("".join(blocks), "docs/text.md", "exec"), {})


def test_the_table_lists_every_analyser_with_its_extra() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    for info in ANALYSERS.values():
        (row,) = [line for line in rows if f"`{info.name}`" in line.split("|")[1]]
        assert (f"`{info.extra}`" if info.extra else "none") in row.split("|")[3]


def test_every_field_is_explained() -> None:
    assert all(f"`{field}`" in TEXT for field in Token.__struct_fields__)
    assert f"{MAX_PIECE:,} characters" in TEXT
