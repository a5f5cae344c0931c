"""Exports and analyses in a process in_process the server: the same result, faults told in a line, nobody left behind."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from nikawa.collect.analyses import in_process
from nikawa.collect.dashboard import count_progress
from nikawa.collect.export import json_lines, stream_export
from nikawa.serve.background import BackgroundTask, ProcessFailed, perform_task

Begin = Callable[..., Any]


def test_an_export_beside_is_the_export(crowd: Begin) -> None:
    here = crowd(items=4)
    here.join("a", "=b")
    for name in ("a", "=b", "a"):
        here.answer(name)
    blocks = stream_export(here.project, here.store, "jsonl", pseudonymise=False)
    assert b"".join(blocks) == b"".join(json_lines(here.exported()))
    sheet = b"".join(stream_export(here.project, here.store, "csv", pseudonymise=True)).decode()
    assert sheet.count("\r\n") == 4
    assert "=b" not in sheet


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_who_wants_no_more_ends_the_process(crowd: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    here = crowd(items=1)
    here.join("a")
    here.answer("a")
    made: list[subprocess.Popen[bytes]] = []

    def remembered(*words: Any, **how: Any) -> subprocess.Popen[bytes]:
        made.append(Popen(*words, **how))
        return made[0]

    Popen = subprocess.Popen  # noqa: N806  (the class, before it is put aside)
    monkeypatch.setattr(subprocess, "Popen", remembered)
    blocks = stream_export(here.project, here.store, "jsonl", pseudonymise=False)
    assert next(blocks).count(b"\n") == 1
    assert made[0].returncode is None
    del blocks
    assert made[0].returncode is not None


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_an_analysis_is_computed_elsewhere(
    crowd: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    here = crowd(items=2)
    here.join("a")
    here.answer("a")
    (tmp_path / "counting.py").write_text(
        "import os\n"
        "from nikawa.collect.dashboard import count_progress\n"
        "from nikawa.errors import BadInput\n"
        "def count(project, store):\n"
        "    return {'process': os.getpid(), **store.read(count_progress)}\n"
        "def refuse(project, store):\n"
        "    raise BadInput('cannot be counted', cure='wait')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    import counting  # type: ignore[import-not-found]

    told = in_process(counting.count)(here.project, here.store)
    assert told.pop("process") != os.getpid()
    assert told == here.store.read(count_progress)
    with pytest.raises(ProcessFailed, match="cannot be counted; wait"):
        in_process(counting.refuse)(here.project, here.store)


def test_a_task_that_cannot_be_done(crowd: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    here = crowd(items=1)
    out = io.BytesIO()
    arguments = [str(here.project.folder), here.store.database.address, "jsonl", False]
    perform_task(BackgroundTask("nikawa.collect.export:export_lines", arguments), out)
    assert out.getvalue() == b""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ProcessFailed, match="ended with 1"):
        list(stream_export(here.project, here.store, "jsonl", pseudonymise=False))
