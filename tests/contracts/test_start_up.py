"""What a user waits for before anything happens, and what must not be loaded for it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "pyarrow", "fugashi", "kiwipiepy", "spacy", "torch", "datasets", "rich.console")


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import nikawa") & {*HEAVY, "msgspec", "typer"}


def test_name_tables_load_nothing_heavy() -> None:
    loaded = loaded_by("from nikawa.datasets import tasks; tasks()")
    assert not loaded & set(HEAVY)


def test_text_loads_no_dictionary() -> None:
    assert not loaded_by("import nikawa.text") & set(HEAVY)


def test_the_list_of_models_loads_none_of_their_libraries() -> None:
    loaded = loaded_by("from nikawa.models import models; models()")
    assert not loaded & {*HEAVY, "scipy", "sklearn", "pycrfsuite", "httpx", "transformers"}
