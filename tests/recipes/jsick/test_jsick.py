"""JSICK built from a few English pairs by recorded people: counts follow the paper's rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import load
from nikawa.datasets.lineage import find_lineage
from nikawa.datasets.load import read_judgements
from nikawa.datasets.shift import shift
from nikawa.errors import BadInput
from nikawa.io.records import read_examples
from nikawa.recipes.amend import AmendOptions, amend
from nikawa.recipes.build import BuildOptions, BuildReport, build
from nikawa.recipes.jsick.guidelines import departures, fault
from nikawa.recipes.jsick.jsick import read_pairs, sentence_id
from nikawa.records import Example

E, C, N = "entailment", "contradiction", "neutral"
JAPANESE = {
    "A man is carrying a lamp": "男性がランプを運んでいる",
    "A man is not carrying a lamp": "男性がランプを運んでいない",
    "The lamp is being carried by a man": "そのランプは男性によって運ばれている",
    "Somebody is carrying a light": "誰かが明かりを運んでいる",
    "Two women are crossing a river": "二人の女性が川を渡っている",
    "The women are crossing a river": "女性たちは川を渡っている",
}
ONE, NOT, PASSIVE, SOMEBODY, TWO, THE = JAPANESE
PAIRS = [
    ("11", ONE, PASSIVE, "TRAIN", E),
    ("12", ONE, NOT, "TRAIN", C),
    ("13", ONE, SOMEBODY, "TRIAL", E),
    ("14", TWO, THE, "TEST", N),
    ("15", SOMEBODY, ONE, "TEST", E),
]
LINES = [
    {
        "id": i,
        "premise": a,
        "hypothesis": b,
        "split": s,
        "label": label,
        "relatedness": 4.0,
        "licence": "CC0",
    }
    for i, a, b, s, label in PAIRS
]
VOTES = {"11": [E, E, E], "12": [C, C, N], "13": [E, C, N], "14": [N, N, E], "15": [N, E, N]}
DECIDED = {"11": E, "12": C, "13": N, "14": E, "15": N}
SCORES = {"11": [5, 5, 4], "12": [3, 3, 4], "13": [4, 4, 4], "14": [4, 5, 4], "15": [3, 4, 4]}
Run = Callable[[], BuildReport]


def validation(item: Example) -> list[str]:
    """The bilingual corrects the one translation that is wrong."""
    return ["女性たちは川を渡っている"] if item.inputs["english"] == THE else ["good"]


def translation(item: Example) -> list[str]:
    english = item.inputs["english"]
    return ["女性たちが川を渡っていない"] if english == THE else [JAPANESE[english]]


TELLS: dict[str, Callable[[Example], list[Any]]] = {
    "translation": translation,
    "validation": validation,
    "inference": lambda item: list(VOTES[item.id]),
    "relatedness": lambda item: list(SCORES[item.id]),
    "adjudication": lambda item: [DECIDED[item.id]],
}


@pytest.fixture
def finish(start: Any, people: Any, tmp_path: Path) -> Callable[..., BuildReport]:
    """Build to the end, with people who answer as told."""

    def go(lines: list[dict[str, Any]] = LINES, **settings: Any) -> BuildReport:
        run: Run = start("jsick", "pairs", lines, **settings)
        report = run()
        for _ in range(5):
            for waiting in report.waiting:
                people(tmp_path / "out", waiting.ask, TELLS[waiting.ask], waiting.ask)
            report = run()
        assert not report.waiting, str(report.waiting[0])
        return report

    return go


def of(report: BuildReport, name: str) -> tuple[dict[str, int], dict[str, int]]:
    found = next(stage for stage in report.stages if stage.name == name)
    return found.wrote, found.dropped


def test_counts_follow_the_rules(finish: Any, tmp_path: Path) -> None:
    report = finish()
    assert of(report, "sentences")[0] == {"sentences": 6}
    assert of(report, "validated") == ({"validated": 6}, {})
    assert of(report, "voted")[0] == {"agreed": 4, "tied": 1}
    assert of(report, "listing")[0] == {"listed": 5, "settled": 0}
    dataset = load(str(tmp_path / "out"))
    gold = {e.id: e.gold for examples in dataset.splits.values() for e in examples}
    assert {name: found["label"] for name, found in gold.items()} == DECIDED
    assert [gold[name]["relatedness"] for name in VOTES] == [4.7, 3.3, 4.0, 4.3, 3.7]
    assert {split: [e.id for e in found] for split, found in dataset.splits.items()} == {
        "train": ["11", "12"],
        "dev": ["13"],
        "test": ["14", "15"],
    }
    assert dataset.splits["train"][1].tags == {"Negation"}
    assert dataset.splits["train"][0].tags == {"Passive", "Anaphora"}


def test_only_ties_are_adjudicated_where_asked(finish: Any, tmp_path: Path) -> None:
    report = finish(review="ties")
    assert of(report, "listing")[0] == {"listed": 1, "settled": 4}
    gold = {
        e.id: e.gold["label"]
        for found in load(str(tmp_path / "out")).splits.values()
        for e in found
    }
    assert gold == {**DECIDED, "14": N}


def test_the_translator_sees_sentences_alone(start: Any, tmp_path: Path) -> None:
    report = start("jsick", "pairs", LINES)()
    assert [waiting.ask for waiting in report.waiting] == ["translation"]
    shown = list(read_examples(tmp_path / "out" / "people" / "translation" / "tasks.jsonl"))
    assert [item.inputs for item in shown] == [{"english": text} for text in sorted(JAPANESE)]


def test_translators_do_not_validate_their_own_work(
    start: Any, people: Any, tmp_path: Path
) -> None:
    run = start("jsick", "pairs", LINES)
    run()
    people(tmp_path / "out", "translation", translation)
    run()
    people(tmp_path / "out", "validation", validation)
    with pytest.raises(
        BadInput, match=r"line 1: worker w0 answered translation for .+ and may not judge it"
    ):
        run()


def test_the_bilingual_sees_what_to_look_at(finish: Any, tmp_path: Path) -> None:
    finish()
    shown = read_examples(tmp_path / "out" / "people" / "validation" / "tasks.jsonl")
    checks = {item.inputs["english"]: item.inputs["check"] for item in shown}
    assert "「は」で訳します" in checks[THE]
    assert "英文にない否定" in checks[THE]
    assert {text: check for text, check in checks.items() if check and text != THE} == {}


def test_the_lineage_goes_back_to_the_english_sentences(finish: Any, tmp_path: Path) -> None:
    finish()
    found = find_lineage("14", tmp_path / "out")
    assert {source["licence"] for source in found.sources} == {"CC0"}
    assert {step.item for step in found.steps} == {"14", sentence_id(TWO), sentence_id(THE)}
    rules = {(step.stage, step.item): step.rule for step in found.steps}
    assert rules["validated", sentence_id(THE)] == "corrected by a bilingual"
    assert rules["decided", "14"] == f"majority overruled: {E}"
    assert [j.answer for j in found.judgements if j.question == "label"] == [N, N, E, E]
    assert find_lineage("13", tmp_path / "out").steps[-2].rule == f"tie, decided: {N}"


def test_pairs_without_a_translation_go(finish: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        TELLS, "validation", lambda item: ["???" if item.inputs["english"] == TWO else "good"]
    )
    report = finish()
    assert of(report, "validated") == ({"validated": 5}, {"no Japanese text": 1})
    assert of(report, "paired") == ({"paired": 4}, {"a sentence has no usable translation": 1})


def test_authors_who_disagree_leave_no_label(finish: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TELLS, "adjudication", lambda item: [E, C] if item.id == "13" else [E, E])
    report = finish(adjudicators=2)
    assert of(report, "decided") == ({"decided": 4}, {"no consensus": 1})


def test_the_shift_comes_out_of_the_same_records(finish: Any, tmp_path: Path) -> None:
    finish()
    english = tmp_path / "out" / "build" / "english" / "english.jsonl"
    report = shift(str(english), str(tmp_path / "out"))
    assert {(m.example, m.before, m.after) for m in report.moved} == {
        ("jsick:dev/13", E, N),
        ("jsick:test/14", N, E),
        ("jsick:test/15", E, N),
    }
    by = {
        part.where: part.changed
        for part in shift(str(english), str(tmp_path / "out"), by=("label_en",)).parts
    }
    assert by == {"": 3, f"label_en={C}": 0, f"label_en={E}": 2, f"label_en={N}": 1}


def test_it_runs_with_simulated_people(start: Any, tmp_path: Path) -> None:
    start(
        "jsick", "pairs", [{**line, "id": f"{n}-{line['id']}"} for n in range(12) for line in LINES]
    )
    config = tmp_path / "jsick.toml"
    report = build("jsick", tmp_path / "out", BuildOptions(config=config, simulate=1))
    assert report.released is not None
    assert report.released.workers_are == "simulated"
    assert sum(report.released.splits.values()) == 60
    twin = build("jsick", tmp_path / "twin", BuildOptions(config=config, simulate=1))
    assert twin.released is not None
    assert (tmp_path / "twin" / "test.jsonl").read_bytes() == (
        tmp_path / "out" / "test.jsonl"
    ).read_bytes()


@pytest.mark.parametrize(
    ("english", "japanese", "guideline"),
    [
        ("A baker is whistling", "パン職人は口笛を吹いている", "articles"),
        ("The man is running", "男性が走っている", "articles"),
        ("Men are running", "男性が走っている", "plural"),
        ("A man is whistling", "男性たちが口笛を吹いている", "plural"),
        ("A man is not running", "男性が走っている", "negation"),
        ("A baker is whistling", "パン職人が口笛を吹いていない", "negation"),
        ("A ball is being thrown", "ボールが投げている", "passive"),
        ("A baker is whistling", "パン職人が口笛を吹かれている", "passive"),
        ("Three men are running", "男性たちが走っている", "quantity"),
        ("Many men are running", "男性たちが走っている", "quantity"),
    ],
)
def test_departures_from_the_guidelines_are_found(
    english: str, japanese: str, guideline: str
) -> None:
    ((found,),) = departures([(english, japanese)])
    assert found.guideline == guideline


@pytest.mark.parametrize(
    ("english", "japanese"),
    [
        *JAPANESE.items(),
        ("An empty lot is quiet", "誰もいない空き地が静かだ"),
        ("Two dogs are looking at each other", "二匹の犬が見つめ合っている"),
        ("A potter is glazing teapots", "陶芸家が急須に色をつけている"),
    ],
)
def test_what_keeps_to_the_guidelines_is_left_alone(english: str, japanese: str) -> None:
    assert list(departures([(english, japanese)])) == [[]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a man", "no Japanese text"),
        ("男性が running", "words left in English"),
        ("男性が\n走る", "line breaks or control characters"),
        ("男性が走る" * 9, "far longer than the sentence"),
        ("男性がBMXに乗る", ""),
    ],
)
def test_what_is_no_translation_is_told(text: str, said: str) -> None:
    assert fault("A man rides", text) == said


def test_sick_and_the_released_table_are_read(tmp_path: Path, write: Any) -> None:
    sick = tmp_path / "SICK.txt"
    heads = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set"
    sick.write_bytes(f"{heads}\r\n7\tA  kite flies\tIt rains\tNEUTRAL\t1.5\tTRIAL\r\n".encode())
    (pair,) = read_pairs(sick, "CC BY-NC-SA 3.0")
    assert (pair.id, pair.meta["split"], pair.inputs["premise"]) == ("7", "dev", "A kite flies")
    assert pair.gold == {"label": N, "relatedness": 1.5}
    assert pair.meta["from"]["licence"] == "CC BY-NC-SA 3.0"
    (released,) = read_pairs(write("jsick/jsick.tsv", [{}]), "")
    assert released.inputs["hypothesis"] == "A kite is in the air"


def test_a_split_nobody_knows_is_refused(start: Any) -> None:
    with pytest.raises(
        BadInput, match=r"pairs\.jsonl, line 1: split 'later' is not one of train, trial"
    ):
        start("jsick", "pairs", [{**LINES[0], "split": "later"}])()


def test_a_corrected_version_of_a_build(finish: Any, start: Any, tmp_path: Path) -> None:
    """The judgements stay, the old label too; the build itself would replace it only if asked."""
    finish(name="my-jsick")
    (tmp_path / "fix.csv").write_text(
        f"id,label,question,by\n12,{N},label,mio\n12,2.5,relatedness,mio\n", "utf-8"
    )
    report = amend(
        str(tmp_path / "out"),
        tmp_path / "fix.csv",
        tmp_path / "out",
        options=AmendOptions(overwrite=True),
    )
    assert report.release.splits == {"train": 1}
    found = find_lineage("my-jsick:train/12", tmp_path / "out")
    assert [(c.question, c.before, c.after) for c in found.changes] == [
        ("label", C, N),
        ("relatedness", 3.3, 2.5),
    ]
    assert [j.answer for j in found.judgements if j.question == "label"] == [C, C, N, C]
    page = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert f"| {N} | 1 | 1 | 1 | 3 |" in page
    assert "## Collection process" in page
    with pytest.raises(BadInput, match=r"contains the release 1\.1 of other items or settings"):
        start("jsick", "pairs", LINES, name="my-jsick")()


@pytest.fixture
def published(shared_data: Path, tmp_path: Path) -> dict[str, dict[str, list[Any]]]:
    """Everything people answered about the 500 pairs of dev, by ask and item; their rows are in dev.tsv."""
    rows = (shared_data / "jsick" / "jsick" / "jsick.tsv").read_text("utf-8").splitlines()
    kept = [row for row in rows[1:] if row.split("\t")[1] == "trial"]
    (tmp_path / "dev.tsv").write_text("\n".join([rows[0], *kept]) + "\n", "utf-8")
    (tmp_path / "jsick.toml").write_text('pairs = "dev.tsv"\n', "utf-8")
    told: dict[str, dict[str, list[Any]]] = {
        "translation": {},
        "validation": {},
        "adjudication": {},
    }
    english, japanese = (
        load(name, data=shared_data).splits["dev"] for name in ("jsick-en", "jsick")
    )
    for one, other in zip(english, japanese, strict=True):
        told["adjudication"][other.id] = [other.gold["label"]]
        for text, translated in zip(one.inputs.values(), other.inputs.values(), strict=True):
            told["translation"][sentence_id(text)] = [translated]
            told["validation"][sentence_id(text)] = ["good"]
    for judgement in read_judgements("jsick", data=shared_data):
        split, _, name = judgement.example.partition(":")[2].partition("/")
        if split == "dev":
            ask = "inference" if judgement.question == "label" else "relatedness"
            told.setdefault(ask, {}).setdefault(name, []).append(judgement.answer)
    for given in (*told["inference"].values(), *told["relatedness"].values()):
        given.extend(given[: 3 - len(given)])  # two published cells are blank
    return told


@pytest.mark.slow
def test_the_published_answers_give_the_published_labels(
    published: Any, people: Any, shared_data: Path, tmp_path: Path
) -> None:
    for _ in range(5):
        report = build("jsick", tmp_path / "out", BuildOptions(config=tmp_path / "jsick.toml"))
        for waiting in report.waiting:
            people(
                tmp_path / "out",
                waiting.ask,
                lambda item, ask=waiting.ask: published[ask][item.id],
                waiting.ask,
            )
    assert report.released is not None
    assert of(report, "voted")[0] == {"agreed": 496, "tied": 4}
    made = load(str(tmp_path / "out")).splits["dev"]
    gold = {e.id: e for e in load("jsick", data=shared_data).splits["dev"]}
    assert [e.gold["label"] for e in made] == [gold[e.id].gold["label"] for e in made]
    assert [e.tags for e in made if e.inputs == gold[e.id].inputs] == [
        gold[e.id].tags for e in made if e.inputs == gold[e.id].inputs
    ]


@pytest.mark.slow
def test_published_translations_keep_to_the_guidelines(shared_data: Path) -> None:
    """Of 6,077 published translations none is refused, and 176 are shown to be looked at."""
    texts: dict[str, str] = {}
    english, japanese = load("jsick-en", data=shared_data), load("jsick", data=shared_data)
    for split, examples in japanese.splits.items():
        for one, other in zip(english.splits[split], examples, strict=True):
            texts |= dict(zip(one.inputs.values(), other.inputs.values(), strict=True))
    assert len(texts) == 6077
    assert not any(fault(*pair) for pair in texts.items())
    assert sum(bool(found) for found in departures(texts.items())) == 176
