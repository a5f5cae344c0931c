"""`nikawa lexicon`: build and show the words that fill templates.

`build` counts verbs and their nouns in Japanese text and writes a lexicon folder. `show` prints
the contents of a lexicon.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nikawa.cli.terminal.options import Json, OutFolder, OverwriteFolder, Quiet
from nikawa.cli.terminal.output import echo, print_json, print_result, print_table, progress_bar

if TYPE_CHECKING:
    from nikawa.generation.lexicon import Frame, Lexicon
    from nikawa.generation.lexicon_build import LexiconReport

PANEL = "Probe"


def register(app: typer.Typer) -> None:
    """Attach the command and its subcommands."""
    lexicon = typer.Typer(
        help="Build and show the words that fill templates.",
        epilog="Example: nikawa lexicon show ja",
        no_args_is_help=True,
    )
    lexicon.command("build", epilog="Example: nikawa lexicon build novel.txt --out my-lexicon")(
        build
    )
    lexicon.command("show", epilog="Example: nikawa lexicon show ja --verb 読む")(show)
    app.add_typer(lexicon, name="lexicon", rich_help_panel=PANEL)


def build(
    texts: Annotated[
        list[Path], typer.Argument(help="Japanese text files: plain, .gz, .zst or .xz.")
    ],
    out: OutFolder,
    method: Annotated[
        str, typer.Option(help="Parsing method: adjacency, or ginza (slow; needs an extra).")
    ] = "adjacency",
    min_count: Annotated[int, typer.Option(help="Minimum count of a verb with a noun.", min=1)] = 2,
    min_verb: Annotated[int, typer.Option(help="Minimum count of a verb.", min=1)] = 10,
    min_nouns: Annotated[int, typer.Option(help="Minimum nouns of a frame.", min=1)] = 3,
    exclude: Annotated[
        Path | None, typer.Option(help="Words to exclude; default: the included list.")
    ] = None,
    agents: Annotated[
        Path | None, typer.Option(help="Names of agents; default: the included list.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="Licence of the texts, stored with the lexicon.")
    ] = None,
    overwrite: OverwriteFolder = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Count which nouns occur with which verbs in raw text, and write a lexicon and a report."""
    from nikawa.generation.lexicon_build import LexiconOptions, build_lexicon

    shipped = LexiconOptions()
    options = LexiconOptions(
        method=method,
        triple=min_count,
        verb=min_verb,
        nouns=min_nouns,
        agents=agents or shipped.agents,
        exclude=exclude or shipped.exclude,
        licence=licence or shipped.licence,
    )
    with progress_bar("counting lines", quiet or json) as bar:
        report = build_lexicon(
            texts,
            out,
            options,
            overwrite=overwrite,
            on_progress=bar.update,
        )
    print_result(report, lambda report: print_report(report, out), json=json, quiet=quiet)


def print_report(report: LexiconReport, out: Path) -> None:
    """Print what was counted and what was dropped."""
    rows: list[tuple[str, Any]] = [
        ("lines", report.lines),
        ("sentences", report.sentences),
        ("triples found", report.triples),
        ("different", report.types),
        ("verbs", report.verbs),
        *((f"dropped: {why}", n) for why, n in report.dropped.items()),
        ("kept, different", report.kept_types),
        ("kept verbs", report.kept_verbs),
        ("kept nouns", report.nouns),
        ("frames", report.frames),
    ]
    print_table(("", "count"), rows, numbers=("count",))
    if not report.frames:
        echo(f"Written to {out}, but it has no frame, so nothing can be generated from it. {_CURE}")
        return
    echo(f"Written to {out}. Check frames.tsv before you generate from it.")


_CURE = "Pass more text, or lower --min-nouns, --min-count or --min-verb."


def show(
    name: Annotated[
        str, typer.Argument(help="An included lexicon (ja, ko) or a lexicon folder.")
    ] = "ja",
    verb: Annotated[str | None, typer.Option(help="Show the frames of one verb.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the contents of a lexicon, or the frames of one verb."""
    from nikawa.errors import unknown
    from nikawa.generation.lexicon import load_lexicon

    lexicon = load_lexicon(name)
    if verb is not None and verb not in lexicon.verbs:
        raise unknown("verb", verb, lexicon.verbs)
    frames = [frame for frame in lexicon.frames if verb in (None, frame.verb)]
    if json:
        print_json(frames if verb else _summary(lexicon))
    elif not quiet:
        if verb:
            print_frames(frames)
        else:
            summary = _summary(lexicon)
            rows = [(key, summary[key]) for key in ("agents", "verbs", "nouns")]
            rows += [(f"frames {cases}", n) for cases, n in summary["frames"].items()]
            rows += [
                ("frames of a state", summary["states"]),
                ("counted triples", summary["counts"]),
            ]
            print_table((lexicon.about.title, "count"), rows, numbers=("count",))
            echo(f"Licence: {lexicon.about.licence}")
            echo(" ".join(lexicon.about.provenance.split()))


def _summary(lexicon: Lexicon) -> dict[str, Any]:
    from collections import Counter

    frames = Counter("-".join(frame.cases) for frame in lexicon.frames)
    return {
        "about": lexicon.about,
        "agents": len(lexicon.agents),
        "verbs": len(lexicon.verbs),
        "nouns": len(lexicon.nouns),
        "frames": dict(frames.most_common()),
        "states": sum(frame.state for frame in lexicon.frames),
        "counts": len(lexicon.counts),
    }


def print_frames(frames: list[Frame]) -> None:
    """Print verb frames with their most frequent nouns."""
    rows = [
        (
            frame.verb,
            " ".join(frame.cases),
            "transitive" if frame.transitive else "intransitive",
            " ".join(frame.times),
            " ".join(frame.units),
            frame.state,
            "  ".join(f"{case}: {' '.join(nouns[:8])}" for case, nouns in frame.nouns.items()),
        )
        for frame in frames
    ]
    print_table(
        ("verb", "cases", "kind", "times", "units", "state", "nouns, the first eight"), rows
    )
