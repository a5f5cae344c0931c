"""A page about the agreement of judgements: measures with intervals, distribution, workers, confusion. One HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from nikawa.aggregation.kappa import WIDE, comparable, confusions, pair_kappas
from nikawa.aggregation.span_agreement import are_spans
from nikawa.aggregation.table import Table
from nikawa.io.atomic import atomic_folder
from nikawa.reporting import agreement_plots as plots
from nikawa.reporting.agreement_plots import text

FONTS = '"Noto Sans CJK JP","Noto Sans CJK KR","Noto Sans JP","Noto Sans KR","Hiragino Sans","Apple SD Gothic Neo",sans-serif'
STYLE = f"""
:root{{--paper:#fff;--ink:#1f2328;--soft:#656d76;--rule:#e3e6ea;--one:#2f6fb5;--s1:#8fb8de;--s2:#d9822b;--s3:#b8bec6}}
@media(prefers-color-scheme:dark){{:root{{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--rule:#262c36;--one:#6cb0f5;--s1:#33608f;--s2:#e09b4f;--s3:#4a525c}}}}
body{{margin:2.2rem auto;max-width:60rem;padding:0 1.2rem;background:var(--paper);color:var(--ink);font:15px/1.55 {FONTS}}}
h1{{font-size:1.5rem;margin:0}}h2{{font-size:1.1rem;margin:2.2rem 0 .6rem}}p{{margin:.4rem 0;max-width:46rem}}.soft{{color:var(--soft);fill:var(--soft)}}
table{{border-collapse:collapse}}th,td{{padding:.2rem .9rem .2rem 0;text-align:left;border-bottom:1px solid var(--rule)}}
td.n{{text-align:right;font-variant-numeric:tabular-nums}}svg{{max-width:100%;height:auto;display:block}}
svg text{{font:13px {FONTS};fill:var(--ink)}}svg text.soft{{fill:var(--soft)}}svg text.on{{fill:var(--paper)}}
.rule{{stroke:var(--rule);fill:none}}.wire{{stroke:var(--one);stroke-width:2.5;stroke-opacity:.45}}.dot,.bar,.heat,.s0{{fill:var(--one)}}
.s1{{fill:var(--s1)}}.s2{{fill:var(--s2)}}.s3{{fill:var(--s3)}}.tag{{paint-order:stroke;stroke:var(--paper);stroke-width:3px}}
"""


class Row(Protocol):
    """A measure with its interval."""

    @property
    def name(self) -> str:
        """Of the measure."""

    @property
    def level(self) -> str:
        """Of measurement."""

    @property
    def value(self) -> float | None:
        """None where undefined."""

    @property
    def low(self) -> float | None:
        """Lower end."""

    @property
    def high(self) -> float | None:
        """Upper end."""


def write_page(folder: Path, report: Any, table: Table, *, overwrite: bool = False) -> Path:
    """Write `index.html`, which needs nothing else, into a new folder."""
    with atomic_folder(folder, overwrite=overwrite) as place:
        (place / "index.html").write_text(page(report, table), encoding="utf-8")
    return folder / "index.html"


def page(report: Any, table: Table) -> str:
    """The page of an agreement report (see `nikawa.aggregation.agree.AgreeReport`)."""
    title = f"Agreement: {report.judgements}, {report.question}"
    body = "\n".join(_sections(report, table, title))
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _sections(report: Any, table: Table, title: str) -> Iterator[str]:
    yield f"<h1>{text(title)}</h1>"
    yield (
        f'<p class="soft">{report.items:,} items, {report.workers:,} workers ({text(report.workers_are)}), '
        f"{report.answers:,} answers; 95% intervals from {report.resamples:,} resamples of items.</p>"
    )
    yield "<h2>Measures</h2>" + _measures(report.measures)
    if report.counts:
        yield "<h2>Items</h2>" + plots.standing_bar(report.counts)
    yield from (f'<p class="soft">{text(remark)}</p>' for remark in report.remarks)
    if are_spans(table):
        yield "<h2>Spans by label</h2>" + _labels(report.distribution)
    else:
        yield from _answers(report, table)
    yield from _rest(report)


def _labels(counts: Mapping[str, int]) -> str:
    if not counts:
        return '<p class="soft">Nobody marked any.</p>'
    names = [name or "without a label" for name in counts]
    return plots.bars(names, list(counts.values()), sum(counts.values()))


def _answers(report: Any, table: Table) -> Iterator[str]:
    yield "<h2>Answers</h2>" + plots.distribution(table)
    if len(table.categories) <= WIDE:
        yield "<h2>Where one worker says the row, what do others say?</h2>"
        yield plots.heat(table.categories, plots.coincidences(table), "Answers against answers")
    yield "<h2>Workers</h2>" + plots.worker_map(table)
    if report.workers_are == "columns":
        yield '<p class="soft">Workers are columns here: who filled which cell is not known.</p>'
    if comparable(table):
        yield "<h2>Cohen's kappa between workers</h2>"
        order = sorted(range(len(table.workers)), key=lambda i: str(table.workers[i]))
        kappas = _between(table)[order][:, order]
        yield plots.heat([table.workers[i] for i in order], kappas, "Kappa between workers")


def _between(table: Table) -> Any:
    """Kappa of each pair of workers; nobody is held against themselves."""
    import numpy as np

    kappas = pair_kappas(confusions(table))
    np.fill_diagonal(kappas, np.nan)
    return kappas


def _rest(report: Any) -> Iterator[str]:
    if report.slices:
        yield "<h2>Slices</h2>"
    for part in report.slices:
        yield f"<h3>{text(part.where)} <span class=soft>{part.items:,} items</span></h3>"
        yield _measures(part.measures)
    if report.notes:
        rows = "".join(
            f"<tr><td>{text(n.what)}</td><td class=n>{n.count:,}</td><td>{text(n.done)}</td>"
            f"<td>{', '.join(map(str, n.lines))}</td></tr>"
            for n in report.notes
        )
        yield f"<h2>What was odd about the file</h2><table><tr><th>what<th>how often<th>done<th>first lines</tr>{rows}</table>"


def _measures(rows: Sequence[Row]) -> str:
    lines = "".join(_line(row) for row in rows)
    return f"<table><tr><th>measure<th>level<th>value<th>95% interval<th></tr>{lines}</table>"


def _line(row: Row) -> str:
    start = f"<tr><td>{text(row.name)}</td><td class=soft>{text(row.level)}</td>"
    if row.value is None or row.low is None or row.high is None:
        return f"{start}<td class=n>undefined</td><td></td><td></td></tr>"
    bounded = row.low >= -1 and row.high <= 1 and not row.name.startswith(("variance", "sd"))
    picture = plots.whisker(row.value, row.low, row.high) if bounded else ""
    return f"{start}<td class=n>{row.value:.4f}</td><td class=n>{row.low:.4f} to {row.high:.4f}</td><td>{picture}</td></tr>"
