"""Small tasks of other tools, with the kind and the answers that an import must give.

`make_import_tasks.py` runs each of them in its tool; `tests/exchange/test_import_task.py` imports them everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ToolTask:
    """A task with its data."""

    name: str
    tool: str
    file: str
    files: Mapping[str, str]
    kind: str
    gold: tuple[Any, ...]
    """The answer of each item: a label, the text of the right choice, a score, or the list of answers."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options of the import."""

    def write(self, folder: Path) -> Path:
        """Write the files; returns the task's."""
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8")
        return folder / self.file


def lines(rows: list[dict[str, Any]]) -> str:
    """Rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


PAIRS = lines(
    [
        {"id": "a", "sentence1": "橋の上に犬がいる。", "sentence2": "動物がいる。", "label": 0},
        {"id": "b", "sentence1": "店は七時に開く。", "sentence2": "店は開かない。", "label": 1},
        {"id": "c", "sentence1": "少年が本を読む。", "sentence2": "少年は学生だ。", "label": 2},
    ]
)
QUESTIONS = lines(
    [
        {"q": "海の色は？", "one": "青", "two": "赤", "letter": "A", "place": 0},
        {"q": "船をつなぐものは？", "one": "帆", "two": "綱", "letter": "B", "place": 1},
    ]
)
PASSAGES = lines(
    [
        {
            "context": "青島灯台は1901年に建てられた。",
            "question": "いつ建てられたか。",
            "answers": {"text": ["1901年", "1901"], "answer_start": [5, 5]},
        },
        {
            "context": "港の鐘は三度鳴る。",
            "question": "鐘は何度鳴るか。",
            "answers": {"text": ["三度"], "answer_start": [4]},
        },
    ]
)
SCORES = lines(
    [
        {"sentence1": "犬が走る。", "sentence2": "犬が駆ける。", "score": 4.5},
        {"sentence1": "雪が降る。", "sentence2": "店が開く。", "score": 0.0},
    ]
)
KOREAN = "question,A,B,answer\n바다의 색은? ,파랑,빨강,1\n배를 묶는 것은?,종,밧줄,2\n"


def lm_eval(name: str, data: str, kind: str, gold: tuple[Any, ...], **settings: Any) -> ToolTask:
    """A task of lm-eval; JSON is YAML."""
    is_csv = "answer\n" in data
    file = f"{name}.{'csv' if is_csv else 'jsonl'}"
    task = {
        "task": name,
        "dataset_path": "csv" if is_csv else "json",
        "dataset_kwargs": {"data_files": {"test": file}},
        "test_split": "test",
        "num_fewshot": 0,
        **settings,
    }
    text = json.dumps(task, ensure_ascii=False, indent=1)
    return ToolTask(name, "lm-eval", f"{name}.yaml", {file: data, f"{name}.yaml": text}, kind, gold)


def flexeval(
    name: str, setup: str, data: str, kind: str, gold: tuple[Any, ...], text: str
) -> ToolTask:
    """A set-up of flexeval; `text` has the rest of its settings."""
    file = f"{name}_test.jsonl"
    word = {"Generation": "Generation", "ChatResponse": "Chat"}.get(setup, setup)
    jsonnet = f"""
local dataset(path, settings) = {{
  class_path: 'Jsonl{word}Dataset', init_args: settings {{ path: path }},
}};
{{ class_path: '{setup}', init_args: {{
  local data = '{file}',
{text}
}} }}
"""
    return ToolTask(
        name, "flexeval", f"{name}.jsonnet", {file: data, f"{name}.jsonnet": jsonnet}, kind, gold
    )


def inspect(
    name: str, data: str, kind: str, gold: tuple[Any, ...], text: str, *, stated: bool = False
) -> ToolTask:
    """A task of inspect; `stated`: the user names the kind."""
    head = """from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, MemoryDataset, Sample, csv_dataset, json_dataset
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice
"""
    files = {f"{name}.py": head + text}
    if data:
        files[f"{name}_test.jsonl"] = data
    return ToolTask(
        name, "inspect", f"{name}.py", files, kind, gold, {"kind": kind} if stated else {}
    )


PAIR = "前提：{{ sentence1 }}\n仮説：{{ sentence2 }}\n関係："
WORDS = ["含意", "矛盾", "中立"]
TASKS = (
    lm_eval(
        "le_labels",
        PAIRS,
        "inference",
        ("含意", "矛盾", "中立"),
        output_type="multiple_choice",
        doc_to_text=PAIR,
        doc_to_target="label",
        doc_to_choice=WORDS,
    ),
    lm_eval(
        "le_lookup",
        PAIRS,
        "inference",
        ("含意", "矛盾", "中立"),
        output_type="generate_until",
        doc_to_text=PAIR,
        doc_to_target="{{ ['含意', '矛盾', '中立'][label] }}",
    ),
    lm_eval(
        "le_choices",
        QUESTIONS,
        "choice",
        ("青", "綱"),
        output_type="multiple_choice",
        doc_to_text="{{ q }}",
        doc_to_target="{{ place }}",
        doc_to_choice="{{ [one, two] }}",
    ),
    lm_eval(
        "le_letters",
        KOREAN,
        "choice",
        ("파랑", "밧줄"),
        output_type="generate_until",
        doc_to_text="{{ question.strip() }}\nA. {{ A }}\nB. {{ B }}\n정답：",
        doc_to_target="{{ ['A', 'B'][answer-1] }}",
    ),
    lm_eval(
        "le_passages",
        PASSAGES,
        "reading",
        (["1901年", "1901"], ["三度"]),
        output_type="generate_until",
        doc_to_text="{{ context }}\n問：{{ question }}",
        doc_to_target="{{ answers['text'] }}",
    ),
    lm_eval(
        "le_scores",
        SCORES,
        "similarity",
        (4.5, 0.0),
        output_type="generate_until",
        doc_to_text="{{ sentence1 }} / {{ sentence2 }}",
        doc_to_target="score",
    ),
    flexeval(
        "fe_labels",
        "Generation",
        PAIRS,
        "inference",
        ('"含意"', '"矛盾"', '"中立"'),
        r"""
  eval_dataset: dataset(data, {
    reference_template: "{{ ['\"含意\"', '\"矛盾\"', '\"中立\"'][label] }}",
  }),
  prompt_template: '{{ sentence1 }} / {{ sentence2 }}',
  metrics: [{ class_path: 'ExactMatch' }],
  gen_kwargs: { max_new_tokens: 4 },""",
    ),
    flexeval(
        "fe_choices",
        "MultipleChoice",
        QUESTIONS,
        "choice",
        ("青", "綱"),
        """
  eval_dataset: dataset(data, {
    choices_templates: ['{{ one }}', '{{ two }}', '{% if false %}x{% endif %}'],
    answer_index_template: "{% if letter == 'A' %}0{% else %}1{% endif %}",
  }),
  prompt_template: |||
    問：{{ q }}
  ||| + '答え：',""",
    ),
    flexeval(
        "fe_passages",
        "ChatResponse",
        PASSAGES,
        "reading",
        (["1901年", "1901"], ["三度"]),
        r"""
  eval_dataset: dataset(data, {
    input_template: '{{ context }}\n{{ question }}',
    reference_list_template: '{{ answers.text }}',
  }),
  metrics: [{ class_path: 'CharF1' }],
  gen_kwargs: { max_new_tokens: 4 },""",
    ),
    inspect(
        "in_fields",
        lines(
            [
                {"q": "海の色は？", "options": ["青", "赤"], "right": "A"},
                {"q": "船をつなぐものは？", "options": "帆,綱", "right": ["B"]},
            ]
        ),
        "choice",
        ("青", "綱"),
        """
DATA = "in_fields_test.jsonl"

@task
def in_fields(limit: int = 2):
    fields = FieldSpec(input="q", target="right", choices="options")
    return Task(dataset=json_dataset(DATA, fields, limit=limit), solver=multiple_choice(), scorer=choice())
""",
    ),
    inspect(
        "in_function",
        QUESTIONS,
        "choice",
        ("青", "綱"),
        """
LETTERS = ["A", "B"]

def to_sample(record):
    choices = [text for text in (record["one"], record["two"])]
    index = LETTERS.index(record["letter"])
    return Sample(input=f"問：{record['q'].strip()}", choices=choices, target=chr(ord("A") + index))

@task
def in_function():
    dataset = json_dataset("in_function_test.jsonl", sample_fields=to_sample)
    return Task(dataset=dataset, solver=[multiple_choice()], scorer=choice())
""",
    ),
    inspect(
        "in_samples",
        "",
        "text",
        ("good", "bad"),
        """
@task
def in_samples():
    samples = [
        Sample(input="朝食がとても良い宿。", target="good", id="r1"),
        Sample(input="風呂の湯が" + "ぬるい。", target=["bad"]),
    ]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match())
""",
        stated=True,
    ),
)
