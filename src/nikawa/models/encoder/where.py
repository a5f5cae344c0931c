"""Where encoders lie that are given by their names alone."""

from __future__ import annotations

import os
from pathlib import Path

MODELS = "NIKAWA_MODELS"


def places() -> list[Path]:
    """Where encoders are kept: `NIKAWA_MODELS`, `models` in this folder, the user's own data folder."""
    named = os.environ.get(MODELS)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    own = [Path("models"), Path(home) / "nikawa" / "models"]
    return [Path(named).expanduser(), *own] if named else own


def located(source: str) -> str:
    """The folder of an encoder that is given by its bare name, here or where encoders are kept; anything else stays as it is."""
    if Path(source).name != source:
        return source
    if Path(source).is_dir():
        return f"{os.curdir}{os.sep}{source}"  # a place, not a word: what lies there defines a run
    found = (place / source for place in places() if (place / source / "config.json").is_file())
    return str(next(found, source))
