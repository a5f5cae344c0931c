"""Invented templates in both notations, and where the published ones are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nikawa.generation.conditions import NEVER, And, write_condition
from nikawa.generation.pack import Pack, load_pack
from nikawa.generation.template import Choice, Element, Literal, Template, Time, Word
from nikawa.generation.times import INTERVAL_FORMATS, POINT_FORMATS

HEADER = (
    "id\tpremise\thypothesis\tentailment\tcontradiction\tng time unit\ttest time format\tcategory"
)
SINCE = (
    "7\ttp_1 以来、 agent_1[ガ格:1] は place_1[ニ格:1] に stative_vp_zi_1[ガ格,ニ格:tp:1] 。現在、 tp_2 である。"
    "\tagent_1 は tp_3 には place_1 に stative_vp_zi_1_past 。"
    "\ttp_1.end <= tp_3.end, tp_3.end <= tp_2.end\ttp_3.start < tp_1.start\tNone\t年月日\t以来（灯台）"
)
WITHIN = (
    "8\tagent_1[ガ格:1] が interval_1 [以内に,で] np_1[ヲ格:1] を vp_ta_1_past[ガ格,ヲ格:nint:1] 。 agent_1 は tp_2 にその np_1 を vp_ta_1_coni 始めた。"
    "\tagent_1 は tp_3 までにその np_1 を vp_ta_1_coni 終えた。"
    "\ttp_2.end + interval_1 <= tp_3.end\ttp_3.end <= tp_2.start\tNone\t月\t区間（灯台）"
)
DAY = (
    "9\t昨日、 agent_1[ガ格:1] は np_1[ニ格:1] に vp_zi_1_past[ガ格,ニ格:tp:1] 。今日は tp_1 だ。"
    "\tagent_1 は tp_1-1day に np_1 に vp_zi_1_past 。"
    "\tTrue\tFalse\tyear.year,year.month,year.hour,month.month,month.hour,day.hour,hour.hour\t月日\t昨日（灯台）"
)
NATIVE = """\
# 灯台 templates, with a remark

template 7
  category:          以来（灯台）
  premise:           {time1}以来、{agent ガ}は{place ニ}に{verb 自 ガ ニ point progressive}。
                     現在、{time2}である。
  hypothesis:        {agent}は{time3}には{place}に{verb progressive_past}。
  given:             time1 <= time2
  entails when:      time1.end <= time3.end and time3.end <= time2.end
  contradicts when:  time3 before time1
  test format:       年月日

template 8
  category:          区間（灯台）
  premise:           {agent ガ}が{interval}{以内に|で}{noun ヲ}を{verb 他 ガ ヲ within past}。{agent}は{time2}にその{noun}を{verb stem}始めた。
  hypothesis:        {agent}は{time3}までにその{noun}を{verb stem}終えた。
  entails when:      time2.end + interval1 <= time3.end
  contradicts when:  time3.end <= time2.start
  test format:       月

template 9
  category:          昨日（灯台）
  premise:           昨日、{agent ガ}は{noun ニ}に{verb 自 ガ ニ point past}。今日は{time}だ。
  hypothesis:        {agent}は{time -1day}に{noun}に{verb past}。
  entails:           always
  formats:           年月日 月日 日
  test format:       月日
"""

Write = Callable[..., Path]


@pytest.fixture
def authors(tmp_path: Path) -> Write:
    """Write rows of the authors' notation."""

    def write(*rows: str, name: str = "templates.tsv") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{row}\n" for row in (HEADER, *rows)), "utf-8")
        return path

    return write


@pytest.fixture
def native(tmp_path: Path) -> Write:
    """Write a file of the native notation."""

    def write(text: str = NATIVE, name: str = "templates.txt") -> Path:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def rows() -> tuple[str, ...]:
    return SINCE, WITHIN, DAY


@pytest.fixture
def lighthouse(native: Write) -> Pack:
    """The three native templates."""
    return load_pack(native())


@pytest.fixture(scope="session")
def published(shared_data: Path) -> Pack:
    """The 79 published templates."""
    return load_pack(shared_data / "jamp/dataset/template/template_ver_1_5.tsv")


NAME_WIDTH = 18
"""Columns that the name of a field takes."""


@pytest.fixture(scope="session")
def write_native() -> Callable[[Template], str]:
    """Writes a template in the native notation, so that tests can read it back."""
    return _write_template


def _write_template(template: Template) -> str:
    """The block of the native notation that must be read back to an equal template."""
    fields = {
        "category": template.category,
        "premise": "".join(map(_write_element, template.premise)),
        "hypothesis": "".join(map(_write_element, template.hypothesis)),
    }
    if template.given:
        given = template.given[0] if len(template.given) == 1 else And(template.given)
        fields["given"] = write_condition(given)
    if template.entails != NEVER:
        fields["entails when"] = write_condition(template.entails)
    if template.contradicts != NEVER:
        fields["contradicts when"] = write_condition(template.contradicts)
    if template.formats not in ((), POINT_FORMATS, INTERVAL_FORMATS):
        fields["formats"] = " ".join(fmt.name(template.language) for fmt in template.formats)
    if template.test_format:
        fields["test format"] = template.test_format.name(template.language)
    if template.note:
        fields["note"] = template.note.replace("\n", "\n" + " " * (NAME_WIDTH + 3))
    lines = [f"template {template.id}"]
    lines += [f"  {f'{name}:':{NAME_WIDTH}} {text}" for name, text in fields.items()]
    return "\n".join(lines) + "\n"


def _write_element(element: Element) -> str:
    match element:
        case Literal(text):
            return text
        case Choice(_, options):
            return "{" + "|".join(options) + "}"
        case Time():
            details = [
                f"{element.days:+d}day" if element.days else "",
                f"!={element.apart[0]}{element.apart[1]:+d}day" if element.apart else "",
            ]
        case Word():
            voice = {True: "transitive", False: "intransitive", None: ""}[element.transitive]
            form = "" if element.form == "dictionary" else element.form
            details = [element.case, voice, *element.frame, element.wants, form]
    if element.particle:
        details.append(f"+{element.particle}")
    return "{" + " ".join([f"{element.kind}{element.index}", *filter(None, details)]) + "}"
