"""The settings of a project: a readable TOML file, checked when it is read, with a comment on each line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nikawa.errors import BadInput
from nikawa.io.settings import SettingsTable, format_toml_value, read_settings_file

Language = Literal["ja", "ko", "en"]
ReportCode = Literal["personal", "hate", "bias", "undecidable", "broken", "boundary", "other"]
"""Why a worker reports an item."""
COMMON_REPORTS: tuple[ReportCode, ...] = (
    "personal",
    "hate",
    "bias",
    "undecidable",
    "broken",
    "other",
)
"""Those that every form offers."""
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Amount = Annotated[float, Meta(ge=0, le=1e9)]


class Assign(SettingsTable, frozen=True):
    """Who gets what."""

    workers_per_item: Annotated[int, Meta(ge=1, le=10_000)] = 3
    """How many workers answer each main item."""
    lease_minutes: Annotated[float, Meta(gt=0, le=100_000)] = 30.0
    """How long a worker may keep an item before it goes to another worker."""
    order: Literal["random", "file"] = "random"
    """`random`: a separate order for each worker; `file`: the order of examples.jsonl for all."""
    one_per_group: bool = False
    """Whether a worker sees only one item of each group (premise, paragraph, …)."""
    items_per_worker: Count = 0
    """Most items of one worker; 0: as many as there are."""
    seed: int = 0
    """Key of every random draw; another seed gives other orders and other control items."""


class Gold(SettingsTable, frozen=True):
    """Control items among the others."""

    rate: Share = 0.0
    """The share of control items among what a worker sees, while there are any."""
    after: Annotated[int, Meta(ge=1, le=1_000_000)] = 5
    """Control items that a worker has answered before the pass mark counts."""
    pass_mark: Share = 0.7
    """A worker with a smaller share of right answers is excluded."""


class Prelabels(SettingsTable, frozen=True):
    """A machine's answers, which workers find filled in on a random part of what they get."""

    source: Annotated[str, Meta(max_length=300)] = ""
    """Whose answers: a worker such as `model:gemma#1` whose judgements were imported, or a file of judgements in the
    project's folder (`parsed.jsonl`). Empty: pages come without."""
    share: Share = 0.5
    """The share of items that come filled in; the rest is what anchoring is measured against."""
    draw: Literal["answer", "item"] = "answer"
    """`answer`: chance decides for each item and worker; `item`: an item is filled in for all its workers or for none."""
    control: Literal["wrong", "none"] = "wrong"
    """`wrong`: control items come filled in as often as others, with a wrong answer; `none`: they never do, so that
    workers can tell that an item that is filled in is no control item."""


class Effort(SettingsTable, frozen=True):
    """Ask the next person only where the answer is not yet sure, instead of `workers_per_item` persons everywhere."""

    most: Annotated[int, Meta(ge=0, le=100)] = 0
    """Workers that no item gets more of; 0: each item gets `workers_per_item`, whatever they answer."""
    least: Annotated[int, Meta(ge=0, le=100)] = 2
    """Workers that every item gets, however sure its answer is."""
    same: Annotated[float, Meta(gt=0, lt=1)] = 0.99
    """The share of the items whose gold is to be the one that `most` workers would make."""
    tolerance: Annotated[float, Meta(ge=0, le=1e6)] = 0.5
    """Of a scale: how far from the mean of `most` workers the mean may be to count as the same gold."""
    budget: Count = 0
    """Answers to main items that may be bought in all; 0: no limit."""
    pilot: Count = 0
    """Items, drawn by chance, that get `most` workers anyway; they show how often workers and machines err."""
    machines: bool = False
    """Whether the answers of machines that were imported count towards being sure."""


class Pilot(SettingsTable, frozen=True):
    """The trial before the main task: all of pilot.jsonl, in its order."""

    pass_mark: Share = 0.8
    """The share of right answers that lets a worker in."""


class Speed(SettingsTable, frozen=True):
    """Answers too quick to have been read."""

    min_seconds: Amount = 0.0
    """An answer given in less time is too quick; 0: none is."""
    share: Share = 0.5
    """A worker with a larger share of quick answers is excluded."""
    after: Annotated[int, Meta(ge=1, le=1_000_000)] = 10
    """Minimum number of answers before the share of a worker counts."""


class Pay(SettingsTable, frozen=True):
    """Pay of workers."""

    per_item: Amount = 0.0
    """Paid for each main or control item; the pilot is not paid."""
    currency: Annotated[str, Meta(max_length=8)] = "JPY"
    """Shown next to the amount; nothing is converted."""


class Crowd(SettingsTable, frozen=True):
    """A crowd platform: its link is /join/KEY?worker=ID, the key is shown by `nikawa collect links`."""

    join: bool = False
    """Whether workers may come through the link of the platform."""
    parameter: Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")] = "worker"
    """The name of the worker id in the address, such as PROLIFIC_PID."""
    completion_code: Annotated[str, Meta(max_length=200)] = ""
    """The code every worker gets at the end; empty: each worker gets a different code."""
    max_workers: Count = 10_000
    """Maximum number of workers who can join through the link."""


class Limits(SettingsTable, frozen=True):
    """Limits of the server."""

    body_kilobytes: Annotated[int, Meta(ge=1, le=65_536)] = 256
    """Largest body of a request; a larger one is refused with status 413."""
    requests_per_second: Annotated[float, Meta(gt=0, le=100_000)] = 20.0
    """Requests of one worker, averaged; bursts of three times as many pass."""
    reports_per_item: Annotated[int, Meta(ge=1, le=10_000)] = 2
    """Reports after which an item is set aside until the owner looks at it."""
    comment_characters: Annotated[int, Meta(ge=0, le=1_000_000)] = 2000
    """Longest comment on an answer or report."""


class Reports(SettingsTable, frozen=True):
    """What happens to an item that a worker reports."""

    codes: tuple[ReportCode, ...] = COMMON_REPORTS
    """The reasons that the page offers, in this order."""
    counted: bool = False
    """Whether a report is the worker's answer: no other worker is asked instead, and the item is not set aside. So it is
    where a build decides what becomes of reported items."""


class Adjudication(SettingsTable, frozen=True):
    """The effect of the owner's decisions."""

    decisions: Literal["override", "ties"] = "override"
    """`override`: a decision is the gold whatever the votes; `ties`: only where the rule of `aggregate` or of a build makes
    no gold of them. Exports carry it along."""


class Server(SettingsTable, frozen=True):
    """Who may connect, and whom the server believes."""

    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of web servers in front, whose X-Forwarded-For and X-Forwarded-Proto are trusted."""
    hosts: tuple[str, ...] = ()
    """Further host names of the server, in addition to that of `address`; others are refused where `address` is set."""
    connections: Annotated[int, Meta(ge=1, le=60_000)] = 4096
    """Connections of all clients; fewer where the system allows the process fewer file descriptors."""
    connections_per_address: Annotated[int, Meta(ge=1, le=60_000)] = 1000
    """Connections of one address that is no trusted proxy."""


class Settings(SettingsTable, frozen=True):
    """All of project.toml."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]
    """Shown at the head of every page."""
    form: str
    """The name of the form (`nikawa collect forms` lists them)."""
    language: Language = "ja"
    """The language of the pages until a worker chooses another."""
    address: Annotated[str, Meta(pattern=r"^(https?://[^\s/]\S*)?$", max_length=500)] = ""
    """Where workers reach the server; empty: where it was last started."""
    assign: Assign = Assign()
    gold: Gold = Gold()
    prelabels: Prelabels = Prelabels()
    effort: Effort = Effort()
    pilot: Pilot = Pilot()
    speed: Speed = Speed()
    pay: Pay = Pay()
    crowd: Crowd = Crowd()
    limits: Limits = Limits()
    reports: Reports = Reports()
    adjudication: Adjudication = Adjudication()
    server: Server = Server()
    options: dict[str, Any] = msgspec.field(default_factory=dict, name="form_settings")
    """The form's own settings, checked by `Form.parse_options`."""


TEMPLATE = """\
# An annotation project of Nikawa. The server reads this file when it starts.
title = {title}
form = {form}
language = {language}        # default language of the pages: ja, ko or en
address = ""                # public address of the server, such as https://label.example; empty: the address it listens on

[assign]
workers_per_item = {workers}
lease_minutes = 30          # after this time the item goes to another worker
order = "random"            # or "file"; "random" gives each worker a different order
one_per_group = false       # true: a worker sees only one item of each group (premise, paragraph, …)
items_per_worker = 0        # 0: no limit
seed = 0

[gold]                      # control items: gold.jsonl
rate = 0.1                  # share of control items among the items of a worker
after = 5                   # number of control items to answer before the pass mark counts
pass_mark = 0.7             # workers below this are excluded; their answers are kept and marked

[pilot]                     # trial before the main task: pilot.jsonl; an empty file means no trial
pass_mark = 0.8

[speed]
min_seconds = 0             # answers faster than this are too fast; 0: no limit
share = 0.5                 # a worker with a larger share of fast answers is excluded
after = 10                  # number of answers before the share counts

[pay]
per_item = 0
currency = "JPY"

[crowd]                     # workers from a crowdsourcing platform, with their id in the address
join = false
parameter = "worker"        # the name of the id in the address, such as PROLIFIC_PID or workerId
completion_code = ""        # empty: each worker gets a different code
max_workers = 10000

[limits]
body_kilobytes = 256
requests_per_second = 20    # per worker
reports_per_item = 2        # an item with this many reports is set aside until the owner checks it
comment_characters = 2000

[adjudication]
decisions = "override"      # a decision is the gold, whatever the votes; "ties": only if the rule makes no gold from the votes
"""


def format_settings(settings: Settings) -> str:
    """The project.toml of a new project."""
    text = TEMPLATE.format(
        title=format_toml_value(settings.title),
        form=format_toml_value(settings.form),
        language=format_toml_value(settings.language),
        workers=settings.assign.workers_per_item,
    )
    if settings.reports != Reports():
        reports = settings.reports
        text += (
            "\n[reports]                   # reasons for which a worker can report an item\n"
            f"codes = {format_toml_value(reports.codes)}\n"
            f"counted = {format_toml_value(reports.counted)}              # true: a report is an answer; false: another worker gets the item\n"
        )
    for name, table, comment in (
        ("prelabels", settings.prelabels, "a machine's answers, which workers find filled in"),
        ("effort", settings.effort, "the next person is asked only where the answer is not sure"),
    ):
        if table != type(table)():
            text += f"\n[{name}]{' ' * (26 - len(name))}# {comment}\n"
            for key, value in msgspec.structs.asdict(table).items():
                text += f"{key} = {format_toml_value(value)}\n"
    if not settings.options:
        return text
    lines = []
    for name, value in settings.options.items():
        key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else format_toml_value(name)
        lines.append(f"{key} = {format_toml_value(value)}\n")
    return f"{text}\n[form_settings]             # settings of the form\n{''.join(lines)}"


def read_settings(path: Path) -> Settings:
    """Read and check project.toml.

    Raises `BadInput` with file and line where it is missing, is no TOML, or has a setting that is unknown or wrong.
    """
    cure = "create a project with: nikawa collect new PROJECT --examples FILE --form FORM"
    missing = BadInput("there is no project.toml", file=path.parent, cure=cure)
    return read_settings_file(path, Settings, missing)
