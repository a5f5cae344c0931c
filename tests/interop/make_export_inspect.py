"""inspect 0.3.285 on exported tasks of every kind, with replies of a chat server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.interop.environments import ensure_environment
from tests.interop.export_walk import (
    Walk,
    compare_figures,
    export_kinds,
    keep_logs,
    make_reply,
    score_log,
)
from tests.interop.loopback import serve_chat
from tests.interop.make_inspect import REQUIREMENTS


def main() -> None:
    """Install inspect, run it, compare the figures, keep the logs."""
    tool = str(ensure_environment("inspect", *REQUIREMENTS) / "inspect")
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        walks = export_kinds("inspect", work)
        kept: dict[str, tuple[Walk, Path, dict[str, Any]]] = {}
        with serve_chat(make_reply(walks)) as url:
            model = {"LOOPBACK_BASE_URL": url, "LOOPBACK_API_KEY": "none"}
            environment = {**os.environ, **model, "no_proxy": "127.0.0.1"}
            files = [f"{walk.folder.name}/{walk.name.removesuffix('_test')}.py" for walk in walks]
            command = [tool, "eval", *files, "--model", "openai-api/loopback/scripted"]
            command += ["--log-dir", str(work / "logs"), "--display", "plain"]
            subprocess.run(command, check=True, cwd=work, env=environment)
        for walk in walks:
            name = walk.name.replace("_", "-")
            (log,) = (work / "logs").glob(f"*_{name}_*.eval")
            dump = subprocess.run(
                [tool, "log", "dump", "--header-only", str(log)],
                check=True,
                capture_output=True,
                text=True,
            )
            (scores,) = json.loads(dump.stdout)["results"]["scores"]
            printed = {key: one["value"] for key, one in scores["metrics"].items()}
            compare_figures(walk, printed, score_log(walk.dataset, log))
            kept[f"export_{walk.kind}.eval"] = walk, log, printed
        keep_logs("inspect", kept)


if __name__ == "__main__":
    main()
