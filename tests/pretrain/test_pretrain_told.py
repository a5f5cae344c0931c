"""What a pre-training tells, and when: each stage as it is done, plans before work, how far it is where no bar is shown."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import msgspec
import pytest

from nikawa.cli import pretrain as _pretrain_show
from nikawa.cli.pretrain import ProgressReporter
from nikawa.errors import BadInput
from nikawa.pretrain.checkpoint import TrainingProgress
from nikawa.pretrain.job import ModelStage, PretrainOptions, PretrainReport, pretrain
from nikawa.pretrain.settings import CPU_BATCH, TrainSettings
from nikawa.pretrain.stages import PACK, STATE, VOCABULARY, Stages

PARTS = (
    ("画家", "靴屋", "少年", "番人"),
    ("坂", "納屋", "河原"),
    ("笑った", "紙を折った", "鐘を鳴らした"),
)
LINES = [f"{n}年、{a}は{b}で{c}。" for n, (a, b, c) in enumerate(product(*PARTS))] * 2
Nikawa = Callable[..., CompletedProcess[str]]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(f"{n}枚目の{line}" for n, line in enumerate(LINES)) + "\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def choices(**more: Any) -> PretrainOptions:
    return PretrainOptions(**{"language": "ja", "tokenizer": "subwords", "vocabulary": 500, **more})


def test_each_stage_is_told_when_it_is_done(corpus: Path, tmp_path: Path) -> None:
    told: list[tuple[str, list[str]]] = []

    def staged(stage: str, report: PretrainReport) -> None:
        assert getattr(report, stage) is not None
        told.append((stage, sorted(path.name for path in (tmp_path / "o" / "work").glob("*.json"))))

    pretrain([corpus], tmp_path / "o", choices(only="pack"), on_stage=staged)
    assert told == [
        ("text", ["text.json"]),
        ("vocabulary", ["text.json", "tokenizer.json"]),
        ("pack", ["pack.json", "text.json", "tokenizer.json"]),
    ]


def test_what_came_of_a_stage_is_on_the_screen_though_the_next_one_fails(
    corpus: Path, nikawa: Nikawa, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise BadInput("out of ink", cure="buy some")

    monkeypatch.setattr("nikawa.pretrain.job.learn_vocabulary", fails)
    words = ("pretrain", str(corpus), "--language", "ja", "--only", "vocabulary", "--out", "o")
    done = nikawa(*words)
    assert done.returncode == 2
    assert "Held out: " in done.stdout
    assert "mini-ja" in done.stdout
    for silent in ("--json", "--quiet"):
        assert nikawa(*words, silent).stdout == ""


def test_a_line_every_so_often_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pretrain_show, "SECONDS_BETWEEN_LINES", 0.01)

    def heard(line: str) -> bool:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if re.search(line, capsys.readouterr().err):
                return True
            time.sleep(0.01)
        return False

    with ProgressReporter(quiet=False) as reporter:
        reporter.on_progress("packing", 50, 1_000)
        assert heard(r"^packing: 50 of 1,000, for 0:\d\d\n")
        reporter.on_progress("packing", 250, 1_000)
        assert heard(r"packing: 250 of 1,000, 0:\d\d left\n")
        reporter.on_progress("learning morphemes", 0, None)
        assert heard(r"learning morphemes, for 0:\d\d\n")
    with ProgressReporter(quiet=True) as reporter:
        reporter.print_line("nothing")
        assert not reporter._over.wait(0.05)
    assert capsys.readouterr() == ("", "")


def test_the_bar_of_new_work_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with ProgressReporter(quiet=True) as reporter:
        reporter.on_progress("packing", 690_056, 690_056)
        reporter.on_progress("measuring the speed", 0, None)
        (task,) = reporter._bar.tasks
        assert (task.description, task.completed, task.total) == ("measuring the speed", 0, None)
        reporter.on_progress("training, loss 9", 1, 20)
        reporter.on_progress("training, loss 8", 2, 20)
        (task,) = reporter._bar.tasks
        assert (task.description, task.completed, task.total) == ("training, loss 8", 2, 20)
        reporter.on_progress("training, loss 9", 1, 12)
        (again,) = reporter._bar.tasks
        assert again.id != task.id, "a new plan has its own time left"


@pytest.mark.slow
def test_a_processor_has_a_batch_of_its_own_and_the_command_names_it(
    corpus: Path, nikawa: Nikawa
) -> None:
    words = (
        "--language",
        "ja",
        "--tokenizer",
        "subwords",
        "--vocabulary",
        "500",
        "--size",
        "tiny",
        "--steps",
        "1",
    )
    done = nikawa(
        "pretrain", str(corpus), *words, "--device", "cpu", "--threads", "1", "--out", "o"
    )
    assert done.returncode == 0, done.stderr
    assert (
        "No GPU: training uses 2,048 tokens per step instead of 65,536; pass --batch to change this"
        in done.stdout
    )
    assert "Plan: 1 step of 2,048 tokens" in done.stdout
    again = json.loads(
        nikawa(
            "pretrain",
            str(corpus),
            *words,
            "--device",
            "cpu",
            "--threads",
            "1",
            "--out",
            "o",
            "--json",
        ).stdout
    )
    assert again["model"]["settings"]["batch"] == CPU_BATCH
    assert f"--batch {CPU_BATCH} --threads 1" in again["command"]
    assert again["command"] in Path("o/README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("begun", "said", "batch"),
    [
        (0, 0, 2_048),
        (65_536, 0, 65_536),
        (2_048, 0, 2_048),
        (2_048, 4_096, 4_096),
        (0, 65_536, 65_536),
    ],
)
def test_a_training_goes_on_with_the_batch_it_was_begun_with(
    begun: int, said: int, batch: int, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretrain([corpus], tmp_path / "o", choices(only="pack"))
    weights = ModelStage(
        tmp_path / "o", Stages(tmp_path / "o" / "work"), choices(steps=3, device="cpu", batch=said)
    )
    monkeypatch.setattr(
        "nikawa.pretrain.training.training_key", lambda course, _: str(course.settings.batch)
    )
    left = TrainingProgress(key=str(begun), total=3) if begun else None
    monkeypatch.setattr("nikawa.pretrain.job.read_progress", lambda _: left)
    assert weights.train_options().settings.batch == batch


def test_a_card_keeps_its_batch(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    pretrain([corpus], tmp_path / "o", choices(only="pack"))
    monkeypatch.setattr(
        "nikawa.pretrain.device.find_device", lambda _: SimpleNamespace(type="cuda")
    )
    said: list[str] = []
    stages = Stages(tmp_path / "o" / "work")
    course = ModelStage(
        tmp_path / "o", stages, choices(minutes=8), on_note=said.append
    ).train_options()
    assert course.settings == TrainSettings(minutes=8)
    assert said == []
    assert (course.tokenizer, course.state) == (stages.folder(VOCABULARY), stages.folder(STATE))
    assert course.train == stages.folder(PACK) / "train"


def test_a_small_vocabulary_says_what_it_has_no_room_for(corpus: Path, nikawa: Nikawa) -> None:
    letters = [chr(0x4E00 + n) for n in range(400)]
    corpus.write_text(
        "\n".join(f"{a}の{b}{a}は" for a, b in zip(letters * 6, letters[1:] * 6, strict=False)),
        "utf-8",
    )
    words = (
        "pretrain",
        str(corpus),
        "--language",
        "ja",
        "--tokenizer",
        "subwords",
        "--only",
        "vocabulary",
    )
    done = nikawa(*words, "--vocabulary", "500", "--out", "o")
    assert "No room for 247 characters more that occur 5 times or more" in done.stdout
    assert "--vocabulary 900 has room for all" in done.stdout
    assert "Longest sub-words: " in done.stdout
    roomy = nikawa(*words, "--vocabulary", "900", "--out", "p")
    assert "No room" not in roomy.stdout
    assert b"crowded" not in Path("p/work/tokenizer/vocabulary.json").read_bytes()
    assert (
        msgspec.json.decode(Path("o/work/tokenizer/vocabulary.json").read_bytes())["crowded"] == 247
    )


@pytest.mark.parametrize("only", ["text", "vocabulary", "pack"])
def test_a_command_that_is_told_runs_as_it_is_told(only: str, corpus: Path, nikawa: Nikawa) -> None:
    words = (
        "pretrain",
        str(corpus),
        "--language",
        "ja",
        "--tokenizer",
        "subwords",
        "--vocabulary",
        "500",
        "--data",
        ".",
        "--squeeze",
        "--sample",
        "2000",
    )
    first = nikawa(*words, "--only", only, "--out", "my place", "--json")
    command = json.loads(first.stdout)["command"]
    name, *told = shlex.split(command)
    assert name == "nikawa"
    again = nikawa(*told, "--json")
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert nikawa(*[word if word != "my place" else "other" for word in told]).returncode == 0


@pytest.mark.slow
def test_the_commands_of_a_card_run_as_they_are_written(corpus: Path, nikawa: Nikawa) -> None:
    words = (
        "pretrain",
        str(corpus),
        "--language",
        "ja",
        "--tokenizer",
        "characters",
        "--size",
        "tiny",
        "--steps",
        "1",
        "--batch",
        "512",
    )
    done = nikawa(*words, "--name", "my name", "--out", "my place", "--device", "cpu", "--quiet")
    assert done.returncode == 0, done.stderr
    card = Path("my place/README.md").read_text("utf-8")
    use, made = (shlex.split(line) for line in card.splitlines() if line.startswith("    nikawa "))
    assert use == ["nikawa", "run", "--tasks", "mini-ja-nli", "--model", "encoder:my place"]
    assert nikawa(*made[1:], "--quiet").returncode == 0
    assert "# my name" in card
    assert "| text: files | corpus.txt |" in card
    for part in ("| text: run |", "| text: short |", "first piece", "floor"):
        assert part not in card
    assert (
        "| text: removed | lines that share 16 characters with a benchmark, or contain a whole benchmark text of 12 or more |"
        in card
    )


def test_no_table_where_nothing_changed(corpus: Path, nikawa: Nikawa) -> None:
    words = ("pretrain", str(corpus), "--language", "ja", "--only", "text", "--out", "o")
    assert "lines changed" not in nikawa(*words).stdout
