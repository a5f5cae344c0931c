"""Pseudonyms: one for a worker in all projects of an owner or a build, so that nobody judges what they wrote."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.collect.conftest import Crowd
from tests.collect.test_job import free_for, writing

from nikawa.collect.export import ExportOptions, export
from nikawa.collect.items import import_judgements, open_synced
from nikawa.collect.job import create, rekey
from nikawa.collect.project import open_project
from nikawa.collect.pseudonyms import OWNER_KEY, owner_key_file, read_key
from nikawa.collect.sources import NewProject
from nikawa.errors import BadInput
from nikawa.io.judgements import JudgementOptions
from nikawa.io.records import read_examples, read_records, write_records
from nikawa.io.task_sheet import SHEET, TASKS, Sheet, write_task_sheet
from nikawa.records import Example, Judgement

__all__ = ["writing"]

Writing = tuple[Path, list[str]]
PSEUDONYMOUS = ExportOptions(form="examples", pseudonymise=True)


def test_a_writer_never_judges_their_own_after_a_pseudonymised_export(
    tmp_path: Path, writing: Writing
) -> None:
    """They are told by their pseudonym, whatever spelling of their name they come under."""
    pairs = tmp_path / "pairs.jsonl"
    export(writing[0], pairs, PSEUDONYMOUS)
    assert "nagi" not in "".join(path.read_text("utf-8") for path in tmp_path.glob("pairs*"))
    report = create(tmp_path / "j", str(pairs), NewProject("inference"))
    assert report.notes == ()
    assert (free_for(tmp_path / "j", "nagi"), free_for(tmp_path / "j", "yura")) == (0, 36)
    with open_synced(tmp_path / "j") as (project, store):
        crowd = Crowd(project, store)
        assert crowd.state("nagi")["item"] is None
        assert crowd.state("yura")["item"] is not None
    create(tmp_path / "k", str(pairs), NewProject("inference"))
    assert free_for(tmp_path / "k", "Nagi") == 0
    (tmp_path / "pairs.writers.jsonl").unlink()  # the texts themselves tell the pseudonym
    create(tmp_path / "l", str(pairs), NewProject("inference"))
    assert free_for(tmp_path / "l", "nagi") == 0


def test_texts_that_come_after_their_writer_are_kept_from_them(
    tmp_path: Path, writing: Writing
) -> None:
    export(writing[0], tmp_path / "pairs.jsonl", PSEUDONYMOUS)
    first = next(iter(read_examples(tmp_path / "pairs.jsonl")))
    write_records(tmp_path / "few.jsonl", [Example(id="z", inputs=first.inputs)])
    create(tmp_path / "j", str(tmp_path / "few.jsonl"), NewProject("inference"))
    assert free_for(tmp_path / "j", "nagi") == 1
    import_judgements(tmp_path / "j", None, JudgementOptions(), str(tmp_path / "pairs.jsonl"))
    assert (free_for(tmp_path / "j", "nagi"), free_for(tmp_path / "j", "yura")) == (1, 37)


def make(folder: Path, **how: Any) -> Path:
    write_records(
        folder.with_suffix(".jsonl"), [Example(id="e", inputs={"premise": "a", "hypothesis": "b"})]
    )
    create(folder, str(folder.with_suffix(".jsonl")), NewProject("inference", **how))
    return folder


def test_an_older_project_keeps_its_pseudonyms_and_may_share_its_key(tmp_path: Path) -> None:
    old, new = make(tmp_path / "old"), make(tmp_path / "new")
    assert open_project(old).pseudonym("hana") == open_project(new).pseudonym("HANA")
    (old / OWNER_KEY).unlink()  # as projects were made before
    pseudonym = open_project(old).pseudonym("hana")
    assert pseudonym not in open_project(new).pseudonyms("hana")
    shared = make(tmp_path / "shared", share_key_with=old)
    assert open_project(shared).pseudonym("hana") == pseudonym
    assert open_project(shared).token("hana") != open_project(old).token("hana")


def test_the_owner_may_name_the_key(tmp_path: Path) -> None:
    key = tmp_path / "keys" / "lab.key"
    one, two, three = (make(tmp_path / name, key=key) for name in ("a", "b", "c"))
    names = {open_project(folder).pseudonym("hana") for folder in (one, two, three)}
    assert len(names) == 1
    assert open_project(make(tmp_path / "d")).pseudonym("hana") not in names
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.write_text("folded 00\n")
    with pytest.raises(BadInput, match="is not a key of pseudonyms"):
        make(tmp_path / "f", key=key)
    assert not (tmp_path / "f").exists()
    with pytest.raises(BadInput, match="two keys"):
        make(tmp_path / "g", key=key, share_key_with=one)


def test_the_key_of_the_owner_is_theirs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIKAWA_OWNER_KEY", str(tmp_path / "mine" / "owner.key"))
    make(tmp_path / "a")
    assert stat.S_IMODE(owner_key_file().stat().st_mode) == 0o600
    assert read_key(owner_key_file()) == open_project(tmp_path / "a").shared_key
    monkeypatch.setenv("NIKAWA_OWNER_KEY", os.devnull + "/none/owner.key")
    (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    report = create(tmp_path / "b", str(tmp_path / "b.jsonl"), NewProject("inference"))
    assert any("--key FILE" in note for note in report.notes)
    assert open_project(tmp_path / "b").shared_key is None


def test_the_projects_of_a_build_share_its_key(tmp_path: Path) -> None:
    examples = [Example(id="e", inputs={"premise": "a", "hypothesis": "b"})]
    sheet = Sheet(
        recipe="klue-nli", name="judge", title="t", form="inference", question="label", prompt="?",
        labels=(), scale=None, texts=0, workers=1, items=1, answer="", language="ko", tasks="",
    )  # fmt: skip
    pseudonyms = {}
    for build in ("one", "two"):
        for ask in ("write", "judge"):
            place = tmp_path / build / "people" / ask
            place.mkdir(parents=True)
            write_task_sheet(place, sheet, examples)
            assert (place / SHEET).is_file()
            folder = tmp_path / f"{build}-{ask}"
            create(folder, str(place / TASKS), NewProject())
            pseudonyms[build, ask] = open_project(folder).pseudonym("hana")
    assert pseudonyms["one", "write"] == pseudonyms["one", "judge"]
    assert pseudonyms["one", "write"] != pseudonyms["two", "write"]
    key = tmp_path / "one" / "people" / OWNER_KEY
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_pseudonyms_of_before_and_after_a_change_come_back_as_the_worker(
    tmp_path: Path, nikawa: Callable[..., CompletedProcess[str]]
) -> None:
    folder = make(tmp_path / "p")
    (folder / OWNER_KEY).unlink()
    before = open_project(folder).pseudonym("hana")
    given = [Judgement(example="e", worker="hana", question="label", answer="neutral")]
    write_records(tmp_path / "j.jsonl", given)
    import_judgements(folder, tmp_path / "j.jsonl", JudgementOptions())
    assert rekey(folder, pseudonyms=True).pseudonyms
    assert open_project(folder).pseudonym("hana") == before
    done = nikawa("collect", "rekey", str(folder), "--pseudonyms", "--yes", "--json")
    assert json.loads(done.stdout)["pseudonyms"] is True
    after = open_project(folder).pseudonym("hana")
    assert after != before
    assert not rekey(folder, pseudonyms=True).pseudonyms
    for number, name in enumerate((before, after)):
        path = tmp_path / f"again{number}.jsonl"
        write_records(
            path, [Judgement(example="e", worker=name, question="label", answer="neutral")]
        )
        assert import_judgements(folder, path, JudgementOptions()).known == 1
    export(folder, tmp_path / "out.jsonl", ExportOptions(pseudonymise=True))
    assert [row.worker for row in read_records(tmp_path / "out.jsonl", Judgement)] == [after]
