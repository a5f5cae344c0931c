"""The files for Slurm and Kubernetes: their syntax, their fields, and that they call the commands that exist.

`tests/soak/slurm_script.py` runs the script with stubs of Slurm.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from nikawa.cli.terminal.app import build

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"
SCRIPT = FOLDER / "nikawa.sbatch"

FIELDS: dict[str, Any] = {
    "entrypoint": str,
    "submissionMode": ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"),
    "backoffLimit": int,
    "shutdownAfterJobFinishes": bool,
    "ttlSecondsAfterFinished": int,
    "activeDeadlineSeconds": int,
    "rayClusterSpec": {
        "rayVersion": str,
        "headGroupSpec": {"rayStartParams": {}, "template": {}},
        "workerGroupSpecs": [
            {
                "groupName": str,
                "replicas": int,
                "minReplicas": int,
                "maxReplicas": int,
                "rayStartParams": {},
                "template": {},
            }
        ],
    },
}
"""The fields of a RayJob that the file may use, with their types, from the definition in KubeRay 1.7. `{}`: any mapping."""


def find_wrong_fields(value: Any, kind: Any, place: str = "spec") -> Iterator[str]:
    """The places whose value is not of the kind."""
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            yield place
        elif kind:
            yield from (f"{place}.{name}" for name in value.keys() - kind.keys())
            for name in value.keys() & kind.keys():
                yield from find_wrong_fields(value[name], kind[name], f"{place}.{name}")
    elif isinstance(kind, list):
        for number, part in enumerate(value if isinstance(value, list) else [None]):
            yield from find_wrong_fields(part, kind[0], f"{place}[{number}]")
    elif isinstance(kind, tuple):
        if value not in kind:
            yield place
    elif type(value) is not kind:
        yield place


def read_job() -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((FOLDER / "rayjob.yaml").read_text("utf-8"))
    return job


def test_the_script_is_bash() -> None:
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)
    if shellcheck := shutil.which("shellcheck"):
        subprocess.run([shellcheck, str(SCRIPT)], check=True)
    text = SCRIPT.read_text("utf-8")
    settings = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    before_code = text[: text.index("set -euo pipefail")]
    assert all(line in before_code for line in settings)  # Slurm stops reading at the first command
    assert len(settings) >= 6


@pytest.mark.parametrize(
    ("words", "says"), [((), "no command"), (("run",), "run this script with sbatch")]
)
def test_the_script_says_what_is_missing(words: tuple[str, ...], says: str) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    done = subprocess.run(
        ["bash", str(SCRIPT), *words], env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert says in done.stderr


def test_the_job_has_the_fields_of_a_ray_job() -> None:
    job = read_job()
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    assert list(find_wrong_fields(job["spec"], FIELDS)) == []
    assert list(find_wrong_fields({**job["spec"], "entrypont": ""}, FIELDS)) == ["spec.entrypont"]
    assert list(find_wrong_fields({"backoffLimit": "2"}, FIELDS)) == ["spec.backoffLimit"]
    cluster = job["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod.get("volumes", ())}
        for container in pod["containers"]:
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", container["name"])
            mounted = {mount["name"] for mount in container.get("volumeMounts", ())}
            assert mounted <= volumes
            resources = container["resources"]
            assert resources["requests"] == resources["limits"]  # or a pod may be moved out
    workers = cluster["workerGroupSpecs"][0]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]


def test_the_commands_exist() -> None:
    lines = [read_job()["spec"]["entrypoint"]]
    for path in (SCRIPT, FOLDER / "README.md"):
        found = re.findall(r"^[# ]*sbatch .*?nikawa\.sbatch (.*)$", path.read_text("utf-8"), re.M)
        assert found
        lines += [f"nikawa {words} --executor ray --address auto" for words in found]
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    for line in lines:
        _, verb, *words = shlex.split(line)
        known = {option for param in commands[verb].params for option in param.opts}
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert options <= known, (line, options - known)
