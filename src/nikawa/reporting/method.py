"""How the numbers of a report were made: runs, data, settings, and the commands that make them anew."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from nikawa.reporting.fragments import Row, TableCell, detail, table
from nikawa.reporting.markup import html, render
from nikawa.reporting.page_data import Number, Page, RunRow
from nikawa.reporting.section import systems_with_parts
from nikawa.reporting.sources import NUMBERS, inside, source_line

FIRST_PACKAGES = ("nikawa", "numpy", "scikit-learn", "torch", "transformers")
"""Packages named first; the others are in about.json."""


def render_method(page: Page) -> Markup:
    """The last section."""
    runs = _runs(page.runs, "runs", "")
    if page.choosing:
        runs += _runs(page.choosing, "choosing", " that chose settings")
    return render(
        "method.html",
        page=page,
        over_seeds=describe_seed_intervals(page),
        tests_place=f"{NUMBERS}#/rounds {NUMBERS}#/tests",
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
        return " and, where there are several seeds, of seeds."
    others = list(dict.fromkeys(metric for metric, _ in several if metric not in means))
    drawn = ""
    if others:
        drawn = f" Those of {', '.join(others)} are of resamples of examples and of seeds."
    return (
        f". Where there are several seeds, the intervals of scores and slices under {', '.join(means)}, which are means over examples, are "
        "Student's t over examples and seeds, with the variances of the tests below and Satterthwaite's degrees of freedom: resamples of "
        f"a few seeds would be too narrow.{drawn} Single labels, calibration and perturbations are resampled over examples alone."
    )


def describe_least_p(page: Page) -> str:
    """The p of the surest difference after correction; where no two systems have a single run, nothing is drawn that could bound it."""
    single_runs = []
    for section in page.sections:
        single_runs.append(sum(len(row.seeds) == 1 for row in section.rows))
    if max(single_runs, default=0) < 2:
        return ""
    return (
        f"; the least p these rounds can show is {min(1.0, 2 * page.tests / (page.rounds + 1)):.2g}"
    )


def show_files(page: Page) -> Markup:
    """What lies beside the page: those files alone that this report has."""
    files = {
        "numbers.json": "every number of this page with its source",
        "summary.csv": "every score, unrounded",
        "summary.md, summary.tex": "the summary for a README and for a paper",
        "figures/*.svg": "the plots, each by itself",
    }
    if any(map(systems_with_parts, page.sections)):
        files["*-seen.tex"] = "seen and unseen for a paper"
    if any(section.analysed for section in page.sections):
        files["analyses/*.json"] = "slices, confusion, calibration and the other analyses"
    if any(note.source for section in page.sections for note in section.findings):
        files["dataset/*.json"] = "agreement of workers, words that give labels away"
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
