"""What a user writes for a dataset, and what is said where it cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nikawa.datasets import benchmarks, load
from nikawa.datasets.jamp.jamp import COLUMNS as JAMP
from nikawa.datasets.load import peek, read_judgements, readers_of
from nikawa.datasets.locate import files_here, require_folder
from nikawa.datasets.names import find_benchmark, spec_of
from nikawa.errors import BadInput, MissingData, UnknownName
from nikawa.io.folders import write_folder
from nikawa.scoring.score import list_versions

COLUMNS = (
    "pair_ID",
    "data",
    "sentence_A_En",
    "sentence_B_En",
    "entailment_label_En",
    "relatedness_score_En",
    "corr_entailment_labelAB_En",
    "corr_entailment_labelBA_En",
    "sentence_A_Ja",
    "sentence_B_Ja",
    "entailment_label_Ja",
    "relatedness_score_Ja",
    "image_ID",
    "original_caption",
    "semtag_short",
    "semtag_long",
)
PAIR = [
    "7",
    "test",
    "A cat knits.",
    "A cat sings.",
    "neutral",
    "2.5",
    "",
    "",
    "猫が雲を編む。",
    "猫が歌う。",
    "neutral",
    "2.7",
]


def write_jnli(data: Path, version: str) -> Path:
    path = data / f"jglue/datasets/jnli-v{version}/valid-v{version}.json"
    path.parent.mkdir(parents=True)
    row = {
        "sentence_pair_id": "0",
        "yjcaptions_id": "1-2-3",
        "sentence1": "猫が編む。",
        "sentence2": "犬が磨く。",
        "label": "neutral",
    }
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    "copy",
    [
        "jnli-v1.3/valid-v1.3-old.json",
        "jnli-v1.3/valid-v1.3 (1).json",
        "jnli-v1.3/valid-v1.3.1b.json",
        "jnli-v1.3/valid-v1.json.json",
        "jnli-v1.3-old/valid-v1.3.json",
    ],
)
def test_a_copy_beside_a_published_file_is_not_read(tmp_path: Path, copy: str) -> None:
    path = write_jnli(tmp_path, "1.3")
    other = path.parents[1] / copy
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(path.read_bytes().replace(b'"0"', b'"1"'))
    assert [e.id for e in load("jnli", data=tmp_path).splits["dev"]] == ["0"]
    assert files_here(benchmarks()["jnli"], tmp_path) == {"dev": [path]}
    assert list_versions("jnli", tmp_path) == ["1.3"]


def test_an_id_in_two_files_of_a_split(tmp_path: Path) -> None:
    path = write_jnli(tmp_path, "1.3")
    other = tmp_path / "jglue/datasets/jnli-v1.2/valid-v1.3.json"
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    with pytest.raises(BadInput) as caught:
        load("jnli", data=tmp_path)
    assert str(caught.value).startswith(f"{path}: the id '0' of dev is also in {other}; keep one")


def test_a_published_table_without_rows(tmp_path: Path) -> None:
    jsick, jamp = tmp_path / "jsick/jsick/jsick.tsv", tmp_path / "jamp/dataset/test_2.tsv"
    for path, columns in ((jsick, COLUMNS), (jamp, JAMP)):
        path.parent.mkdir(parents=True)
        path.write_text("\t".join(columns) + "\n", "utf-8")
    for spec, path in (
        ("jsick", jsick),
        ("jsick:test", jsick),
        (f"jsick@{jsick}", jsick),
        ("jamp", jamp),
    ):
        with pytest.raises(BadInput, match=f"^{path}: holds no rows; fetch it again"):
            load(spec, data=tmp_path)


@pytest.mark.parametrize("spec", ["", " ", ":", ":dev", "@", "@x.tsv"])
def test_a_spec_without_a_name(spec: str) -> None:
    with pytest.raises(BadInput, match="is not a dataset; write NAME"):
        load(spec)


@pytest.mark.parametrize(
    ("spec", "what"), [("jsick:", "no split"), ("jsick@", "no file"), ("jsick:dev@", "no file")]
)
def test_a_spec_that_breaks_off(spec: str, what: str) -> None:
    with pytest.raises(BadInput, match=f"'{spec}' has {what}"):
        load(spec)


def test_only_a_name_names_a_dataset(tmp_path: Path) -> None:
    file = spec_of("jsick:trial@a/b@c.tsv")
    assert (file.name, file.split, file.path) == ("jsick", "dev", Path("a/b@c.tsv"))
    assert find_benchmark("jsick.jsonl") is None
    assert find_benchmark("./jsick") is None
    with pytest.raises(UnknownName, match="did you mean 'jsick'"):
        load("jsik@x.tsv")


def test_a_split_of_ones_own_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.dev.jsonl"
    file.write_text('{"id":"1","inputs":{"text":"猫が編む。"}}\n', "utf-8")
    assert list(load(f"{file}:valid").splits) == ["dev"]
    with pytest.raises(BadInput, match=r"has no split 'test'; it has: dev"):
        load(f"{file}:test")


def test_reviews_that_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(MissingData) as caught:
        load("marc-ja", data=tmp_path)
    text = str(caught.value)
    assert "withdrawn" in text
    assert f"amazon_reviews_multilingual_JP_v1_00.tsv.gz into {tmp_path / 'jglue'}" in text
    assert "marc-ja@FILE" in text
    assert "run: nikawa data fetch" not in text


def test_a_version_that_is_not_here(tmp_path: Path) -> None:
    write_jnli(tmp_path, "1.3")
    write_jnli(tmp_path, "1.2")
    with pytest.raises(
        MissingData, match=r"jnli 1.1 is not in .*; available: 1.2, 1.3; .* fetches only 1.3"
    ):
        load("jnli", data=tmp_path, version="1.1")
    assert len(load("jnli", data=tmp_path, version="1.2")) == 1
    with pytest.raises(MissingData, match="available: none"):
        load("jsts", data=tmp_path, version="1.1")


def test_a_version_where_files_have_none(tmp_path: Path) -> None:
    path = tmp_path / "jsick/jsick/jsick.tsv"
    path.parent.mkdir(parents=True)
    path.write_text("\t".join(COLUMNS) + "\n", "utf-8")
    with pytest.raises(MissingData, match="have no version"):
        load("jsick", data=tmp_path, version="1.0")


def test_a_published_table_taken_for_records(tmp_path: Path) -> None:
    path = tmp_path / "jsick.tsv"
    cells = PAIR + [""] * (len(COLUMNS) - len(PAIR))
    path.write_text("\t".join(COLUMNS) + "\n" + "\t".join(cells) + "\n", "utf-8")
    with pytest.raises(BadInput, match="unknown column 'pair_ID'") as caught:
        load(str(path))
    assert f"write jsick@{path} (or jsick-en, jsick-en-labels before the @)" in str(caught.value)
    assert load(f"jsick@{path}").splits["test"][0].id == "7"


def test_published_lines_taken_for_records(tmp_path: Path) -> None:
    path = write_jnli(tmp_path, "1.3")
    with pytest.raises(BadInput, match=f"write jnli@{path}$"):
        load(str(path))


def test_a_broken_records_file_keeps_its_own_cure(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("id\tinputs.text\tcolour\n1\t橋\tred\n", "utf-8")
    assert readers_of(path) == []
    with pytest.raises(BadInput, match=r"unknown column 'colour'; known: gold\.NAME"):
        load(str(path))
    path.write_text("id\tcolour\n1\tred\n", "utf-8")  # a record has inputs
    with pytest.raises(BadInput, match="has flat rows, not records"):
        load(str(path))


@pytest.mark.parametrize("packed", ["mine.dev.jsonl", "folder"])
def test_a_peek_reads_no_further(tmp_path: Path, packed: str) -> None:
    """The third line is broken, and nobody gets there."""
    file = tmp_path / packed
    if packed == "folder":
        write_folder(load("mini-ja:dev"), file)
        file = file / "dev.jsonl"
    lines = [f'{{"id":"{n}","inputs":{{"text":"猫が{n}匹。"}}}}' for n in range(2)]
    file.write_text("\n".join([*lines, "broken"]) + "\n", "utf-8")
    for spec in (str(tmp_path / packed), f"{tmp_path / packed}:valid"):
        assert [e.id for e in peek(spec, 2).splits["dev"]] == ["0", "1"]
        with pytest.raises(BadInput, match="line 3"):
            peek(spec, 3)


def test_a_peek_at_a_published_dataset_is_the_whole() -> None:
    assert peek("mini-ja:dev", 1) == load("mini-ja:dev")


def test_a_peek_still_hints_at_the_reader(tmp_path: Path) -> None:
    path = write_jnli(tmp_path, "1.3")
    with pytest.raises(BadInput, match=f"write jnli@{path}$"):
        peek(str(path), 1)


def test_the_judgements_of_one_split() -> None:
    every = list(read_judgements("mini-ja"))
    for split in ("train", "dev"):
        assert list(read_judgements(f"mini-ja:{split}")) == [
            j for j in every if j.example.startswith(f"mini-ja:{split}/")
        ]
    assert list(read_judgements("mini-ja:valid")) == list(read_judgements("mini-ja:dev"))
    assert 0 < len(list(read_judgements("mini-ja:dev"))) < len(every)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mini-ja:tets", "no split of mini-ja 'tets'; did you mean 'test'"),
        ("mini-jaa:test", "did you mean 'mini-ja'"),
        ("mini-ja@x.jsonl", "is a file; .* write mini-ja"),
        ("jcola:dev", "does not publish judgements"),
    ],
)
def test_judgements_that_cannot_be_had(spec: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read_judgements(spec)


def test_a_data_folder_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "file").touch()
    require_folder(None)
    require_folder(tmp_path)
    with pytest.raises(BadInput, match="file: is not a folder; pass the folder with"):
        require_folder(file)
    with pytest.raises(BadInput, match="none: no such folder; pass the folder with"):
        require_folder(tmp_path / "none")
    monkeypatch.setenv("NIKAWA_DATA", str(tmp_path / "none"))
    require_folder(tmp_path / "none")
