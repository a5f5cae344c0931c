"""From other tools' files to gold: what Label Studio, doccano and potato wrote themselves, walked as a user takes it.

The files in `data/` are the tools' own, made by `tests/interop`; the items are written there (`items.py`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.interop.items import CHOICES, ENTITIES, LISTS, PAIRS

from nikawa.collect.export import csv_lines, json_lines
from nikawa.io.judgements import JudgementOptions, open_judgements
from nikawa.records import Judgement

DATA = Path(__file__).parent / "data"
STUDIO, DOCCANO, POTATO = (DATA / tool for tool in ("label_studio", "doccano", "potato"))
Run = Callable[..., CompletedProcess[str]]

SPAN_FILES = {
    STUDIO / "entities.json": "ner",
    STUDIO / "entities.csv": "ner",
    DOCCANO / "spans_confirmed": "spans",
    DOCCANO / "relations_confirmed": "spans",
    DOCCANO / "intents": "spans",
    POTATO / "annotation_output": "ner",
    POTATO / "snapshot" / "annotations.jsonl": "ner",
    POTATO / "export" / "annotations.jsonl": "ner",
}
"""Files of the same spans, with what each calls the question."""
LABEL_FILES = {
    STUDIO / "choices.json": "sentiment",
    STUDIO / "choices.csv": "sentiment",
    DOCCANO / "classification_jsonl": "label",
    DOCCANO / "classification_json": "label",
    DOCCANO / "classification_csv": "label",
    POTATO / "annotation_output": "sentiment",
    POTATO / "snapshot" / "annotations.jsonl": "sentiment",
    POTATO / "export" / "annotations.jsonl": "sentiment",
}


def read_answers(path: Path, question: str, **options: Any) -> dict[str, list[Any]]:
    """The answers to a question by item, in the order of the workers' names."""
    if DOCCANO in path.parents:  # its page counts so, and keeps no text of a span that would tell
        options.setdefault("offsets", "utf16")
    reading = open_judgements(path, JudgementOptions(**options))
    rows = [row for _, row in reading.rows if row.question == question]
    answers: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: (row.worker == "minsu", row.worker)):
        answers.setdefault(row.example, []).append(row.answer)
    return answers


def as_spans(marks: Any) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": label} for start, end, label in sorted(marks)]


def write_examples(path: Path, items: list[tuple[str, str]]) -> Path:
    lines = [json.dumps({"id": item, "inputs": {"text": text}}) + "\n" for item, text in items]
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    return write_examples(tmp_path / "sentences.jsonl", [(item, text) for item, text, _ in CHOICES])


@pytest.fixture
def entities(tmp_path: Path) -> Path:
    return write_examples(tmp_path / "entities.jsonl", [(item, text) for item, text, _ in ENTITIES])


# Every answer comes in whole


@pytest.mark.parametrize("path", SPAN_FILES, ids=lambda path: "-".join(path.parts[-2:]))
def test_spans_keep_labels_and_offsets(path: Path) -> None:
    answers = read_answers(path, SPAN_FILES[path])
    for item, text, marked in ENTITIES:
        expected = [as_spans(spans) for spans, _ in marked]
        if item in answers or expected != [[], []]:
            assert answers[item] == expected
        for spans, _ in marked:
            for start, end, _ in spans:
                assert text[start:end].strip() == text[start:end] != ""


def test_nothing_to_mark_is_an_empty_list_and_no_blank() -> None:
    for path in (STUDIO / "entities.json", STUDIO / "entities.csv", DOCCANO / "spans_confirmed"):
        assert read_answers(path, SPAN_FILES[path])["ner-none"] == [[], []]
    # potato keeps nothing of an instance in which nothing was marked: that is said, not guessed
    reading = open_judgements(POTATO / "annotation_output")
    assert "ner-none" not in {row.example for _, row in reading.rows}
    assert {note.what: note.count for note in reading.notes.report()}[
        "instances that were shown, with nothing saved"
    ] == 2


@pytest.mark.parametrize("path", LABEL_FILES, ids=lambda path: "-".join(path.parts[-2:]))
def test_labels_of_every_person(path: Path) -> None:
    expected = {item: [label for label, *_ in answers] for item, _, answers in CHOICES}
    assert read_answers(path, LABEL_FILES[path]) == expected


@pytest.mark.parametrize(
    ("path", "question"),
    [
        (STUDIO / "entities.json", "relations"),
        (DOCCANO / "relations_confirmed", "relations"),
        (POTATO / "annotation_output", "relations"),
    ],
    ids=("label-studio", "doccano", "potato"),
)
def test_relations_name_their_spans_and_labels(path: Path, question: str) -> None:
    answers = read_answers(path, question)
    for item, _, marked in ENTITIES[:2]:
        for (spans, relations), answer in zip(marked, answers[item], strict=True):
            expected = [
                {"from": as_spans([spans[a]])[0], "to": as_spans([spans[b]])[0], "label": label}
                for a, b, label in relations
            ]
            assert sorted(answer, key=str) == sorted(expected, key=str)


def test_ratings_texts_orders_and_sides() -> None:
    stars = {item: [rating for _, rating, _ in answers] for item, _, answers in CHOICES}
    for path in (STUDIO / "choices.json", STUDIO / "choices.csv", POTATO / "annotation_output"):
        assert read_answers(path, "fluency") == stars
    texts = read_answers(STUDIO / "choices.json", "reason")
    assert texts == {
        "ja-1": ["行列は人気のしるし"],
        "ja-2": [["遅い", "三日は長い"]],
        "ko-1": ["농담으로 읽었다"],
    }
    assert read_answers(STUDIO / "choices.csv", "reason") == texts
    for name in ("ranking.json", "ranking.csv"):
        assert read_answers(STUDIO / name, "order") == {LISTS[0][0]: list(LISTS[0][2])}
    assert read_answers(POTATO / "annotation_output", "order")["ja-1"] == [
        ["값", "맛", "양"],
        ["맛", "값", "양"],
    ]
    sides = {item: list(sides) for item, _, _, sides in PAIRS}
    assert read_answers(STUDIO / "pairwise.json", "better") == sides
    assert read_answers(STUDIO / "pairwise.csv", "better") == sides


@pytest.mark.parametrize("kind", ["ImageClassification", "ImageCaptioning", "Speech2text"])
def test_labels_and_texts_of_pictures_and_sound(kind: str) -> None:
    (answers,) = read_answers(DOCCANO / kind, "label").values()
    assert answers == (["dot", "dot"] if kind == "ImageClassification" else ["点がひとつ"] * 2)


def test_who_when_and_how_long() -> None:
    for name in ("choices.json", "choices.min.json", "choices.csv"):
        rows = [row for _, row in open_judgements(STUDIO / name).rows if row.question == "fluency"]
        assert {(row.worker, row.seconds) for row in rows} == {("1", 4.5), ("2", 7.25)}
        assert all(row.at and row.at.startswith("20") and "T" in row.at for row in rows)
    rows = [row for _, row in open_judgements(POTATO / "annotation_output").rows]
    assert {(row.worker, row.seconds) for row in rows if row.question == "sentiment"} == {
        ("hanako", 6.5),
        ("minsu", 6.5),
    }


def test_what_holds_no_answer_is_counted() -> None:
    reading = open_judgements(STUDIO / "choices.json")
    items = {row.example for _, row in reading.rows}
    assert items == {item for item, *_ in CHOICES}
    assert [(note.what, note.count) for note in reading.notes.report()] == [
        ("skipped annotations", 1),
        ("drafts", 1),
        ("tasks without an annotation", 1),
    ]


def test_notes_name_the_task(nikawa: Run) -> None:
    done = nikawa("agree", str(STUDIO / "choices.json"), "--question", "sentiment")
    assert "drafts: 1 (skipped: not submitted; task 6)" in done.stdout
    noted = json.loads(
        nikawa("agree", str(STUDIO / "choices.json"), "--question", "sentiment", "--json").stdout
    )
    assert {note["place"] for note in noted["notes"]} == {"task"}


def test_documents_that_nobody_opened(nikawa: Run) -> None:
    """doccano writes them like documents without spans; the caller says what they are, and reads how many there are."""
    counted = read_answers(DOCCANO / "spans", "spans")
    assert counted["open"] == counted["ner-none"] == [[], []]
    skipped = read_answers(DOCCANO / "spans", "spans", empty="skip")
    assert set(skipped) == {"ner-ja", "ner-ko"}
    page = ("agree", str(DOCCANO / "spans"), "--offsets", "utf16")
    done = nikawa(*page)
    assert done.returncode == 0
    assert "answers without spans: 4 (counted as 'nothing to mark'" in done.stdout
    assert "(skipped, as --empty skip says" in nikawa(*page, "--empty", "skip").stdout


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (STUDIO / "entities.conll", "is CoNLL, which has no items and no workers"),
        (STUDIO / "several.json", "task 1: has several choices for 'topics'"),
        (DOCCANO / "classification_fasttext" / "minsu.txt", "which has no items"),
        (DOCCANO / "texts", "minsu.jsonl, line 2: has 2 labels"),
        (
            DOCCANO / "spans_confirmed",
            "line 1: marks a text in which offsets depend on the unit",
        ),
        (DOCCANO / "BoundingBox", r"hanako.jsonl, line 1: marks a picture (bbox)"),
        (DOCCANO / "Segmentation", r"hanako.jsonl, line 1: marks a picture (segmentation)"),
        (POTATO / "export" / "annotations.csv", "each label has its own column"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_what_has_no_place_is_refused_with_the_reason(nikawa: Run, path: Path, reason: str) -> None:
    done = nikawa("agree", str(path))
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


# From the tool's file to a dataset


@pytest.mark.parametrize("path", SPAN_FILES, ids=lambda path: "-".join(path.parts[-2:]))
def test_from_spans_to_a_dataset(nikawa: Run, tmp_path: Path, entities: Path, path: Path) -> None:
    if POTATO in path.parents:  # its project holds both kinds of items
        items = [(item, text) for item, text, _ in (*CHOICES, *ENTITIES)]
        entities = write_examples(tmp_path / "all.jsonl", items)
    words: tuple[str, ...] = (
        "--question",
        f"spans={SPAN_FILES[path]}",
        "--examples",
        str(entities),
    )
    if DOCCANO in path.parents:
        words = (*words, "--offsets", "utf16")
    agreed = nikawa("agree", str(path), *words, "--json")
    assert agreed.returncode == 0, agreed.stderr
    assert {row["name"] for row in json.loads(agreed.stdout)["measures"]} >= {"span-f1"}
    out = tmp_path / "gold"
    made = nikawa(
        "aggregate", str(path), *words, "--rule", "votes:2", "--ties", "drop", "--out", str(out)
    )
    assert made.returncode == 0, made.stderr
    rows = [json.loads(line) for line in (out / "examples.jsonl").read_text("utf-8").splitlines()]
    gold = {row["id"]: row["gold"]["spans"] for row in rows if row.get("gold")}
    for item, text, marked in ENTITIES:
        both = set(marked[0][0]) & set(marked[1][0])
        if POTATO in path.parents and not both:
            continue  # potato keeps nothing of an instance in which nothing was marked
        assert gold[item] == as_spans(both)
        assert all(text[span["start"] : span["end"]] for span in gold[item])
    dataset = tmp_path / "dataset"
    dataset.mkdir()
    shutil.copy(out / "examples.jsonl", dataset / "test.jsonl")
    assert nikawa("data", "card", str(dataset)).returncode == 0
    checked = nikawa("data", "check", str(dataset), "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", LABEL_FILES, ids=lambda path: "-".join(path.parts[-2:]))
def test_from_labels_through_a_project_to_gold(
    nikawa: Run, tmp_path: Path, sentences: Path, path: Path
) -> None:
    project = str(tmp_path / "project")
    labels = 'labels=["positive", "negative"]'
    made = nikawa(
        "collect", "new", project, "--examples", str(sentences), "--form", "choice", "--set", labels
    )
    assert made.returncode == 0, made.stderr
    words = ("--question", f"label={LABEL_FILES[path]}") if POTATO in path.parents else ()
    done = nikawa("collect", "import", project, str(path), *words)
    assert done.returncode == 0, done.stderr
    assert "8 answers and 0 examples added" in done.stdout
    again = nikawa("collect", "import", project, str(path), *words)
    assert "0 answers and 0 examples added, 8 already present" in again.stdout
    kept, gold = tmp_path / "judgements.jsonl", tmp_path / "gold"
    assert nikawa("collect", "export", project, "--out", str(kept)).returncode == 0
    assert {row.question for _, row in open_judgements(kept).rows} == {"label"}
    rule = ("--rule", "majority", "--examples", str(sentences), "--out", str(gold))
    assert nikawa("aggregate", str(kept), *rule).returncode == 0
    rows = [json.loads(line) for line in (gold / "examples.jsonl").read_text("utf-8").splitlines()]
    expected = {
        item: answers[0][0] for item, _, answers in CHOICES if answers[0][0] == answers[1][0]
    }
    assert {row["id"]: row["gold"]["label"] for row in rows if row.get("gold")} == expected


@pytest.mark.parametrize(
    "path", [STUDIO / "entities.json", DOCCANO / "spans_confirmed"], ids=("ls", "doccano")
)
def test_from_spans_through_a_project(
    nikawa: Run, tmp_path: Path, entities: Path, path: Path
) -> None:
    project = str(tmp_path / "project")
    labels = 'labels=["PS", "LC", "OG"]'
    words = ("collect", "new", project, "--examples", str(entities), "--form", "span-tagging")
    assert nikawa(*words, "--set", labels).returncode == 0
    done = nikawa("collect", "import", project, str(path), "--offsets", "utf16")
    assert done.returncode == 0, done.stderr
    assert "6 answers and 0 examples added" in done.stdout
    kept = tmp_path / "judgements.jsonl"
    nikawa("collect", "export", project, "--out", str(kept))
    answers = read_answers(kept, "spans")
    assert answers == {
        item: [as_spans(spans) for spans, _ in marked] for item, _, marked in ENTITIES
    }


# The form decides


@pytest.fixture
def project(nikawa: Run, tmp_path: Path, sentences: Path) -> str:
    folder = str(tmp_path / "project")
    labels = 'labels=["positive", "negative"]'
    nikawa(
        "collect", "new", folder, "--examples", str(sentences), "--form", "choice", "--set", labels
    )
    return folder


def test_an_answer_the_form_does_not_have(nikawa: Run, tmp_path: Path, project: str) -> None:
    sheet = tmp_path / "banana.csv"
    text = (STUDIO / "choices.csv").read_text("utf-8")
    sheet.write_text(text.replace('"positive"', '"banana"', 1), "utf-8")
    done = nikawa("collect", "import", project, str(sheet))
    assert done.returncode == 2
    assert "banana.csv, line 2: the answer 'banana'" in done.stderr
    assert "the labels are positive, negative" in done.stderr
    kept = tmp_path / "kept.jsonl"
    nikawa("collect", "export", project, "--out", str(kept))
    assert kept.read_bytes() == b""
    skipped = nikawa("collect", "import", project, str(sheet), "--skip-invalid")
    assert "7 answers and 0 examples added" in skipped.stdout
    assert (
        "answers that the form does not accept: 1, skipped because of --skip-invalid"
        in skipped.stdout
    )


def test_which_question_is_meant(
    nikawa: Run, tmp_path: Path, project: str, sentences: Path
) -> None:
    states = str(POTATO / "annotation_output")
    asked = nikawa("collect", "import", project, states)
    assert asked.returncode == 2
    assert (
        "several questions could be 'label': 'sentiment' or 'topics'; write --question label=sentiment"
        in asked.stderr
    )
    assert (
        nikawa("collect", "import", project, states, "--question", "label=sentiment").returncode
        == 0
    )
    scale = str(tmp_path / "scale")
    nikawa("collect", "new", scale, "--examples", str(sentences), "--form", "scale")
    done = nikawa("collect", "import", scale, str(STUDIO / "choices.json"))
    assert "answers to 'fluency': 8, read as answers to 'score'" in done.stdout
    assert "answers to 'sentiment': 8, skipped: the form does not ask it" in done.stdout
    wrong = nikawa(
        "collect", "import", scale, str(STUDIO / "choices.json"), "--question", "rating=fluency"
    )
    assert "there is no question of the project 'rating'" in wrong.stderr


def test_an_other_answer_than_before_is_counted(nikawa: Run, tmp_path: Path, project: str) -> None:
    rows = [
        Judgement(example="ja-1", worker="w", question="label", answer=label)
        for label in ("positive", "negative")
    ]
    for row in rows:
        path = tmp_path / f"{row.answer}.jsonl"
        path.write_text(
            json.dumps(
                {"example": "ja-1", "worker": "w", "question": "label", "answer": row.answer}
            )
            + "\n"
        )
        done = nikawa("collect", "import", project, str(path))
    assert (
        "1 of the answers already present differ from the file; the stored answers stay"
        in done.stdout
    )


def test_two_answers_of_one_worker_are_refused(nikawa: Run, tmp_path: Path, project: str) -> None:
    lines = [
        {"example": "ja-1", "worker": "w", "question": "label", "answer": label}
        for label in ("positive", "negative")
    ]
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = nikawa("collect", "import", project, str(path))
    assert done.returncode == 2
    assert "twice.jsonl, line 2: worker w answers 'label' twice about ja-1" in done.stderr


# Out and in again, through the tool


@pytest.mark.parametrize("form", ["span-tagging", "inference", "ranked"])
def test_our_export_comes_back_from_label_studio(form: str) -> None:
    ours = sort_rows(STUDIO / f"ours.{form}.jsonl")
    assert sort_rows(STUDIO / f"ours.{form}.json") == ours
    assert sort_rows(STUDIO / f"theirs.{form}.json") == ours


def test_what_somebody_changes_in_label_studio_is_theirs() -> None:
    before = sort_rows(STUDIO / "theirs.inference.json")
    after = sort_rows(STUDIO / "changed.inference.json")
    new = [row for row in after if row not in before]
    assert {(row.worker, row.question, row.answer) for row in new} == {
        ("1", "label", "contradiction"),
        ("1", "naturalness", "natural"),
    }
    assert len(after) == len(before)


@pytest.mark.parametrize("form", ["span-tagging", "scale", "translation"])
def test_our_export_comes_back_from_doccano(form: str) -> None:
    ours = sort_rows(DOCCANO / f"ours.{form}.jsonl")
    assert sort_rows(DOCCANO / f"ours.{form}") == ours
    assert sort_rows(DOCCANO / f"theirs.{form}") == ours


def sort_rows(path: Path) -> list[Judgement]:
    rows = [row for _, row in open_judgements(path).rows]
    return sorted(rows, key=lambda row: (row.example, row.worker, row.question))


def test_spans_of_our_own_sheet_are_spans_in_the_gold(
    nikawa: Run, tmp_path: Path, entities: Path
) -> None:
    project, sheet = str(tmp_path / "project"), str(tmp_path / "all.csv")
    words = ("--form", "span-tagging", "--set", 'labels=["PS","LC"]')
    nikawa("collect", "new", project, "--examples", str(entities), *words)
    item = ENTITIES[0][0]
    answers = [[{"start": 0, "end": 1, "label": "PS"}], [{"start": 0, "end": 1, "label": "PS"}]]
    lines = [
        {"example": item, "worker": f"w{n}", "question": "spans", "answer": answer}
        for n, answer in enumerate(answers)
    ]
    said = tmp_path / "said.jsonl"
    said.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    done = nikawa("collect", "import", project, str(said))
    assert done.returncode == 0, done.stderr
    nikawa("collect", "export", project, "--out", sheet)
    gold = tmp_path / "gold"
    done = nikawa("aggregate", sheet, "--rule", "majority", "--out", str(gold))
    assert done.returncode == 0, done.stderr
    decided = json.loads((gold / "items.jsonl").read_text("utf-8"))
    assert decided["gold"] == [{"start": 0, "end": 1, "label": "PS"}]


def test_a_text_that_looks_like_a_list_stays_a_text(tmp_path: Path) -> None:
    texts = ['["a","b"]', "'[]", "[1]", "[sic]", "'=1+1", "=1+1", "''@x"]
    rows = [
        Judgement(example=f"e{n}", worker="w", question="text", answer=text)
        for n, text in enumerate(texts)
    ]
    sheet = tmp_path / "all.csv"
    sheet.write_bytes(b"".join(csv_lines(rows)))
    assert [row.answer for _, row in open_judgements(sheet).rows] == texts


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv"])
def test_decisions_on_labels_that_are_digits(nikawa: Run, tmp_path: Path, name: str) -> None:
    examples = write_examples(tmp_path / "examples.jsonl", [("a", "雨が降る。"), ("b", "雪だ。")])
    said = [
        Judgement(
            example=item,
            worker="decision:rin",
            question="label",
            answer="1",
            kind="decision",
            comment=f"{item} は明らか",
        )
        for item in ("a", "b")
    ]
    lines = json_lines(said) if name == "all.jsonl" else csv_lines(said)
    (tmp_path / name).write_bytes(b"".join(lines))
    project = str(tmp_path / "project")
    words = ("--form", "choice", "--set", 'labels=["0","1"]')
    nikawa("collect", "new", project, "--examples", str(examples), *words)
    for count in (2, 0):  # the same file again adds none
        done = nikawa("collect", "import", project, str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        assert (f"{count} decisions and 0 reports added" in done.stdout) == bool(count)
