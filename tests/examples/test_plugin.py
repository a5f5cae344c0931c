"""The template of a plug-in: it installs as a package, and the command line uses its dataset, metric and form."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "examples" / "plugin"
LABELS = ["polite", "plain", "plain", "plain", "plain", "plain"]
"""Answers to dev of which one, the third, is wrong."""
SERVE = """
import re
import sys
from pathlib import Path

from starlette.testclient import TestClient

from nikawa.collect.app import create_app
from nikawa.collect.items import sync_items
from nikawa.collect.project import open_project
from nikawa.collect.store import open_store
from nikawa.collect.workers import add_worker
from nikawa.serve.login import hash_token

project = open_project(Path("round"))
store = open_store("", project.folder, project.name)
sync_items(project, store)
token = project.token("w1")
store.write(add_worker, "w1", hash_token(token), "link", language="ja", now=1.0)
client = TestClient(create_app(project, store), base_url="http://localhost")
page = client.get(f"/w/{token}").text
script = client.get(re.search(r"/static/[0-9a-f]+/sure-choice[.]js", page)[0]).text
lease = client.get(f"/w/{token}/next").json()["item"]["lease"]
body = {"lease": lease, "key": "k", "answer": {"label": "polite"}}
refused = client.post(f"/w/{token}/answer", json=body)
body["answer"]["sure"] = 2
taken = client.post(f"/w/{token}/answer", json=body)
store.close()
print(page, script, f"{refused.status_code} {refused.json()['message']}", taken.status_code, sep=chr(0), end="")
"""
"""A worker opens the page of the project, forgets to say how sure they are, and then says it."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, as pip installs it: from a copy, since a build writes next to its source."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("*.egg-info", "build"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options]
    subprocess.run([*command, str(folder / "site"), str(folder / "source")], check=True)
    return folder / "site"


def run(site: Path, *arguments: str, cwd: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass(site: Path, tmp_path: Path) -> None:
    shutil.copy(SOURCE / "tests" / "test_plugin.py", tmp_path)
    assert " passed" in run(
        site, "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path), cwd=tmp_path
    )


def test_the_dataset_is_shown_and_checked(site: Path, tmp_path: Path) -> None:
    shown = run(
        site, "nikawa", "data", "show", "politeness-ja", "--split", "dev", "-n", "1", cwd=tmp_path
    )
    assert "荷物は明日届きます。" in shown
    assert "politeness-ja" in run(site, "nikawa", "data", "list", cwd=tmp_path)
    run(site, "nikawa", "data", "check", "politeness-ja", cwd=tmp_path)


def test_answers_are_scored_with_the_metric(site: Path, tmp_path: Path) -> None:
    rows = [{"id": f"dev-{n}", "label": label} for n, label in enumerate(LABELS, start=1)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ("score", "politeness-ja", "answers.jsonl", "--metric", "balanced-accuracy", "--json")
    (score,) = json.loads(run(site, "nikawa", *command, cwd=tmp_path))["scores"]
    assert score["metric"] == "balanced-accuracy"
    assert score["value"] == pytest.approx(75.0)  # half of polite, all of plain


def test_a_project_has_the_form(site: Path, tmp_path: Path) -> None:
    command = (
        "collect",
        "new",
        "round",
        "--examples",
        "politeness-ja:dev",
        "--form",
        "sure-choice",
    )
    run(site, "nikawa", *command, "--key", "key", cwd=tmp_path)
    assert "sure-choice" in run(site, "nikawa", "collect", "forms", cwd=tmp_path)
    settings = (tmp_path / "round" / "project.toml").read_text("utf-8")
    assert 'form = "sure-choice"' in settings
    assert "丁寧体" in (tmp_path / "round" / "guideline.ja.md").read_text("utf-8")
    (tmp_path / "serve.py").write_text(SERVE, "utf-8")
    served = run(site, "serve", cwd=tmp_path)
    page, script, refused, taken = served.split("\0")
    assert "迷ったときは、選んだうえで" in page
    assert re.search(r"/static/\w+/sure-choice\.js", page)
    assert re.search(r"modulepreload.*?/choose\.js", page)
    assert script == (SOURCE / "src/nikawa_plugin_example/pages/static/sure-choice.js").read_text(
        "utf-8"
    )
    assert refused == "422 どのくらい確かかも選んでください"
    assert taken == "200"
