from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nikawa.checks.artifacts import Item, Pair, Table, count_tokens, find_pairs, tabulate
from nikawa.errors import BadInput
from nikawa.reporting.label_placement import Box, LabelledPoint, place_labels, text_width
from nikawa.reporting.scatter import FRAME, MAX_PAIRS_NAMED, SIZE, draw_scatter, write_scatter
from nikawa.text import analyser

LABELS = ("entailment", "contradiction", "neutral")
SVG = "{http://www.w3.org/2000/svg}"


def table_of(tokens: list[str], label: str = "contradiction") -> tuple[Table, tuple[Pair, ...]]:
    """Even problems, and each token 20 times in problems of one label."""
    items: list[Item] = [(y, (f"駅 {i}", "着く")) for i in range(60) for y in LABELS]
    items += [(label, (token, "着く")) for token in tokens for _ in range(20)]
    table = tabulate(
        count_tokens(items, ("premise", "hypothesis"), analyser("whitespace", cache=0)),
        LABELS,
        0.001,
    )
    return table, tuple(p for p in find_pairs(table) if p.token in tokens)


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_it_is_xml_with_title_line_dots_and_names() -> None:
    table, over = table_of(["決して", "절대로"])
    svg = draw_scatter(table, over, "港 & <船>")
    root = ElementTree.fromstring(svg)
    assert root.findtext(f"{SVG}title") == "港 & <船>"
    classes = [e.get("class", "") for e in root.iter()]
    assert sum(c.startswith("over") for c in classes) == 2
    assert (classes.count("line"), classes.count("null")) == (1, 1)
    assert [c for c in classes if c.startswith("dots")] == ["dots d0", "dots d1", "dots d2"]
    assert any("決して" in text and "절대로" in text for text in texts(svg))  # one spot, one tag
    assert {*LABELS, "港 & <船>"} <= set(texts(svg))


def test_fonts_and_schemes() -> None:
    svg = draw_scatter(*table_of(["もう"]), "t")
    for said in ("Noto Sans CJK JP", "Noto Sans CJK KR", "sans-serif", "prefers-color-scheme:dark"):
        assert said in svg


def test_same_input_same_bytes() -> None:
    table, over = table_of(["もう", "まだ"])
    assert draw_scatter(table, over, "t") == draw_scatter(table, over, "t")


def test_dots_lie_in_the_frame() -> None:
    svg = draw_scatter(*table_of(["もう"]), "t")
    spots = [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", svg)]
    assert spots
    assert all(FRAME.left <= x <= FRAME.right and FRAME.top <= y <= FRAME.bottom for x, y in spots)


def test_characters_that_xml_cannot_hold() -> None:
    table, over = table_of(["a\x01b"])
    assert any(r"a\x01b" in text for text in texts(draw_scatter(table, over, "t")))


def test_a_table_with_nothing_over_and_few_examples() -> None:
    table = tabulate(
        count_tokens([("neutral", ("星",))], ("text",), analyser("whitespace", cache=0)), LABELS
    )
    assert "0 significant pairs" in " ".join(texts(draw_scatter(table, (), "t")))


def test_no_more_names_than_can_be_read() -> None:
    table, over = table_of([f"語{i}" for i in range(MAX_PAIRS_NAMED + 10)])
    assert len(over) == MAX_PAIRS_NAMED + 10
    svg = draw_scatter(table, over, "t")
    assert f"the {MAX_PAIRS_NAMED} least likely have names" in svg
    assert sum(text.count("語") for text in texts(svg)) == MAX_PAIRS_NAMED


def test_names_do_not_overlap_where_there_is_room() -> None:
    marks = [LabelledPoint(300 + 9 * i, 300 + 5 * (i % 4), f"名前{i}", 0, SIZE) for i in range(20)]
    boxes = place_labels(marks, [(m.x, m.y) for m in marks], [], FRAME)
    for a, b in combinations(boxes, 2):
        apart = a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
        assert apart
    for box in boxes:
        assert box.left >= FRAME.left
        assert box.right <= FRAME.right
        assert not any(box.left < m.x < box.right and box.top < m.y < box.bottom for m in marks)


def test_a_lone_name_lies_beside_its_point() -> None:
    (box,) = place_labels([LabelledPoint(400, 300, "水", 0, SIZE)], [(400, 300)], [], FRAME)
    x, y = box.nearest(400, 300)
    assert (x - 400) ** 2 + (y - 300) ** 2 < 100


def test_no_marks_no_boxes() -> None:
    assert place_labels([], [], [], Box(0, 0, 10, 10)) == []


def test_full_width_text_is_wider() -> None:
    assert text_width("水水", 10) == 20
    assert text_width("ab", 10) < 20


def test_a_picture_is_not_replaced_unasked(tmp_path: Path) -> None:
    table, over = table_of(["もう"])
    path = tmp_path / "figure.svg"
    write_scatter(path, table, over, title="t")
    with pytest.raises(BadInput, match="already exists"):
        write_scatter(path, table, over, title="t")
    write_scatter(path, table, over, title="again", overwrite=True)
    assert "again" in path.read_text("utf-8")
