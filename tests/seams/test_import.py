"""From somebody's flat table into a dataset, and on: check, task, run, score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Nikawa = Callable[..., CompletedProcess[str]]

PAIRS = [
    ("橋の上に犬がいる。", "動物が橋の上にいる。", "entailment"),
    ("店は七時に開く。", "店は開かない。", "contradiction"),
    ("少年が本を読む。", "少年は学校にいる。", "neutral"),
    ("雪が一晩中降った。", "雪が降った。", "entailment"),
    ("鐘が三度鳴った。", "鐘は鳴らなかった。", "contradiction"),
    ("母が茶を入れる。", "母は台所にいる。", "neutral"),
]
LABELS = ["entailment", "neutral", "contradiction"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read_lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def import_report(nikawa: Nikawa, *words: str) -> dict[str, Any]:
    done = nikawa("data", "import", *words, "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_a_flat_file_goes_all_the_way_to_a_score(nikawa: Nikawa) -> None:
    rows = [
        {"id": f"s{n}", "text": one, "label": "odd" if n % 2 else "even", "page": n}
        for n, (one, _, _) in enumerate(PAIRS)
    ]
    write_lines("flat.jsonl", rows)
    report = import_report(nikawa, "flat.jsonl", "--out", "mine", "--split", "test")
    assert report["labels"] == {"even": 3, "odd": 3}
    assert report["meta"] == ["page"]
    assert read_lines("mine/test.jsonl")[1] == {
        "id": "s1",
        "inputs": {"text": "店は七時に開く。"},
        "gold": {"label": "odd"},
        "meta": {"page": 1},
    }
    assert nikawa("data", "check", "mine").returncode == 0
    write_lines("answers.jsonl", [{"id": row["id"], "answer": "odd"} for row in rows])
    done = nikawa("score", "mine:test", "answers.jsonl", "--json")
    assert json.loads(done.stdout)["scores"][0]["value"] in (0.5, 50.0)


@pytest.mark.parametrize("command", [("data", "check"), ("data", "show"), ("data", "card")])
def test_errors_about_flat_files_name_the_command(nikawa: Nikawa, command: tuple[str, ...]) -> None:
    Path("flat").mkdir()
    write_lines("flat/train.jsonl", [{"id": "1", "text": "橋", "label": "a"}])
    done = nikawa(*command, "flat")
    assert done.returncode == 2
    assert "nikawa data import flat --out FOLDER" in done.stderr
    assert "nikawa data card" not in done.stderr
    if command[1] != "card":
        for name in ("flat/train.jsonl", "table.csv"):
            Path("table.csv").write_text("id,text,label\n1,橋,a\n")
            done = nikawa(*command, name)
            assert f"nikawa data import {name} --out FOLDER" in done.stderr


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.tsv", "\t")])
def test_a_sheet_of_excel(nikawa: Nikawa, name: str, mark: str) -> None:
    lines = ["pairID,sentence1,sentence2,gold_label"]
    lines += [f"p{n},{one},{two},{label}" for n, (one, two, label) in enumerate(PAIRS)]
    text = "\r\n".join(lines).replace(",", mark) + "\r\n"
    Path(name).write_bytes(text.encode("cp932"))
    report = import_report(nikawa, name, "--out", "nli")
    assert report["kind"] == "inference"
    assert report["columns"]["premise"] == ["sentence1"]
    assert read_lines("nli/all.jsonl")[0]["id"] == "p0"


def test_numbers_are_no_labels_until_they_are_named(nikawa: Nikawa) -> None:
    rows = [
        {"premise": one, "hypothesis": two, "label": LABELS.index(label)}
        for one, two, label in PAIRS
    ]
    write_lines("n.jsonl", rows)
    done = nikawa("data", "import", "n.jsonl", "--out", "nli")
    assert done.returncode == 2
    assert "n.jsonl, line 1: the label (column 'label') is the number 0" in done.stderr
    assert not Path("nli").exists()
    mapped = ",".join(f"{number}={label}" for number, label in enumerate(LABELS))
    report = import_report(nikawa, "n.jsonl", "--out", "nli", "--labels", mapped)
    assert report["labels"] == dict.fromkeys(sorted(LABELS), 2)


def test_columns_that_nobody_knows_are_asked_for(nikawa: Nikawa) -> None:
    write_lines("odd.jsonl", [{"eins": one, "zwei": two, "drei": la} for one, two, la in PAIRS])
    done = nikawa("data", "import", "odd.jsonl", "--out", "nli", "--kind", "inference")
    assert done.returncode == 2
    assert "say --columns premise=COLUMN,hypothesis=COLUMN,label=COLUMN" in done.stderr
    assert "eins, zwei, drei" in done.stderr
    columns = "premise=eins,hypothesis=zwei,label=drei"
    report = import_report(nikawa, "odd.jsonl", "--out", "nli", "--columns", columns)
    assert report["kind"] == "inference"
    done = nikawa("data", "import", "odd.jsonl", "--out", "x", "--columns", "premise=ein")
    assert "has no column 'ein'; did you mean 'eins'?" in done.stderr


def test_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from nikawa.cli import data
    from nikawa.datasets.import_table import ImportOptions

    write_lines("odd.jsonl", [{"eins": one, "zwei": two, "label": la} for one, two, la in PAIRS])
    answers = iter(("inference", "eins", "zwei", "label", "-", "-", "-"))
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    options = data.ask_columns(Path("odd.jsonl"), ImportOptions())
    assert options.kind == "inference"
    assert options.columns == {"premise": "eins", "hypothesis": "zwei", "label": "label"}


def test_folders_of_hugging_face(nikawa: Nikawa) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "premise": datasets.Value("string"),
            "hypothesis": datasets.Value("string"),
            "label": datasets.ClassLabel(names=LABELS),
            "genre": datasets.Value("string"),
        }
    )
    rows = [
        {"premise": one, "hypothesis": two, "label": LABELS.index(label), "genre": "made up"}
        for one, two, label in PAIRS
    ]
    parts = {
        "train": datasets.Dataset.from_list(rows, features=features),
        "validation": datasets.Dataset.from_list(rows[:3], features=features),
        "test": datasets.Dataset.from_list([{**rows[0], "label": -1}], features=features),
    }
    datasets.DatasetDict(parts).save_to_disk("saved")
    Path("repository/data").mkdir(parents=True)
    for name, part in parts.items():
        part.to_parquet(f"repository/data/{name}-00000-of-00001.parquet")
    Path("repository/README.md").write_text("# somebody's dataset\n")
    for source in ("saved", "repository"):
        report = import_report(nikawa, source, "--out", f"from-{source}")
        assert report["splits"] == {"test": 1, "train": 6, "dev": 3} | report["splits"]
        assert set(report["splits"]) == {"train", "dev", "test"}
        assert report["unlabelled"] == 1
        first = read_lines(f"from-{source}/train.jsonl")[1]
        assert first["gold"] == {"label": "contradiction"}
        assert first["meta"] == {"genre": "made up"}
        assert "gold" not in read_lines(f"from-{source}/test.jsonl")[0]
    parts["train"].save_to_disk("single")
    assert import_report(nikawa, "single", "--out", "one")["splits"] == {"all": 6}


def test_entities_of_hugging_face_become_spans(nikawa: Nikawa) -> None:
    datasets = pytest.importorskip("datasets")
    names = ["O", "B-PS", "I-PS", "B-LC"]
    sequence = datasets.Sequence(datasets.ClassLabel(names=names))
    features = datasets.Features(
        {"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": sequence}
    )
    row = {"tokens": ["김", "하루", "는", "푸른섬", "에"], "ner_tags": [1, 2, 0, 3, 0]}
    datasets.Dataset.from_list([row], features=features).to_parquet("train.parquet")
    done = nikawa("data", "import", "train.parquet", "--out", "ner")
    assert done.returncode == 2
    assert "--join" in done.stderr
    import_report(nikawa, "train.parquet", "--out", "ner", "--join", "")
    assert read_lines("ner/train.jsonl")[0] == {
        "id": "train-1",
        "inputs": {"text": "김하루는푸른섬에"},
        "gold": {
            "spans": [{"start": 0, "end": 3, "label": "PS"}, {"start": 4, "end": 7, "label": "LC"}]
        },
    }


def test_squad_and_its_flat_copies(nikawa: Nikawa) -> None:
    context = "青い灯台は1901年に建てられた。"
    question = {
        "id": "q1",
        "question": "いつ建てられたか。",
        "answers": [{"text": "1901年", "answer_start": 5}],
    }
    article = {"title": "灯台", "paragraphs": [{"context": context, "qas": [question]}]}
    Path("dev.json").write_text(json.dumps({"version": "1", "data": [article]}))
    flat = {
        "id": "q1",
        "title": "灯台",
        "context": context,
        "question": "いつ建てられたか。",
        "answers": {"text": ["1901年"], "answer_start": [5]},
    }
    write_lines("flat.jsonl", [flat])
    for source, split in (("dev.json", "dev"), ("flat.jsonl", "all")):
        import_report(nikawa, source, "--out", f"r-{split}")
        example = read_lines(f"r-{split}/{split}.jsonl")[0]
        assert example["gold"] == {"answers": [{"text": "1901年", "start": 5}]}
        assert example["inputs"]["title"] == "灯台"
    write_lines("bad.jsonl", [{**flat, "answers": {"text": ["1901年"], "answer_start": [4]}}])
    done = nikawa("data", "import", "bad.jsonl", "--out", "bad")
    assert "bad.jsonl, line 1: the answer '1901年' is not at 4 of the context" in done.stderr


def test_choices_in_columns(nikawa: Nikawa) -> None:
    row = {
        "q_id": 3,
        "question": "船をつなぐものは？",
        "choice0": "鐘",
        "choice1": "綱",
        "label": 1,
    }
    write_lines("c.jsonl", [row])
    report = import_report(nikawa, "c.jsonl", "--out", "c")
    assert report["columns"]["choices"] == ["choice0", "choice1"]
    example = read_lines("c/all.jsonl")[0]
    assert example["inputs"]["choices"] == ["鐘", "綱"]
    assert example["gold"] == {"choice": 1}


def test_what_is_exported_comes_back(nikawa: Nikawa) -> None:
    pytest.importorskip("pyarrow")
    rows = [
        {
            "id": str(n),
            "inputs": {"sentence1": one, "sentence2": two},
            "gold": {"score": n + 0.5},
            "tags": ["made-up"],
            "group": f"g{n}",
        }
        for n, (one, two, _) in enumerate(PAIRS)
    ]
    Path("mine").mkdir()
    write_lines("mine/train.jsonl", rows)
    assert nikawa("data", "card", "mine").returncode == 0
    assert nikawa("data", "export", "mine", "--to", "hf", "--out", "hf").returncode == 0
    import_report(nikawa, "hf", "--out", "back")
    assert read_lines("back/train.jsonl") == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "1", "text": "a", "label": "x"}\n{"id": "1", "text": "b", "label": "y"}\n', "id '1' occurs twice"),
        ('{"id": "1", "text": "", "label": "x"}\n', "line 1: the text (column 'text') is empty"),
        ('{"id": "1", "inputs": {"text": "a"}}\n', "holds records already"),
        ("[1, 2]\n", "line 1: holds no object"),
        ("", "is empty"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(nikawa: Nikawa, text: str, message: str) -> None:
    Path("bad.jsonl").write_text(text)
    done = nikawa("data", "import", "bad.jsonl", "--out", "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert not Path("out").exists()


def test_published_files_as_strangers(nikawa: Nikawa, shared_data: Path) -> None:
    """The published files, read by their columns alone, give the gold that their own readers give."""
    from nikawa.datasets import load
    from nikawa.datasets.import_table import import_table

    for name, folder in (("jnli", "jnli"), ("jsts", "jsts"), ("jcommonsenseqa", "jcommonsenseqa")):
        source = shared_data / "jglue" / "datasets" / f"{folder}-v1.3" / "valid-v1.3.json"
        report = import_table(source, Path(name))
        ours = [e.gold for e in load(f"./{name}").splits["dev"]]
        theirs = [e.gold for e in load(f"{name}:dev", data=shared_data).splits["dev"]]
        assert [list(gold.values()) for gold in ours] == [list(gold.values()) for gold in theirs]
        assert report.unlabelled == 0
