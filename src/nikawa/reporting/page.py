"""A report as one HTML file that needs nothing else, with tables and figures beside it.

The page may load nothing (its content policy says so) and runs one script, named by its hash: whatever a text of the
data holds, it stays text.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from itertools import chain, count
from pathlib import Path

from markupsafe import Markup

from nikawa.io.atomic import atomic_folder
from nikawa.io.json import pack_json
from nikawa.reporting.analysis_blocks import curve_plot, slice_plot, stress_plot
from nikawa.reporting.browser_items import ItemColumns, pack_items
from nikawa.reporting.fragments import Row, TableCell, small, soft, table
from nikawa.reporting.markup import html, render, slug
from nikawa.reporting.method import render_method
from nikawa.reporting.page_data import Page, Section, add_places
from nikawa.reporting.section import (
    render_section,
    score_cell,
    score_places,
    score_plot,
    show_answered,
    system_pictures,
)
from nikawa.reporting.sources import NUMBERS, inside, source_line
from nikawa.reporting.summary import (
    column_name,
    comma_separated,
    latex,
    latex_seen,
    legend,
    markdown,
)
from nikawa.reporting.training import training_pictures
from nikawa.reporting.tried_settings import OTHERS, other_plot_kind, other_settings, settings_plot

DIGITS = 1
MAX_FILE_NAME_BYTES = 200
"""Bytes of the name of a plot: file systems take 255."""
MAX_TASK_COLUMNS = 4
"""Tasks that are columns of the summary; more are rows, where systems are fewer."""


def write_report(
    folder: Path,
    page: Page,
    items: Mapping[str, ItemColumns],
    *,
    extra: Mapping[str, bytes] | None = None,
    digits: int = DIGITS,
    overwrite: bool = False,
) -> Path:
    """Write the page and what stands beside it into a folder, whole or not at all; `extra` are further files."""
    page = add_places(page)
    with atomic_folder(folder, overwrite=overwrite) as place:
        (place / "index.html").write_text(document(page, items, digits), "utf-8")
        (place / "summary.md").write_text(markdown(page, digits), "utf-8")
        (place / "summary.tex").write_text(latex(page, digits), "utf-8")
        for found in page.sections:
            if seen := latex_seen(found, digits):
                (place / f"{slug(found.name)}-seen.tex").write_text(seen, "utf-8")
        (place / "summary.csv").write_text(comma_separated(page), "utf-8")
        (place / NUMBERS).write_bytes(pack_json(page, place / NUMBERS) + b"\n")
        (place / "figures").mkdir()
        for name, picture in name_files_apart(pictures(page)):
            (place / "figures" / f"{name}.svg").write_text(standalone(picture), "utf-8")
        for name, content in (extra or {}).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
    return folder / "index.html"


def asset(name: str) -> str:
    """A file beside this one."""
    return files("nikawa.reporting").joinpath(name).read_text("utf-8")


def document(page: Page, items: Mapping[str, ItemColumns], digits: int = DIGITS) -> str:
    """The page."""
    page = add_places(page)
    script, style = asset("page_browser.js") + asset("page.js"), asset("page.css")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    place = inside(NUMBERS, "sections")
    made = render(
        "page.html",
        page=page,
        policy=(
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        ),
        style=style,
        script=script,
        others=OTHERS,
        lead=[
            (f"{len(counted):,} {noun}{'' if len(counted) == 1 else 's'}", inside(NUMBERS, key))
            for noun, key, counted in (
                ("system", "systems", page.systems),
                ("task", "sections", page.sections),
                ("run", "runs", page.runs),
            )
        ],
        summary=show_summary(page, digits, place),
        legend=legend(page),
        legend_place=f"{NUMBERS}#/rounds {NUMBERS}#/tests",
        summary_sources=source_line(*map(score_places, page.sections), place),
        sections=[render_section(section, digits) for section in page.sections],
        other_settings=other_settings(page, digits),
        method=render_method(page),
        items=[(slug(name), pack_items(each)) for name, each in items.items()],
    )
    return str(made)


def show_summary(page: Page, digits: int, place: str) -> Markup:
    """Systems by tasks; tasks are the rows where there are many of them, and fewer systems."""
    sections, systems = page.sections, page.systems
    rows: list[Row]
    if len(sections) > max(MAX_TASK_COLUMNS, len(systems)):
        columns = ["task", *systems]
        rows = [
            [_task_title(section), *(_summary_cell(section, s, digits) for s in systems)]
            for section in sections
        ]
    else:
        columns = ["system", *map(_task_title, sections)]
        rows = [
            [system, *(_summary_cell(section, system, digits) for section in sections)]
            for system in systems
        ]
    return table(columns, rows, 1, "Summary", place)


def _task_title(section: Section) -> Markup:
    """The name of a task as a link to its section, its metric, and how it departs from the protocol."""
    title = html(
        '<a href="#{}" title="{}">{}</a>{}',
        slug(section.name),
        column_name(section),
        section.name,
        small(section.metrics[0]),
    )
    if section.protocol:
        title += html('<span class="mark">{}</span>', section.protocol)
    return title


def _summary_cell(section: Section, system: str, digits: int) -> str | TableCell:
    metric = section.metrics[0]
    for i, row in enumerate(section.rows):
        if row.system == system and metric in row.metrics:
            cell = score_cell(section, i, metric, digits)
            if row.unanswered:
                gaps = small(show_answered(section, row, " answered"), row.lost)
                cell = cell._replace(content=cell.content + gaps)
            return cell
    return soft("·", "not run")


def pictures(page: Page) -> Iterator[tuple[str, str]]:
    """Every plot under the name of its file."""
    for found in page.sections:
        makers = {
            "scores": score_plot,
            "slices": slice_plot,
            "curve": curve_plot if found.curves else None,
            "stress": stress_plot if found.stress else None,
            "settings": lambda one: settings_plot(one.choices) if one.choices is not None else "",
        }
        for kind, make in makers.items():
            picture = make(found) if make is not None else ""
            if picture:
                yield f"{slug(found.name)}-{kind}", picture
        yield from system_pictures(found)
        yield from training_pictures(found)
    for i, one in enumerate(page.choices):
        if picture := settings_plot(one):
            yield f"{slug(one.name)}-{other_plot_kind(i)}", picture


def name_files_apart(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The same under names that can be files', with a number behind those that are taken: `A b` and `a-b` would share a file."""
    taken = set[str]()
    for name, picture in named:
        short = name.encode()[:MAX_FILE_NAME_BYTES].decode(errors="ignore")
        free = next(n for n in chain([short], (f"{short}-{i}" for i in count(2))) if n not in taken)
        taken.add(free)
        yield free, picture


def standalone(picture: str) -> str:
    """A plot with the colours it has on the page, written out: many programs know no CSS variables."""
    style = asset("page.css")
    colours, shapes = (
        style[style.index(f"/* {name} */") : style.index(f"/* end of {name} */")]
        for name in ("colours", "plots")
    )
    light, dark = (dict(re.findall(r"--(\w+):([^;}]+)", part)) for part in colours.split("@media"))
    shapes = shapes.partition("*/")[2] + "svg{background:var(--paper)}"
    drawn = (
        f"{_coloured(shapes, light)}@media(prefers-color-scheme:dark){{{_coloured(shapes, dark)}}}"
    )
    head, _, rest = picture.partition("</title>")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}</title><style>{drawn}</style>{rest}\n'


def _coloured(style: str, colours: Mapping[str, str]) -> str:
    return re.sub(r"var\(--(\w+)\)", lambda found: colours.get(found[1], found[0]), style)
