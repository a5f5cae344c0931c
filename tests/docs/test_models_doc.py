"""docs/models.md: its Python runs, and every setting it names is one the model takes."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from nikawa.models import models

TEXT = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert blocks
    for code in blocks:
        exec(compile(code, "docs/models.md", "exec"), {})
        assert capsys.readouterr().out.strip()


def test_the_table_names_models_and_their_kinds() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z, ]+) \|", TEXT, re.MULTILINE)
    assert {"majority", "char-linear", "pair-linear", "span-overlap"} <= {name for name, _ in rows}
    for name, kinds in rows:
        if kinds != "all":
            assert tuple(kinds.split(", ")) == models()[name].kinds


def test_the_settings_are_those_the_models_take() -> None:
    told = re.findall(
        r"^\*\*`([a-z-]+)`\*\*(.*?)Settings: (.*?)\.$", TEXT, re.DOTALL | re.MULTILINE
    )
    assert len(told) >= 5
    for name, _, settings in told:
        kind = models()[name].settings
        assert kind is not None
        taken = [field.encode_name for field in msgspec.structs.fields(kind)]
        assert re.findall(r"`([a-z]+)`", settings) == taken
