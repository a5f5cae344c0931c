"""A finished encoder or causal model: its figures, its card, and the folder with them and the weights.

The card describes the encoder, its sources, its quality, its limits, and
the command that makes it again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.atomic import recover, refuse_existing, staged_files
from nikawa.io.json import read_json
from nikawa.io.lines import read_bytes
from nikawa.pretrain.corpus import LANGUAGE_NAMES
from nikawa.pretrain.settings import MAX_INPUT_TOKENS, TrainSettings, find_size
from nikawa.pretrain.tokenizer import load_tokenizer, save_causal_tokenizer

CONFIG_FILE, CARD_FILE, FIGURES_FILE = "config.json", "README.md", "pretraining.json"
GENERATION_FILE = "generation_config.json"
"""Of causal models."""
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocabulary.json",
)
MAX_FILES_SHOWN = 10
"""Files of the text that the card names."""
SKIPPED_KEYS = ("language", "seed", "run", "short", "floor", "first_piece", "crowded")
"""Keys of the reports that the card writes elsewhere, in other words, or not at all."""
_CREDIT_WORDS = ("source", "attribution", "licen", "credit", "bias")
"""Words of headings in a file of sources whose sections the card quotes."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a training measured."""

    settings: TrainSettings
    """With the number of steps that were made, whatever was requested."""
    parameters: int
    vocabulary: int
    text_pieces: int
    """Tokens of the text."""
    steps: int
    pieces: int
    """Tokens learned from, again and again."""
    seconds: float
    """Spent on steps; preparing, evaluating and saving do not count."""
    pieces_a_second: int
    share_of_peak: float | None = None
    """Operations a second as a share of what the GPU's maker promises; None where that is unknown.
    """
    device: str = ""
    threads: int = 0
    """Of the CPU; the same number makes the same weights."""
    unigram: float | None = None
    """Held-out loss of a model that knows only the frequency of each token."""
    loss: float | None = None
    """Mean loss on the text since the evaluation before the last."""
    heldout: float | None = None
    """Loss on held-out text at the end, in nats per masked token."""
    accuracy: float | None = None
    """Share of the masked tokens of held-out text that are predicted correctly."""
    history: list[dict[str, float]] = msgspec.field(default_factory=list)
    """Step, loss, held-out loss and accuracy at each evaluation."""
    notes: list[str] = msgspec.field(default_factory=list)
    """Things that were not available, such as a faster kernel."""


@dataclass(frozen=True)
class CardFacts:
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


def write_model(
    model: Any,
    figures: Figures,
    tokenizer: Path,
    out: Path,
    facts: CardFacts,
    *,
    overwrite: bool = False,
) -> None:
    """Put the model, its tokenizer, its card and its figures into `out`; what else is there stays.

    All files are replaced together, or no file is. Raises `BadInput` if `out` contains a model and
    `overwrite` is false.
    """
    out.mkdir(parents=True, exist_ok=True)
    recover(out, CONFIG_FILE)
    refuse_existing(out / CONFIG_FILE, overwrite)
    with staged_files(out, list_model_files(out), CONFIG_FILE) as place:
        save_weights(model, place)
        for name in TOKENIZER_FILES:
            if (tokenizer / name).is_file():
                (place / name).write_bytes((tokenizer / name).read_bytes())
        if figures.settings.is_causal:
            save_causal_tokenizer(load_tokenizer(tokenizer), place)
        formatted = msgspec.json.format(msgspec.json.encode(figures))
        (place / FIGURES_FILE).write_bytes(formatted + b"\n")
        (place / CARD_FILE).write_text(render_card(facts, figures), encoding="utf-8")


def list_model_files(folder: Path) -> list[str]:
    """The files of a folder that belong to a model of `write_model`."""
    names = {CONFIG_FILE, GENERATION_FILE, CARD_FILE, FIGURES_FILE, *TOKENIZER_FILES}
    names |= {path.name for path in folder.glob("model*.safetensors*")}
    return sorted(name for name in names if (folder / name).is_file())


def save_weights(model: Any, place: Path) -> None:
    """Write weights and configuration into `place`; raises `BadInput` where the disk is full."""
    from safetensors import SafetensorError
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    had_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(place)
    except SafetensorError as problem:  # a full disk, in the words of another language
        cure = "free some space, then run the same command again"
        raise BadInput(f"cannot be written: {problem}", file=place, cure=cure) from None
    finally:
        logging.set_verbosity(before)
        if had_bars:
            logging.enable_progress_bar()
    for path in place.glob(
        "model*.safetensors"
    ):  # the library makes them readable for the owner only
        path.chmod((place / CONFIG_FILE).stat().st_mode & 0o777)


def read_figures(folder: Path) -> Figures:
    """The figures of a finished model."""
    path = folder / FIGURES_FILE
    if not path.is_file():
        what = "contains no encoder made by nikawa pretrain"
        raise BadInput(what, file=folder, cure="pass the folder of one")
    return read_json(path, Figures)


def read_credits(path: Path) -> str:
    """The text of a file that names sources."""
    cure = "pass the file that credits the sources"
    if not path.exists():
        raise BadInput("no such file", file=path, cure=cure)
    try:
        return read_bytes(path, "settings").decode()
    except UnicodeDecodeError:
        cure += ", as UTF-8 text"
        raise BadInput("cannot be read as text", file=path, cure=cure) from None


def render_card(facts: CardFacts, figures: Figures) -> str:
    """The card as Markdown, with the front matter that model hubs read."""
    causal = figures.settings.is_causal
    model = f"{'lm' if causal else 'encoder'}:{facts.folder or facts.name}"
    loader = "AutoModelForCausalLM" if causal else "AutoModel"
    kind = "model" if causal else "encoder"
    task = f"mini-{facts.language}-nli"
    use = f"""## Use

    {shlex.join(["nikawa", "run", "--tasks", task, "--model", model])}

Any other task works too. With transformers, use `{loader}.from_pretrained(FOLDER)` and `AutoTokenizer.from_pretrained(FOLDER)`. This command made the {kind}:

    {facts.command}
"""
    rows = [
        *_training_rows(figures),
        *_text_rows(facts.corpus),
        *_report_rows("text", facts.corpus),
        *_report_rows("vocabulary", facts.vocabulary),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    training = f"## Training\n\n| what | value |\n|---|---|\n{table}\n"
    return "\n".join((_render_start(facts, figures), use, training, _render_end(facts, figures)))


def card_matches(card: str, facts: CardFacts, figures: Figures) -> bool:
    """Whether a card, perhaps of an earlier version, has the owner's facts: name, licence, sources."""
    return card.startswith(_render_start(facts, figures)) and card.endswith(
        _render_end(facts, figures)
    )


def _render_start(facts: CardFacts, figures: Figures) -> str:
    """The front matter and the first paragraph."""
    licence = f"license: {facts.licence}\n" if facts.licence else ""
    size = find_size(figures.settings.size)
    language = LANGUAGE_NAMES.get(facts.language, facts.language)
    causal = figures.settings.is_causal
    purpose, family = ("text-generation", "llama") if causal else ("fill-mask", "modernbert")
    kind = "language model" if causal else "encoder"
    architecture = "LlamaForCausalLM" if causal else "ModernBertForMaskedLM"
    return f"""---
language: {facts.language}
{licence}library_name: transformers
pipeline_tag: {purpose}
tags: [nikawa, {family}]
---

# {facts.name}

A {language} {kind} of {figures.parameters / 1e6:.1f} million parameters ({size.layers} layers of {size.width}, {size.heads} heads,
{figures.vocabulary:,} tokens, inputs of up to {MAX_INPUT_TOKENS} tokens), a plain `{architecture}`.
"""


def _training_rows(figures: Figures) -> list[tuple[str, str]]:
    """The rows of the card's table about the training: one name and one value each."""
    settings = figures.settings
    trained = figures.pieces
    times = trained / max(1, figures.text_pieces)
    shares = ", ".join(
        f"{share:.0%} at {length}" for length, share in settings.lengths if share > 0
    )
    rate = f"{settings.rate():g}, {settings.schedule}, warm-up {settings.warmup:.0%}"
    objective = f"whole-word masking, {settings.mask:.0%} of the tokens"
    if settings.is_causal:
        objective = "next token, documents apart"
    kind = "next" if settings.is_causal else "masked"
    device = figures.device
    if figures.threads:
        device += f", {figures.threads} thread{'s' * (figures.threads > 1)}"
    rows = [
        ("text", f"{figures.text_pieces:,} tokens"),
        ("trained on", f"{trained:,} tokens ({times:.1f} times the text)"),
        ("steps", f"{figures.steps:,} of {settings.batch:,} tokens; {shares}"),
        ("objective", objective),
        ("learning rate", rate),
        ("device", device),
        ("time", f"{figures.seconds:,.0f} s, {figures.pieces_a_second:,} tokens per second"),
    ]
    if figures.share_of_peak is not None:
        rows.append(("share of the GPU's peak", f"{figures.share_of_peak:.1%}"))
    if figures.heldout is not None and figures.accuracy is not None:
        baseline = "" if figures.unigram is None else f" ({figures.unigram:.3f} by frequency alone)"
        rows.append((f"held-out loss on {kind} tokens", f"{figures.heldout:.3f} nats{baseline}"))
        rows.append((f"held-out {kind} tokens predicted correctly", f"{figures.accuracy:.1%}"))
    return [*rows, *(("note", note) for note in figures.notes)]


def _text_rows(corpus: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The files of the text by their names, and what was looked for in them."""
    rows = []
    names = [str(file["file"]) for file in corpus.get("files", ())]
    if names:
        shown = ", ".join(names[:MAX_FILES_SHOWN])
        if len(names) > MAX_FILES_SHOWN:
            shown += f" and {len(names) - MAX_FILES_SHOWN} more"
        rows.append(("text: files", shown))
    if "run" in corpus and "short" in corpus:
        what = f"lines that share {corpus['run']} characters with a benchmark, or contain a whole benchmark text of {corpus['short']} or more"
        rows.append(("text: removed", what))
    return rows


def _report_rows(about: str, report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a report counts, a row each; lists stay in the report."""
    rows = []
    for name, value in report.items():
        cell = _format_cell(value)
        if cell and name not in SKIPPED_KEYS:
            rows.append((f"{about}: {name.replace('_', ' ')}", cell))
    return rows


def _format_cell(value: Any) -> str:
    """A value of a report; empty where it has no place in a table."""
    if isinstance(value, Mapping):
        cells = {name: _format_cell(one) for name, one in value.items()}
        return ", ".join(f"{name} {cell}" for name, cell in cells.items() if cell)
    if isinstance(value, bool):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else ""


def _render_end(facts: CardFacts, figures: Figures) -> str:
    """The limits and, where there is a file of sources, the credits."""
    use = "Use it for fine-tuning and studies; it does not compete with large models."
    skill = "It fills gaps and reads text. It does not write text. Do not rely"
    if figures.settings.is_causal:
        use = "Use it for studies; it does not compete with large models."
        skill = "It continues text and follows no instruction. Do not rely"
    notes = "".join(f"- {note}\n" for note in facts.notes)
    limits = f"""## Limits

- It is small and was trained for minutes on little text. {use}
- {skill} on anything it predicts about people or facts.
- It repeats the biases of its sources. Personal data was replaced by rules, which miss some.
{notes}"""
    if facts.sources is None:
        return limits
    text = read_credits(facts.sources)
    sections = [
        section.strip()
        for section in re.split(r"^(?=## )", text, flags=re.MULTILINE)
        if _is_credit(section, facts.language)
    ]
    credits = "\n\n".join(sections or [f"## Sources and attribution\n\n{text.strip()}"])
    return f"{limits}\n{credits}\n"


def _is_credit(section: str, language: str) -> bool:
    """Whether a section names sources of the language, their limits or whom to credit."""
    heading = section.partition("\n")[0].lower()
    if not heading.startswith("## ") or not any(word in heading for word in _CREDIT_WORDS):
        return False
    others = [name.lower() for code, name in LANGUAGE_NAMES.items() if code != language]
    return not any(name in heading for name in others)
