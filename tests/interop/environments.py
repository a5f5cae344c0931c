"""An environment of its own for each tool, made once and kept in `.interop/` of the checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".interop"
DATA = ROOT / "tests" / "seams" / "data"


def ensure_environment(name: str, *requirements: str) -> Path:
    """The `bin` folder of the environment called `name`, with the requirements installed.

    The list of requirements is kept with it: the environment is made again when the list changes.
    """
    folder = FOLDER / name
    stamp = folder / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    if stamp.is_file() and stamp.read_text() == wanted:
        return folder / "bin"
    venv.create(folder, clear=True, with_pip=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    for requirement in requirements:
        if requirement.startswith("torch=="):  # first and alone: a range would bring GPU libraries
            subprocess.run([*install, requirement], check=True)
    subprocess.run([*install, *requirements], check=True, stdout=sys.stderr)
    stamp.write_text(wanted)
    return folder / "bin"


def ensure_data_folder(tool: str) -> Path:
    """The folder that the walks read this tool's files from."""
    folder = DATA / tool
    folder.mkdir(parents=True, exist_ok=True)
    return folder
