"""The card of a trained encoder: what it is, from what, how good, what it is not for, and the command that makes it again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.pretrain.settings import TrainSettings
from nikawa.pretrain.sizes import LONGEST, size_of

SHOWN = 10
"""Files of the text that are named."""
LANGUAGES = {"ja": "Japanese", "ko": "Korean"}


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a training measured."""

    settings: TrainSettings
    parameters: int
    vocabulary: int
    text_pieces: int
    """Pieces of the text."""
    steps: int
    pieces: int
    """Pieces learned from, again and again."""
    seconds: float
    pieces_a_second: int
    share_of_peak: float | None = None
    device: str = ""
    threads: int = 0
    """Of the processor; the same number makes the same weights."""
    unigram: float | None = None
    """Held-out loss of a model that knows only the frequency of each piece."""
    loss: float | None = None
    heldout: float | None = None
    accuracy: float | None = None
    history: list[dict[str, float]] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


@dataclass(frozen=True)
class Story:
    """What only the one who trains knows."""

    name: str
    language: str
    command: str
    """Makes the same model again."""
    sources: Path | None = None
    """A file that names the sources of the text and whom to credit."""
    licence: str = ""
    corpus: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folder: str = ""
    """Where it was written, as a command names it; empty: by its name."""


def render(story: Story, figures: Figures) -> str:
    """The card as Markdown, with the front matter hubs read."""
    parts = [
        _front(story),
        _intro(story, figures),
        _use(story),
        _training(story, figures),
        _limits(story),
        _credits(story),
    ]
    return "\n".join(part for part in parts if part)


def tells(card: str, story: Story, figures: Figures) -> bool:
    """Whether a card, be it one that an earlier version wrote, says what the story's owner says: name, licence, sources."""
    first = "\n".join((_front(story), _intro(story, figures)))
    last = "\n".join(filter(None, (_limits(story), _credits(story))))
    return card.startswith(first) and card.endswith(last)


def _front(story: Story) -> str:
    licence = [f"license: {story.licence}"] if story.licence else []
    lines = [
        f"language: {story.language}",
        *licence,
        "library_name: transformers",
        "pipeline_tag: fill-mask",
        "tags: [nikawa, modernbert]",
    ]
    return "\n".join(["---", *lines, "---", ""])


def _intro(story: Story, figures: Figures) -> str:
    size = size_of(figures.settings.size)
    language = LANGUAGES.get(story.language, story.language)
    return f"""# {story.name}

A {language} encoder of {figures.parameters / 1e6:.1f} million parameters ({size.layers} layers of {size.width}, {size.heads} heads,
{figures.vocabulary:,} pieces, inputs of up to {LONGEST}), a plain `ModernBertForMaskedLM`.
"""


def _use(story: Story) -> str:
    return f"""## Use

    {shlex.join(["nikawa", "run", "--tasks", f"mini-{story.language}-nli", "--model", f"encoder:{story.folder or story.name}"])}

with any other task in the place of that one, or `AutoModel.from_pretrained(FOLDER)` and `AutoTokenizer.from_pretrained(FOLDER)` with transformers. Made again by

    {story.command}
"""


def _training(story: Story, figures: Figures) -> str:
    settings = figures.settings
    lengths = ", ".join(
        f"{share:.0%} at {length}" for length, share in settings.lengths if share > 0
    )
    rows = [
        ("text", f"{figures.text_pieces:,} pieces"),
        (
            "learned from",
            f"{figures.pieces:,} pieces ({figures.pieces / max(1, figures.text_pieces):.1f} times the text)",
        ),
        ("steps", f"{figures.steps:,} of {settings.batch:,} pieces; {lengths}"),
        ("objective", f"whole words masked, {settings.mask:.0%} of the pieces"),
        (
            "learning rate",
            f"{settings.rate():g}, {settings.schedule}, warm-up {settings.warmup:.0%}",
        ),
        (
            "device",
            f"{figures.device}, {figures.threads} thread{'s' * (figures.threads > 1)}"
            if figures.threads
            else figures.device,
        ),
        ("time", f"{figures.seconds:,.0f} s, {figures.pieces_a_second:,} pieces a second"),
        *_measured(figures),
        *_files(story.corpus),
        *_rows("text", story.corpus),
        *_rows("vocabulary", story.vocabulary),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"## Training\n\n| what | value |\n|---|---|\n{table}\n"


def _measured(figures: Figures) -> list[tuple[str, str]]:
    found = []
    if figures.share_of_peak is not None:
        found.append(("share of the card's peak", f"{figures.share_of_peak:.1%}"))
    if figures.heldout is not None and figures.accuracy is not None:
        known = "" if figures.unigram is None else f" ({figures.unigram:.3f} by frequency alone)"
        found.append(("held-out loss of masked pieces", f"{figures.heldout:.3f} nats{known}"))
        found.append(("held-out pieces predicted right", f"{figures.accuracy:.1%}"))
    return [*found, *(("note", note) for note in figures.notes)]


SAID = ("language", "seed", "run", "short", "floor", "first_piece", "crowded")
"""What the card says elsewhere, in other words, or not at all."""


def _files(corpus: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The files of the text by their names, and what was looked for in them."""
    names = [str(file["file"]) for file in corpus.get("files", ())]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    found = [("text: files", ", ".join(names[:SHOWN]) + more)] if names else []
    if "run" in corpus and "short" in corpus:
        what = f"lines that share {corpus['run']} characters with a benchmark, or hold a whole text of {corpus['short']} or more"
        found.append(("text: taken out", what))
    return found


def _rows(about: str, report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a report counts, a row each; lists stay in the report."""
    found = ((name, _cell(value)) for name, value in report.items() if name not in SAID)
    return [(f"{about}: {name.replace('_', ' ')}", cell) for name, cell in found if cell]


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(one)}" for name, one in value.items() if _cell(one))
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return ""
    return (
        value
        if isinstance(value, str)
        else f"{value:,}"
        if isinstance(value, int)
        else f"{value:.4g}"
    )


def _limits(story: Story) -> str:
    told = "".join(f"- {note}\n" for note in story.notes)
    return f"""## Limits

- Small and trained for minutes on little text: a start for fine-tuning and for studies, not a rival of large models.
- It fills gaps and reads; it does not write text, and nothing it says of people or facts should be relied on.
- Its text has the biases of its sources, which it repeats. Personal data was replaced by rules, which miss some.
{told}"""


def _credits(story: Story) -> str:
    """The sections of the sources' file that name sources of this language, their limits and whom to credit."""
    if story.sources is None:
        return ""
    text = read_credits(story.sources)
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    kept = [part.strip() for part in parts if _wanted(part, story.language)]
    return "\n\n".join(kept or [f"## Sources and attribution\n\n{text.strip()}"]) + "\n"


def read_credits(path: Path) -> str:
    """The text of a file that names sources."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(
            "no such file", file=path, cure="name the file that credits the sources"
        ) from None
    except (OSError, UnicodeDecodeError):
        cure = "name the file that credits the sources, as UTF-8 text"
        raise BadInput("cannot be read as text", file=path, cure=cure) from None


def _wanted(part: str, language: str) -> bool:
    heading = part.partition("\n")[0].lower()
    if not heading.startswith("## "):
        return False
    others = [name.lower() for code, name in LANGUAGES.items() if code != language]
    about = any(word in heading for word in ("source", "attribution", "licen", "credit", "bias"))
    return about and not any(name in heading for name in others)
