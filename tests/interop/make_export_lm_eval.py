"""lm-eval 0.4.13 on exported tasks of every kind: replies of a chat server, and likelihoods of its `dummy` model."""

from __future__ import annotations

import json
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
from tests.interop.make_lm_eval import VERSION, run_tool


def read_figures(out: Path) -> dict[str, dict[str, float]]:
    """Task to the metrics that lm-eval wrote."""
    figures: dict[str, dict[str, float]] = {}
    for path in sorted(out.rglob("results_*.json")):
        for task, metrics in json.loads(path.read_text())["results"].items():
            figures[task] = {
                key.removesuffix(",none"): value
                for key, value in metrics.items()
                if key.endswith(",none") and "stderr" not in key
            }
    return figures


def main() -> None:
    """Install lm-eval, run it, compare the figures, keep the logs."""
    bin_folder = ensure_environment("lm_eval", f"lm_eval[api]=={VERSION}")
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        walks = export_kinds("lm-eval", work)
        names = [walk.name for walk in walks]
        closed = [walk for walk in walks if walk.is_closed]
        with serve_chat(make_reply(walks)) as url:
            model = f"model=scripted,base_url={url}/chat/completions,num_concurrent=1"
            chat = ("--model", "local-chat-completions", "--model_args", model)
            run_tool(bin_folder, work, names, *chat, "--apply_chat_template")
        run_tool(bin_folder, work, [f"{walk.name}_loglik" for walk in closed], "--model", "dummy")
        figures = read_figures(work / "out")
        kept: dict[str, tuple[Walk, Path, dict[str, Any]]] = {}
        for walk in walks:
            (log,) = (work / "out").rglob(f"samples_{walk.name}_2*.jsonl")
            compare_figures(walk, figures[walk.name], score_log(walk.dataset, log))
            kept[f"export_{walk.kind}.jsonl"] = walk, log, figures[walk.name]
        for walk in closed:
            (log,) = (work / "out").rglob(f"samples_{walk.name}_loglik_2*.jsonl")
            printed = figures[f"{walk.name}_loglik"]
            scored = score_log(walk.dataset, log)
            assert {name: scored[name] for name in printed} == printed, (printed, scored)
            kept[f"export_{walk.kind}_loglik.jsonl"] = walk, log, printed
        keep_logs("lm_eval", kept)


if __name__ == "__main__":
    main()
