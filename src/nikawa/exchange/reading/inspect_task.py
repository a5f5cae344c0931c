"""Tasks of inspect: Python files, of which only the syntax tree is read.

The rules are those of inspect 0.3.285 (`inspect_ai/dataset/_util.py`, `inspect_ai/_util/answer.py`). A dataset is a call of `json_dataset`,
`csv_dataset`, `hf_dataset` or `MemoryDataset`, or a list of samples; a sample is made by a `FieldSpec`, or by a function of the file that
uses simple operations on the row.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nikawa.exchange.reading.definition import (
    Definition,
    ReadFault,
    Source,
    Text,
    ToolMetric,
    Unread,
)
from nikawa.exchange.reading.lm_eval import BUILDERS, is_folder_name
from nikawa.exchange.reading.places import read_definition_text
from nikawa.exchange.reading.python_code import (
    Call,
    Computed,
    Evaluator,
    Function,
    Unknown,
)

DATASETS: Mapping[str, tuple[str, ...]] = {
    "json_dataset": ("json_file", "sample_fields"),
    "csv_dataset": ("csv_file", "sample_fields"),
    "hf_dataset": ("path", "split", "name", "data_dir", "revision", "sample_fields"),
    "MemoryDataset": ("samples", "name"),
}
"""Function to its first arguments."""
ORDER_SETTINGS = frozenset(
    (
        "shuffle",
        "seed",
        "shuffle_choices",
        "name",
        "location",
        "shuffled",
        "encoding",
        "fs_options",
        "trust",
        "cached",
        "revision",
        "dialect",
    )
)
"""Arguments of a dataset that change no row."""
SAMPLE_FIELDS = ("input", "choices", "target", "id", "metadata")
FIELD_SPEC = ("input", "target", "choices", "id", "metadata")
IGNORED_SAMPLE_FIELDS = {"sandbox", "files", "setup", "checkpoint", "description", "metadata"}


def define(path: Path, task: str = "") -> Definition:
    """The task of a Python file; raises `ReadFault` if it has none that can be read."""
    source = read_definition_text(path)
    return InspectTask(source, str(path), task).definition()


class InspectTask:
    """A task of a Python file, and the samples that it makes of rows."""

    def __init__(self, source: str, file: str, task: str = "") -> None:
        try:
            tree = ast.parse(source)
        except SyntaxError as problem:
            raise ReadFault(
                f"is not valid Python: {problem.msg}", "correct it", file, problem.lineno
            ) from None
        except (RecursionError, MemoryError, ValueError):
            raise ReadFault(
                "is not valid Python, or nested too deeply", "simplify it", file
            ) from None
        self.source, self.file = source, file
        self.evaluator = Evaluator(tree)
        self.unread: list[Unread] = []
        self.node = self.choose(tree, task)
        try:
            returned = self.evaluator.call_function(Function(self.node, {}), (), {}, self.node)
        except Computed as computed:
            raise self.explain(computed, "the task") from None
        except RecursionError:
            raise ReadFault("is nested too deeply", "simplify it", file) from None
        if not isinstance(returned, Call) or returned.name != "Task":
            what = f"the function {self.node.name} does not return a Task that can be read"
            raise ReadFault(what, "", file, self.node.lineno)
        self.settings = dict(returned.kwargs)
        if returned.args:
            self.settings.setdefault("dataset", returned.args[0])
        self.dataset = self.read_dataset()
        self.fields = self.read_fields()

    def choose(self, tree: ast.Module, task: str) -> ast.FunctionDef:
        """The function of the task."""
        tasks = {
            node.name: node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and any(map(is_task_mark, node.decorator_list))
        }
        if not tasks:
            raise ReadFault(
                "has no function with @task", "pass the Python file of a task", self.file
            )
        if task and task not in tasks:
            raise ReadFault(f"has no task {task!r}", f"it has {', '.join(tasks)}", self.file)
        if not task and len(tasks) > 1:
            names = ", ".join(list(tasks)[:20])
            raise ReadFault(
                f"has {len(tasks)} tasks", f"choose one with --task: {names}", self.file
            )
        return tasks[task] if task else next(iter(tasks.values()))

    def explain(self, computed: Computed, what: str) -> ReadFault:
        """The fault of a value that is computed."""
        cure = "import its data as a table: nikawa data import FILE --out FOLDER"
        return ReadFault(
            f"{what} is computed by code that cannot be read ({computed})",
            cure,
            self.file,
            computed.line,
        )

    def read_dataset(self) -> Call:
        """The call that makes the dataset."""
        dataset = self.settings.get("dataset")
        if isinstance(dataset, Unknown):
            raise self.explain(dataset.computed, "the dataset")
        if isinstance(dataset, list):
            return Call(
                "MemoryDataset", (dataset,), {}, ast.Call(ast.Name("MemoryDataset"), [], [])
            )
        if not isinstance(dataset, Call):
            raise ReadFault("the task has no dataset", "", self.file, self.node.lineno)
        if dataset.name not in DATASETS:
            raise self.explain(Computed(dataset.node), "the dataset")
        return dataset

    def argument(self, name: str) -> Any:
        """An argument of the dataset; None if it is not given."""
        value = self.dataset.kwargs.get(name)
        names = DATASETS[self.dataset.name]
        if name in names and value is None and names.index(name) < len(self.dataset.args):
            value = self.dataset.args[names.index(name)]
        if isinstance(value, Unknown):
            raise self.explain(value.computed, f"{name} of {self.dataset.name}")
        return value

    def read_fields(self) -> Function | dict[str, str]:
        """What makes a sample: a function, or the column of each field."""
        if self.dataset.name == "MemoryDataset":
            return {name: name for name in FIELD_SPEC}
        given = self.argument("sample_fields")
        if isinstance(given, Function):
            return given
        fields = {name: name for name in FIELD_SPEC}
        if given is None:
            return fields
        if not isinstance(given, Call) or given.name != "FieldSpec":
            node = given.node if isinstance(given, Call) else self.dataset.node
            raise self.explain(Computed(node), "sample_fields")
        stated = {**dict(zip(FIELD_SPEC, given.args, strict=False)), **given.kwargs}
        for name, value in stated.items():
            if name in fields and name != "metadata":
                if not isinstance(value, str):
                    raise self.explain(Computed(given.node), f"the field {name}")
                fields[name] = value
        return fields

    def definition(self) -> Definition:
        """The task as a definition."""
        source, samples = self.read_source()
        solvers = list(self.list_calls("solver"))
        scorers = list(self.list_calls("scorer"))
        system = ""
        for solver in solvers:
            first = solver.args[0] if solver.args else solver.kwargs.get("template")
            if solver.name == "system_message" and isinstance(first, str):
                system = first
            elif solver.name == "multiple_choice" and solver.kwargs.get("multiple_correct") is True:
                raise ReadFault(
                    "has items with several right choices", "import a task with one right choice"
                )
            elif solver.name not in ("generate", "multiple_choice"):
                self.unread.append(
                    Unread(f"solver {solver.name}", "Python code, which is not run", "prompt")
                )
            elif solver.name == "multiple_choice" and (
                solver.args or solver.kwargs.get("template")
            ):
                self.unread.append(
                    Unread("solver multiple_choice", "a prompt of its own", "prompt")
                )
        if isinstance(self.fields, dict):
            texts = {
                name: Text(form="column", value=column) for name, column in self.fields.items()
            }
        else:
            texts = {name: Text(form="code", value=name) for name in FIELD_SPEC}
        return Definition(
            tool="inspect",
            name=self.node.name,
            file=self.file,
            sources=(source,),
            prompt=texts["input"],
            system=system,
            target=texts["target"],
            choices=texts["choices"],
            id=None if self.argument_flag("auto_id") else texts["id"],
            samples=samples,
            metrics=tuple(ToolMetric(call.name, describe_call(call)) for call in scorers),
            code=self.source,
            function=self.node.name,
            unread=tuple(self.unread),
            notes=tuple(self.list_defaults()),
        )

    def argument_flag(self, name: str) -> bool:
        """Whether an argument of the dataset is true."""
        return bool(self.dataset.kwargs.get(name)) and self.dataset.kwargs.get(name) is True

    def list_defaults(self) -> Iterator[str]:
        """A note on the parameters of the task, whose defaults count."""
        own = self.node.args
        names = [place.arg for place in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
        if names:
            yield f"The parameters of the task have their defaults: {', '.join(names)}."

    def read_source(self) -> tuple[Source, tuple[dict[str, Any], ...]]:
        """Where the rows are, or the samples that are written in the file."""
        known = {*DATASETS[self.dataset.name], *ORDER_SETTINGS, "limit", "auto_id"}
        known |= {"delimiter", "fieldnames", "data_files", "data_dir", "split"}
        for name in self.dataset.kwargs:
            if name not in known:
                self.unread.append(
                    Unread(
                        f"{self.dataset.name}.{name}", "a setting of the reader of the data", "rows"
                    )
                )
        limit = self.argument("limit")
        rows = (0, limit) if isinstance(limit, int) else None
        if rows and self.dataset.kwargs.get("shuffle"):
            self.unread.append(Unread("limit", "it takes random rows", "rows"))
            rows = None
        common: dict[str, Any] = {"role": "evaluated", "rows": rows}
        if self.dataset.name == "MemoryDataset":
            return Source(**common, split=""), tuple(self.read_samples())
        if self.dataset.name == "hf_dataset":
            return self.read_hf(common), ()
        path = self.argument(DATASETS[self.dataset.name][0])
        if not isinstance(path, str):
            raise self.explain(Computed(self.dataset.node), "the path of the data")
        if "://" in path:
            return Source(**common, split="", hub=path), ()
        names = self.argument("fieldnames")
        columns = tuple(map(str, names)) if isinstance(names, list) else ()
        if self.argument("delimiter") not in (None, ","):
            self.unread.append(
                Unread("csv_dataset.delimiter", "another separator of cells", "rows")
            )
        return Source(**common, split="", files=(path,), columns=columns), ()

    def read_hf(self, common: Mapping[str, Any]) -> Source:
        """Where the rows of `hf_dataset` are."""
        path, split, name = self.argument("path"), self.argument("split"), self.argument("name")
        if not isinstance(path, str) or not isinstance(split, str):
            raise self.explain(Computed(self.dataset.node), "the path of the data")
        if "[" in split or "+" in split:
            raise ReadFault(
                f"the split {split!r} is a part of a split", "write its rows to a file of their own"
            )
        files = self.argument("data_files")
        named = files.get(split) if isinstance(files, dict) else files
        parts = tuple(map(str, named if isinstance(named, list) else [named] if named else []))
        if path in BUILDERS:
            return Source(**common, split=split, files=parts, typed=True)
        if is_folder_name(path):
            own = tuple(str(Path(path) / part) for part in parts)
            return Source(**common, split=split, files=own, folder=path, typed=True)
        return Source(**common, split=split, hub=f"{path} ({name})" if name else path, typed=True)

    def read_samples(self) -> Iterator[dict[str, Any]]:
        """The samples that are written in the file, as rows."""
        samples = self.argument("samples")
        if not isinstance(samples, list) or not samples:
            raise self.explain(Computed(self.dataset.node), "the list of samples")
        for sample in samples:
            if isinstance(sample, Unknown):
                raise self.explain(sample.computed, "a sample")
            if not isinstance(sample, Call) or sample.name != "Sample":
                raise ReadFault("a sample is not a Sample", "", self.file, self.node.lineno)
            try:
                yield self.read_sample(sample)
            except Computed as computed:
                raise self.explain(computed, "a sample") from None

    def list_calls(self, name: str) -> Iterator[Call]:
        """The solvers or scorers of the task."""
        value = self.settings.get(name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Call):
                yield part
            elif part is not None:
                code = part.computed.code if isinstance(part, Unknown) else type(part).__name__
                effect: Any = "prompt" if name == "solver" else "score"
                self.unread.append(Unread(name, f"computed by code ({code})", effect))

    def read_sample(self, sample: Call) -> dict[str, Any]:
        """The fields of a sample; an id or metadata that are computed are left out."""
        given = {**dict(zip(SAMPLE_FIELDS, sample.args, strict=False)), **sample.kwargs}
        fields: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, Unknown) and name not in ("id", *IGNORED_SAMPLE_FIELDS):
                raise value.computed
            if name in ("input", "target", "choices") and holds_code(value):
                raise Computed(sample.node)
            if name == "metadata" or (name in SAMPLE_FIELDS and not holds_code(value)):
                fields[name] = drop_code(value) if name == "metadata" else value
        return fields

    def make_sample(self, row: dict[str, Any]) -> dict[str, Any]:
        """The fields of the sample of a row; raises `ReadFault`."""
        if isinstance(self.fields, dict):
            return {name: row.get(column) for name, column in self.fields.items()}
        self.evaluator.steps = 0
        try:
            unread = Unknown(Computed(self.fields.node, "does not return one Sample"))
            sample = self.evaluator.call_function(self.fields, (row,), {}, self.fields.node)
            if isinstance(sample, list) and len(sample) == 1:
                sample = sample[0]
            if not isinstance(sample, Call) or sample.name != "Sample":
                sample = Call("Sample", (), {"input": unread}, self.dataset.node)
            return self.read_sample(sample)
        except Computed as computed:
            raise self.explain(computed, "the sample") from None


def is_task_mark(node: ast.expr) -> bool:
    """Whether a decorator is `@task`."""
    part = node.func if isinstance(node, ast.Call) else node
    name = part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
    return bool(name == "task")


def holds_code(value: Any) -> bool:
    """Whether a value has a part that is not plain."""
    if isinstance(value, list):
        return any(map(holds_code, value))
    if isinstance(value, dict):
        return any(map(holds_code, value.values()))
    return isinstance(value, Call | Unknown | Function)


def drop_code(value: Any) -> dict[str, Any]:
    """The plain values of metadata."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {str(name): part for name, part in pairs if not holds_code(part)}


def describe_call(call: Call) -> str:
    """The arguments of a scorer."""
    text = ast.unparse(call.node)
    return text if text != f"{call.name}()" and len(text) <= 120 else ""


def read_input(value: Any) -> str:
    """The text that a model reads."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        raise ReadFault("has no input", "fill it in, or remove the row")
    if not isinstance(value, str):
        raise ReadFault(
            "its input is not a text but a list of messages", "import a task whose input is a text"
        )
    return value


def read_choices(value: Any) -> list[str] | None:
    """The choices as inspect reads them: a list, or a text with commas or spaces."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, list):
        return [str(part) for part in value if str(part).strip()]
    if isinstance(value, str):
        parts = value.split(",")
        parts = value.split() if len(parts) == 1 else parts
        return [part.strip() for part in parts if part.strip()]
    return [str(value)]


def find_place(target: str) -> int:
    """The place of a choice by its letter, as inspect counts: A is 0; after Z come 1, 2, …"""
    if len(target) == 1 and target.isalpha() and target.isascii():
        return ord(target.upper()) - ord("A")
    if target.isdecimal() and int(target) > 0:
        return 25 + int(target)
    raise ReadFault(f"the target {target!r} is not the letter of a choice", "correct the row")


def to_row(value: Any) -> dict[str, Any]:
    """A row with its metadata at the top, as `FieldSpec` reads them."""
    meta = value.get("metadata")
    if isinstance(meta, str):
        try:
            meta = json.loads(meta)
        except ValueError:
            meta = None
    return meta if isinstance(meta, dict) else {}
