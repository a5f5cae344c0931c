"""A project whose files the server's account may not read: one line that names the file, status 2, no traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from nikawa.collect.app import create_app
from nikawa.collect.project import Project
from nikawa.collect.store import open_store
from nikawa.errors import BadInput

WITHOUT_RIGHTS = "--bounding-set=-dac_override,-dac_read_search"
"""What lets root read every file, taken away: other accounts may not be able to run this Python at all."""


def run_without_rights(*words: str) -> subprocess.CompletedProcess[str]:
    """A command by somebody to whom the permissions of files apply."""
    command = [sys.executable, "-c", "from nikawa.cli import main; main()", *words]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may read everything, and there is no setpriv here")
        command = [
            "setpriv",
            WITHOUT_RIGHTS,
            WITHOUT_RIGHTS.replace("bounding-set", "inh-caps"),
            *command,
        ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("name", ["project.toml", "secret.key", "collect.db", "guideline.ja.md"])
def test_a_file_that_may_not_be_read_is_named(make: Callable[..., Project], name: str) -> None:
    project = make(items=1)
    open_store("", project.folder, project.name).close()
    (project.folder / name).chmod(0)
    done = run_without_rights("collect", "serve", str(project.folder), "--port", "0")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(project.folder / name) in done.stderr
    assert "permissions" in done.stderr


def test_a_guideline_that_cannot_be_read_any_more_does_not_stop_work(
    make: Callable[..., Project], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    project = make(items=1)

    def refuse(_project: Project, _language: str) -> str:
        raise BadInput("cannot be read: permission denied", file=Path("guideline.ja.md"))

    monkeypatch.setattr(Project, "guideline", refuse)
    with open_store("", project.folder, project.name) as store:
        client = TestClient(create_app(project, store), base_url="http://here")
        assert [client.get("/login").status_code for _ in range(3)] == [200, 200, 200]
    assert sum("guideline" in record.message for record in caplog.records) == 1
