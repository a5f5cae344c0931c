"""Walks of a decision: from a sheet to the server, to a disagreement that the owner decides and decides again, into every
export, through every rule into a dataset with its lineage, and into a build.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from starlette.testclient import TestClient

from nikawa.collect.app import create_app
from nikawa.collect.items import open_synced
from nikawa.collect.job import create
from nikawa.collect.project import Project, open_project
from nikawa.collect.sources import NewProject
from nikawa.collect.store import Store
from nikawa.collect.workers import make_links
from nikawa.io.judgements import open_judgements
from nikawa.io.records import read_examples, read_records, write_records
from nikawa.recipes.build import BuildOptions, build
from nikawa.records import Example, Judgement, Origin, Span
from nikawa.serve.login import hash_password, set_person

Nikawa = Callable[..., CompletedProcess[str]]
PASSWORD = "とても長い合言葉です"
LABELS = ("entailment", "contradiction", "neutral")
CHOICE = {"labels": list(LABELS)}
TEXTS = (
    "雨が上がって川が増水した。",
    "祖母は庭で梅を干している。",
    "港に白い船が戻ってきた。",
    "子どもたちは広場で凧を揚げた。",
)


class Walk:
    """A project being served, its workers, and the owner who is logged in."""

    def __init__(self, project: Project, store: Store) -> None:
        self.project, self.store = project, store
        app = create_app(project, store)
        self.client = TestClient(app, base_url="http://here")
        kept = hash_password(PASSWORD)
        store.write(lambda db: set_person(db, "rin", "owner", kept, 1.0))
        page = self.client.get("/login").text
        csrf = re.findall(r'name="X-CSRF-Token" value="([^"]+)"', page)[0]
        fields = {"name": "rin", "password": PASSWORD, "X-CSRF-Token": csrf}
        assert self.client.post("/login", data=fields, follow_redirects=False).status_code == 303
        page = self.client.get("/owner").text
        self.headers = {"X-CSRF-Token": re.findall(r'data-csrf="([^"]+)"', page)[0]}

    def work(self, name: str, opinion: Callable[[str], Any], comment: str = "") -> None:
        """Let a worker answer all items: `opinion` of the text is an answer, or the code of a report."""
        ((_, token),) = self.store.write(make_links, self.project, [name], "rin", 1.0)
        state = self.client.get(f"/w/{token}/next").json()
        while state["item"]:
            lease = state["item"]["lease"]
            text = next(iter(state["item"]["inputs"].values()))
            said = opinion(text if isinstance(text, str) else str(text))
            body: dict[str, Any] = {"lease": lease, "key": lease, "comment": comment}
            kind = "report" if isinstance(said, str) else "answer"
            body |= {"code": said} if kind == "report" else {"answer": said}
            reply = self.client.post(f"/w/{token}/{kind}", json=body)
            assert reply.status_code == 200, reply.text
            state = reply.json()["state"]

    def decide(self, ref: str, answer: dict[str, Any], reason: str) -> None:
        body = {"ref": ref, "answer": answer, "reason": reason}
        reply = self.client.post("/owner/decide", json=body, headers=self.headers)
        assert reply.status_code == 200, reply.text

    def disputed(self) -> list[dict[str, Any]]:
        cases: list[dict[str, Any]] = self.client.get("/owner/disagreements").json()["cases"]
        return cases


@contextmanager
def serve(
    folder: Path,
    form: str = "choice",
    options: dict[str, Any] | None = None,
    texts: tuple[str, ...] = TEXTS,
    adjudication: str = "override",
) -> Iterator[Walk]:
    """A project on a sheet of texts, served; `adjudication` is the rule that its project.toml says."""
    sheet = folder.with_suffix(".jsonl")
    names = ("sentence1", "sentence2") if form == "scale" else ("text",)
    examples = [
        Example(id=f"i{n}", inputs=dict(zip(names, (text, "港に船が着いた。"), strict=False)))
        for n, text in enumerate(texts)
    ]
    write_records(sheet, examples)
    create(folder, str(sheet), NewProject(form, workers=3, options=options or {}))
    settings = folder / "project.toml"
    stated = settings.read_text("utf-8")
    assert 'decisions = "override"' in stated  # the project says its rule
    changed = stated.replace('decisions = "override"', f'decisions = "{adjudication}"')
    settings.write_text(changed, "utf-8")
    with open_synced(folder) as (project, store):
        yield Walk(project, store)


def say(question: str, by_text: dict[str, Any]) -> Callable[[str], Any]:
    """A worker who has one answer for each text."""
    return lambda text: {question: by_text[text]}


def label(*answers: str) -> Callable[[str], Any]:
    """A worker who has one answer for each text, or the code of a report."""
    by_text = dict(zip(TEXTS, answers, strict=True))
    codes = ("broken", "hate")
    return lambda text: by_text[text] if by_text[text] in codes else {"label": by_text[text]}


def vote(walk: Walk) -> None:
    """i0 is 2:1 for entailment, i1 has three opinions, i2 and i3 are unanimous; taro comments, jiro reports i3."""
    walk.work("hanako", label("entailment", "entailment", "neutral", "neutral"))
    walk.work("taro", label("entailment", "neutral", "neutral", "neutral"), "hanako と話した")
    walk.work("jiro", label("neutral", "contradiction", "neutral", "broken"), "助詞が抜けている")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def gold_of(folder: Path) -> dict[str, Any]:
    return {
        one.id: next(iter(one.gold.values())) for one in read_examples(folder / "examples.jsonl")
    }


def part(nikawa: Nikawa, gold: Path, out: Path) -> None:
    """Split a folder of gold into a dataset with a lineage."""
    words = ("split", str(gold / "examples.jsonl"), "--by", "random", "--sizes", "0.5,0.25,0.25")
    done = nikawa(*words, "--out", str(out))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with votes, a decision that was changed, one of a 1-1-1 item, a comment and a report: to read, not to change."""
    folder = tmp_path_factory.mktemp("walk") / "project"
    with serve(folder) as walk:
        nobody = json.loads(walk.client.get("/owner/case?ref=i0").text)
        assert nobody["reports"] == nobody["decisions"] == []
        vote(walk)
        assert [case["ref"] for case in walk.disputed()] == ["i0", "i1"]
        page = walk.client.get("/owner/adjudicate", headers={"accept-language": "ja"}).text
        assert "回答の数に関係なく正解になります" in page
        walk.decide("i0", {"label": "contradiction"}, "増水は含意しない")
        walk.decide("i0", {"label": "neutral"}, "TARO の答えを rin が採用した")
        walk.decide("i1", {"label": "contradiction"}, "梅ではない")
        case, _ = walk.disputed()
        assert [one["answer"]["label"] for one in case["decisions"]] == ["neutral", "contradiction"]
        reported = walk.client.get("/owner/case?ref=i3").json()["reports"]
        assert [(one["worker"], one["code"]) for one in reported] == [("jiro", "broken")]
    return folder


@pytest.fixture
def judged(decided: Path, tmp_path: Path, nikawa: Nikawa) -> str:
    """Its export, as it comes without a word."""
    out = tmp_path / "judgements.jsonl"
    done = nikawa("collect", "export", str(decided), "--out", str(out))
    assert "11 judgements written" in done.stdout
    assert "3 decisions, 1 reports, 7 comments" in done.stdout
    return str(out)


def test_a_decision_from_the_page_to_the_lineage(
    decided: Path, judged: str, nikawa: Nikawa, tmp_path: Path
) -> None:
    words = ("aggregate", judged, "--rule", "majority", "--out", str(tmp_path / "gold"))
    done = nikawa(*words, "--examples", str(decided / "examples.jsonl"))
    assert done.returncode == 0, done.stderr
    assert "1 decided against the votes (i0)" in done.stdout
    assert "1 decided more than once; the last decision counts" in done.stdout
    assert "1 reports of workers: broken 1 (i3)" in done.stdout
    assert gold_of(tmp_path / "gold") == {
        "i0": "neutral",
        "i1": "contradiction",
        "i2": "neutral",
        "i3": "neutral",
    }
    items = {one["example"]: one for one in rows(tmp_path / "gold" / "items.jsonl")}
    first, second = items["i0"], items["i1"]
    assert (first["by"], first["decided_by"]) == ("decision", "rin")
    assert first["reason"] == "TARO の答えを rin が採用した"
    assert (first["without_decision"], second["without_decision"]) == ("entailment", None)
    assert [one["answer"] for one in first["earlier"]] == ["contradiction"]
    remarks = rows(tmp_path / "gold" / "remarks.jsonl")
    assert {(one.get("kind", "person"), one["comment"]) for one in remarks} == {
        ("person", "hanako と話した"),
        ("person", "助詞が抜けている"),
        ("report", "助詞が抜けている"),
    }
    # the decisions stay with the dataset: split, then lineage
    part(nikawa, tmp_path / "gold", tmp_path / "data")
    lineage = {one["item"]: one for one in rows(tmp_path / "data" / "lineage.jsonl")}
    reasons = [
        one["comment"] for one in lineage["i0"]["judgements"] if one.get("kind") == "decision"
    ]
    assert reasons == ["増水は含意しない", "TARO の答えを rin が採用した"]
    done = nikawa("lineage", "i0", "--in", str(tmp_path / "data"), COLUMNS="300")
    assert "decided by rin: TARO の答えを rin が採用した" in done.stdout
    assert "増水は含意しない" in done.stdout


RULES = (
    "majority",
    "votes:2/3",
    "votes:3/3",
    "majority+half",
    "dawid-skene",
    "mace",
    "first+votes:3/3",
)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_labels_takes_decisions(
    decided: Path, judged: str, nikawa: Nikawa, tmp_path: Path, rule: str
) -> None:
    gold = {}
    for way in ("override", "ties"):
        words = ("aggregate", judged, "--rule", rule, "--out", str(tmp_path / way))
        done = nikawa(*words, "--examples", str(decided / "examples.jsonl"), "--decisions", way)
        assert done.returncode == 0, done.stderr
        gold[way] = gold_of(tmp_path / way)
    assert gold["override"]["i0"] == "neutral"
    assert gold["override"]["i1"] == gold["ties"]["i1"] == "contradiction"
    # under a threshold of 3 of 3 the 2:1 item has no gold, so that a decision for ties counts
    assert gold["ties"]["i0"] == ("neutral" if "3/3" in rule else "entailment")


def test_a_scale_takes_decisions(nikawa: Nikawa, tmp_path: Path) -> None:
    scores = {"hanako": (1, 5, 3), "taro": (1, 5, 3), "jiro": (2, 0, 3)}
    with serve(tmp_path / "project", "scale", texts=TEXTS[:3]) as walk:
        for name, numbers in scores.items():
            by_text = dict(zip(TEXTS[:3], numbers, strict=True))
            walk.work(name, say("score", by_text))
        walk.decide("i0", {"score": 4}, "近い")
        walk.decide("i1", {"score": 2}, "遠い")
    judged, examples = str(tmp_path / "j.jsonl"), str(tmp_path / "project" / "examples.jsonl")
    nikawa("collect", "export", str(tmp_path / "project"), "--out", judged)
    gold = {}
    for way in ("override", "ties"):
        out = tmp_path / way
        words = ("aggregate", judged, "--examples", examples, "--out", str(out), "--decisions", way)
        rules = (
            "--rule",
            "score=mean+variance<1+round:1",
            "--rule",
            "near=median+variance<1+binary:3",
        )
        assert nikawa(*words, *rules).returncode == 0
        gold[way] = {one.id: one.gold for one in read_examples(out / "examples.jsonl")}
    assert gold["override"] == {
        "i0": {"score": 4.0, "near": 1},
        "i1": {"score": 2.0, "near": 0},
        "i2": {"score": 3.0, "near": 1},
    }
    assert gold["ties"]["i0"] == {"score": 1.3, "near": 0}
    assert gold["ties"]["i1"] == {"score": 2.0, "near": 0}


def test_spans_take_decisions(nikawa: Nikawa, tmp_path: Path) -> None:
    text = "凛は京都へ行った。"
    spans = [[(0, 1, "PS"), (2, 4, "LC")], [(0, 1, "PS"), (2, 4, "LC")], [(0, 1, "PS")]]
    decided = {"spans": [{"start": 2, "end": 4, "label": "LC"}]}
    with serve(
        tmp_path / "project", "span-tagging", {"labels": ["PS", "LC"]}, texts=(text,)
    ) as walk:
        for name, marks in zip(("hanako", "taro", "jiro"), spans, strict=True):
            answer = [{"start": a, "end": b, "label": c} for a, b, c in marks]
            walk.work(name, say("spans", {text: answer}))
        walk.decide("i0", {"spans": []}, "人名ではない")
        walk.decide("i0", decided, "地名だけ")
    judged, examples = str(tmp_path / "j.jsonl"), str(tmp_path / "project" / "examples.jsonl")
    nikawa("collect", "export", str(tmp_path / "project"), "--out", judged)
    words = ("aggregate", judged, "--rule", "majority", "--examples", examples)
    assert nikawa(*words, "--out", str(tmp_path / "gold")).returncode == 0
    assert gold_of(tmp_path / "gold") == {"i0": [Span(2, 4, "LC")]}
    done = nikawa(*words, "--decisions", "ties", "--out", str(tmp_path / "votes"))
    assert "1 decisions do not count" in done.stdout
    assert gold_of(tmp_path / "votes") == {"i0": [Span(0, 1, "PS"), Span(2, 4, "LC")]}


def test_the_rule_of_the_project_travels(nikawa: Nikawa, tmp_path: Path) -> None:
    with serve(tmp_path / "project", adjudication="ties") as walk:
        vote(walk)
        page = walk.client.get("/owner/adjudicate", headers={"accept-language": "ko"}).text
        assert "응답만으로 정답이 정해지지 않을 때에만" in page
        walk.decide("i0", {"label": "neutral"}, "x")
        walk.decide("i1", {"label": "neutral"}, "y")
    project, examples = str(tmp_path / "project"), str(tmp_path / "project" / "examples.jsonl")
    nikawa("collect", "export", project, "--to", "decisions", "--out", str(tmp_path / "d.tsv"))
    for name in ("j.jsonl", "j.csv", "j.tsv", "j.json"):
        form = ("--to", "label-studio") if name == "j.json" else ()
        judged, out = str(tmp_path / name), str(tmp_path / f"gold-{name}")
        assert nikawa("collect", "export", project, "--out", judged, *form).returncode == 0
        words = ("aggregate", judged, "--rule", "majority", "--examples", examples, "--out", out)
        done = nikawa(*words)
        assert done.returncode == 0, done.stderr
        assert gold_of(Path(out))["i0"] == "entailment", name
        assert gold_of(Path(out))["i1"] == "neutral", name
        assert nikawa(*words, "--overwrite", "--decisions", "override").returncode == 0
        assert gold_of(Path(out))["i0"] == "neutral", name
    # an older export, or one that somebody else made, has no decisions: the sheet brings them, with the project's rule
    plain = [one for one in read_records(tmp_path / "j.jsonl", Judgement) if one.kind == "person"]
    write_records(tmp_path / "plain.jsonl", plain)
    sheet = ("--adjudicated", str(tmp_path / "d.tsv"), "--examples", examples)
    plain_words = ("aggregate", str(tmp_path / "plain.jsonl"), "--rule", "majority", *sheet)
    assert nikawa(*plain_words, "--out", str(tmp_path / "sheet")).returncode == 0
    assert gold_of(tmp_path / "sheet")["i0"] == "entailment"
    assert gold_of(tmp_path / "sheet")["i1"] == "neutral"


def test_decisions_are_no_answers_of_workers(
    decided: Path, judged: str, nikawa: Nikawa, tmp_path: Path
) -> None:
    plain = [one for one in read_records(Path(judged), Judgement) if one.kind == "person"]
    write_records(tmp_path / "plain.jsonl", plain)
    for words in (
        ("agree", "--question", "label", "--resamples", "20"),
        ("agree", "--question", "label", "--plan", "--reliability", "0.9"),
        ("aggregate", "--workers"),
        ("aggregate", "--workers", "--exclude", "agreement<0.4"),
        ("aggregate", "--human", "--task", "mini-ja-nli"),
    ):
        verb, *rest = words
        told = []
        for name in ("judgements", "plain"):
            done = nikawa(verb, str(tmp_path / f"{name}.jsonl"), *rest, "--json")
            assert done.returncode == 0, (words, done.stderr)
            told.append(done.stdout.replace(f"{name}.jsonl", ""))
        assert told[0] == told[1], words
    status = json.loads(nikawa("collect", "status", str(decided), "--json").stdout)
    assert {one["name"] for one in status["workers"]} == {"hanako", "taro", "jiro"}
    assert status["progress"]["answers"] == 11


FORMS = {
    "all.jsonl": (),
    "all.jsonl.gz": (),
    "all.csv": (),
    "all.tsv": (),
    "studio.json": ("--to", "label-studio"),
    "doccano": ("--to", "doccano"),
    "yahoo.tsv": ("--to", "yahoo"),
    "lancers.csv": ("--to", "lancers"),
}


@pytest.mark.parametrize("name", FORMS)
def test_comments_reports_and_decisions_are_in_every_export(
    decided: Path, nikawa: Nikawa, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    done = nikawa("collect", "export", str(decided), "--out", str(out), *FORMS[name])
    assert done.returncode == 0, done.stderr
    reading = open_judgements(out)
    answers = [judgement for _, judgement in reading.rows]
    assert len(answers) == 11
    assert {(one.worker, one.comment) for one in answers if one.comment} == {
        ("taro", "hanako と話した"),
        ("jiro", "助詞が抜けている"),
    }
    assert [(one.example, one.worker, one.answer, one.comment) for _, one in reading.reports] == [
        ("i3", "jiro", "broken", "助詞が抜けている")
    ]
    assert [(one.example, one.worker, one.answer) for _, one in reading.decisions] == [
        ("i0", "decision:rin", "contradiction"),
        ("i0", "decision:rin", "neutral"),
        ("i1", "decision:rin", "contradiction"),
    ]
    # and they come back into a project, once
    examples = str(decided / "examples.jsonl")
    create(tmp_path / "second", examples, NewProject("choice", workers=3))
    for line in (
        "3 decisions and 1 reports added",
        "0 answers and 0 examples added, 11 already present",
    ):
        done = nikawa("collect", "import", str(tmp_path / "second"), str(out))
        assert done.returncode == 0, done.stderr
        assert line in done.stdout
    nikawa("collect", "export", str(tmp_path / "second"), "--out", str(tmp_path / "again.jsonl"))
    again = open_judgements(tmp_path / "again.jsonl")
    assert sum(bool(judgement.comment) for _, judgement in again.rows) == 7
    assert [one.comment for _, one in again.decisions] == [
        one.comment for _, one in reading.decisions
    ]
    assert [one.answer for _, one in again.reports] == ["broken"]


def test_pseudonyms_hold_inside_comments_too(decided: Path, nikawa: Nikawa, tmp_path: Path) -> None:
    project = open_project(decided)
    hidden = {name: project.pseudonym(name) for name in ("hanako", "taro", "jiro", "rin")}
    for name, form in {**FORMS, "decided.tsv": ("--to", "decisions")}.items():
        words = ("collect", "export", str(decided), "--out", str(tmp_path / "out" / name))
        assert nikawa(*words, "--pseudonymise", *form).returncode == 0
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            text = gzip.decompress(data) if path.suffix == ".gz" else data
            for name in hidden:
                assert name not in f"{path.name} {text.decode('utf-8', 'replace')}".lower(), path
    reading = open_judgements(tmp_path / "out" / "all.jsonl")
    assert f"{hidden['hanako']} と話した" in {one.comment for _, one in reading.rows}
    (_, (_, decision), _) = reading.decisions
    assert decision.comment == f"{hidden['taro']} の答えを {hidden['rin']} が採用した"
    assert decision.worker == f"decision:{hidden['rin']}"


def test_control_items_stay_hidden(nikawa: Nikawa, tmp_path: Path) -> None:
    with serve(tmp_path / "project") as walk:
        known = [Example(id="control", inputs={"text": "対照の文。"}, gold={"label": "neutral"})]
        write_records(walk.project.folder / "gold.jsonl", known, overwrite=True)
    settings = tmp_path / "project" / "project.toml"
    settings.write_text(settings.read_text("utf-8").replace("rate = 0.1", "rate = 1"), "utf-8")
    with open_synced(tmp_path / "project") as (project, store):
        walk = Walk(project, store)
        walk.work(
            "hanako", lambda text: "broken" if "対照" in text else {"label": "neutral"}, "変だ"
        )
    words = ("collect", "export", str(tmp_path / "project"), "--out")
    for name, form in FORMS.items():
        out = tmp_path / "out" / name
        assert nikawa(*words, str(out), *form).returncode == 0
        reading = open_judgements(out)
        assert "control" not in {one.example for _, one in reading.rows}
        assert reading.reports == []
    out = tmp_path / "controls.jsonl"
    nikawa(*words, str(out), "--include", "gold")
    reading = open_judgements(out)
    assert "i0" in {one.example for _, one in reading.rows}
    assert [one.example for _, one in reading.reports] == ["control"]


def test_decisions_about_hidden_labels_are_not_shown(nikawa: Nikawa, tmp_path: Path) -> None:
    """A decision and its reason tell the label of an item: whoever does not hold the labels sees neither."""
    folder = tmp_path / "tides"
    folder.mkdir()
    examples = [
        Example(
            id=f"t{n}",
            inputs={"text": text},
            gold={"label": "neutral"},
            origin=Origin(recipe="aggregate", gold="hidden" if n < 2 else "annotated"),
        )
        for n, text in enumerate(TEXTS)
    ]
    write_records(folder / "test.jsonl", examples)
    done = nikawa("data", "card", str(folder), "--say", "name=tides")
    assert done.returncode == 0, done.stderr
    said = [
        Judgement(example=f"tides:test/t{n}", worker=worker, question="label", answer="entailment")
        for n in range(4)
        for worker in ("aki", "beni")
    ]
    said += [
        Judgement(
            example=f"tides:test/t{n}",
            worker="decision:rin",
            question="label",
            answer="contradiction",
            kind="decision",
            comment=f"秘密{n}",
        )
        for n in range(4)
    ]
    write_records(folder / "judgements.jsonl", said)
    words = ("aggregate", str(folder), "--rule", "majority", "--out")
    done = nikawa(*words, str(tmp_path / "gold"))
    assert done.returncode == 0, done.stderr
    assert {one["example"] for one in rows(tmp_path / "gold" / "items.jsonl")} == {
        "tides:test/t2",
        "tides:test/t3",
    }
    text = "".join(path.read_text("utf-8") for path in (tmp_path / "gold").iterdir())
    assert "秘密2" in text
    assert "秘密0" not in text
    assert nikawa(*words, str(tmp_path / "all"), "--hidden").returncode == 0
    assert len(rows(tmp_path / "all" / "items.jsonl")) == 4


REVIEWS = "".join(
    json.dumps(
        {
            "id": f"r{n}",
            "text": f"商品その{n}は{'満足' if n % 2 else '不満'}だ。",
            "stars": 5 if n % 2 else 1,
        }
    )
    + "\n"
    for n in range(9)
)
MARC_CONFIG = """reviews = "reviews.jsonl"
workers = 3
votes = 2
split = "rest,3,3"
"""


def test_a_build_takes_the_same_file(nikawa: Nikawa, tmp_path: Path) -> None:
    """A recipe's sheet, a project on it, decisions, and the export into the build that waits for it."""
    (tmp_path / "reviews.jsonl").write_text(REVIEWS, "utf-8")
    config = tmp_path / "marc.toml"
    config.write_text(MARC_CONFIG, "utf-8")
    out = tmp_path / "out"
    report = build("marc-ja", out, BuildOptions(config=config))
    assert report.waiting
    ask = report.waiting[0].ask
    tasks = out / "people" / ask / "tasks.jsonl"
    folder = tmp_path / "project"
    create(folder, str(tasks), NewProject())
    refs = [one.id for one in read_examples(tasks)]
    with open_synced(folder) as (project, store):
        walk = Walk(project, store)
        for n, name in enumerate(("hanako", "taro", "jiro")):
            by_text = {
                str(next(iter(one.inputs.values()))): "positive" if n < 2 else "negative"
                for one in read_examples(tasks)
            }
            walk.work(name, say(project.options.question, by_text))
        question = project.options.question
        walk.decide(refs[0], {question: "positive"}, "初めの判断")
        walk.decide(refs[0], {question: "negative"}, "皮肉だった")
    answers = out / "people" / ask / "answers.jsonl"
    assert nikawa("collect", "export", str(folder), "--out", str(answers)).returncode == 0
    stages = {}
    for way in ("override", "ties"):
        report = build("marc-ja", out, BuildOptions(config=config, decisions=way, overwrite=True))
        assert report.released is not None
        notes = [note for stage in report.stages for note in stage.notes]
        assert "1 items were decided by the owner" in notes
        assert not any("beyond" in note for note in notes)
        stages[way] = {one["item"]: one for one in rows(out / "lineage.jsonl")}
    decided = stages["override"][refs[0]]
    assert set(decided["gold"].values()) == {"negative"}
    assert any("decided by rin: 皮肉だった" in step["rule"] for step in decided["steps"])
    kept = [one for one in decided["judgements"] if one.get("kind") == "decision"]
    assert [one["comment"] for one in kept] == ["初めの判断", "皮肉だった"]
    assert set(stages["ties"][refs[0]]["gold"].values()) == {"positive"}
    done = nikawa(
        "build", "marc-ja", "--out", str(out), "--config", str(config), "--decisions", "vote"
    )
    assert (done.returncode, "no way to take decisions 'vote'" in done.stderr) == (2, True)


def test_a_decided_item_of_a_build_needs_no_further_answers(tmp_path: Path) -> None:
    """Not so where decisions are for ties: the votes may make gold of it yet."""
    (tmp_path / "reviews.jsonl").write_text(REVIEWS, "utf-8")
    config = tmp_path / "marc.toml"
    config.write_text(MARC_CONFIG, "utf-8")
    out = tmp_path / "out"
    (waiting,) = build("marc-ja", out, BuildOptions(config=config)).waiting
    place = out / "people" / waiting.ask
    items = [one.id for one in read_examples(place / "tasks.jsonl")]
    answers = [
        Judgement(example=item, worker=f"w{n}", question="label", answer="positive")
        for item in items[1:]
        for n in range(3)
    ]
    decision = Judgement(
        example=items[0],
        worker="decision:rin",
        question="label",
        answer="negative",
        kind="decision",
        comment="誰も読めなかった",
    )
    write_records(place / "answers.jsonl", [*answers, decision])
    (waiting,) = build("marc-ja", out, BuildOptions(config=config, decisions="ties")).waiting
    assert waiting.lacking == 1
    report = build("marc-ja", out, BuildOptions(config=config))
    assert report.released is not None
    lineage = {one["item"]: one for one in rows(out / "lineage.jsonl")}
    assert set(lineage[items[0]]["gold"].values()) == {"negative"}


def test_judgements_in_another_form_keep_what_was_said(
    judged: str, nikawa: Nikawa, tmp_path: Path
) -> None:
    for name, form in {"a.tsv": (), "b.tsv": ("yahoo",), "c.json": ("label-studio",)}.items():
        words = ("agree", judged, "--question", "label", "--resamples", "20")
        save = ("--save", str(tmp_path / name), *(("--save-as", *form) if form else ()))
        assert nikawa(*words, *save, "--quiet").returncode == 0
        reading = open_judgements(tmp_path / name)
        assert sum(bool(judgement.comment) for _, judgement in reading.rows) == 7
        assert (len(reading.decisions), len(reading.reports)) == (3, 1)


def test_decisions_relabel_a_released_dataset(
    decided: Path, judged: str, nikawa: Nikawa, tmp_path: Path
) -> None:
    """A second look at a dataset: who decided and why is in the changelog, by the sheet and by the folder of gold."""
    sheet = str(tmp_path / "d.tsv")
    nikawa("collect", "export", str(decided), "--to", "decisions", "--out", sheet)
    examples = str(decided / "examples.jsonl")
    words = ("aggregate", judged, "--rule", "majority", "--examples", examples, "--out")
    assert nikawa(*words, str(tmp_path / "old"), "--decisions", "ties").returncode == 0
    assert nikawa(*words, str(tmp_path / "new")).returncode == 0
    data = str(tmp_path / "data")
    part(nikawa, tmp_path / "old", Path(data))
    only = [line for n, line in enumerate(Path(sheet).read_text("utf-8").splitlines()) if n < 2]
    Path(sheet).write_text("\n".join([*only, ""]), "utf-8")  # i1 was decided in both
    for name in ("d.tsv", "new"):
        amend = ("build", "--amend", data, "--relabel", str(tmp_path / name), "--json")
        done = nikawa(*amend, "--out", str(tmp_path / f"amended-{name}"))
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["release"]["corrections"]
        assert (row["before"], row["after"], row["by"]) == ("entailment", "neutral", "rin")
        assert row["why"].startswith("TARO の答えを rin が採用した")


def test_a_decision_that_decides_nothing_is_noted_or_refused(
    nikawa: Nikawa, tmp_path: Path
) -> None:
    def aggregate(*lines: dict[str, Any], rule: str = "majority") -> CompletedProcess[str]:
        file = tmp_path / "said.jsonl"
        votes = [{"example": "a", "worker": f"w{n}", "answer": n % 2} for n in range(3)]
        asked = [{"question": "label", **line} for line in (*votes, *lines)]
        file.write_text("".join(json.dumps(line) + "\n" for line in asked), "utf-8")
        words = ("--rule", rule, "--out", str(tmp_path / "gold"), "--overwrite")
        return nikawa("aggregate", str(file), *words)

    decision = {"example": "a", "worker": "decision:rin", "kind": "decision", "comment": "理由"}
    for answer in (None, "  "):
        done = aggregate({**decision, "answer": answer})
        assert "decisions without an answer: 1 (skipped" in done.stdout + done.stderr
        (item,) = rows(tmp_path / "gold" / "items.jsonl")
        assert (item["gold"], item["by"]) == (0, "majority")
    done = aggregate({**decision, "answer": "x", "question": "naturalness"})
    assert "decisions to 'naturalness': 1 (not used" in done.stdout + done.stderr
    for answer in ("nan", "1e999"):
        done = aggregate({**decision, "answer": answer}, rule="mean")
        assert done.returncode == 2
        assert f"line 4: the decision '{answer}' about 'a' is not a number" in done.stderr


def test_names_are_hidden_however_they_are_typed(nikawa: Nikawa, tmp_path: Path) -> None:
    typed = "山田　太郎、山田太郎、HANA  MORI、ｈａｎａ ｍｏｒｉ、か\u3099く、ﾀﾛｳ。 channamori は別人、ﾀﾞﾒ"
    with serve(tmp_path / "project") as walk:
        for name in ("山田 太郎", "hana mori", "がく"):
            walk.work(name, label("entailment", "entailment", "neutral", "neutral"), typed)
        walk.store.write(make_links, walk.project, ["タロウ"], "rin", 1.0)
        hide = walk.project.pseudonym
    out = tmp_path / "all.jsonl"
    done = nikawa(
        "collect", "export", str(tmp_path / "project"), "--out", str(out), "--pseudonymise"
    )
    assert done.returncode == 0, done.stderr
    yamada, hana, gaku, taro = map(hide, ("山田 太郎", "hana mori", "がく", "タロウ"))
    (comment,) = {one["comment"] for one in rows(out)}
    assert comment == f"{yamada}、{yamada}、{hana}、{hana}、{gaku}、{taro}。 channamori は別人、ﾀﾞﾒ"
