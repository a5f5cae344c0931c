"""Options that several verbs have, each declared once with its help text, and what the shell
completes for them.

A verb takes one as the type of a parameter, `json: Json = False`; the default stays with the verb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nikawa.cli.terminal.output import echo
from nikawa.errors import BadInput


def complete_datasets(incomplete: str) -> list[str]:
    """Dataset names, and the splits of one once its name and a colon stand there."""
    from nikawa.datasets import benchmarks
    from nikawa.spec import name_and_split

    name, _ = name_and_split(incomplete)
    if name != incomplete and name in benchmarks():
        splits = benchmarks()[name].split_names()
        return [f"{name}:{s}" for s in splits if f"{name}:{s}".startswith(incomplete)]
    return [known for known in benchmarks() if known.startswith(incomplete)]


def complete_tasks(incomplete: str) -> list[str]:
    """Task, dataset and suite names."""
    from nikawa.datasets import benchmarks, suites, tasks

    names = {*tasks(), *benchmarks(), *suites()}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_from(*words: str) -> Callable[[str], list[str]]:
    """A completion for an option that takes one of a few words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
"""The whole report on stdout, whatever `--quiet` says; no progress is shown."""
Extract = Annotated[
    list[str] | None,
    typer.Option(
        "--extract",
        metavar="REGEX",
        help="Take the answer out of a longer text by a regular expression: its last match, and of it the first group; may be repeated: the next one looks into what the one before gave.",
    ),
]
"""A chain; see `nikawa.io.answers.extract`."""
ShowReading = Annotated[
    bool,
    typer.Option("--show-reading", help="Show what was read from what: text, reading, pattern."),
]
"""With `--json`, the key `readings`."""
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
"""Files are written and the exit status is the same."""
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder with the published datasets.", envvar="NIKAWA_DATA", show_envvar=True
    ),
]
"""None: the folder that `nikawa.datasets.locate.data_root` finds."""
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
"""Without it a file or folder that exists is a `BadInput`."""
OverwriteFolder = Annotated[bool, typer.Option("--overwrite", help="Replace the folder.")]
"""The same for verbs whose `--out` is a folder of many files."""
HiddenLabels = Annotated[
    bool,
    typer.Option(
        "--hidden",
        help="Use hidden labels too, only for whoever holds them; files get mode 0600.",
    ),
]
"""Without it hidden labels are neither looked at nor copied."""
OutFolder = Annotated[Path, typer.Option(help="The folder to write.")]
"""A folder that the verb cannot do without."""
TableStyle = Annotated[str | None, typer.Option("--as", help="markdown, latex or csv.")]
"""A notation of `print_rendered`; None prints the table for a terminal."""
UnitOfTable = Annotated[
    str, typer.Option("--unit", help="percent, or official: as the official scorer reports.")
]
"""Parsed by `nikawa.metrics.units.parse_table_unit`; `--json` is in the official unit in any case."""
AnsweredSplit = Annotated[str | None, typer.Option(help="The split; else the one whose ids fit.")]
"""The split that a file of answers belongs to."""
LabelKeysFile = Annotated[
    Path | None,
    typer.Option(
        help="The key file of nikawa data hide, with labels that are hidden; needs --hidden."
    ),
]
"""Its mode is looked at by `warn_of_mode`."""
Resamples = Annotated[int, typer.Option(help="Resamples of the intervals.", min=100)]
"""Rounds of the bootstrap."""
ResampleSeed = Annotated[int, typer.Option(help="Seed of the resamples.")]
"""Changes intervals in their last digits, never a score."""
DrawSeed = Annotated[int, typer.Option(help="Another seed draws others.")]
"""The seed of verbs that draw examples or words; the same seed draws the same ones."""
Processes = Annotated[
    int, typer.Option(help="Processes; the result is the same for any number.", min=1)
]
"""How many processes share the work."""
TextField = Annotated[str, typer.Option(help="The field of JSON lines that holds the text.")]
"""Read where a corpus is JSON lines; plain text has no fields."""
CardFields = Annotated[
    list[str] | None,
    typer.Option(
        help="What the card is to say: name=my-nli, version=1.0, licence=…, source=…, citation=…; may be repeated.",
        metavar="FIELD=TEXT",
    ),
]
"""Parsed by `parse_card_fields`."""
Question = Annotated[
    str | None,
    typer.Option(
        help="The question, where there are several; OURS=THEIRS where a tool calls it otherwise."
    ),
]
"""None: the only question of the judgements. Parsed by `nikawa.io.judgements.parse_questions`."""
EmptySpans = Annotated[
    str,
    typer.Option(
        "--empty",
        help="What a doccano row without spans says: none (nothing to mark) or skip (not done).",
        autocompletion=complete_from("none", "skip"),
    ),
]
"""doccano writes a row for documents that nobody opened, too."""
Offsets = Annotated[
    str | None,
    typer.Option(
        help="What doccano's or Argilla's spans count, where emoji make a difference: utf16 (what was marked on the page) or characters.",
        autocompletion=complete_from("utf16", "characters"),
        show_default=False,
    ),
]
"""Their files hold no texts of spans, which would tell."""
SheetColumns = Annotated[
    str | None,
    typer.Option("--map", help="Columns of a sheet: example=task_id,worker=user,answer=label."),
]
"""Parsed by `nikawa.io.judgements.parse_map`; None takes the columns by their usual names."""
JudgementForm = Annotated[
    str | None,
    typer.Option(
        help="records, sheet, label-studio, doccano, potato, prodigy, argilla, mturk; else by content."
    ),
]
"""The tool that wrote a file of judgements."""
Port = Annotated[int, typer.Option(help="The port; 0 for a free one.", min=0, max=65535)]
"""Where the server of workers' pages listens."""


def warn_of_mode(keys: Path | None) -> None:
    """Print a line where others than its owner can read a key file."""
    if keys is not None and keys.is_file():
        from nikawa.datasets.keys import describe_mode

        if warning := describe_mode(keys):
            echo(f"warning: {warning}", err=True)


def split_list(text: str) -> list[str]:
    """The words between commas, without blanks around them.

    >>> split_list("jnli, jsts,")
    ['jnli', 'jsts']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def parse_value(text: str) -> Any:
    """The value of a setting: a number, true, false, null or a list where it reads as JSON, else
    the text itself.

    >>> parse_value("0.5"), parse_value("mean")
    (0.5, 'mean')
    """
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def parse_card_fields(texts: Sequence[str], option: str) -> dict[str, str]:
    """Fields of a card by name: `licence=CC0` is `{"licence": "CC0"}`.

    `option` is what errors call them.
    Raises BadInput where a field has no text or is there twice.
    """
    pairs = [text.partition("=") for text in texts]
    odd = next(
        (text for text, (*_, value) in zip(texts, pairs, strict=True) if not value.strip()), None
    )
    if odd is not None:
        raise BadInput(
            f"{option} {odd!r} says nothing", cure=f"write it as {option} licence='CC BY 4.0'"
        )
    names = [name.strip() for name, *_ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{option} says {twice!r} twice", cure="say each field once")
    return {name: value.strip() for name, (*_, value) in zip(names, pairs, strict=True)}
