from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.checks.job import check
from nikawa.datasets import benchmarks, load
from nikawa.datasets.jsem.jsem import read
from nikawa.errors import BadInput

Write = Callable[..., Path]

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE jsem-dataset SYSTEM "jsem.dtd">\n'
PROBLEMS = """<jsem-dataset>
  <comment>作例</comment>
  <problem answer="yes" inference_type="entailment" jsem_id="1"
  language="jp" phenomena="temporal reference,
  before,after">
    <link link_id="9" resource="fracas" same_phenomena="unknown" translation="yes" />
    <p idx="1">
      <script>
      ハルは Blue
      Moon という船を　港に停めた。</script>
      <english>Haru moored a ship.</english>
    </p>
    <p idx="2"><script>今日は雨だ。</script></p>
    <h><script>ハルは船を停めた。</script></h>
    <note>ここは読まない。</note>
  </problem>
  <problem answer="no" inference_type="" jsem_id="N2" phenomena="">
    <link resource="fracas" />
    <p idx="1"><script>ミオは鐘を鳴らした。</script></p>
    <h><script>ミオは鐘を鳴らさなかった。</script></h>
  </problem>
  <problem answer="undef" jsem_id="3" phenomena="scope">
    <p idx="1"><script>ミオは鐘を鳴らした。</script></p>
    <h><script>ミオは二度鐘を鳴らした。</script></h>
  </problem>
</jsem-dataset>
"""
ONE = "<problem jsem_id='1' answer='yes'><p><script>あ。</script></p><h><script>い。</script></h></problem>"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a section of a `jsem` repository folder."""

    def write(text: str, name: str = "data/v1.0/Harbour.xml") -> Path:
        path = tmp_path / "jsem" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write


def test_a_problem_becomes_an_example(write: Write) -> None:
    first, second, third = read(write(HEAD + PROBLEMS))
    assert (first.id, first.gold) == ("1", {"label": "entailment"})
    assert first.tags == {"temporal reference", "before", "after"}
    assert first.inputs == {
        "premise": "ハルは Blue Moon という船を　港に停めた。今日は雨だ。",
        "hypothesis": "ハルは船を停めた。",
    }
    assert first.meta["premises"] == ["ハルは Blue Moon という船を　港に停めた。", "今日は雨だ。"]
    assert (first.meta["section"], first.meta["inference_type"]) == ("Harbour", "entailment")
    (link,) = first.meta["links"]
    assert (link["link_id"], link["translation"]) == ("9", "yes")
    assert (second.gold, second.tags) == ({"label": "contradiction"}, frozenset())
    assert (second.meta["inference_type"], second.meta["links"]) == (None, [])
    assert [e.group for e in (first, second, third)] == ["Harbour-1", "Harbour-N2", "Harbour-N2"]


@pytest.mark.parametrize("answer", ["undef", "unacceptable", "weakacceptable", "*", "?", ""])
def test_other_answers_have_no_label(write: Write, answer: str) -> None:
    text = f"<jsem-problems>{ONE.replace('yes', answer)}</jsem-problems>"
    (example,) = read(write(text))
    assert example.gold == {}
    assert example.meta["answer"] == answer


def test_unknown_is_neutral(write: Write) -> None:
    (example,) = read(write(f"<jsem-dataset>{ONE.replace('yes', 'unknown')}</jsem-dataset>"))
    assert example.gold == {"label": "neutral"}


def test_all_sections_are_one_split(write: Write, tmp_path: Path) -> None:
    write(HEAD + PROBLEMS)
    write(f"<jsem-dataset>{ONE}</jsem-dataset>", name="data/v1.0/Tower.xml")
    dataset = load("jsem", data=tmp_path)
    assert [e.meta["section"] for e in dataset.splits["test"]] == ["Harbour"] * 3 + ["Tower"]
    find_problems = benchmarks()["jsem"].find_problems
    assert find_problems is not None
    found = {f.check: f.ids for f in find_problems(tmp_path, dataset)}
    assert found == {"no-label": ("jsem:test/3",), "repeated-ids": ("jsem:test/1",)}


def test_the_same_problem_in_two_sections_is_no_kin_of_itself(write: Write, tmp_path: Path) -> None:
    for name in ("Tower", "Tower2"):
        write(f"<jsem-dataset>{ONE}</jsem-dataset>", name=f"data/v1.0/{name}.xml")
    found = {(f.check, f.count) for f in check("jsem", tmp_path).findings}
    assert {("repeated-ids", 1), ("repeated-pairs", 1)} <= found


def test_sections_may_lie_in_the_folder_itself(write: Write, tmp_path: Path) -> None:
    write(HEAD + PROBLEMS, name="Harbour.xml")
    assert len(load("jsem:test", data=tmp_path)) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + PROBLEMS[:400], "is not well-formed XML (unclosed token)"),
        (
            HEAD + PROBLEMS.replace("</note>", "</nota>"),
            "line 17: is not well-formed XML (mismatched tag)",
        ),
        ("", "line 1: is not well-formed XML (no element found)"),
        ("<html></html>", "line 1: the root element is <html>, not <jsem-dataset>"),
        (HEAD + PROBLEMS.replace(' jsem_id="3"', ""), "line 24: the problem has no jsem_id"),
        (HEAD + PROBLEMS.replace("今日は雨だ。", ""), "line 5: problem 1 has an empty premise"),
        (
            f"<jsem-dataset>{ONE.replace('p>', 'q>')}</jsem-dataset>",
            "line 1: problem 1 has no premise",
        ),
        (
            f"<jsem-dataset>\n{ONE.replace('い。', ' ')}</jsem-dataset>",
            "line 2: problem 1 has 1 hypotheses, or an empty one",
        ),
    ],
)
def test_broken_files_are_named(write: Write, text: str, says: str) -> None:
    path = write(text)
    with pytest.raises(BadInput) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"{path}, line ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "あ"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/hostname">',
        '<!ENTITY % a SYSTEM "other.dtd">',
    ],
)
def test_entities_are_refused(write: Write, declaration: str) -> None:
    body = f"<jsem-dataset>{ONE}</jsem-dataset>"
    path = write(f'<?xml version="1.0"?>\n<!DOCTYPE jsem-dataset [{declaration}]>\n{body}')
    with pytest.raises(BadInput, match="line 2: declares the entity 'a'"):
        list(read(path))


def test_text_that_is_not_utf8(write: Write) -> None:
    path = write("")
    path.write_bytes(f"<jsem-dataset>\n{ONE}</jsem-dataset>".encode("cp932"))
    with pytest.raises(BadInput, match="line 2: is not well-formed XML"):
        list(read(path))


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp", "utf-7", "klingon", "idna", "rot13"])
def test_an_encoding_that_is_not_read(write: Write, encoding: str) -> None:
    path = write("")
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<jsem-dataset>{ONE}</jsem-dataset>'
    path.write_bytes(text.encode("cp932"))
    with pytest.raises(
        BadInput, match=f"line 1: declares the encoding '{encoding}'.*iconv -f {encoding}"
    ):
        list(read(path))


def test_a_section_without_problems(write: Write, tmp_path: Path) -> None:
    path = write("<jsem-dataset><comment>作例</comment></jsem-dataset>")
    for spec in ("jsem", "jsem:test", f"jsem@{path}"):
        with pytest.raises(BadInput, match=f"{path}: holds no rows"):
            load(spec, data=tmp_path)


def test_published_section(shared_data: Path) -> None:
    examples = load("jsem", data=shared_data).splits["test"]
    temporal = [e for e in examples if e.meta["section"] == "TemporalReference"]
    assert Counter(e.meta["answer"] for e in temporal) == {
        "yes": 30,
        "unknown": 11,
        "no": 7,
        "undef": 1,
    }
    assert [e.id for e in temporal] == [str(n) for n in range(644, 693)]
    assert Counter(len(e.meta["premises"]) for e in temporal) == {1: 25, 2: 15, 3: 8, 4: 1}
    assert [e.id for e in temporal if not e.gold] == ["684"]
    assert Counter(tag for e in temporal for tag in e.tags)["temporal adverb"] == 20
    assert not any(
        "\n" in text or text != text.strip() for e in temporal for text in e.inputs.values()
    )
