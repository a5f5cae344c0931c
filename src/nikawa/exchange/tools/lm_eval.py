"""Tasks for lm-eval (lm-evaluation-harness): one YAML file per split, and a second one by log-likelihood for closed answers.

- The rows come from a function (`custom_dataset`), so paths do not depend on the working directory.
- The system prompt is the `description`, the few-shot examples are a split of their own, taken in order (`first_n`). In plain text
  the description must end with the blank line that separates it from the first question; in a chat, the system message
  therefore ends with one too.
- `process_results` passes the judged reply to the aggregation of every metric, which computes the official figure over all items.
  It must return the metrics of the task and no other: lm-eval would take the mean of what it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from nikawa.exchange.base import (
    ANSWER,
    CHOICES,
    PROMPT,
    TARGET,
    TaskExport,
    Tool,
    ToolExport,
    data_file,
    plain_name,
    write_module,
    write_rows,
)
from nikawa.exchange.readme import write_readme
from nikawa.exchange.scoring import UNREAD

SEPARATOR = "\n\n"
LIKELIHOOD = "_loglik"
"""The suffix of tasks that are scored by log-likelihood."""
GLUE = '''
def read_rows(name):
    """The rows of a data file, all with the same fields: the first decides the columns of a dataset."""
    with open(FOLDER / name, encoding="utf-8") as stream:
        return [{"gold": None, **json.loads(line)} for line in stream]


def load_rows(rows, shots="", **_):
    """The rows of a split and the few-shot examples, for `custom_dataset`."""
    from datasets import Dataset

    names = {"test": rows, **({"shots": shots} if shots else {})}
    return {split: Dataset.from_list(read_rows(name)) for split, name in names.items()}


def judge_reply(doc, results):
    """The judged reply, for the aggregation of every metric that needs no scores."""
    names = [name for name, about in ABOUT["metrics"].items() if not about["needs_scores"]]
    return dict.fromkeys((*names, "unread"), SCORER.judge(doc, results[0]))


def judge_unlabelled(doc, results):
    """The judged reply to an item of a split whose labels are hidden."""
    return {"unread": SCORER.judge(doc, results[0])}


def judge_likelihoods(doc, results):
    """The answer with the highest log-likelihood, for the aggregation of every metric."""
    item = SCORER.judge_likelihoods(doc, [likelihood for likelihood, _ in results])
    return dict.fromkeys((*ABOUT["metrics"], "unread"), item)
'''


def write(export: ToolExport) -> Iterator[tuple[str, str]]:
    """The files of an export."""
    commands = []
    for task in export.tasks:
        glue = GLUE
        for name in (*task.task.metrics, UNREAD):
            glue += (
                f"\n\ndef compute_{plain_name(name)}(items):\n"
                f'    """The metric {name} of all items."""\n'
                f'    return SCORER.summarise(items).get({name!r}, float("nan"))\n'
            )
        yield f"{task.name}.py", write_module(task, f"lm-eval {export.tool_version}", glue)
        if task.shots:
            yield data_file(f"{task.name}_shots"), write_rows(task.shots)
        for split, rows in task.splits.items():
            name = task.split_name(split)
            yield data_file(name), write_rows(rows)
            yield f"{name}.yaml", write_config(task, split)
            commands.append((task, split, name))
            if task.is_choice and not task.is_hidden(split):
                yield f"{name}{LIKELIHOOD}.yaml", write_config(task, split, by_likelihood=True)
    yield "README.md", write_readme(export, "lm-eval", commands, run_lines, NOTES)


def write_config(task: TaskExport, split: str, *, by_likelihood: bool = False) -> str:
    """The YAML of a task; scalars are written as JSON, which YAML includes."""
    name, module = task.split_name(split), task.name
    files = {"rows": data_file(name)}
    if task.shots:
        files["shots"] = data_file(f"{module}_shots")
    description = task.system + SEPARATOR if task.system else ""
    if any(mark in description for mark in ("{{", "{%", "{#")):  # as a literal of Jinja
        description = f"{{{{ {quote(description)} }}}}"
    lines = [
        f"task: {quote(name + LIKELIHOOD if by_likelihood else name)}",
        f"custom_dataset: !function {module}.load_rows",
        f"dataset_kwargs: {quote(files)}",
        "test_split: test",
        f"description: {quote(description)}",
        f"doc_to_text: {PROMPT}",
        'target_delimiter: " "',
        f"fewshot_delimiter: {quote(SEPARATOR)}",
        f"num_fewshot: {len(task.shots)}",
    ]
    if task.shots:
        config = {"sampler": "first_n", "split": "shots", "doc_to_target": ANSWER}
        lines.append(f"fewshot_config: {quote(config)}")
    if by_likelihood:
        lines += [
            "output_type: multiple_choice",
            f"doc_to_choice: {CHOICES}",
            f"doc_to_target: {TARGET}",
            f"process_results: !function {module}.judge_likelihoods",
        ]
    else:
        judge = "judge_unlabelled" if task.is_hidden(split) else "judge_reply"
        # the separator of few-shot examples ends an answer in plain text
        until = [SEPARATOR] if task.shots else []
        settings = {"until": until, "max_gen_toks": task.max_tokens, "do_sample": False}
        settings["temperature"] = 0
        lines += [
            "output_type: generate_until",
            f"doc_to_target: {ANSWER}",
            f"generation_kwargs: {quote(settings)}",
            f"process_results: !function {module}.{judge}",
        ]
    lines.append("metric_list:")
    metrics = task.about["metrics"]
    for metric in task.metric_names(split, has_scores=by_likelihood):
        is_higher = metric in metrics and metrics[metric]["higher_is_better"]
        lines += [
            f"  - metric: {metric}",
            f"    aggregation: !function {module}.compute_{plain_name(metric)}",
            f"    higher_is_better: {quote(is_higher)}",
        ]
    about = {"version": task.version, "dataset": task.title, "split": split, "seed": task.seed}
    if task.is_hidden(split):
        about["labels"] = f"hidden; submit the log: {task.card.homepage}"
    lines.append(f"metadata: {quote(about)}")
    return "\n".join(lines) + "\n"


def quote(value: object) -> str:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def run_lines(task: TaskExport, split: str, name: str) -> list[str]:
    """The command that runs a task."""
    return [
        f"lm-eval run --include_path . --tasks {name} --model hf --model_args pretrained=MODEL \\",
        "  --log_samples --output_path out",
    ]


def list_notes(export: ToolExport) -> list[str]:
    """What a user of the tool must know in addition."""
    notes = [
        "For a chat model behind a server, use `--model local-chat-completions --model_args "
        "model=NAME,base_url=http://HOST/v1/chat/completions --apply_chat_template`. For a chat model on this machine, add "
        "`--apply_chat_template`.",
    ]
    if any(task.is_choice for task in export.tasks):
        notes.append(
            f"Tasks whose name ends with `{LIKELIHOOD}` compare the log-likelihoods of the answers instead of reading a reply. "
            "They need a model that gives log-likelihoods."
        )
    return notes


NOTES = list_notes
TOOL = Tool(
    name="lm-eval",
    about="tasks for lm-eval: YAML, data, scorer",
    versions=("0.4.13",),
    write=write,
)
