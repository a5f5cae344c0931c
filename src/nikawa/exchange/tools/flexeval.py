"""Set-ups for flexeval: Jsonnet for a chat and for plain text, and a Python file with the dataset and the metric.

flexeval adds the working directory to the module path, so the set-ups name the classes of the Python file. By log-likelihood,
flexeval computes its own accuracy and takes no metric, so exports ask for replies only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nikawa.exchange.base import (
    ANSWER,
    PROMPT,
    TaskExport,
    Tool,
    ToolExport,
    data_file,
    write_module,
    write_rows,
)
from nikawa.exchange.readme import write_readme

SEPARATOR = "\n\n"
TEXT = "_text"
"""The suffix of set-ups that ask in plain text."""
IMPORTS = (
    "from flexeval.core.chat_dataset import ChatDataset, ChatInstance",
    "from flexeval.core.generation_dataset import GenerationDataset, GenerationInstance",
    "from flexeval.core.metric import Metric, MetricResult",
)
GLUE = f'''
def read_rows(name):
    """The rows of a data file; none without a name."""
    if not name:
        return []
    with open(FOLDER / name, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


class ExportedChat(ChatDataset):
    """The conversation of each item: instruction, few-shot examples, question."""

    def __init__(self, rows: str, shots: str = "", system: str = "") -> None:
        self.rows = read_rows(rows)
        self.before = [{{"role": "system", "content": system}}] if system else []
        for shot in read_rows(shots):
            self.before.append({{"role": "user", "content": shot["{PROMPT}"]}})
            self.before.append({{"role": "assistant", "content": shot["{ANSWER}"]}})

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> ChatInstance:
        row = self.rows[i]
        question = {{"role": "user", "content": row["{PROMPT}"]}}
        return ChatInstance(
            messages=[*self.before, question], references=[row["{ANSWER}"]], extra_info=dict(row)
        )


class ExportedText(GenerationDataset):
    """The same as plain text, in the field `prompt_text` of the inputs."""

    def __init__(self, rows: str, shots: str = "", system: str = "") -> None:
        self.rows = read_rows(rows)
        parts = [system] if system else []
        parts += [shot["{PROMPT}"] + " " + shot["{ANSWER}"] for shot in read_rows(shots)]
        self.before = "".join(part + "\\n\\n" for part in parts)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> GenerationInstance:
        row = self.rows[i]
        inputs = {{**row, "prompt_text": self.before + row["{PROMPT}"]}}
        return GenerationInstance(inputs=inputs, references=[row["{ANSWER}"]])


class OfficialMetrics(Metric):
    """The official metrics over all items, and the share of unread replies."""

    def evaluate(self, lm_outputs, references_list, extra_info_list=None) -> MetricResult:
        items = []
        for output, row in zip(lm_outputs, extra_info_list, strict=True):
            reply = output if isinstance(output, str) else output.text
            items.append(SCORER.judge(row, reply))
        return MetricResult(SCORER.summarise(items), [{{"judged": item}} for item in items])
'''


def write(export: ToolExport) -> Iterator[tuple[str, str]]:
    """The files of an export."""
    commands = []
    for own in export.tasks:
        shots = data_file(f"{own.name}_shots") if own.shots else ""
        if shots:
            yield shots, write_rows(own.shots)
        for split, rows in own.splits.items():
            name = own.split_name(split)
            yield data_file(name), write_rows(rows)
            yield f"{name}.jsonnet", write_setup(own, split, shots, in_chat=True)
            yield f"{name}{TEXT}.jsonnet", write_setup(own, split, shots, in_chat=False)
            commands.append((own, split, name))
        yield f"{own.name}.py", write_module(own, f"flexeval {export.tool_version}", GLUE, IMPORTS)
    yield "README.md", write_readme(export, "flexeval", commands, run_lines, list_notes)


def write_setup(own: TaskExport, split: str, shots: str, *, in_chat: bool) -> str:
    """The set-up of a split; JSON is Jsonnet too."""
    name = own.split_name(split)
    rows: dict[str, Any] = {"rows": data_file(name), "system": own.system}
    if shots:
        rows["shots"] = shots
    settings: dict[str, Any] = {"max_new_tokens": own.max_tokens}
    setup: dict[str, Any] = {
        "eval_dataset": {
            "class_path": f"{own.name}.{'ExportedChat' if in_chat else 'ExportedText'}",
            "init_args": rows,
        },
        "metrics": [{"class_path": f"{own.name}.OfficialMetrics"}],
        "gen_kwargs": settings,
    }
    if not in_chat:
        setup["prompt_template"] = "{{ prompt_text }}"
        if shots:  # the separator of few-shot examples ends an answer in plain text
            settings["stop_sequences"] = [SEPARATOR]
    kind = "ChatResponse" if in_chat else "Generation"
    document = {"class_path": kind, "init_args": setup}
    note = f"// {own.title} {own.version}, {split}. Written by Nikawa.\n"
    if own.is_hidden(split):
        note += f"// The labels are hidden. Submit the log: {' '.join(own.card.homepage.split())}\n"
    return note + json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def run_lines(own: TaskExport, split: str, name: str) -> list[str]:
    """The command that runs a task."""
    return [
        "flexeval_lm --language_model OpenAIChatAPI --language_model.model MODEL \\",
        f"  --eval_setup {name}.jsonnet --save_dir out",
    ]


def list_notes(export: ToolExport) -> list[str]:
    """What a user of the tool must know in addition."""
    return [
        f"Set-ups whose name ends with `{TEXT}` ask in plain text, for base models: "
        "`--language_model HuggingFaceLM --language_model.model MODEL`.",
        "flexeval has no common name for greedy decoding: pass `--eval_setup.gen_kwargs.temperature 0` to an API and "
        "`--eval_setup.gen_kwargs.do_sample false` to HuggingFaceLM.",
        "Start flexeval in this folder, or set ADDITIONAL_MODULES_PATH to it: the set-ups name classes of the Python file.",
    ]


TOOL = Tool(
    name="flexeval",
    about="set-ups for flexeval: Jsonnet, data, dataset and metric classes",
    versions=("0.18.3",),
    write=write,
)
