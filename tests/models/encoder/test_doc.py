"""docs/encoder.md: its Python runs, its settings, presets and options are those there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.main import get_command

from nikawa.cli.terminal.app import build
from nikawa.models.encoder.settings import EncoderSettings
from nikawa.runs.request import preset_names, read_preset

TEXT = (Path(__file__).parents[3] / "docs" / "encoder.md").read_text("utf-8")


def test_the_python_runs(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code.replace("path/to/checkpoint", str(tiny)), "docs/encoder.md", "exec"), {})
        assert capsys.readouterr().out.strip()
    assert (tmp_path / "trained" / "model.safetensors").is_file()


def test_every_setting_is_told_with_its_default() -> None:
    table = TEXT.partition("## Settings")[2].partition("## How")[0]
    rows = [
        (re.findall(r"`([a-z_]+)`", names), defaults.split(", "))
        for names, defaults in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", table, re.MULTILINE)
    ]
    told = {
        name: value.strip()
        for names, values in rows
        for name, value in zip(names, values, strict=True)
    }
    fields = {field.name: field.default for field in msgspec.structs.fields(EncoderSettings)}
    assert set(told) == set(fields)
    for name, value in fields.items():
        if name != "dropout":
            assert told[name] == str(value).lower().replace("e-0", "e-")


def test_the_presets_are_told() -> None:
    told = set(
        re.findall(
            r"`([a-z-]+)`",
            "".join(re.findall(r"^\| (`[a-z`, -]+) \| [^|]* \| \d \|", TEXT, re.MULTILINE)),
        )
    )
    assert told == set(preset_names()) - {"few-shot", "hypothesis-only", "learning-curve"}


def test_the_presets_hold_settings_encoders_have() -> None:
    known = {field.name for field in msgspec.structs.fields(EncoderSettings)}
    for name in set(preset_names()) - {"few-shot", "hypothesis-only", "learning-curve"}:
        found = read_preset(name)
        parts: list[Any] = [found, *found.task.values()]
        for part in parts:
            assert {*part.settings, *part.grid} <= known
            for values in (
                {},
                *({key: value} for key, many in part.grid.items() for value in many),
            ):
                msgspec.convert({**part.settings, **values}, EncoderSettings)


def test_the_options_exist() -> None:
    run = get_command(build()).commands["run"]  # type: ignore[attr-defined]
    known = {
        option
        for command in (run, *getattr(run, "commands", {}).values())
        for parameter in command.params
        for option in parameter.opts
    }
    told = set(re.findall(r"(--[a-z][a-z-]+)", TEXT)) - {
        "--size",
        "--text",
        "--ways",
        "--by",
        "--compare",
        "--rounds",
    }  # of the comparisons, not of the command
    assert told <= known
