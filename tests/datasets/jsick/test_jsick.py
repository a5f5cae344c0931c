"""JSICK's own files: splits, ids, texts, tags."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from nikawa.datasets import benchmarks, load, load_task, tasks
from nikawa.datasets.jsick.jsick import read
from nikawa.errors import BadInput, MissingData
from nikawa.records import Example

Write = Callable[[str, Sequence[Mapping[str, str]]], Path]


def test_a_released_pair(write: Write) -> None:
    row = {
        "pair_ID": "7",
        "image_ID": "x.jpg",
        "semtag_short": "Negation#Passive",
        "semtag_long": "Negation;ず",
    }
    (example,) = read(write("jsick/jsick.tsv", [row]))
    assert example == Example(
        id="7",
        inputs={"premise": "凧が古い塔を巡っている", "hypothesis": "凧が空を飛んでいる"},
        gold={"label": "entailment", "relatedness": 4.3},
        tags=frozenset({"Negation", "Passive"}),
        meta={"split": "test", "image": "x.jpg", "tag_words": "Negation;ず"},
        group="凧が古い塔を巡っている",
    )


def test_trial_is_dev(write: Write, data: Path) -> None:
    rows = [
        {"pair_ID": str(n), "data": word}
        for n, word in enumerate(("train", "trial", "test"), start=1)
    ]
    write("jsick/jsick.tsv", rows)
    splits = load("jsick", data=data).splits
    assert {name: [e.id for e in examples] for name, examples in splits.items()} == {
        "train": ["1"],
        "dev": ["2"],
        "test": ["3"],
    }
    assert list(load("jsick:trial", data=data).splits) == ["dev"]


def test_train_file_ids_are_not_sick_ids(write: Write) -> None:
    path = write("jsick/train.tsv", [{"pair_ID": "17"}])
    dataset = load(f"jsick@{path}")
    (example,) = dataset.splits["train"]
    assert example.id == "train.tsv-17"
    assert example.gold == {"label": "entailment"}
    assert tasks()["jsick-nli"].asks(example)
    assert not tasks()["jsick-sts"].asks(example)


def test_answers_file_takes_the_split_from_the_table_beside_it(write: Write) -> None:
    path = write(
        "jsick/jsick-all-annotations.tsv", [{"pair_ID": "5", "sentence_A_Ja": "凧が塔を巡る"}]
    )
    assert list(load(f"jsick@{path}").splits) == ["all"]
    write("jsick/jsick.tsv", [{"pair_ID": "5", "data": "trial"}])
    (example,) = load(f"jsick@{path}").splits["dev"]
    assert example.inputs["premise"] == "凧が塔を巡る"
    assert example.gold == {"label": "entailment", "relatedness": 4.3}


def test_tags_are_a_set(write: Write) -> None:
    rows = [
        {"pair_ID": "1", "semtag_short": "Numerical#Negation"},
        {"pair_ID": "2", "semtag_short": "Negation#Numerical"},
        {"pair_ID": "3"},
    ]
    first, second, third = read(write("jsick/jsick.tsv", rows))
    assert first.tags == second.tags == {"Numerical", "Negation"}
    assert third.tags == frozenset()


def test_quotes_are_text(write: Write) -> None:
    (example,) = read(write("jsick/jsick.tsv", [{"sentence_A_Ja": '"凧"が飛ぶ'}]))
    assert example.inputs["premise"] == '"凧"が飛ぶ'


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            {"entailment_label_Ja": "entailmemt"},
            "label 'entailmemt' is not one of the three; did you mean 'entailment'?",
        ),
        ({"entailment_label_Ja": ""}, "label '' is not one of the three"),
        ({"relatedness_score_Ja": "high"}, "score 'high' is not a number"),
        ({"relatedness_score_Ja": ""}, "score '' is not a number"),
        ({"relatedness_score_Ja": "0.9"}, "score '0.9' is outside 1 to 5"),
        ({"relatedness_score_Ja": "nan"}, "score 'nan' is outside 1 to 5"),
        ({"data": "valid"}, "data 'valid' is not train, trial or test"),
        ({"data": ""}, "data '' is not train, trial or test"),
        ({"semtag_short": "Negation#Pasive"}, "there is no tag 'Pasive'; did you mean 'Passive'?"),
        ({"sentence_A_Ja": ""}, "the premise is empty"),
        ({"sentence_B_Ja": ""}, "the hypothesis is empty"),
        ({"sentence_B_Ja": "凧が\t飛ぶ"}, "has 17 columns, the header has 16"),
    ],
)
def test_broken_cells_are_named(write: Write, cell: dict[str, str], said: str) -> None:
    path = write("jsick/jsick.tsv", [{"pair_ID": "1"}, {"pair_ID": "2", **cell}])
    with pytest.raises(BadInput) as problem:
        list(read(path))
    assert str(problem.value).startswith(f"{path}, line 3: {said}")
    assert problem.value.cure


def test_a_missing_column_is_named(write: Write) -> None:
    path = write("jsick/jsick.tsv", [{}])
    path.write_text(path.read_text("utf-8").replace("sentence_B_Ja", "sentence_Ja_B"), "utf-8")
    with pytest.raises(BadInput, match=r"line 1: column 'sentence_B_Ja' is missing; did you mean"):
        list(read(path))


def test_an_empty_file_is_refused(data: Path) -> None:
    data.mkdir()
    (data / "jsick.tsv").write_text("")
    with pytest.raises(BadInput, match="is empty"):
        list(read(data / "jsick.tsv"))


def test_carriage_returns_are_refused_where_none_are_published(write: Write) -> None:
    path = write("jsick/jsick.tsv", [{}])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(BadInput, match="CR LF"):
        list(read(path))


def test_an_id_may_come_once(write: Write, data: Path) -> None:
    write("jsick/jsick.tsv", [{"pair_ID": "8"}, {"pair_ID": "8"}])
    with pytest.raises(BadInput, match="'8'"):
        load("jsick", data=data)


def test_no_file_at_all(data: Path) -> None:
    with pytest.raises(MissingData, match="jsick is not in"):
        load("jsick", data=data)


def test_published_splits(shared_data: Path) -> None:
    splits = load("jsick", data=shared_data).splits
    assert {name: len(examples) for name, examples in splits.items()} == {
        "train": 4500,
        "dev": 500,
        "test": 4927,
    }
    assert Counter(e.gold["label"] for e in splits["test"]) == {
        "neutral": 3042,
        "entailment": 1088,
        "contradiction": 797,
    }
    task, examples = load_task("jsick-sts", "test", data=shared_data)
    assert (task.scale, len(examples)) == ((1.0, 5.0), 4927)


def test_published_train_file(shared_data: Path) -> None:
    examples = load(f"jsick@{shared_data}/jsick/jsick/train.tsv").splits["train"]
    assert len(examples) == 5000
    assert {e.id for e in examples} == {f"train.tsv-{n}" for n in range(1, 5001)}
    whole = load("jsick", data=shared_data).splits
    label = {tuple(e.inputs.values()): e.gold["label"] for s in ("train", "dev") for e in whole[s]}
    found = [e for e in examples if tuple(e.inputs.values()) in label]
    assert len(found) == 4997
    assert all(e.gold["label"] == label[tuple(e.inputs.values())] for e in found)


def test_every_published_file_is_readable(shared_data: Path) -> None:
    folder = shared_data / "jsick" / "jsick"
    answers = load(f"jsick@{folder}/jsick-all-annotations.tsv").splits
    assert {name: len(examples) for name, examples in answers.items()} == {
        "train": 4500,
        "dev": 500,
        "test": 4927,
    }
    assert len(load(f"jsick@{folder}/test.tsv").splits["test"]) == 4927


def test_published_repetition(shared_data: Path) -> None:
    splits = load("jsick", data=shared_data).splits
    everything = [e for examples in splits.values() for e in examples]
    assert len({text for e in everything for text in e.inputs.values()}) == 5991
    repeated = {
        k: n for k, n in Counter(tuple(e.inputs.values()) for e in everything).items() if n > 1
    }
    assert (len(repeated), sum(repeated.values())) == (123, 274)
    seen = {tuple(e.inputs.values()) for split in ("train", "dev") for e in splits[split]}
    assert sum(tuple(e.inputs.values()) in seen for e in splits["test"]) == 87


def test_published_tag_orders(shared_data: Path) -> None:
    lines = (shared_data / "jsick/jsick/jsick.tsv").read_text("utf-8").split("\n")[1:-1]
    written = {line.split("\t")[0]: line.split("\t")[14] for line in lines}
    orders: dict[frozenset[str], set[str]] = defaultdict(set)
    for example in read(shared_data / "jsick/jsick/jsick.tsv"):
        orders[example.tags].add(written[example.id])
    assert (len(orders), sum(len(o) > 1 for o in orders.values())) == (129, 32)


def test_reading_is_quick(shared_data: Path) -> None:
    start = time.process_time()
    assert sum(1 for _ in read(shared_data / "jsick/jsick/jsick.tsv")) == 9927
    assert time.process_time() - start < 1


def test_the_four_datasets_are_registered() -> None:
    names = [name for name in benchmarks() if name.startswith("jsick")]
    assert names == ["jsick", "jsick-en", "jsick-en-labels", "jsick-stress"]
    asked = {name: tasks()[name].question for name in tasks() if name.startswith("jsick")}
    assert asked == {
        f"jsick{part}-{kind}": question
        for part in ("", "-en", "-en-labels", "-stress")
        for kind, question in (("nli", "label"), ("sts", "relatedness"))
    }
