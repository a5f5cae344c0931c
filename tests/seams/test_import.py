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
    assert "pass --columns premise=COLUMN,hypothesis=COLUMN,label=COLUMN" in done.stderr
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
    assert options.columns == {
        "premise": "eins",
        "hypothesis": "zwei",
        "label": "label",
        **dict.fromkeys(("id", "group", "tags"), "-"),
    }


def test_a_terminal_is_asked_again_after_a_wrong_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from nikawa.cli import data
    from nikawa.datasets.import_table import ImportOptions, plan_columns
    from nikawa.io.flat_tables import open_tables

    write_lines("t.jsonl", [{"id": "1", "text": "橋", "Label": "x", "label": "y"}])
    answers = iter(("text", "text", "labl", "Label", "-", "-", "-"))
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    options = data.ask_columns(Path("t.jsonl"), ImportOptions())
    plan = plan_columns(open_tables(Path("t.jsonl")), options)
    assert plan.columns == {"text": ("text",), "label": ("Label",)}
    assert plan.kept == ("id", "label")


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
        "meta": {"tokens": row["tokens"]},
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
            "meta": {"title": "店", "mixed": None if n % 2 else [{"a": [1]}], "two words": n},
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
        ('{"id": "1", "inputs": {"text": "a"}}\n', "already contains records"),
        ("[1, 2]\n", "line 1: is not an object"),
        ("", "is empty"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(nikawa: Nikawa, text: str, message: str) -> None:
    Path("bad.jsonl").write_text(text)
    done = nikawa("data", "import", "bad.jsonl", "--out", "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert not Path("out").exists()


def refusal(nikawa: Nikawa, *words: str) -> str:
    done = nikawa("data", "import", *words, "--out", "refused")
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert not Path("refused").exists()
    return done.stderr


def test_columns_that_begin_late_are_kept(nikawa: Nikawa) -> None:
    """A key that only row 251 has, a cell that only row 251 fills, and a choice likewise."""
    rows: list[dict[str, Any]] = [{"id": n, "text": f"橋{n}", "label": "a"} for n in range(251)]
    rows[-1]["note"] = "here"
    write_lines("t.jsonl", rows)
    cells = [f"{n},橋{n},a,{'here' if n == 250 else ''}" for n in range(251)]
    Path("t.csv").write_text("\n".join(["id,text,label,note", *cells]) + "\n")
    for source in ("t.jsonl", "t.csv"):
        assert import_report(nikawa, source, "--out", f"o-{source}")["meta"] == ["note"]
        assert read_lines(f"o-{source}/all.jsonl")[-1]["meta"] == {"note": "here"}
    rows = [
        {"id": n, "question": "何？", "choice0": "鐘", "choice1": "綱", "label": 1}
        for n in range(251)
    ]
    rows[-1].update(choice2="帆", label=2)
    write_lines("c.jsonl", rows)
    import_report(nikawa, "c.jsonl", "--out", "c")
    last = read_lines("c/all.jsonl")[-1]
    assert (last["inputs"]["choices"], last["gold"]) == (["鐘", "綱", "帆"], {"choice": 2})


def test_what_squad_says_of_articles_and_paragraphs_is_kept(nikawa: Nikawa) -> None:
    question = {"id": "q1", "question": "いつ？", "answers": [], "is_impossible": True}
    open_question = {"id": "q2", "question": "どこ？", "answers": [], "is_impossible": False}
    paragraph = {"context": "青い灯台。", "page": 3, "qas": [question, open_question]}
    article = {"id": "a1", "title": "灯台", "source": "made up", "paragraphs": [paragraph]}
    Path("dev.json").write_text(json.dumps({"data": [article]}))
    assert import_report(nikawa, "dev.json", "--out", "r")["unlabelled"] == 1
    first, second = read_lines("r/dev.jsonl")
    meta = {"source": "made up", "page": 3, "article.id": "a1"}
    assert first["gold"] == {"answers": []}
    assert first["meta"] == {**meta, "is_impossible": True}
    assert "gold" not in second


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "橋", "label": "x", "gold_label": "y"}, "the label: label, gold_label; pass --columns label=COLUMN"),
        ({"text": "橋", "label": "x", "Label": "y"}, "the label: label, Label"),
        ({"text": "橋", "category": "x", "sentiment": "y"}, "the label: category, sentiment"),
        ({"title": "橋", "content": "長い", "label": "y"}, "the text: title, content"),
        ({"s_ja": "橋", "s_ko": "다리"}, "does not determine the kind of task; its columns are s_ja, s_ko"),
        ({"text": "橋", "label": 1.0}, "line 1: the label (column 'label') is the number 1;"),
        ({"sentence1": "橋", "sentence2": "店", "label": 4}, "--kind similarity"),
        ({"id": {"a": 1}, "text": "橋", "label": "x"}, "line 1: the id is neither text nor a number"),
        ({"id": "", "text": "橋", "label": "x"}, "line 1: has no id (column 'id')"),
        ({"text": "橋", "label": "x", "group": ["g"]}, "line 1: the group is neither"),
        ({"question": "何", "choice0": "a", "choice1": None, "choice2": "c", "label": 2}, "line 1: a choice is empty"),
        ({"question": "何", "choices": ["1", "0"], "label": "1"}, "the choice '1' is several of 2"),
        ({"context": "橋", "question": "何", "answer": "橋", "answer_start": -1}, "is not at -1 of the context"),
        ({"context": "橋", "question": "何", "answer": "橋", "answer_start": "0.5"}, "is not at 0.5 of the context"),
        ({"context": "橋", "question": "何", "answers": {"text": ["橋"], "answer_start": []}}, "different numbers of answers"),
        ({"context": "橋", "question": "何", "title": 5, "answers": ["橋"]}, "the title (column 'title') is not a text: 5"),
        ({"sentence": "橋", "subject_entity": {"start_idx": None, "end_idx": 0}, "object_entity": "橋", "label": "r"}, "the subject has no start and end"),
        ({"sentence": "橋", "subject_entity": {"start": -9, "end": 9}, "object_entity": "橋", "label": "r"}, "the subject is at -9 to 9 of 1 characters"),
        ({"text": "橋", "spans": [{"start": None, "end": 1, "label": "x"}]}, "line 1: a span has no start, end and label"),
        ({"text": "橋だ", "spans": [{"start": 0, "end": 1, "label": "x", "text": "だ"}]}, "but the text has '橋' there"),
        ({"text": "橋だ", "tokens": ["橋", "よ"], "ner_tags": ["O", "O"]}, "the token 'よ' does not follow in the text"),
    ],
)  # fmt: skip
def test_doubts_and_odd_values_are_refused(
    nikawa: Nikawa, row: dict[str, Any], message: str
) -> None:
    write_lines("bad.jsonl", [row])
    assert message in refusal(nikawa, "bad.jsonl")


def test_answers_that_are_marked_as_others_mark_them(nikawa: Nikawa) -> None:
    choices = {"text": ["鐘", "綱", "帆"], "label": ["1", "2", "3"]}
    for number, (options, answer, place) in enumerate(
        [(choices, "1", 0), ({"A": "鐘", "B": "綱"}, "B", 1), (["3", "2", "1"], 1, 1)]
    ):
        write_lines("c.jsonl", [{"question": "何？", "choices": options, "answerKey": answer}])
        import_report(nikawa, "c.jsonl", "--out", f"c{number}")
        assert read_lines(f"c{number}/all.jsonl")[0]["gold"] == {"choice": place}
    write_lines("b.jsonl", [{"text": "橋", "label": value} for value in (True, None, "", " ok ")])
    report = import_report(nikawa, "b.jsonl", "--out", "b")
    assert (report["labels"], report["unlabelled"]) == ({"ok": 1, "true": 1}, 2)
    write_lines("n.jsonl", [{"text": "橋", "label": value} for value in (-1, 0, 1, 1, "")])
    assert "-1=- if it means that the label is missing" in refusal(nikawa, "n.jsonl")
    report = import_report(nikawa, "n.jsonl", "--out", "n", "--labels", "-1=-,0=no,1=yes")
    assert (report["labels"], report["unlabelled"]) == ({"no": 1, "yes": 2}, 2)
    tagged = {"text": "橋 は長い", "tokens": ["橋", "は", "長い"], "ner_tags": ["O", "O", "B-X"]}
    write_lines("t.jsonl", [tagged])
    import_report(nikawa, "t.jsonl", "--out", "t")
    example = read_lines("t/all.jsonl")[0]
    assert example["gold"]["spans"] == [{"start": 3, "end": 5, "label": "X"}]
    assert example["meta"] == {"tokens": tagged["tokens"]}
    sure_span = {"start": 0, "end": 1, "label": "X", "sure": 0.5}
    spans = [
        {"text": text, "spans": [span]} for text, span in (("橋だ", [0, 1, "X"]), ("橋", sure_span))
    ]
    write_lines("s.jsonl", spans)
    import_report(nikawa, "s.jsonl", "--out", "s")
    first, second = read_lines("s/all.jsonl")
    assert first["gold"] == {"spans": [{"start": 0, "end": 1, "label": "X"}]}
    assert second["meta"] == {"spans": [sure_span]}


def test_values_inside_objects_and_names_with_commas(nikawa: Nikawa) -> None:
    row = {"s1": "橋", "s2": "店", "labels": {"real": 1.5, "binary": 0}, "a, b": "c"}
    write_lines("t.jsonl", [row])
    assert "--columns score=labels.NAME" in refusal(nikawa, "t.jsonl", "--columns", "score=labels")
    words = ("--columns", "score=labels.real", "--labels", "1.5=a")
    assert "similarity has no labels" in refusal(nikawa, "t.jsonl", *words)
    import_report(nikawa, "t.jsonl", "--out", "t", "--columns", "score=labels.real,group=a, b")
    example = read_lines("t/all.jsonl")[0]
    assert (example["gold"], example["group"]) == ({"score": 1.5}, "c")
    assert example["meta"] == {"labels": row["labels"]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("meta.y=x", "meta.y=x does not give the column a new name"),
        ("meta.=x", "meta.=x does not give the column a new name"),
        ("meta.a=x,meta.b=x", "the column 'x' cannot also be the meta.b"),
        ("text=text,meta.a=text", "the column 'text' cannot also be the meta.a"),
        ("premise=text,hypothesis=text", "the column 'text' cannot also be the hypothesis"),
        ("label=x+y", "the label has several columns: x, y"),
        ("label=x,premise=text", "recognised column for the hypothesis of inference"),
        ("premise=text,choices=x+y", "no kind of task has the fields premise, choices"),
    ],
)
def test_columns_are_named_once(nikawa: Nikawa, columns: str, message: str) -> None:
    write_lines("t.jsonl", [{"text": "橋", "label": "a", "x": 1, "y": 2}])
    assert message in refusal(nikawa, "t.jsonl", "--columns", columns)


def test_a_renamed_column_is_no_field(nikawa: Nikawa) -> None:
    """Not of the kind that is meant, nor of another that would take a title."""
    write_lines("t.jsonl", [{"text": "橋", "label": "a", "title": "川", "id": 3}])
    words = ("--columns", "meta.headline=title,meta.number=id")
    assert import_report(nikawa, "t.jsonl", "--out", "t", *words)["kind"] == "text"
    example = read_lines("t/all.jsonl")[0]
    assert (example["id"], example["meta"]) == ("all-1", {"headline": "川", "number": 3})


def test_ids_are_made_where_the_user_says_so(nikawa: Nikawa) -> None:
    write_lines("t.jsonl", [{"id": "1", "text": f"橋{n}", "label": "a"} for n in range(2)])
    assert "line 2: the id '1' occurs twice (column 'id')" in refusal(nikawa, "t.jsonl")
    assert import_report(nikawa, "t.jsonl", "--out", "t", "--columns", "id=-")["made_ids"]
    second = read_lines("t/all.jsonl")[1]
    assert (second["id"], second["meta"]) == ("all-2", {"id": "1"})


def test_files_of_a_folder_are_one_split_each(nikawa: Nikawa) -> None:
    def write_folder(*names: str) -> str:
        folder = Path("-".join(names))
        folder.mkdir()
        for number, name in enumerate(names):
            write_lines(str(folder / name), [{"id": str(number), "text": "橋", "label": "a"}])
        return str(folder)

    versions = write_folder("train-v1.3.jsonl", "valid-v1.3.jsonl")
    assert import_report(nikawa, versions, "--out", "v")["splits"] == {"train": 1, "dev": 1}
    parts = write_folder("train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl")
    assert import_report(nikawa, parts, "--out", "p")["splits"] == {"train": 2}
    twice = refusal(nikawa, write_folder("train.jsonl", "train.json"))
    assert "holds the split 'train' in several files: train.json, train.jsonl" in twice
    some = refusal(nikawa, write_folder("dev-00000-of-00002.jsonl"))
    assert "holds 1 of the 2 parts of 'dev'" in some
    assert "one split under two names: dev, valid" in refusal(
        nikawa, write_folder("dev.jsonl", "valid.jsonl")
    )
    done = nikawa("data", "import", versions, "--out", versions, "--overwrite")
    assert "is the folder of the table" in done.stderr
    assert read_lines(f"{versions}/train-v1.3.jsonl")[0]["text"] == "橋"


def test_sheets_that_pandas_writes(nikawa: Nikawa) -> None:
    Path("index.csv").write_text(",text,label\n0,橋,a\n")
    assert "line 1: column 1 has no name" in (text := refusal(nikawa, "index.csv"))
    assert "to_csv(index=False)" in text
    Path("q.tsv").write_text('text\tlabel\n"橋の ""店"" だ"\ta\n')
    assert "q.tsv, line 2: has a quoted cell between tabs" in refusal(nikawa, "q.tsv")
    Path("q.tsv").write_text('text\tlabel\n"橋" と "店" だ\ta\n')
    import_report(nikawa, "q.tsv", "--out", "q")
    assert read_lines("q/all.jsonl")[0]["inputs"]["text"] == '"橋" と "店" だ'
    Path("UP.CSV").write_text("text,label\n橋,a\n")
    import_report(nikawa, "UP.CSV", "--out", "up")


def test_columns_of_parquet(nikawa: Nikawa) -> None:
    """Dates are text, classes of other columns have their names, and what JSON lacks is refused."""
    pa = pytest.importorskip("pyarrow")
    from datetime import date

    import pyarrow.parquet as pq

    columns = {"text": ["橋"], "label": ["a"], "on": [date(2026, 5, 1)], "genre": [1]}
    classes = {"genre": {"names": ["news", "blog"], "_type": "ClassLabel"}, "odd": [{}]}
    described = {b"huggingface": json.dumps({"info": {"features": classes}}).encode()}
    pq.write_table(pa.table(columns).replace_schema_metadata(described), "t.parquet")
    import_report(nikawa, "t.parquet", "--out", "t")
    assert read_lines("t/all.jsonl")[0]["meta"] == {"on": "2026-05-01", "genre": "blog"}
    for value, message in ((b"\0", "a value of the type bytes"), (float("inf"), "NaN or Infinity")):
        pq.write_table(pa.table({**columns, "odd": [value]}), "odd.parquet")
        assert f"row 1: the column 'odd' holds {message}" in refusal(nikawa, "odd.parquet")
    arrays = [pa.array(["橋"]), pa.array(["a"]), pa.array(["b"])]
    pq.write_table(pa.table(arrays, names=["text", "label", "label"]), "two.parquet")
    assert "column 'label' occurs twice" in refusal(nikawa, "two.parquet")


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
