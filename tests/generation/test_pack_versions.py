"""Versions of packs, what templates and lexicons may say about them, and reviews: old versions make
the same bytes, weights balance labels, and the judgements of readers become the card of a pack."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from shutil import copytree

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput, NikawaError
from nikawa.generation.check import check_pack
from nikawa.generation.generator import Generator, load_pack_lexicon
from nikawa.generation.job import GenerateOptions, generate
from nikawa.generation.pack import PACKS, load_pack, open_pack
from nikawa.generation.review_sample import (
    MIN_READ,
    compute_figures,
    draw_review_sample,
    read_pack_card,
    strip_labels,
)
from nikawa.io.judgements import open_judgements, write_judgements
from nikawa.io.records import read_examples
from nikawa.records import Example, Judgement

GOLDEN = {
    "temporal-ja@1": "3961cfeeedefdd8d2d87b269f6ff642d9e01e26f4bb8e9c4950255f8dc9a0ca5",
    "temporal-ko@1": "977782a85a369c3d024c22c7cb1bd6f239515d3cb0b38df5865ff2f759aeb083",
    "comparative-ja@1": "fed5e9161e3940c1d224c05d304caea2298db2ef878b7313b387b2d9b66b786d",
}
"""Digests of what these packs made before they had versions: three problems per cell of train, one
of test, seed 1."""
REVIEWED = (
    "comparative-ja",
    "temporal-ja",
    "temporal-ko",
    "modality-ja",
    "modality-ko",
    "negation-ja",
    "negation-ko",
)
HEAD = 'name = "own"\nlanguage = "ja"\ntitle = "t"\nlicence = "x"\ntemplates = ["t.txt"]\n'


@pytest.mark.parametrize("name", GOLDEN)
def test_an_old_version_makes_the_same_bytes(name: str) -> None:
    pack = load_pack(name)
    generator = Generator(pack, load_pack_lexicon(pack), "1")
    digest = sha256()
    for split, per_cell in (("train", 3), ("test", 1)):
        for planned in generator.plan_cells(split, per_cell):
            digest.update(generator.lines(split, planned))
    assert digest.hexdigest() == GOLDEN[name]


def test_versions_are_named_after_an_at_sign() -> None:
    assert load_pack("temporal-ja@1").head.version == "1"
    assert load_pack("temporal-ja").head.version == "2"
    assert load_pack("temporal-ja@2").folder == load_pack("temporal-ja").folder
    assert load_pack("temporal-ja@1").name == "temporal-ja"
    with pytest.raises(NikawaError, match=r"temporal-ja@1"):
        load_pack("temporal-ja@7")


def write_pack(folder: Path, templates: str, head: str = "", frames: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pack.toml").write_text(HEAD + head, "utf-8")
    (folder / "t.txt").write_text(templates, "utf-8")
    if frames:
        words = folder / "words"
        words.mkdir(exist_ok=True)
        about = 'name = "w"\nlanguage = "ja"\ntitle = "t"\nlicence = "x"\nprovenance = "own"\n'
        (words / "lexicon.toml").write_text(about, "utf-8")
        (words / "agents.txt").write_text(
            "健太 美咲 翔太 陽菜 大輔 由美 直樹 恵子 拓也 彩香", "utf-8"
        )
        (words / "frames.tsv").write_text(frames, "utf-8")
    return folder


INTERVALS = """template a
  category:     x
  premise:      {agent ガ}は{interval1 bare}以内に{noun ヲ}を{verb 他 ガ ヲ #make past}。
  hypothesis:   {agent}は{interval2 bare}以内にその{noun}を{verb past}。
  given:        interval1 != interval2
  entails when: interval1 < interval2
  spans:        short
  weights:      2 1 1
"""
FRAMES = (
    "verb\tclass\ttransitive\ttimes\tunits\tstate\tnouns\ttags\n"
    "書く\t五段・カ行イ音便\tyes\twithin\tyear month day hour\tno\tヲ=手紙 本 詩 記事\tmake\n"
    "読む\t五段・マ行\tyes\twithin\tyear month day hour\tno\tヲ=新聞 雑誌\tread\n"
)


def test_bare_intervals_tags_spans_and_weights(tmp_path: Path) -> None:
    pack = load_pack(write_pack(tmp_path / "p", INTERVALS, 'lexicon = "words"\n', FRAMES))
    generator = Generator(pack, load_pack_lexicon(pack), "1")
    planned = generator.plan_cells("train", 3)
    assert {cell.cell.span.name for cell in planned if cell.cell.span} == {"short"}
    assert {(cell.cell.label, cell.n) for cell in planned} == {("entailment", 6), ("neutral", 3)}
    texts = [
        str(problem.inputs["premise"])
        for cell in planned
        for problem in generator.problems("train", cell)
    ]
    assert all(re.search(r"は\d(年|ヶ月|日|時間)以内に\S+を書いた。", text) for text in texts)
    assert not check_pack(str(pack.folder))[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("weights:      1 2", "write three numbers from 0 to 9"),
        ("weights:      0 0 0", "all weights are 0"),
        ("spans:        near", "'near' is not a span of the pack"),
        ("entails:      true", "'true' is not a condition; write always"),
    ],
)
def test_faults_of_the_new_fields(line: str, message: str, tmp_path: Path) -> None:
    text = "template a\n  category: x\n  premise: {agent}は{interval1}いた。\n  hypothesis: {agent}はいた。\n"
    folder = write_pack(tmp_path / "p", f"{text}  {line}\n")
    with pytest.raises(BadInput, match=re.escape(message)):
        load_pack(folder)


def test_errors_use_the_names_of_the_author(tmp_path: Path) -> None:
    text = (
        "template a\n  category: x\n  premise: {agent}は{time1}にいた。\n  hypothesis: {agent}はいた。\n"
        "  entails when: time5 < time1\n"
    )
    with pytest.raises(BadInput, match="time5 is in a condition but in no sentence") as error:
        load_pack(write_pack(tmp_path / "p", text))
    assert "time1" in str(error.value)
    assert "_" not in str(error.value).partition(":")[2]


def test_hours_of_a_span(tmp_path: Path) -> None:
    head = "[span.random]\nhours = [9, 12]\n[span.short]\nhours = [9, 12]\nwindow = { hour = 3 }\n"
    text = (
        "template a\n  category: x\n  premise: {agent}は{time1}にいた。\n  hypothesis: {agent}は{time2}にいた。\n"
        "  formats: 時 日時\n"
    )
    pack = load_pack(write_pack(tmp_path / "p", text, head))
    generator = Generator(pack, load_pack_lexicon(pack), "1")
    for planned in generator.plan_cells("train", 30):
        for problem in generator.problems("train", planned):
            hours = re.findall(r"(\d+)時", "".join(map(str, problem.inputs.values())))
            assert {int(hour) for hour in hours} <= set(range(9, 13))


def test_declared_words_pass_the_gate(tmp_path: Path) -> None:
    text = "".join(
        f"template {id}\n  category: x\n  premise: {{agent1}}は{{agent2}}に会った。\n"
        f"  hypothesis: {{agent1}}は{{agent2}}に{ending}。\n{label}"
        for id, ending, label in (
            ("a", "会った", "  entails: always\n"),
            ("b", "会わなかった", "  contradicts: always\n"),
            ("c", "会ったかもしれない", ""),
        )
    )
    folder = write_pack(tmp_path / "p", text)
    options = GenerateOptions(counts={"": 60, "test": 0}, gate=0)
    report = generate(str(folder), tmp_path / "a", options=options)
    assert report.gate is not None
    assert not report.gate.passed
    words = json.dumps(sorted({pair.token for pair in report.gate.over}), ensure_ascii=False)
    write_pack(folder, text, f"phenomenon = {words}\n")
    report = generate(str(folder), tmp_path / "b", options=options)
    assert report.gate is not None
    assert report.gate.passed
    assert report.gate.declared


@pytest.mark.parametrize(
    "name", ["temporal-ja", "temporal-ko", "modality-ja", "modality-ko", "negation-ko"]
)
def test_what_a_reader_objected_to_does_not_come_back(name: str) -> None:
    pack = load_pack(name)
    generator = Generator(pack, load_pack_lexicon(pack), "5")
    odd = re.compile(
        r"[年月日]間以内|時以来|(?<!\d)1日間|決して\S*(?:て|ずに)\S*ない。|시 이래|결코 누군가|(?<!\d)1일 (?:만에|이내)|머물[었지]"
        r"|갇[혔히]|(?:완성하|끝내)지 않|두 사람 모두"
    )
    for planned in generator.plan_cells("train", 2):
        for problem in generator.problems("train", planned):
            premise, hypothesis = problem.inputs["premise"], problem.inputs["hypothesis"]
            assert premise != hypothesis
            assert not odd.search(f"{premise} {hypothesis}"), problem


@pytest.mark.parametrize("name", ["temporal-ja", "temporal-ko"])
def test_no_verb_runs_out_of_nouns(name: str) -> None:
    """With 200 problems per cell, the verbs of a class come up equally often whatever the weight of
    a template; otherwise those with few nouns are more frequent with the labels of light templates.
    """
    pack = load_pack(name)
    generator = Generator(pack, load_pack_lexicon(pack))
    uneven = set()
    for planned in generator.plan_cells("train", 200):
        share = generator.word_share(planned.cell, "train")
        space, used = share.space, planned.n * share.cells * share.spans
        if space.even_size < min(used, space.size):
            uneven.add(planned.cell.template.id)
    assert not uneven


@pytest.mark.parametrize("name", ["modality-ja", "negation-ja"])
def test_the_gate_passes_at_the_first_attempt(name: str, tmp_path: Path) -> None:
    options = GenerateOptions(counts={"": 10, "test": 0}, gate=0)
    report = generate(name, tmp_path / "data", options=options)
    assert report.gate is not None
    assert report.gate.passed
    assert report.attempt == 0
    assert {pair.token for pair in report.gate.declared} <= {"ある", "高い", "低い"}


def test_no_noun_of_the_negation_pack_is_a_kind_of_another() -> None:
    """Who read a novel has read a book: nothing about the second noun may follow from the first."""
    for frame in load_pack_lexicon(load_pack("negation-ja")).frames:
        for nouns in frame.nouns.values():
            for noun in nouns:
                assert not [other for other in nouns if other != noun and other.endswith(noun)]


@pytest.mark.parametrize("name", ["comparative-ja", "modality-ja", "negation-ja", "temporal-ja"])
def test_a_copied_pack_has_its_words(name: str, tmp_path: Path) -> None:
    pack = load_pack(copytree(PACKS / name, tmp_path / "own"))
    assert load_pack_lexicon(pack).folder == tmp_path / "own" / "words"


def judge(example: Example, worker: str, label: str, naturalness: str) -> list[Judgement]:
    return [
        Judgement(example=example.id, worker=worker, question="label", answer=label),
        Judgement(example=example.id, worker=worker, question="naturalness", answer=naturalness),
    ]


def test_figures_of_a_review() -> None:
    pack = open_pack("comparative-ja")
    sample = draw_review_sample(pack, 20, seed=1)
    assert sample == draw_review_sample(pack, 20, seed=1)
    assert len({problem.meta["template"] for problem in sample}) == 20
    shown = strip_labels(sample)
    assert not any(problem.gold or problem.meta or problem.tags for problem in shown)
    rows: list[Judgement] = []
    for place, problem in enumerate(sample):
        gold = str(problem.gold["label"])
        other = "neutral" if gold != "neutral" else "entailment"
        rows += judge(problem, "a", gold, "natural")
        rows += judge(problem, "b", other if place == 0 else gold, "both" if place < 2 else "mild")
    figures = compute_figures(pack, sample, rows, "2 persons")
    assert (figures.n, figures.readers, figures.unnatural, figures.disputed) == (20, 2, 2, 1)
    assert figures.natural == pytest.approx(38 / 40)
    assert figures.fully_natural == pytest.approx(20 / 40)
    assert figures.label_agreed == pytest.approx(39 / 40)
    assert figures.label_agreement == pytest.approx(19 / 20)
    assert {fault.template for fault in figures.faults} == {
        problem.meta["template"] for problem in sample[:2]
    }
    with pytest.raises(BadInput, match="naturalness is 'so-so'"):
        compute_figures(pack, sample, judge(sample[0], "a", "neutral", "so-so"), "")
    with pytest.raises(BadInput, match="no problem 'x'"):
        compute_figures(pack, sample, judge(replace(sample[0], id="x"), "a", "neutral", "mild"), "")


@pytest.mark.parametrize("name", REVIEWED)
def test_shipped_packs_have_a_review(name: str) -> None:
    """The figures follow from the judgements that are kept, and reach the aims."""
    folder = PACKS / name
    card = read_pack_card(folder)
    assert card is not None
    assert card.review is not None
    assert card.version == load_pack(name).head.version
    rows = [row for _, row in open_judgements(folder / "review" / "judgements.jsonl").rows]
    assert {row.kind for row in rows} == {"machine"}
    assert "language model" in card.review.read_by
    sample = list(read_examples(folder / "review" / "sample.jsonl"))
    assert compute_figures(load_pack(name), sample, rows, card.review.read_by) == card.review
    assert card.review.n >= MIN_READ
    assert card.review.readers == 2
    assert card.review.unnatural / card.review.n < 0.05
    assert card.review.disputed / card.review.n < 0.01


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(build(), ["templates", "review", *words])
    return done.exit_code, done.output


def test_a_review_on_the_annotation_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    project = tmp_path / "round"
    status, output = run("comparative-ja", "--project", str(project), "-n", "6")
    assert status == 0, output
    assert "keep this file away from readers" in output
    assert "gold" not in (project / "examples.jsonl").read_text("utf-8")
    for language, limit in (("ja", "以内"), ("ko", "이내"), ("en", "at most")):
        assert limit in (project / f"guideline.{language}.md").read_text("utf-8")
    sample = tmp_path / "round-sample" / "sample.jsonl"
    assert sample.parent.stat().st_mode & 0o077 == 0  # readers on this machine cannot open it
    again = ("comparative-ja", "--project", str(tmp_path / "round"), "-n", "6")
    assert run(*again, "--overwrite")[0] != 0  # a project is never replaced
    project.rename(tmp_path / "first")
    assert run(*again)[0] != 0  # the sample is there
    assert run(*again, "--overwrite")[0] == 0
    judgements = tmp_path / "j.jsonl"
    rows: list[Judgement] = []
    for problem in read_examples(sample):
        rows += judge(problem, "hanako", str(problem.gold["label"]), "natural")
    write_judgements(judgements, rows)
    words = ("comparative-ja", "--judgements", str(judgements))
    status, output = run(*words, "--sample", str(sample))
    assert status != 0  # the folder of a shipped pack is not changed
    status, output = run(*words, "--sample", str(sample), "--out", str(tmp_path / "o"), "--json")
    assert status == 0, output
    figures = json.loads(output)["figures"]
    assert (figures["n"], figures["read_by"], figures["natural"]) == (6, "1 person", 1.0)
    assert (tmp_path / "o" / "review" / "judgements.jsonl").exists()
    status, output = run("comparative-ja")
    assert status != 0
