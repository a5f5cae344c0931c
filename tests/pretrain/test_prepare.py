"""From files to prepared text: counted, whole or not at all, the same bytes for any number of workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.pretrain.contamination import BenchmarkText
from nikawa.pretrain.corpus import find_sources
from nikawa.pretrain.prepare import (
    HELDOUT_FILE,
    REPORT_FILE,
    TRAIN_FILE,
    CleanedLines,
    CorpusReport,
    PrepareOptions,
    prepare,
)

Invented = Callable[[str, int], list[str]]
SECRET = "三毛猫が屋根の上で月を眺めながら静かに歌っていた。"


def plain(texts: Sequence[str]) -> CleanedLines:
    """A cleaning that replaces one address and drops one word."""
    kept = ["" if "捨てる" in text else text.replace("a@b.jp", "<email>") for text in texts]
    changed = sum("a@b.jp" in text for text in texts)
    return CleanedLines(kept, Counter({"email": changed}), Counter({"words": kept.count("")}))


def secrets() -> list[BenchmarkText]:
    return [
        BenchmarkText("cats", "cats:test/1", SECRET),
        BenchmarkText("dogs", "dogs:test/1", "犬は吠えなかった、あの長い夜の間ずっと。"),
    ]


@pytest.fixture
def corpus(tmp_path: Path, invented: Invented) -> Path:
    lines = invented("ja", 400)
    lines[10] = "連絡は a@b.jp まで、[MASK] も [URL] も使えます。"
    lines[20] = "この行は捨てる。"
    lines[25] = "口座番号は 1234567 です。"
    lines[30] = f"噂では、{SECRET}"
    lines[40] = lines[41]
    text = "\n".join(line + ("\n" if n % 4 == 3 else "") for n, line in enumerate(lines))
    path = tmp_path / "corpus.txt"
    path.write_bytes(text.encode() + b"\n\n\xff\xff\n")
    return path


def run(corpus: Path, out: Path, **more: object) -> CorpusReport:
    how = PrepareOptions("ja", plain, **{"texts": secrets, "share": 0.1, **more})  # type: ignore[arg-type]
    return prepare(find_sources([corpus]), out, how)


def test_every_line_is_accounted_for(corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "out")
    texts = {
        name: (tmp_path / "out" / name).read_text("utf-8") for name in (TRAIN_FILE, HELDOUT_FILE)
    }
    both = texts[TRAIN_FILE] + texts[HELDOUT_FILE]
    assert report.removed == {"benchmark text": 1, "repeated lines": 1, "words": 1}
    assert report.changed == {"account": 1, "email": 1}
    assert "口座番号は [ID] です。" in both
    assert report.lines == report.train.lines + report.heldout.lines + 3 == 400
    assert report.files[0].broken_at == ("corpus.txt:502",)
    assert "連絡は [EMAIL] まで、[mask] も [url] も使えます。" in both
    assert SECRET not in both
    for name, size in ((TRAIN_FILE, report.train), (HELDOUT_FILE, report.heldout)):
        assert len([line for line in texts[name].split("\n") if line]) == size.lines
        assert texts[name].count("\n\n") == size.documents - 1
        assert not texts[name].startswith("\n")
    assert 2 <= report.heldout.documents <= 25


def test_no_text_of_a_benchmark_is_in_the_report(corpus: Path, tmp_path: Path) -> None:
    report = run(corpus, tmp_path / "out")
    cats, dogs = report.benchmarks
    assert (cats.benchmark, cats.texts, cats.lines, cats.examples, cats.ids) == (
        "cats",
        1,
        1,
        1,
        ("cats:test/1",),
    )
    assert (dogs.lines, dogs.examples) == (0, 0)
    written = (tmp_path / "out" / REPORT_FILE).read_text("utf-8")
    assert not any(SECRET[at : at + 6] in written for at in range(len(SECRET) - 6))


@pytest.mark.slow
def test_the_same_bytes_for_any_number_of_workers(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nikawa.pretrain.corpus.CHUNK_CHARS", 2_000)
    one, two = run(corpus, tmp_path / "one"), run(corpus, tmp_path / "two", where=2)
    assert one == two
    for name in (TRAIN_FILE, HELDOUT_FILE, REPORT_FILE):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_another_seed_holds_out_other_documents(corpus: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        run(corpus, tmp_path / str(seed), seed=seed)
    texts = [
        set((tmp_path / str(seed) / HELDOUT_FILE).read_text("utf-8").split("\n")) for seed in (0, 1)
    ]
    assert texts[0] != texts[1]


def test_more_text_before_it_does_not_move_a_document(corpus: Path, tmp_path: Path) -> None:
    """What is held out hangs on the document, not on what else is read."""
    other = tmp_path / "other.txt"
    other.write_text("前に置かれた別の文章です。\n", "utf-8")
    run(corpus, tmp_path / "alone")
    prepare(
        find_sources([other, corpus]),
        tmp_path / "both",
        PrepareOptions("ja", plain, secrets, share=0.1),
    )
    alone, both = (
        (tmp_path / name / HELDOUT_FILE).read_text("utf-8") for name in ("alone", "both")
    )
    assert alone in both


def test_nothing_is_written_where_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("これも捨てる。\n", "utf-8")
    with pytest.raises(BadInput, match="no text is left"):
        run(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    for wrong, said in (
        (b"\n\n", ": contains no text"),
        ("古い橋。\n".encode("cp932"), ", line 1: none of its lines can be read; .*iconv -f cp932"),
    ):
        path.write_bytes(wrong)
        with pytest.raises(BadInput, match=rf"a\.txt{said}"):
            run(path, tmp_path / "out")


def test_what_became_of_a_text_of_which_nothing_is_left(tmp_path: Path, invented: Invented) -> None:
    path = tmp_path / "a.txt"
    path.write_text("これも捨てる。\n" * 3, "utf-8")
    with pytest.raises(BadInput, match=r"a\.txt: no text is left, lines removed: words 3"):
        run(path, tmp_path / "out", texts=list)
    path.write_text(invented("ja", 1)[0], "utf-8")
    with pytest.raises(BadInput, match=r"a\.txt: the whole text was held out; .*--seed"):
        run(path, tmp_path / "out", share=1.0)
    assert not (tmp_path / "out").exists()


def test_a_folder_may_hold_a_short_file_that_tells_nothing(
    tmp_path: Path, invented: Invented
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in (
        ("a.txt", "\n".join(invented("ja", 100))),
        ("b.txt", ""),
        ("c.txt", "目次 MIT License\n"),
    ):
        (folder / name).write_text(text, "utf-8")
    assert (
        run(folder, tmp_path / "out").train.lines
        == 101 - run(folder, tmp_path / "again").heldout.lines
    )
    (folder / "c.txt").write_text("\n".join(invented("ko", 100)), "utf-8")
    with pytest.raises(BadInput, match=r"c\.txt: does not look like Japanese"):
        run(folder, tmp_path / "third")
    (folder / "a.txt").unlink()
    (folder / "c.txt").write_text("The licence of nothing.\n", "utf-8")
    with pytest.raises(BadInput, match=r"texts: does not look like Japanese"):
        run(folder, tmp_path / "third")


def test_another_language_is_refused_before_any_work(tmp_path: Path, invented: Invented) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(invented("ko", 20)), "utf-8")
    with pytest.raises(BadInput, match=r"does not look like Japanese: only 0% .*--language ko"):
        run(path, tmp_path / "out")
    assert run(path, tmp_path / "out", any_language=True).train.lines


@pytest.mark.parametrize(
    ("line", "times"), [(SECRET, 2), ("何も漏れていない行がここに一つあります。", 1)]
)
def test_benchmarks_are_read_again_only_for_what_was_met(
    tmp_path: Path, line: str, times: int
) -> None:
    reads: list[int] = []

    def count_reads() -> list[BenchmarkText]:
        reads.append(1)
        return secrets()

    path = tmp_path / "corpus.txt"
    path.write_text(f"{line}\n\n猫のいない家にも、春はやって来るのだった。\n", "utf-8")
    report = run(path, tmp_path / "out", texts=count_reads, share=0.0)
    assert len(reads) == times
    assert [(overlap.benchmark, overlap.texts) for overlap in report.benchmarks] == [
        ("cats", 1),
        ("dogs", 1),
    ]
