"""The answer files of a folder: a tool's run folder, the file named after the task, or the parts of one file."""

from __future__ import annotations

import re
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.io.answers.recognise import stem_words
from nikawa.records import Task

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".tsv", ".csv", ".parquet", ".txt", ".npy", ".eval")
_ASIDE = re.compile(
    r"(config|metrics|card|scores|run|all_results|train_results|eval_results|null_odds|nbest_|results_|val_results"
    r"|trainer_state|generation_config|special_tokens|tokenizer|vocab|manifest|requirements|readme)",
)
"""How the names of files begin that lie beside answers and hold none."""
_NAMED = ("outputs", "predictions")
"""Stems that say by themselves: here are the answers. flexeval writes the first."""


def answer_files(folder: Path, task: Task) -> list[Path]:
    """The files to read, more than one only where they are parts of one; an unclear choice lists the candidates."""
    found = [file for file in sorted(folder.rglob("*")) if _may_hold(file, folder)]
    if not found:
        cure = f"put in a file ending in {', '.join(_SUFFIXES)}"
        raise BadInput("holds no answer file", file=folder, cure=cure)
    named = _of_task(found, task.name) or _of_task(found, task.dataset)
    chosen = named or [file for file in found if _stem(file) in _NAMED] or found
    if len(chosen) > 1 and not _are_parts(chosen):
        names = ", ".join(str(file.relative_to(folder)) for file in chosen[:8])
        more = f" and {len(chosen) - 8} more" if len(chosen) > 8 else ""
        what = f"holds {len(chosen)} files that could be the answers to {task.name}"
        raise BadInput(what, file=folder, cure=f"name one of them: {names}{more}")
    return chosen


def _may_hold(file: Path, folder: Path) -> bool:
    parts = file.relative_to(folder).parts
    plain = file.name.removesuffix(".gz").removesuffix(".zst").lower()
    return (
        file.is_file()
        and not any(part.startswith((".", "_")) for part in parts)
        and plain.endswith(_SUFFIXES)
        and not _ASIDE.match(plain)
    )


def _of_task(files: list[Path], name: str) -> list[Path]:
    return [file for file in files if f"-{name}-" in stem_words(file)]


def _stem(file: Path) -> str:
    return file.name.partition(".")[0].lower()


def _are_parts(files: list[Path]) -> bool:
    """Whether the names differ in a number alone; lm-eval's differ in a time, which makes them two runs."""
    bare = {re.sub(r"\d+", "0", file.name) for file in files}
    return (
        len(bare) == 1
        and len({f.parent for f in files}) == 1
        and not files[0].name.startswith("samples_")
    )
