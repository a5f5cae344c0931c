"""From runs to lists, comparisons and pages: a run without a number is named, names stay what they are.

Files of answers stand for models: what they hold is what a model would have said.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unicodedata import normalize

import msgspec
import pytest

from nikawa.datasets import load_task
from nikawa.runs.records import RunSpec
from nikawa.runs.store import RUN, stored_runs

Nikawa = Callable[..., CompletedProcess[str]]
TASK = "mini-ja-sts"
LONG_NAME = "京都大学黒橋研究室日本語事前学習済み言語モデル改良版第二号機試験用" * 2


@pytest.fixture
def answers(tmp_path: Path) -> Callable[[str, Sequence[Any]], str]:
    """A file of answers to the items of the task, in their order."""
    _, examples = load_task(TASK, "test")

    def write(name: str, values: Sequence[Any]) -> str:
        path = tmp_path / f"{name}.jsonl"
        rows = [
            {"id": example.id, "answer": value}
            for example, value in zip(examples, values, strict=False)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return str(path)

    return write


def test_a_run_without_readable_similarities_is_shown_as_not_defined(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    runs = str(tmp_path / "runs")
    good = answers("good", [1, 2, 3, 4, 5, 1])
    other = answers("other", [2, 2, 3, 5, 5, 1])
    mute = answers("mute", [None] * 6)
    models = [f"좋음=replay:{good}", f"다른=replay:{other}", f"無口=replay:{mute}"]
    words = [word for model in models for word in ("--model", model)]
    done = nikawa("run", *words, "--tasks", TASK, "--out", runs, "--workers", "1")
    assert done.returncode == 0, done.stderr
    listed = nikawa("run", "list", "--out", runs)
    [line] = [line for line in listed.stdout.splitlines() if "無口--" in line]
    assert "pearson is not defined: 0 of 6 items have a readable answer" in line
    report = tmp_path / "report"
    made = nikawa("report", runs, "--out", str(report))
    assert made.returncode == 0, made.stderr
    assert f"{TASK}: 無口 has no score and is not compared: 0 of 6 items" in made.stdout
    [section] = json.loads((report / "numbers.json").read_text("utf-8"))["sections"]
    rows = {row["system"]: row for row in section["rows"]}
    assert rows["無口"]["metrics"]["pearson"]["value"] is None
    assert rows["無口"]["undefined"].startswith("0 of 6 items")
    assert {(pair["first"], pair["second"]) for pair in section["pairs"]} <= {
        ("좋음", "다른"),
        ("다른", "좋음"),
    }
    assert section["pairs"][0]["difference"]["n"] == 6  # the others lose no item to it
    page = (report / "index.html").read_text("utf-8")
    assert "<b>無口</b> is not defined and is not compared" in page


def test_a_slice_counts_its_examples_and_not_the_answers_of_the_best_system(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    """A correlation leaves unread answers out, and the system with fewest may be the first of the page."""
    _, examples = load_task(TASK, "test")
    gold = [example.gold["score"] for example in examples]
    half = answers("half", [value if i % 2 else None for i, value in enumerate(gold)])
    whole = answers("whole", [value if i else 5 - value for i, value in enumerate(gold)])
    runs, report = str(tmp_path / "runs"), tmp_path / "report"
    models = ("--model", f"half=replay:{half}", "--model", f"whole=replay:{whole}")
    assert nikawa("run", *models, "--tasks", TASK, "--out", runs, "--workers", "1").returncode == 0
    assert nikawa("report", runs, "--out", str(report)).returncode == 0
    [section] = json.loads((report / "numbers.json").read_text("utf-8"))["sections"]
    assert [row["system"] for row in section["rows"]] == ["half", "whole"]
    page = (report / "index.html").read_text("utf-8")
    table = page[page.index("All slices as a table") :].partition("</table>")[0]
    shown = [int(n) for n in re.findall(r'#/slices/\d+/n"[^>]*>([\d,]+)<', table)]
    sizes: dict[tuple[str, str], int] = {}
    for file in (report / "analyses").glob(f"{TASK}--*.json"):
        for part in json.loads(file.read_bytes())["slices"]:
            key = (part["by"], part["where"])
            sizes[key] = max(sizes.get(key, 0), part["n"])
    assert sorted(shown) == sorted(sizes.values())


def test_a_folder_of_systems_without_a_file_for_a_task(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    for name in ("mini-ja-nli", "mini-ja-qa"):
        answers(name, [1, 2, 3, 4, 5, 1])
    words = ("run", "--model", f"系=replay:{tmp_path}", "--tasks", TASK, "--workers", "1")
    done = nikawa(*words, "--out", str(tmp_path / "runs"))
    assert done.returncode == 2
    assert f"put {TASK} into the file name" in done.stderr


def test_reasons_with_commas_are_separated_by_semicolons(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    """A reason may hold commas: it lists the labels."""
    _, examples = load_task("mini-ja-nli", "test")
    path = tmp_path / "nli.jsonl"
    texts = ["よく分かる。", "矛盾とは言えません。"] + ["含意"] * (len(examples) - 2)
    rows = [{"id": e.id, "answer": t} for e, t in zip(examples, texts, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    words = ("--tasks", "mini-ja-nli", "--out", str(tmp_path / "runs"), "--workers", "1")
    done = nikawa("run", "--model", f"系=replay:{path}", *words)
    assert "neutral; 1 says what the answer is not);" in done.stdout


def test_a_report_names_the_runs_that_are_not_finished(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    for name in ("完了", "途中"):
        file = answers(name, [1, 2, 3, 4, 5, 1])
        words = ("--tasks", TASK, "--out", str(runs), "--workers", "1")
        nikawa("run", "--model", f"{name}=replay:{file}", *words)
    [half] = runs.glob("*途中*")
    (half / "done.json").unlink()
    made = nikawa("report", str(runs), "--out", str(tmp_path / "report"))
    assert f"skipped, not finished: {half.name} (1 run)" in made.stdout
    made = nikawa("report", str(runs), "--out", str(tmp_path / "again"), "--json")
    assert json.loads(made.stdout)["left_out"] == {"not finished": [half.name]}


def test_the_command_on_a_page_finds_the_run_again(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    """Settings that are no plain words, such as expressions, are written as the command line reads them."""
    file = answers("long", [f"理由は略す。'<{value}>' とする" for value in (1, 2, 3, 4, 5, 1)])
    words = ("run", "--model", f"長い=replay:{file}", "--tasks", TASK, "--workers", "1")
    runs, report = str(tmp_path / "runs"), tmp_path / "report"
    done = nikawa(*words, "--out", runs, "--extract", "'<.+>'", "--extract", "<(.)>")
    assert done.returncode == 0, done.stderr
    assert nikawa("report", runs, "--out", str(report)).returncode == 0
    page = (report / "index.html").read_text("utf-8")
    shown = (
        page[page.index("Reproduce these numbers") :].partition("<pre")[2].partition("</pre>")[0]
    )
    command = unescape(re.sub("<[^>]*>", "", shown.partition(">")[2])).splitlines()[0]
    program, *pasted = shlex.split(command)
    assert program == "nikawa"
    done = nikawa(*pasted)
    assert done.returncode == 0, done.stderr
    assert "0 runs done, 1 already done" in done.stdout
    nikawa(*words, "--out", runs)  # the same name with other settings is another row
    shown = nikawa("analyse", runs, "--resamples", "100", "--tokeniser", "none").stdout
    assert """長い [extract=["'<.+>'","<(.)>"]]""" in shown
    assert "長い [default settings]" in shown


def test_compare_names_the_system_that_is_not_defined(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str]
) -> None:
    good, other = answers("good", [1, 2, 3, 4, 5, 1]), answers("other", [2, 2, 3, 5, 5, 1])
    nearly = answers("nearly", [3, *["分かりません"] * 5])
    compared = nikawa("compare", good, other, nearly, "--task", TASK, "--rounds", "100")
    assert compared.returncode == 0, compared.stderr
    told = f"nearly has no score on {TASK} and is in no pair: 1 of 6 items have a readable answer"
    assert told in compared.stdout
    value = json.loads(
        nikawa("compare", good, nearly, "--task", TASK, "--rounds", "100", "--json").stdout
    )
    assert [each["system"] for each in value["undefined"]] == ["nearly"]
    assert not value["pairs"]


def test_folders_keep_japanese_and_korean_names(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    runs, file = tmp_path / "runs", answers("good", [1, 2, 3, 4, 5, 1])
    names = ["東北大BERT/大", "한국어 모델", normalize("NFD", "がぎぐ 각"), "☆", LONG_NAME[:80]]
    words = [word for name in names for word in ("--model", f"{name}=replay:{file}")]
    done = nikawa("run", *words, "--tasks", TASK, "--out", str(runs), "--workers", "1")
    assert done.returncode == 0, done.stderr
    middles = [path.name.split("--")[1] for path in sorted(runs.glob("*--*"))]
    expected = ["東北大BERT-大", "한국어-모델", "がぎぐ-각", "replay-good.jsonl", LONG_NAME[:48]]
    assert sorted(middles) == sorted(expected)
    for folder in runs.glob("*--*"):
        assert len(folder.name.encode()) <= 240
        assert folder.name == normalize("NFC", folder.name)
    report = tmp_path / "report"
    made = nikawa("report", str(runs), "--out", str(report), "--rounds", "100")
    assert made.returncode == 0, made.stderr
    names_written = [path.name for path in report.rglob("*")]
    assert any("東北大BERT-大" in name for name in names_written)
    assert all(len(name.encode()) <= 255 for name in names_written)


def test_a_run_under_an_older_name_is_found_and_not_done_again(
    nikawa: Nikawa, answers: Callable[[str, Sequence[Any]], str], tmp_path: Path
) -> None:
    runs, file = tmp_path / "runs", answers("good", [1, 2, 3, 4, 5, 1])
    words = ("run", "--model", f"日本語モデル=replay:{file}", "--tasks", TASK, "--out", str(runs))
    nikawa(*words, "--workers", "1")
    [stored] = stored_runs(runs)
    assert stored.path.name == f"{TASK}--日本語モデル--{stored.spec.hash}"
    older = stored.path.with_name(f"{TASK}--replay-good.jsonl--{stored.spec.hash}")
    stored.path.rename(older)
    again = nikawa(*words, "--workers", "1", "--json")
    report = json.loads(again.stdout)
    assert (report["done"], report["skipped"]) == (0, 1)
    assert report["cells"][0]["runs"] == [older.name]
    assert [path.name for path in runs.glob("*--*")] == [older.name]
    assert msgspec.json.decode((older / RUN).read_bytes(), type=RunSpec).hash in older.name


@pytest.mark.parametrize(
    ("config", "is_refused"),
    [
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, True),
        ({"model_type": "gpt_neox_japanese", "architectures": ["GPTNeoXJapaneseModel"]}, True),
        ({"model_type": "some-new-one", "architectures": ["NewForCausalLM"]}, True),
        ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, False),
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, False),
        ({"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"]}, False),
        ({"model_type": "t5", "is_encoder_decoder": True}, False),
    ],
)
def test_a_decoder_only_checkpoint_is_called_one_before_it_is_loaded(
    nikawa: Nikawa, tmp_path: Path, config: dict[str, Any], is_refused: bool
) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    out = tmp_path / "runs"
    words = ("run", "--model", f"encoder:{folder}", "--tasks", TASK, "--out", str(out))
    if not is_refused:
        from nikawa.models.encoder.checkpoint import refuse_decoder

        refuse_decoder(str(folder))
        return
    refused = nikawa(*words)
    assert refused.returncode == 2
    [line] = refused.stderr.splitlines()
    assert "is a decoder-only language model" in line
    assert "run it as it is with --model lm:" in line
    assert not out.exists()
