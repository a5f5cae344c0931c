"""The settings that were tried: the table, the plot, tasks without a result."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from nikawa.reporting.page import document, pictures, standalone
from nikawa.reporting.page_data import Chooser, Number, Page, SettingChoices, TriedSettings
from nikawa.reporting.tried_settings import chosen_on, format_setting, settings_plot

Rich = tuple[Page, dict[str, bytes]]


def tried(value: float | None, chosen: bool = False, **settings: object) -> TriedSettings:
    return TriedSettings(
        settings=settings,
        scores={"m": Number(value=value, low=None, high=None, n=9)},
        seeds={"m": 1},
        chosen=("m",) if chosen else (),
    )


def choices(*rows: TriedSettings, names: tuple[str, ...] = ("learning_rate",)) -> SettingChoices:
    chooser = Chooser(system="m", set="d:dev", kept_out=False, n=9, seeds=(0,))
    return SettingChoices(task="t", metric="accuracy", names=names, systems=(chooser,), tried=rows)


def block(page: Page) -> str:
    return document(page, {}).partition("<h3>Settings</h3>")[2].partition("</figure>")[0]


def shown(page: Page, found: SettingChoices) -> str:
    """The block of other choices on the same page."""
    return block(replace(page, sections=(replace(page.sections[0], choices=found),)))


def test_a_row_a_setting_and_a_column_a_system(rich: Rich) -> None:
    html = block(rich[0])
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)', html) == ["learning_rate", "good"]
    assert re.findall(r'<th scope="row"[^>]*>([^<]*)', html) == ["0.0001", "0.0003", "0.001"]
    assert re.findall(r'class="v( best)?"[^>]*>([\d.]+)<', html) == [
        ("", "41.2"),
        (" best", "62.8"),
        ("", "52.5"),
    ]
    assert "The mean accuracy over 2 seeds on the examples used to choose settings" in html
    place = "numbers.json#/sections/0/choices"
    assert f'data-src="{place}/tried/1/settings/learning_rate">0.0003<' in html
    assert f'data-src="{place}/systems/0">1,995 examples held out from d:train<' in html
    assert html.count(">default<") == html.count("used for the results") == 1


def test_where_nothing_was_tried_nothing_is_told(rich: Rich) -> None:
    bare = replace(rich[0].sections[0], choices=None, training=())
    html = document(replace(rich[0], sections=(bare,), choices=(), choosing=()), {})
    for words in ("<h3>Settings</h3>", "<h3>Training</h3>", "other-settings", "chose settings"):
        assert words not in html
        assert words in document(rich[0], {})


def test_tasks_without_a_result_stand_behind_the_others(rich: Rich) -> None:
    html = document(rich[0], {})
    section = html.partition('<section class="task" id="other-settings"')[2].partition(
        "</section>"
    )[0]
    assert "<h3>u</h3>" in section
    assert "figures/u-other-settings-0.svg" in section
    assert '<a href="#other-settings">Settings</a>' in html.partition("</nav>")[0]
    assert {"t-settings", "u-other-settings-0"} <= {name for name, _ in pictures(rich[0])}


def test_what_a_system_did_not_try_is_a_dot_and_fewer_seeds_are_told(rich: Rich) -> None:
    found = rich[0].sections[0].choices
    assert found is not None
    second = Chooser(system="other", set="d:dev", kept_out=False, n=9, seeds=(0,))
    few = replace(found.tried[0], seeds={"good": 1})
    html = shown(
        rich[0], replace(found, systems=(*found.systems, second), tried=(few, *found.tried[1:]))
    )
    assert html.count('title="not tried"') == 3
    assert html.count("1 of 2 seeds") == 1


def test_a_default_of_some_systems_is_told_as_theirs(rich: Rich) -> None:
    row = tried(50.0, epochs=3)
    both = replace(
        row,
        scores={"m": row.scores["m"], "o": row.scores["m"]},
        seeds={"m": 1, "o": 1},
        defaults={"epochs": ("o",)},
    )
    assert ">default of o<" in shown(
        rich[0], choices(both, tried(60.0, epochs=4), names=("epochs",))
    )
    alone = replace(both, defaults={"epochs": ("o", "m")})
    assert ">default<" in shown(rich[0], choices(alone, tried(60.0, epochs=4), names=("epochs",)))


def test_learning_rates_lie_on_a_logarithmic_axis_and_the_chosen_one_has_a_ring() -> None:
    plot = settings_plot(
        choices(
            tried(50.0, learning_rate=1e-5),
            tried(60.0, True, learning_rate=1e-4),
            tried(55.0, learning_rate=1e-3),
        )
    )
    (points,) = re.findall(r'points="([^"]+)"', plot)
    first, middle, last = (float(pair.partition(",")[0]) for pair in points.split())
    assert middle - first == pytest.approx(last - middle, abs=0.2)
    assert plot.count("<circle") == 1
    assert f'cx="{middle:.1f}"' in plot
    assert all(f">{word}<" in plot for word in ("1e-5", "0.0001", "0.001"))
    assert ElementTree.fromstring(standalone(plot).encode()).tag.endswith("svg")


def test_near_numbers_lie_on_a_plain_axis() -> None:
    rows = (tried(50.0, epochs=2), tried(60.0, epochs=3), tried(55.0, epochs=5))
    (points,) = re.findall(r'points="([^"]+)"', settings_plot(choices(*rows, names=("epochs",))))
    first, middle, last = (float(pair.partition(",")[0]) for pair in points.split())
    assert last - middle == pytest.approx(2 * (middle - first), abs=0.3)


@pytest.mark.parametrize(
    "rows",
    [
        (tried(50.0, model="a"), tried(60.0, model="b")),
        (tried(50.0, scratch=False), tried(60.0, scratch=True)),
        (tried(50.0, extra=[1]), tried(60.0, extra=2), tried(60.0, extra=3)),
        (tried(50.0, epochs=3),),
        (tried(50.0, epochs=3, batch=8), tried(60.0, epochs=5, batch=8)),
    ],
)
def test_no_plot_where_not_one_number_varies(rows: tuple[TriedSettings, ...]) -> None:
    assert settings_plot(choices(*rows, names=tuple(rows[0].settings))) == ""


def test_a_score_that_is_not_defined_is_said_and_not_drawn(rich: Rich) -> None:
    found = choices(tried(None, learning_rate=1e-2), tried(60.0, True, learning_rate=1e-4))
    assert ">not defined<" in shown(rich[0], found)
    assert settings_plot(found).count('class="m c0"') == 2, "the legend and one dot"


def test_many_settings_are_to_be_opened(rich: Rich) -> None:
    found = choices(*(tried(50.0 + i, epochs=i) for i in range(1, 14)), names=("epochs",))
    assert (
        '<summary data-src="numbers.json#/sections/0/choices/tried">All 13 settings as a table<'
        in shown(rich[0], found)
    )


def test_a_lone_try_of_the_defaults(rich: Rich) -> None:
    html = shown(rich[0], choices(tried(50.0, True), names=()))
    assert "the defaults" in html
    assert "No other settings finished." in html


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3e-05, "3e-5"),
        (0.0001, "0.0001"),
        (15.0, "15"),
        (128, "128"),
        (None, "none"),
        (True, "true"),
        ("<b>", "<b>"),
    ],
)
def test_values_in_words(value: object, words: str) -> None:
    assert format_setting(value) == words


def test_names_and_values_are_escaped(rich: Rich) -> None:
    html = shown(
        rich[0], choices(tried(50.0, model="<b>"), tried(60.0, model="c"), names=("model",))
    )
    assert "<b>" not in html
    assert "&lt;b&gt;" in html


def test_what_was_chosen_on_in_words() -> None:
    chooser = Chooser(system="m", set="d:dev", kept_out=False, n=1, seeds=(0,))
    assert chosen_on(chooser) == "d:dev, 1 example"
    assert (
        chosen_on(replace(chooser, kept_out=True, n=2000)) == "2,000 examples held out from d:dev"
    )
