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

from nikawa.io.atomic import atomic_folder
from nikawa.io.json import pack_json
from nikawa.reporting.fragments import Cell, slug, table, text
from nikawa.reporting.items import Items, pack_items
from nikawa.reporting.method import method
from nikawa.reporting.page_across import curve_plot, stress_plot
from nikawa.reporting.page_data import Page, Section, SystemRow, placed
from nikawa.reporting.page_settings import OTHERS, other, other_settings, settings_plot
from nikawa.reporting.page_slices import slice_plot
from nikawa.reporting.section import (
    answered,
    score_cell,
    score_plot,
    scores_of,
    section,
    system_pictures,
)
from nikawa.reporting.sources import NUMBERS, inside, source, source_line
from nikawa.reporting.summary_tables import (
    column_name,
    comma_separated,
    latex,
    latex_seen,
    legend,
    markdown,
)
from nikawa.reporting.training import training_pictures

DIGITS = 1
FILE_NAME = 200
"""Bytes of the name of a plot: file systems take 255."""
TASKS = 4
"""Tasks that are columns of the summary; more are rows, where systems are fewer."""


def write_report(
    folder: Path,
    page: Page,
    items: Mapping[str, Items],
    *,
    extra: Mapping[str, bytes] | None = None,
    digits: int = DIGITS,
    overwrite: bool = False,
) -> Path:
    """Write the page and what stands beside it into a folder, whole or not at all; `extra` are further files."""
    page = placed(page)
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
        for name, picture in _apart(pictures(page)):
            (place / "figures" / f"{name}.svg").write_text(standalone(picture), "utf-8")
        for name, content in (extra or {}).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
    return folder / "index.html"


def asset(name: str) -> str:
    """A file beside this one."""
    return files("nikawa.reporting").joinpath(name).read_text("utf-8")


def document(page: Page, items: Mapping[str, Items], digits: int = DIGITS) -> str:
    """The page."""
    page = placed(page)
    script, style = asset("page_browser.js") + asset("page.js"), asset("page.css")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="nikawa {text(page.version)}"><title>{text(page.title)}</title><style>{style}</style>'
    )
    blocks = "".join(
        f'<script type="application/octet-stream" id="items-{slug(name)}">{pack_items(found)}</script>\n'
        for name, found in items.items()
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{"".join(_body(page, digits))}\n{blocks}<script>{script}</script>\n</body>\n</html>\n'


def _body(page: Page, digits: int) -> Iterator[str]:
    yield '<a class="skip" href="#main">Skip to the results</a>'
    links = "".join(f'<a href="#{slug(s.name)}">{text(s.name)}</a>' for s in page.sections)
    links += f'<a href="#{OTHERS}">Settings</a>' if page.choices else ""
    yield (
        f'<nav aria-label="Sections"><div><a href="#summary">Summary</a>{links}<a href="#method">How made</a></div>'
        '<button type="button" id="theme" hidden>Theme: auto</button></nav>'
    )
    yield f'<main id="main" tabindex="-1"><header class="top"><h1>{text(page.title)}</h1>{_lead(page)}</header>'
    yield _summary(page, digits)
    yield from (section(found, digits) for found in page.sections)
    yield other_settings(page, digits)
    yield method(page)
    made = f" · made {text(page.made)}" if page.made else ""
    yield f'</main><footer><p>Nikawa {text(page.version)}{made} · <span class="keys"><kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> next and previous example</span></p></footer>'


def _lead(page: Page) -> str:
    counts = {
        "system": ("systems", page.systems),
        "task": ("sections", page.sections),
        "run": ("runs", page.runs),
    }
    words = (
        f"<span{source(inside(NUMBERS, key))}>{_plural(len(found), noun)}</span>"
        for noun, (key, found) in counts.items()
    )
    return f'<p class="lead">{", ".join(words)}</p>'


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _summary(page: Page, digits: int) -> str:
    sections, systems = page.sections, page.systems
    rows = [[text(s), *(_cell(found, s, digits) for found in sections)] for s in systems]
    columns = ["system", *map(_column, sections)]
    if len(sections) > max(TASKS, len(systems)):
        rows = [[_column(found), *(_cell(found, s, digits) for s in systems)] for found in sections]
        columns = ["task", *map(text, systems)]
    place = inside(NUMBERS, "sections")
    shown = table(columns, rows, range(1, len(columns)), "Summary", place)
    told = (
        f'<p class="legend"{source(f"{NUMBERS}#/rounds {NUMBERS}#/tests")}>{text(legend(page))}</p>'
    )
    files = source_line(*map(scores_of, sections), place)
    return f'<section id="summary" aria-labelledby="h-summary"><h2 id="h-summary" class="quiet">Summary</h2>{shown}{told}{files}</section>'


def _column(found: Section) -> str:
    mark = f'<span class="mark">{text(found.protocol)}</span>' if found.protocol else ""
    return f'<a href="#{slug(found.name)}" title="{text(column_name(found))}">{text(found.name)}</a><span class="ci">{text(found.metrics[0])}</span>{mark}'


def _cell(found: Section, system: str, digits: int) -> str | Cell:
    metric = found.metrics[0]
    for i, row in enumerate(found.rows):
        if row.system == system and metric in row.metrics:
            cell = score_cell(found, i, metric, digits)
            return cell._replace(html=cell.html + _gaps(found, row)) if row.unanswered else cell
    return '<span class="soft" title="not run">·</span>'


def _gaps(found: Section, row: SystemRow) -> str:
    """A line below the score of a system that did not answer everything."""
    return f'<span class="ci"{source(row.lost)}>{answered(found, row, " answered")}</span>'


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
            yield f"{slug(one.name)}-{other(i)}", picture


def _apart(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The same under names that can be files', with a number behind those that are taken: `A b` and `a-b` would share a file."""
    taken = set[str]()
    for name, picture in named:
        short = name.encode()[:FILE_NAME].decode(errors="ignore")
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
