"""Options that several commands share, each declared once with its help text and shell completion.

A command uses one as the type of a parameter, `json: Json = False`; the command sets the default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nikawa.cli.terminal.output import echo
from nikawa.errors import BadInput


def complete_datasets(incomplete: str) -> list[str]:
    """Complete dataset names, and splits after a name and a colon."""
    from nikawa.datasets import benchmarks
    from nikawa.spec import name_and_split

    name, _ = name_and_split(incomplete)
    if name != incomplete and name in benchmarks():
        splits = benchmarks()[name].split_names()
        return [f"{name}:{s}" for s in splits if f"{name}:{s}".startswith(incomplete)]
    return [known for known in benchmarks() if known.startswith(incomplete)]


def complete_tasks(incomplete: str) -> list[str]:
    """Complete task, dataset and suite names."""
    from nikawa.datasets import benchmarks, suites, tasks

    names = {*tasks(), *benchmarks(), *suites()}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_from(*words: str) -> Callable[[str], list[str]]:
    """Return a completion for an option that takes one of a few words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
"""Print the whole report on stdout, also with `--quiet`, and no progress."""
Extract = Annotated[
    list[str] | None,
    typer.Option(
        "--extract",
        metavar="REGEX",
        help="Extract the answer from a longer text with a regular expression. The answer is the first group of the last match. If repeated, each expression searches the result of the previous one.",
    ),
]
"""A chain; see `nikawa.io.answers.extract`."""
ShowReading = Annotated[
    bool,
    typer.Option(
        "--show-reading", help="Show how each answer was read: the text, the answer, the pattern."
    ),
]
"""With `--json`, the key `readings`."""
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
"""The written files and the exit status stay the same."""
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder with the published datasets.", envvar="NIKAWA_DATA", show_envvar=True
    ),
]
"""None: the folder that `nikawa.datasets.locate.data_root` finds."""
Shards = Annotated[
    bool,
    typer.Option(
        "--shards",
        help="Write a file for each input file: --out is a folder, the dataset a folder of records files. A killed command keeps the finished files when you start it again.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
"""Without it, an existing file or folder is a `BadInput`."""
OverwriteFolder = Annotated[bool, typer.Option("--overwrite", help="Replace the folder.")]
"""The same for commands whose `--out` is a folder."""
HiddenLabels = Annotated[
    bool,
    typer.Option(
        "--hidden",
        help="Also use hidden labels; only for their owners. Output files get mode 0600.",
    ),
]
"""Without it, hidden labels are neither used nor copied."""
OutFolder = Annotated[Path, typer.Option(help="The folder to write.")]
"""The required output folder."""
TableStyle = Annotated[
    str | None, typer.Option("--as", help="Format of the table: markdown, latex or csv.")
]
"""A notation of `print_rendered`; None prints the table for a terminal."""
UnitOfTable = Annotated[
    str,
    typer.Option(
        "--unit",
        help="Unit of the scores: percent, or official for the unit of the official scorer.",
    ),
]
"""Parsed by `nikawa.metrics.units.parse_table_unit`; `--json` always has the official unit."""
AnsweredSplit = Annotated[
    str | None, typer.Option(help="The split of the answers; default: the split with the same ids.")
]
"""The split that a file of answers belongs to."""
LabelKeysFile = Annotated[
    Path | None,
    typer.Option(
        help="The key file with the hidden labels, written by nikawa data hide; needs --hidden."
    ),
]
"""`warn_of_mode` checks its mode."""
Resamples = Annotated[int, typer.Option(help="Resamples for the intervals.", min=100)]
"""Rounds of the bootstrap."""
ResampleSeed = Annotated[int, typer.Option(help="Seed for the resamples.")]
"""Changes intervals in their last digits, never a score."""
DrawSeed = Annotated[int, typer.Option(help="Seed for random choices.")]
"""The seed of commands that draw examples or words; the same seed gives the same draw."""
Processes = Annotated[
    int, typer.Option(help="Number of processes; the result does not depend on it.", min=1)
]
"""How many processes share the work."""
ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where the work is done: pool (processes), here (this process), ray (a cluster) or a custom executor; the result does not depend on it.",
        autocompletion=complete_from("here", "pool", "ray"),
        show_default=False,
    ),
]
"""Empty: processes of this machine, as many as `--workers`."""
ClusterAddress = Annotated[
    str,
    typer.Option(
        "--address",
        help="The Ray cluster: HOST:PORT, or auto for the one that this machine belongs to; default: that one, else one on this machine.",
        show_default=False,
    ),
]
"""Only with the executor of a cluster."""
TextField = Annotated[str, typer.Option(help="The field of JSON lines that holds the text.")]
"""Used if a corpus is JSON lines; plain text has no fields."""
CardFields = Annotated[
    list[str] | None,
    typer.Option(
        help="Set a field of the card: name=my-nli, version=1.0, licence=…, source=…, citation=…; may be repeated.",
        metavar="FIELD=TEXT",
    ),
]
"""Parsed by `parse_card_fields`."""
Question = Annotated[
    str | None,
    typer.Option(
        help="The question, if there are several. OURS=THEIRS if a tool uses another name for it."
    ),
]
"""None: the only question of the judgements. Parsed by `nikawa.io.judgements.parse_questions`."""
EmptySpans = Annotated[
    str,
    typer.Option(
        "--empty",
        help="What a doccano row without spans means: none (nothing to mark) or skip (not done).",
        autocompletion=complete_from("none", "skip"),
    ),
]
"""doccano also writes a row for unopened documents."""
Offsets = Annotated[
    str | None,
    typer.Option(
        help="The unit of span offsets in doccano and Argilla files, if texts contain emoji: utf16 (spans marked on the page) or characters.",
        autocompletion=complete_from("utf16", "characters"),
        show_default=False,
    ),
]
"""Their files do not contain the texts of spans, so the unit cannot be detected."""
SheetColumns = Annotated[
    str | None,
    typer.Option(
        "--map", help="Columns of a sheet, such as example=task_id,worker=user,answer=label."
    ),
]
"""Parsed by `nikawa.io.judgements.parse_map`; None takes the columns by their usual names."""
JudgementForm = Annotated[
    str | None,
    typer.Option(
        help="Format of the judgements: records, sheet, label-studio, doccano, potato, prodigy, argilla or mturk; default: detected from the content."
    ),
]
"""The tool that wrote a file of judgements."""
Port = Annotated[int, typer.Option(help="The port; 0 means any free port.", min=0, max=65535)]
"""The port of the annotation server."""


def warn_of_mode(keys: Path | None) -> None:
    """Print a warning if others than the owner can read a key file."""
    if keys is not None and keys.is_file():
        from nikawa.datasets.keys import describe_mode

        if warning := describe_mode(keys):
            echo(f"warning: {warning}", err=True)


def split_list(text: str) -> list[str]:
    """Return the words between commas, without surrounding spaces.

    >>> split_list("jnli, jsts,")
    ['jnli', 'jsts']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_value(text: str) -> Any:
    """Parse the value of a setting as JSON (a number, true, false, null or a list), or return the text itself.

    >>> parse_value("0.5"), parse_value("mean")
    (0.5, 'mean')
    """
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def parse_card_fields(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse fields of a card: `licence=CC0` is `{"licence": "CC0"}`.

    `option` is the name of the option in errors. Raises BadInput if a field is empty or repeated.
    """
    pairs = [text.partition("=") for text in texts]
    odd = next(
        (text for text, (*_, value) in zip(texts, pairs, strict=True) if not value.strip()), None
    )
    if odd is not None:
        raise BadInput(
            f"{option} {odd!r} has no value", cure=f"write it as {option} licence='CC BY 4.0'"
        )
    names = [name.strip() for name, *_ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{option} sets {twice!r} twice", cure="set each field once")
    return {name: value.strip() for name, (*_, value) in zip(names, pairs, strict=True)}
