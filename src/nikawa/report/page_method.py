"""How the numbers of a report were made: runs, data, settings, and the commands that make them anew."""

from __future__ import annotations

from collections.abc import Iterator

from nikawa.report.page_data import Page, RunRow
from nikawa.report.page_words import command, detail, table, text

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
        "95% of resamples of examples (of whole groups, such as a premise, where examples belong together) and, where there are "
        "several seeds, of seeds. Hold the pointer over a number to see the file and the place it is from.</p>"
    )
    if page.tests:
        yield (
            f"<p>Systems are compared in pairs on the same examples: approximate randomisation for single runs, the bootstrap over "
            f"examples and seeds for several, {page.rounds:,} rounds, and Holm's correction over all {page.tests:,} tests of this page. "
            f"Systems that share a letter cannot be told apart at 5%; the least p these rounds can show is {_least(page):.2g}. <em>Detectable</em> is the least true difference that this set "
            "would show four times in five.</p>"
        )
    yield "<h3>Make them anew</h3>" + command("\n".join(page.commands))
    yield "<h3>Files</h3>" + _files(page)
    yield "<h3>Runs</h3>" + _runs(page)
    yield detail("Versions of packages", _packages(page))
    yield detail("Data", _data(page))


def _least(page: Page) -> float:
    """The p of the surest difference after correction, where seeds were resampled."""
    return min(1.0, 2 * page.tests / (page.rounds + 1))


def _files(page: Page) -> str:
    rows = [
        ["<code>numbers.json</code>", "every number of this page with its source"],
        ["<code>summary.csv</code>", "every score, unrounded"],
        ["<code>summary.md</code>, <code>summary.tex</code>", "the summary for a README and for a paper"],
        ["<code>figures/*.svg</code>", "the plots, each by itself"],
    ]
    if any(found.analysed for found in page.sections):
        rows.append(["<code>analyses/*.json</code>", "slices, confusion, calibration and the other analyses"])
    return table(["file", "holds"], rows)


def _runs(page: Page) -> str:
    rows = [
        [
            f'<code id="run-{text(run.folder.rpartition("--")[2])}">{text(run.folder)}</code>',
            text(run.task),
            text(run.system),
            str(run.seed),
            text(", ".join(f"{key}={value}" for key, value in run.settings.items())),
        ]
        for run in page.runs
    ]
    shown = table(["run", "task", "system", "seed", "settings"], rows, (3,), "Runs")
    return detail(f"{len(rows)} runs", shown)


def _packages(page: Page) -> str:
    found: dict[str, set[str]] = {"python": {run.python for run in page.runs}}
    for run in page.runs:
        for name, version in run.packages.items():
            found.setdefault(name, set()).add(version)
    order = [
        "python",
        *(name for name in KEPT if name in found),
        *sorted(set(found) - {*KEPT, "python"}),
    ]
    rows = [[text(name), text(", ".join(sorted(found[name])))] for name in order]
    return table(["package", "version"], rows)


def _data(page: Page) -> str:
    rows = sorted({line for run in page.runs for line in _sets(run)})
    return table(
        ["set", "version", "digest", "examples"], [[text(cell) for cell in row] for row in rows], (3,)
    )


def _sets(run: RunRow) -> Iterator[tuple[str, str, str, str]]:
    for name, version, digest, n in run.data:
        yield name, version, digest, f"{n:,}"
