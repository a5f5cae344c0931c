"""Set-ups of flexeval: Jsonnet, evaluated by a library without access to files outside the folder of the set-up.

The rules are those of flexeval 0.18.3 (`flexeval/core/*_dataset/template_based.py`). Local data are the classes `Jsonl…Dataset`, and
`HF…Dataset` with a builder (`json`, `csv`, `parquet`) or a folder as its path.
"""

from __future__ import annotations

import re
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
from nikawa.exchange.reading.places import find_near, read_definition_text
from nikawa.metrics.other_tools import FLEXEVAL_CHOICE_METRICS

SETUPS = {"Generation": "Generation", "ChatResponse": "Chat", "MultipleChoice": "MultipleChoice"}
"""Set-up to the word in the names of its dataset classes."""
MAX_STACK = 200
ROW_SETTINGS = frozenset(
    (
        "path",
        "split",
        "subset",
        "dataset_kwargs",
        "data_range",
        "keep_conditions",
        "remove_conditions",
    )
)
TEXT_SETTINGS = frozenset(
    (
        "reference_template",
        "reference_list_template",
        "input_templates",
        "choices_templates",
        "answer_index_template",
        "whitespace_before_choices",
        "input_template",
        "system_message_template",
        "extra_info_templates",
    )
)
UNREAD_SETTINGS = {
    "preprocessors": "Python code, which is not run",
    "parse_input_utterance": "input that is not plain text",
    "tools": "functions that a model may call",
}
MAX_PATH_CHARS = 240


def define(path: Path, task: str = "") -> Definition:
    """The set-up of a Jsonnet file; raises `ReadFault` if it has no task that can be read."""
    config = evaluate(path)
    name, settings = read_class(config, "the set-up")
    if name == "Perplexity":
        what = "measures the perplexity of texts: it has no answers to score"
        raise ReadFault(what, "import a set-up with answers")
    if name not in SETUPS:
        known = ", ".join(SETUPS)
        raise ReadFault(f"is {name!r}, not a set-up with a dataset", f"pass one of {known}")
    unread: list[Unread] = []
    dataset, own = read_class(settings.get("eval_dataset"), "eval_dataset")
    source = read_source(dataset, own, SETUPS[name], "evaluated")
    unread += list_unread(own, "eval_dataset")
    sources = [source]
    shots = settings.get("few_shot_generator")
    if shots is not None:
        few, more = read_few_shots(shots, own, source, SETUPS[name])
        sources += few
        unread += more
    metrics = list(list_metrics(settings, name, unread))
    if name == "ChatResponse":
        prompt = own.get("input_template")
        system = own.get("system_message_template")
    else:
        prompt, system = settings.get("prompt_template"), None
        if isinstance(prompt, dict):
            _, parts = read_class(prompt, "prompt_template")
            prompt = parts.get("template") or parts.get("template_path")
    target_list = own.get("reference_list_template") is not None
    target_key = (
        "answer_index_template"
        if name == "MultipleChoice"
        else "reference_list_template"
        if target_list
        else "reference_template"
    )
    templates = own.get("choices_templates")
    inputs = own.get("input_templates")
    items = own.get("items") if dataset.startswith("Template") else None
    items = items if isinstance(items, list) else []
    return Definition(
        tool="flexeval",
        name=path.stem,
        file=str(path),
        sources=tuple(sources),
        prompt=read_template(prompt, path),
        system=str(system or "").strip(),
        target=read_template(own.get(target_key), path),
        target_list=target_list,
        choices=(
            Text(form="templates", value=[str(each) for each in templates])
            if isinstance(templates, list) and name == "MultipleChoice"
            else None
        ),
        inputs={str(key): str(value) for key, value in inputs.items()}
        if isinstance(inputs, dict)
        else {},
        samples=tuple(item for item in items if isinstance(item, dict)),
        metrics=tuple(metrics),
        unread=tuple(unread),
    )


def evaluate(path: Path) -> dict[str, Any]:
    """The value of a Jsonnet file; its imports are near it."""
    import json

    try:
        import rjsonnet
    except ImportError:
        raise ReadFault("the Jsonnet library is not installed", "extra:tasks") from None

    top = path.resolve()

    def load(base: str, name: str) -> tuple[str, str]:
        if name == str(top):
            return name, read_definition_text(top)
        cure = "import a file in the folder of the set-up or in the folder above it"
        path = find_near(name, Path(base) / "x", cure=cure, is_part=True)
        if not path.is_relative_to(top.parent.parent):
            raise ReadFault(f"the import {name!r} is outside the folder of the set-up", cure)
        return str(path), read_definition_text(path)

    try:
        text = rjsonnet.evaluate_file(str(top), max_stack=MAX_STACK, import_callback=load)
        value = json.loads(text)
    except RuntimeError as problem:
        message = str(problem)
        match = re.search(r":(\d+):\d+", message)
        reason = message.partition("\n")[0].removeprefix("import_callback error: ")
        reason = re.sub(r"^ReadFault: ", "", reason)
        line = int(match[1]) if match else None
        raise ReadFault(f"is not valid Jsonnet: {reason}", "correct it", str(path), line) from None
    except (RecursionError, ValueError):
        raise ReadFault("is nested too deeply", "simplify it", str(path)) from None
    if not isinstance(value, dict):
        raise ReadFault("is not an object", "pass the Jsonnet file of a set-up", str(path))
    return value


def read_class(value: Any, part: str) -> tuple[str, dict[str, Any]]:
    """The name of a class without its modules, and its settings."""
    if not isinstance(value, dict) or not isinstance(value.get("class_path"), str):
        raise ReadFault(f"{part} has no class_path", "pass the Jsonnet file of a set-up")
    settings = value.get("init_args", {})
    return value["class_path"].rpartition(".")[2], settings if isinstance(settings, dict) else {}


def read_source(dataset: str, own: Mapping[str, Any], word: str, role: Any) -> Source:
    """Where the rows of a dataset class are."""
    extra = own.get("dataset_kwargs")
    extra = extra if isinstance(extra, dict) else {}
    span = own.get("data_range")
    filters = [
        (str(template), str(value), keep)
        for key, keep in (("keep_conditions", True), ("remove_conditions", False))
        for template, value in (own.get(key) or {}).items()
    ]
    common: dict[str, Any] = {
        "role": role,
        "rows": (span[0], span[1]) if isinstance(span, list) and len(span) == 2 else None,
        "filters": tuple(filters),
    }
    path = own.get("path")
    if dataset == f"Jsonl{word}Dataset" and isinstance(path, str):
        return Source(**common, split="", files=(path,))
    if dataset == f"Template{word}Dataset" and isinstance(own.get("items"), list):
        return Source(**common, split="")
    if dataset == f"HF{word}Dataset" and isinstance(path, str):
        split = str(own.get("split") or "")
        if "[" in split or "+" in split:
            raise ReadFault(
                f"the split {split!r} is a part of a split", "write its rows to a file of their own"
            )
        common |= {"split": split, "typed": True}
        files = extra.get("data_files")
        named = files.get(split) if isinstance(files, dict) else files
        parts = tuple(map(str, named if isinstance(named, list) else [named] if named else []))
        if path in BUILDERS:
            return Source(**common, files=parts, folder=str(extra.get("data_dir") or ""))
        if is_folder_name(path):
            return Source(**common, files=tuple(str(Path(path) / p) for p in parts), folder=path)
        subset = own.get("subset")
        return Source(**common, hub=f"{path} ({subset})" if subset else path)
    if dataset.startswith(("HF", "Jsonl", "Template")):
        raise ReadFault(f"{dataset} is not a dataset of {word}", "correct eval_dataset")
    what = f"the dataset class {dataset!r} reads data in its own way"
    raise ReadFault(what, f"use Jsonl{word}Dataset with a local file")


def list_unread(own: Mapping[str, Any], part: str) -> Iterator[Unread]:
    """The settings of a dataset that cannot be read."""
    for key, value in own.items():
        if key in UNREAD_SETTINGS and value is not None:
            yield Unread(
                f"{part}.{key}", UNREAD_SETTINGS[key], "inputs" if key != "tools" else "prompt"
            )
        elif key not in ROW_SETTINGS | TEXT_SETTINGS | UNREAD_SETTINGS.keys() | {"items"}:
            yield Unread(f"{part}.{key}", "an unknown setting", "rows")


def read_few_shots(
    shots: Any, own: Mapping[str, Any], evaluated: Source, word: str
) -> tuple[list[Source], list[Unread]]:
    """The data that few-shot examples come from, if it is read like the evaluated data."""
    name, settings = read_class(shots, "few_shot_generator")
    part = "few_shot_generator"
    if not isinstance(settings.get("dataset"), dict):
        return [], [Unread(part, f"{name} has its examples in the set-up", "prompt")]
    dataset, other = read_class(settings["dataset"], f"{part}.dataset")
    if any(own.get(key) != other.get(key) for key in TEXT_SETTINGS):
        return [], [Unread(part, "its data has templates of its own", "prompt")]
    try:
        source = read_source(dataset, other, word, "other")
    except ReadFault as fault:
        return [], [Unread(part, str(fault), "prompt")]
    if (source.files, source.hub, source.folder, source.split) == (
        evaluated.files,
        evaluated.hub,
        evaluated.folder,
        evaluated.split,
    ):
        return [], [Unread(part, "it draws from the evaluated data", "prompt")]
    return [source], list(list_unread(other, f"{part}.dataset"))


def list_metrics(
    settings: Mapping[str, Any], name: str, unread: list[Unread]
) -> Iterator[ToolMetric]:
    """The metrics of a set-up; processors of replies and references are listed as not read."""
    if name == "MultipleChoice":
        for metric in FLEXEVAL_CHOICE_METRICS:
            yield ToolMetric(metric)
        return
    metrics = settings.get("metrics")
    for metric in metrics if isinstance(metrics, list) else [metrics] if metrics else []:
        if isinstance(metric, str):
            yield ToolMetric(metric.rpartition(".")[2])
            continue
        if not isinstance(metric, dict):
            continue
        label, own = read_class(metric, "a metric")
        processors = [key for key in own if key.endswith("processor") and own[key]]
        for key in processors:
            what = "processors of texts; nikawa score reads replies itself"
            unread.append(Unread(f"{label}.{key}", what, "score"))
        yield ToolMetric(label, ", ".join(processors))


def read_template(value: Any, path: Path) -> Text | None:
    """A template, from the set-up or from a file that it names."""
    if not isinstance(value, str):
        return None
    if value and len(value) <= MAX_PATH_CHARS and "{" not in value and "\n" not in value:
        try:
            file = find_near(value, path, cure="write the template in the set-up")
        except ReadFault:
            return Text(form="template", value=value)
        if file.is_file():
            return Text(form="template", value=read_definition_text(file))
    return Text(form="template", value=value)
