"""More of a task: calibration, overlap, learning curves, missing inputs, perturbations, suspected labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nikawa.analyse.result_parts import Figure, Overlap
from nikawa.analyse.results import PartialInput, Suspects
from nikawa.report import page_plots as plots
from nikawa.report.page_data import Analysed, Number, Section
from nikawa.report.page_plots import Dot, Line, within
from nikawa.report.page_words import detail, figures, number, p_value, slug, source, table, text

SUSPECTS = 10


def figure(picture: str, found: Section, kind: str, caption: str = "") -> str:
    """A picture with the name of its file."""
    if not picture:
        return ""
    file = f"figures/{slug(found.name)}-{kind}.svg"
    words = f"{text(caption)} " if caption else ""
    return f'<figure data-src="{file}">{picture}<figcaption>{words}<a class="file" href="{file}">svg</a></figcaption></figure>'


def dot(found: Number | Figure, series: int = 0, note: str = "") -> Dot:
    """A number as a dot."""
    return Dot(found.value, found.low, found.high, series, note)


def reliability_plot(part: Analysed) -> str:
    """Share right against probability; empty where a model gives none."""
    found = part.analysis.calibration
    if found is None:
        return ""
    bins = [(b.confidence, b.accuracy, b.low, b.high, b.n) for b in found.bins]
    return plots.reliability(bins, f"Reliability of {part.system}")


def calibration(analysed: Sequence[Analysed]) -> str:
    """How far probabilities can be trusted, a plot a system."""
    shown = []
    for part in analysed:
        found = part.analysis.calibration
        if found is None:
            continue
        picture = reliability_plot(part)
        words = f"calibration error {found.ece:.3f}, Brier {figures(found.brier.value, 'fraction', 1)}"
        chance = "no more than chance makes" if found.ece <= found.ece_chance else "more than chance makes"
        shown.append(
            f"<figure{source(part.source)}><figcaption>{text(part.system)}<span class=ci>{text(words)} ({chance})</span>"
            f"</figcaption>{picture}</figure>"
        )
    if not shown:
        return ""
    words = "How often answers of a given probability are right. Below the diagonal a model is surer than it should be."
    return f'<div class="block"><h3>Calibration</h3><p class="soft">{words}</p><div class="multiples">{"".join(shown)}</div></div>'


def overlap(analysed: Sequence[Analysed], digits: int) -> str:
    """How much of one input is found in the other, and what that has to do with being right."""
    parts = [(part, part.analysis.overlap) for part in analysed if part.analysis.overlap is not None]
    if not parts:
        return ""
    first = parts[0][1]
    words = (
        f"Of the words of the {first.of}, a share of {figures(first.mean.value, 'fraction', 1)} is found in the "
        f"{first.inside} on average (segmentation: {first.segmentation})."
    )
    labels = ", ".join(f"{label} {share:.3f}" for label, share in first.labels.items())
    words += f" By gold: {labels}." if labels else ""
    rows = [row for part, found in parts for row in _overlap_rows(part, found, digits)]
    names = ["system", "overlap", "n", first.metric, "Spearman's ρ"]
    shown = table(names, rows, range(1, 5), f"{first.metric} by overlap")
    return detail("Overlap of the inputs", f'<p class="soft">{text(words)}</p>{shown}')


def _overlap_rows(part: Analysed, found: Overlap, digits: int) -> Iterator[list[str]]:
    rho, unit = found.correlation, part.analysis.unit
    for i, one in enumerate(found.bins):
        score = Number(value=one.value, low=one.low, high=one.high, unit=unit, n=one.n, source=part.source)
        relation = Number(value=rho.value, low=rho.low, high=rho.high, unit="fraction", source=part.source)
        yield [
            "" if i else text(part.system),
            f"{one.least:.2f}–{one.most:.2f}",
            f"{one.n:,}",
            number(score, digits),
            "" if i else number(relation, 1),
        ]


def across(found: Section, digits: int) -> Iterator[str]:
    """What is seen in several runs: learning curves, missing inputs, perturbations."""
    if found.curves:
        yield f'<div class="block"><h3>Learning curve</h3>{figure(curve_plot(found), found, "curve")}</div>'
    if found.partial:
        rows = [_partial(part, digits) for part in found.partial]
        names = [
            "system",
            "accuracy",
            "always the most frequent",
            "difference",
            "p (Holm)",
            "with all inputs",
        ]
        shown = table(names, rows, range(1, len(names)), "With some of the inputs only")
        yield f'<div class="block"><h3>What the inputs give away</h3>{shown}</div>'
    if found.stress:
        words = "How often an answer stays the same when the example is perturbed; the label of the original decides what should happen."
        picture = figure(stress_plot(found), found, "stress")
        yield f'<div class="block"><h3>Under perturbation</h3><p class="soft">{words}</p>{picture}</div>'


def _partial(part: PartialInput, digits: int) -> list[str]:
    gap = Number(value=part.difference.value, low=part.difference.low, high=part.difference.high, n=part.n)
    score = Number(
        value=part.score.value, low=part.score.low, high=part.score.high, sd=part.score.sd, n=part.n
    )
    return [
        f"{text(part.model)} <span class=soft>{text('+'.join(part.inputs))} only</span>",
        number(score, digits),
        f"{figures(part.majority, 'percent', digits)}<span class=ci>{text(part.majority_label)}</span>",
        number(gap, digits),
        p_value(part.p_holm),
        "" if part.full is None else figures(part.full, "percent", digits),
    ]


def curve_plot(found: Section) -> str:
    """Score against training examples."""
    first = found.curves[0]
    paths = [
        plots.Path(
            curve.model,
            [
                (float(p.trained), dot(p.score, note=f"{p.trained:,} examples: {p.score.value}"))
                for p in curve.points
            ],
        )
        for curve in found.curves
        if curve.metric == first.metric
    ]
    title = f"{first.metric} on {found.name} by training examples"
    return plots.curves(paths, title, "training examples", within(first.unit, first.metric))


def stress_plot(found: Section) -> str:
    """Operations against the share of answers that stay."""
    models = [f"{s.model} ({s.variation})" if s.variation else s.model for s in found.stress]
    cells = {
        (c.operation, i): c
        for i, s in enumerate(found.stress)
        for c in s.cells
        if not c.gold and not c.case and c.value is not None
    }
    operations = list(dict.fromkeys(operation for operation, _ in cells))
    lines = []
    for operation in operations:
        own = [(i, cells[operation, i]) for i in range(len(models)) if (operation, i) in cells]
        dots = [Dot(c.value, c.low, c.high, i, f"{models[i]}: {c.value:.1f} of {c.n:,}") for i, c in own]
        lines.append(Line(operation, dots, note=f"{own[0][1].n:,}"))
    low = -100.0 if found.stress[0].measure == "pearson" else 0.0
    return plots.dot_plot(lines, f"Answers that stay, {found.name}", (low, 100.0), models) if lines else ""


def suspects(found: Sequence[Suspects], place: str) -> str:
    """Labels that systems speak against."""
    shown = []
    for part in found:
        rows = [
            [
                text(item.example),
                text(item.gold),
                text(item.suggested),
                f"{item.p_gold:.2f}",
                f"{item.p_suggested:.2f}",
                f"{item.against} of {item.systems}",
            ]
            for item in part.items[:SUSPECTS]
        ]
        names = ["example", "gold", "suggested", "p of gold", "p of suggested", "systems against"]
        if rows:
            sheet = (
                f"{part.total:,} in all; nikawa analyse writes the sheet for workers ({part.sheet})"
                if part.sheet
                else f"{part.total:,} in all"
            )
            shown.append(table(names, rows, range(3, 6), f"{part.set}: {sheet}"))
    if not shown:
        return ""
    words = "Labels that the systems speak against with confidence. Models are wrong more often than people: look before you change anything."
    body = f'<p class="soft"{source(place)}>{words}</p>{"".join(shown)}'
    return detail(f"Suspected label errors: {sum(part.total for part in found):,}", body)
