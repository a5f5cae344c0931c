"""The summary of a report as tables for elsewhere: `summary.md`, `summary.tex`, `TASK-seen.tex` and `summary.csv`.

Markdown and LaTeX have one row per system and one column per task, with its first metric. CSV has every metric of every set, a
line each, unrounded, with the place each number is from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from nikawa.reporting.fragments import figures, plain
from nikawa.reporting.page_data import Number, Page, Section, SystemRow
from nikawa.reporting.section import (
    count_answered,
    is_best,
    rows_with_gaps,
    seen_grid,
    training_title,
)
from nikawa.reporting.tables import TextTable, escape
from nikawa.stats.results import NO_INTERVAL, TOO_FEW

DAGGER = r"$^{\dagger}$"
LETTERS = {"Δ": r"$\Delta$"}


def main_row(section: Section, system: str) -> SystemRow | None:
    """The row of a system on a task."""
    return next((row for row in section.rows if row.system == system), None)


def column_name(section: Section) -> str:
    """A task and the metric that stands for it."""
    return f"{section.name} {section.metrics[0]}"


def is_behind_best(section: Section, row: SystemRow) -> bool:
    """Whether a system differs significantly from the best one by the first metric: they share no letter."""
    metric = section.metrics[0]
    leaders = [r for r in section.rows if is_best(section, r, metric)]
    letters = set("".join(r.ties.get(metric, "") for r in leaders))
    return bool(letters) and not letters & set(row.ties.get(metric, ""))


def markdown(page: Page, digits: int) -> str:
    """One table: one row per system, one column per task; letters are tie groups."""
    rows = []
    for system in page.systems:
        cells = [format_markdown_cell(section, system, digits) for section in page.sections]
        rows.append([system, *cells])
    columns = ["system", *map(column_name, page.sections)]
    body = TextTable(columns, rows, columns[1:]).markdown()
    return f"# {page.title}\n\n{body}\n\n{legend(page)}\n"


def legend(page: Page) -> str:
    """What the marks of the Markdown table mean, and of the summary on the page: of those that are in it.

    It says how intervals and tests were computed, so that a table can be read without the page.
    """
    numbers = [
        row.metrics[s.metrics[0]]
        for s in page.sections
        for row in s.rows
        if s.metrics[0] in row.metrics
    ]
    seeds = any(number.sd is not None for number in numbers)
    parts = ["± is the standard deviation over seeds."] if seeds else []
    if any(number.value is not None and number.low is not None for number in numbers):
        over = "examples, and over seeds if there are several" if seeds else "examples"
        parts.append(f"Ranges are 95% confidence intervals over {over}.")
    if any(number.few for number in numbers):
        parts.append(f"{NO_INTERVAL}: {TOO_FEW}")
    if any(row.unanswered for s in page.sections for row in s.rows):
        parts.append("An item without an answer scores 0; a correlation leaves it out.")
    if page.tests:
        parts.append(
            f"The best score is bold. Systems that share a letter are not significantly different ({_tests(page, seeds)}, 5%)."
        )
    return " ".join([*parts, *describe_numbers(page)])


def describe_numbers(page: Page) -> Iterator[str]:
    """What a reader must know of the scores beyond their marks: the unit, the sets, what is not scored."""
    yield from describe_units(page)
    yield from describe_protocols(page.sections)
    for section in page.sections:
        for name, count in (section.hidden or {}).items():
            yield f"{count:,} examples of {section.name} {name} are not scored: their labels are hidden."


def describe_units(page: Page) -> Iterator[str]:
    """Which scores are in another unit than their official scorers report; nothing where none is."""
    if page.converted:
        yield f"Scores are in percent; the official scorers of {', '.join(page.converted)} report fractions."


def describe_protocols(sections: Sequence[Section]) -> Iterator[str]:
    """Where results are not on train, dev and test as published, in one sentence per kind; nothing where all are.

    "Not as published" is for what the field does not report. A dataset declares on which split the field reports its
    results (`RunProtocol.reported_on`): where test labels were never published, that is dev. A custom dataset was never published.
    """
    usual: dict[str, list[str]] = {}
    for section in sections:
        if section.protocol and not section.departs:
            usual.setdefault(section.protocol, []).append(section.name)
    for mark, names in usual.items():
        yield f"{mark[:1].upper()}{mark[1:]}: {', '.join(names)}."
    departing = [f"{s.name}: {s.protocol}" for s in sections if s.protocol and s.departs]
    if departing:
        yield f"Not as published: {'; '.join(departing)}."


def _tests(page: Page, seeds: bool) -> str:
    """The tests of differences between systems; with several seeds there is no resampling."""
    how = "over examples and seeds" if seeds else f"with {page.rounds:,} resamples"
    if page.swaps and not seeds:
        how += f" ({page.swaps:,} for metrics that are recomputed on every resample)"
    tests = "1 test" if page.tests == 1 else f"{page.tests:,} tests"
    return f"paired tests {how}, Holm's correction over {tests}"


def format_markdown_cell(section: Section, system: str, digits: int) -> str:
    """The score of a system on a task; bold where it is the best, with the letters of its ties."""
    row, metric = main_row(section, system), section.metrics[0]
    if row is None or metric not in row.metrics:
        return ""
    number = row.metrics[metric]
    shown = plain(number, digits)
    if number.value is None:
        return shown
    shown = f"**{shown}**" if is_best(section, row, metric) else shown
    shown += f", {count_answered(section, row)} answered" if row.unanswered else ""
    return f"{shown} {row.ties.get(metric, '')}".strip()


def latex(page: Page, digits: int) -> str:
    r"""A booktabs table: the best bold, ± over seeds, a dagger if a system differs significantly from the best."""
    head = " & ".join(["System", *(escape(section.name) for section in page.sections)])
    second = " & ".join(
        ["", *(rf"\small {escape(section.metrics[0])}" for section in page.sections)]
    )
    body = [
        " & ".join([escape(s), *(_latex_cell(section, s, digits) for section in page.sections)])
        for s in page.systems
    ]
    marked = any(
        is_behind_best(section, row)
        for section in page.sections
        for system in page.systems
        if (row := main_row(section, system)) is not None
    )
    return wrap_latex_table(
        "l" + "r" * len(page.sections), [head, second], body, describe_latex_marks(page, marked)
    )


def wrap_latex_table(shape: str, head: list[str], body: list[str], caption: str) -> str:
    """A floating table; lines that begin with a command, such as a rule, get no line end."""
    lines = [
        r"% \usepackage{booktabs}; Japanese and Korean names need LuaLaTeX or XeLaTeX with a font that has them",
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        *(rf"{line} \\" for line in head),
        r"\midrule",
        *(line if line.startswith("\\") else rf"{line} \\" for line in body),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_seen(section: Section, digits: int) -> str:
    """Seen and unseen as a booktabs table; empty without such results."""
    trained, grid = seen_grid(section)
    if not grid:
        return ""
    body: list[str] = []
    for model, lines in grid.items():
        body += [r"\midrule"] if body else []
        body += [
            " & ".join(
                [
                    escape(model) if i == 0 else "",
                    LETTERS.get(where, where),
                    *("" if one is None else _latex_number(one[0], digits) for one in line),
                ]
            )
            for i, (where, line) in enumerate(lines.items())
        ]
    head = " & ".join(["Model", "", *(escape(training_title(section, name)) for name in trained)])
    numbers = [
        one[0]
        for lines in grid.values()
        for line in lines.values()
        for one in line
        if one is not None
    ]
    spread = (
        r" Mean over seeds, $\pm$ standard deviation."
        if any(n.sd is not None for n in numbers)
        else ""
    )
    caption = rf"{escape(section.metrics[0].capitalize())} on {escape(section.set)} by training set; $\Delta$ is seen minus unseen.{spread}"
    return wrap_latex_table("ll" + "r" * len(trained), [head], body, caption)


def _latex_number(number: Number, digits: int, best: bool = False) -> str:
    value = figures(number.value, number.unit, digits).replace("−", "$-$")
    value = rf"\textbf{{{value}}}" if best else value
    return value + (
        rf"$_{{\pm {figures(number.sd, number.unit, digits)}}}$" if number.sd is not None else ""
    )


def describe_latex_marks(page: Page, marked: bool) -> str:
    """What the marks of the LaTeX table mean."""
    numbers = [n for section in page.sections for row in section.rows for n in row.metrics.values()]
    sentences = ["Best in bold."] if page.tests else []
    seeds = any(number.sd is not None for number in numbers)
    if seeds:
        sentences.append(r"Mean over seeds, $\pm$ standard deviation.")
    if marked:
        sentences.append(
            rf"{DAGGER}: significantly different from the best ({_tests(page, seeds)}, 5\%)."
        )
    gaps = "; ".join(
        f"{escape(row.system)} {count_answered(section, row)} on {escape(section.name)}"
        for section, row in rows_with_gaps(page.sections)
    )
    if gaps:
        sentences.append(f"Answered: {gaps}.")
    sentences += map(escape, describe_numbers(page))
    return " ".join(sentences)


def _latex_cell(section: Section, system: str, digits: int) -> str:
    row, metric = main_row(section, system), section.metrics[0]
    if row is None or metric not in row.metrics:
        return ""
    shown = _latex_number(row.metrics[metric], digits, is_best(section, row, metric))
    return shown + (DAGGER if is_behind_best(section, row) else "")


COLUMNS = (
    "task",
    "set",
    "where",
    "system",
    "metric",
    "value",
    "unit",
    "low",
    "high",
    "sd",
    "seeds",
    "n",
    "ties",
    "unanswered",
    "source",
)


def comma_separated(page: Page) -> str:
    """Every figure of every task, unrounded, a line each."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(line for section in page.sections for line in list_figures(section))
    return out.getvalue()


def list_figures(section: Section) -> Iterator[list[object]]:
    """The lines of one task: every metric of every system, then further sets and parts."""
    for row in section.rows:
        for metric, number in row.metrics.items():
            yield [
                section.name,
                section.set,
                "",
                _safe(row.system),
                metric,
                *_spread(number),
                len(row.seeds),
                number.n,
                row.ties.get(metric, ""),
                sum(row.unanswered.values()),
                number.source,
            ]
    seeds = {row.system: len(row.seeds) for row in section.rows}
    for part in section.parts:
        number = part.number
        yield [
            section.name,
            part.set,
            part.where,
            _safe(part.system),
            part.metric,
            *_spread(number),
            seeds.get(part.system, ""),
            number.n,
            "",
            "",
            number.source,
        ]


def _safe(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def _spread(number: Number) -> list[object]:
    ends = (number.value, number.unit, number.low, number.high, number.sd)
    return ["" if end is None else end for end in ends]
