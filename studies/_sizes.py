"""What the encoders of the study of pieces are: read from their folders once, and written beside the runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput
from nikawa.io.json import read_json

SIZES = "encoders.json"
"""What the encoders are, written beside the runs: the report needs neither their weights nor their machine."""
ENCODERS = (
    "language",
    "encoder",
    "pieces",
    "parameters",
    "pieces a character",
    "steps",
    "pieces learned from",
    "held-out loss",
    "answers between pieces",
)
KNOWN = 8
"""The fewest columns that a version of the study wrote."""
BETWEEN = """Pieces a character are counted in texts of the tasks. Answers between pieces: of the entities and answers that tagging and reading ask for, those that
begin where a piece begins and end where one ends; no others can be given exactly."""


def read_sizes(path: Path) -> list[list[Any]]:
    """What the encoders are, as it was written down; columns that an older version of the study did not have are empty."""
    rows = read_json(path, list[list[Any]])
    for number, row in enumerate(rows, 1):
        words = all(isinstance(word, str) for word in row[:2]) and not any(
            isinstance(word, list | dict) for word in row
        )
        if not words or not KNOWN <= len(row) <= len(ENCODERS):
            cure = "remove it and give the encoders again (--ja, --ko): it is written anew"
            raise BadInput(f"row {number} tells no encoder of this study", file=path, cure=cure)
    return [[*row, *[None] * (len(ENCODERS) - len(row))] for row in rows]


def training(folder: Path) -> list[Any]:
    """Steps, pieces and the loss on held-out text; nothing of an encoder that comes from elsewhere."""
    path = folder / "pretraining.json"
    told = read_json(path, dict[str, Any]) if path.is_file() else {}
    loss = told.get("heldout")
    return [told.get("steps"), told.get("pieces"), "" if loss is None else f"{loss:.3f}"]


def unlike(encoders: Sequence[Sequence[Any]]) -> list[str]:
    """What keeps the encoders of a language from being compared: the study wants the same steps of the same size."""
    said = []
    for language in dict.fromkeys(row[0] for row in encoders):
        budgets = {row[1]: (row[5], row[6]) for row in encoders if row[0] == language}
        if len(set(budgets.values())) > 1:
            each = ", ".join(
                f"{kind} {steps or 'unknown'} steps" for kind, (steps, _) in budgets.items()
            )
            said.append(
                f"The encoders for {language} were not trained alike ({each}): their differences are not those of their pieces alone."
            )
    return said


def tokenizer_of(folder: Path) -> Any:
    """The tokenizer of an encoder."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def density(tokenizer: Any, texts: Sequence[str]) -> str:
    """Pieces a character that is no blank."""
    length = sum(len("".join(text.split())) for text in texts)
    if not length:
        return ""
    made = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    return f"{sum(map(len, made)) / length:.3f}"


def weights(folder: Path) -> int:
    """How many parameters its files hold."""
    from math import prod

    from safetensors import safe_open

    count = 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "np") as file:
            count += sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118  (it is no mapping)
    return count
