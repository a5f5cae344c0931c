"""The settings of a board: board.toml, a readable file with a comment on each line, checked when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from nikawa.board.records import Role
from nikawa.errors import BadInput
from nikawa.io.settings import (
    SettingsTable,
    find_line,
    format_toml_value,
    read_settings_file,
)

SETTINGS = "board.toml"
Language = Literal["ja", "ko", "en"]
Who = Literal["open", "invited", "approved"]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]


class Dates(SettingsTable, frozen=True):
    """ISO 8601 with a zone, such as 2027-03-31T23:59:59+09:00; empty: no limit."""

    opens: str = ""
    closes: str = ""
    reveal_names: str = ""
    """When the names of anonymous systems are shown; empty: when the board closes, and never where it does not close."""

    @property
    def opens_at(self) -> float | None:
        """When submissions are accepted from; None: at once."""
        return parse_date(self.opens)

    @property
    def closes_at(self) -> float | None:
        """When submissions are accepted until; None: for ever."""
        return parse_date(self.closes)

    @property
    def reveals_at(self) -> float | None:
        """When names are shown; None: never."""
        return parse_date(self.reveal_names) or self.closes_at

    @property
    def utc_offset(self) -> int:
        """The zone of the dates in minutes east of UTC, in which pages show moments; 0 where there is no date."""
        text = self.closes or self.opens or self.reveal_names
        offset = datetime.fromisoformat(text).utcoffset() if text else None
        return 0 if offset is None else round(offset.total_seconds() / 60)


class Submissions(SettingsTable, frozen=True):
    """Who may submit, and how much."""

    who: Who = "approved"
    """`open`: everybody who signs up; `invited`: with an invitation link; `approved`: after the owner said yes."""
    per_day: Count = 3
    """Of one account and task, in the last 24 hours; 0: no limit."""
    in_all: Count = 100
    """Of one account and task; 0: no limit."""
    max_seeds: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Files of one task and split in one submission."""
    max_megabytes: Annotated[float, Meta(gt=0, le=4096)] = 20.0
    """Of all files of a submission together."""


class Shown(SettingsTable, frozen=True):
    """What is shown of the scores, and when."""

    public: Literal["at-once", "after-close"] = "at-once"
    final: Literal["after-close"] = "after-close"
    rule: Literal["ladder", "rounded", "exact"] = "ladder"
    """`ladder`: only a new best that beats the old by more than the noise; `rounded`: every score, rounded to the step; `exact`: every
    score as it is."""
    intervals: bool = True
    slices: tuple[str, ...] = ()
    """Fields to slice by: `tag`, or a key of the examples' metadata such as `meta.source`."""
    min_items: Annotated[int, Meta(ge=1, le=1_000_000)] = 50
    """Slices with fewer items are not shown."""


class Ladder(SettingsTable, frozen=True):
    """How coarsely scores are shown."""

    step: Annotated[float, Meta(ge=0, le=100)] = 0.0
    """In percent points; 0: from the size of the test."""


class Scoring(SettingsTable, frozen=True):
    """Limits of the process that scores, and when results appear."""

    seconds: Annotated[float, Meta(gt=0, le=86_400)] = 120.0
    """CPU and wall time for one file."""
    memory: Annotated[int, Meta(ge=64, le=1_000_000)] = 2048
    """Megabytes of address space for one file."""
    user: str = ""
    """The system user of the scoring process, where the server is started as root."""
    release_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 300.0
    """Results become visible at multiples of this, whenever scoring ended."""


class Server(SettingsTable, frozen=True):
    """Who may connect, and whom the server believes."""

    user: str = ""
    """The system user of the server, where it is started as root."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of web servers in front, whose X-Forwarded-For and X-Forwarded-Proto are trusted."""
    hosts: tuple[str, ...] = ()
    """Further host names of the server, in addition to that of `address`; others are refused where `address` is set."""
    connections: Annotated[int, Meta(ge=1, le=60_000)] = 4096
    """Connections of all clients; fewer where the system allows the process fewer file descriptors."""
    connections_per_address: Annotated[int, Meta(ge=1, le=60_000)] = 1000
    """Connections of one address that is no trusted proxy."""
    requests_per_second: Annotated[float, Meta(gt=0, le=100_000)] = 20.0
    """Requests of one account or address that change something, averaged; bursts of three times as many pass."""


class SetSettings(SettingsTable, frozen=True, kw_only=True):
    """One of `[[sets]]`: a split of a dataset in `datasets/`."""

    dataset: Annotated[str, Meta(pattern=r"^\w[\w.-]{0,99}$")]
    split: Annotated[str, Meta(min_length=1, max_length=200)]
    role: Role = "public"


class BoardSettings(SettingsTable, frozen=True, kw_only=True):
    """All of board.toml."""

    name: Annotated[str, Meta(pattern=r"^\w[\w.-]{0,99}$")]
    """A short name, for files and citations."""
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    """Shown at the head of every page."""
    language: Language = "en"
    """The language of the pages until a visitor chooses another."""
    address: Annotated[str, Meta(pattern=r"^(https?://[^\s/]\S*)?$", max_length=500)] = ""
    """Where visitors reach the server; empty: where it was last started."""
    contact: Annotated[str, Meta(max_length=500)] = ""
    """Shown on the page about the board."""
    dates: Dates = Dates()
    submissions: Submissions = Submissions()
    shown: Shown = Shown()
    ladder: Ladder = Ladder()
    scoring: Scoring = Scoring()
    server: Server = Server()
    sets: Annotated[tuple[SetSettings, ...], Meta(min_length=1)]


def parse_date(text: str) -> float | None:
    """A moment; None for an empty text.

    >>> parse_date("1970-01-01T09:00:01+09:00")
    1.0
    """
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return moment.timestamp()


TEMPLATE = """\
# A leaderboard of Nikawa. The server reads this file when it starts.
name = {name}
title = {title}
language = {language}             # default language of the pages: ja, ko or en
address = ""                # public address of the server, such as https://board.example; empty: the address it listens on
contact = ""                # shown on the page about the board

[dates]                     # such as 2027-03-31T23:59:59+09:00; empty: no limit
opens = ""
closes = ""
reveal_names = ""           # when names of anonymous systems are shown; empty: when the board closes

[submissions]
who = "approved"            # "open": everybody who signs up; "invited": with an invitation link; "approved": after your approval
per_day = 3                 # of one account and task in 24 hours; 0: no limit
in_all = 100                # of one account and task; 0: no limit
max_seeds = 10              # files of one task and split in one submission
max_megabytes = 20          # of all files of a submission

[shown]
public = "at-once"          # or "after-close"
final = "after-close"       # the final split is scored once, for the systems that the submitters choose
rule = "ladder"             # "ladder": a score is shown if it beats the shown best by more than the noise; "rounded"; "exact"
intervals = true
slices = []                 # such as ["tag", "meta.source"]
min_items = 50              # slices with fewer items are not shown

[ladder]
step = 0                    # scores are rounded to this many percent points; 0: from the size of the test

[scoring]
seconds = 120               # CPU and wall time for one file
memory = 2048               # megabytes for one file
user = ""                   # system user of the scoring process if the server is started as root
release_seconds = 300       # results appear at multiples of this, whenever scoring ended

[server]
user = ""                   # system user of the server if it is started as root
trusted_proxies = []        # web servers in front, such as "127.0.0.1"
hosts = []                  # further host names of the server
connections = 4096
connections_per_address = 1000
requests_per_second = 20    # of one account or address
"""


def format_settings(name: str, title: str, language: str, sets: Sequence[SetSettings]) -> str:
    """The board.toml of a new board."""
    text = TEMPLATE.format(
        name=format_toml_value(name),
        title=format_toml_value(title),
        language=format_toml_value(language),
    )
    for one in sets:
        text += (
            f"\n[[sets]]                    # a split in datasets/{one.dataset}\n"
            f"dataset = {format_toml_value(one.dataset)}\nsplit = {format_toml_value(one.split)}\n"
            f'role = {format_toml_value(one.role)}             # "public", or "final": scored once, after the board closes\n'
        )
    return text


def read_settings(path: Path) -> BoardSettings:
    """Read and check board.toml.

    Raises `BadInput` with file and line where it is missing, is no TOML, or has a setting that is unknown or wrong.
    """
    cure = "create a board with: nikawa board new BOARD --dataset FOLDER --keys FILE"
    missing = BadInput("there is no board.toml", file=path.parent, cure=cure)
    settings = read_settings_file(path, BoardSettings, missing)
    dates, moments = settings.dates, dict[str, float]()
    for name in ("opens", "closes", "reveal_names"):
        try:
            moment = parse_date(getattr(dates, name))
        except ValueError:
            what = f"{name} is not a date with a time zone: {getattr(dates, name)!r}"
            line = find_line(path.read_text("utf-8"), ("dates", name))
            cure = "write it like 2027-03-31T23:59:59+09:00"
            raise BadInput(what, file=path, line=line, cure=cure) from None
        if moment is not None:
            moments[name] = moment
    if moments.get("closes", float("inf")) <= moments.get("opens", 0.0):
        line = find_line(path.read_text("utf-8"), ("dates", "closes"))
        raise BadInput("closes is not after opens", file=path, line=line, cure="correct the dates")
    if any(one.role == "final" for one in settings.sets) and "closes" not in moments:
        line = find_line(path.read_text("utf-8"), ("dates", "closes"))
        what = "a final split needs a closing date: it is scored after that"
        raise BadInput(what, file=path, line=line, cure="set closes in [dates]")
    return settings
