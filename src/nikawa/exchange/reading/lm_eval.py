"""Tasks of lm-eval: YAML with includes. `!function` names Python code; it is listed and never run.

The rules are those of lm-eval 0.4.13 (`lm_eval/tasks/_yaml_loader.py`, `lm_eval/api/task.py`): an included file comes first and
local keys win; a text that is the name of a column is the column, and every other text is a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nikawa.exchange.reading.definition import (
    Definition,
    Effect,
    ReadFault,
    Source,
    Text,
    ToolMetric,
    Unread,
)
from nikawa.exchange.reading.places import find_near, read_definition_text

FUNCTION = "!function"
"""The key of a value that is Python code, after reading."""
MAX_INCLUDES = 50
MAX_VALUES = 100_000
"""Values that a YAML file may have once its aliases are expanded."""
BUILDERS = ("json", "csv", "parquet", "arrow")
"""Values of `dataset_path` that mean local files."""
FILE_SUFFIX = re.compile(r"\.(jsonl?|csv|tsv|parquet|arrow)(\.(gz|zst|xz))?$")
SETTINGS_KNOWN = frozenset(("data_files", "data_dir", "column_names", "header", "field", "split"))
EFFECTS: Mapping[str, Effect] = {
    "process_docs": "rows",
    "custom_dataset": "rows",
    "doc_to_text": "inputs",
    "doc_to_target": "gold",
    "doc_to_choice": "gold",
    "doc_to_image": "inputs",
    "doc_to_audio": "inputs",
    "process_results": "score",
    "description": "prompt",
    "fewshot_config": "prompt",
    "gen_prefix": "prompt",
}
"""Keys that may be Python code, and what they determine. Other keys determine only the score."""
LIKELIHOODS = ("loglikelihood", "loglikelihood_rolling")


def define(path: Path, task: str = "") -> Definition:
    """The task of a YAML file; raises `ReadFault` if it has none that can be read."""
    settings = choose_task(load_settings(path), path, task)
    if "class" in settings:
        cure = "import its data as a table: nikawa data import FILE --out FOLDER"
        raise ReadFault("is a task written as a Python class, which is not run", cure)
    output = settings.get("output_type") or "generate_until"
    if output in LIKELIHOODS:
        what = (
            f"measures the likelihood of texts (output_type {output}): it has no answers to score"
        )
        raise ReadFault(what, "import a task with answers")
    unread = list(list_unread(settings))
    name = settings.get("task") if isinstance(settings.get("task"), str) else path.stem
    kept = {part.part for part in unread}
    return Definition(
        tool="lm-eval",
        name=str(name),
        file=str(path),
        sources=tuple(find_sources(settings)),
        prompt=read_text(settings, "doc_to_text", kept),
        system=read_plain(settings, "description"),
        target=read_text(settings, "doc_to_target", kept),
        choices=read_choices(settings, kept),
        metrics=tuple(list_metrics(settings)),
        unread=tuple(unread),
    )


def load_settings(path: Path) -> dict[str, Any]:
    """The settings of a file and of those that it includes; `!function` is a mapping with the key `FUNCTION`."""
    return _load(path, [])


def _load(path: Path, chain: list[Path]) -> dict[str, Any]:
    place = path.resolve()
    if place in chain:
        raise ReadFault("includes itself", "remove one of the includes", str(path))
    if len(chain) > MAX_INCLUDES:
        raise ReadFault(f"includes more than {MAX_INCLUDES} files", "remove some", str(path))
    settings = parse_yaml(read_definition_text(path), path)
    included = settings.pop("include", None)
    merged: dict[str, Any] = {}
    for name in included if isinstance(included, list) else [included] if included else []:
        if not isinstance(name, str):
            raise ReadFault(f"include is not the name of a file: {name!r}", "correct it", str(path))
        cure = "include a file in the folder of the task or in the folder above it"
        other = _load(find_near(name, path, cure=cure, is_part=True), [*chain, place])
        other.pop("task_list", None)
        merged.update(other)
    return {**merged, **settings}


def parse_yaml(text: str, path: Path) -> dict[str, Any]:
    """A YAML mapping of plain values."""
    try:
        import yaml
    except ImportError:
        raise ReadFault("PyYAML is not installed", "extra:tasks") from None

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Plain values only, and the names of functions."""

    Loader.add_constructor(
        FUNCTION, lambda loader, node: {FUNCTION: str(loader.construct_scalar(node))}
    )
    try:
        value = yaml.load(text, Loader)  # noqa: S506  # a subclass of the safe loader
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        reason = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
        line = None if mark is None else mark.line + 1
        raise ReadFault(f"is not plain YAML: {reason}", "correct it", str(path), line) from None
    except (ValueError, OverflowError) as problem:  # a date or number that cannot be
        raise ReadFault(f"is not plain YAML: {problem}", "correct it", str(path)) from None
    except RecursionError:
        raise ReadFault("is nested too deeply", "simplify it", str(path)) from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ReadFault("is not a mapping of settings", "pass the YAML file of a task", str(path))
    refuse_bomb(value, path)
    return value


def refuse_bomb(value: Any, path: Path) -> None:
    """Refuse a document whose aliases repeat values so often that it grows without measure, or contain themselves."""
    sizes: dict[int, int] = {}
    open_ids: set[int] = set()

    def measure(part: Any) -> int:
        if not isinstance(part, dict | list):
            return 1
        key = id(part)
        if key in open_ids:
            raise ReadFault("has an alias that contains itself", "write it without", str(path))
        if key not in sizes:
            open_ids.add(key)
            inner = part.values() if isinstance(part, dict) else part
            sizes[key] = 1 + sum(measure(each) for each in inner)
            open_ids.remove(key)
        return sizes[key]

    if measure(value) > MAX_VALUES:
        what = f"has more than {MAX_VALUES:,} values once its aliases are expanded"
        raise ReadFault(what, "put the data into a file of its own", str(path))


def choose_task(settings: dict[str, Any], path: Path, task: str) -> dict[str, Any]:
    """The settings of one task: the file's own, or those of an entry of its `task_list` or of its group."""
    entries = settings.get("task_list") or settings.get("task")
    if not isinstance(entries, list):
        if task and settings.get("task") != task:
            own = settings.get("task")
            raise ReadFault(f"has no task {task!r}", f"its task is {own!r}")
        return settings
    inline = {
        str(entry["task"]): entry
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("task"), str)
    }
    group = settings.get("group")
    shared = {key: value for key, value in settings.items() if key not in ("task", "task_list")}
    has_settings = {"dataset_path", "doc_to_text", "doc_to_target"} & shared.keys()
    readable = [
        name for name, entry in inline.items() if has_settings or {"dataset_path"} & entry.keys()
    ]
    if task in readable:
        return {**shared, **inline[task]}
    if readable:
        names = ", ".join(readable[:20])
        what = f"has {len(readable)} tasks" if not task else f"has no task {task!r}"
        raise ReadFault(what, f"choose one with --task: {names}")
    names = ", ".join(
        str(entry if isinstance(entry, str) else next(iter(entry.values()), ""))
        for entry in entries[:10]
    )
    what = f"is the group {group!r} of {len(entries)} tasks in other files"
    raise ReadFault(what, f"import the file of one task: {names}")


def list_unread(settings: Mapping[str, Any]) -> Iterator[Unread]:
    """The parts that are Python code, or that have no meaning for a dataset."""
    for key, value in settings.items():
        effect = EFFECTS.get(key, "score")
        names = list(find_functions(value))
        if names:
            yield Unread(key, f"Python code ({', '.join(names[:3])}), which is not run", effect)
        elif key in ("doc_to_image", "doc_to_audio") and value is not None:
            yield Unread(key, "an image or sound", "inputs")
        elif key == "custom_dataset" and value is not None:
            yield Unread(key, "Python code, which is not run", "rows")
        elif key == "use_prompt" and value is not None:
            yield Unread(key, "a prompt of another package (promptsource)", "inputs")
        elif key == "filter_list" and value:
            what = "filters of the tool's replies; nikawa score reads replies itself"
            yield Unread(key, what, "score")
        elif key == "process_results" and value is not None:
            yield Unread(key, "Python code, which is not run", "score")
        elif key == "fewshot_config" and isinstance(value, dict) and value.get("samples"):
            yield Unread(key, "few-shot examples in the task's file", "prompt")
    extra = settings.get("dataset_kwargs")
    for key in extra if isinstance(extra, dict) else ():
        # leave for code of a hub, which data on this machine does not have
        if key not in SETTINGS_KNOWN and not key.endswith("_remote_code"):
            yield Unread(f"dataset_kwargs.{key}", "a setting of the datasets library", "rows")
    if isinstance(extra, dict) and extra.get("field") not in (None, "data"):
        yield Unread("dataset_kwargs.field", "a part of a JSON file other than data", "rows")


def find_functions(value: Any) -> Iterator[str]:
    """The names of functions in a value."""
    if isinstance(value, dict):
        if isinstance(value.get(FUNCTION), str):
            yield value[FUNCTION]
        else:
            for part in value.values():
                yield from find_functions(part)
    elif isinstance(value, list):
        for part in value:
            yield from find_functions(part)


def find_sources(settings: Mapping[str, Any]) -> Iterator[Source]:
    """Where the rows of each split are."""
    address = settings.get("dataset_path")
    given = settings.get("dataset_kwargs")
    extra = given if isinstance(given, dict) else {}
    files = extra.get("data_files")
    columns = extra.get("column_names")
    header = tuple(map(str, columns)) if isinstance(columns, list) else ()
    is_local = address in BUILDERS or (isinstance(address, str) and is_folder_name(address))
    by_split = {"train": files} if isinstance(files, str | list) else files
    for split, role in list_splits(settings):
        common: dict[str, Any] = {"split": split, "role": role, "columns": header, "typed": True}
        named = by_split.get(split) if isinstance(by_split, dict) else None
        if isinstance(by_split, dict) and named is None and is_local:
            raise ReadFault(
                f"data_files has no split {split!r}", f"it has {', '.join(map(str, by_split))}"
            )
        parts = tuple(map(str, named if isinstance(named, list) else [named] if named else []))
        folder = str(extra.get("data_dir") or "")
        if is_local and address in BUILDERS:
            if any(FILE_SUFFIX.search(part) is None for part in parts) and "*" not in "".join(
                parts
            ):
                pass  # the reader of tables says which suffixes it reads
            yield Source(**common, files=parts, folder=folder)
        elif is_local:
            base = Path(str(address))
            yield Source(
                **common,
                files=tuple(str(base / part) for part in parts),
                folder=str(base / folder) if folder else str(base),
            )
        else:
            yield Source(**common, hub=describe_hub(settings))


def is_folder_name(address: str) -> bool:
    """Whether an address is a path on this machine, not a name on a hub."""
    return address.startswith(("./", "../", "/", "~")) or address in (".", "..")


def describe_hub(settings: Mapping[str, Any]) -> str:
    """The address of data on a hub, with its configuration."""
    address, name = settings.get("dataset_path"), settings.get("dataset_name")
    if address is None:
        return ""
    return f"{address} ({name})" if name else str(address)


def list_splits(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The splits that the task names, and whether it evaluates them."""
    fewshot = settings.get("fewshot_config")
    shots = settings.get("fewshot_split") or (
        fewshot.get("split") if isinstance(fewshot, dict) else None
    )
    roles: dict[str, str] = {}
    for key in ("test_split", "validation_split"):
        value = settings.get(key)
        if isinstance(value, str) and value:
            # lm-eval evaluates the test split if there is one
            roles.setdefault(value, "other" if roles else "evaluated")
    for value in (settings.get("training_split"), shots):
        if isinstance(value, str) and value:
            roles.setdefault(value, "other")
    if "evaluated" not in roles.values():
        raise ReadFault("names no split to evaluate", "add test_split or validation_split")
    for split in roles:
        if "[" in split or "+" in split:
            raise ReadFault(
                f"the split {split!r} is a part of a split", "write its rows to a file of their own"
            )
    yield from roles.items()


def read_text(settings: Mapping[str, Any], key: str, unread: set[str]) -> Text | None:
    """A text of the task: a column or template, or a value that is the same for all rows."""
    value = settings.get(key)
    if value is None or key in unread:
        return None
    if isinstance(value, str):
        return Text(form="template", value=value)
    if isinstance(value, int | list):
        return Text(form="literal", value=value)
    raise ReadFault(f"{key} is neither a text nor a list: {value!r}", "correct it")


def read_choices(settings: Mapping[str, Any], unread: set[str]) -> Text | None:
    """The choices: a list, the values of a mapping, a column or a template."""
    value = settings.get("doc_to_choice")
    if isinstance(value, dict) and "doc_to_choice" not in unread:
        return Text(form="literal", value=[str(each) for each in value.values()])
    if isinstance(value, list):
        return Text(form="literal", value=[str(each) for each in value])
    return read_text(settings, "doc_to_choice", unread)


def read_plain(settings: Mapping[str, Any], key: str) -> str:
    """A text in front of the prompt."""
    value = settings.get(key)
    return value.strip() if isinstance(value, str) else ""


def list_metrics(settings: Mapping[str, Any]) -> Iterator[ToolMetric]:
    """The metrics of a task, or those that lm-eval takes by default."""
    metrics = settings.get("metric_list")
    if metrics is None:
        is_choice = settings.get("output_type") == "multiple_choice"
        yield from map(ToolMetric, ("acc", "acc_norm") if is_choice else ("exact_match",))
        return
    for metric in metrics if isinstance(metrics, list) else ():
        if not isinstance(metric, dict):
            continue
        name = metric.get("metric")
        shown = next(find_functions(name), "") if isinstance(name, dict) else str(name)
        settings_of = {
            key: value
            for key, value in metric.items()
            if key not in ("metric", "aggregation", "higher_is_better")
        }
        details = ", ".join(f"{key}={value!r}" for key, value in settings_of.items())
        yield ToolMetric(shown, details[:200])
