"""`nikawa data export --to TOOL`: what is written, what is refused, and that the bytes depend on nothing but the input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import jinja2
import pytest
from msgspec.structs import replace
from tests.interop.export_items import KINDS, read_rows, write_dataset

import nikawa as nk
from nikawa.cli.data import TOOLS
from nikawa.datasets.import_table import FIELDS
from nikawa.datasets.load import load, load_task
from nikawa.datasets.task_lookup import find_tasks
from nikawa.errors import BadInput
from nikawa.exchange import export_tools
from nikawa.exchange.base import ToolExport
from nikawa.exchange.describe import describe_task
from nikawa.exchange.tools.lighteval import number_data
from nikawa.exchange.tools.lm_eval import write_config
from nikawa.io.cards import blank_card
from nikawa.io.folders import write_folder
from nikawa.models.chat.conversation import begin_conversation
from nikawa.models.chat.settings import ChatSettings

Nikawa = Callable[..., CompletedProcess[str]]


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_command_line_names_every_tool() -> None:
    assert sorted(TOOLS) == sorted(export_tools())


@pytest.mark.parametrize("tool", TOOLS)
def test_the_same_bytes_every_time(tool: str, tmp_path: Path) -> None:
    """In any folder and from a copy at another place; and a README with a command."""
    shots = 2
    nk.export("mini-ja", tool, tmp_path / "a", shots=shots, seed=3)
    nk.export("mini-ja", tool, tmp_path / "deep" / "b", shots=shots, seed=3)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "deep" / "b")
    everything = b"".join(files_of(tmp_path / "a").values())
    assert str(tmp_path).encode() not in everything
    readme = (tmp_path / "a" / "README.md").read_text()
    assert "```sh" in readme
    assert export_tools()[tool].versions[0] in readme


def test_prompts_are_those_of_chat_models(tmp_path: Path) -> None:
    """System prompt, few-shot examples and questions equal what `chat:` sends."""
    nk.export("mini-ja-nli:test", "inspect", tmp_path / "out", shots=3, seed=5)
    task, examples = load_task("mini-ja-nli", "test")
    pool = [example for example in load("mini-ja").splits["train"] if task.asks(example)]
    conversation = begin_conversation(task, examples, pool, ChatSettings(shots=3), 5)

    def format_shot(shot: Any) -> str:
        return conversation.questions.format_gold(shot, shot.gold[task.question], as_json=False)

    shots = read_rows(tmp_path / "out", "nikawa_mini_ja_nli_shots")
    before = [
        {"role": role, "content": shot[field]}
        for shot in shots
        for role, field in (("user", "nikawa_prompt"), ("assistant", "nikawa_answer"))
    ]
    assert repr(conversation.system) in (tmp_path / "out/nikawa_mini_ja_nli.py").read_text()
    rows = read_rows(tmp_path / "out", "nikawa_mini_ja_nli_test")
    for example, row in zip(examples, rows, strict=True):
        system, *others = conversation.messages(example, format_shot)
        assert system["content"] == conversation.system
        assert others == [*before, {"role": "user", "content": row["nikawa_prompt"]}]


def test_an_evaluated_item_is_never_a_few_shot_example(tmp_path: Path) -> None:
    dataset = load(str(write_dataset("text", tmp_path)))
    train = dataset.splits["train"]
    leaking = nk.Dataset(
        name="leaking",
        language="ja",
        version="1",
        card=dataset.card,
        splits={"train": train, "test": (*dataset.splits["test"], train[0], train[1])},
    )
    leaking.export("inspect", tmp_path / "out", shots=2)
    shots = read_rows(tmp_path / "out", "nikawa_leaking_shots")
    assert {shot["text"] for shot in shots} == {train[2].inputs["text"], train[3].inputs["text"]}
    with pytest.raises(nk.BadInput, match="3 few-shot examples were requested"):
        leaking.export("inspect", tmp_path / "more", shots=3)
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_exported_or_refused_with_the_reason(
    nikawa: Nikawa, tool: str, kind: str, tmp_path: Path
) -> None:
    path, out = write_dataset(kind, tmp_path), tmp_path / "out"
    done = nikawa("data", "export", str(path), "--to", tool, "--out", str(out))
    declared = export_tools()[tool]
    (task,) = find_tasks(str(path))
    reason = "" if kind in declared.kinds else declared.refused[task.kind]
    if (
        not reason
        and declared.metrics is not None
        and not declared.metrics.keys() & {*task.metrics}
    ):
        reason = "it has none of its metrics"
    if reason:
        assert done.returncode == 2
        assert reason in done.stderr
        assert not out.exists()
    else:
        assert done.returncode == 0, done.stderr
        assert (out / "README.md").is_file()


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_is_imported_whole(kind: str, tmp_path: Path) -> None:
    """Inputs and gold come back, from the file of each tool, with the few-shot examples as train."""
    path = write_dataset(kind, tmp_path)
    (task,) = find_tasks(str(path))
    before = load(str(path)).splits["test"]
    for tool, pattern in (
        ("lm-eval", "*_test.yaml"),
        ("inspect", "*.py"),
        ("flexeval", "*_test.jsonnet"),
    ):
        exported = tmp_path / tool
        nk.export(str(path), tool, str(exported), shots=1)
        (file,) = exported.glob(pattern)
        if task.kind not in FIELDS:
            with pytest.raises(BadInput, match="cannot represent"):
                nk.import_task(tool, str(file), str(tmp_path / "back"))
            continue
        report = nk.import_task(tool, str(file), str(tmp_path / f"{tool}-back"))
        assert (report.kind, report.question, report.splits["train"]) == (
            task.kind,
            task.question,
            1,
        )
        after = load(report.out).splits["test"]
        keep = task.inputs
        for old, new in zip(before, after, strict=True):
            assert new.id == old.id
            assert {n: new.inputs[n] for n in keep} == {n: old.inputs[n] for n in keep}
            assert new.gold == {task.question: old.gold[task.question]}


def test_a_split_gets_its_name_back(tmp_path: Path) -> None:
    """`ood-test` of JCoLA is `ood_test` in the names of tasks, and is scored by its own name again."""
    items = [
        nk.Example(id=str(i), inputs={"text": f"{i}!"}, gold={"label": "ab"[i % 2]})
        for i in range(4)
    ]
    dataset = nk.Dataset(
        name="set",
        language="ja",
        version="1",
        card=blank_card("set", "ja"),
        splits={"test": tuple(items[:2]), "ood-test": tuple(items[2:])},
    )
    write_folder(dataset, tmp_path / "set")
    nk.export(str(tmp_path / "set"), "inspect", str(tmp_path / "out"))
    (file,) = (tmp_path / "out").glob("*.py")
    report = nk.import_task("inspect", str(file), str(tmp_path / "back"))
    assert report.splits == {"test": 2, "ood-test": 2}


def test_refusals(nikawa: Nikawa, tmp_path: Path) -> None:
    """Nothing is overwritten, unknown versions and options of other formats are refused."""
    out = str(tmp_path / "out")
    words = ("data", "export", "mini-ja-nli", "--to", "lm-eval", "--out", out)
    assert nikawa(*words).returncode == 0
    for more, reason in (
        ((), "already exists"),
        (("--overwrite", "--tool-version", "0.1"), "there is no version of lm-eval '0.1'"),
        (("--overwrite", "--shots", "999"), "999 few-shot examples were requested"),
    ):
        done = nikawa(*words, *more)
        assert done.returncode == 2
        assert reason in done.stderr
    assert nikawa(*words, "--overwrite", "--tool-version", "0.4.13").returncode == 0
    (tmp_path / "out" / "mine.txt").write_text("mine")
    done = nikawa(*words, "--overwrite")
    assert "contains 'mine.txt', which an export did not write" in done.stderr
    done = nikawa("data", "export", "mini-ja", "--to", "hf", "--out", out, "--shots", "1")
    assert "--shots is for tools" in done.stderr
    done = nikawa("data", "export", "jglue", "--to", "inspect", "--out", out)
    assert "several datasets" in done.stderr


def test_hidden_labels_are_left_out(nikawa: Nikawa, tmp_path: Path) -> None:
    """The task of a hidden split collects replies and names the address; no label is in any file."""
    path = write_dataset("inference", tmp_path)
    public, keys = tmp_path / "public", tmp_path / "keys.jsonl"
    done = nikawa(
        *("data", "hide", str(path), "--split", "test", "--out", str(public), "--keys", str(keys))
    )
    assert done.returncode == 0, done.stderr
    card = json.loads((public / "card.json").read_text())
    card["homepage"] = "https://harbour.example/submit"
    (public / "card.json").write_text(json.dumps(card, ensure_ascii=False))
    for tool in TOOLS:
        out = tmp_path / tool
        if export_tools()[tool].needs_gold:
            done = nikawa("data", "export", str(public), "--to", tool, "--out", str(out))
            assert "whose labels are hidden" in done.stderr
            assert not out.exists()
            continue
        done = nikawa(
            "data", "export", str(public), "--to", tool, "--out", str(out), "--shots", "2"
        )
        assert done.returncode == 0, done.stderr
        assert "hidden" in done.stdout
        (data,) = (out / "data").glob("*_test*")
        rows = read_rows(out, data.stem)
        assert rows
        assert not any("gold" in row or row["nikawa_answer"] for row in rows)
        assert "https://harbour.example/submit" in (out / "README.md").read_text()


def test_the_python_door(tmp_path: Path) -> None:
    """A name, an object in memory and a split give the same tasks; a format gives a folder."""
    by_name = nk.export("mini-ko", "inspect", tmp_path / "name", split="test")
    by_object = nk.load("mini-ko").export("inspect", tmp_path / "object", split="test")
    assert by_name is not None
    assert by_object.tasks == by_name.tasks
    assert files_of(tmp_path / "name") == files_of(tmp_path / "object")
    assert nk.export("mini-ko", "jsonl", tmp_path / "plain") is None
    assert len(nk.load(str(tmp_path / "plain"))) == len(nk.load("mini-ko"))
    with pytest.raises(nk.BadInput, match="overwrite=True"):
        nk.export("mini-ko", "inspect", tmp_path / "name")


def test_braces_in_an_instruction_are_text(tmp_path: Path) -> None:
    """lm-eval renders the description as a Jinja template, llm-jp-eval as a format string."""
    path = write_dataset("odd", tmp_path)
    (task,) = find_tasks(str(path))
    export = describe_task(load(str(path)), task, ["test"], shots=4, tool=export_tools()["inspect"])
    assert "{% endraw %}" in export.system
    (line,) = re.findall("^description: (.*)$", write_config(export, "test"), re.MULTILINE)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    assert environment.from_string(json.loads(line)).render() == export.system + "\n\n"
    nk.export(str(path), "llm-jp-eval", tmp_path / "out", split="test", shots=4)
    (name,) = (file.name for file in (tmp_path / "out" / "evaluation").iterdir())
    train = json.loads((tmp_path / "out" / "train" / name).read_text())
    test = json.loads((tmp_path / "out" / "evaluation" / name).read_text())
    assert train["instruction"].format() == export.system
    assert test["few_shots"] == train["samples"]
    assert [shot["input"].format() for shot in train["samples"]] == [
        row["nikawa_prompt"] for row in export.shots
    ]
    rows = export.splits["test"]
    pairs = [(sample["input"], sample["output"]) for sample in test["samples"]]
    assert pairs == [(row["nikawa_prompt"], row["nikawa_answer"]) for row in rows]


def test_the_version_of_a_lighteval_task_follows_its_data(tmp_path: Path) -> None:
    """lighteval reuses replies by the version of a task and the place of an item."""
    path = write_dataset("text", tmp_path)
    (task,) = find_tasks(str(path))
    tool = export_tools()["lighteval"]

    def number(**settings: Any) -> int:
        return number_data(
            describe_task(load(str(path)), task, ["test"], tool=tool, **settings), "test"
        )

    assert number(shots=2) == number(shots=2) < 10**9
    assert len({number(), number(shots=1), number(shots=2), number(shots=2, seed=1)}) == 4


def test_a_prompt_in_the_language_of_the_dataset(tmp_path: Path) -> None:
    """Texts without Japanese characters have no English prompt; then the language of the dataset counts."""
    items = [
        nk.Example(id=str(i), inputs={"text": f"{i}!"}, gold={"label": "ab"[i % 2]})
        for i in range(4)
    ]
    for language in ("ja", "en"):
        card = blank_card("numbers", language)
        write_folder(
            nk.Dataset(
                name="numbers",
                language=language,
                version="1",
                card=card,
                splits={"test": tuple(items)},
            ),
            tmp_path / language,
        )
    nk.export(str(tmp_path / "ja"), "inspect", tmp_path / "out")
    assert "text.ja.txt" in (tmp_path / "out" / "README.md").read_text()
    with pytest.raises(nk.BadInput, match="no prompt for text tasks in 'en'; pass a prompt file"):
        nk.export(str(tmp_path / "en"), "inspect", tmp_path / "more")


def test_lm_eval_gets_the_metrics_that_it_lists(tmp_path: Path) -> None:
    """It takes the mean of any other value, which a judged reply does not have."""
    path = write_dataset("relation", tmp_path)
    (task,) = find_tasks(str(path))
    scored = replace(task, metrics=("relation-micro-f1", "auprc"))  # those of KLUE-RE
    dataset = load(str(path))
    unlabelled = [replace(example, gold={}) for example in dataset.splits["test"]]
    dataset = replace(dataset, splits={"dev": dataset.splits["test"], "test": tuple(unlabelled)})
    export = describe_task(dataset, scored, ["dev", "test"], tool=export_tools()["lm-eval"])
    whole = ToolExport((export,), "0.4.13", export.title, export.card)
    files = dict(export_tools()["lm-eval"].write(whole))
    module = ModuleType("exported")
    module.__file__ = str(tmp_path / "exported.py")
    exec(files[f"{export.name}.py"], module.__dict__)
    likelihoods = [(-1.0, False)] * len(task.labels)
    for name, split, results, metrics in (
        ("dev", "dev", ["B"], {"relation-micro-f1", "unread"}),
        ("test", "test", ["B"], {"unread"}),
        ("dev_loglik", "dev", likelihoods, {"relation-micro-f1", "auprc", "unread"}),
    ):
        config = files[f"{export.name}_{name}.yaml"]
        (judge,) = re.findall(r"^process_results: !function \w+\.(\w+)$", config, re.MULTILINE)
        values = getattr(module, judge)(export.splits[split][0], results)
        assert set(values) == metrics == {*re.findall(r"- metric: (\S+)", config)}
    assert f"{export.name}_test_loglik.yaml" not in files
    (tmp_path / "mixed.jsonl").write_text('{"id": "0"}\n{"id": "1", "gold": "2"}\n')
    assert module.read_rows("mixed.jsonl") == [{"id": "0", "gold": None}, {"id": "1", "gold": "2"}]
