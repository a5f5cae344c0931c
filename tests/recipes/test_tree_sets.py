"""The recipes for dependency trees: words, the draw, trees to begin with, adjudication, and scores of what was built."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.recipes.klue.test_every import KOREAN
from tests.recipes.small_sources import JAPANESE, SMALL_SOURCES

from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.datasets.task_lookup import find_tasks
from nikawa.datasets.trees import is_tree
from nikawa.errors import BadInput
from nikawa.io.records import read_examples, write_records
from nikawa.recipes.build import BuildOptions, build
from nikawa.recipes.japanese.trees_ja import find_words as find_bunsetsu
from nikawa.recipes.japanese.trees_ja import parse
from nikawa.recipes.klue.klue_dp import find_words
from nikawa.recipes.recipe import recipes
from nikawa.recipes.tree_sets import list_disputed, name_length, share_out
from nikawa.records import Example
from nikawa.text import analyser
from nikawa.text.bunsetsu import list_bunsetsu
from nikawa.text.protocol import Token

Nikawa = Callable[..., Any]


def token(surface: str, *pos: str, base: str = "", head: int | None = None, rel: str = "") -> Token:
    return Token(surface, base or surface, pos, head=head, deprel=rel or None)


def test_korean_words_have_as_many_morphemes_as_tags() -> None:
    tool = analyser("mecab-ko")
    for text in (*KOREAN, "쳤다.", "그는  갔다"):
        words = find_words(text, tool.analyse(text))
        assert [word["form"] for word in words] == text.split()
        for word in words:
            assert len(word["lemma"].split(" ")) == len(word["pos"].split("+")), word
    struck = find_words("쳤다.", tool.analyse("쳤다."))
    assert struck == [{"form": "쳤다.", "lemma": "치 었 다 .", "pos": "VV+EP+EF+SF"}]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("彼は「本当に行きたい」と言っていた。", "彼は/「本当に/行きたい」と/言っていた。"),
        ("約200人の参加者が発表をしていた。", "約200人の/参加者が/発表を/していた。"),
        ("お店で注文してみました。", "お店で/注文してみました。"),
        ("本は読みやすくて面白かったです。", "本は/読みやすくて/面白かったです。"),
        ("昨日東京に着いたらしい。", "昨日/東京に/着いたらしい。"),
    ],
)
def test_bunsetsu_are_content_words_with_what_follows(text: str, phrases: str) -> None:
    tokens = analyser("unidic").analyse(text)
    assert ["".join(one.surface for one in row) for row in list_bunsetsu(tokens)] == phrases.split(
        "/"
    )


def test_the_analysers_dependencies_become_those_of_bunsetsu() -> None:
    tokens = [
        token("母", "名詞", head=2, rel="nsubj"),
        token("が", "助詞", "格助詞", head=0, rel="case"),
        token("焼い", "動詞", "一般", head=4, rel="acl"),
        token("た", "助動詞", head=2, rel="aux"),
        token("パン", "名詞", head=6, rel="obj"),
        token("を", "助詞", "格助詞", head=4, rel="case"),
        token("食べる", "動詞", "一般", head=6, rel="ROOT"),
        token("。", "補助記号", head=6, rel="punct"),
    ]
    text = "母が焼いたパンを食べる。"
    words = find_bunsetsu(text, tokens)
    assert [word["form"] for word in words] == ["母が", "焼いた", "パンを", "食べる。"]
    assert words[0] == {"form": "母が", "lemma": "母 が", "pos": "名詞+助詞-格助詞"}
    tree = parse(text, tokens, words)
    assert tree == {"heads": [2, 3, 4, 0], "labels": ["nsubj", "acl", "obj", "root"]}
    bare = [msgspec.structs.replace(one, head=None) for one in tokens]
    assert parse(text, bare, words) is None
    looped = [*tokens[:6], msgspec.structs.replace(tokens[6], head=4), tokens[7]]
    assert parse(text, looped, words) is None


def test_lengths_are_drawn_alike_and_no_group_gives_more_than_it_has() -> None:
    assert share_out(7, {"a": 1, "b": 10, "c": 10}) == {"a": 1, "b": 3, "c": 3}
    assert share_out(100, {"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert sum(share_out(8, {"a": 3, "b": 3, "c": 3}).values()) == 8
    assert [name_length(n, (5, 10)) for n in (1, 5, 6, 10, 11)] == [
        "up to 5 words", "up to 5 words", "up to 10 words", "up to 10 words", "over 10 words",
    ]  # fmt: skip


@pytest.fixture
def begun(tmp_path: Path) -> Callable[..., Callable[[], Any]]:
    """A build of the Korean sentences, as a function to call again and again."""

    def make(name: str = "klue-dp", **settings: Any) -> Callable[[], Any]:
        for file, text in SMALL_SOURCES[name]().items():
            (tmp_path / file).write_text(text, "utf-8")
        config = tmp_path / "config.toml"
        told = {"split": "0.6,0.2,0.2", **settings}
        kept = [
            line
            for line in config.read_text("utf-8").splitlines()
            if line.split(" ")[0] not in told
        ]
        kept += [f"{key} = {json.dumps(value)}" for key, value in told.items()]
        config.write_text("\n".join(kept) + "\n", "utf-8")
        return lambda: build(name, tmp_path / "out", BuildOptions(config=config))

    return make


def of(report: Any, name: str) -> tuple[dict[str, int], dict[str, int]]:
    stage = next(one for one in report.stages if one.name == name)
    return stage.wrote, stage.dropped


def changed(tree: dict[str, Any], place: int, label: str) -> dict[str, Any]:
    return {
        **tree,
        "labels": [label if n == place else one for n, one in enumerate(tree["labels"])],
    }


def test_two_workers_differ_and_a_third_decides(begun: Any, people: Any, tmp_path: Path) -> None:
    run, out = begun(per_source=10), tmp_path / "out"
    first = run()
    assert of(first, "proposed")[0] == {"proposed": 10}
    tasks = list(read_examples(out / "people" / "trees" / "tasks.jsonl"))
    assert all(is_tree(one.inputs["tree"]) for one in tasks)

    def tell(item: Example) -> list[Any]:
        tree = dict(item.inputs["tree"])
        if item.id == "1":
            return ["broken", tree]
        return [tree, changed(tree, 0, "IP") if item.id in ("2", "3") else tree]

    people(out, "trees", tell)
    second = run()
    assert of(second, "compared") == ({"agreed": 7, "disputed": 2}, {"reported": 1})
    asked = {one.id: one for one in read_examples(out / "people" / "adjudication" / "tasks.jsonl")}
    assert set(asked) == {"2", "3"}
    assert "tree" not in asked["2"].inputs
    assert list_disputed(asked["2"].inputs["answers"]) == [1]
    people(out, "adjudication", lambda item: [item.inputs["answers"][1]], "judge")
    last = run()
    assert of(last, "resolved") == ({"resolved": 9}, {})
    released = {one.id: one for part in load(str(out)).splits.values() for one in part}
    assert released["2"].gold["tree"]["labels"][0] == "IP"
    assert (released["2"].meta["decided"], released["0"].meta["decided"]) == (1, 0)
    assert set(released["2"].inputs) == {"text", "words"}
    assert [one.worker for one in find_lineage("2", out).judgements] == ["w0", "w1", "judge0"]


def test_a_decision_of_the_owner_replaces_the_trees(
    begun: Any, people: Any, tmp_path: Path
) -> None:
    run, out = begun(per_source=10), tmp_path / "out"
    run()
    people(out, "trees", lambda item: [item.inputs["tree"], changed(item.inputs["tree"], 1, "L")])
    place = out / "people" / "trees" / "answers.jsonl"
    rows = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    one = next(row for row in rows if row["example"] == "4")
    rows.append({**one, "worker": "decision:rin", "kind": "decision", "comment": "읽고 정함"})
    place.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    report = run()
    assert of(report, "compared")[0] == {"agreed": 1, "disputed": 9}


def test_a_parser_proposes_trees_or_nothing_does(begun: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    begun(preparse="none")()
    tasks = list(read_examples(out / "people" / "trees" / "tasks.jsonl"))
    assert all("tree" not in one.inputs for one in tasks)
    known = [
        Example(
            id=one.id,
            inputs={name: one.inputs[name] for name in ("text", "words")},
            gold={"tree": {"heads": [len(one.inputs["words"])] * (len(one.inputs["words"]) - 1) + [0],
                           "labels": ["NP_AJT"] * (len(one.inputs["words"]) - 1) + ["VP"]}},
        )
        for one in tasks
    ]  # fmt: skip
    write_records(tmp_path / "trees.jsonl", known)
    begun(preparse="parser", parser="trees.jsonl")()
    trees = [one.inputs["tree"] for one in read_examples(out / "people" / "trees" / "tasks.jsonl")]
    assert sum(tree["heads"][0] == len(tree["heads"]) for tree in trees) > len(trees) / 2
    with pytest.raises(BadInput, match="root_label = 'top' is not a relation of klue-dp"):
        begun(root_label="top")()
    with pytest.raises(BadInput, match="needs the setting parser"):
        begun(preparse="parser", parser="")()
    write_records(tmp_path / "trees.jsonl", tasks, overwrite=True)
    with pytest.raises(BadInput, match="0 sentences with a tree"):
        begun(preparse="parser", parser="trees.jsonl", seed=3)()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["klue-dp", "trees-ja"])
def test_a_built_set_is_scored_as_the_official_one(
    nikawa: Nikawa, name: str, tmp_path: Path
) -> None:
    for file, text in SMALL_SOURCES[name]().items():
        (tmp_path / file).write_text(text, "utf-8")
    build(name, tmp_path / "out", BuildOptions(config=tmp_path / "config.toml", simulate=2))
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "| relation | train |" in card
    assert "| all words |" in card
    (task,) = find_tasks(str(tmp_path / "out"))
    assert len(task.labels) == {"klue-dp": 38, "trees-ja": 15}[name]  # also those without gold
    done = nikawa(
        "run",
        "--model",
        "right-headed",
        "--tasks",
        str(tmp_path / "out"),
        "--out",
        str(tmp_path / "runs"),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert {'"uas"', '"las"'} <= set(re.findall(r'"[a-z]+"', done.stdout))
    done = nikawa("report", str(tmp_path / "runs"), "--out", str(tmp_path / "report"))
    assert done.returncode == 0, done.stderr
    gold = tmp_path / "gold.jsonl"
    with gold.open("w") as stream:
        for example in load(str(tmp_path / "out"))["test"]:
            stream.write(json.dumps({"id": example.id, "answer": example.gold["tree"]}) + "\n")
    done = nikawa("score", f"{tmp_path / 'out'}:test", str(gold), "--json")
    assert done.returncode == 0, done.stderr
    values = {one["metric"]: one["value"] for one in json.loads(done.stdout)["scores"]}
    assert values["uas"] == values["las"] == 100


def test_japanese_sentences_need_no_parser(tmp_path: Path) -> None:
    """With an analyser that has no dependencies, the chain is the tree to begin with."""
    for file, text in SMALL_SOURCES["trees-ja"]().items():
        (tmp_path / file).write_text(text, "utf-8")
    build("trees-ja", tmp_path / "out", BuildOptions(config=tmp_path / "config.toml"))
    tasks = list(read_examples(tmp_path / "out" / "people" / "trees" / "tasks.jsonl"))
    assert {one.inputs["text"] for one in tasks} == set(JAPANESE)
    for task in tasks:
        tree = task.inputs["tree"]
        assert tree["heads"] == [*range(2, len(tree["heads"]) + 1), 0]
        assert [label == "root" for label in tree["labels"]] == [
            head == 0 for head in tree["heads"]
        ]
    assert recipes()["trees-ja"].language == "ja"
    size = len(tasks[0].inputs["words"])
    arcs = [*(f"{place}:root" for place in range(2, size + 1)), "0:nsubj"]
    answers = f"example,worker,answer\n{tasks[0].id},w1,{' '.join(arcs)}\n"
    (tmp_path / "out" / "people" / "trees" / "answers.csv").write_text(answers, "utf-8")
    with pytest.raises(BadInput, match="the root, and no other word, has the relation root"):
        build("trees-ja", tmp_path / "out", BuildOptions(config=tmp_path / "config.toml"))
