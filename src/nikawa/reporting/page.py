"""A report as one self-contained HTML file, with tables and figures as separate files.

The page begins with a summary, then has one section per task, and ends with the method: runs, data, versions of packages, how
intervals and tests were made, and the commands that reproduce it.

The page may load nothing (its content policy forbids it) and runs one script, identified by its hash: texts of the
data always stay text.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from itertools import chain, count
from pathlib import Path

from markupsafe import Markup
from msgspec import UNSET

from nikawa.io.atomic import atomic_folder
from nikawa.io.file_names import MAX_NAME_BYTES, join_inside
from nikawa.io.json import pack_json
from nikawa.metrics.units import TableUnit
from nikawa.reporting.analysis_blocks import curve_plot, slice_plot, stress_plot
from nikawa.reporting.browser_items import ItemColumns, pack_items
from nikawa.reporting.fragments import Row, TableCell, detail, small, soft, table
from nikawa.reporting.markup import html, render, slug
from nikawa.reporting.page_data import Number, Page, RunRow, Section, add_places
from nikawa.reporting.section import (
    render_section,
    score_cell,
    score_places,
    score_plot,
    show_answered,
    system_pictures,
    systems_with_parts,
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
from nikawa.reporting.units import page_in_table
from nikawa.stats.results import SIGNIFICANCE_LEVEL

DIGITS = 1
MAX_TASK_COLUMNS = 4
"""Tasks that are columns of the summary; more are rows, where systems are fewer."""
FIRST_PACKAGES = ("nikawa", "numpy", "scikit-learn", "torch", "transformers")
"""Packages named first; the others are in about.json."""


def write_report(
    folder: Path,
    page: Page,
    items: Mapping[str, ItemColumns],
    *,
    extra: Mapping[str, bytes] | None = None,
    digits: int = DIGITS,
    unit: TableUnit = "percent",
    overwrite: bool = False,
) -> Path:
    """Write the page and its files into a folder, all or nothing, and return the path of the page.

    `items` are the examples by task, in the order of `page.sections`. `extra` are further files by their paths from the
    folder. `digits` are those of percentages; fractions get two more. The page, its plots and tables are in `unit`,
    `numbers.json` is in the official one. Raises BadInput where the folder exists and `overwrite` is False.
    """
    official = add_places(page)
    page = page_in_table(official, unit)
    with atomic_folder(folder, overwrite=overwrite) as place:
        (place / "index.html").write_text(document(page, items, digits, unit), "utf-8")
        (place / "summary.md").write_text(markdown(page, digits), "utf-8")
        (place / "summary.tex").write_text(latex(page, digits), "utf-8")
        tables = (
            (f"{slug(section.name)}-seen", latex_seen(section, digits)) for section in page.sections
        )
        for name, seen in name_files_apart(pair for pair in tables if pair[1]):
            (place / f"{name}.tex").write_text(seen, "utf-8")
        (place / "summary.csv").write_text(comma_separated(page), "utf-8")
        (place / NUMBERS).write_bytes(pack_json(official, place / NUMBERS) + b"\n")
        (place / "figures").mkdir()
        for name, picture in name_files_apart(pictures(page)):
            (place / "figures" / f"{name}.svg").write_text(standalone(picture), "utf-8")
        for name, content in (extra or {}).items():
            path = join_inside(place, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return folder / "index.html"


def asset(name: str) -> str:
    """The text of a file next to this one: a style sheet or a script that becomes part of the page."""
    return files("nikawa.reporting").joinpath(name).read_text("utf-8")


def style_sheet() -> str:
    """The style of a report: colours, type, tables and plots, which the pages of a leaderboard share, then what is its own."""
    return asset("base.css") + asset("page.css")


def document(
    page: Page,
    items: Mapping[str, ItemColumns],
    digits: int = DIGITS,
    unit: TableUnit = "percent",
) -> str:
    """The page as one HTML text, with scores in `unit`.

    Its content policy lets nothing be loaded and runs the one script that has this hash, so that a script inside a text of
    the data would not run even if it were not escaped.
    """
    page = page_in_table(add_places(page), unit)
    script, style = asset("page_browser.js") + asset("page.js"), style_sheet()
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
        legend=f"{legend(page)} {explain_ties(page)}".strip(),
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
    """Every plot under the name of its file without `.svg`; two plots may have the same name here."""
    for section in page.sections:
        makers = {
            "scores": score_plot,
            "slices": slice_plot,
            "curve": curve_plot if section.curves else None,
            "stress": stress_plot if section.stress else None,
            "settings": lambda one: settings_plot(one.choices) if one.choices is not None else "",
        }
        for kind, make in makers.items():
            picture = make(section) if make is not None else ""
            if picture:
                yield f"{slug(section.name)}-{kind}", picture
        yield from system_pictures(section)
        yield from training_pictures(section)
    for i, one in enumerate(page.choices):
        if picture := settings_plot(one):
            yield f"{slug(one.name)}-{other_plot_kind(i)}", picture


def name_files_apart(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The same under names that can be files', with a number behind those that are taken: `A b` and `a-b` would share a file."""
    taken = set[str]()
    for name, picture in named:
        short = name.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
        free = next(n for n in chain([short], (f"{short}-{i}" for i in count(2))) if n not in taken)
        taken.add(free)
        yield free, picture


def standalone(picture: str) -> str:
    """A plot with the colours it has on the page, written out: many programs know no CSS variables."""
    style = asset("base.css")
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
    return re.sub(r"var\(--(\w+)\)", lambda match: colours.get(match[1], match[0]), style)


def render_method(page: Page) -> Markup:
    """The last section: the sources of the numbers and how to reproduce them."""
    runs = _runs(page.runs, "runs", "")
    if page.choosing:
        runs += _runs(page.choosing, "choosing", " that chose settings")
    runs += show_lost_prompts(page)
    if usage := show_usage(page):
        runs += detail("Requests and cost", usage)
    return render(
        "method.html",
        page=page,
        over_seeds=describe_seed_intervals(page),
        tests_place=f"{NUMBERS}#/rounds {NUMBERS}#/tests",
        swaps=f"; {page.swaps:,} for metrics that are recomputed on every resample"
        if page.swaps
        else "",
        least_p=describe_least_p(page),
        files=show_files(page),
        runs=runs,
        details=detail("Versions of packages", show_packages(page))
        + detail("Data", show_data(page)),
    )


def describe_seed_intervals(page: Page) -> str:
    """How seeds are a part of the intervals, by metric."""
    numbers: list[tuple[str, Number]] = []
    for section in page.sections:
        for row in section.rows:
            numbers += row.metrics.items()
    for section in page.sections:
        numbers += [(part.metric, part.number) for part in section.parts]
    several = [one for one in numbers if one[1].sd is not None and one[1].low is not None]
    means = list(dict.fromkeys(metric for metric, number in several if number.by == "t"))
    if not means:
        return " and, if a system has several seeds, of seeds."
    others = list(dict.fromkeys(metric for metric, _ in several if metric not in means))
    drawn = ""
    if others:
        drawn = f" The intervals of {', '.join(others)} come from resamples of examples and seeds."
    return (
        f". If a system has several seeds, the intervals of {', '.join(means)} (means over examples) use Student's t over examples and "
        "seeds, with the variances of the tests below and Satterthwaite's degrees of freedom, because resampling a few seeds gives "
        f"intervals that are too narrow. This applies to scores and slices.{drawn} Single labels, calibration and perturbations are "
        "resampled over examples only."
    )


def describe_least_p(page: Page) -> str:
    """The least p that the tests can show after correction, in words; empty where nothing is resampled."""
    least = find_least_p(page)
    return (
        "" if least is None else f"; the smallest p-value that these rounds can give is {least:.2g}"
    )


def explain_ties(page: Page) -> str:
    """Which letters are shared for another reason than a small difference, in words; empty where there is no such reason."""
    reasons = []
    least = find_least_p(page)
    if least is not None and least >= SIGNIFICANCE_LEVEL:
        reasons.append(
            f"There are too few rounds for this many tests: the p-value of single runs cannot fall below {least:.2g}, so systems can "
            "share a letter even if their difference is large. Make the report again with more --rounds."
        )
    undefined = 0
    for section in page.sections:
        for pair in section.pairs:
            undefined += pair.p is None and pair.difference.value is not None
    if undefined:
        pairs = "one pair" if undefined == 1 else f"{undefined:,} pairs"
        reasons.append(f"The test of {pairs} has no p-value and counts as a tie.")
    return " ".join(reasons)


def find_least_p(page: Page) -> float | None:
    """The least p that resampled tests can show after Holm's correction.

    Tests of single runs are resampled, and r rounds give no p below 1 / (r + 1). None where no task has two systems of a
    single run.
    """
    single_runs = []
    for section in page.sections:
        single_runs.append(sum(len(row.seeds) == 1 for row in section.rows))
    if max(single_runs, default=0) < 2:
        return None
    return min(1.0, page.tests / ((page.swaps or page.rounds) + 1))


def show_files(page: Page) -> Markup:
    """The files next to the page: only those that this report has."""
    files = {
        "numbers.json": "every number of this page with its source",
        "summary.csv": "every score, unrounded",
        "summary.md, summary.tex": "the summary for a README and for a paper",
        "figures/*.svg": "the plots as separate files",
    }
    if any(map(systems_with_parts, page.sections)):
        files["*-seen.tex"] = "the seen/unseen table for a paper"
    if any(section.analysed for section in page.sections):
        files["analyses/*.json"] = "slices, confusion matrices, calibration and other analyses"
    if any(note.source for section in page.sections for note in section.findings):
        files["dataset/*.json"] = "agreement of workers, words that predict labels"
    rows = []
    for names, words in files.items():
        codes = [html("<code>{}</code>", name) for name in names.split(", ")]
        rows.append([Markup(", ").join(codes), words])
    return table(["file", "holds"], rows)


def _runs(runs: Sequence[RunRow], key: str, which: str) -> Markup:
    rows: list[Row] = []
    for run in runs:
        file = f"{run.folder}/run.json"
        id_ = run.folder.rpartition("--")[2]
        link = html('<code id="run-{}"><a href="{}">{}</a></code>', id_, file, run.folder)
        settings = ", ".join(f"{name}={value}" for name, value in run.settings.items())
        seed = TableCell(str(run.seed), f"{file}#/seed")
        rows.append([link, run.task, run.system, seed, TableCell(settings, f"{file}#/settings")])
    place = inside(NUMBERS, key)
    shown = table(["run", "task", "system", "seed", "settings"], rows, (3,), f"Runs{which}", place)
    files = source_line(*(f"{run.folder}/run.json" for run in runs))
    words = f"{len(rows):,} run{'' if len(rows) == 1 else 's'}{which}"
    return detail(words, shown + files, place)


USAGE_COUNTS = ("requests", "kept", "tokens_in", "tokens_out", "retries", "cost")


LOSSES = {"lost_shots": "lost shots", "truncated": "truncated"}
"""Counts of prompts that did not fit into a local model, and their columns."""


def show_usage(page: Page) -> Markup:
    """The requests of the runs to prompted models, and their cost; empty without a request."""
    rows: list[Row] = []
    usages = [run.usage for run in (*page.choosing, *page.runs) if run.usage is not UNSET]
    losses = [name for name in LOSSES if any(name in usage for usage in usages)]
    sums = dict.fromkeys((*USAGE_COUNTS, *losses), 0.0)
    for run in (*page.choosing, *page.runs):
        if run.usage is UNSET:
            continue
        place = inside(f"{run.folder}/about.json", "model", "usage")
        counts = {name: run.usage.get(name, 0) for name in USAGE_COUNTS}
        for name in ("cost_unmetered", "cost_lost"):
            counts["cost"] += run.usage.get(name, 0)
        counts |= {name: run.usage[name] for name in losses if name in run.usage}
        cells = [
            TableCell(_format_count(name, counts[name]), inside(place, name))
            if name in counts
            else TableCell("—")
            for name in sums
        ]
        rows.append([run.task, run.system, str(run.seed), *cells])
        sums = {name: value + counts.get(name, 0) for name, value in sums.items()}
    if not rows:
        return Markup("")
    if len(rows) > 1:
        rows.append(["total", "", "", *(_format_count(name, sums[name]) for name in sums)])
    counts_shown = ["requests", "cached", "tokens in", "tokens out", "retries", "cost"]
    counts_shown += [LOSSES[name] for name in losses]
    return table(["task", "system", "seed", *counts_shown], rows, 2, "Requests and cost")


def show_lost_prompts(page: Page) -> Markup:
    """A line for each run with prompts that did not fit into the model."""
    lines = Markup("")
    for run in (*page.choosing, *page.runs):
        usage = {} if run.usage is UNSET else run.usage
        for name, loss in (
            ("lost_shots", "few-shot examples"),
            ("truncated", "their beginning"),
        ):
            if usage.get(name):
                place = inside(f"{run.folder}/about.json", "model", "usage", name)
                count = f"{usage[name]:,} of {usage.get('requests', 0):,} prompts"
                words = f"{run.task}, {run.system}, seed {run.seed}: {count} did not fit and lost {loss}."
                lines += html("<p>{}</p>", small(words, place))
    return lines


def _format_count(name: str, value: float) -> str:
    """A count, or money with four decimals; a dash where no price was set."""
    if name == "cost":
        return f"{value:.4f}" if value else "—"
    return f"{value:,.0f}"


def show_packages(page: Page) -> Markup:
    """The versions of all packages that the runs were made with, the main ones first."""
    versions: dict[str, dict[str, str]] = {}
    for run in page.runs:
        place = f"{run.folder}/about.json"
        versions.setdefault("python", {}).setdefault(run.python, inside(place, "python"))
        for name, version in run.packages.items():
            versions.setdefault(name, {}).setdefault(version, inside(place, "packages", name))
    first = [name for name in ("python", *FIRST_PACKAGES) if name in versions]
    rows: list[Row] = []
    places: list[str] = []
    for name in (*first, *sorted(set(versions) - set(first))):
        own = versions[name]
        rows.append([name, TableCell(", ".join(sorted(own)), " ".join(own.values()))])
        places += own.values()
    return table(["package", "version"], rows) + source_line(*places)


def show_data(page: Page) -> Markup:
    """Every set that the runs read, with version, digest and size."""
    places: dict[tuple[str, str, str, str], str] = {}
    for run in page.runs:
        for i, (name, version, digest, n) in enumerate(run.data):
            place = f"{run.folder}/run.json#/data/{i}"
            places.setdefault((name, version, digest, f"{n:,}"), place)
    keys = ("name", "version", "digest", "n")
    rows = []
    for row in sorted(places):
        place = places[row]
        cells = zip(row, keys, strict=True)
        rows.append([TableCell(cell, inside(place, key)) for cell, key in cells])
    shown = table(["set", "version", "digest", "examples"], rows, (3,))
    return shown + source_line(*places.values())
