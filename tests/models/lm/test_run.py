"""`nikawa run --model lm:PATH` from the command line to the report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.models.lm.checkpoints import CHAT_TEMPLATE, save_checkpoint

from nikawa.execute.pool import Pool
from nikawa.io.processes import get_worker_number
from nikawa.models.encoder.device import choose_device
from nikawa.models.lm.settings import LmSettings
from nikawa.runs.job import RunOptions, make_executor
from nikawa.runs.plan import plan_runs
from nikawa.runs.request import RunRequest

Nikawa = Callable[..., CompletedProcess[str]]
TASK = "mini-ja-nli"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("lm") / "tiny")


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("lm") / "chat", "qwen", CHAT_TEMPLATE)


def read_about(out: Path) -> dict[str, Any]:
    (path,) = out.glob("*/about.json")
    about: dict[str, Any] = json.loads(path.read_bytes())
    return about


@pytest.mark.slow
def test_from_the_run_to_the_report(nikawa: Nikawa, tiny: Path, chat: Path, tmp_path: Path) -> None:
    """Probabilities reach calibration, slices and paired tests."""
    out = tmp_path / "runs"
    words = ("--tasks", TASK, "--shots", "1", "--out", str(out))
    ran = nikawa("run", "--model", f"a=lm:{tiny}", "--model", f"b=lm:{chat}", *words)
    assert ran.returncode == 0, ran.stderr
    assert "accuracy" in ran.stdout
    assert "lost shots" in ran.stdout
    again = nikawa("run", "--model", f"a=lm:{tiny}", "--model", f"b=lm:{chat}", *words, "--json")
    report = json.loads(again.stdout)
    assert (report["done"], report["skipped"]) == (0, 2)
    assert [(row["model"], row["lost_shots"], row["truncated"]) for row in report["usage"]] == [
        ("a", 0, 0),
        ("b", 0, 0),
    ]
    analysed = nikawa("analyse", str(out), "--json")
    assert analysed.returncode == 0, analysed.stderr
    assert "calibration" in analysed.stdout
    page = tmp_path / "report"
    reported = nikawa("report", str(out), "--out", str(page))
    assert reported.returncode == 0, reported.stderr
    text = (page / "index.html").read_text("utf-8")
    assert "lost shots" in text
    assert "did not fit" not in text


def test_prompts_that_do_not_fit_are_counted_everywhere(
    nikawa: Nikawa, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    words = (
        "run",
        "--model",
        f"lm:{tiny}",
        "--tasks",
        TASK,
        "--out",
        str(out),
        "--set",
        "shots=3",
        "--set",
        "max_length=160",
        "--limit",
        "4",
    )
    dry = nikawa(*words, "--dry-run")
    assert "4 of 4 prompts did not fit and lost few-shot examples" in dry.stdout
    assert "counted with the model's own tokenizer" in dry.stdout
    assert "price" not in dry.stdout
    assert not out.exists()
    ran = nikawa(*words)
    lines = ran.stdout.splitlines()
    (head,) = [line for line in lines if "lost shots" in line and "truncated" in line]
    assert lines[lines.index(head) + 2].split()[-2:] == ["4", "4"]
    assert "4 of 4 prompts did not fit and lost few-shot examples" in ran.stdout
    assert "4 of 4 prompts did not fit and lost their beginning" in ran.stdout
    report = json.loads(nikawa(*words, "--json").stdout)
    (usage,) = report["usage"]
    assert (usage["requests"], usage["lost_shots"], usage["truncated"]) == (4, 4, 4)
    assert any("lost their beginning" in note for note in report["notes"])
    about = read_about(out)["model"]
    assert (about["usage"]["lost_shots"], about["usage"]["truncated"]) == (4, 4)
    assert about["max_length"] == 160
    page = tmp_path / "report"
    nikawa("report", str(out), "--out", str(page))
    text = (page / "index.html").read_text("utf-8")
    assert "4 of 4 prompts did not fit and lost few-shot examples." in text
    assert "4 of 4 prompts did not fit and lost their beginning." in text


def test_a_dry_run_counts_what_the_run_computes(nikawa: Nikawa, tiny: Path, tmp_path: Path) -> None:
    words = (
        "run",
        "--model",
        f"lm:{tiny}",
        "--tasks",
        TASK,
        "--limit",
        "3",
        "--out",
        str(tmp_path / "runs"),
        "--json",
    )
    (row,) = json.loads(nikawa(*words, "--dry-run").stdout)["rows"]
    (usage,) = json.loads(nikawa(*words).stdout)["usage"]
    assert (row["requests"], row["cost"]) == (3, None)
    assert row["tokens_in"] == usage["tokens_in"]
    assert row["tokens_out"] == usage["tokens_out"]


def test_a_bad_setting_is_one_line(nikawa: Nikawa, tiny: Path, tmp_path: Path) -> None:
    for word in ("normalise=mean", "no_such=1", "max_length=3", "stop=x"):
        ran = nikawa(
            *("run", "--model", f"lm:{tiny}", "--tasks", TASK, "--out", str(tmp_path / "runs")),
            *("--set", word),
        )
        assert ran.returncode == 2, word
        assert len(ran.stderr.splitlines()) == 1
        if word == "normalise=mean":
            assert "use one of: sum, token, character, pmi" in ran.stderr
    listed = nikawa("run", "models", "--json")
    (row,) = [row for row in json.loads(listed.stdout) if row["model"].startswith("lm")]
    assert row["settings"]["normalise"] == "sum"
    assert len(row["kinds"]) == 9


KILLED_AFTER_TWO = """
import os, signal
from nikawa.models.chat.journal import RecordJournal
from nikawa.cli import main
add = RecordJournal.add
def add_or_die(self, record):
    if len(self.replies) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, record)
RecordJournal.add = add_or_die
main()
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_next_item(
    nikawa: Nikawa, tiny: Path, tmp_path: Path
) -> None:
    words = ("run", "--model", f"lm:{tiny}", "--tasks", TASK, "--set", "exact=true", "--limit", "4")
    out = tmp_path / "runs"
    script = [sys.executable, "-c", KILLED_AFTER_TWO, *words, "--out", str(out)]
    killed = subprocess.run(
        script, capture_output=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    (journal,) = out.glob("*/state/model/items.jsonl")
    assert len(journal.read_bytes().splitlines()) == 2
    (row,) = json.loads(nikawa(*words, "--out", str(out), "--dry-run", "--json").stdout)["rows"]
    assert (row["requests"], row["kept"]) == (2, 2)
    assert nikawa(*words, "--out", str(out)).returncode == 0
    assert nikawa(*words, "--out", str(tmp_path / "other")).returncode == 0
    one, other = (
        next(folder.glob("*/predictions/test.jsonl")).read_bytes()
        for folder in (out, tmp_path / "other")
    )
    assert one == other
    assert read_about(out)["model"]["usage"]["requests"] == 4


def meet(folder: str) -> int | None:
    """The number of this process, when a second process has come too."""
    Path(folder, str(os.getpid())).touch()
    while len(list(Path(folder).iterdir())) < 2:
        pass
    return get_worker_number()


def test_each_process_of_a_pool_takes_its_own_gpu(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    requests = [RunRequest(models=(f"lm:{tiny}",), tasks=(TASK,), seeds=(0, 1, 2))]
    options = RunOptions(out=tmp_path / "runs")
    executor = make_executor(options, requests, plan_runs(requests[0]).families)
    assert isinstance(executor, Pool)
    assert executor.workers == 2
    folder = tmp_path / "meeting"
    folder.mkdir()
    assert {*Pool(meet, 2).submit([str(folder)] * 2)} == {0, 1}
    assert get_worker_number() is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert str(choose_device(LmSettings())) == "cuda"
    for worker, device in (("0", "cuda:0"), ("1", "cuda:1"), ("2", "cuda:0")):
        monkeypatch.setenv("NIKAWA_WORKER", worker)
        assert str(choose_device(LmSettings())) == device
    alone = [RunRequest(models=(f"lm:{tiny}",), tasks=(TASK,), settings={"device_map": "auto"})]
    assert not isinstance(make_executor(options, alone, plan_runs(alone[0]).families), Pool)


@pytest.mark.parametrize("name", ["adapter", "./adapter"])
def test_the_content_of_an_adapter_defines_a_run_however_it_is_named(
    name: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adapter").mkdir()
    request = RunRequest(models=(f"lm:{tiny}",), tasks=(TASK,), settings={"adapter": name})
    digests = set()
    for text in ("{}", '{"r": 2}'):
        (tmp_path / "adapter" / "adapter_config.json").write_text(text, "utf-8")
        (family,) = plan_runs(request).families
        digests |= {version.digest for version in family.data if version.name == name}
    assert len(digests) == 2
