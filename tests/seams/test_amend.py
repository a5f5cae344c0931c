"""From stored runs to a corrected release: which scores move, which do not and why, in one unit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from msgspec.structs import replace

from nikawa.datasets import load
from nikawa.io.folders import write_folder
from nikawa.records import Dataset, Example

Nikawa = Callable[..., CompletedProcess[str]]
E, C, N = "entailment", "contradiction", "neutral"
HYPOTHESES = {E: "列車が出た。", C: "列車は出なかった。", N: "列車は速い。"}


def write_dataset(folder: Path, name: str) -> None:
    """A dataset of invented pairs, called `name` on its card."""
    splits = {}
    for split, size in {"train": 12, "dev": 6, "test": 9}.items():
        examples = []
        for n in range(size):
            label = (E, C, N)[n % 3]
            inputs = {"premise": f"{split}の{n}番線。", "hypothesis": HYPOTHESES[label]}
            examples.append(Example(id=f"{split[0]}{n}", inputs=inputs, gold={"label": label}))
        splits[split] = tuple(examples)
    card = replace(load("mini-ja").card, name=name, version="1.0")
    dataset = Dataset(name=name, language="ja", version="1.0", card=card, splits=splits)
    shutil.rmtree(folder, ignore_errors=True)
    write_folder(dataset, folder)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nikawa: Nikawa) -> str:
    """Two systems on a dataset that was called `trains` when they were run: its task reports percent."""
    monkeypatch.chdir(tmp_path)
    write_dataset(Path("trains"), "trains")
    models = ("--model", "majority", "--model", "char-linear")
    done = nikawa("run", *models, "--tasks", "trains", "--out", "runs", "--workers", "1")
    assert (done.returncode, done.stderr) == (0, "")
    return "runs"


def amend(nikawa: Nikawa, runs: str, correction: str) -> tuple[str, str]:
    """What the command prints, and the changelog that it publishes."""
    Path("fix.csv").write_text(f"id,label,why\n{correction},looked at again\n", "utf-8")
    words = ("--amend", "trains", "--relabel", "fix.csv", "--out", "next", "--runs", runs)
    done = nikawa("build", *words, "--date", "2026-01-02")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, Path("next/CHANGELOG.md").read_text("utf-8")


def test_runs_in_percent_are_compared_with_a_task_in_fractions(nikawa: Nikawa, runs: str) -> None:
    """The dataset is released under a name whose official scorer reports fractions: the stored scores are still its own."""
    write_dataset(Path("trains"), "jnli")
    printed, changelog = amend(nikawa, runs, f"test/t1,{N}")
    assert "is not that of" not in printed + changelog
    assert "| jnli | test | accuracy | char-linear | 100.0000 | 88.8889 | -11.1111 |" in changelog
    move = json.loads(Path("next/changelog.json").read_text("utf-8"))[0]["scores"][0]
    assert (move["unit"], move["before"]) == ("fraction", 1.0)


def test_runs_on_test_do_not_move_by_corrections_in_dev(nikawa: Nikawa, runs: str) -> None:
    printed, changelog = amend(nikawa, runs, f"dev/d1,{N}")
    folders = sorted(path.name for path in Path(runs).iterdir() if path.is_dir())
    for text in (printed, changelog):
        (sentence,) = [line for line in text.splitlines() if "not change" in line]
        assert "do not change: scored on test, and the corrections are in dev" in sentence
        assert all(folder in sentence for folder in folders)


def test_a_run_that_is_wrong_before_and_after_does_not_move(nikawa: Nikawa, runs: str) -> None:
    printed, changelog = amend(nikawa, runs, f"test/t1,{N}")
    reason = "majority does not change on test of trains: its answers to the corrected items are wrong under both versions"
    assert reason in changelog
    assert reason in " ".join(printed.split())
