"""The pages of a visitor as HTML: from a `BoardView` and the links of a server or a static export, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from nikawa.board.citation import cite_board, cite_entry, format_bibtex
from nikawa.board.links import Links
from nikawa.board.plots import (
    HISTORY_SIZES,
    HistoryPoint,
    bar_ticks,
    draw_bar,
    draw_bar_scale,
    draw_difference,
    draw_history,
    draw_key,
    find_records,
    fit_bars,
    fit_differences,
    has_points_off_axis,
    in_percent,
)
from nikawa.board.views import (
    BoardView,
    ComparisonView,
    EntryView,
    Order,
    ScoreView,
    SplitView,
    TableView,
    TaskView,
    list_columns,
    make_overview,
    make_table,
    parse_parameters,
    sort_overview,
)
from nikawa.board.words import page_messages, say
from nikawa.printable import printable
from nikawa.reporting.plots import SHEET_HEIGHT, Dot, PlotRow, draw_dots
from nikawa.serve.languages import LANGUAGES
from nikawa.serve.markdown import SAFE_LINK, render_markdown
from nikawa.version import __version__

PAGES = Path(str(files("nikawa.board") / "pages"))
MAX_DIGITS = 2
MAX_SHORT_CHARS = 16
"""Of values in a provenance that share a line."""
MAX_SLICES_DRAWN = 60
"""Slices of a system's plot; the table has all."""


@dataclass(frozen=True)
class PageContext:
    """What all pages of a moment share, in one language."""

    board: BoardView
    language: str
    links: Links
    now: float
    about: str = ""
    """What the owner wrote about the board, in Markdown."""

    @property
    def t(self) -> Mapping[str, str]:
        """The messages."""
        return page_messages(self.language)

    @property
    def gap(self) -> str:
        """What separates two sentences."""
        return "" if self.language == "ja" else " "

    def say(self, key: str, **values: Any) -> str:
        """A message with its values."""
        return say(self.language, key, values)

    def name(self, entry: EntryView) -> str:
        """The name of a system, or its label while it is anonymous."""
        return entry.name or self.say("anonymous", id=entry.id[:4])

    def address(self, path: str) -> str:
        """The lasting address of a page, as far as the owner has said where the board is."""
        return f"{self.board.address.rstrip('/')}{path}" if self.board.address else path


def render_task(
    page: PageContext,
    task: TaskView,
    split: SplitView,
    *,
    by: str = "",
    sort: str = "",
    order: Order = "best",
) -> str:
    """The table of a task, and its scores over time."""
    board, links = page.board, page.links
    table = make_table(board, task, split, by=by, sort=sort, order=order)
    bys = dict.fromkeys(one.by for one in task.slices)
    by_tabs = [("", page.t["by_metric"])]
    by_tabs += [
        (one, page.t["by_tag"] if one == "tag" else page.say("by_other", name=one)) for one in bys
    ]
    points = [] if by else _list_points(page, table)
    src = page.address(links.embed(task.name)) if links.can_embed else ""
    return _render(
        "task.html",
        page,
        section="board" if len(board.tasks) == 1 else "task",
        **_table_context(table),
        is_only=len(board.tasks) == 1,
        is_embedded=False,
        canonical=_canonical(page, links.task(task.name)),
        split_tabs=[
            (
                f"{one.name} ({page.t['final_split']})" if one.role == "final" else one.name,
                links.task(task.name, one.name, by),
                one.name == split.name,
            )
            for one in task.splits
        ],
        by_tabs=[
            (name, links.task(task.name, split.name, one), one == by) for one, name in by_tabs
        ],
        history=_draw_history(page, table, points),
        history_kinds=[
            kind
            for kind in ("submission", "run", "baseline")
            if any(point.kind == kind for point in points)
        ],
        history_is_cut=bool(points) and has_points_off_axis(points, table.columns[0].metric),
        history_has_intervals=any(point.score.low is not None for point in points),
        embed_code=f'<iframe src="{src}" title="{escape(page.board.title)}" width="100%" height="420" loading="lazy"></iframe>'
        if src and board.address
        else "",
    )


def render_embed(page: PageContext, task: TaskView, split: SplitView) -> str:
    """The table of a task for a frame on another site."""
    table = make_table(page.board, task, split)
    return _render("embed.html", page, section="", **_table_context(table), is_embedded=True)


def _table_context(table: TableView) -> dict[str, Any]:
    scores = [score for row in table.rows for score in row.scores if score is not None]
    has_intervals = any(score.low is not None and score.high is not None for score in scores)
    axis = None
    if not table.by and has_intervals:
        points = [
            (row.entry.kind, row.main)
            for row in table.rows
            if row.main and row.main.value is not None
        ]
        axis = fit_bars(points, table.columns[0].metric)
    return {
        "task": table.task,
        "table": table,
        "axis": axis,
        "ticks": bar_ticks(axis) if axis else [],
        "digits": [
            count_digits(row.scores[place] for row in table.rows)
            for place in range(len(table.columns))
        ],
        "has_intervals": has_intervals,
        "has_deviations": any(score.sd is not None for score in scores),
        "has_unranked_people": any(row.entry.kind == "human" for row in table.rows),
    }


def render_overview(page: PageContext, sort: str = "", order: Order = "best") -> str:
    """The main scores of all tasks."""
    rows = make_overview(page.board)
    has_mean = any(row.mean is not None for row in rows)
    names = [task.name for task in page.board.tasks]
    chosen = sort if sort in (*names, "name", "mean") else "mean" if has_mean else names[0]
    rows = sort_overview(page.board, rows, chosen, order)
    return _render(
        "overview.html",
        page,
        section="board",
        rows=rows,
        has_mean=has_mean,
        sort=chosen,
        order=order,
        canonical=_canonical(page, "/"),
        digits=[count_digits(row.cells[i][0] for row in rows) for i in range(len(names))],
    )


def render_board(page: PageContext, sort: str = "", order: Order = "best") -> str:
    """The first page: the overview, or the table where there is one task."""
    if len(page.board.tasks) == 1:
        task = page.board.tasks[0]
        return render_task(page, task, task.splits[0], sort=sort, order=order)
    return render_overview(page, sort, order)


def render_system(page: PageContext, entry: EntryView) -> str:
    """The page of a system."""
    board = page.board
    results = []
    slices = []
    for task in board.tasks:
        for split in task.splits:
            for metric in task.metrics:
                score = entry.score(task.name, split.name, metric.name)
                is_main = metric == task.metrics[0]
                if score is not None:
                    rank = entry.rank(task.name, split.name) if is_main else None
                    results.append((score, rank))
            if drawn := _draw_slices(page, entry, task, split):
                slices.append(drawn)
    facts = [
        (page.t["parameters"], entry.parameters),
        (page.t["training_data"], entry.training_data),
        (page.t["licence"], entry.licence),
        (page.t["provenance"], "\n".join(list_provenance(entry.provenance))),
        (page.t["identifier"], entry.id),
    ]
    comparable = _list_comparable(board)
    others = [one for one in comparable if one.id != entry.id] if entry in comparable else []
    return _render(
        "system.html",
        page,
        section="system",
        entry=entry,
        description=Markup(render_markdown(entry.description)),  # noqa: S704  (escapes)
        results=results,
        has_ranks=any(rank is not None for _, rank in results),
        has_seeds=any(score.seeds for score, _ in results),
        slices=slices,
        facts=[(name, words) for name, words in facts if words],
        others=others,
        canonical=_canonical(page, f"/s/{entry.id}"),
        citation=cite_entry(page.language, board, entry, page.name(entry)),
        bibtex=format_bibtex(board, entry, page.name(entry), page.now),
    )


def render_compare(
    page: PageContext,
    a: EntryView | None,
    b: EntryView | None,
    rows: Sequence[ComparisonView] = (),
) -> str:
    """Two systems side by side."""
    axis = fit_differences(rows)
    return _render(
        "compare.html",
        page,
        section="compare",
        a=a,
        b=b,
        choices=_list_comparable(page.board),
        rows=rows,
        axis=axis,
        ticks=bar_ticks(axis) if axis else [],
        digits=max(
            (count_decimals(e) for r in rows for e in (r.difference, r.low, r.high)), default=0
        ),
    )


def render_about(page: PageContext) -> str:
    """What the board is about, and its rules."""
    board = page.board
    return _render(
        "about.html",
        page,
        section="about",
        about=Markup(render_markdown(page.about)),  # noqa: S704  (escapes)
        about_language=page.language,
        rules=list(_list_rules(page)),
        canonical=_canonical(page, "/about"),
        citation=cite_board(page.language, board, page.now),
        bibtex=format_bibtex(board, None, board.title, page.now),
    )


def render_message(page: PageContext, heading: object, text: str, section: str = "") -> str:
    """A page with a sentence."""
    return _render("message.html", page, section=section, heading=heading, text=text)


def _list_rules(page: PageContext) -> Iterable[tuple[str, str]]:
    board, t = page.board, page.t
    dates = []
    if board.opens is not None:
        dates.append(page.say("opens_on", date=format_minute(board.opens, board.zone)))
    if board.closes is not None:
        key = "closed_on" if board.phase == "closed" else "open_until"
        dates.append(page.say(key, date=format_minute(board.closes, board.zone)))
    yield t["rule_dates"], " · ".join(dates) or t["open"]
    if board.who:
        yield t["rule_who"], t[f"who_{board.who}"]
    limits = [
        page.say(key, count=count)
        for key, count in (("limit_day", board.per_day), ("limit_all", board.in_all))
        if count
    ]
    yield t["rule_limits"], page.gap.join(limits) or t["limit_none"]
    yield t["rule_labels"], t["labels_text"]
    yield t["rule_scores"], t["rule_exact"] if board.rule == "exact" else t[f"explain_{board.rule}"]
    yield t["rule_ranks"], t["explain_rank"]
    if board.reveals is not None:
        yield t["rule_names"], page.say("names_text", date=format_minute(board.reveals, board.zone))
    else:
        yield t["rule_names"], t["names_text_never"]


def _list_comparable(board: BoardView) -> list[EntryView]:
    """The systems with a shown score, the best of the first task first; people have no answers of one system."""
    entries = [
        one
        for one in board.shown
        if one.kind != "human" and any(score.value is not None for score in one.scores)
    ]
    task = board.tasks[0]
    rows = make_table(board, task, task.splits[0]).rows
    places = {row.entry.id: place for place, row in enumerate(rows)}
    return sorted(entries, key=lambda one: places.get(one.id, len(places)))


def _canonical(page: PageContext, path: str) -> str:
    return page.address(path) if page.board.address and page.links.can_submit else ""


def _list_points(page: PageContext, table: TableView) -> list[HistoryPoint]:
    points = []
    for row in table.rows:
        score = row.main
        if score is None or score.value is None:
            continue
        at = score.scored or row.entry.published or page.now
        name = page.name(row.entry)
        interval = f" ({format_interval(score, MAX_DIGITS)})" if score.low is not None else ""
        note = f"{name}, {format_day(at, page.board.zone)}: {format_number(score, MAX_DIGITS)}{interval}"
        points.append(HistoryPoint(name, row.entry.kind, at, score, note))
    return points


def _draw_history(page: PageContext, table: TableView, points: list[HistoryPoint]) -> Markup:
    systems = [point for point in points if point.kind != "human"]
    if not systems:
        return Markup("")
    metric = table.columns[0].metric
    records = find_records(systems, metric)
    times = [point.at for point in systems]
    summary = page.say(
        "history_summary",
        count=len(systems),
        first=format_day(min(times), page.board.zone),
        last=format_day(max(times), page.board.zone),
        low=format_number(records[0].score, MAX_DIGITS),
        high=format_number(records[-1].score, MAX_DIGITS),
    )
    title = page.say("history_title", metric=metric.name, task=table.task.name)
    words = {"human": page.t["kind_human"], "summary": summary}
    return Markup("").join(
        draw_history(points, metric, title, words, page.now, size) for size in HISTORY_SIZES
    )


def _draw_slices(
    page: PageContext, entry: EntryView, task: TaskView, split: SplitView
) -> tuple[str, Markup, list[ScoreView]] | None:
    """The main metric in each slice that has a value: title, plot and rows."""
    metric = task.metrics[0]
    whole = entry.score(task.name, split.name, metric.name)
    rows, plotted = [], []
    for by in dict.fromkeys(one.by for one in task.slices):
        for column in list_columns(task, by)[1:]:
            score = entry.score(task.name, split.name, metric.name, column.where)
            if score is None or score.value is None:
                continue
            rows.append(score)
            value, low, high = (
                in_percent(score, end) for end in (score.value, score.low, score.high)
            )
            group = page.t["by_tag"] if by == "tag" else page.say("by_other", name=by)
            plotted.append(
                PlotRow(column.name, [Dot(value, low, high)], group, format_count(score.n or 0))
            )
    if not rows:
        return None
    rule = None
    if whole is not None and whole.value is not None:
        rows.insert(0, whole)
        rule = in_percent(whole, whole.value)
    name = f"{task.name}, {split.name}" if len(task.splits) > 1 else task.name
    title = page.say("slices_of", task=name, metric=metric.name)
    high = 100.0 * metric.high if metric.high <= 1 else metric.high
    low = 100.0 * metric.low if metric.high <= 1 else metric.low
    picture = draw_dots(
        plotted[:MAX_SLICES_DRAWN], title, (low, high), rule=rule, tallest=SHEET_HEIGHT
    )
    return title, Markup(picture), rows  # noqa: S704  (draw_dots escapes)


# Numbers and dates


def count_digits(scores: Iterable[ScoreView | None]) -> int:
    """The decimals that the values of a column need, at most two: a column that is rounded to half points has one.

    >>> count_digits([])
    0
    """
    values = [
        in_percent(score, value)
        for score in filter(None, scores)
        for value in (score.value, score.low, score.high)
    ]
    return max(map(count_decimals, values), default=0)


def count_decimals(value: float | None) -> int:
    """The decimals that a value needs, at most two.

    >>> count_decimals(87.5), count_decimals(80.0), count_decimals(1 / 3), count_decimals(None)
    (1, 0, 2, 0)
    """
    if value is None or isnan(value):
        return 0
    rounded = (n for n in range(MAX_DIGITS) if abs(round(value, n) - value) < 1e-6)
    return next(rounded, MAX_DIGITS)


def format_signed(value: float, digits: int) -> str:
    """A difference with its sign.

    >>> format_signed(-3.5, 1), format_signed(0.25, 2)
    ('−3.5', '+0.25')
    """
    shown = round(value, digits)
    return f"{shown:+.{digits}f}".replace("-", "−") if shown else f"{0:.{digits}f}"


def format_number(score: ScoreView, digits: int) -> str:
    """The value of a score as pages show it."""
    value = in_percent(score, score.value)
    return "" if value is None else _with_minus(value, digits)


def _with_minus(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def format_deviation(score: ScoreView, digits: int) -> str:
    """The standard deviation over seeds as pages show it."""
    value = in_percent(score, score.sd)
    return "" if value is None else f"{value:.{max(count_decimals(value), digits)}f}"


def format_interval(score: ScoreView, digits: int) -> str:
    """The interval of a score as pages show it; a minus is clear of the dash."""
    low, high = in_percent(score, score.low), in_percent(score, score.high)
    if low is None or high is None:
        return ""
    dash = " – " if low < 0 else "–"
    return f"{_with_minus(low, digits)}{dash}{_with_minus(high, digits)}"


def format_count(number: int | float) -> str:
    """A whole number with separators."""
    return f"{number:,.0f}"


def format_day(moment: float | None, zone: tzinfo | None = UTC) -> str:
    """The day of a moment."""
    return "" if moment is None else datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d")


def format_minute(moment: float | None, zone: tzinfo | None = UTC) -> str:
    """A moment to the minute, with its zone.

    >>> format_minute(0.0), format_minute(0.0, datetime.fromisoformat("1970-01-01T09:00+09:00").tzinfo)
    ('1970-01-01 00:00 UTC', '1970-01-01 09:00 UTC+9')
    """
    if moment is None:
        return ""
    there = datetime.fromtimestamp(moment, zone)
    sign, hours, minutes = (
        there.strftime("%z")[:1],
        there.strftime("%z")[1:3],
        there.strftime("%z")[3:],
    )
    name = f"UTC{sign}{int(hours)}" + (f":{minutes}" if int(minutes) else "")
    return f"{there:%Y-%m-%d %H:%M} {name if there.utcoffset() else 'UTC'}"


@pass_context
def _day(context: Context, moment: float | None) -> str:
    return format_day(moment, context["board"].zone)


@pass_context
def _minute(context: Context, moment: float | None) -> str:
    return format_minute(moment, context["board"].zone)


def format_iso(moment: float) -> str:
    """A moment as ISO 8601."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def format_seeds(seeds: Sequence[int]) -> str:
    """The seeds of a score: the numbers where they are few, else how many."""
    if len(seeds) <= 1:
        return "1" if seeds else ""
    return f"{len(seeds)} ({', '.join(map(str, seeds))})" if len(seeds) <= 5 else str(len(seeds))


PROVENANCE_WORDS = {"entered_with": "entered with", "trained_on": "trained on"}
"""Names in a provenance that are two words; all others are shown as they are."""


def list_provenance(provenance: Mapping[str, Any]) -> list[str]:
    """Where an entry of the owner came from: a line per fact, and one per file or dataset.

    >>> list_provenance({"model": "majority", "seeds": [0, 1], "files": {"a.jsonl": "sha256:" + 16 * "0"}})
    ['model: majority', 'seeds: 0, 1', 'files: a.jsonl sha256:0000000000000000']
    """
    lines = []
    for key, value in provenance.items():
        if value in (None, "", [], {}):
            continue
        name = PROVENANCE_WORDS.get(key, key)
        if isinstance(value, Mapping) and _has_digests(value):
            lines += [f"{name}: {part} {_in_words(one)}" for part, one in value.items()]
        else:
            lines.append(f"{name}: {_in_words(value)}")
    return lines


def _has_digests(value: Mapping[str, Any]) -> bool:
    """Whether the values are digests, too long for several on a line."""
    return all(isinstance(one, str) and len(one) > MAX_SHORT_CHARS for one in value.values())


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (f"{PROVENANCE_WORDS.get(k, k)} {_in_words(v)}" for k, v in value.items())
        return ", ".join(parts)
    if isinstance(value, list | tuple):
        return ", ".join(map(_in_words, value))
    return str(value)


def format_provenance(provenance: Mapping[str, Any]) -> str:
    """Where an entry of the owner came from, on one line."""
    return "; ".join(list_provenance(provenance))


def shorten_end(words: str, most: int) -> str:
    """A text cut to so many characters."""
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def is_safe_link(address: str) -> bool:
    """Whether an address may be a link: http and https only."""
    return SAFE_LINK.match(address) is not None and not address.lower().startswith("mailto:")


def is_mail(words: str) -> bool:
    """Whether a contact is a mail address."""
    name, sign, host = words.partition("@")
    return bool(sign and name and "." in host) and not set(words) & set(" <>\"'?&%\\")


# Templates


def _show(value: Any) -> Any:
    """Escapes for what is invisible; markup is markup."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value, "\t\n\r") if is_text else value


@pass_context
def _say(context: Context, key: str, **values: Any) -> str:
    return say(context["language"], key, values)


STATIC_FILES = ("base.css", "board.css", "board.js", "icon.svg")
"""What the pages for visitors need."""


def read_static_file(name: str) -> bytes:
    """A script, style or image; `base.css` is the style that reports and boards share."""
    if name == "base.css":
        return (files("nikawa.reporting") / name).read_bytes()
    return (PAGES / "static" / name).read_bytes()


@cache
def environment() -> Environment:
    """Jinja with escaping on everywhere, for the pages of all hands."""
    made = Environment(
        loader=FileSystemLoader(PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    made.globals.update(
        say=_say,
        draw_bar=draw_bar,
        draw_bar_scale=draw_bar_scale,
        draw_difference=draw_difference,
        draw_key=draw_key,
        version=__version__,
        language_names={code: page_messages(code)["language_name"] for code in LANGUAGES},
    )
    made.filters.update(
        digits=lambda score: count_digits([score]),
        number=format_number,
        signed=format_signed,
        deviation=format_deviation,
        interval=format_interval,
        thousands=format_count,
        day=_day,
        minute=_minute,
        iso=format_iso,
        seeds=format_seeds,
        short=shorten_end,
        count_parameters=lambda words: "" if (n := parse_parameters(words)) is None else f"{n:.0f}",
        is_safe_link=is_safe_link,
        is_mail=is_mail,
        is_cost=lambda table, key: any(
            column.key == key and column.metric.better == "lower" for column in table.columns
        ),
    )
    return made


def _render(name: str, page: PageContext, **values: Any) -> str:
    context = {
        "board": page.board,
        "language": page.language,
        "links": page.links,
        "t": page.t,
        "gap": page.gap,
        **values,
    }
    return environment().get_template(name).render(context)
