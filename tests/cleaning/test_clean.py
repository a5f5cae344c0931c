"""Cleaning from files to files: nothing lost, everything counted, the same bytes whatever the workers."""

from __future__ import annotations

import gc
import json
import lzma
import sys
import tracemalloc
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from typer.testing import CliRunner, Result

from nikawa.cleaning import Settings, choose_steps
from nikawa.cleaning import documents as source
from nikawa.cleaning import job as _clean_parts
from nikawa.cleaning.base import Removed
from nikawa.cleaning.job import CleanOptions, ReadOptions, clean
from nikawa.cleaning.rank import rank_articles
from nikawa.cli.terminal.app import build
from nikawa.errors import BadInput, UnknownName
from nikawa.io.records import read_examples, read_records

KO = """(서울=연합뉴스) 홍길동 기자 = 낡은 다리 옆에 작은 가게가 하나 새로 문을 열었다. 비가 왔다.
주인은 아침마다 일찍 일어나서 마당의 꽃에 물을 준다고 한다.<br>문의는 가게의 메일 shop@example.com 으로 보내면 된다고 했다.

주인은 아침마다 일찍 일어나서 마당의 꽃에 물을 준다고 한다!
강을 건너는 나쁜 사람들이 밤마다 다리 위에서 소리를 지른다고 한다.
"""
KEPT = [
    "낡은 다리 옆에 작은 가게가 하나 새로 문을 열었다.",
    "주인은 아침마다 일찍 일어나서 마당의 꽃에 물을 준다고 한다.",
    "강을 건너는 나쁜 사람들이 밤마다 다리 위에서 소리를 지른다고 한다.",
]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "news.txt"
    path.write_text(KO, "utf-8")
    return path


def nikawa(*words: str) -> Result:
    return CliRunner().invoke(build(), list(words), env={"COLUMNS": "200"})


def texts_of(path: Path) -> list[str]:
    return [example.inputs["text"] for example in read_examples(path)]


def test_candidates_report_and_removed(text: Path, tmp_path: Path) -> None:
    out, removed = tmp_path / "c.jsonl", tmp_path / "r.jsonl"
    reading = ReadOptions(licence="CC0", source="동해일보")
    report = clean([text], out, CleanOptions(removed=removed, reading=reading))
    found = list(read_examples(out))
    assert [e.inputs["text"] for e in found] == KEPT
    lines = KO.split("\n")
    for example in found:
        line = lines[int(example.meta["document"].split(":")[1]) - 1]
        assert line[example.meta["start"] : example.meta["end"]] == example.inputs["text"]
        assert (example.meta["licence"], example.meta["source"]) == ("CC0", "동해일보")
        assert example.group == example.meta["document"]
    gone = list(read_records(removed, Removed))
    assert Counter(g.step for g in gone) == {"length": 1, "email": 1, "duplicates": 1}
    assert [g.why for g in gone if g.step == "duplicates"] == ["repeats candidate 2"]
    assert (report.language, report.documents, report.sentences, report.kept) == ("ko", 4, 6, 3)
    assert report.sentences == report.kept + sum(step.removed for step in report.steps)
    counted = {s.step: (s.changed, s.removed) for s in report.steps if s.changed or s.removed}
    assert counted["press"] == (1, 0)
    assert counted["html"] == (1, 0)
    assert counted["duplicates"] == (0, 1)


def test_personal_data_replaced(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    clean([text], out, CleanOptions(settings=Settings(pii="replace")))
    assert "문의는 가게의 메일 <email> 으로 보내면 된다고 했다." in texts_of(out)


def test_a_scorer_takes_sentences_out(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    report = clean([text], out, scorer=lambda texts: [float("나쁜" in t) for t in texts])
    assert texts_of(out) == KEPT[:2]
    (step,) = [s for s in report.steps if s.step == "toxicity"]
    assert (step.removed, step.examples) == (1, (KEPT[2],))


def test_a_scorer_is_heard_whatever_the_steps(text: Path, tmp_path: Path) -> None:
    report = clean(
        [text],
        tmp_path / "c.jsonl",
        CleanOptions(steps=("sentences",)),
        scorer=lambda texts: [1.0 for _ in texts],
    )
    assert report.kept == 0
    assert [step.step for step in report.steps] == ["sentences", "toxicity"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_clean_parts, "CHUNK_CHARS", 4_000)
    monkeypatch.setattr(source, "_BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(source, "SAMPLE_BYTES", 1 << 12)
    peaks = []
    for size in (100, 1_000, 4_000):  # the first loads what is loaded once
        path = tmp_path / f"{size}.txt"
        lines = (
            f"{i:x}번 손님이 낡은 다리를 건너서 {i * 7919:x}번 가게로 갔다.\n" for i in range(size)
        )
        path.write_text("".join(lines), "utf-8")
        gc.collect()  # garbage of the size before would take the place of new memory
        tracemalloc.start()
        clean([path], tmp_path / f"{size}.jsonl", CleanOptions(settings=Settings(window=1)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    added = (tmp_path / "4000.txt").stat().st_size - (tmp_path / "1000.txt").stat().st_size
    assert peaks[2] - peaks[1] < added  # in memory, each line would take twice its bytes


@pytest.mark.slow
def test_the_same_bytes_for_any_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.txt"
    path.write_text(
        "".join(
            f"{i % 700}번 손님이 낡은 다리를 건너서 {i % 650}번 가게로 걸어갔다. 짧다.\n"
            for i in range(3000)
        ),
        "utf-8",
    )
    monkeypatch.setattr(_clean_parts, "CHUNK_CHARS", 20_000)
    results = []
    for workers in (1, 2, 3):
        out, removed = tmp_path / f"{workers}.jsonl", tmp_path / f"{workers}.r.jsonl"
        report = clean([path], out, CleanOptions(workers=workers, removed=removed))
        results.append((out.read_bytes(), removed.read_bytes(), report))
    assert results[0] == results[1] == results[2]
    assert 0 < results[0][2].kept < 3000


def test_cleaning_the_candidates_changes_nothing(text: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    clean([text], once, CleanOptions(reading=ReadOptions(licence="CC0")))
    report = clean([once], twice)
    assert texts_of(twice) == texts_of(once)
    assert not any(step.changed or step.removed for step in report.steps)
    assert [e.meta["document"] for e in read_examples(twice)] == [e.id for e in read_examples(once)]
    assert all(e.meta["licence"] == "CC0" for e in read_examples(twice))


def test_written_whole_or_not_at_all(text: Path, tmp_path: Path) -> None:
    out, removed = tmp_path / "c.jsonl", tmp_path / "r.jsonl"

    def broken(texts: Any) -> list[float]:
        raise BadInput("the scorer broke")

    with pytest.raises(BadInput, match="broke"):
        clean([text], out, CleanOptions(removed=removed), scorer=broken)
    assert {p.name for p in tmp_path.iterdir() if p.is_file()} == {"news.txt"}
    clean([text], out)
    with pytest.raises(BadInput, match="--overwrite"):
        clean([text], out)
    clean([text], out, CleanOptions(overwrite=True))


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        (CleanOptions(settings=Settings(min_length=9, max_length=8)), "no length"),
        (CleanOptions(steps=("htlm",)), "did you mean 'html'"),
        (CleanOptions(settings=Settings(language="zh")), "language"),
        (CleanOptions(removed=Path("news.txt"), overwrite=True), "both input and output"),
        (CleanOptions(reading=ReadOptions(encoding="klingon")), "no encoding"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    text: Path, monkeypatch: pytest.MonkeyPatch, choices: CleanOptions, why: str
) -> None:
    monkeypatch.chdir(text.parent)
    with pytest.raises((BadInput, UnknownName), match=why):
        clean([Path("news.txt")], Path("c.jsonl"), choices)
    assert not Path("c.jsonl").exists()


def test_files_that_do_not_go_together(text: Path, tmp_path: Path) -> None:
    other = tmp_path / "ja.txt"
    other.write_text("橋のそばの店で花を買った。\n", "utf-8")
    with pytest.raises(BadInput, match="different languages"):
        clean([text, other], tmp_path / "c.jsonl")
    with pytest.raises(BadInput, match="given twice"):
        clean([text, text], tmp_path / "c.jsonl")


def test_files_of_the_same_name(text: Path, tmp_path: Path) -> None:
    other = tmp_path / "more" / "news.txt"
    other.parent.mkdir()
    other.write_text("강가에는 오래된 나무가 한 그루 서 있어서 그늘이 넓다.\n", "utf-8")
    clean([text, other], tmp_path / "c.jsonl")
    assert len({e.id for e in read_examples(tmp_path / "c.jsonl")}) == 4


def test_selected_articles(tmp_path: Path) -> None:
    links, chosen, articles = (tmp_path / name for name in ("l.tsv", "best.tsv", "a.jsonl"))
    links.write_text("산\t강\n바다\t강\n강\t산\n", "utf-8")
    assert [name for name, _ in rank_articles(links, 2, out=chosen)] == ["강", "산"]
    rows = [
        {"title": name, "text": f"{name}에 대한 이 글은 스무 글자보다 조금 더 길다."}
        for name in ("산", "강", "바다")
    ]
    articles.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    choices = CleanOptions(reading=ReadOptions(only=chosen), without=("duplicates",))
    report = clean([articles], tmp_path / "c.jsonl", choices)
    assert [e.meta["document"] for e in read_examples(tmp_path / "c.jsonl")] == ["산", "강"]
    assert (report.documents, report.unselected) == (2, 1)


def test_a_draw_of_articles(tmp_path: Path) -> None:
    links = tmp_path / "l.tsv"
    links.write_text("".join(f"{i}\t{i * 7 % 50}\n" for i in range(50)), "utf-8")
    drawn = rank_articles(links, 30, sample=10, seed=3)
    assert drawn == rank_articles(links, 30, sample=10, seed=3)
    assert set(drawn) < set(rank_articles(links, 30))
    assert len(drawn) == 10
    with pytest.raises(BadInput, match="cannot draw"):
        rank_articles(links, 5, sample=6)


def test_the_command(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    scorer = tmp_path / "score.py"
    scorer.write_text(
        "import sys\nfor line in sys.stdin.buffer: print(float('나쁜' in line.decode()))\n", "utf-8"
    )
    words = (
        "clean",
        str(text),
        "--out",
        str(out),
        "--toxicity",
        f"{sys.executable} {scorer}",
        "--without",
        "duplicates",
    )
    done = nikawa(*words, "--json", "--source", "s")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert report["kept"] == len(texts_of(out)) == 3
    assert "duplicates" not in {step["step"] for step in report["steps"]}
    done = nikawa(*words, "--overwrite", "--removed", str(tmp_path / "r.jsonl"))
    assert done.exit_code == 0
    assert "Of 6 sentences 3 were kept" in done.stdout
    assert "⟦<br>→" in done.stdout
    assert nikawa(*words, "--overwrite", "--quiet").stdout == ""


def test_the_commands_without_a_text() -> None:
    done = nikawa("clean", "--json")
    assert [step["step"] for step in json.loads(done.stdout)] == [s.name for s in choose_steps()]
    assert "mention" in nikawa("clean").stdout


def test_bad_words_of_the_command(text: Path, tmp_path: Path) -> None:
    for words, why in ((("--pii", "hide"), "hide"), ((), "--out")):
        done = nikawa(
            "clean", str(text), *words, *(("--out", str(tmp_path / "c")) if words else ())
        )
        assert isinstance(done.exception, BadInput)
        assert why in str(done.exception)


def test_the_rank_command(tmp_path: Path) -> None:
    links = tmp_path / "l.tsv"
    links.write_text("산\t강\n바다\t강\n", "utf-8")
    done = nikawa("rank", str(links), "-n", "1", "--json")
    assert json.loads(done.stdout)[0]["article"] == "강"
    done = nikawa("rank", str(links), "--out", str(tmp_path / "best.tsv"))
    assert done.exit_code == 0
    assert (tmp_path / "best.tsv").read_text("utf-8").startswith("강\t")


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ja", "ko"])
def test_a_slice_of_the_corpus(language: str, tmp_path: Path, shared_data: Path) -> None:
    folder = shared_data.parent / "corpus"
    if not folder.is_dir():
        pytest.skip("no corpus beside the published data")
    path, table, out = tmp_path / "slice.txt", tmp_path / "sources.tsv", tmp_path / "c.jsonl"
    with lzma.open(folder / f"{language}.txt.xz", "rb") as lines:
        path.write_bytes(b"".join(islice(lines, 5000)))
    with lzma.open(folder / f"{language}.sources.tsv.xz", "rb") as rows:
        table.write_bytes(b"".join(row for row in rows if int(row.split(b"\t")[0]) < 5000))
    report = clean([path], out, CleanOptions(reading=ReadOptions(sources=table)))
    assert (report.language, report.documents) == (language, 5000)
    assert report.sentences == report.kept + sum(step.removed for step in report.steps)
    assert report.kept > 2500
    found = list(read_examples(out))
    assert all(20 <= len(e.inputs["text"]) <= 90 and e.meta["source"] for e in found)
    again = clean([out], tmp_path / "again.jsonl")
    assert not any(step.changed or step.removed for step in again.steps)


def test_no_temporary_is_left(text: Path, tmp_path: Path) -> None:
    clean([text], tmp_path / "c.jsonl.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl.gz", "news.txt"]


def test_nfd_is_composed_before_it_is_measured(tmp_path: Path) -> None:
    text = (
        "산 너머 마을의 작은 도서관은 겨울 동안 매주 토요일마다 늦은 밤까지 문을 열어 두기로 했다."
    )
    source, out = tmp_path / "mac.txt", tmp_path / "out.jsonl"
    parts = normalize("NFD", text)
    source.write_text(f"{parts}\n{text}\n", "utf-8")
    report = clean([source], out)
    assert (report.language, report.kept) == ("ko", 1)
    assert {s.step: (s.changed, s.removed) for s in report.steps if s.changed or s.removed} == {
        "compose": (1, 0),
        "duplicates": (0, 1),
    }
    (kept,) = read_examples(out)
    assert kept.inputs["text"] == text
    assert (kept.meta["start"], kept.meta["end"]) == (0, len(parts))
    again = clean([source], out, CleanOptions(without=("compose", "length"), overwrite=True))
    assert again.kept == 1
