"""lighteval 0.13.0 on exported tasks of every kind: replies of a chat server, and likelihoods of its own dummy model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.interop.environments import ROOT, ensure_environment
from tests.interop.export_walk import (
    SHOTS,
    Walk,
    compare_figures,
    export_kinds,
    keep_logs,
    make_reply,
    score_log,
)
from tests.interop.loopback import serve_chat

VERSION = "0.13.0"
REQUIREMENTS = (
    "torch==2.13.0",
    f"lighteval[litellm]=={VERSION}",
    "huggingface_hub<1",
    "transformers<5",
    "datasets<5",
    "xxhash<4",
)
"""lighteval 0.13.0 calls functions that newer versions of these libraries do not have."""
ALL_TASKS = """
import importlib.util

TASKS_TABLE = []
for path in {paths!r}:
    spec = importlib.util.spec_from_file_location(path.rpartition("/")[2].removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    TASKS_TABLE += module.TASKS_TABLE
"""
"""A file with the tasks of all exports, so that lighteval starts once."""
RUN_DUMMY = """
import sys
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.dummy.dummy_model import DummyModelConfig
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

pipeline = Pipeline(
    tasks=sys.argv[1],
    pipeline_parameters=PipelineParameters(
        launcher_type=ParallelismManager.NONE, custom_tasks_directory="all_tasks.py"
    ),
    evaluation_tracker=EvaluationTracker(output_dir="out", save_details=True),
    model_config=DummyModelConfig(),
)
pipeline.evaluate()
pipeline.show_results()
pipeline.save_and_push_results()
"""


def read_figures(out: Path) -> dict[str, dict[str, float]]:
    """Task to the metrics that lighteval wrote."""
    figures: dict[str, dict[str, float]] = {}
    for path in sorted(out.rglob("results_*.json")):
        for task, metrics in json.loads(path.read_text())["results"].items():
            figures[task.partition("|")[0]] = metrics
    return figures


def main() -> None:
    """Install lighteval, run it in a temporary folder, compare the figures, keep the logs."""
    bin_folder = ensure_environment("lighteval", *REQUIREMENTS)
    # lighteval fetches this file of one of its own tasks when it starts; an empty one does where there is no network
    (package,) = bin_folder.parent.glob("lib/python*/site-packages/lighteval")
    (package / "tasks" / "tasks" / "tinyBenchmarks.pkl").touch()
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        walks = export_kinds("lighteval", work)
        closed = [walk for walk in walks if walk.is_closed]
        paths = [str(walk.folder / f"{walk.name.removesuffix('_test')}.py") for walk in walks]
        (work / "all_tasks.py").write_text(ALL_TASKS.format(paths=paths))
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HOME": str(work)}
        offline |= {"HF_HOME": str(work / "hf"), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        environment = {**os.environ, **offline, "no_proxy": "127.0.0.1"}

        def run(*command: str) -> None:
            subprocess.run(command, check=True, cwd=work, env=environment)

        with serve_chat(make_reply(walks)) as url:
            run(
                *(str(bin_folder / "lighteval"), "endpoint", "litellm"),
                f"model_name=openai/scripted,base_url={url},api_key=none",
                ",".join(f"{walk.name}|{SHOTS}" for walk in walks),
                *("--custom-tasks", "all_tasks.py", "--output-dir", "out", "--save-details"),
            )
        tasks = ",".join(f"{walk.name}_loglik|{SHOTS}" for walk in closed)
        run(str(bin_folder / "python"), "-c", RUN_DUMMY, tasks)
        figures = read_figures(work / "out")
        kept: dict[str, tuple[Walk, Path, dict[str, Any]]] = {}
        for walk in walks:
            (log,) = (work / "out").rglob(f"details_{walk.name}|*.parquet")
            compare_figures(walk, figures[walk.name], score_log(walk.dataset, log))
            kept[f"export_{walk.kind}.parquet"] = walk, log, figures[walk.name]
        for walk in closed:
            (log,) = (work / "out").rglob(f"details_{walk.name}_loglik|*.parquet")
            printed = figures[f"{walk.name}_loglik"]
            scored = score_log(walk.dataset, log)
            assert {name: scored[name] for name in printed} == printed, (printed, scored)
            kept[f"export_{walk.kind}_loglik.parquet"] = walk, log, printed
        keep_logs("lighteval", kept)
    assert not (ROOT / ".litellm_cache").exists(), "lighteval ran outside its folder"


if __name__ == "__main__":
    main()
