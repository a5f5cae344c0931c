"""Run small tasks in lm-eval 0.4.13, flexeval 0.18.3 and inspect 0.3.285, and compare what the tools did with what an import reads.

The prompt, the choices and the right answer of each item in the tool's own log must be those that `nikawa data import --from` reads
from the task, without running it. The models are lm-eval's `dummy`, a random GPT-2 and a chat server on the loopback interface.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.interop.environments import ROOT, ensure_environment
from tests.interop.import_items import TASKS, ToolTask
from tests.interop.loopback import serve_chat
from tests.interop.make_flexeval import VERSION as FLEXEVAL
from tests.interop.make_inspect import REQUIREMENTS
from tests.interop.make_lm_eval import VERSION as LM_EVAL
from tests.interop.make_lm_eval import run_tool

from nikawa.datasets.import_table import ImportOptions
from nikawa.exchange.reading.child import define_task
from nikawa.exchange.reading.items import Row
from nikawa.exchange.reading.job import TaskOptions, find_tables, import_task, read_split

Seen = dict[str, Any]
"""What a tool logged for an item: prompt, choices, index or answers."""


def run_lm_eval(tasks: Sequence[ToolTask], work: Path) -> Iterator[tuple[str, list[Seen]]]:
    """The items of lm-eval's logs."""
    bin_folder = ensure_environment("lm_eval", f"lm_eval[api]=={LM_EVAL}")
    run_tool(bin_folder, work, [task.name for task in tasks], "--model", "dummy")
    for task in tasks:
        (log,) = (work / "out").rglob(f"samples_{task.name}_2*.jsonl")
        samples = [json.loads(line) for line in log.read_text().splitlines()]
        yield task.name, [read_sample(s) for s in sorted(samples, key=lambda s: s["doc_id"])]


def read_sample(sample: Row) -> Seen:
    """An item of lm-eval: a choice has one request for each of its texts."""
    requests = list(sample["arguments"].values())
    prompt = requests[0]["arg_0"]
    if isinstance(requests[0]["arg_1"], str):
        choices = [request["arg_1"].strip() for request in requests]
        return {"prompt": prompt, "choices": choices, "index": int(sample["target"])}
    target = sample["target"]
    if isinstance(target, str) and target.startswith("["):  # the log has lists as texts
        target = ast.literal_eval(target)
    return {"prompt": prompt, "answers": target if isinstance(target, list) else [str(target)]}


def run_flexeval(tasks: Sequence[ToolTask], work: Path) -> Iterator[tuple[str, list[Seen]]]:
    """The items of flexeval's outputs."""
    bin_folder = ensure_environment("flexeval", "torch==2.13.0", f"flexeval=={FLEXEVAL}")
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(work / "hf"), "no_proxy": "127.0.0.1"}
    environment = {**os.environ, **offline, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
    model = work / "model"
    make = [str(bin_folder / "python"), "-m", "tests.interop.make_flexeval", str(model)]
    subprocess.run(make, check=True, cwd=work, env=environment)
    with serve_chat(lambda prompt: "?") as url:
        environment["OPENAI_BASE_URL"] = url
        for task in tasks:
            is_choice = task.kind == "choice"
            own = ("HuggingFaceLM", str(model)) if is_choice else ("OpenAIChatAPI", "scripted")
            command = [str(bin_folder / "flexeval_lm"), "--language_model", own[0]]
            command += ["--language_model.model", own[1], "--save_dir", f"out/{task.name}"]
            command += ["--eval_setup", task.file]
            subprocess.run(command, check=True, cwd=work, env=environment)
            (log,) = (work / "out" / task.name).rglob("outputs.jsonl")
            outputs = [json.loads(line) for line in log.read_text().splitlines()]
            yield task.name, list(map(read_output, outputs))


def read_output(output: Row) -> Seen:
    """An item of flexeval."""
    if "answer_index" in output:
        return {
            "prompt": output["prefix"],
            "choices": output["choices"],
            "index": output["answer_index"],
        }
    seen: Seen = {"answers": output["references"]}
    if "lm_prompt" in output:
        seen["prompt"] = output["lm_prompt"]
    return seen


def run_inspect(tasks: Sequence[ToolTask], work: Path) -> Iterator[tuple[str, list[Seen]]]:
    """The items of inspect's logs."""
    tool = str(ensure_environment("inspect", *REQUIREMENTS) / "inspect")
    with serve_chat(lambda prompt: "ANSWER: A") as url:
        model = {"LOOPBACK_BASE_URL": url, "LOOPBACK_API_KEY": "none"}
        command = [tool, "eval", *(task.file for task in tasks)]
        command += ["--model", "openai-api/loopback/scripted"]
        command += ["--log-dir", str(work / "logs"), "--display", "plain"]
        environment = {**os.environ, **model, "no_proxy": "127.0.0.1"}
        subprocess.run(command, check=True, cwd=work, env=environment)
    for task in tasks:
        (log,) = (work / "logs").glob(f"*_{task.name.replace('_', '-')}_*.eval")
        dump = subprocess.run([tool, "log", "dump", str(log)], check=True, capture_output=True)
        samples = json.loads(dump.stdout)["samples"]
        yield task.name, [read_inspect(sample) for sample in samples]


def read_inspect(sample: Row) -> Seen:
    """An item of inspect."""
    target = sample["target"]
    targets = target if isinstance(target, list) else [target]
    seen: Seen = {"prompt": sample["input"]}
    if sample.get("choices"):
        return {**seen, "choices": sample["choices"], "index": ord(targets[0]) - ord("A")}
    return {**seen, "answers": targets}


def compare(task: ToolTask, path: Path, logged: Sequence[Seen]) -> None:
    """Check the items that an import reads against those of the tool's log, then import."""
    definition = define_task(path, task.tool)
    (source,) = definition.sources
    (table,) = find_tables(definition, source, None)
    split, _ = read_split(definition, source, table, ImportOptions())
    items = split.items
    if task.tool == "inspect":  # its logs have the order of the ids
        items = sorted(items, key=lambda item: item.prompt)
        logged = sorted(logged, key=lambda seen: str(seen["prompt"]))
    assert len(items) == len(logged), (task.name, len(items), len(logged))
    for item, seen in zip(items, logged, strict=True):
        for name, value in seen.items():
            own = getattr(item, name)
            assert own == value, f"{task.name} {name}: the tool has {value!r}, the import {own!r}"
    options = TaskOptions(tool=task.tool, table=ImportOptions(**task.settings))
    report = import_task(path, path.parent / f"imported-{task.name}", options)
    assert report.kind == task.kind, (task.name, report.kind)
    sys.stdout.write(f"{task.tool} {task.name}: {len(items)} items as in the tool's log\n")


def main() -> None:
    """Run every task in its tool, and compare."""
    runs = {"lm-eval": run_lm_eval, "flexeval": run_flexeval, "inspect": run_inspect}
    for tool, run in runs.items():
        tasks: Mapping[str, ToolTask] = {task.name: task for task in TASKS if task.tool == tool}
        with TemporaryDirectory() as temporary:
            work = Path(temporary)
            paths = {name: task.write(work) for name, task in tasks.items()}
            for name, logged in run(list(tasks.values()), work):
                compare(tasks[name], paths[name], logged)


if __name__ == "__main__":
    main()
