"""Data for llm-jp-eval: one JSON document per split in its common format for evaluation.

- A document has `instruction`, `output_length`, `metrics`, `few_shots` and `samples`. llm-jp-eval 1.3 takes the few-shot examples
  from the document of the same name in the folder `train` next to the folder of the split. It must exist even for none.
- The instruction and the few-shot examples become part of a template in which braces mark slots, so their braces are doubled.
- The format has no place for a scorer. llm-jp-eval computes its own metrics, on the first paragraph of a reply, as it is written.
  `METRICS` has those that equal the official ones if every reply is an answer in the requested form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from nikawa.exchange.base import ANSWER, PROMPT, Row, TaskExport, Tool, ToolExport
from nikawa.exchange.readme import write_readme
from nikawa.metrics import metrics

NAME = "llm-jp-eval"
METRICS = {
    name: metrics()[name].names_in_tools[NAME]
    for name in metrics()
    if NAME in metrics()[name].names_in_tools
}
NO_STRUCTURES = "its metrics compare texts, numbers and lines, not JSON"


def write(export: ToolExport) -> Iterator[tuple[str, str]]:
    """The files of an export."""
    commands = []
    for own in export.tasks:
        for split, rows in own.splits.items():
            name = own.split_name(split)
            yield f"evaluation/{name}.json", write_document(own, rows)
            yield f"train/{name}.json", write_document(own, own.shots, is_template=True)
            commands.append((own, split, name))
    readme = write_readme(
        export,
        NAME,
        commands,
        run_lines,
        list_notes,
        place="the folder of llm-jp-eval, where EXPORT is the path of this folder",
        own_metrics=METRICS,
    )
    yield "README.md", readme


def write_document(own: TaskExport, rows: Sequence[Row], *, is_template: bool = False) -> str:
    """The document of some items."""
    shots = make_samples(own.shots, is_template=True)
    document: dict[str, Any] = {
        "instruction": double_braces(own.system),
        "output_length": own.max_tokens,
        "metrics": [METRICS[metric] for metric in own.task.metrics if metric in METRICS],
        "few_shots": shots,
        "samples": make_samples(rows, is_template=is_template),
    }
    return json.dumps(document, ensure_ascii=False, indent=4) + "\n"


def make_samples(rows: Sequence[Row], *, is_template: bool) -> list[dict[str, str]]:
    """The items as pairs of input and output."""
    form = double_braces if is_template else str
    return [{"input": form(row[PROMPT]), "output": form(row[ANSWER])} for row in rows]


def double_braces(text: str) -> str:
    """A text as templates of llm-jp-eval quote it.

    >>> double_braces("{a}")
    '{{a}}'
    """
    return text.replace("{", "{{").replace("}", "}}")


def run_lines(own: TaskExport, split: str, name: str) -> list[str]:
    """The command that runs a task."""
    return [
        "python scripts/evaluate_llm.py -cn config.yaml \\",
        "  model.pretrained_model_name_or_path=MODEL tokenizer.pretrained_model_name_or_path=MODEL \\",
        f"  dataset_dir=EXPORT/evaluation target_dataset={name} \\",
        f"  metainfo.num_few_shots={len(own.shots)} metainfo.max_num_samples=-1",
    ]


def list_notes(export: ToolExport) -> list[str]:
    """What a user of the tool must know in addition."""
    notes = [
        "llm-jp-eval puts its own sentence before the instruction, and headings between the parts of the prompt.",
        "llm-jp-eval computes its own metrics, as shares from 0 to 1. They equal the official ones if every reply is only the answer, in the requested form: "
        "`exact_match` counts an answer inside a sentence as wrong, and correlations take every digit of a reply.",
    ]
    left_out = [
        f"`{metric}` of {own.task.name}"
        for own in export.tasks
        for metric in own.task.metrics
        if metric not in METRICS
    ]
    if left_out:
        notes.append(f"llm-jp-eval does not have these metrics: {', '.join(left_out)}.")
    return notes


TOOL = Tool(
    name=NAME,
    about="data for llm-jp-eval: instruction, few-shot examples, samples; its own metrics",
    versions=("1.3.0",),
    write=write,
    kinds=("text", "inference", "similarity", "choice", "relation"),
    refused={
        "reading": "it compares a reply with one answer, and its char_f1 is not the F1 of reading tasks",
        "tagging": NO_STRUCTURES,
        "tree": NO_STRUCTURES,
        "dialogue": NO_STRUCTURES,
    },
    needs_gold=True,
    metrics=METRICS,
)
