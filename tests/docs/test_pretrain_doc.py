"""docs/pretrain.md: its commands and its Python run, its options exist, its numbers are those of the code."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.docs.page_files import write_corpus

from nikawa.cli.pretrain import SECONDS_BETWEEN_LINES
from nikawa.pretrain import contamination, corpus, vocabulary
from nikawa.pretrain import training as minutes
from nikawa.pretrain.evaluation import MAX_TOKENS_ON_CPU, MAX_TOKENS_ON_GPU
from nikawa.pretrain.personal_data import PLACEHOLDERS
from nikawa.pretrain.settings import CPU_BATCH, TrainSettings
from nikawa.pretrain.tokenizer import FIRST_TEXT_ID

TEXT = (Path(__file__).parents[2] / "docs" / "pretrain.md").read_text("utf-8")
Nikawa = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the page names."""
    write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_commands_run(nikawa: Nikawa, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in "".join(blocks("sh")).splitlines():
        name, *words = shlex.split(line)
        assert name == "nikawa"
        done = nikawa(*words)
        assert done.returncode == 0, (line, done.stderr)
        if words[0] == "pretrain":
            assert (folder / words[words.index("--out") + 1] / "work").is_dir(), line
    for name in ("my-encoder", "carried"):
        assert (folder / name / "config.json").is_file()
        longest = json.loads((folder / name / "work" / "tokenizer" / "coverage.json").read_bytes())[
            "longest"
        ]
        assert len(longest[0]) > 1, "the example shows words"
    exec(compile(blocks("python")[0], "docs/pretrain.md", "exec"), {})
    assert capsys.readouterr().out.startswith("best guess: ")


def test_the_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, code = blocks("python")
    exec(compile(code, "docs/pretrain.md", "exec"), {})
    assert capsys.readouterr().out.split()[0].isdigit()


def test_the_options_exist(nikawa: Nikawa) -> None:
    shown = re.sub(r"\s", "", nikawa("pretrain", "--help").stdout)
    for option in re.findall(r"`(--[a-z-]+)", TEXT):
        assert option in shown, option


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"a run of {contamination.RUN_CHARS} such" in TEXT
    assert (
        f"a whole text of {contamination.MIN_TEXT_CHARS} to {contamination.RUN_CHARS - 1}" in TEXT
    )
    assert f"fewer than {vocabulary.MIN_CHARACTER_COUNT} times" in TEXT
    assert f"{FIRST_TEXT_ID} special tokens and bytes" in TEXT
    assert all(f"`{name}`" in TEXT for name in PLACEHOLDERS)
    assert f"{TrainSettings().batch:,} on a GPU and {CPU_BATCH:,} on a CPU" in TEXT
    assert (
        f"{corpus.MAX_DOCUMENT_LINES:,} lines or {corpus.MAX_DOCUMENT_CHARS:,} characters counts as several"
        in TEXT
    )
    assert f"read {MAX_TOKENS_ON_CPU:,} tokens (on a GPU {MAX_TOKENS_ON_GPU:,})" in TEXT
    assert (TrainSettings().checkpoint_seconds, "once a minute" in TEXT) == (60, True)
    assert (
        minutes.TIMING_SHARE,
        minutes.CHECKED_SHARE,
        minutes.MAX_DEVIATION,
        minutes.EVALUATION_SHARE,
    ) == (0.03, 0.05, 0.1, 0.1)
    assert (SECONDS_BETWEEN_LINES, vocabulary.MERGED_SHARE) == (10, 1 / 3)
