"""What a project writes is for its owner alone: mode 0600, folders 0700, also where a file was open to others before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collect.test_job import writing

from nikawa.collect.export import ExportOptions, export
from nikawa.collect.items import import_judgements, open_synced
from nikawa.collect.job import backup, create_demo
from nikawa.collect.project import KINDS
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import write_records
from nikawa.records import Example, Judgement

__all__ = ["writing"]


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A demo with one answer."""
    create_demo(tmp_path / "demo")
    with open_synced(tmp_path / "demo") as (_, store):
        ref = store.read(lambda db: db.rows("SELECT ref FROM items WHERE kind = 'main'"))[0][0]
    given = [Judgement(example=ref, worker="hana", question="label", answer="neutral")]
    write_records(tmp_path / "j.jsonl", given)
    import_judgements(tmp_path / "demo", tmp_path / "j.jsonl", JudgementOptions())
    return tmp_path / "demo"


def test_a_project_is_its_owners(judged: Path) -> None:
    assert stat.S_IMODE(judged.stat().st_mode) == 0o700
    assert {path.name for path in judged.iterdir()} >= {"gold.jsonl", "secret.key", "collect.db"}
    assert modes(judged) == {0o600}


def test_control_items_that_an_editor_left_open_are_closed(judged: Path) -> None:
    for kind, name in KINDS.items():
        path = judged / name
        path.chmod(0o644)
        os.utime(path, (1, 1))
        with open_synced(judged):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, kind


def test_examples_that_are_added_stay_private(judged: Path, tmp_path: Path) -> None:
    more = [Example(id="new", inputs={"premise": "a", "hypothesis": "b"})]
    write_records(tmp_path / "more.jsonl", more)
    import_judgements(judged, None, JudgementOptions(), str(tmp_path / "more.jsonl"))
    assert modes(judged) == {0o600}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("j.jsonl", None),
        ("j.jsonl.zst", None),
        ("j.csv", None),
        ("j.tsv", None),
        ("j.parquet", None),
        ("yahoo.tsv", "yahoo"),
        ("studio.json", "label-studio"),
        ("doccano.jsonl", "doccano"),
        ("decided.tsv", "decisions"),
    ],
)
def test_an_export_is_private_also_over_an_open_file(
    judged: Path, tmp_path: Path, name: str, form: str | None
) -> None:
    out = tmp_path / "out" / name
    for _ in range(2):
        export(judged, out, ExportOptions(form=form, overwrite=True))
        assert modes(out.parent) == {0o600}
        out.chmod(0o644)


def test_texts_and_their_writers_are_private(
    writing: tuple[Path, list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "out" / "texts.jsonl"
    for _ in range(2):
        export(writing[0], out, ExportOptions(form="examples", overwrite=True))
        assert modes(out.parent) == {0o600}
        for path in out.parent.iterdir():
            path.chmod(0o644)


def test_a_backup_is_private_also_over_an_open_file(judged: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "copy.db"
    for _ in range(2):
        backup(judged, out, overwrite=True)
        assert modes(out.parent) == {0o600}
        out.chmod(0o644)
