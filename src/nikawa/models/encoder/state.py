"""The state of an unfinished training on disk: written whole or not at all, read back to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nikawa.errors import BadInput

NAME = "training.pt"


def save_state(
    folder: Path, state: dict[str, Any], kept: dict[str, Any] | None, marks: dict[str, Any]
) -> None:
    """Replace the state in the folder by this one."""
    import os

    import torch

    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{NAME}.part"
    whole = {
        "state": _copy(state),
        "kept": kept and _copy(kept),
        "marks": marks,
        "random": _random(),
    }
    try:
        with draft.open("wb") as file:
            torch.save(whole, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / NAME)
    except (OSError, RuntimeError) as problem:  # torch tells a full disk by an error of its own
        draft.unlink(missing_ok=True)
        raise _unwritten(folder / NAME, problem) from None


def _unwritten(path: Path, problem: BaseException) -> BadInput:
    told: BaseException | None = problem
    while told is not None and not isinstance(told, OSError):
        told = told.__cause__ or told.__context__
    why = (told.strerror if isinstance(told, OSError) else "") or " ".join(str(problem).split())
    return BadInput(
        f"the state of the training cannot be written: {why}",
        file=path,
        cure="make room, and run the same command again: it goes on from the state before",
    )


def load_state(
    folder: Path, device: Any, keys: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any]] | None:
    """The state that was left by the training of these keys, with the random numbers put back; None without one."""
    import torch

    path = folder / NAME
    if not path.is_file():
        return None
    try:
        whole = torch.load(path, map_location=device, weights_only=True)
    except Exception as problem:
        raise BadInput(
            f"the state of the training cannot be read: {type(problem).__name__}",
            file=path,
            cure="remove the file to start again",
        ) from None
    marks = whole["marks"]
    if marks.get("key") != keys["key"] or marks.get("model", keys["model"]) != keys["model"]:
        return None
    torch.set_rng_state(whole["random"]["cpu"].cpu())
    if "cuda" in whole["random"] and torch.cuda.is_available():
        torch.cuda.set_rng_state(whole["random"]["cuda"].cpu())
    return whole["state"], whole["kept"], whole["marks"]


def _random() -> dict[str, Any]:
    import torch

    found = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state()
    return found


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value.detach().cpu().clone() for name, value in state.items()}
