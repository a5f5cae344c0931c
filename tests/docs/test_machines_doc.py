"""docs/machines.md: its commands and its Python run on a small project, its options exist, its table has what the study prints."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.docs.page_files import write_machines
from tests.models.chat.conftest import server
from tests.models.lm.checkpoints import CHAT_TEMPLATE, save_checkpoint

import nikawa as nk
from nikawa.aggregation.table import Table
from nikawa.datasets.load import read_judgements
from studies import effort

__all__ = ["server"]

TEXT = (Path(__file__).parents[2] / "docs" / "machines.md").read_text("utf-8")
Nikawa = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The texts, judgements and project of the page."""
    monkeypatch.chdir(tmp_path)
    write_machines(tmp_path)
    return tmp_path


def test_the_commands_run(nikawa: Nikawa, folder: Path, server: Any) -> None:
    """In their order, as a reader types them: the server and the model are those of the test."""
    pytest.importorskip("llguidance")
    server.brain = lambda asked: json.dumps({"label": "A"})
    model = save_checkpoint(folder / "tiny", "qwen", CHAT_TEMPLATE)
    made = nikawa(
        "collect", "new", "my-project", "--examples", "texts.jsonl", "--form", "choice",
        "--set", 'labels=["positive", "negative"]', "-k", "2",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    done = set()
    for number, line in enumerate(line for block in blocks("sh") for line in block.splitlines()):
        command = line.replace("http://127.0.0.1:8000/v1", server.url)
        words = shlex.split(command.replace("models/gemma-3-1b", str(model)))
        assert words.pop(0) == "nikawa"
        if words[0] == "judge" and "lm:" in command:
            words += ["--set", "max_length=2048", "--set", "max_tokens=24", "--tries", "1"]
        if words[0] == "judge" and "--form" in words:
            words[words.index("--out") + 1] = f"judged-{number}"
        ran = nikawa(*words)
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
        done.add(words[0])
    assert done == {"judge", "collect", "agree", "aggregate", "split", "lineage", "recheck"}
    assert "Machines: " in json.loads((folder / "dataset/card.json").read_text("utf-8"))["labels"]


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/machines.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert f"`{printed}`" in TEXT


def test_the_verdict_is_where_the_page_says(folder: Path) -> None:
    machines = nk.agree("judgements.jsonl").machines
    assert machines is not None
    assert "Alternative annotator test" in machines.verdict


def test_the_table_of_adaptive_effort_has_what_the_study_prints() -> None:
    """The cheapest row of labels, replayed; `python -m studies.effort` prints all."""
    shared = os.environ.get("NIKAWA_SHARED")
    data = (Path(shared) if shared else Path(__file__).parents[3] / "shared") / "data"
    if not (data / "jsick").is_dir():
        pytest.skip("no published judgements here")
    rows = (row for row in read_judgements("jsick-stress", data=data) if row.question == "label")
    table = Table.from_judgements(rows, "label")
    cell = effort.run_cell(table, "jsick-stress label", (0.99, 0), "persons", 5, None)
    words = effort.describe(cell, "jsick-stress label", "persons", (0.99, 0), chosen=False)
    kept = [words[place] for place in (0, 1, 3, 5, 6, 7)]
    assert f"| {' | '.join(kept)} |" in TEXT


@pytest.mark.slow
def test_the_options_exist(nikawa: Nikawa) -> None:
    shown = {
        option
        for verb in ("judge", "agree", "aggregate", "recheck", "clean", "lineage")
        for option in re.findall(r"--[a-z-]+", nikawa(verb, "--help").stdout)
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT)) <= shown
