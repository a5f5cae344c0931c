"""Every function of the front door with names, paths and objects, and what it says about what it cannot use."""

from __future__ import annotations

import doctest
import itertools
import json
import pkgutil
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import msgspec
import pandas as pd
import pytest

import nikawa as nk
from nikawa import api, objects, records, tables
from nikawa.checks.hide_job import HideOptions
from nikawa.io.folders import write_folder
from nikawa.records import Dataset
from nikawa.runs.job import RunReport
from nikawa.tables import ShownAsTables

ROWS = [
    {"premise": "犬が骨を埋めた。", "hypothesis": "犬が骨を掘った。", "label": "neutral"},
    {"premise": "学生が本を読んだ。", "hypothesis": "学生が本を買った。", "label": "neutral"},
]
VOTES = [
    ("q1", "ann", "yes"),
    ("q1", "ben", "yes"),
    ("q2", "ann", "no"),
    ("q2", "ben", "yes"),
    ("q3", "ann", "no"),
    ("q3", "ben", "no"),
]


@pytest.fixture(scope="module")
def nli() -> Dataset:
    return nk.load("mini-ja").filter(lambda example: "label" in example.gold)


@pytest.fixture(scope="module")
def gold(nli: Dataset) -> dict[str, str]:
    return {example.id: example.gold["label"] for example in nli["dev"]}


def check_shown(result: ShownAsTables) -> None:
    """Short text, HTML without loose markup, a DataFrame."""
    assert 0 < len(repr(result)) < 4_000
    html = result._repr_html_()
    assert html.startswith("<style>")
    assert "nikawa-" not in repr(result).replace("nikawa-agreement", "")  # no temporary path
    assert len(result.to_pandas())


def test_score_takes_a_mapping_a_frame_a_series_predictions_plain_answers_and_a_file(
    gold: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(
        b"".join(msgspec.json.encode({"id": k, "answer": v}) + b"\n" for k, v in gold.items())
    )
    frame = pd.DataFrame({"id": list(gold), "prediction": list(gold.values())})
    shapes: list[Any] = [
        gold,
        frame,
        frame.set_index("id"),
        pd.Series(gold),
        [nk.Prediction(example=name, answer=label) for name, label in gold.items()],
        [{"id": name, "answer": label} for name, label in gold.items()],
        path,
        str(path),
    ]
    for answers in shapes:
        result = nk.score("mini-ja-nli", answers)
        assert result.report.scores[0].value == 100.0
        assert result.report.split == "dev"
    assert nk.score("mini-ja-nli:dev", list(gold.values())).report.scores[0].value == 100.0
    check_shown(nk.score("mini-ja-nli", gold, by="gold"))


def test_score_takes_a_dataset_in_memory_and_a_split(nli: Dataset, gold: dict[str, str]) -> None:
    for task in (nli, nli["dev"], list(nli["dev"])):
        result = nk.score(task, gold)
        assert result.report.scores[0].value == 100.0
        assert "/" not in result.task.dataset


def test_missing_and_unknown_ids_follow_the_rule_of_the_command_line(gold: dict[str, str]) -> None:
    some = dict(list(gold.items())[:5])
    with pytest.raises(nk.BadInput, match=r"4 of 9 items have no answer.*pass partial=True"):
        nk.score("mini-ja-nli", some)
    assert nk.score("mini-ja-nli", some, partial=True).report.missing == 4
    assert nk.score("mini-ja-nli", {**gold, "other": "neutral"}).report.unknown_ids == ("other",)
    with pytest.raises(nk.BadInput, match="none of the ids is in the task"):
        nk.score("mini-ja-nli", {"other": "neutral"})


def test_compare_takes_systems_first_or_second(gold: dict[str, str]) -> None:
    constant = pd.DataFrame({"id": list(gold), "answer": "neutral"})
    systems = {"A": gold, "B": constant}
    comparison = nk.compare(systems, task="mini-ja-nli", rounds=200)
    other = nk.compare(["mini-ja-nli"], systems, rounds=200)
    assert (comparison.systems, repr(comparison)) == (other.systems, repr(other))
    assert [row.system for row in comparison.systems] == ["A", "B"]
    check_shown(comparison)
    seeds = nk.compare({"A": [gold, gold], "B": constant}, task="mini-ja-nli", rounds=200)
    assert seeds.systems[0].runs == 2


def test_judgements_come_as_a_frame_records_rows_or_a_file(tmp_path: Path) -> None:
    crowd = pd.DataFrame(VOTES, columns=["task", "worker", "label"])
    own = [{"example": i, "worker": w, "question": "label", "answer": a} for i, w, a in VOTES]
    typed = [nk.Judgement(example=i, worker=w, question="label", answer=a) for i, w, a in VOTES]
    odd = pd.DataFrame(VOTES, columns=["thing", "who", "vote"])
    path = tmp_path / "votes.csv"
    crowd.to_csv(path, index=False)
    columns = {"example": "thing", "worker": "who", "answer": "vote"}
    results = [nk.agree(each) for each in (crowd, own, typed, path)]
    results.append(nk.agree(odd, columns=columns))
    assert len({result.report.measures for result in results}) == 1
    check_shown(results[0])
    for judgements in (crowd, own, typed, path):
        result = nk.aggregate(judgements, rule="majority", ties="drop")
        assert result.gold == {"q1": {"label": "yes"}, "q3": {"label": "no"}}
        check_shown(result)
    assert list(result.to_pandas()["verdict"]) == ["accepted", "dropped", "accepted"]
    with pytest.raises(nk.BadInput, match=r'columns=\{"example": "COLUMN", "worker": "COLUMN"'):
        nk.agree(odd)


@pytest.mark.parametrize("names", [("task", "worker", "label"), ("example", "worker", "answer")])
def test_an_empty_cell_of_a_frame_is_no_answer_as_in_a_sheet(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    frame = pd.DataFrame(VOTES, columns=names)
    if "answer" in names:
        frame["question"] = "label"
    frame.loc[0, names[2]] = None
    path = tmp_path / "votes.csv"
    frame.to_csv(path, index=False)
    results = [nk.agree(each).report for each in (frame, path)]
    assert [result.answers for result in results] == [len(VOTES) - 1] * 2
    assert results[0].measures == results[1].measures
    golds = [nk.aggregate(each, rule="majority", ties="drop").gold for each in (frame, path)]
    assert golds[0] == golds[1]


def test_load_takes_tables_records_and_mappings_of_splits(nli: Dataset) -> None:
    frame = nk.load(pd.DataFrame(ROWS))
    assert frame[0].inputs["premise"] == ROWS[0]["premise"]
    assert frame.language == "ja"
    parts = nk.load({"train": ROWS, "dev": pd.DataFrame(ROWS)})
    assert {name: len(part) for name, part in parts.splits.items()} == {"train": 2, "dev": 2}
    assert nk.load(list(nli["dev"])).splits["all"] == nli.splits["dev"]
    back = nk.load(nli.to_pandas()[["split", "id", "premise", "hypothesis", "label"]])
    assert [(e.id, e.inputs, e.gold) for e in back] == [(e.id, e.inputs, e.gold) for e in nli]
    renamed = nk.load(
        pd.DataFrame(ROWS).rename(columns={"premise": "甲"}),
        columns={"premise": "甲"},
        kind="inference",
    )
    assert renamed[1].inputs == frame[1].inputs


def test_generate_and_perturb_are_in_memory_and_the_same_as_files(tmp_path: Path) -> None:
    counts = {"train": 0, "test": 1}
    problems = nk.generate("temporal-ja", per_cell=counts, seed=1)
    report = nk.generate("temporal-ja", tmp_path / "problems", per_cell=counts, seed=1)
    assert nk.load(tmp_path / "problems").splits == problems.splits
    assert problems.report.splits == report.splits
    check_shown(problems.report)
    data = nk.load(ROWS)
    swapped = nk.perturb("swap", data, case="o")
    assert [example.inputs["premise"] for example in swapped] == [
        "犬を骨が埋めた。",
        "学生を本が読んだ。",
    ]
    write_folder(data, tmp_path / "table")
    nk.perturb("swap", tmp_path / "table", case="o", out=tmp_path / "swapped")
    assert nk.load(tmp_path / "swapped").splits == swapped.splits
    check_shown(swapped.report)


def test_clean_pair_tag_and_split_return_datasets(nli: Dataset, tmp_path: Path) -> None:
    text = "これは短い例文ですが、候補として残るだけの長さがあります。"
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8")
    for texts in ([text], pd.DataFrame({"text": [text]}), file, [file]):
        cleaned = nk.clean(texts, language="ja")
        assert [example.inputs["text"] for example in cleaned] == [text]
        check_shown(cleaned.report)
    pairs = nk.pair("greedy", ["犬が走る", "犬が歩く", "雨が降る", "雪が降る"], units="characters")
    assert len(pairs) == 2
    check_shown(pairs.report)
    tagged = nk.tag(nli["dev"])
    assert tagged.report.sizes == {"dev": 9}
    check_shown(tagged.report)
    halves = nk.split(nli, sizes=(0.5, 0.5), names=("train", "test"), seed=1)
    assert list(halves.splits) == ["train", "test"]
    assert {e.id for e in halves} == {e.id for e in nli}
    check_shown(halves.report)


def test_runs_of_a_dataset_in_memory_are_analysed_and_reported(
    nli: Dataset, tmp_path: Path
) -> None:
    def start() -> RunReport:
        return nk.run(["majority", "baseline"], tasks=nli, seeds=2, out=tmp_path / "runs")

    runs = start()
    assert (runs.done, runs.skipped) == (4, 0)
    assert start().skipped == 4
    check_shown(runs)
    page = nk.report(runs, out=tmp_path / "report", title="Mini")
    assert Path(page.page).is_file()
    assert set(page.systems) == {"majority", "baseline"}
    check_shown(page)
    assert f'href="{page.page}"' in page._repr_html_()
    check_shown(nk.analyse(runs))


def test_every_function_works_twice_after_everything_was_imported(
    gold: dict[str, str], tmp_path: Path
) -> None:
    for module in pkgutil.walk_packages(nk.__path__, "nikawa."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an extra that is not installed here
                import_module(module.name)
    votes = pd.DataFrame(VOTES, columns=["task", "worker", "label"])
    told = [(item, "model:m#1", "a") for item in sorted({item for item, _, _ in VOTES})]
    judged = pd.DataFrame([*VOTES, *told], columns=["task", "worker", "label"])
    runs = str(tmp_path / "runs")
    count = itertools.count()
    releases = tmp_path / "releases"
    for version in ("1.1", "1.3"):
        file = releases / "jglue" / "datasets" / f"jnli-v{version}" / f"valid-v{version}.json"
        file.parent.mkdir(parents=True)
        row = {"sentence_pair_id": "0", "yjcaptions_id": "1-2-3", "label": "neutral"}
        texts = {"sentence1": "本がある。", "sentence2": "机がある。"}
        file.write_text(json.dumps(row | texts) + "\n", "utf-8")
    table = tmp_path / "table.tsv"
    table.write_text("premise\thypothesis\tlabel\n犬が走る。\t動物が走る。\tentailment\n", "utf-8")
    sea = tmp_path / "sea.py"
    sample = "Sample('海は？', choices=['青', '赤'], target='A')"
    sea.write_text(f"@task\ndef sea():\n    return Task(dataset=[{sample}])\n", "utf-8")
    calls: dict[str, Callable[[], Any]] = {
        "load": lambda: nk.load("mini-ja:dev"),
        "load_task": lambda: nk.load_task("mini-ja-nli", "dev"),
        "read_judgements": lambda: list(nk.read_judgements("mini-ja")),
        "score": lambda: nk.score("mini-ja-nli", gold),
        "score_many": lambda: nk.score_many("mini-ja-nli", [gold]),
        "compare": lambda: nk.compare({"A": gold, "B": gold}, task="mini-ja-nli", rounds=100),
        "agree": lambda: nk.agree(votes),
        "aggregate": lambda: nk.aggregate(votes, ties="drop"),
        "recheck": lambda: nk.recheck(judged),
        "clean": lambda: nk.clean(["これは短い例文ですが、候補として残るだけの長さがあります。"]),
        "pair": lambda: nk.pair("greedy", ["犬が走る", "犬が歩く"], units="characters"),
        "generate": lambda: nk.generate("temporal-ja", per_cell={"train": 0, "test": 1}),
        "perturb": lambda: nk.perturb("swap", ROWS, case="o"),
        "tag": lambda: nk.tag(ROWS),
        "split": lambda: nk.split("mini-ja", sizes="0.5,0.5", names=("train", "test")),
        "run": lambda: nk.run(["majority"], tasks="mini-ja-nli", out=runs),
        "analyse": lambda: nk.analyse(runs, overwrite=True),
        "report": lambda: nk.report(runs, out=tmp_path / "page", overwrite=True),
        "score_versions": lambda: nk.score_versions("jnli", {"0": "neutral"}, data=releases),
        "import_table": lambda: nk.import_table(table, tmp_path / f"table-{next(count)}"),
        "import_task": lambda: nk.import_task("inspect", sea, tmp_path / f"sea-{next(count)}"),
        "export": lambda: nk.export("mini-ja:dev", "inspect", tmp_path / f"tasks-{next(count)}"),
        "hide_labels": lambda: nk.hide_labels(
            "mini-ja",
            tmp_path / f"public-{next(count)}",
            tmp_path / f"keys-{next(count)}.json",
            options=HideOptions(splits=("dev",)),
        ),
        "model": lambda: nk.model("majority"),
    }
    functions = {name for name in nk.__all__ if isinstance(getattr(nk, name), FunctionType)}
    # these need a checkpoint or a server: tests/analysis/memory, tests/board and tests/judging call them
    assert set(calls) == functions - {"judge", "probe_memory", "submit"}
    for name, call in calls.items():
        assert call() is not None, name
        assert call() is not None, name


PAIR = [{"premise": "犬が走る。", "hypothesis": "犬が動く。", "label": "entailment"}]
CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
BAD: list[Callable[[], Any]] = [
    lambda: nk.load(5),
    lambda: nk.load([1, 2]),
    lambda: nk.load([]),
    lambda: nk.score("mini-ja-nli", 3),
    lambda: nk.score("mini-ja-nli", []),
    lambda: nk.score("mini-ja-nli", "missing.jsonl"),
    lambda: nk.compare(["a", "b"], task="mini-ja-nli"),
    lambda: nk.compare({"A": {"1": "x"}}),
    lambda: nk.agree({"a": 1}),
    lambda: nk.agree([1]),
    lambda: nk.aggregate(None),
    lambda: nk.clean([3]),
    lambda: nk.pair("greedy", []),
    lambda: nk.perturb("swap", 3),
    lambda: nk.tag(object()),
    lambda: nk.split(3.5),
    lambda: nk.run(["majority"]),
    lambda: nk.run(["majority"], tasks=3),
    lambda: nk.analyse(3),
    lambda: nk.report(None),
    # nothing is lost or renamed on the way: rows, columns, splits, ids
    lambda: nk.load({1: PAIR, "1": PAIR}),
    lambda: nk.load({"a/b": PAIR, "c": PAIR}),
    lambda: nk.load([{**PAIR[0], "split": "dev"}, PAIR[0]]),
    lambda: nk.load(pd.DataFrame([["a", "b", "c"]], columns=["text", "label", "text"])),
    lambda: nk.load(
        pd.DataFrame([{"id": 1, "text": "a", "label": "b"}]).set_index("id", drop=False)
    ),
    lambda: nk.load([{"id": "1", "inputs": {"text": "a"}}, {"id": "1", "inputs": {"text": "b"}}]),
    # values that JSON cannot hold
    lambda: nk.load([{**PAIR[0], "premise": "\ud800"}]),
    lambda: nk.score("mini-ja-nli", {"nli-019": "\ud800"}),
    lambda: nk.load([{**PAIR[0], "more": CIRCLE}]),
    lambda: nk.compare({"A": {"1": "x"}, "B": {"1": "x"}}, task="mini-ja-nli", rounds=0),
]


@pytest.mark.parametrize("place", range(len(BAD)))
def test_what_cannot_be_used_is_one_line(place: int) -> None:
    with pytest.raises(nk.BadInput) as caught:
        BAD[place]()
    assert "\n" not in str(caught.value)
    assert "/tmp" not in str(caught.value)


def test_a_label_that_is_hidden_stays_hidden() -> None:
    record = {
        "id": "1",
        "inputs": {"premise": "犬が骨を埋めた。", "hypothesis": "犬が骨を掘った。"},
        "gold": {"label": "neutral"},
        "origin": {"recipe": "x", "gold": "hidden"},
    }
    assert nk.load([record])[0].gold == {}
    assert nk.load([record], hidden=True)[0].gold == {"label": "neutral"}
    for made in (nk.tag([record]), nk.perturb("swap", [record], case="o")):
        assert all(not example.gold for example in made)
    with pytest.raises(nk.BadInput, match="gold"):
        nk.score([record], {"1": "neutral"})


@pytest.mark.parametrize("module", [api, records, tables, objects])
def test_examples_in_docstrings_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_every_function_has_an_example() -> None:
    functions = [name for name in nk.__all__ if name[0].islower() and callable(getattr(nk, name))]
    assert [name for name in functions if ">>>" not in (getattr(nk, name).__doc__ or "")] == []
