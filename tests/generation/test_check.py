"""Static checks: each fault is found, with line and column, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.generation.check import check_pack, check_template
from nikawa.generation.pack import Pack
from nikawa.generation.template_errors import Trouble

Write = Callable[..., Path]
HEAD = "template a\n  category: x\n"
POINTS = (
    HEAD
    + "  premise: {time1}に{agent ガ}が{verb 自 ガ past}。{time2}だ。\n  hypothesis: {agent}は{time3}に{verb past}。\n"
)
INTERVALS = HEAD + "  premise: {interval1}だ。{time1}だ。\n  hypothesis: {time2}だ。\n"


def found(path: Path) -> list[Trouble]:
    return [trouble for _, trouble in check_pack(path)[1]]


def test_sound_templates_have_none(native: Write, authors: Write, rows: tuple[str, ...]) -> None:
    assert found(native()) == []
    assert found(authors(*rows)) == []


@pytest.mark.parametrize(
    ("text", "name", "line", "column", "word"),
    [
        (POINTS + "  entails when: time1 < time4\n", "unbound-name", 5, 25, "time4"),
        (POINTS + "  given: time1 < time9\n", "unbound-name", 5, 18, "time9"),
        (POINTS + "  entails when: interval1 > 3\n", "unbound-name", 5, 17, "interval1"),
        (POINTS.replace("{agent ガ}", "{agent ニ}"), "case", 3, 20, "takes ガ, not ニ"),
        (
            POINTS + "  entails when: time1 < time2 and time2 < time1\n",
            "never",
            5,
            17,
            "can never hold",
        ),
        (
            POINTS + "  contradicts when: time1 < time2 < time3 < time1\n",
            "never",
            5,
            21,
            "can never hold",
        ),
        (
            POINTS + "  entails when: time1 < time2\n  contradicts when: time1 < time3\n",
            "overlap",
            6,
            21,
            "time1 2000年",
        ),
        (POINTS + "  entails: always\n  contradicts: always\n", "overlap", 6, 16, "any problem"),
        (
            INTERVALS
            + "  entails when: time1 + interval1 <= time2\n  contradicts when: time1 < time2\n",
            "overlap",
            6,
            21,
            "interval1 1年間",
        ),
        (INTERVALS + "  entails when: interval1 > 9\n", "never", 5, 17, "can never hold"),
        (INTERVALS + "  entails when: time1 - 1 day == time1\n", "never", 5, 17, "can never hold"),
        (
            HEAD + "  premise: {time}だ。\n  hypothesis: {time -1day}だ。\n",
            "format",
            4,
            15,
            "needs a day",
        ),
        (
            HEAD + "  premise: {time}だ。\n  hypothesis: {time +1day}だ。\n  formats: 日\n",
            "format",
            4,
            15,
            "-1day",
        ),
        (
            POINTS + "  formats: 年\n  test format: 年月\n",
            "format",
            6,
            16,
            "do not have the test format 年月",
        ),
        (
            HEAD + "  premise: {noun ヲ}を{noun ニ}に{verb ガ ヲ ニ}。\n  hypothesis: 。\n",
            "declared-twice",
            3,
            21,
            "different case",
        ),
    ],
)
def test_every_fault_is_found(
    native: Write, text: str, name: str, line: int, column: int, word: str
) -> None:
    path = native(text)
    troubles = found(path)
    assert [(t.check, t.level, t.line, t.column) for t in troubles] == [
        (name, "error", line, column)
    ]
    assert word in troubles[0].what
    assert f"templates.txt, line {line}, column {column}: " in troubles[0].sentence(path)


def test_all_faults_of_a_file_at_once(native: Write) -> None:
    again = HEAD + "  premise: 。\n  hypothesis: 。\n"
    path = native(
        POINTS + "  entails when: time1 < time4\n\ntemplate b\n  premise: {agnet}。\n\n" + again
    )
    assert [(t.check, t.template, t.line) for t in found(path)] == [
        ("unbound-name", "a", 5),
        ("syntax", "b", 7),
        ("syntax", "b", 7),
        ("unknown-slot", "b", 8),
        ("duplicate-id", "a", 10),
    ]


def test_what_equal_times_alone_would_reach_is_a_warning(native: Write) -> None:
    (trouble,) = found(native(POINTS + "  entails when: time1 == time3\n"))
    assert (trouble.check, trouble.level, trouble.line, trouble.column) == (
        "never",
        "warning",
        5,
        17,
    )
    assert "always differ" in trouble.what


def test_a_verb_without_a_frame_is_a_warning(native: Write) -> None:
    (trouble,) = found(native(HEAD + "  premise: {verb past}。\n  hypothesis: 。\n"))
    assert (trouble.check, trouble.level) == ("frame", "warning")


def test_a_noun_without_a_case_is_a_warning(native: Write) -> None:
    text = HEAD + "  premise: {agent ガ}が{noun ヲ}を{verb ガ ヲ}。\n  hypothesis: {noun2}だ。\n"
    (trouble,) = found(native(text))
    assert (trouble.check, trouble.level, trouble.line, trouble.column) == (
        "case",
        "warning",
        4,
        15,
    )
    assert trouble.what.startswith("noun2 has no case")


def test_a_word_in_a_condition_is_named(native: Write) -> None:
    text = POINTS.replace("{time}", "{agent}{time}", 1) + "  entails when: agent == 3\n"
    (trouble,) = found(native(text))
    assert trouble.check == "unbound-name"
    assert trouble.what == "agent is in a condition, but it is no time, interval or number"


def test_faults_in_the_authors_notation(authors: Write, rows: tuple[str, ...]) -> None:
    row = (
        rows[0]
        .replace("place_1[ニ格:1]", "place_1[マデ格:1]")
        .replace("tp_3.start <", "tp_4.start <")
    )
    case, name = found(authors(row))
    assert (case.check, case.line, case.column) == ("case", 2, row.index("place_1[") + 1)
    assert (name.check, name.line, name.column) == ("unbound-name", 2, row.index("tp_4") + 1)


def test_transitive_and_intransitive_do_not_mix(authors: Write, rows: tuple[str, ...]) -> None:
    (trouble,) = found(authors(rows[0].replace("stative_vp_zi_1_past", "vp_ta_1_past")))
    assert trouble.check == "declared-twice"


def test_published_templates(published: Pack) -> None:
    troubles = [trouble for template in published.templates for trouble in check_template(template)]
    assert {trouble.level for trouble in troubles} == {"warning"}
    # Conditions on equal times: two points of one problem are never equal.
    assert [trouble.template for trouble in troubles] == [
        "8",
        "19",
        "20",
        "21",
        "22",
        "23",
        "42",
        "74",
    ]


def test_every_fault_of_one_template(native: Write) -> None:
    text = POINTS.replace("{agent ガ}", "{agant ガ}").replace("past}。{time2}", "pasto}。{time2}")
    text = (
        text.replace("past}。\n", "pastt hoy}。\n")
        + "  entails when: time1 < time4\n  formats: 世紀\n"
    )
    faults = [
        ("unknown-slot", 3),
        ("form", 3),
        ("form", 4),
        ("form", 4),
        ("unbound-name", 5),
        ("format", 6),
    ]
    assert [(trouble.check, trouble.line) for trouble in found(native(text))] == faults


def test_every_fault_of_one_row(authors: Write, rows: tuple[str, ...]) -> None:
    row = rows[0].replace("agent_1[ガ格:1]", "agnet_1[ガ格:1]").replace("zi_1_past", "zi_1_pasto")
    row = row.replace("tp_3.start < tp_1.start", "tp_3.start <").replace("\t年月日\t", "\t世紀\t")
    troubles = found(authors(row))
    assert [trouble.check for trouble in troubles] == ["unknown-slot", "form", "syntax", "format"]
    assert [trouble.column for trouble in troubles] == sorted(
        trouble.column for trouble in troubles
    )
    (unbound, _) = found(
        authors(
            rows[0]
            .replace("tp_3.end <= tp_2.end", "tp_4.end <= tp_2.end")
            .replace("\t年月日\t", "\t世紀\t")
        )
    )
    assert unbound.check == "unbound-name"


def test_a_slot_that_may_be_a_time_hides_what_is_unbound(native: Write) -> None:
    text = POINTS.replace("{time3}", "{tiem3}") + "  entails when: time1 < time3\n"
    assert [trouble.check for trouble in found(native(text))] == ["unknown-slot"]


def test_full_width_braces_are_named(native: Write) -> None:
    text = (POINTS + "  entails when: time1 < time3\n").replace("{", "｛").replace("}", "｝")
    troubles = found(native(text))
    assert len(troubles) == 7
    assert {(t.check, t.what) for t in troubles} == {("syntax", "a full-width '｛'")}
    (alone,) = found(native(POINTS.replace("{agent ガ}", "{agent ガ}｝")))
    assert (alone.what, alone.column) == ("a full-width '｝'", 30 - 1)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "  given: time1 < time2\n  entails when: time2 < time1\n",
            "never holds: what is given excludes it",
        ),
        (
            "  given: time1 < time2\n  entails when: time3 == time1\n",
            "never holds: times of one problem always differ",
        ),
        (
            "  given: time1 <= time2\n  entails when: time2 <= time1\n",
            "what is given excludes it, as times of one problem always differ",
        ),
        ("  entails when: not always\n", "is a long way to say never"),
        ("  contradicts when: always and never\n", "is a long way to say never"),
    ],
)
def test_the_reason_why_a_condition_never_holds(native: Write, lines: str, said: str) -> None:
    (trouble,) = found(native(POINTS + lines))
    assert (trouble.check, trouble.level) == ("never", "warning")
    assert trouble.what.endswith(said)
