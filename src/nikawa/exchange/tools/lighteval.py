"""Tasks for lighteval: one Python file with the table of tasks, and one folder of rows per split.

- lighteval loads a dataset by its path, so each split is a folder with `test.jsonl` and, for the few-shot examples, `train.jsonl`. A
  line holds its row as one JSON text, because the loader guesses the types of columns.
- lighteval has no system role for tasks. It puts the instruction before the first question, as `chat:` models do for servers
  without a system role. In plain text, one blank line more follows the instruction.
- The number of few-shot examples is part of the task name on lighteval's command line. `ExportedTask` refuses any other than the
  exported number: lighteval would draw more from the evaluated items.
- lighteval keeps replies in a cache, by the configuration of the task and the place of an item. The version of a task is a number
  made from its data, so that replies to another export are never reused.
- One metric computes all official figures over the judged replies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256

from nikawa.exchange.base import (
    ANSWER,
    CHOICES,
    PROMPT,
    TARGET,
    Row,
    TaskExport,
    Tool,
    ToolExport,
    write_module,
    write_rows,
)
from nikawa.exchange.readme import write_readme

SEPARATOR = "\n\n"
LIKELIHOOD = "_loglik"
"""The suffix of tasks that are scored by log-likelihood."""
IMPORTS = (
    "from lighteval.metrics.metrics_sample import SampleLevelComputation",
    "from lighteval.metrics.utils.metric_utils import CorpusLevelMetric",
    "from lighteval.tasks.lighteval_task import LightevalTaskConfig",
    "from lighteval.tasks.requests import Doc, SamplingMethod",
)
GLUE = f'''
def ask(line, task_name=None):
    """The question of a row, for a reply."""
    row = json.loads(line["row"])
    return Doc(
        task_name=task_name,
        query=row["{PROMPT}"],
        instruction=INSTRUCTION,
        choices=[row["{ANSWER}"]],
        gold_index=0,
        specific={{"row": line["row"]}},
    )


def offer(line, task_name=None):
    """The question of a row with its keys to choose from, for log-likelihoods."""
    doc = ask(line, task_name)
    if not line.get("__few_shots"):
        row = json.loads(line["row"])
        doc.choices = [" " + key for key in row["{CHOICES}"]]
        doc.gold_index = row["{TARGET}"]
    return doc


class JudgeReply(SampleLevelComputation):
    """Reads the reply; the metrics are computed over all replies."""

    def compute(self, doc, model_response, **_):
        texts = model_response.final_text
        item = SCORER.judge(json.loads(doc.specific["row"]), texts[0] if texts else None)
        return json.dumps(item, ensure_ascii=False)


class JudgeLikelihoods(SampleLevelComputation):
    """Takes the answer with the highest log-likelihood."""

    def compute(self, doc, model_response, **_):
        row = json.loads(doc.specific["row"])
        item = SCORER.judge_likelihoods(row, model_response.logprobs)
        return json.dumps(item, ensure_ascii=False)


def summarise(items):
    """The official metrics of all items, and the share of unread replies."""
    return SCORER.summarise([json.loads(item) for item in items])


def official(judge, method):
    """The metrics of a task; lighteval reports every figure that `summarise` returns."""
    return CorpusLevelMetric(
        metric_name="judged",
        higher_is_better=True,
        category=method,
        sample_level_fn=judge,
        corpus_level_fn=summarise,
    )


class ExportedTask(LightevalTaskConfig):
    """A task that runs only with its own few-shot examples."""

    def __setattr__(self, name, value):
        if name == "num_fewshots" and value != self.__dict__.get(name, value):
            has = f"has {{self.num_fewshots}} few-shot examples"
            raise SystemExit(f"{{self.name}} {{has}}: run it as {{self.name}}|{{self.num_fewshots}}")
        super().__setattr__(name, value)


def make_task(split, shots, tokens, version, by_likelihood=False):
    """The configuration of a split."""
    method = SamplingMethod.LOGPROBS if by_likelihood else SamplingMethod.GENERATIVE
    return ExportedTask(
        name=split + "{LIKELIHOOD}" if by_likelihood else split,
        prompt_function=offer if by_likelihood else ask,
        hf_repo=str(FOLDER / "data" / split),
        hf_subset="default",
        hf_avail_splits=["test", "train"] if shots else ["test"],
        evaluation_splits=["test"],
        few_shots_split="train" if shots else None,
        few_shots_select="sequential",
        num_fewshots=shots,
        generation_size=tokens,
        stop_sequence=["\\n\\n"] if shots else [],
        metrics=[official(JudgeLikelihoods() if by_likelihood else JudgeReply(), method)],
        version=version,
    )
'''


def write(export: ToolExport) -> Iterator[tuple[str, str]]:
    """The files of an export."""
    commands = []
    for own in export.tasks:
        glue = f"{GLUE.strip()}\n\n\nINSTRUCTION = {own.system + SEPARATOR if own.system else None!r}\n"
        table = []
        for split, rows in own.splits.items():
            name = own.split_name(split)
            yield f"data/{name}/test.jsonl", wrap_rows(rows)
            if own.shots:
                yield f"data/{name}/train.jsonl", wrap_rows(own.shots)
            settings = f"{name!r}, {len(own.shots)}, {own.max_tokens}, {number_data(own, split)}"
            table.append(f"make_task({settings})")
            commands.append((own, split, name))
            if own.is_choice and not own.is_hidden(split):
                table.append(f"make_task({settings}, by_likelihood=True)")
            if own.is_hidden(split):
                glue += f"# The labels of {split} are hidden. Submit the log: {' '.join(own.card.homepage.split())}\n"
        # the table is made at the end, when the scorer exists
        module = write_module(own, f"lighteval {export.tool_version}", glue, IMPORTS)
        lines = "".join(f"    {entry},\n" for entry in table)
        yield f"{own.name}.py", f"{module}TASKS_TABLE = [\n{lines}]\n"
    yield "README.md", write_readme(export, "lighteval", commands, run_lines, list_notes)


def number_data(own: TaskExport, split: str) -> int:
    """A number of at most nine digits that changes with the items, the few-shot examples and the instruction."""
    data = json.dumps([own.system, own.shots, own.splits[split]], ensure_ascii=False)
    return int(sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:7], 16)


def wrap_rows(rows: Sequence[Row]) -> str:
    """Rows as lines with one text each."""
    return write_rows([{"row": json.dumps(row, ensure_ascii=False)} for row in rows])


def run_lines(own: TaskExport, split: str, name: str) -> list[str]:
    """The command that runs a task."""
    return [
        f'lighteval accelerate "model_name=MODEL" "{name}|{len(own.shots)}" \\',
        f"  --custom-tasks {own.name}.py --output-dir out --save-details",
    ]


def list_notes(export: ToolExport) -> list[str]:
    """What a user of the tool must know in addition."""
    notes = [
        'For a chat model behind a server, use `lighteval endpoint litellm "model_name=openai/MODEL,base_url=http://HOST/v1"` with the '
        "same arguments.",
        "The number after `|` is the number of few-shot examples. It must be the one of this export.",
        "lighteval 0.13.0 does not run with the newest versions of some libraries. This installs versions that it runs with: "
        '`pip install "lighteval[litellm]==0.13.0" "huggingface_hub<1" "transformers<5" "datasets<5" "xxhash<4"`.',
    ]
    if any(own.is_choice for own in export.tasks):
        notes.append(
            f"Tasks whose name ends with `{LIKELIHOOD}` compare the log-likelihoods of the answers instead of reading a reply."
        )
    return notes


TOOL = Tool(
    name="lighteval",
    about="tasks for lighteval: Python, data, scorer",
    versions=("0.13.0",),
    write=write,
)
