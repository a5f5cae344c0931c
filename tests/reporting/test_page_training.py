"""The losses of systems: which are drawn, and how."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from msgspec.structs import replace

from nikawa.reporting.page import document, pictures, standalone
from nikawa.reporting.page_data import Page
from nikawa.reporting.training import MAX_SYSTEMS_SHOWN, training_block, training_plot

Rich = tuple[Page, dict[str, bytes]]


def test_a_thin_line_a_seed_with_its_last_loss(rich: Rich) -> None:
    html = document(rich[0], {}).partition("<h3>Training</h3>")[2].partition("</figure>")[0]
    assert html.count('<polyline class="thin s') == 2
    assert "good, seed 1: 0.5 at step 150" in html
    assert "last loss 0.500–0.625" in html
    assert "t-training-good" in {name for name, _ in pictures(rich[0])}


def test_the_axis_begins_at_zero_and_holds_every_loss(rich: Rich) -> None:
    section = rich[0].sections[0]
    picture = training_plot(section, section.training[0])
    lines = [
        [tuple(map(float, pair.split(","))) for pair in found.split()]
        for found in re.findall(r'points="([^"]+)"', picture)
    ]
    zero = float(re.findall(r'y="([\d.]+)" text-anchor="end">0<', picture)[0]) - 4.5
    assert all(y < zero for line in lines for _, y in line)
    assert lines[0][0][1] < lines[0][-1][1], "losses fall"
    assert len({line[0][0] for line in lines}) == 1
    assert ElementTree.fromstring(standalone(picture).encode()).tag.endswith("svg")


def test_systems_are_shown_best_first_and_many_are_to_be_opened(rich: Rich) -> None:
    section, one = rich[0].sections[0], rich[0].sections[0].training[0]
    several = (
        *(replace(one, system=f"more {i}") for i in range(MAX_SYSTEMS_SHOWN + 1)),
        replace(one, system="poor"),
        one,
    )
    html = training_block(replace(section, training=several))
    first, _, rest = html.partition("<details>")
    assert re.findall(r"<figcaption>([^<]+)", first)[:2] == ["good", "poor"]
    assert first.count("<figure") == MAX_SYSTEMS_SHOWN
    assert "3 more systems" in rest
    assert rest.count("<figure") == 3


def test_seeds_that_are_left_out_and_folds_are_told(rich: Rich) -> None:
    section = rich[0].sections[0]
    html = training_block(
        replace(section, training=(replace(section.training[0], runs=9, folds=5),))
    )
    assert "last loss 0.500–0.625, 2 of 9 seeds, last of 5 folds" in html
