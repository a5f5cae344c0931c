"""`nikawa board`: a leaderboard for a dataset with hidden test labels.

A board is a folder; every command below takes it as its first argument. `serve` runs the web server and the process that scores, the
others read or change the board while it runs. `submit` is for those who take part.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli.terminal.options import Json, Overwrite, Port, Quiet, complete_from
from nikawa.cli.terminal.output import (
    echo,
    format_count,
    format_interval,
    format_number,
    print_json,
    print_table,
    progress_bar,
    status,
)

if TYPE_CHECKING:
    from nikawa.board.client import SubmitReport
    from nikawa.board.job import NewBoardReport
    from nikawa.board.serving import ServeOptions

PANEL = "Evaluate"

# The scoring process may pass through the folder and not list it, so Typer must not ask for the right to read it.
BoardFolder = Annotated[
    Path, typer.Argument(metavar="BOARD", help="The folder of the board.", readable=False)
]
Database = Annotated[
    str,
    typer.Option(
        help="A PostgreSQL address; default: a SQLite file in the folder.",
        envvar="NIKAWA_BOARD_DATABASE",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Attach the command and its subcommands."""
    verb = typer.Typer(
        help="Run a leaderboard for a dataset with hidden labels: create one, serve it, submit to it.",
        no_args_is_help=True,
    )
    start = "Example: nikawa board"
    verb.command(
        "new", epilog=f"{start} new my-board --dataset mine-hidden --keys mine-keys.jsonl"
    )(new)
    verb.command("serve", epilog=f"{start} serve my-board --port 8000")(serve)
    verb.command("scorer", epilog=f"{start} scorer my-board --socket /run/nikawa/scorer.sock")(
        scorer
    )
    verb.command("status", epilog=f"{start} status my-board")(status_)
    verb.command("password", epilog=f"{start} password my-board --name hanako --role reviewer")(
        password
    )
    verb.command("invite", epilog=f"{start} invite my-board 'Team A' 'Team B'")(invite)
    verb.command("enter", epilog=f"{start} enter my-board runs/mine-label--majority--*")(enter)
    verb.command("system", epilog=f"{start} system my-board MyModel --state withdrawn")(system)
    verb.command("backup", epilog=f"{start} backup my-board --out my-board.tar.zst")(backup)
    verb.command("export", epilog=f"{start} export my-board --out board.csv")(export)
    verb.command(
        "submit", epilog=f"{start} submit https://board.example runs --name MyModel --wait"
    )(submit)
    verb.command("demo", epilog=f"{start} demo")(demo)
    app.add_typer(verb, name="board", rich_help_panel=PANEL)


def new(
    board: BoardFolder,
    dataset: Annotated[
        list[Path],
        typer.Option(help="A folder that nikawa data hide wrote; may be repeated."),
    ],
    keys: Annotated[list[Path], typer.Option(help="Its key file; may be repeated, in any order.")],
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="A split that is scored on arrival; may be repeated; default: every hidden split that is not final.",
            show_default=False,
        ),
    ] = None,
    final: Annotated[
        list[str] | None,
        typer.Option(
            help="A split that is scored once, after the closing date; may be repeated.",
            show_default=False,
        ),
    ] = None,
    closes: Annotated[
        str,
        typer.Option(
            help="The closing date with its time zone, such as 2027-03-31T23:59:59+09:00.",
            show_default=False,
        ),
    ] = "",
    name: Annotated[
        str, typer.Option(help="A short name; default: the name of the folder.", show_default=False)
    ] = "",
    title: Annotated[
        str, typer.Option(help="Title of the pages; default: the name.", show_default=False)
    ] = "",
    language: Annotated[
        str,
        typer.Option(
            help="Language of the pages: ja, ko or en.",
            autocompletion=complete_from("ja", "ko", "en"),
        ),
    ] = "en",
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a board: a folder with settings, a copy of the datasets, and the keys for the scoring process."""
    from nikawa.board.job import NewBoard, create_board

    options = NewBoard(
        datasets=tuple(dataset),
        keys=tuple(keys),
        public=tuple(split or ()),
        final=tuple(final or ()),
        name=name,
        title=title,
        language=language,
        closes=closes,
        database=database,
    )
    with status(f"creating {board}", quiet or json):
        report = create_board(board, options)
    show_new(report, json, quiet)


def show_new(report: NewBoardReport, json: bool, quiet: bool) -> None:
    """Print what was created, and the next command."""
    if json:
        return print_json(report)
    if quiet:
        return None
    echo(f"{report.board}: {', '.join(report.sets)}, {report.items:,} items")
    echo(f"Log in as {report.owner} with the password {report.password} (shown only once)")
    for note in report.notes:
        echo(f"note: {note}")
    folder = quote(report.board)
    echo(f"Check {report.board}/board.toml and write the rules in {report.board}/about.*.md")
    echo(f"Next: nikawa board serve {folder}")
    return None


def serve(
    board: BoardFolder,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Port = 8000,
    scorer: Annotated[
        Path | None,
        typer.Option(
            metavar="SOCKET",
            help="The socket of nikawa board scorer; default: the server starts the scoring process.",
            show_default=False,
        ),
    ] = None,
    database: Database = "",
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A reverse proxy whose X-Forwarded-For is trusted, such as 127.0.0.1; may be repeated.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the pages and score submissions until you press Ctrl+C."""
    from nikawa.board.serving import ServeOptions

    options = ServeOptions(host, port, database, tuple(trust_proxy or ()), scorer)
    serve_pages(board, options, json, quiet)


def serve_pages(
    board: Path,
    options: ServeOptions,
    json: bool,
    quiet: bool,
    more: dict[str, Any] | None = None,
) -> None:
    """Serve, and print the address once the port is known; `more` goes into the JSON."""
    from nikawa.board.serving import serve as run

    shown = f"[{options.host}]" if ":" in options.host else options.host

    def started(port: int) -> None:
        base = f"http://{shown}:{port}"
        if json:
            print_json({"address": base, "process": os.getpid(), **(more or {})})
        elif not quiet:
            echo(f"{base} is the board; {base}/owner is the dashboard; press Ctrl+C to stop")
        sys.stdout.flush()

    run(board, options, started)


def scorer(
    board: BoardFolder,
    socket: Annotated[
        Path, typer.Option(help="Where the server reaches it; pass the same to serve --scorer.")
    ],
    group: Annotated[
        str,
        typer.Option(
            help="A system group that may connect: that of the server.", show_default=False
        ),
    ] = "",
    quiet: Quiet = False,
) -> None:
    """Run the scoring process apart from the server, as a system user who alone can read the labels."""
    from nikawa.board.folder import open_board
    from nikawa.board.scorer import listen

    def started() -> None:
        if not quiet:
            echo(f"scoring for {board} at {socket}; press Ctrl+C to stop", err=True)

    listen(open_board(board, with_secret=False), socket, group, started)


def status_(
    board: BoardFolder, database: Database = "", json: Json = False, quiet: Quiet = False
) -> None:
    """Show submissions, accounts, flags and what can have leaked; works while the board is served."""
    from nikawa.board.job import read_status

    report = read_status(board, database)
    if json:
        return print_json(report)
    if not quiet:
        show_status(report)
    return None


def show_status(report: dict[str, Any]) -> None:
    """Print the figures of a board."""
    word = "since" if report["state"] == "closed" else "until"
    until = f" {word} {report['closes']}" if report["closes"] else ""
    echo(f"{report['title']}: {report['state']}{until}; {', '.join(report['sets'])}")
    for name in ("submissions", "systems", "accounts", "flags"):
        counts = report[name]
        if counts:
            words = ", ".join(f"{number:,} {state}" for state, number in sorted(counts.items()))
            echo(f"{name}: {words}")
    if report["latest"]:
        rows = [
            (
                one["received"],
                one["system"],
                one["submission"],
                one["state"],
                ", ".join(one["flags"]),
                one["problem"],
            )
            for one in report["latest"]
        ]
        print_table(("received (UTC)", "system", "submission", "state", "flags", "problem"), rows)
    bits: dict[tuple[str, str], float] = {}
    for one in report["disclosed"]:
        place = one["task"], one["split"]
        bits[place] = bits.get(place, 0.0) + one["bits"]
    for (task, split), amount in bits.items():
        echo(
            f"{task}:{split}: at most {amount:,.0f} bits about the labels were shown to all together;"
            " the dashboard says what that allows"
        )


def password(
    board: BoardFolder,
    name: Annotated[str, typer.Option(help="Who logs in.")] = "owner",
    role: Annotated[
        str,
        typer.Option(
            help="owner; reviewer, who can only look; or submitter, for an account that lost its password.",
            autocompletion=complete_from("owner", "reviewer", "submitter"),
        ),
    ] = "owner",
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add an owner or reviewer, or set a new password, also of a submitter; it is printed."""
    from nikawa.board.job import set_password

    secret = set_password(board, name, role, database=database)
    if json:
        return print_json({"name": name, "role": role, "password": secret})
    if not quiet:
        echo(f"Log in as {name} ({role}) with the password {secret} (shown only once)")
    return None


def invite(
    board: BoardFolder,
    notes: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Who each link is for: a note for you.")
    ],
    days: Annotated[float, typer.Option(help="Days until the links expire.", min=0.01)] = 30.0,
    address: Annotated[
        str | None,
        typer.Option(
            help="The address that visitors use; default: as in board.toml, or where the server last ran.",
            show_default=False,
        ),
    ] = None,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make invitation links; with each, one person can sign up without approval."""
    from nikawa.board.job import invite as run

    made = run(board, notes, days=days, address=address, database=database)
    if json:
        return print_json(made)
    if not quiet:
        for note, link in made.links:
            echo(f"{note}\t{link}")
        echo(f"each link works once, for {made.days:g} days", err=True)
    return None


def enter(
    board: BoardFolder,
    answers: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="ANSWERS…",
            help="Files of answers of one system, one per task, split and seed; or folders of nikawa run.",
        ),
    ] = None,
    human: Annotated[
        bool,
        typer.Option(
            "--human", help="Enter the human row from the judgements that the key files contain."
        ),
    ] = False,
    judgements: Annotated[
        Path | None,
        typer.Option(
            help="With --human: a file of judgements instead of those in the key files.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="The name on the board; default: that of the model or file.")
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            help="baseline, run or submission; default: run for folders of nikawa run, else baseline.",
            autocompletion=complete_from("baseline", "run", "submission"),
            show_default=False,
        ),
    ] = "",
    task: Annotated[
        str,
        typer.Option(help="The task; default: found by the ids.", show_default=False),
    ] = "",
    split: Annotated[
        str,
        typer.Option(help="The split; default: found by the ids.", show_default=False),
    ] = "",
    description: Annotated[str, typer.Option(help="Markdown for its page.")] = "",
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TITLE=ADDRESS", help="A link to code, paper or model; may be repeated."
        ),
    ] = None,
    licence: Annotated[str, typer.Option(help="The licence of the model.")] = "",
    parameters: Annotated[str, typer.Option(help="How many parameters, such as 110M.")] = "",
    training_data: Annotated[str, typer.Option(help="The data it was trained on.")] = "",
    private: Annotated[
        bool, typer.Option("--private", help="Do not show it on the board yet.")
    ] = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Enter baselines, stored runs or the human row, with where they came from; the server scores them."""
    from nikawa.board.entries import EntryFacts, enter_answers, enter_humans, find_kind
    from nikawa.board.job import open_both
    from nikawa.errors import BadInput

    paths = list(answers or ())
    if judgements is not None and not human:
        raise BadInput("--judgements needs --human", cure="add --human")
    if human == bool(paths):
        what = "pass answers, or --human" if not human else "--human takes no answers"
        raise BadInput(what, cure="see nikawa board enter --help")
    facts = EntryFacts(
        name=name,
        kind="human" if human else find_kind(kind, paths),
        description=description,
        links=tuple(link or ()),
        licence=licence,
        parameters=parameters,
        training_data=training_data,
        is_private=private,
    )
    with status("checking", quiet or json), open_both(board, database) as (opened, store):
        if human:
            entries = enter_humans(opened, store, judgements, facts, task=task)
        else:
            entries = enter_answers(opened, store, paths, facts, task=task, split=split)
    if json:
        return print_json({"entries": [asdict(entry) for entry in entries]})
    if not quiet:
        for entry in entries:
            echo(f"{entry.name}: {', '.join(entry.sets)}; its page: /s/{entry.system}")
        if not human:
            echo("The server scores what was entered; it is shown from the next release time on")
    return None


def system(
    board: BoardFolder,
    name: Annotated[str, typer.Argument(metavar="SYSTEM", help="Its id (as in /s/ID) or name.")],
    state: Annotated[
        str,
        typer.Option(
            help="published, private or withdrawn; a withdrawn system stays withdrawn.",
            autocompletion=complete_from("published", "private", "withdrawn"),
            show_default=False,
        ),
    ] = "",
    new_name: Annotated[str, typer.Option("--name", help="Another name.", show_default=False)] = "",
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish, hide, withdraw or rename any system of the board; works while it is served."""
    from nikawa.board.job import change_entry

    changed = change_entry(board, name, state=state, name=new_name, database=database)
    if json:
        return print_json({"system": changed.id, "name": changed.name, "state": changed.state})
    if not quiet:
        echo(f"{changed.name} ({changed.id}) is {changed.state}")
    return None


def backup(
    board: BoardFolder,
    out: Annotated[Path, typer.Option(help="The archive to write: NAME.tar, .tar.gz or .tar.zst.")],
    overwrite: Overwrite = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the whole board to an archive while it is served; it contains the labels and has mode 0600."""
    from nikawa.board.backup import backup as run

    with status(f"writing {out}", quiet or json):
        report = run(board, out, overwrite=overwrite, database=database)
    if json:
        return print_json(report)
    if not quiet:
        echo(f"{format_count(report.files, 'file')} written to {out}; it contains the labels")
        if not report.database:
            echo("The PostgreSQL database is not in it: run pg_dump before each backup", err=True)
    return None


def export(
    board: BoardFolder,
    out: Annotated[Path, typer.Option(help="board.csv or board.json; a folder with --to html.")],
    to: Annotated[
        str,
        typer.Option(
            help="html: a folder of pages for a web host; default: by the suffix.",
            autocompletion=complete_from("csv", "json", "html"),
            show_default=False,
        ),
    ] = "",
    true_scores: Annotated[
        bool,
        typer.Option(
            "--true-scores",
            help="Write every true score instead of what visitors see; for the owner, mode 0600.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    database: Database = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the board as visitors see it: a table, JSON, or pages for a web host."""
    from nikawa.board.backup import export_as

    with status(f"writing {out}", quiet or json):
        count = export_as(
            board, out, to, true_scores=true_scores, overwrite=overwrite, database=database
        )
    if json:
        return print_json({"out": str(out), "count": count})
    if not quiet:
        what = format_count(count, "true score" if true_scores else "system")
        echo(f"{what} written to {out}" + (": keep it private" if true_scores else ""))
    return None


def demo(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="The folder to create.")] = Path(
        "nikawa-board-demo"
    ),
    port: Port = 8000,
    start: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the board, or only create it.")
    ] = True,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create and serve a filled board with the included example data."""
    from nikawa.board.demo import create_demo
    from nikawa.board.serving import ServeOptions

    made: dict[str, Any] = {}
    if not (board / "board.toml").exists():
        with status(f"creating {board}", quiet or json):
            report = create_demo(board)
        made = asdict(report)
        if json and not start:
            return print_json(made)
        if not json and not quiet:
            echo(f"{report.board}: {report.systems} systems on {', '.join(report.sets)}")
            echo(f"Owner: log in as {report.owner} with the password {report.password}")
            echo(
                f"Submitter: log in as {report.submitter} with the password {report.submitter_password}"
            )
            echo(f"Token for nikawa board submit: {report.token}")
    elif not quiet and not json:
        echo(
            f"{board} already exists; nikawa board password {quote(str(board))} sets a new password"
        )
    if start:
        serve_pages(board, ServeOptions("127.0.0.1", port), json, quiet, made)
    return None


def submit(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the board.")],
    answers: Annotated[
        list[Path],
        typer.Argument(
            metavar="ANSWERS…",
            help="Folders of nikawa run, or files of answers: one per task, split and seed.",
        ),
    ],
    token: Annotated[
        str | None,
        typer.Option(
            help="A token of your account, from the page My systems.",
            envvar="NIKAWA_BOARD_TOKEN",
            show_envvar=True,
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(help="The name of the system; default: the model of the runs.")
    ] = "",
    system: Annotated[
        str,
        typer.Option(
            help="A system that you have, by its id or name: this is another result of it.",
            show_default=False,
        ),
    ] = "",
    task: Annotated[
        str, typer.Option(help="The task; default: found by the ids.", show_default=False)
    ] = "",
    split: Annotated[
        str, typer.Option(help="The split; default: found by the ids.", show_default=False)
    ] = "",
    description: Annotated[str, typer.Option(help="Markdown for the page of the system.")] = "",
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TITLE=ADDRESS", help="A link to code, paper or model; may be repeated."
        ),
    ] = None,
    licence: Annotated[str, typer.Option(help="The licence of the model.")] = "",
    parameters: Annotated[str, typer.Option(help="How many parameters, such as 110M.")] = "",
    training_data: Annotated[str, typer.Option(help="The data it was trained on.")] = "",
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Hide your name until the board reveals names.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Do not show it on the board yet.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the result and print it.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Submit answers to a board, straight from a run; several seeds are one submission.

    Each file is checked first, and an error in one counts nothing. The same command again counts nothing either:
    after a lost connection, repeat it.
    """
    from nikawa.board.client import SubmitOptions, read_token, sends_in_clear
    from nikawa.board.client import submit as run

    if sends_in_clear(url):
        echo(f"warning: {url} is not encrypted; others can read the token on its way", err=True)
    options = SubmitOptions(
        name=name,
        system=system,
        task=task,
        split=split,
        description=description,
        links=tuple(link or ()),
        licence=licence,
        parameters=parameters,
        training_data=training_data,
        anonymous=anonymous,
        publish=not private,
        wait=wait,
    )

    def warn(reason: str) -> None:
        if not quiet:
            echo(f"{reason}; trying again", err=True)

    with progress_bar("submitting", quiet or json) as bar:
        report = run(
            url,
            answers,
            token=read_token(token),
            options=options,
            on_progress=bar.update_stage,
            on_retry=warn,
        )
    if json:
        print_json(report)
    elif not quiet:
        show_submission(report)
    if report.state is not None and report.state.state == "failed":
        raise typer.Exit(1)


def show_submission(report: SubmitReport) -> None:
    """Print what became of a submission."""
    if report.is_duplicate:
        echo(f"These answers are submission {report.submission} already; nothing was counted again")
    else:
        files = format_count(report.files, "file")
        echo(f"Submission {report.submission} with {files}; its system is {report.system}")
    for left in report.remaining:
        words = [
            f"{number:,} {when}"
            for number, when in ((left.today, "today"), (left.in_all, "in all"))
            if number is not None
        ]
        if words:
            echo(f"Submissions left to {left.task}: {', '.join(words)}")
    if report.missing_finals:
        names = ", ".join(report.missing_finals)
        echo(
            f"It has no answers to {names}: after the closing date it cannot be scored on that",
            err=True,
        )
    state = report.state
    if state is None:
        pages = [report.address] * report.is_public + [report.own_address]
        echo(f"See {' and '.join(pages)}")
        return
    if state.state == "failed":
        echo(f"It could not be scored: {state.message}")
    elif state.state != "scored":
        echo(f"The result appears on {state.expected}; see {report.own_address}")
    else:
        rows = [
            (
                one.task,
                one.split,
                one.metric,
                format_number(one.value, 2) if one.value is not None else REASONS[one.reason],
                format_interval(one.low, one.high, 2),
                format_number(one.sd, 2),
            )
            for one in state.scores
            if not one.where
        ]
        print_table(("task", "split", "metric", "score", "95% interval", "sd"), rows)
        if report.is_public:
            echo(f"Its page: {report.address}")
        else:
            echo(f"Only you see it; publish it at {report.own_address}")


REASONS = {
    "no-better": "not above your best by more than the noise",
    "too-few": "too few items",
    "not-yet": "shown after the closing date",
    "undefined": "undefined",
    "hidden": "not shown",
}
"""Why a score is not shown, by its code."""
