"""JSON lines that are split at their commas: the same table as record by record, and the same message for a bad line."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.io.judgements.test_plain import check_both, describe, is_plain

from nikawa.aggregation.judgements import build_table, build_tables, open_source
from nikawa.aggregation.rules import parse_rules
from nikawa.errors import BadInput
from nikawa.io import coding
from nikawa.io.judgements import JudgementOptions, plain, split_lines

pa = pytest.importorskip("pyarrow")

NAMES = ["example", "worker", "question", "answer"]
ODD_TEXTS = [
    r'"\u3042"',
    '"あ"',
    r'"q\u0031"',
    r'"a\"b"',
    '"a,b"',
    r'"a\\"',
    '""',
    '" ann"',
    r'"\ud83d\ude00"',
    r'"\ud83d"',
    '"か\u3099"',
    '"a\tb"',
    '"a\0"',
    '"model:a#1"',
    '"decision:owner"',
    '"',
    '"a',
    'a"',
    '"a"}',
    '"a" "b"',
    "1",
    "null",
    "",
    " ",
]
ODD_ANSWERS = [*ODD_TEXTS, "1", "1.0", "true", "-0", "-0.0", "1e400", "NaN", "01", "[]", "[1", "2]"]
ODD_ANSWERS += ['["a"]', '["a","b"]', '[{"start":0,"end":1,"label":"PS"}]', '{"heads":[0]}', "{}"]
ODD_MEMBERS = [
    '"x":1',
    '"seconds":2.5',
    '"seconds":null',
    '"seconds":"2"',
    '"kind":"person"',
    '"kind":"decision"',
]
ODD_MEMBERS += [
    '"comment":""',
    '"comment":"hm"',
    '"at":"2026-11-01"',
    '"prelabel":null',
    '"worker":"ben"',
]
ODD_MEMBERS += ['"":1', "1", "", r'"w\u006frker":"ben"', '"example":"a,\\"worker\\":\\"ann"']  # fmt: skip


def draw_values(name: str, odd: bool) -> st.SearchStrategy[str]:
    """A value as JSON spells it."""
    plain_values = {
        "example": [f'"q{n}"' for n in range(9)] + ['"用例/1"'],
        "worker": ['"ann"', '"ben"', '"佐藤"', '"w 4"'],
        "question": ['"label"'],
        "answer": ['"yes"', '"no"', '"긍정"', '"3"'],
    }
    odd_values = ODD_ANSWERS if name == "answer" else ODD_TEXTS
    return st.sampled_from(plain_values[name] + (odd_values if odd else []))


@st.composite
def draw_files(draw: st.DrawFn, odd: bool) -> bytes:
    """The lines of a file; those of odd ones have something that only the record reader takes or refuses here and there."""
    shape = draw(st.permutations(NAMES))
    more = draw(st.sampled_from([[], [], ['"seconds":2'], ['"at":"x"', '"comment":""']]))
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
    opens, closes = draw(st.sampled_from([("{", "}"), ("{", "}"), ("{ ", " }"), ("{", "} ")]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    seen = set()
    lines = []
    for _ in range(draw(st.integers(1, 14))):
        is_odd = odd and draw(st.integers(0, 3)) == 0
        names = draw(st.permutations(shape)) if is_odd and draw(st.booleans()) else shape
        values = {name: draw(draw_values(name, is_odd)) for name in names}
        members = [f'"{name}"{colon}{values[name]}' for name in names]
        if (values["example"], values["worker"]) in seen and not odd:
            continue
        seen.add((values["example"], values["worker"]))
        members += more
        if is_odd and draw(st.booleans()):
            place = draw(st.integers(0, len(members) - 1))
            kept = draw(st.integers(0, 1))
            members[place : place + kept] = draw(st.lists(st.sampled_from(ODD_MEMBERS), max_size=2))
        text = opens + comma.join(members) + closes
        if is_odd:
            text = draw(st.sampled_from([text, text, "", text[:-1], text + text, "\ufeff" + text]))
            end_here = draw(st.sampled_from([end, end, "\n\n", "\r", " \r\n"]))
        else:
            end_here = end
        lines.append(text + end_here)
    whole = "".join(lines)
    if draw(st.booleans()):
        whole = whole.removesuffix(end)
    if odd and draw(st.integers(0, 5)) == 0:
        whole = "\ufeff" + whole
    return whole.encode("utf-8", "surrogatepass")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few lines, so that columns are put together of several."""
    monkeypatch.setattr(split_lines, "BLOCK_BYTES", 512)
    monkeypatch.setattr(coding, "MAX_BYTES_HELD", 128)


def read_split(path: Path) -> Any:
    try:
        return split_lines.split_lines(path, plain.FIELD_TYPES)
    except (pa.ArrowException, *plain.NOT_PLAIN):
        return None


@pytest.mark.parametrize("odd", [False, True], ids=["plain", "odd"])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_split_lines_are_as_the_record_reader_reads_them(
    odd: bool, data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data.draw(draw_files(odd)))
    check_both(path)
    if odd:
        check_both(path, "label")
    else:
        assert read_split(path) is not None
        assert is_plain(path)


def write_lines(path: Path, lines: list[str], end: str = "\n") -> None:
    path.write_bytes("".join(line + end for line in lines).encode("utf-8", "surrogatepass"))


def line(example: str = "q1", worker: str = "ann", answer: str = '"yes"', more: str = "") -> str:
    return (
        f'{{"example":"{example}","worker":"{worker}","question":"label","answer":{answer}{more}}}'
    )


@pytest.mark.parametrize(
    ("lines", "is_split"),
    [
        ([line(), line("q2")], True),
        ([line(answer="1"), line("q2", answer="1.0"), line("q3", answer="true")], True),
        ([line(answer="null"), line("q2")], True),
        ([line(more=',"seconds":1'), line("q2", more=',"seconds":null')], True),
        ([line("あ"), line(r"\u3042", "ben"), line("q2")], True),
        ([line("あ"), line(r"\u3042"), line("q2")], True),  # twice about one item
        ([line(answer='"a,b"')], False),
        ([line(), line("q2", answer='"a,b"')], False),
        ([line(), line("q2", more=',"seconds":1')], False),
        ([line(), ""], False),
        ([line(), line("q2", more=',"worker":"ben"')], False),
        ([line(more=',"worker":"ben"')], False),
        ([line(more=',"x":1')], False),
        ([line(), line("q2", answer='"')], False),
        ([line(), line("q2", answer='"\x7f"')], True),
        ([line(), line("q2", answer='"\x1f"')], False),
        ([line(), line("q2", answer='"\ud800"')], False),
        ([line(answer="[1]"), line("q2", answer="2")], True),  # its lists are refused later
        ([line(answer="[1"), line("q2", answer="2]")], False),
        ([line(answer='"a'), line("q2", answer='b"'), line("q3")], False),
        ([line()[:-1], line("q2")], False),
        ([line(), line("q2").replace('"ann"', '"')], False),
    ],
    ids=range(22),
)
def test_which_lines_are_split(lines: list[str], is_split: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for end in ("\n", "\r\n"):
        write_lines(path, lines, end)
        assert (read_split(path) is not None) == is_split
        check_both(path)


def test_a_first_name_of_another_spelling_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, [line(), line("q2").replace('"worker"', r'"w\u006frker"')])
    assert read_split(path) is None
    check_both(path)


def test_a_line_that_ends_in_cr_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for end in ("\r", "\r\n\r"):
        path.write_bytes(f"{line()}\n{line('q2')}{end}".encode())
        assert read_split(path) is None
        check_both(path)
    path.write_bytes(f"{line()}\r{line('q2')}\n".encode())
    assert read_split(path) is None
    check_both(path)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    whole = "".join(f"{line(f'q{n // 3}', f'w{n % 3}')}\n" for n in range(300)).encode()
    path.write_bytes(PACKERS[suffix](whole))
    assert read_split(path) is not None
    check_both(path)
    path.write_bytes(PACKERS[suffix](whole)[:-20])
    assert read_split(path) is None
    check_both(path)


def test_a_line_longer_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_lines, "CHECKED_BYTES", 200)
    path = tmp_path / "a.jsonl"
    write_lines(path, [line(), line("q" * 200)])
    assert read_split(path) is None


def read_tables(path: Path, rules: tuple[str, ...], question: str | None, slow: bool) -> Any:
    """What `build_tables` gives: the tables, what it left of the source; or the error."""
    try:
        source = open_source(str(path), None, JudgementOptions())
        if slow:
            assert source.reading is not None
            source.reading.plain = lambda: None
        tables = build_tables(source, parse_rules(rules), question)
    except BadInput as problem:
        return str(problem)
    return {name: describe(table) for name, table in tables.items()}, source.notes, source.comments


RULES = [("majority",), ("first+majority",), ("label=majority", "tone=first+majority")]


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_tables_of_rules_are_the_same_both_ways(
    rules: tuple[str, ...], suffix: str, data: st.DataObject, tmp_path: Path
) -> None:
    """Answers to two questions, some ranked, some numbers, some given twice."""
    answers = ["yes", "no", "a > b", "b|a", "1", "1.0", "2"]
    row = st.tuples(
        st.sampled_from([f"q{n}" for n in range(20)]),
        st.sampled_from(["ann", "ben", "eve"]),
        st.sampled_from(data.draw(st.sampled_from([["label"], ["label", "tone"]]))),
        st.sampled_from(answers),
    )
    unique = data.draw(st.sampled_from([None, lambda one: one[:3]]))
    rows = data.draw(st.lists(row, min_size=1, max_size=20, unique_by=unique))
    path = tmp_path / f"a{suffix}"
    if suffix == ".csv":
        write_lines(path, [",".join(cells) for cells in [tuple(NAMES_OF_SHEET), *rows]])
    else:
        write_lines(
            path,
            [
                line(item, worker, answer if answer[0] in "12" else f'"{answer}"').replace(
                    '"label"', f'"{question}"'
                )
                for item, worker, question, answer in rows
            ],
        )
    for question in (None, "label", "size"):
        fast = read_tables(path, rules, question, False)
        assert fast == read_tables(path, rules, question, True)


NAMES_OF_SHEET = ["task", "worker", "question", "answer"]


def test_judgements_that_are_kept_are_read_record_by_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, [line(), line("q1", "ben")])
    source = open_source(str(path), None, JudgementOptions())
    copy = source.copy_judgements()
    build_tables(source, parse_rules(("majority",)))
    copy.write(tmp_path / "copy.jsonl")
    assert (tmp_path / "copy.jsonl").read_text().count("\n") == 2


def test_equal_numbers_to_two_questions_keep_their_own_spelling(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    tone = line(answer="1.0").replace("label", "tone")
    for more in ("", ',"seconds":1'):  # with it, the lines are not of one shape
        write_lines(path, [line(answer="1"), line("q2", answer="1", more=more), tone])
        check_both(path, "tone")
        table = build_table(open_source(str(path), None, JudgementOptions()), "tone")
        assert repr(table.categories) == "(1.0,)"
