"""A key that is given in the settings of a chat model goes to the server, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nikawa.models import models
from nikawa.models.secrets import is_secret_name
from nikawa.runs.job import RunOptions, run_all
from nikawa.runs.request import RunRequest
from nikawa.runs.store import StoredRun

KEY = "sk-in-extra-fedcba9876543210"
HEADER = "Bearer very-hidden-value-42"
EXTRA = {
    "api_key": KEY,
    "max_tokens_hint": 5,
    "stop_token": "<end>",
    "extra_headers": {"X-Route": "a", "Proxy-Authorization": HEADER},
    "auths": [{"client": {"password": "p4ssw0rd-long"}}],
}
SECRETS = (KEY, HEADER, "very-hidden-value-42", "p4ssw0rd-long")
Run = Callable[..., CompletedProcess[str]]


def words(server: Any, out: Path, extra: dict[str, Any], *more: str) -> list[str]:
    return [
        *("run", "--model", "chat:m", "--base-url", server.url, "--tasks", "mini-ja-nli"),
        *("--workers", "1", "--set", "how=parse", "--set", f"extra={json.dumps(extra)}"),
        *("--out", str(out), *more),
    ]


def find_in_files(folder: Path, secrets: tuple[str, ...]) -> list[str]:
    """The files below a folder that hold one of these, in their names or contents."""
    return [
        str(path)
        for path in folder.rglob("*")
        for secret in secrets
        if secret in path.name or (path.is_file() and secret.encode() in path.read_bytes())
    ]


def test_a_key_in_the_settings_is_sent_and_written_nowhere(
    server: Any, tmp_path: Path, nikawa: Run
) -> None:
    done = nikawa(*words(server, tmp_path / "runs", EXTRA, "--keep-state", "--json"))
    assert done.returncode == 0, done.stderr
    assert all(body["api_key"] == KEY for body in server.asked)
    assert server.asked[0]["extra_headers"]["Proxy-Authorization"] == HEADER
    said = [done.stdout, done.stderr]
    for command in (("run", "list"), ("report",), ("analyse",)):
        out = () if command == ("run", "list") else ("--out", str(tmp_path / command[0]))
        place = ("--out", str(tmp_path / "runs")) if command == ("run", "list") else ()
        named = () if place else (str(tmp_path / "runs"),)
        ended = nikawa(*command, *named, *place, *out)
        assert ended.returncode == 0, ended.stderr
        said += [ended.stdout, ended.stderr]
    assert find_in_files(tmp_path, SECRETS) == []
    assert not [secret for secret in SECRETS if secret in "".join(said)]
    [folder] = (tmp_path / "runs").glob("mini-ja-nli--*")
    stored = json.loads((folder / "run.json").read_text("utf-8"))["settings"]["extra"]
    assert stored["api_key"] == "[secret]"
    assert stored["stop_token"] == "<end>"
    assert stored["extra_headers"] == {"X-Route": "a", "Proxy-Authorization": "[secret]"}


def test_another_key_is_the_same_run_and_asks_nothing_again(
    server: Any, tmp_path: Path, nikawa: Run
) -> None:
    assert nikawa(*words(server, tmp_path, EXTRA, "--quiet")).returncode == 0
    asked = len(server.asked)
    changed = {**EXTRA, "api_key": "sk-another-0000000000000"}
    done = nikawa(*words(server, tmp_path, changed, "--json"))
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("mini-ja-nli--*"))) == 1
    assert len(server.asked) == asked
    other = {**EXTRA, "stop_token": "<other>"}  # no secret: another run
    assert nikawa(*words(server, tmp_path, other, "--quiet")).returncode == 0
    assert len(list(tmp_path.glob("mini-ja-nli--*"))) == 2


def test_replies_are_found_again_under_another_key(
    server: Any, tmp_path: Path, nikawa: Run
) -> None:
    """A run that stopped goes on after the key was changed."""
    fault: Any = (400, {}, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    server.trouble = lambda number, question: fault if number >= 4 else None
    stopped = nikawa(*words(server, tmp_path, EXTRA, "--set", "concurrency=1"))
    assert stopped.returncode != 0
    assert "[key]" in stopped.stderr
    assert KEY not in stopped.stderr + stopped.stdout
    server.trouble = lambda number, question: None
    before = len(server.asked)
    changed = {**EXTRA, "api_key": "sk-another-0000000000000"}
    assert nikawa(*words(server, tmp_path, changed)).returncode == 0
    assert len(server.asked) - before == 9 - 4
    assert find_in_files(tmp_path, SECRETS) == []


def test_the_key_of_the_environment_is_taken_out_under_any_name(
    server: Any, secret: str, tmp_path: Path, nikawa: Run
) -> None:
    extra = {"note": f"as {secret}", "user": "me", "url": "https://me:pw-123456@proxy.example"}
    done = nikawa(*words(server, tmp_path, extra), OPENAI_API_KEY=secret)
    assert done.returncode == 0, done.stderr
    assert server.asked[0]["note"] == f"as {secret}"
    assert find_in_files(tmp_path, (secret, "pw-123456")) == []


def test_a_secret_may_stay_in_the_environment(server: Any, tmp_path: Path, nikawa: Run) -> None:
    extra = {"api_key": "$MY_GATEWAY_KEY"}
    done = nikawa(*words(server, tmp_path, extra), MY_GATEWAY_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert server.asked[0]["api_key"] == KEY
    assert find_in_files(tmp_path, SECRETS) == []
    done = nikawa(*words(server, tmp_path / "other", {"api_key": "$NOT_SET_ANYWHERE"}))
    assert done.returncode == 2
    assert "NOT_SET_ANYWHERE" in done.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--grid", f'extra={{"api_key": "{KEY}"}}'),
        ("--set", f'extra:{{"api_key": "{KEY}"}}'),
        ("--set", f'extra={{"api_key": "{KEY}"'),
        ("--set", f"extra={KEY}"),
        ("--set", f"api_key={KEY}"),
        ("--set", KEY),
    ],
)
def test_a_message_does_not_repeat_it(
    server: Any, tmp_path: Path, nikawa: Run, option: str, value: str
) -> None:
    base = ("run", "--model", "chat:m", "--base-url", server.url, "--tasks", "mini-ja-nli")
    done = nikawa(*base, "--out", str(tmp_path / "runs"), option, value)
    assert done.returncode == 2, done.stdout
    assert "fedcba" not in done.stdout + done.stderr
    assert not list((tmp_path / "runs").glob("*"))


def test_a_run_that_holds_a_key_from_before_does_not_show_it(
    server: Any, tmp_path: Path, nikawa: Run
) -> None:
    assert nikawa(*words(server, tmp_path, EXTRA, "--quiet")).returncode == 0
    [folder] = tmp_path.glob("mini-ja-nli--*")
    path = folder / "run.json"
    path.write_text(path.read_text("utf-8").replace("[secret]", KEY, 1), "utf-8")
    assert KEY not in repr(StoredRun(folder).spec)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="no /proc")
def test_the_list_of_processes_does_not_show_it(server: Any, tmp_path: Path) -> None:
    server.delay = 3.0
    command = [sys.executable, "-m", "nikawa", *words(server, tmp_path, EXTRA)]
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "none")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as run:
        try:
            for _ in range(300):
                if server.headers:
                    break
                time.sleep(0.1)
            shown = Path(f"/proc/{run.pid}/cmdline").read_bytes()
        finally:
            run.kill()
    assert b"chat:m" in shown
    assert not [secret for secret in SECRETS if secret.encode() in shown]


def test_no_setting_of_a_model_is_taken_for_a_secret() -> None:
    """It would not count in the hash of a run."""
    names = {
        name
        for kind in models().values()
        for name in kind.default_settings
        if name not in kind.runtime_settings
    }
    assert [name for name in sorted(names) if is_secret_name(name)] == []


def test_runs_of_several_requests_keep_their_keys_apart(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of one server never goes to another one."""
    requests = []
    for name in ("a", "b"):
        monkeypatch.setenv(f"KEY_{name.upper()}", f"env-key-of-{name}")
        settings = {
            "base_url": server.url,
            "how": "parse",
            "key_env": f"KEY_{name.upper()}",
            "extra": {"api_key": f"extra-key-of-{name}"},
        }
        requests.append(
            RunRequest(tasks=("mini-ja-nli",), models=(f"chat:{name}",), settings=settings)
        )
    run_all(requests, RunOptions(out=tmp_path, workers=1))
    assert {(body["model"], body["api_key"]) for body in server.asked} == {
        ("a", "extra-key-of-a"),
        ("b", "extra-key-of-b"),
    }
    sent = [headers["authorization"] for headers in server.headers]
    assert sorted(set(sent)) == ["Bearer env-key-of-a", "Bearer env-key-of-b"]
    assert len(server.asked) == 18
    assert find_in_files(tmp_path, ("key-of",)) == []
