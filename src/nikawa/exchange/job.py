"""`nikawa data export --to TOOL`: write a dataset as tasks of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nikawa.datasets.export import FORMATS, MANIFEST, Manifest, files_in, refuse_strangers
from nikawa.datasets.export_croissant import sha256
from nikawa.datasets.hidden import hide_inherited, remove_hidden_labels
from nikawa.datasets.load import load, pick_split
from nikawa.datasets.names import benchmarks, spec_of
from nikawa.datasets.task_lookup import dataset_title, find_tasks
from nikawa.errors import BadInput, unknown
from nikawa.exchange import export_tools
from nikawa.exchange.base import TaskExport, ToolExport
from nikawa.exchange.describe import TRAIN, describe_task
from nikawa.io.atomic import atomic_folder, atomic_write, refuse_existing
from nikawa.io.json import encode_json
from nikawa.records import Dataset, Record, Task
from nikawa.spec import name_and_split


@dataclass(frozen=True)
class ToolOptions:
    """How to export to a tool."""

    tool_version: str = ""
    """The version of the tool to write for; empty: the newest that was tried."""
    split: str = ""
    """The split to evaluate; empty: all except train."""
    shots: int = 0
    """Number of few-shot examples from train."""
    seed: int = 0
    """Seed for the few-shot examples."""
    prompt: str = ""
    """A prompt file to use instead of Nikawa's."""
    overwrite: bool = False


class ExportedTask(Record, frozen=True, kw_only=True):
    """One task of an export."""

    task: str
    split: str
    name: str
    """Its name in the tool."""
    items: int
    hidden: bool
    """Whether the labels of the split are hidden, so that the tool reports no score."""


class ToolReport(Record, frozen=True, kw_only=True):
    """What was exported, and what was not."""

    dataset: str
    version: str
    to: str
    tool_version: str
    out: str
    tasks: tuple[ExportedTask, ...]
    skipped: dict[str, str]
    """Task to the reason why the tool cannot ask it."""


def load_for_export(
    name: str, *, data: Path | None = None
) -> tuple[Dataset, tuple[Task, ...], str]:
    """The dataset that a user named, with all its splits, the tasks to export, and the split that was named.

    `name` is a dataset, a task, a dataset folder or a records file, each with or without a split.
    """
    spec = spec_of(name)
    if spec.name:
        benchmark = benchmarks()[spec.name]
        dataset = load(name if spec.path is not None else spec.name, data=data)
        return dataset, benchmark.tasks, spec.split or ""
    head, split = name_and_split(name)
    tasks = tuple(find_tasks(head))
    if len({task.dataset for task in tasks}) > 1:
        raise BadInput(f"{name} has several datasets", cure="export one dataset at a time")
    dataset = load(tasks[0].dataset, data=data)
    return dataset, tasks, split or ""


def export_to_tool(
    dataset: Dataset, tasks: Sequence[Task], to: str, out: Path, options: ToolOptions
) -> ToolReport:
    """Write the tasks of a dataset for a tool into the folder `out`, without hidden labels.

    A task that the tool cannot ask is listed in the report; raises `BadInput` if no task can be exported, if the version of the
    tool is unknown, or if `out` exists.
    """
    tools = export_tools()
    if to not in tools:
        raise unknown("export format", to, (*FORMATS, *tools))
    tool = tools[to]
    version = options.tool_version or tool.versions[0]
    if version not in tool.versions:
        raise unknown(f"version of {tool.name}", version, tool.versions)
    if options.shots < 0:
        raise BadInput("--shots is negative", cure="pass 0 or more")
    refuse_existing(out, options.overwrite)
    refuse_strangers(out)
    public = remove_hidden_labels(hide_inherited(dataset))
    splits = choose_splits(public, options.split)
    exports: list[TaskExport] = []
    skipped: dict[str, str] = {}
    for task in tasks:
        try:
            exports.append(
                describe_task(
                    public,
                    task,
                    splits,
                    shots=options.shots,
                    seed=options.seed,
                    prompt=options.prompt,
                    tool=tool,
                )
            )
        except BadInput as problem:
            if len(tasks) == 1 or problem.file is not None:
                raise
            skipped[task.name] = problem.what
    if not exports:
        raise BadInput("; ".join(dict.fromkeys(skipped.values())), cure="name one task")
    title = dataset_title(exports[0].task.dataset)
    whole = ToolExport(tuple(exports), version, title, public.card)
    with atomic_folder(out, overwrite=options.overwrite) as folder:
        for name, content in tool.write(whole):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as stream:
                stream.write(content.encode())
        manifest = Manifest(files={name: sha256(folder / name) for name in files_in(folder)})
        with atomic_write(folder / MANIFEST) as stream:
            stream.write(encode_json(manifest) + b"\n")
    return ToolReport(
        dataset=title,
        version=public.version,
        to=tool.name,
        tool_version=version,
        out=str(out),
        tasks=tuple(
            ExportedTask(
                task=export.task.name,
                split=split,
                name=export.split_name(split),
                items=len(rows),
                hidden=export.is_hidden(split),
            )
            for export in exports
            for split, rows in export.splits.items()
        ),
        skipped=skipped,
    )


def choose_splits(dataset: Dataset, split: str) -> list[str]:
    """The splits to evaluate: the named one, else all except train; train if there is no other."""
    if split:
        return list(pick_split(dataset, split, dataset.name).splits)
    return [name for name in dataset.splits if name != TRAIN] or list(dataset.splits)
