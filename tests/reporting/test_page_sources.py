"""Every number of a page can be followed to a file, and to the place in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nikawa.reporting.analysis_blocks import stress_keys
from nikawa.reporting.page import document, standalone, write_report
from nikawa.reporting.page_data import Page
from nikawa.reporting.plots import Heat, draw_heat
from nikawa.reporting.sources import address, inside, source_line

Numbers = Callable[[str], list[tuple[str, list[str], str]]]
Rich = tuple[Page, dict[str, bytes]]


@pytest.fixture
def folder(rich: Rich, tmp_path: Path) -> Path:
    return write_report(tmp_path / "report", rich[0], {}, extra=rich[1]).parent


def test_no_number_is_without_a_source(rich: Rich, numbers_of: Numbers) -> None:
    found = numbers_of(document(rich[0], {}))
    assert len(found) > 150
    assert [(shown, tags) for shown, sources, tags in found if not sources] == []


def test_a_number_without_a_source_is_found(rich: Rich, numbers_of: Numbers) -> None:
    """The reader of this test sees what is missing: table cells, labels of plots, sentences."""
    bare = re.sub(r' data-src="[^"]*"', "", document(rich[0], {}))
    found = numbers_of(bare)
    assert all(not sources for _, sources, _ in found)
    assert {tags.split()[-1] for _, _, tags in found} >= {
        "td",
        "text",
        "span",
        "p",
        "summary",
        "title",
    }


def test_every_source_is_a_place_that_is_there(
    rich: Rich, folder: Path, numbers_of: Numbers, reached: Callable[[Path, str], Any]
) -> None:
    found = numbers_of((folder / "index.html").read_text("utf-8"))
    places = {one for _, sources, _ in found for source in sources for one in source.split(" ")}
    assert len(places) > 100
    for place in places:
        assert reached(folder, place) is not None, place


def test_the_number_shown_is_the_number_there(
    folder: Path, numbers_of: Numbers, reached: Callable[[Path, str], Any]
) -> None:
    """Wherever a lone number has a lone source that is, or has, a value."""
    held = 0
    for shown, sources, _ in numbers_of((folder / "index.html").read_text("utf-8")):
        if not sources or " " in sources[0] or not re.fullmatch(r"[−\d.,]+", shown):
            continue
        found = reached(folder, sources[0])
        value = found.get("value") if isinstance(found, dict) else found
        if isinstance(value, int | float):
            if sources[0].endswith(("/precision", "/recall", "/f1")):
                value *= 100  # files hold the rates of labels as fractions
            assert float(shown.replace("−", "-").replace(",", "")) == pytest.approx(
                value, abs=0.051
            ), (shown, sources)
            held += 1
    assert held > 45


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("< 0.001", None),
        ("0.002", "numbers.json#/sections/0/pairs/0/p_holm"),
        ("7.7", "numbers.json#/sections/0/pairs/0/smallest"),
        ("21 / 5", "numbers.json#/sections/0/pairs/0"),
        ("12", "analyses/good.json#/slices/0/n"),
        ("−9.0", "analyses/good.json#/slices/0/difference"),
        ("57.1", "analyses/good.json#/cross/cells/0"),
        ("n 7", "analyses/good.json#/cross/cells/0/n"),
        ("0.10–0.90", "analyses/good.json#/overlap/bins/0"),
        ("34.4", "analyses/across.json#/partial/0/majority"),
        ("0.013", "analyses/across.json#/partial/0/p_holm"),
        ("0.93", "analyses/across.json#/suspects/0/items/0/p_suggested"),
        ("0.712", "dataset/t-agreement.json#/measures/0"),
        ("4.5", "analyses/good.json#/confusion/counts/含意%20関係/矛盾~1対立"),
        ("Suspected label errors: 6", "analyses/across.json#/suspects/0/total"),
        ("67.3–75.3", "numbers.json#/sections/0/rows/0/metrics/accuracy"),
        ("71.3", "my%20runs/good/scores.json#/0/scores/0"),
        ("77 of 80", "my%20runs/good/scores.json#/0/unanswered"),
        ("77 of 80 answered", "my%20runs/good/scores.json#/0/unanswered"),
        ("± 3.2", "numbers.json#/sections/0/choices/tried/1/scores/good"),
        (
            "last loss 0.500–0.625",
            "my%20runs/good-0/about.json#/model/history/2/loss my%20runs/good-1/about.json#/model/history/2/loss",
        ),
    ],
)
def test_where_numbers_are_from(
    rich: Rich, numbers_of: Numbers, words: str, place: str | None
) -> None:
    sources = [
        sources[0] for shown, sources, _ in numbers_of(document(rich[0], {})) if shown == words
    ]
    assert (place in sources) if place else not sources


def test_every_table_and_plot_has_a_line_with_its_files(rich: Rich) -> None:
    html = document(rich[0], {})
    main = html[html.index("<main") : html.index("</main>")]
    tables = [
        part for part in main.split("<table")[1:] if "data-src" in part.partition("</table>")[0]
    ]
    for part in tables:
        assert re.match(
            r"\s*(<p class=\"legend\".*?</p>)?<p class=\"source\">Source: ",
            part.partition("</table></div>")[2],
        ), part[:300]
    assert main.count('<p class="source">Source: ') > len(tables)
    assert "Paths are relative to the folder of this page" in main
    assert main.count("Paths are relative to") == 1


def test_perturbed_sets_are_not_counted_among_suspects(rich: Rich) -> None:
    html = document(rich[0], {})
    assert "Suspected label errors: 6<" in html
    assert "Not listed: swap-ni" in html
    assert "900 of 31" not in html


def test_label_by_similarity_has_intervals_and_counts(rich: Rich) -> None:
    found = (
        document(rich[0], {}).partition("by gold label and similarity")[2].partition("</table>")[0]
    )
    assert found.count("30.2–80.3") == 6
    assert found.count("n 7<") == 6


def test_addresses_hold_no_blank_and_pointers_are_escaped() -> None:
    assert address('a b/c#d%"e') == "a%20b/c%23d%25%22e"
    assert inside("a.json", "x/y", 3, "~") == "a.json#/x~1y/3/~0"
    assert inside(inside("a.json", "x"), "y z") == "a.json#/x/y%20z"
    assert inside("a.json") == "a.json"
    assert inside("", "x") == ""


def test_many_files_are_told_in_one() -> None:
    assert source_line() == source_line("") == ""
    assert (
        source_line("a.json#/x/0 a.json#/x/1")
        == '<p class="source">Source: <a href="a.json">a.json</a> #/x</p>'
    )
    runs = source_line(*(f"../runs/{i}/scores.json#/0" for i in range(9)), "numbers.json#/rows")
    assert '<code>scores.json</code> of <a href="#runs">9 runs</a>, <a href="numbers.json">' in runs
    assert '5 files in <a href="analyses/">analyses/</a> #/slices' in source_line(
        *(f"analyses/{i}.json#/slices" for i in range(5))
    )


def test_an_empty_cell_of_the_confusion_names_its_row() -> None:
    picture = standalone(
        draw_heat(Heat(["a", "b"], ["a", "b"], [[3, 0], [1, 2]], "x.json#/counts"), "t")
    )
    assert picture.count('data-src="x.json#/counts/a"') == 1
    assert picture.count('data-src="x.json#/counts/b/a"') == 1


def test_a_lone_case_is_not_told_twice() -> None:
    keys = [
        ("swap", "o", ""),
        ("swap", "", "neutral"),
        ("swap", "", ""),
        ("drop", "o", ""),
        ("drop", "de", ""),
        ("drop", "", ""),
    ]
    assert stress_keys(keys) == [
        ("swap", "", ""),
        ("swap", "", "neutral"),
        ("drop", "", ""),
        ("drop", "o", ""),
        ("drop", "de", ""),
    ]
