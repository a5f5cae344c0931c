"""MARC-ja, JSQuAD and JCommonsenseQA built from a few lines by recorded workers, by the paper's thresholds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import benchmarks, load
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.recipes.jglue.jcommonsenseqa import FORWARD, fold_spelling, question_fault, read_triples
from nikawa.records import Example

Run = Callable[[], BuildReport]


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


def waits(report: BuildReport) -> list[str]:
    return [waiting.ask for waiting in report.waiting]


REVIEWS = [
    {
        "id": f"R{n}",
        "text": f"{n}個買いました。<br />届くのが早く、満足です。",
        "stars": 5 if n % 2 else 1,
    }
    for n in range(20)
]
ODD = [
    {"id": "three", "text": "まあまあの品でした。", "stars": 3},
    {"id": "ascii", "text": "very good 良", "stars": 5},
    {"id": "long", "text": "長" * 501, "stars": 5},
    {"id": "limit", "text": "長" * 500, "stars": 5},
]


def sentiment(item: Example) -> list[str]:
    """Of ten: seven positive for odd numbers, seven positive for multiples of four, else six negative."""
    number = int(item.inputs["text"].partition("個")[0])
    positive = 7 if number % 2 or number % 4 == 0 else 4
    return ["positive"] * positive + ["negative"] * (10 - positive)


def test_marc_ja(start: Any, people: Any, tmp_path: Path) -> None:
    run: Run = start("marc-ja", "reviews", [*REVIEWS, *ODD[:3]], split="0.5,0.25,0.25")
    first, out = run(), tmp_path / "out"
    dropped = {"3 stars": 1, "90% ASCII or more": 1, "over 500 characters": 1}
    assert of(first, "reviewed") == ({"reviewed": 20}, dropped)
    assert of(first, "parts")[0] == {"train": 10, "asked-dev": 5, "asked-test": 5}
    tasks = list(read_examples(out / "people" / "sentiment" / "tasks.jsonl"))
    torn = [t for t in tasks if sentiment(t).count("positive") == 4]
    people(out, "sentiment", sentiment)
    report = run()
    assert of(report, "judged")[1] == ({"fails votes:7/10": len(torn)} if torn else {})
    dataset = load(str(out))
    judged = [*dataset.splits["dev"], *dataset.splits["test"]]
    assert len(judged) == 10 - len(torn)
    assert {e.gold["label"] for e in judged} == {"positive"}
    assert all(e.meta["relabelled"] == (e.meta["stars"] == 1) for e in judged)
    assert all("<br" not in e.inputs["text"] for e in dataset.splits["train"])
    assert not any(find_lineage(f"train/{e.id}", out).judgements for e in dataset.splits["train"])


def test_marc_ja_keeps_500_characters(start: Any) -> None:
    report = start("marc-ja", "reviews", [*REVIEWS, *ODD], split="0.5,0.25,0.25")()
    assert of(report, "reviewed")[0] == {"reviewed": 21}


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"votes": 8, "workers": 7}, "votes = 8 is more than workers = 7"),
        ({"split": "0.5,0.5"}, "the setting split = '0.5,0.5' cannot be used.*; write 3 shares"),
        ({"split": "0.9,0.9,0.9"}, "cannot be used"),
        ({"votes": 0}, r"marc-ja\.toml: expected `int` >= 1 at votes"),
    ],
)
def test_settings_that_cannot_be_met_are_refused_first(
    start: Any, settings: dict[str, Any], what: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=what):
        start("marc-ja", "reviews", REVIEWS, **settings)()
    assert not (tmp_path / "out").exists()


def test_an_id_that_comes_twice_is_named(start: Any) -> None:
    with pytest.raises(BadInput, match=r"reviews\.jsonl, line 21: the id 'R3' is repeated"):
        start("marc-ja", "reviews", [*REVIEWS, {**REVIEWS[3], "text": "別の感想です。"}])()


BODY = "港の灯台は明治三年に建てられ、高さは二十五メートルある。灯台守は今も一人いる。"
ARTICLES = [
    {
        "id": n,
        "title": f"灯台{n}",
        "text": f"{BODY}\n短い。\n{BODY}{n}",
        "rank": 100 - n,
        "licence": "CC BY 4.0",
    }
    for n in range(8)
]


def questions(item: Example) -> list[list[dict[str, str]]]:
    asked = {"question": "灯台の高さは？", "answer": "二十五メートル"}
    absent = {"question": "灯台守の名は？", "answer": "太郎"}
    titled = {"question": "何の話か？", "answer": item.inputs["title"]}
    return [[asked, dict(asked), absent, titled]]


def test_jsquad(start: Any, people: Any, tmp_path: Path) -> None:
    run: Run = start("jsquad", "articles", ARTICLES, best=6, articles_drawn=5, split="0.6,0.2,0.2")
    first, out = run(), tmp_path / "out"
    assert of(first, "ranked") == ({"ranked": 6}, {"not among the best 6": 2})
    assert "a0" not in {e.id for e in read_examples(out / "build" / "ranked" / "ranked.jsonl")}
    assert of(first, "paragraphs") == ({"paragraphs": 10}, {"too short or too long": 5})
    people(out, "written", questions)
    second = run()
    gone = {"asked twice of one paragraph": 10, "the answer is not in the paragraph": 10}
    assert of(second, "questions") == ({"train": 12, "evaluated": 8}, gone)
    assert waits(second) == ["further"]
    people(out, "further", lambda item: ["二十五メートルある", "測っていない"])
    report = run()
    assert of(report, "answered")[0] == {"dev": 4, "test": 4}
    dataset = load(str(out))
    assert {len(e.gold["answers"]) for e in dataset.splits["train"]} == {1}
    assert {len(e.gold["answers"]) for e in dataset.splits["dev"]} == {2}
    for example in (e for split in dataset.splits.values() for e in split):
        context = example.inputs["context"]
        assert context.startswith(f"{example.inputs['title']} [SEP] ")
        assert all(context.find(a["text"]) == a["start"] for a in example.gold["answers"])
    titles = [{e.meta["article"] for e in examples} for examples in dataset.splits.values()]
    assert not titles[0] & titles[1] | titles[0] & titles[2] | titles[1] & titles[2]


def test_no_question_is_deleted_that_was_never_asked(
    start: Any, people: Any, tmp_path: Path
) -> None:
    settings = {"best": 6, "articles_drawn": 5, "split": "0.6,0.2,0.2", "removed": ["nowhere"]}
    run: Run = start("jsquad", "articles", ARTICLES, **settings)
    run()
    people(tmp_path / "out", "written", questions)
    with pytest.raises(BadInput, match="removed names nowhere"):
        run()


def triple(number: int, relation: str, start: str, end: str, language: str = "ja") -> str:
    told = '{"dataset": "/d/own", "license": "cc:by/4.0"}'
    return f"/a/{number}\t/r/{relation}\t/c/{language}/{start}\t/c/{language}/{end}/n\t{told}\n"


@pytest.fixture
def triples(tmp_path: Path) -> Path:
    """A kitchen with four things forward, a pot with three places backward, two spellings of one animal."""
    rows = [("AtLocation", thing, "台所") for thing in ("鍋", "皿", "匙", "布巾")]
    rows += [("PartOf", thing, "動物園") for thing in ("ねこ", "ネコ", "虎")]
    rows += [("UsedFor", "紐", use) for use in ("結ぶ", "縛る", "吊るす")]
    rows += [("RelatedTo", "紐", "糸")]
    lines = [triple(n, *row) for n, row in enumerate(rows)] + [
        triple(99, "UsedFor", "rope", "tie", "en")
    ]
    path = tmp_path / "triples.tsv"
    path.write_text("".join(lines), "utf-8")
    (tmp_path / "j.toml").write_text('triples = "triples.tsv"\nanalyser = "none"\n', "utf-8")
    return path


def test_jcommonsenseqa(triples: Path, people: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def run() -> BuildReport:
        return build("jcommonsenseqa", out, BuildOptions(config=tmp_path / "j.toml"))

    first = run()
    assert of(first, "known") == ({"known": 10}, {"a relation not used": 1})
    assert of(first, "sets")[0] == {"sets": 3}
    assert of(first, "apart") == ({"apart": 2}, {"spelling variants": 1})
    sets = {e.id: e for e in read_examples(out / "people" / "synonyms" / "tasks.jsonl")}
    assert set(sets) == {"台所.AtLocation-1.0", "紐.UsedFor.0"}
    people(out, "synonyms", lambda item: ["no", "no", "yes"])
    assert of(run(), "assigned")[0] == {"assigned": 6}
    people(out, "questions", lambda item: [written(item)])
    third = run()
    faults = {
        "asks for a number of characters": 1,
        "does not end in a question mark": 1,
        "holds a choice": 1,
    }
    assert of(third, "asked") == ({"asked": 3}, faults)
    people(out, "distractors", distracted)
    fourth = run()
    rules = {"a distractor is a choice already": 1, "a distractor is in the question": 1}
    assert of(fourth, "complete") == ({"complete": 1}, rules)
    (item,) = read_examples(out / "build" / "complete" / "complete.jsonl")
    assert len(item.inputs["choices"]) == 5
    right, wrong = item.gold["choice"], (item.gold["choice"] + 1) % 5
    people(out, "check", lambda item: [right, wrong, item.inputs["choices"][right]])
    report = run()
    assert of(report, "solved")[0] == {"solved": 1}
    assert report.released is not None
    (found,) = [e for split in load(str(out)).splits.values() for e in split]
    assert (found.id, found.gold) == ("0", {"choice": right})
    entry = find_lineage("0", out)
    assert {source["licence"] for source in entry.sources} == {"by/4.0"}
    assert {judgement.question for judgement in entry.judgements} == {
        "synonyms",
        "question",
        "distractors",
        "choice",
    }


def written(item: Example) -> str:
    """Six questions: three fit, one holds a choice, one asks for characters, one has no mark."""
    first = item.inputs["choices"].index(item.inputs["answer"])
    kitchen = item.inputs["source"] == "台所"
    ways = ("料理の時に使うのは何？", "火にかけるのは何?", "手を拭くのは何？")
    faulty = (f"{item.inputs['answer']}とは何？", "2文字で何という？", "縄の使い道")
    return ways[first] if kitchen else faulty[first]


def distracted(item: Example) -> list[list[str]]:
    new = {
        "料理の時に使うのは何？": ["箒", "箪笥"],
        "火にかけるのは何?": [item.inputs["choices"][0], "箒"],
    }
    return [new.get(item.inputs["question"], ["手", "箒"])]


IMAGES = [
    {"id": 10 * image + n, "image": f"m{image}", "text": text}
    for image in range(12)
    for n, text in enumerate(
        (f"{image}人が橋を渡る。", f"橋の上に{image}人がいる", f"川と橋と{image}羽の鳥")
    )
]


@pytest.mark.parametrize(
    ("recipe", "source", "lines", "settings"),
    [
        ("marc-ja", "reviews", REVIEWS, {"split": "0.5,0.25,0.25"}),
        ("jsquad", "articles", ARTICLES, {"split": "0.5,0.25,0.25"}),
        ("jsts", "captions", IMAGES, {"contradicted_captions": 5}),
        ("jnli", "captions", IMAGES, {"contradicted_captions": 5, "split_by": "image"}),
    ],
)
def test_simulated_workers_carry_a_build_through(
    start: Any,
    tmp_path: Path,
    recipe: str,
    source: str,
    lines: list[dict[str, Any]],
    settings: dict[str, Any],
) -> None:
    start(recipe, source, lines, **settings)
    options = BuildOptions(config=tmp_path / f"{recipe}.toml", simulate=1)
    report = build(recipe, tmp_path / "out", options)
    assert report.released is not None
    assert set(report.released.splits) == {"train", "dev", "test"}
    assert report.released.workers_are == "simulated"
    task = benchmarks()[recipe].tasks[0]
    dataset = load(str(tmp_path / "out"))
    assert all(task.asks(example) for examples in dataset.splits.values() for example in examples)


def test_two_of_three_must_be_right(triples: Path, tmp_path: Path) -> None:
    """Simulated workers: what is released was answered right by two at least."""
    out = tmp_path / "out"
    build("jcommonsenseqa", out, BuildOptions(config=tmp_path / "j.toml", simulate=5))
    for split, examples in load(str(out)).splits.items():
        for example in examples:
            entry = find_lineage(f"{split}/{example.id}", out)
            votes = [j.answer for j in entry.judgements if j.question == "choice"]
            assert votes.count(example.gold["choice"]) >= 2


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("夏に咲く花は？", ""),
        ("花は?", ""),
        ("花は？ ", ""),
        ("花は", "does not end in a question mark"),
        ("菊とは何？", "holds a choice"),
        ("漢字２文字で何？", "asks for a number of characters"),
        ("三文字の花は？", "asks for a number of characters"),
    ],
)
def test_questions_are_held_to_three_rules(question: str, why: str) -> None:
    assert question_fault(question, ["菊", "百合"]) == why


@pytest.mark.slow
def test_published_questions_meet_the_rules(shared_data: Path) -> None:
    questions = [
        e for split in load("jcommonsenseqa", data=shared_data).splits.values() for e in split
    ]
    assert len(questions) > 1000
    assert not [
        e.id for e in questions if question_fault(e.inputs["question"], e.inputs["choices"])
    ]


def test_relations_are_those_of_the_paper() -> None:
    assert len(FORWARD) == len(set(FORWARD)) == 22
    assert not {"RelatedTo", "IsA"} & set(FORWARD)


def test_juman_tells_spelling_variants() -> None:
    from nikawa.text import analyser

    one, other = analyser("juman").analyse_many(["林檎", "りんご"])
    assert [token.norm for token in one] == [token.norm for token in other]
    assert fold_spelling("ＮＥＫＯネコ") == fold_spelling("nekoねこ")


def test_a_broken_line_of_triples_is_named(tmp_path: Path) -> None:
    path = tmp_path / "triples.tsv"
    path.write_text(triple(1, "UsedFor", "紐", "結ぶ") + "駅\n", "utf-8")
    with pytest.raises(BadInput, match=r"triples\.tsv, line 2: is not an assertion of ConceptNet"):
        list(read_triples(path, "ja"))
