"""flexeval 0.18.3 on exported tasks of every kind, with replies of a chat server: as a chat, and as plain text."""

from __future__ import annotations

import json
import os
import shutil
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
from tests.interop.make_flexeval import VERSION


def main() -> None:
    """Install flexeval, run it, compare the figures, keep the logs."""
    tool = str(
        ensure_environment("flexeval", "torch==2.13.0", f"flexeval=={VERSION}") / "flexeval_lm"
    )
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        walks = export_kinds("flexeval", work)
        together = (
            work / "together"
        )  # flexeval looks for modules in the folder that it is started in
        for walk in walks:
            shutil.copytree(walk.folder, together, dirs_exist_ok=True)
        kept: dict[str, tuple[Walk, Path, dict[str, Any]]] = {}
        with serve_chat(make_reply(walks)) as url:
            offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(work / "hf"), "no_proxy": "127.0.0.1"}
            environment = {
                **os.environ,
                **offline,
                "OPENAI_API_KEY": "none",
                "OPENAI_BASE_URL": url,
            }
            command = [tool, "--language_model", "OpenAIChatAPI"]
            command += ["--language_model.model", "scripted", "--save_dir", "out"]
            for walk in walks:
                for name in (walk.name, f"{walk.name}_text"):
                    command += [f"--eval_setups.{name}", f"{name}.jsonnet"]
            subprocess.run(command, check=True, cwd=together, env=environment)
        for walk in walks:
            for name in (walk.name, f"{walk.name}_text"):
                folder = together / "out" / name
                metrics = json.loads((folder / "metrics.json").read_text())
                printed = {key: metrics[key] for key in walk.expected}
                log = folder / "outputs.jsonl"
                compare_figures(walk, printed, score_log(walk.dataset, log))
            kept[f"export_{walk.kind}.jsonl"] = (
                walk,
                together / "out" / walk.name / log.name,
                printed,
            )
        keep_logs("flexeval", kept)


if __name__ == "__main__":
    main()
