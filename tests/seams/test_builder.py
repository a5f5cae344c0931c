"""What a newcomer meets who builds a dataset by the docs alone: from a release on into other splits, from reports into
a build that waits, from exports and aggregated gold into the next command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.recipes.sheet_walk import read_sheet, write_sources

from nikawa.api import load_task
from nikawa.collect.job import create
from nikawa.collect.sources import NewProject
from nikawa.io.records import read_examples, write_records
from nikawa.records import Example, Judgement

Run = Callable[..., CompletedProcess[str]]


def run_well(nikawa: Run, *words: str) -> str:
    """What a command prints; it must not fail."""
    done = nikawa(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def released(nikawa: Run, tmp_path: Path) -> Path:
    """A release of reviews; its examples are numbered anew in each split."""
    write_sources("marc-ja", tmp_path)
    config = str(tmp_path / "config.toml")
    out = str(tmp_path / "trial")
    run_well(nikawa, "build", "marc-ja", "--config", config, "--out", out, "--simulate", "1")
    return tmp_path / "trial"


def test_a_release_that_is_split_again_keeps_its_lineage(
    nikawa: Run, released: Path, tmp_path: Path
) -> None:
    before = {entry["item"]: entry for entry in read_lines(released / "lineage.jsonl")}
    parts = tmp_path / "parts"
    words = ("split", str(released), "--by", "random", "--sizes", "0.5,0.5", "--out", str(parts))
    run_well(nikawa, *words)
    after = read_lines(parts / "lineage.jsonl")
    assert {entry["item"] for entry in after} == set(before)
    texts = {
        f"{split}/{example.id}": example.inputs
        for split in ("train", "test")
        for example in read_examples(parts / f"{split}.jsonl")
    }
    for entry in after:
        name = entry["example"].partition(":")[2]
        old = before[entry["item"]]
        assert entry["inputs"] == texts.pop(name)
        assert entry["split"] == name.partition("/")[0]
        for key in ("sources", "judgements", "gold", "recipe"):
            assert entry.get(key) == old.get(key)
        split = {"stage": "split", "item": name.partition("/")[2], "rule": "random, seed 0"}
        assert entry["steps"] == [*old["steps"], split]
    assert not texts
    name = after[0]["example"].partition(":")[2]
    assert before[after[0]["item"]]["item"] in run_well(nikawa, "lineage", name, "--in", str(parts))
    # one split of it, in place of the whole
    run_well(nikawa, *words[:1], f"{released}:train", *words[2:], "--overwrite")
    count = sum(entry["split"] == "train" for entry in before.values())
    assert len(read_lines(parts / "lineage.jsonl")) == count
    # a dataset without a lineage leaves none of another behind
    run_well(nikawa, *words[:1], "mini-ja", *words[2:], "--overwrite")
    assert not list(parts.glob("lineage*"))


def test_a_split_counts_the_ids_it_changes(nikawa: Run, tmp_path: Path) -> None:
    folder = tmp_path / "numbered"
    folder.mkdir()
    for split, count in (("train", 5), ("test", 3)):
        examples = [
            Example(id=str(n), inputs={"text": f"{split}の{n}番目の文。"}, gold={"label": "yes"})
            for n in range(count)
        ]
        write_records(folder / f"{split}.jsonl", examples)
    run_well(nikawa, "data", "card", str(folder))
    words = ("--by", "random", "--sizes", "0.5,0.5")
    printed = run_well(nikawa, "split", str(folder), *words)
    assert "6 examples have an id that also occurs in another split" in printed
    assert json.loads(run_well(nikawa, "split", str(folder), *words, "--json"))["renamed"] == 6
    one = json.loads(run_well(nikawa, "split", f"{folder}:train", *words, "--json"))
    assert "renamed" not in one


def test_hidden_labels_stay_hidden_in_a_lineage_that_is_split(
    nikawa: Run, released: Path, tmp_path: Path
) -> None:
    path = released / "test.jsonl"
    rows = read_lines(path)
    for row in rows:
        row["origin"] = {**row.get("origin", {}), "gold": "hidden"}
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    words = ("split", str(released), "--by", "random", "--sizes", "0.5,0.5")
    run_well(nikawa, *words, "--out", str(tmp_path / "open"))
    run_well(nikawa, *words, "--out", str(tmp_path / "kept"), "--hidden")
    for folder, shows in (("open", False), ("kept", True)):
        entries = read_lines(tmp_path / folder / "lineage.jsonl")
        hidden = [e for e in entries if e["inputs"] in [row["inputs"] for row in rows]]
        assert len(hidden) == len(rows)
        for entry in hidden:
            assert bool(entry.get("gold")) is shows
            assert bool(entry.get("judgements")) is shows


def test_a_build_that_waits_names_reported_items(nikawa: Run, tmp_path: Path) -> None:
    """A project sets an item aside that two workers report; the build lacks its answers for that reason."""
    run = write_sources("marc-ja", tmp_path)
    (waiting,) = run().waiting
    assert not waiting.reported
    sheet, tasks = read_sheet(tmp_path / "out", waiting.ask)
    first, *others = (example.id for example in read_examples(tasks))
    answers = [
        Judgement(example=item, worker=f"w{n}", question=sheet.question, answer="positive")
        for item in others
        for n in range(sheet.workers)
    ]
    reports = [
        Judgement(example=first, worker=f"w{n}", question="report", answer="broken", kind="report")
        for n in range(2)
    ]
    write_records(tasks.with_name("answers.jsonl"), [*answers, *reports])
    (waiting,) = run().waiting
    assert (waiting.lacking, waiting.reported) == (1, (first,))
    config = str(tmp_path / "config.toml")
    words = ("build", "marc-ja", "--config", config, "--out", str(tmp_path / "out"))
    assert f"workers reported {first}: decide or reopen" in run_well(nikawa, *words)


def test_a_build_takes_a_folder_with_a_file_a_worker(nikawa: Run, tmp_path: Path) -> None:
    """As doccano has them, with the owner's decisions in a file beside the folder."""
    run = write_sources("marc-ja", tmp_path)
    (waiting,) = run().waiting
    sheet, tasks = read_sheet(tmp_path / "out", waiting.ask)
    project = str(tmp_path / "p")
    run_well(nikawa, "collect", "new", project, "--examples", str(tasks))
    items = [example.id for example in read_examples(tasks)]
    answers = [
        Judgement(
            example=item,
            worker=f"w{n}",
            question=sheet.question,
            answer="positive",
            comment="" if n else "迷った",
        )
        for item in items
        for n in range(sheet.workers)
    ]
    decision = Judgement(
        example=items[0],
        worker="decision:rin",
        question=sheet.question,
        answer="negative",
        kind="decision",
        comment="皮肉",
    )
    write_records(tmp_path / "j.jsonl", [*answers, decision])
    run_well(nikawa, "collect", "import", project, str(tmp_path / "j.jsonl"))
    folder = tasks.with_name("answers")
    run_well(nikawa, "collect", "export", project, "--to", "doccano", "--out", str(folder))
    report = run()
    assert not report.waiting
    (asked,) = [stage for stage in report.stages if stage.name == waiting.ask]
    assert asked.wrote == {waiting.ask: len(answers)}
    assert "1 items were decided by the owner" in asked.notes
    assert {stage.state for stage in run().stages} == {"kept"}
    (folder / "w1.jsonl").unlink()  # what was answered is another now
    assert run().waiting


def test_a_release_says_which_splits_got_nothing(nikawa: Run, tmp_path: Path) -> None:
    write_sources("marc-ja", tmp_path)
    config = tmp_path / "config.toml"
    lines = [one for one in config.read_text("utf-8").splitlines() if not one.startswith("split")]

    def warn(sizes: str) -> str:
        config.write_text("\n".join([*lines, f'split = "{sizes}"', ""]), "utf-8")
        out = str(tmp_path / sizes)
        done = nikawa("build", "marc-ja", "--config", str(config), "--out", out, "--simulate", "1")
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "no example is in dev, test: " in warn("0.98,0.01,0.01")
    assert "no example is in" not in warn("rest,0,0")


def test_a_build_that_ends_with_nothing_names_every_stage_that_lost_all(
    nikawa: Run, tmp_path: Path
) -> None:
    """JNLI has two flows: to mend one of them alone brings back half of the items."""
    write_sources("jnli", tmp_path)
    config = tmp_path / "config.toml"
    changed = {"edit_distance": 0.0001, "similarity_variance": 0.0001, "similarity_workers": 20}
    lines = [
        line
        for line in config.read_text("utf-8").splitlines()
        if line.partition("=")[0].strip() not in changed
    ]
    lines += [f"{name} = {value}" for name, value in changed.items()]
    config.write_text("\n".join([*lines, ""]), "utf-8")
    words = ("--config", str(config), "--out", str(tmp_path / "o"), "--simulate", "1")
    done = nikawa("build", "jnli", *words)
    assert done.returncode == 2
    (message,) = done.stderr.splitlines()
    assert "the stage scored-a dropped all" in message
    assert "the stage written dropped all" in message
    assert "change similarity_variance, edit_distance in the config" in message


def test_an_export_says_what_is_in_which_file(nikawa: Run, tmp_path: Path) -> None:
    examples = [Example(id=f"i{n}", inputs={"text": f"{n}番目の文。"}) for n in range(2)]
    write_records(tmp_path / "items.jsonl", examples)
    options = {"labels": ["良い", "悪い"]}
    create(tmp_path / "p", str(tmp_path / "items.jsonl"), NewProject("choice", 2, options=options))
    judgements = [
        Judgement(
            example=one.id, worker=worker, question="label", answer="良い", seconds=2.5, comment="?"
        )
        for one in examples
        for worker in ("花", "民")
    ]
    write_records(tmp_path / "j.jsonl", judgements)
    run_well(nikawa, "collect", "import", str(tmp_path / "p"), str(tmp_path / "j.jsonl"))
    # the time that workers took elsewhere is theirs
    status = json.loads(run_well(nikawa, "collect", "status", str(tmp_path / "p"), "--json"))
    assert [(one["seconds"], one["mean_seconds"]) for one in status["workers"]] == [(5.0, 2.5)] * 2

    def write(form: str, name: str) -> CompletedProcess[str]:
        words = ("collect", "export", str(tmp_path / "p"), "--to", form)
        return nikawa(*words, "--out", str(tmp_path / name))

    assert "2 tasks with their judgements written" in write("label-studio", "tasks.json").stdout
    sheet = write("yahoo", "sheet.tsv").stdout
    assert "4 judgements written" in sheet
    assert "Copy or rename both files together: sheet.tsv.remarks.jsonl is read with" in sheet
    texts = write("examples", "texts.jsonl")
    assert texts.returncode == 2
    assert "remove --to examples: the answers of this form are judgements" in texts.stderr


def test_a_folder_of_gold_says_what_to_name(nikawa: Run, tmp_path: Path) -> None:
    write_records(tmp_path / "items.jsonl", [Example(id="a", inputs={"text": "雨が降る。"})])
    answers = [
        Judgement(example="a", worker=worker, question="label", answer="yes") for worker in "xyz"
    ]
    write_records(tmp_path / "j.jsonl", answers)
    words = ("aggregate", str(tmp_path / "j.jsonl"), "--rule", "majority", "--out")
    run_well(nikawa, *words, str(tmp_path / "bare"))
    run_well(nikawa, *words, str(tmp_path / "gold"), "--examples", str(tmp_path / "items.jsonl"))
    bare = nikawa("data", "show", str(tmp_path / "bare"))
    assert bare.returncode == 2
    assert "run nikawa aggregate again with --examples FILE" in bare.stderr
    gold = nikawa("data", "check", str(tmp_path / "gold"))
    assert gold.returncode == 2
    cure = gold.stderr.strip().rpartition("pass its examples: ")[2]
    assert cure == str(tmp_path / "gold" / "examples.jsonl")
    run_well(nikawa, "data", "show", cure)


def test_one_worker_of_a_tool_that_writes_a_file_each(nikawa: Run) -> None:
    folder = Path(__file__).parent / "data" / "doccano" / "classification_jsonl"
    alone = nikawa("agree", str(folder / "hanako.jsonl"))
    assert alone.returncode == 2
    assert "if each worker has a separate file, pass their folder" in alone.stderr
    assert "4 items, 2 workers" in run_well(nikawa, "agree", str(folder))
    unruled = nikawa("aggregate", str(folder))
    assert "the aggregation rule is missing; pass --rule RULE, such as majority" in unruled.stderr


def test_blanks_of_a_decided_label_stay_in_the_sheet_of_decisions(
    nikawa: Run, tmp_path: Path
) -> None:
    label = "とても　良い  方"  # a full-width blank, and two others
    write_records(tmp_path / "items.jsonl", [Example(id="あ　1", inputs={"text": "雨が降る。"})])
    options = {"labels": [label, "悪い"]}
    create(tmp_path / "p", str(tmp_path / "items.jsonl"), NewProject("choice", 2, options=options))
    answers = [
        Judgement(example="あ　1", worker=worker, question="label", answer=answer)
        for worker, answer in (("花", label), ("民", "悪い"))
    ]
    decision = Judgement(
        example="あ　1",
        worker="decision:rin",
        question="label",
        answer=label,
        kind="decision",
        comment="一行目\n二行目",
    )
    write_records(tmp_path / "j.jsonl", [*answers, decision])
    write_records(tmp_path / "votes.jsonl", answers)
    run_well(nikawa, "collect", "import", str(tmp_path / "p"), str(tmp_path / "j.jsonl"))
    sheet = str(tmp_path / "decided.tsv")
    run_well(nikawa, "collect", "export", str(tmp_path / "p"), "--to", "decisions", "--out", sheet)
    words = ("--rule", "majority", "--adjudicated", sheet, "--out", str(tmp_path / "gold"))
    run_well(nikawa, "aggregate", str(tmp_path / "votes.jsonl"), *words)
    (gold,) = read_lines(tmp_path / "gold" / "gold.jsonl")
    assert gold == {"example": "あ　1", "gold": {"label": label}}
    (item,) = read_lines(tmp_path / "gold" / "items.jsonl")
    assert item["reason"] == "一行目 二行目"


def write_votes(folder: Path, votes: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    """Examples and the answers of workers about them; returns both paths."""
    pairs = [
        Example(
            id=item,
            inputs={
                "premise": f"{item}番の船が港に着いた。",
                "hypothesis": f"{item}番の船が出た。",
            },
        )
        for item in votes
    ]
    answers = [
        Judgement(example=item, worker=f"w{number}", question="label", answer=answer)
        for item, labels in votes.items()
        for number, answer in enumerate(labels)
    ]
    write_records(folder / "examples.jsonl", pairs)
    write_records(folder / "judgements.jsonl", answers)
    return str(folder / "examples.jsonl"), str(folder / "judgements.jsonl")


VOTES = {
    str(number): ("neutral", "neutral", "contradiction") if number % 2 else ("entailment",) * 3
    for number in range(8)
}
"""Two labels win; the third is chosen and never wins."""


def task_labels(nikawa: Run, folder: Path, *options: str) -> list[str]:
    """The labels that a model sees after judgements were aggregated and split."""
    examples, judgements = write_votes(folder, VOTES)
    gold, parts = str(folder / "gold"), str(folder / "parts")
    rule = () if "--rule" in options else ("--rule", "majority")
    words = ("aggregate", judgements, *rule, *options, "--examples", examples)
    run_well(nikawa, *words, "--out", gold)
    run_well(nikawa, "split", f"{gold}/examples.jsonl", "--sizes", "4,4", "--out", parts)
    return list(load_task(parts, "test")[0].labels)


def test_a_label_that_no_gold_has_stays_a_label_of_the_task(nikawa: Run, tmp_path: Path) -> None:
    assert task_labels(nikawa, tmp_path) == ["entailment", "contradiction", "neutral"]
    card = json.loads((tmp_path / "parts" / "card.json").read_text("utf-8"))
    assert card["label_sets"] == {"label": ["contradiction", "entailment", "neutral"]}
    assert card["workers_are"] == "unknown"


def test_a_label_that_nobody_chose_can_be_named(nikawa: Run, tmp_path: Path) -> None:
    named = "entailment,neutral,contradiction,other"
    labels = task_labels(nikawa, tmp_path, "--labels", named)
    assert labels == ["entailment", "contradiction", "neutral", "other"]
    folder = tmp_path / "only"
    folder.mkdir()
    only = "majority+only:entailment|neutral"
    assert task_labels(nikawa, folder, "--rule", only) == ["entailment", "neutral"]
    judgements = str(tmp_path / "judgements.jsonl")
    words = ("aggregate", judgements, "--rule", "majority", "--labels", "entailment,neutral")
    done = nikawa(*words)
    assert done.returncode == 2
    assert "workers answered contradiction, which --labels does not name" in done.stderr
