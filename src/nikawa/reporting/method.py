"""How the numbers of a report were made: runs, data, settings, and the commands that make them anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nikawa.reporting.fragments import Cell, command, detail, table, text
from nikawa.reporting.page_data import Page, RunRow
from nikawa.reporting.section import parted
from nikawa.reporting.sources import NUMBERS, inside, source, source_line

KEPT = ("nikawa", "numpy", "scikit-learn", "torch", "transformers")
"""Packages named first; the others are in about.json."""


def method(page: Page) -> str:
    """The last section."""
    return (
        '<section id="method" aria-labelledby="h-method"><header><h2 id="h-method">How these numbers were made</h2></header>'
        + "".join(_parts(page))
        + "</section>"
    )


def _parts(page: Page) -> Iterator[str]:
    yield (
        "<p>Scores are those of <code>scores.json</code> in the folder of each run, computed from its answers by the official "
        "metric of the task. Over several seeds they are means; ± is the sample standard deviation. An interval holds the middle "
        f"95% of resamples of examples (of whole groups, such as a premise, where examples belong together){_over_seeds(page)} "
        "Scores and analyses are resampled each by themselves: the ends of an interval may differ in the "
        "last digit between two tables.</p>"
    )
    if page.tests:
        yield (
            f"<p{source(f'{NUMBERS}#/rounds {NUMBERS}#/tests')}>Systems are compared in pairs on the same examples: approximate randomisation ({page.rounds:,} rounds) for single runs, Welch's t over "
            f"examples and seeds for several, and Holm's correction over all {page.tests:,} tests of this page. "
            f"Systems that share a letter cannot be told apart at 5%{_least(page)}. <em>Detectable</em> is the least true difference that this set "
            "would show four times in five.</p>"
        )
    yield (
        '<p id="sources">Every number names its source: under each table and plot, and for a single number where the pointer is held over it. '
        "Paths are seen from the folder of this page; what follows <code>#</code> is the place in the file (a JSON pointer).</p>"
    )
    yield "<h3>Make them anew</h3>" + command("\n".join(page.commands))
    yield "<h3>Files</h3>" + _files(page)
    yield '<h3 id="runs">Runs</h3>' + _runs(page.runs, "runs", "")
    if page.choosing:
        yield _runs(page.choosing, "choosing", " that chose settings")
    yield detail("Versions of packages", _packages(page))
    yield detail("Data", _data(page))


def _over_seeds(page: Page) -> str:
    """How seeds are a part of the intervals, by metric."""
    numbers = [(m, n) for s in page.sections for row in s.rows for m, n in row.metrics.items()]
    numbers += [(part.metric, part.number) for s in page.sections for part in s.parts]
    several = [
        (metric, number)
        for metric, number in numbers
        if number.sd is not None and number.low is not None
    ]
    means = list(dict.fromkeys(metric for metric, number in several if number.by == "t"))
    if not means:
        return " and, where there are several seeds, of seeds."
    others = list(dict.fromkeys(metric for metric, _ in several if metric not in means))
    drawn = (
        f" Those of {text(', '.join(others))} are of resamples of examples and of seeds."
        if others
        else ""
    )
    return (
        f". Where there are several seeds, the intervals of scores and slices under {text(', '.join(means))}, which are means over examples, are "
        "Student's t over examples and seeds, with the variances of the tests below and Satterthwaite's degrees of freedom: resamples of "
        f"a few seeds would be too narrow.{drawn} Single labels, calibration and perturbations are resampled over examples alone."
    )


def _least(page: Page) -> str:
    """The p of the surest difference after correction; where no two systems have a single run, nothing is drawn that could bound it."""
    if all(sum(len(row.seeds) == 1 for row in found.rows) < 2 for found in page.sections):
        return ""
    return (
        f"; the least p these rounds can show is {min(1.0, 2 * page.tests / (page.rounds + 1)):.2g}"
    )


def _files(page: Page) -> str:
    rows = [
        ["<code>numbers.json</code>", "every number of this page with its source"],
        ["<code>summary.csv</code>", "every score, unrounded"],
        [
            "<code>summary.md</code>, <code>summary.tex</code>",
            "the summary for a README and for a paper",
        ],
        ["<code>figures/*.svg</code>", "the plots, each by itself"],
    ]
    if any(map(parted, page.sections)):
        rows.append(["<code>*-seen.tex</code>", "seen and unseen for a paper"])
    if any(found.analysed for found in page.sections):
        rows.append(
            [
                "<code>analyses/*.json</code>",
                "slices, confusion, calibration and the other analyses",
            ]
        )
    if any(note.source for found in page.sections for note in found.findings):
        rows.append(
            ["<code>dataset/*.json</code>", "agreement of workers, words that give labels away"]
        )
    return table(["file", "holds"], rows)


def _runs(runs: Sequence[RunRow], key: str, which: str) -> str:
    rows: list[list[str | Cell]] = [
        [
            f'<code id="run-{text(run.folder.rpartition("--")[2])}"><a href="{text(run.folder)}/run.json">{text(run.folder)}</a></code>',
            text(run.task),
            text(run.system),
            Cell(str(run.seed), f"{run.folder}/run.json#/seed"),
            Cell(
                text(", ".join(f"{k}={v}" for k, v in run.settings.items())),
                f"{run.folder}/run.json#/settings",
            ),
        ]
        for run in runs
    ]
    place = inside(NUMBERS, key)
    shown = table(["run", "task", "system", "seed", "settings"], rows, (3,), f"Runs{which}", place)
    files = source_line(*(f"{run.folder}/run.json" for run in runs))
    return detail(_plural(len(rows)) + which, shown + files, place)


def _plural(n: int) -> str:
    return f"{n:,} run{'' if n == 1 else 's'}"


def _packages(page: Page) -> str:
    found: dict[str, dict[str, str]] = {}
    for run in page.runs:
        place = f"{run.folder}/about.json"
        found.setdefault("python", {}).setdefault(run.python, inside(place, "python"))
        for name, version in run.packages.items():
            found.setdefault(name, {}).setdefault(version, inside(place, "packages", name))
    order = [
        "python",
        *(name for name in KEPT if name in found),
        *sorted(set(found) - {*KEPT, "python"}),
    ]
    rows: list[list[str | Cell]] = [
        [text(name), Cell(text(", ".join(sorted(found[name]))), " ".join(found[name].values()))]
        for name in order
        if name in found
    ]
    places = (place for name in order for place in found.get(name, {}).values())
    return table(["package", "version"], rows) + source_line(*places)


def _data(page: Page) -> str:
    found: dict[tuple[str, str, str, str], str] = {}
    for run in page.runs:
        for i, (name, version, digest, n) in enumerate(run.data):
            found.setdefault((name, version, digest, f"{n:,}"), f"{run.folder}/run.json#/data/{i}")
    keys = ("name", "version", "digest", "n")
    rows = [
        [Cell(text(cell), inside(found[row], key)) for cell, key in zip(row, keys, strict=True)]
        for row in sorted(found)
    ]
    return table(["set", "version", "digest", "examples"], rows, (3,)) + source_line(
        *found.values()
    )
