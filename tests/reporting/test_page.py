"""The parts of a report: packing, plots, tables, escaping."""

from __future__ import annotations

import csv
import doctest
import importlib
import io
import json
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from msgspec.structs import replace

from nikawa.reporting import plots
from nikawa.reporting.browser_items import (
    ALPHABET,
    FULL_SCORE,
    ItemColumns,
    find_text_limit,
    pack_column,
    pack_items,
)
from nikawa.reporting.fragments import figure
from nikawa.reporting.page import document, explain_ties, find_least_p, standalone, write_report
from nikawa.reporting.page_data import Number, Page, PairRow, PartRow, Section, SystemRow
from nikawa.reporting.plots import SHEET_HEIGHT, Heat, draw_heat, draw_reliability, split_rows
from nikawa.reporting.summary import comma_separated, latex, latex_seen, markdown
from nikawa.reporting.units import page_in_table

MODULES = ("browser_items", "fragments", "markup", "plots", "sources", "systems", "tried_settings")
NASTY = '</script><script>alert("&")</script>'


def row(system: str, value: float | None, ties: str = "", sd: float | None = None) -> SystemRow:
    number = Number(
        value=value,
        low=None if value is None else value - 2,
        high=None if value is None else value + 2,
        sd=sd,
        n=50,
        source=f"runs/{system}/scores.json#/0/scores/0",
    )
    return SystemRow(
        system=system,
        seeds=(0,),
        runs=(f"runs/{system}",),
        metrics={"accuracy": number},
        ties={"accuracy": ties},
    )


def page(*rows: SystemRow, title: str = "A report") -> Page:
    section = Section(
        name="task_1",
        title="A task",
        dataset="d",
        kind="inference",
        language="ja",
        set="test",
        n=50,
        protocol="",
        protocol_why="",
        metrics=("accuracy",),
        lower_is_better=(),
        labels=("yes", "no"),
        rows=rows,
        pairs=(
            PairRow(
                metric="accuracy",
                first=rows[-1].system,
                second=rows[0].system,
                difference=Number(value=1.0, low=-1.0, high=3.0),
                p=0.01,
                p_holm=0.02,
                smallest=2.0,
                wins=3,
                losses=2,
            ),
        ),
    )
    return Page(
        title=title,
        version="0",
        systems=tuple(r.system for r in rows),
        sections=(section,),
        runs=(),
        commands=("nikawa report runs",),
        rounds=2000,
        tests=1,
    )


def items(*texts: str, **fields: Any) -> ItemColumns:
    n = range(len(texts))
    settings: dict[str, Any] = {
        "texts": texts,
        "words": ("yes", "test"),
        "ids": [str(i) for i in n],
        "inputs": {"text": list(n)},
        "gold": [0 for _ in n],
        "sets": [1 for _ in n],
        "tags": [() for _ in n],
        "parents": [-1 for _ in n],
        "systems": ("m",),
        "answers": [[[0 for _ in n]]],
        "points": [[FULL_SCORE for _ in n]],
    }
    return ItemColumns(**{**settings, **fields})


def unpacked(found: ItemColumns) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(b64decode(pack_items(found))))
    return content


def test_small_numbers_are_one_character_each() -> None:
    assert pack_column([-1, 0, 62]) == ALPHABET[0] + ALPHABET[1] + ALPHABET[63]
    assert pack_column([0, 63]) == [0, 63]
    assert pack_column([-2]) == [-2]


def test_a_block_keeps_columns_in_order_and_texts_once() -> None:
    found = unpacked(
        items("犬が走る。", "개가 달린다.", inputs={"premise": [0, 1], "hypothesis": [1, 1]})
    )
    assert [name for name, _ in found["in"]] == ["premise", "hypothesis"]
    assert found["t"] == ["犬が走る。", "개가 달린다."]
    assert found["p"] == ""
    assert pack_items(items("a")) == pack_items(items("a"))


@pytest.mark.parametrize(
    ("lengths", "budget", "cut"),
    [([5, 5], 10, 0), ([100, 2, 2], 20, 16), ([10, 10, 10], 15, 5), ([], 5, 0), ([9], 0, 1)],
)
def test_texts_are_cut_at_the_greatest_length_that_fits(
    lengths: list[int], budget: int, cut: int
) -> None:
    assert find_text_limit(lengths, budget) == cut
    if cut > 1:
        assert sum(min(length, cut) for length in lengths) <= budget


def test_everything_on_the_page_is_escaped() -> None:
    html = document(page(row(NASTY, 80.0), row("b", 70.0), title=NASTY), {"task_1": items(NASTY)})
    assert NASTY not in html
    assert html.count("<script") == 2  # the examples and the one script
    assert "&lt;/script&gt;" in html


def test_the_policy_names_the_script_by_its_hash_and_allows_no_address() -> None:
    html = document(page(row("a", 80.0)), {})
    policy = html.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "http:" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in html


def test_every_number_names_its_file() -> None:
    html = document(page(row("a", 80.0, "a"), row("b", 70.0, "b")), {})
    for system in "ab":
        assert f'data-src="runs/{system}/scores.json#/0/scores/0"' in html


def test_latex_is_escaped_bold_and_marked() -> None:
    text = latex(page(row("good_model 50%", 80.04, "a", sd=0.51), row("b", 70.0, "b", sd=1.0)), 1)
    assert r"good\_model 50\% & \textbf{80.0}$_{\pm 0.5}$ \\" in text
    assert r"b & 70.0$_{\pm 1.0}$$^{\dagger}$ \\" in text
    assert r"task\_1" in text
    assert (
        "significantly different from the best (paired tests over examples and seeds, Holm's correction over"
        in text
    )
    single = latex(page(row("a", 80.0, "a"), row("b", 70.0, "b")), 1)
    assert "significantly different from the best (paired tests with " in single
    for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{table}"):
        assert text.count(word) == 1


def test_no_dagger_within_a_tie_and_no_bold_among_equals() -> None:
    tied = latex(page(row("a", 80.0, "a"), row("b", 79.0, "a")), 1)
    assert "dagger" not in tied
    assert "**" not in markdown(page(row("a", 80.0, "a"), row("b", 80.0, "a")), 1)
    assert "**80.0 (78.0 to 82.0)** a" in markdown(
        page(row("a", 80.0, "a"), row("b", 79.0, "a")), 1
    )


def test_what_is_not_defined_is_said() -> None:
    text = markdown(page(row("a", 80.0, "a"), row("b", None, "a")), 1)
    assert "| b | not defined |" in text
    assert (
        "nan"
        not in document(page(row("a", 80.0), row("b", None)), {}).partition("<script")[0].lower()
    )


def test_too_few_examples_have_a_dash_that_the_legend_explains() -> None:
    few = Number(value=100.0, n=4, few=True, source="runs/a/scores.json#/0/scores/0")
    shown = page(replace(row("a", 1.0), metrics={"accuracy": few}), row("b", 50.0))
    said = (
        "—: With fewer than 10 examples (or groups of examples), there is no confidence interval."
    )
    assert "100.0 (—)" in markdown(shown, 1)
    assert said in markdown(shown, 1)
    assert '">—</span>' in document(shown, {})
    assert said not in markdown(page(row("a", 50.0)), 1)


def test_the_legend_speaks_of_what_is_in_the_table() -> None:
    one, two = markdown(page(row("a", 80.0)), 1), markdown(page(row("a", 80.0, sd=0.5)), 1)
    assert "| a | 80.0 (78.0 to 82.0) |" in one
    assert "±" not in one
    assert "| a | 80.0 ± 0.5 (78.0 to 82.0) |" in two
    assert (
        "± is the standard deviation over seeds. Ranges are 95% confidence intervals over examples, and over seeds"
        in two
    )
    bare = replace(row("a", 80.0), metrics={"accuracy": Number(value=80.0)})
    assert "Ranges" not in markdown(page(bare), 1)


def seen_page() -> Page:
    """A model that learned from two sets, and from all there is."""
    rows = [row("m", 90.0), row("m (trained on d:easy)", 70.0), row("m (trained on d:hard)", 60.0)]
    named = [
        replace(r, model="m", trained=t)
        for r, t in zip(rows, ("", "d:easy", "d:hard"), strict=True)
    ]
    parts = tuple(
        PartRow(
            set="test",
            where=where,
            metric="accuracy",
            system=r.system,
            number=Number(value=value, n=n, source="runs/m/scores.json#/0"),
        )
        for r in named[1:]
        for where, value, n in (("seen", 80.0, 30), ("unseen", 45.5, 20))
    )
    found = page(*named)
    return replace(found, sections=(replace(found.sections[0], parts=parts),))


def test_seen_and_unseen_stand_in_the_shape_of_the_paper() -> None:
    html = document(seen_page(), {})
    shown = html.partition("<h3>Seen and unseen</h3>")[2].partition("</table>")[0]
    names = re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", shown)
    assert names == ["model", "", "all training data", "easy", "hard"]
    assert re.findall(r"<td>(\S*?)</td>", shown) == ["all", "seen", "unseen", "Δ"]
    assert shown.count(">34.5<") == 2
    assert "Further sets" not in html


def test_seen_and_unseen_for_a_paper() -> None:
    text = latex_seen(seen_page().sections[0], 1)
    assert "Model &  & all training data & easy & hard" in text
    assert r" & $\Delta$ &  & 34.5 & 34.5 \\" in text
    assert latex_seen(page(row("a", 80.0)).sections[0], 1) == ""


def test_further_sets_of_many_systems_are_columns() -> None:
    found = page(row("a", 80.0), row("b", 70.0))
    part = PartRow(
        set="ood",
        where="",
        metric="accuracy",
        system="a",
        number=Number(value=12.5, source="runs/a/scores.json#/1"),
    )
    both = tuple(replace(part, system=name) for name in "ab")
    html = document(replace(found, sections=(replace(found.sections[0], parts=both),)), {})
    shown = html.partition("Further sets and parts: 1 figure")[2].partition("</table>")[0]
    assert "ood accuracy" in shown.partition("</thead>")[0]
    assert shown.count(">12.5<") == 2
    assert "ood,,a,accuracy,12.5" in comma_separated(
        replace(found, sections=(replace(found.sections[0], parts=both),))
    )


def test_what_several_seeds_spread_over_is_in_the_reports_own_file() -> None:
    found = page(row("a", 80.0))
    spread = Number(
        value=12.5,
        low=10.0,
        high=15.0,
        sd=0.5,
        source="runs/a/scores.json#/1 runs/b/scores.json#/1",
    )
    part = PartRow(set="ood", where="", metric="accuracy", system="a", number=spread)
    html = document(replace(found, sections=(replace(found.sections[0], parts=(part,)),)), {})
    shown = html.partition("Further sets and parts: 1 figure")[2].partition("</table>")[0]
    assert shown.count('class="ci" data-src="numbers.json#/sections/0/parts/0/number"') == 2


def test_a_title_turns_nothing_but_itself_around() -> None:
    found = page(row("a", 80.0))
    html = document(replace(found, sections=(replace(found.sections[0], title="\u202eTides"),)), {})
    assert r"<bdi>\u202eTides</bdi> · " in html


def test_csv_is_unrounded_and_no_formula() -> None:
    found = list(csv.DictReader(io.StringIO(comma_separated(page(row("=1+1", 80.123456))))))
    assert found[0]["system"] == "'=1+1"
    assert float(found[0]["value"]) == 80.123456
    assert found[0]["source"].endswith("scores.json#/0/scores/0")


def test_figures_are_whole_documents() -> None:
    lines = [plots.PlotRow("<b>", [plots.Dot(10.0, 8.0, 12.0, s) for s in range(8)], "tag", "12")]
    for picture in (
        plots.draw_dots(lines, "a & b", (0, 100), ["x", "y"], 11.0),
        draw_heat(
            Heat(["犬", "b"], ["犬", "b", "(unread)"], [[3, 0, 1], [0, 0, 0]], "x.json#/counts"),
            "t",
        ),
        draw_reliability([(0.5, 0.4, 0.3, 0.5, 10), (0.9, 1.0, 0.8, 1.0, 9)], "t"),
        plots.draw_curves(
            [plots.PlotCurve("m", [(10, plots.Dot(5.0, 4.0, 6.0)), (100, plots.Dot(None))])],
            "t",
            plots.AmountScale("n"),
            (0, 100),
        ),
    ):
        root = ElementTree.fromstring(standalone(picture).encode())
        assert root.tag.endswith("svg")
        assert "prefers-color-scheme:dark" in standalone(picture)
        assert "#262420" in standalone(picture)
        assert "var(--c" not in standalone(picture), (
            "programs that make PDF of it know no variables"
        )
        assert "var(--ink" not in standalone(picture)


def test_a_long_name_loses_its_middle_and_a_legend_takes_lines() -> None:
    name = "encoder:some-long-name (trained on d:the-hard-split)"
    short = plots.shorten(name, 200)
    assert short.startswith("encoder:")
    assert short.endswith("split)")
    assert len(short) < len(name)
    lines = [plots.PlotRow(name, [plots.Dot(10.0, 8.0, 12.0, s) for s in range(4)])]
    picture = plots.draw_dots(lines, "t", (0, 100), [f"{name} {i}" for i in range(4)])
    assert f"<title>{name}</title>" in picture
    assert len(set(re.findall(r'y="([\d.]+)" text-anchor="start">encoder[^<]* \d<', picture))) > 1


def rows(count: int, systems: int) -> list[plots.PlotRow]:
    """Slices in two groups, of several systems."""
    return [
        plots.PlotRow(
            f"行{i}",
            [plots.Dot(20.0 + i, 10.0 + i, 30.0 + i, s) for s in range(systems)],
            "tag" if i < 18 else "source",
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("systems", [1, 2, 4])
def test_a_plot_taller_than_a_sheet_comes_in_parts_of_whole_rows(systems: int) -> None:
    lines, names = rows(40, systems), [f"m{i}" for i in range(systems)]
    whole = plots.draw_dots(lines, "t", (0, 100), names, 40.0)
    assert whole.count("<svg") == 1
    parts = (
        plots.draw_dots(lines, "t", (0, 100), names, 40.0, SHEET_HEIGHT)
        .removesuffix("</svg>")
        .split("</svg>")
    )
    assert len(parts) == -(
        -(len(lines) * max(26, 11 * systems + 16 if systems > 1 else 0) + 96) // SHEET_HEIGHT
    )
    heights = [float(re.search(r'height="(\d+)"', part)[1]) for part in parts]  # type: ignore[index]
    assert max(heights) < SHEET_HEIGHT + 80
    assert max(heights) - min(heights) < 130, "no part is left with a row or two"
    shown = [re.findall(r'class="name"[^>]*>(行\d+)<', part) for part in parts]
    assert [name for part in shown for name in part] == [line.name for line in lines]
    ticks = {
        tuple(re.findall(r'class="soft" x="([\d.]+)"[^>]*text-anchor="middle">(\d+)<', part))
        for part in parts
    }
    assert len({frozenset(each) for each in ticks}) == 1, "one axis for all"
    assert all(
        f"<title>t, part {i} of {len(parts)}</title>" in part for i, part in enumerate(parts, 1)
    )
    assert all('class="group"' in part and 'class="mean"' in part for part in parts)


def test_a_figure_of_parts_may_be_broken_between_them() -> None:
    section = page(row("a", 80.0)).sections[0]
    assert figure("<svg></svg>", section.name, "slices", "x.json").startswith("<figure data-src=")
    assert figure("<svg></svg><svg></svg>", section.name, "slices", "x.json").startswith(
        '<figure class="parts" '
    )


def test_parts_hold_a_single_row_that_is_too_tall() -> None:
    assert split_rows([900, 100, 100], sum, 720, 26) == [[900], [100, 100]]
    assert split_rows([100] * 8, sum, 720, 26) == [[100] * 4] * 2
    assert split_rows([], sum, 720, 26) == [[]]


def test_axes_have_round_ends_and_hold_all_values() -> None:
    axis = plots.fit_axis([61.7, 87.2, None], 0, 100, (0, 100))
    assert (axis.low, axis.high) == (60, 90)
    assert 4 <= len(axis.ticks()) <= 8
    single = plots.fit_axis([50.0], 0, 100, (0, 100))
    assert single.low < 50 < single.high


def test_the_folder_is_whole_and_the_same_twice(tmp_path: Path) -> None:
    found = page(row("a", 80.0, "a"), row("b", 70.0, "b"))
    for name in ("one", "two"):
        write_report(
            tmp_path / name, found, {"task_1": items("犬")}, extra={"analyses/x.json": b"{}"}
        )
    names = sorted(
        str(p.relative_to(tmp_path / "one")) for p in (tmp_path / "one").rglob("*") if p.is_file()
    )
    assert names == [
        "analyses/x.json",
        "figures/task-1-scores.svg",
        "index.html",
        "numbers.json",
        "summary.csv",
        "summary.md",
        "summary.tex",
    ]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert msgspec.json.decode((tmp_path / "one" / "numbers.json").read_bytes())["systems"] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    tried = doctest.testmod(importlib.import_module(f"nikawa.reporting.{name}"))
    assert tried.attempted
    assert not tried.failed


def test_the_page_says_where_rounds_or_an_undefined_p_make_a_tie() -> None:
    plain = page(row("one", 80.0), row("two", 70.0))
    assert explain_ties(plain) == ""
    few = replace(plain, rounds=100, tests=12)
    assert find_least_p(few) == pytest.approx(12 / 101)
    assert "the p-value of single runs cannot fall below 0.12" in document(few, {}, 2)
    enough = replace(plain, rounds=2000, tests=12, swaps=720)
    assert find_least_p(enough) == pytest.approx(12 / 721)
    made = document(enough, {}, 2)
    assert "(2,000 rounds; 720 for metrics that are recomputed on every resample)" in made
    assert (
        "with 2,000 resamples (720 for metrics that are recomputed on every resample)"
        in markdown(enough, 2)
    )
    (section,) = plain.sections
    undefined = replace(section.pairs[0], p=None, p_holm=None)
    untested = replace(plain, sections=(replace(section, pairs=(undefined,)),))
    assert "The test of one pair has no p-value and counts as a tie." in document(untested, {}, 2)


def test_a_page_is_converted_whole_and_once(rich: tuple[Page, dict[str, bytes]]) -> None:
    """Rows, differences, parts, settings, slices and curves: whatever is a score of a task in fractions becomes percent."""

    def shrink(number: Number) -> Number:
        ends = {name: getattr(number, name) for name in ("value", "low", "high", "sd")}
        small = {name: None if end is None else end / 100 for name, end in ends.items()}
        return replace(number, unit="fraction", **small)

    whole = rich[0]
    section = whole.sections[0]
    rows = tuple(
        replace(row, metrics={name: shrink(one) for name, one in row.metrics.items()})
        for row in section.rows
    )
    pairs = tuple(
        replace(
            pair,
            difference=shrink(pair.difference),
            smallest=None if pair.smallest is None else pair.smallest / 100,
        )
        for pair in section.pairs
    )
    parts = tuple(replace(part, number=shrink(part.number)) for part in section.parts)
    official = replace(section, rows=rows, pairs=pairs, parts=parts)
    shown = page_in_table(replace(whole, sections=(official,)))
    (converted,) = shown.sections
    assert shown.converted == (section.name,)
    for row, before in zip(converted.rows, section.rows, strict=True):
        for metric, number in row.metrics.items():
            expected = before.metrics[metric]
            assert number.unit == "percent"
            assert number.value == pytest.approx(expected.value)
            assert number.low == pytest.approx(expected.low)
    for pair, before_pair in zip(converted.pairs, section.pairs, strict=True):
        assert pair.difference.value == pytest.approx(before_pair.difference.value)
        assert pair.smallest == pytest.approx(before_pair.smallest)
    for part, before_part in zip(converted.parts, section.parts, strict=True):
        assert part.number.value == pytest.approx(before_part.number.value)
    assert page_in_table(shown) == shown
    assert page_in_table(replace(whole, sections=(official,)), "official").sections == (official,)
