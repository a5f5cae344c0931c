"""Descriptions of the encoders of the tokenizer study: read from their folders once, and stored next to the runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.json import read_json

SIZES = "encoders.json"
"""The descriptions of the encoders, next to the runs: the report needs neither their weights nor their machine."""
ENCODERS = (
    "language",
    "encoder",
    "tokens",
    "parameters",
    "tokens per character",
    "steps",
    "training tokens",
    "held-out loss",
    "answers at token boundaries",
)
KNOWN = 8
"""The fewest columns that a version of the study wrote."""
BETWEEN = """Tokens per character are counted in texts of the tasks. Answers at token boundaries: the share of the gold entities and answers of tagging and
reading that begin where a token begins and end where a token ends; the others cannot be given exactly."""


def read_sizes(path: Path) -> list[list[Any]]:
    """Read the stored descriptions of the encoders; columns that an older version of the study did not have are empty."""
    rows = read_json(path, list[list[Any]])
    for number, row in enumerate(rows, 1):
        words = all(isinstance(word, str) for word in row[:2]) and not any(
            isinstance(word, list | dict) for word in row
        )
        if not words or not KNOWN <= len(row) <= len(ENCODERS):
            cure = "remove it and pass the encoders again (--ja, --ko): it is then written again"
            raise BadInput(
                f"row {number} does not describe an encoder of this study", file=path, cure=cure
            )
    return [[*row, *[None] * (len(ENCODERS) - len(row))] for row in rows]


class Training(msgspec.Struct):
    """The figures of `pretraining.json` that the study shows."""

    steps: int | None = None
    pieces: int | None = None
    heldout: float | None = None


def training(folder: Path) -> list[Any]:
    """Steps, tokens and the loss on held-out text; empty for an encoder from another tool."""
    path = folder / "pretraining.json"
    figures = read_json(path, Training) if path.is_file() else Training()
    loss = "" if figures.heldout is None else f"{figures.heldout:.3f}"
    return [figures.steps, figures.pieces, loss]


def unlike(encoders: Sequence[Sequence[Any]]) -> list[str]:
    """Reasons why the encoders of a language are not comparable: the study needs the same steps of the same size."""
    said = []
    for language in dict.fromkeys(row[0] for row in encoders):
        budgets = {row[1]: (row[5], row[6]) for row in encoders if row[0] == language}
        if len(set(budgets.values())) > 1:
            each = ", ".join(
                f"{kind} {steps or 'unknown'} steps" for kind, (steps, _) in budgets.items()
            )
            said.append(
                f"The encoders for {language} were trained differently ({each}), so their differences are not only due to their tokens."
            )
    return said


def tokenizer_of(folder: Path) -> Any:
    """The tokenizer of an encoder."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def density(tokenizer: Any, texts: Sequence[str]) -> str:
    """Tokens per non-blank character."""
    length = sum(len("".join(text.split())) for text in texts)
    if not length:
        return ""
    made = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    return f"{sum(map(len, made)) / length:.3f}"


def weights(folder: Path) -> int:
    """The number of parameters in its files."""
    from math import prod

    from safetensors import safe_open

    count = 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "np") as file:
            count += sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118  (it is not a mapping)
    return count
