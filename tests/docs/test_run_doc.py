"""docs/run.md: read from top to bottom in an empty folder, every block runs; what it lists is what there is."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.execute import ExecutorKind
from nikawa.models import Predictor
from nikawa.models.base import Setup
from nikawa.runs import EvaluationProtocol, Outcome, RunSpec, SetScores, Variation
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import Preset, RunRequest, preset_names, read_preset

TEXT = (Path(__file__).parents[2] / "docs" / "run.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(sh|python|toml)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def run_commands(block: str) -> str:
    shown = ""
    for line in block.splitlines():
        words = shlex.split(line)[1:]
        done = CliRunner().invoke(build(words[0]), words)
        assert done.exit_code == 0, (line, done.exception)
        shown += done.stdout
    return shown


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown, space = "", dict[str, Any]()
    for language, block in BLOCKS:
        if language == "sh":
            shown += run_commands(block)
        elif language == "toml":
            msgspec.convert(tomllib.loads(block), Preset)
        else:
            exec(compile(block, "docs/run.md", "exec"), space)
    assert "hypothesis only" in shown
    assert "chosen from 2 on mini-ja:dev" in shown
    assert "trained on mini-ja:train+mini-ko:train" in shown
    assert "trained on my-data:chain" in shown
    assert "seen - unseen" in shown
    assert "mini-ja-nli majority test accuracy" in capsys.readouterr().out
    check_extensions(space)


def check_extensions(space: dict[str, Any]) -> None:
    make: Callable[[Setup], Predictor] = space["MODELS"][0].make
    assert isinstance(make(Setup()), Predictor)
    kind: ExecutorKind = space["EXECUTOR"]
    (family,) = plan_runs(
        RunRequest(tasks=("mini-ja-nli",), models=("majority",), seeds=(0, 1))
    ).families
    outcomes = kind.make(lambda run: Outcome(run=run, status="done"), 2, 1).submit(family.runs({}))
    assert [outcome.run.seed for outcome in outcomes] == [0, 1]


@pytest.mark.parametrize("kind", [RunSpec, Variation, EvaluationProtocol, SetScores])
def test_every_field_is_named(kind: type[msgspec.Struct]) -> None:
    for field in kind.__struct_fields__:
        assert f"`{field}`" in TEXT, field


@pytest.mark.parametrize("name", preset_names())
def test_presets_can_be_read(name: str) -> None:
    assert read_preset(name) != Preset()
    assert f"`{name}`" in TEXT
