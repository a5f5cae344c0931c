"""Every form without a tool's name: recognised by content, the same answers from each."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from nikawa.errors import BadInput
from nikawa.io.answers import Answers, read_answers
from nikawa.io.records import write_records
from nikawa.records import Example, Prediction, Task

Read = Callable[..., Answers]
WANTED = {"100": "entailment", "101": "contradiction", "102": "neutral"}


FORMS = [
    (
        "p.jsonl",
        "predictions",
        '{"example":"100","answer":"entailment"}\n{"example":"101","answer":"contradiction","why":null}\n{"example":"102","answer":"neutral"}\n',
    ),
    (
        "p.json",
        "lines",
        '{"id":"100","answer":"entailment"}\n{"id":"101","answer":"contradiction"}\n{"id":"102","answer":"neutral"}\n',
    ),
    (
        "p",
        "lines",
        '{"id":100,"pred":"entailment"}\n{"id":101,"pred":"contradiction"}\n{"id":102,"pred":"neutral"}',
    ),
    (
        "p.jsonl",
        "lines",
        '{"guid":"100","prediction":"entailment","label":"neutral"}\n{"id":"101","answer":"contradiction"}\n{"sentence_pair_id":"102","label":"neutral"}\n',
    ),
    ("p.json", "mapping", '{"100":"entailment","101":"contradiction","102":"neutral"}'),
    (
        "p.json",
        "mapping",
        '{\n "100": {"answer":"entailment"},\n "101": {"label":"contradiction"},\n "102": "neutral"\n}\n',
    ),
    (
        "p.json",
        "array",
        '[{"id":"100","answer":"entailment"},\n{"id":"101","answer":"contradiction"},{"id":"102","answer":"neutral"}]',
    ),
    ("p.tsv", "tsv", "id\tprediction\n100\tentailment\n101\tcontradiction\n102\tneutral\n"),
    (
        "p.txt",
        "tsv",
        "example_id\tnote\tlabel\n100\t-\tentailment\n101\t-\tcontradiction\n102\t-\tneutral\n",
    ),
    (
        "p.csv",
        "csv",
        'id,note,answer\r\n100,"a, b","entailment"\r\n101,"two\r\nlines",contradiction\r\n102,,neutral\r\n',
    ),
    ("p.txt", "csv", "id,answer\n100,entailment\n101,contradiction\n102,neutral\n"),
    ("p.txt", "text", "entailment\ncontradiction\nneutral\n"),
    (
        "test_results_jnli.txt",
        "glue",
        "index\tprediction\n0\tentailment\n1\tcontradiction\n2\tneutral\n",
    ),
    ("p.jsonl", "values", '"entailment"\n"contradiction"\n"neutral"\n'),
    ("p.json", "list", '["entailment","contradiction","neutral"]'),
    ("p.csv", "csv", "\ufeffID,Answer\r\n100,entailment\r\n101,contradiction\r\n102,neutral\r\n"),
    ("p.csv", "csv", "id,answer\n100.0,entailment\n101.0,contradiction\n102.0,neutral\n"),
    (
        "p.jsonl",
        "lines",
        '{"id":"jnli:dev/100","answer":"entailment"}\n{"id":"101","answer":"contradiction"}\n{"id":"102","answer":"neutral"}',
    ),
]


def answers(found: Answers) -> dict[str, object]:
    return {name: prediction.answer for name, prediction in found.predictions.items()}


@pytest.mark.parametrize(("name", "form", "text"), FORMS)
def test_forms(read: Read, name: str, form: str, text: str) -> None:
    found = read(name, text)
    assert found.form == form
    assert answers(found) == WANTED
    assert (found.unknown, found.duplicates, found.missing, found.unparsed) == ([], [], [], [])
    assert answers(read(f"{name}.gz", gzip.compress(text.encode()))) == WANTED
    assert answers(read(f"{name}.zst", zstandard.compress(text.encode()))) == WANTED
    assert answers(read(name, text, form=form)) == WANTED


@pytest.mark.parametrize(("name", "form", "text"), FORMS)
def test_forms_as_windows_tools_write_them(read: Read, name: str, form: str, text: str) -> None:
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = read(name, "\ufeff" + plain.replace("\n", "\r\n"))
    assert (found.form, answers(found)) == (form, WANTED)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst", ".tsv", ".json", ".parquet"])
def test_our_own_records(read: Read, tmp_path: Path, suffix: str) -> None:
    written = [
        Prediction(
            example="100", answer="entailment", scores={"entailment": 0.75, "neutral": 0.25}
        ),
        Prediction(example="101", raw="多分\tそう", why="not one of the labels"),
        Prediction(example="102", answer="neutral", raw="中立"),
    ]
    write_records(tmp_path / f"p{suffix}", written)
    found = read(f"p{suffix}", None)
    assert list(found.predictions.values()) == written
    assert found.unparsed == [("101", "多分\tそう", "not one of the labels")]


def test_parquet_of_others(read: Read, tmp_path: Path) -> None:
    table = pyarrow.table({"q_id": [100, 101], "prediction": [1, 4]})
    pyarrow.parquet.write_table(table, tmp_path / "p")
    assert answers(read("p", None, "jcommonsenseqa")) == {"100": 1, "101": 4}


def test_missing_unknown_and_repeated_ids_are_listed(read: Read) -> None:
    lines = [
        ("100", "entailment"),
        ("7", "neutral"),
        ("100", "含意"),
        ("8", "neutral"),
        ("7", "entailment"),
    ]
    found = read("p.tsv", "id\tanswer\n" + "".join(f"{name}\t{answer}\n" for name, answer in lines))
    assert answers(found) == {"100": "entailment"}
    assert found.missing == ["101", "102"]
    assert found.unknown == ["7", "8"]
    assert found.duplicates == [("100", "line 4")]


def test_what_cannot_be_read_is_no_answer(read: Read) -> None:
    found = read("p.txt", "entailment\nperhaps\n\n")
    assert answers(found) == {"100": "entailment", "101": None, "102": None}
    assert found.unparsed == [
        ("101", "perhaps", "not one of entailment, contradiction, neutral"),
        ("102", "", "empty"),
    ]
    assert read("p.json", '{"100": null}').unparsed == [("100", "", "the file gives no answer")]


def test_numbers_are_places_only_where_said(read: Read) -> None:
    text = "0\n1\n2\n"
    assert len(read("p.txt", text).unparsed) == 3
    assert "indices" in read("p.txt", text).unparsed[0][2]
    assert answers(read("p.txt", text, form="indices")) == WANTED
    assert answers(read("p.txt", text, form="text:indices")) == WANTED
    assert answers(read("p.json", '{"100":0,"101":1,"102":2}', form="indices")) == WANTED
    assert answers(read("p.txt", text, "klue-nli")) == WANTED
    assert len(read("p.json", '{"100":0,"101":1,"102":2}', "klue-nli").unparsed) == 3


def test_published_numbers_are_labels(read: Read) -> None:
    assert answers(read("p.txt", "index\tprediction\n0\t1\n1\t0\n", "jcola")) == {
        "100": "acceptable",
        "101": "unacceptable",
    }


def test_scores_come_along(read: Read) -> None:
    found = read("p.jsonl", '{"id":"100","scores":{"含意":0.2,"neutral":0.7}}\n')
    assert found.predictions["100"].answer == "neutral"
    assert found.predictions["100"].scores == {"entailment": 0.2, "neutral": 0.7}
    found = read(
        "p.jsonl", '{"id":"100","answer":1,"probs":[0.1,0.6,0.1,0.1,0.1]}\n', "jcommonsenseqa"
    )
    assert found.predictions["100"].scores == {"0": 0.1, "1": 0.6, "2": 0.1, "3": 0.1, "4": 0.1}
    named = read("p.jsonl", '{"id":"100","answer":1,"scores":{"綱":0.6,"0":0.4}}', "jcommonsenseqa")
    assert named.predictions["100"].scores == {"1": 0.6, "0": 0.4}
    listed = read("p.jsonl", '{"id":"100","scores":[0.1,0.6,0.3]}', form="indices")
    assert listed.predictions["100"].answer == "contradiction"


def test_run_squad(read: Read) -> None:
    found = read("predictions_.json", '{"100": "白", "101": ""}', "jsquad")
    assert found.form == "mapping"
    assert answers(found) == {"100": "白", "101": ""}
    nbest = '{"100": [{"text": "塔", "probability": 0.2}, {"text": "白", "probability": 0.8}], "101": [{"text": ""}]}'
    found = read("nbest_predictions_.json", nbest, "jsquad")
    assert found.form == "nbest"
    assert answers(found) == {"100": "白", "101": ""}


def test_numpy(read: Read) -> None:
    def saved(values: object) -> bytes:
        stream = io.BytesIO()
        np.save(stream, np.array(values))
        return stream.getvalue()

    assert answers(read("p.npy", saved([1, 4]), "jcommonsenseqa")) == {"100": 1, "101": 4}
    found = read("p.npy", saved([[0, 3.5, 1, 0, 0], [0, 0, 0, 0, 9]]), "jcommonsenseqa")
    assert answers(found) == {"100": 1, "101": 4}
    assert found.predictions["100"].scores == {"0": 0.0, "1": 3.5, "2": 1.0, "3": 0.0, "4": 0.0}
    assert answers(read("p.npy", saved([0.5, 4.25]), "jsts")) == {"100": 0.5, "101": 4.25}
    assert answers(read("p.npy", saved([0, 1, 2]), "klue-nli")) == WANTED
    places = np.eye(3)
    assert answers(read("p.npy", saved(places), "klue-nli")) == WANTED
    with pytest.raises(BadInput, match=r"the scores have no names.*'indices'"):
        read("p.npy", saved(places), "jnli")
    assert set(answers(read("p.npy", saved(places), "jnli", form="indices"))) == set(WANTED)


def test_text_that_begins_like_json_is_text(read: Read) -> None:
    assert answers(read("p.txt", "[注] 白\n三人\n", "jsquad")) == {"100": "[注] 白", "101": "三人"}


def test_a_folder_is_its_file_of_the_task(read: Read, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text("{}")
    (run / "predict_results_jsts.txt").write_text("index\tprediction\n0\t1.0\n1\t2.5\n")
    (run / "predict_results_jnli.txt").write_text("index\tprediction\n0\t含意\n1\t矛盾\n2\t中立\n")
    assert answers(read("run", None)) == WANTED
    assert answers(read("run", None, "jsts")) == {"100": 1.0, "101": 2.5}


def test_a_folder_of_parts_is_one_file(read: Read, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "part-0.jsonl").write_text(
        '{"id":"100","answer":"含意"}\n{"id":"101","answer":"矛盾"}\n'
    )
    (run / "part-1.jsonl").write_text(
        '{"id":"102","answer":"中立"}\n{"id":"101","answer":"矛盾"}\n'
    )
    found = read("run", None)
    assert answers(found) == WANTED
    assert found.duplicates == [("101", "line 2")]


@pytest.mark.slow
def test_many_lines_stream(read: Read) -> None:
    lines = "".join(f'{{"id":"{i}","answer":"x"}}\n' for i in range(200_000))
    found = read(
        "p.jsonl", lines, "jsquad", split=[Example(id="199999", inputs={"question": "？"})]
    )
    assert answers(found) == {"199999": "x"}
    assert len(found.unknown) == 199_999


def test_ids_with_their_source_behind_them_are_known(tmp_path: Path) -> None:
    task = Task(
        name="klue-dp",
        dataset="klue-dp",
        kind="text",
        question="label",
        inputs=("text",),
        labels=("a", "b"),
        metrics=("none",),
    )
    examples = [
        Example(id=f"dp_{i}", inputs={"text": "달"}, gold={"label": "a"}, meta={"source": "wiki"})
        for i in range(2)
    ]
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"guid":"dp_0_wiki","answer":"a"}\n{"guid":"dp_1_news","answer":"b"}\n', "utf-8"
    )
    found = read_answers(path, task, examples)
    assert (answers(found), found.unknown) == ({"dp_0": "a"}, ["dp_1_news"])


@pytest.mark.parametrize(
    ("name", "source", "is_known"),
    [
        ("klue-ner-v1_dev_00007-wikitree", "wikitree", True),
        ("klue-ner-v1_dev_00007_wikitree", "wikitree", True),
        ("klue-ner-v1_dev_00007-nsmc", "wikitree", False),
        ("klue-ner-v1_dev_00007-wikitree", None, True),
        ("klue-ner-v1_dev_00007-2", None, False),
        ("7-wikitree", None, False),
    ],
)
def test_ids_with_their_source(read: Read, name: str, source: str | None, is_known: bool) -> None:
    """As published, with the source behind them; models see no source to compare it with."""
    meta = {} if source is None else {"source": source}
    split = [
        Example(id=own, inputs={"text": "미오가 왔다"}, meta=meta)
        for own in ("klue-ner-v1_dev_00007", "7")
    ]
    found = read("p.json", f'{{"{name}": []}}', "klue-ner", split=split)
    assert (found.unknown == []) is is_known


def test_names_of_answers_and_ids(read: Read) -> None:
    for key in ("output", "response", "prediction", "pred"):
        for own in ("pair_ID", "pair_id", "jsem_id", "guid"):
            assert answers(read("p.jsonl", f'{{"{own}": "100", "{key}": "含意"}}')) == {
                "100": "entailment"
            }
    assert answers(read("p.csv", "pair_ID,Output\n100,neutral\n")) == {"100": "neutral"}
    assert answers(read("p.tsv", "pair_ID\tresponse\n100\tneutral\n")) == {"100": "neutral"}


def test_two_names_of_answers_are_refused(complain: Callable[..., BadInput]) -> None:
    problem = complain("p.jsonl", '{"id": "100", "answer": "含意", "output": "矛盾"}')
    assert "has both 'answer' and 'output'" in str(problem)
