"""The page on chat models: its Python runs, its prompt is a good one, its settings are those there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from nikawa.datasets import tasks
from nikawa.models.chat.prompts import SLOTS, read_template
from nikawa.models.chat.settings import ChatSettings

PAGE = (Path(__file__).parents[2] / "docs" / "chat.md").read_text("utf-8")


@pytest.mark.slow
def test_python_runs(tmp_path: Path) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", block],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("entailment parse ")


def test_the_prompt_is_read(tmp_path: Path) -> None:
    blocks = [
        block
        for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
        if "== user ==" in block
    ]
    path = tmp_path / "own.txt"
    path.write_text(blocks[0], "utf-8")
    assert read_template(path, tasks()["jnli"]).labels["neutral"] == "分からない"


def test_every_setting_and_slot_is_told() -> None:
    for field in msgspec.structs.fields(ChatSettings):
        assert f"`{field.name}`" in PAGE, field.name
    told = {"premise", "hypothesis", "text", "title", "context", "question", "subject", "object"}
    for slot in {name for names in SLOTS.values() for name in names} - told:
        assert f"`{slot}`" in PAGE or f"{{{slot}}}" in PAGE, slot
