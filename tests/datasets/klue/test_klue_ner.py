from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nikawa.datasets.klue import klue_ner
from nikawa.datasets.klue.klue_ner import TYPES, parse_markup, parse_rows, read
from nikawa.datasets.load import load
from nikawa.errors import BadInput
from nikawa.records import Finding, Span

Write = Callable[[str, str, list[str]], str]
Tag = Callable[[str], list[str]]
Lay = Callable[..., Path]
Trapped = Callable[[str, Path], dict[str, Finding]]
GUID = "klue-ner-v1_dev_00000-wikitree"


def test_text_and_spans_come_from_the_rows(
    lay: Lay, comments: str, sentence: Write, tag: Tag
) -> None:
    rows = tag("[하늘섬|LC]의 [두루|PS]는 [세 시|TI]에 떠났다.")
    path = lay("klue-ner", "dev", comments + sentence(GUID, "아무 말", rows))
    (example,) = read(path)
    assert example.id == "klue-ner-v1_dev_00000"
    assert example.meta == {"source": "wikitree"}
    assert example.inputs == {"text": "하늘섬의 두루는 세 시에 떠났다."}
    assert example.gold == {"spans": [Span(0, 3, "LC"), Span(5, 7, "PS"), Span(9, 12, "TI")]}


def test_neighbouring_entities_stay_two(tag: Tag) -> None:
    text, spans, orphans = parse_rows("\n".join(tag("[한|LC][일|LC][둘|QT]")) + "\n")
    assert (text, orphans) == ("한일둘", 0)
    assert spans == [Span(0, 1, "LC"), Span(1, 2, "LC"), Span(2, 3, "QT")]


def test_hash_and_tab_like_characters_are_text(
    lay: Lay, comments: str, sentence: Write, tag: Tag
) -> None:
    path = lay("klue-ner", "dev", comments + sentence(GUID, "x", tag("#1 <O> ## \u2028끝")))
    assert next(read(path)).inputs["text"] == "#1 <O> ## \u2028끝"


def test_inside_tags_that_continue_nothing_are_no_entity_but_are_told(
    lay: Lay, comments: str, sentence: Write, tag: Tag, tmp_path: Path, trapped: Trapped
) -> None:
    rows = ["가\tI-PS", "나\tB-LC", "다\tI-PS", "라\tO", "마\tB-QT"]
    path = lay("klue-ner", "dev", comments + sentence(GUID, "가<나:LC>다라<마:QT>", rows))
    (example,) = read(path)
    assert example.gold["spans"] == [Span(1, 2, "LC"), Span(4, 5, "QT")]
    assert example.meta["orphan_tags"] == 2
    assert trapped("klue-ner", tmp_path)["orphan-tags"].count == 1


def test_test_file_without_tags_is_hidden(lay: Lay, comments: str, sentence: Write) -> None:
    path = lay(
        "klue-ner",
        "test",
        comments + sentence("klue-ner-v1_test_00000-nsmc", "비 온다", list("비 온다")),
    )
    (example,) = read(path)
    assert example.inputs["text"] == "비 온다"
    assert example.gold == {}
    assert example.origin is not None
    assert example.origin.gold == "hidden"


@pytest.mark.parametrize(
    "row", ["가\tB-XX", "가나\tO", "\tO", "가", "가 O", "가\tO\t", "가\tB-PSX"], ids=repr
)
def test_bad_row_names_its_line(lay: Lay, comments: str, sentence: Write, row: str) -> None:
    path = lay("klue-ner", "dev", comments + sentence(GUID, "가나", ["나\tO", row, "다\tO"]))
    with pytest.raises(BadInput, match=r"_dev\.tsv, line 8: .*13 tags"):
        list(read(path))


def test_faults_that_cancel_out_are_still_seen(lay: Lay, comments: str, sentence: Write) -> None:
    path = lay("klue-ner", "dev", comments + sentence(GUID, "가나", ["\tO", "가나\tO"]))
    with pytest.raises(BadInput, match="line 7"):
        list(read(path))


def test_rows_without_header_and_header_without_rows(
    lay: Lay, comments: str, sentence: Write
) -> None:
    path = lay("klue-ner", "dev", comments + sentence(GUID, "가", ["가\tO"]) + "나\tO\n")
    with pytest.raises(BadInput, match=r"line 9: rows without"):
        list(read(path))
    path = lay(
        "klue-ner", "dev", comments + sentence(GUID, "가", []) + sentence(GUID, "가", ["가\tO"])
    )
    with pytest.raises(BadInput, match=r"line 6: klue-ner-v1_dev_00000 has no rows"):
        list(read(path))


def test_stray_blank_lines_between_sentences_do_not_move_line_numbers(
    lay: Lay, comments: str, sentence: Write
) -> None:
    body = comments + sentence(GUID, "가", ["가\tO"]) + "\n\n" + sentence(GUID, "나", ["나\tQ"])
    with pytest.raises(BadInput, match="line 12: "):
        list(read(lay("klue-ner", "dev", body)))


@pytest.mark.parametrize(
    ("content", "said"), [("", "is empty"), ("## 주석 : ##\n", "holds no sentence")]
)
def test_file_without_sentences(lay: Lay, content: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        list(read(lay("klue-ner", "dev", content)))


def test_version_by_content(
    lay: Lay, comments: str, sentence: Write, tag: Tag, tmp_path: Path
) -> None:
    def version(text: str, folder: str) -> str:
        lay("klue-ner", "dev", comments + sentence(GUID, text, tag(text)), version=folder)
        return load("klue-ner", data=tmp_path, version=folder).version

    assert version("재밌다 ㅋㅋ", "1") == "1"
    assert version(unicodedata.normalize("NFKC", "재밌다 ㅋㅋ"), "1.1") == "1.1"
    assert version("재밌다", "1") == "1", "the file's, as the text does not tell"


def test_traps(
    lay: Lay, comments: str, sentence: Write, tag: Tag, tmp_path: Path, trapped: Trapped
) -> None:
    jamo = unicodedata.normalize("NFKC", "ㅋㅋ")
    sentences = {
        "on a space": ("약< 스물:QT>이다", tag("약[ 스물|QT]이다")),
        "title in brackets": ("<달빛섬>의 <두루:PS>", tag("<달빛섬>의 [두루|PS]")),
        "doubled brackets": ("영화 <<두루:PS>>", tag("영화 [<두루|PS]>")),
        "jamo": (jamo, tag(jamo)),
        "sound": ("<두루:PS>가 <세 시:TI>에", tag("[두루|PS]가 [세 시|TI]에")),
    }
    body = "".join(
        sentence(f"klue-ner-v1_dev_0000{n}-nsmc", header, rows)
        for n, (header, rows) in enumerate(sentences.values())
    )
    lay("klue-ner", "dev", comments + body)
    found = {check: f.ids for check, f in trapped("klue-ner", tmp_path).items()}
    assert found == {
        "entity-on-space": ("klue-ner:dev/klue-ner-v1_dev_00000",),
        "broken-markup": ("klue-ner:dev/klue-ner-v1_dev_00001",),
        "entity-on-bracket": ("klue-ner:dev/klue-ner-v1_dev_00002",),
        "conjoining-jamo": ("klue-ner:dev/klue-ner-v1_dev_00003",),
    }


CHARACTERS = st.characters(exclude_characters="\n\r\t\0", exclude_categories=["Cs"])
TAGS = st.sampled_from(["O", *(f"{p}-{t}" for p in "BI" for t in TYPES)])


@given(st.lists(st.tuples(CHARACTERS, TAGS), min_size=1))
def test_rows_read_as_a_plain_loop_reads_them(rows: list[tuple[str, str]]) -> None:
    spans: list[list[int | str]] = []
    orphans, inside = 0, ""
    for place, (_, name) in enumerate(rows):
        if name.startswith("B"):
            spans.append([place, place + 1, name[2:]])
            inside = name[2:]
        elif name.startswith("I") and name[2:] == inside:
            spans[-1][1] = place + 1
        else:
            orphans += name != "O"
            inside = ""
    body = "".join(f"{character}\t{name}\n" for character, name in rows)
    text, found, lost = parse_rows(body)
    assert text == "".join(character for character, _ in rows)
    assert [[s.start, s.end, s.label] for s in found] == spans
    assert lost == orphans


def test_markup_offsets() -> None:
    assert parse_markup("가 <나다:PS> 라<마:QT>") == (
        "가 나다 라마",
        [Span(2, 4, "PS"), Span(6, 7, "QT")],
    )


def test_published_dev(shared_data: Path) -> None:
    dataset = load("klue-ner", data=shared_data)
    dev = dataset.splits["dev"]
    assert dataset.version == "1.1"
    assert len(dev) == 5000
    assert Counter(e.meta["source"] for e in dev) == {"wikitree": 2534, "nsmc": 2466}
    assert sum(len(e.inputs["text"]) for e in dev) == 285_929
    assert sum(not c.isspace() for e in dev for c in e.inputs["text"]) == 225_550
    counts = Counter(span.label for e in dev for span in e.gold["spans"])
    assert counts == {"PS": 4418, "LC": 1649, "OG": 2182, "DT": 2312, "TI": 545, "QT": 3151}
    assert not any("orphan_tags" in e.meta for e in dev)


def test_published_traps(shared_data: Path, trapped: Trapped) -> None:
    found = trapped("klue-ner", shared_data)
    assert {check: f.count for check, f in found.items()} == {
        "entity-on-space": 2,
        "entity-on-bracket": 3,
        "broken-markup": 3,
        "conjoining-jamo": 316,
    }
    assert [i[-5:] for i in found["entity-on-space"].ids] == ["01601", "02091"]
    assert [i[-5:] for i in found["broken-markup"].ids] == ["01115", "01375", "03362"]
    assert {f.where for f in found.values()} == {"dev"}


def test_labels_are_the_six_types() -> None:
    assert klue_ner.DATASET.tasks[0].labels == ("PS", "LC", "OG", "DT", "TI", "QT")
