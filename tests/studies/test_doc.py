"""docs/studies.md: its Python runs, its studies and options are those there are."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from studies import _place, encoders, scratch, tokenizers

TEXT = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")


@pytest.mark.slow
def test_the_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    exec(compile(block, "docs/studies.md", "exec"), {})
    assert "mini-ko-nli char-linear 50% of train accuracy" in capsys.readouterr().out


def test_every_command_is_understood() -> None:
    lines = re.findall(r"^python -m (studies\.[a-z]+) (.*)$", TEXT, re.MULTILINE)
    assert {name for name, _ in lines} == {
        "studies.scratch",
        "studies.encoders",
        "studies.tokenizers",
    }
    known = set(re.findall(r"--[a-z]+", _place.words("", 1).format_help())) | {"--ja", "--ko"}
    for name, rest in lines:
        assert import_module(name).__doc__
        assert set(re.findall(r"--[a-z]+", rest)) <= known


def test_the_tasks_are_told() -> None:
    told = TEXT.lower()
    for name in (
        *scratch.TASKS,
        *encoders.EPOCHS["ja"],
        *encoders.EPOCHS["ko"],
        *tokenizers.EPOCHS["ko"],
    ):
        assert ("jsick" if name.startswith("jsick") else name) in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", ","], "--only is empty; choose from train, baselines, report"),
        (["--workers", "0"], "--workers is 0; pass a number that is 1 or more"),
        (["--seeds", "-1"], "--seeds is -1; pass a number that is 1 or more"),
    ],
)
def test_options_that_ask_for_nothing_are_refused(
    tmp_path: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        scratch.main(["--out", str(tmp_path / "out"), *words])
    assert (stopped.value.code, capsys.readouterr().err) == (2, f"studies: {told}\n")
    assert not (tmp_path / "out").exists()


def test_workers_are_processes_that_share_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nikawa.runs import job as run

    seen: list[tuple[Any, Any]] = []

    def noted(asked: Any, how: Any) -> run.RunReport:
        seen.append((asked, how))
        return run.RunReport(out="", done=0, skipped=0, cells=())

    monkeypatch.setattr("studies._place.run_all", noted)
    request = run.RunRequest(("mini-ja-nli",), ("encoder:here",), settings={"epochs": 1})
    for workers in (1, 4):
        _place.start([request], _place.Place(tmp_path, workers=workers, device="cuda"))
    (asked, one), (_, four) = seen
    assert asked[0].settings == {"epochs": 1, "device": "cuda"}
    assert (one.executor, one.workers) == ("here", 1)
    assert (four.executor, four.workers, four.threads) == ("pool", 4, 1)
    _place.start([run.RunRequest(("mini-ja-nli",), ("baseline",))], _place.Place(tmp_path))
    assert seen[-1][0][0].settings == {}
