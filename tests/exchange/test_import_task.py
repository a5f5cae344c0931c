"""Tasks of other tools as datasets: what is read, what is listed, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.interop.import_items import TASKS, ToolTask
from tests.interop.log_items import DATASETS, rows_of
from tests.interop.make_flexeval import describe_setups
from tests.interop.make_lm_eval import CHOICE_TASKS, GENERATE_TASKS, write_task

from nikawa.datasets.custom import custom_tasks
from nikawa.datasets.import_table import ImportOptions
from nikawa.datasets.lineage import find_lineage
from nikawa.errors import BadInput
from nikawa.exchange.reading import child
from nikawa.exchange.reading.definition import Definition, Text
from nikawa.exchange.reading.job import TaskOptions, TaskReport, import_task
from nikawa.io.cards import read_card
from nikawa.io.records import read_examples
from nikawa.records import Example
from nikawa.scoring.score import score

RUN_JOB = child.run_job
PAIRS = [
    ("橋の上に犬がいる。", "動物が橋の上にいる。", 0),
    ("店は七時に開く。", "店は開かない。", 1),
    ("少年が本を読む。", "少年は学校にいる。", 2),
]
NLI = [
    {"id": f"p{place}", "sentence1": one, "sentence2": two, "label": label, "page": place}
    for place, (one, two, label) in enumerate(PAIRS)
]
QUESTIONS = [
    {"question": "船を岸につなぐものは？", "choices": ["鐘", "綱", "帆"], "answer": "B"},
    {"question": "海の色は？", "choices": ["青", "赤", "白"], "answer": "A"},
]
PASSAGE = {"context": "青島灯台は1901年に建てられた。", "question": "いつ建てられたか。"}
YAML: dict[str, Any] = {
    "task": "t",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"validation": "rows.jsonl"}},
    "validation_split": "validation",
    "doc_to_text": "前提：{{ sentence1 }}\n仮説：{{ sentence2 }}\n関係：",
    "doc_to_choice": ["含意", "矛盾", "中立"],
    "doc_to_target": "label",
    "output_type": "multiple_choice",
    "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory; tasks are read in this process, which is faster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(child, "run_job", lambda job, path: child.do_job(job))
    return tmp_path


def write_rows(rows: list[dict[str, Any]], name: str = "rows.jsonl") -> None:
    Path(name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_yaml(*drop: str, name: str = "t.yaml", **changes: Any) -> Path:
    """JSON is YAML."""
    pytest.importorskip("yaml")
    settings = {key: value for key, value in {**YAML, **changes}.items() if key not in drop}
    text = json.dumps(settings, ensure_ascii=False)
    # a value that begins with !function is the tag, not a text
    for part in ("process_docs", "doc_to_text", "doc_to_target", "doc_to_choice", "custom_dataset"):
        text = text.replace(f'"{part}": "!function ', f'"{part}": !function "')
    Path(name).write_text(text)
    return Path(name)


def read(
    path: Path | str, tool: str = "lm-eval", *, out: str = "out", **settings: Any
) -> tuple[TaskReport, dict[str, list[Example]]]:
    """Import a task, and read what was written."""
    own = {key: settings.pop(key) for key in ("task", "data", "ignore") if key in settings}
    options = TaskOptions(tool=tool, table=ImportOptions(**settings), **own)
    report = import_task(Path(path), Path(out), options)
    splits = {split: [*read_examples(Path(out, f"{split}.jsonl"))] for split in report.splits}
    return report, splits


def refusal(path: Path | str, tool: str = "lm-eval", **settings: Any) -> str:
    """The one line that an import ends with; nothing is written."""
    with pytest.raises(BadInput) as caught:
        read(path, tool, **settings)
    assert not Path(settings.get("out", "out")).exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_tasks_that_the_tools_ran(task: ToolTask, tmp_path: Path) -> None:
    """`tests/interop/make_import_tasks.py` compares the same tasks with the logs of the tools."""
    for module in {"lm-eval": ["yaml"], "flexeval": ["rjsonnet"]}.get(task.tool, []):
        pytest.importorskip(module)
    report, splits = read(task.write(tmp_path), task.tool, **task.settings)
    assert report.kind == task.kind
    assert tuple(map(show_gold, splits["test"])) == task.gold


def show_gold(example: Example) -> Any:
    """The answer of an example: the text of the right choice, the texts of answers, or the gold itself."""
    ((question, gold),) = example.gold.items()
    if question == "choice":
        return example.inputs["choices"][gold]
    return [part["text"] for part in gold] if question == "answers" else gold


# The logs that the tools wrote for a task are scored with the dataset that is imported from it.

LOGS = Path(__file__).parents[1] / "seams" / "data"


@pytest.mark.parametrize(
    "name", [name for name in (*CHOICE_TASKS, *GENERATE_TASKS) if "jsts" not in name]
)
def test_the_log_of_an_imported_task_of_lm_eval(name: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    settings = CHOICE_TASKS.get(name) or GENERATE_TASKS[name]
    kind = "multiple_choice" if name in CHOICE_TASKS else "generate_until"
    write_task(tmp_path, name, settings, kind)
    read(f"interop_{name}.yaml")
    log = f"samples_{name}.jsonl"
    figures = json.loads((LOGS / "lm_eval" / "figures.json").read_text())[log]
    result = score("out:dev", LOGS / "lm_eval" / log)
    assert result.report.scores[0].value / 100 == pytest.approx(next(iter(figures.values())))


@pytest.mark.parametrize("name", ["jnli_generation", "klue_nli_chat", "jcommonsenseqa_choice"])
def test_the_log_of_an_imported_set_up_of_flexeval(name: str, tmp_path: Path) -> None:
    for dataset in DATASETS:
        write_rows(rows_of(dataset), f"{dataset}.jsonl")
    chat, tiny = describe_setups(tmp_path)
    write_jsonnet(json.dumps({**chat, **tiny}[name]))
    read("t.jsonnet", "flexeval")
    figures = json.loads((LOGS / "flexeval" / "figures.json").read_text())[name]
    result = score("out:test", LOGS / "flexeval" / name / "outputs.jsonl")
    printed = figures.get("accuracy", figures.get("exact_match"))
    assert result.report.scores[0].value / 100 == pytest.approx(printed)


# lm-eval


def test_a_label_task_of_lm_eval() -> None:
    write_rows(NLI)
    text = f"次から選択：\n含意\n矛盾\n中立\n\n{YAML['doc_to_text']}"
    report, splits = read(write_yaml(doc_to_text=text, description="関係を答えてください。"))
    assert (report.kind, report.evaluated, report.unread) == ("inference", ("dev",), ())
    assert splits["dev"][1] == Example(
        id="p1",
        inputs={"premise": "店は七時に開く。", "hypothesis": "店は開かない。"},
        gold={"label": "矛盾"},
        meta={"page": 1},
    )
    assert [(one.tool, one.nikawa, bool(one.difference)) for one in report.metrics] == [
        ("acc", "accuracy", False),
        ("acc_norm", "accuracy", True),
    ]
    card = read_card(Path("out"))
    assert card.label_sets == {"label": ("含意", "矛盾", "中立")}
    assert custom_tasks("out")[0].metrics == ("accuracy", "macro-f1")
    assert (
        Path("out/prompt.txt")
        .read_text()
        .endswith(
            "== system ==\n関係を答えてください。\n\n== user ==\n次から選択：\n{options}\n\n"
            "前提：{premise}\n仮説：{hypothesis}\n関係：\n"
        )
    )
    entry = find_lineage("dev/p1", Path("out"))
    assert entry.sources == ({"item": "p1", "file": "rows.jsonl", "line": 2},)
    assert [step.stage for step in entry.steps] == ["prompt", "choices", "answer"]


def test_renamed_labels_keep_their_words_in_the_prompt() -> None:
    write_rows(NLI)
    labels = {"含意": "entailment", "矛盾": "contradiction", "中立": "neutral"}
    text = f"「含意」、「矛盾」、「中立」から選ぶ。\n{YAML['doc_to_text']}"
    _, splits = read(write_yaml(doc_to_text=text), labels=labels)
    assert [example.gold["label"] for example in splits["dev"]] == [*labels.values()]
    assert "entailment = 含意\n" in Path("out/prompt.txt").read_text()
    assert read_card(Path("out")).label_sets == {"label": tuple(labels.values())}


def test_includes_and_splits_of_lm_eval() -> None:
    Path("tasks/sub").mkdir(parents=True)
    write_rows(NLI)
    write_rows(NLI[:1], "train.jsonl")
    write_yaml("task", name="tasks/_base", doc_to_choice={"a": "y", "b": "n", "c": "?"})
    files = {"data_files": {"validation": "rows.jsonl", "train": "train.jsonl"}}
    path = Path("tasks/sub/one.yaml")
    path.write_text(
        f"include: ../_base\ntask: one\nfewshot_split: train\ndataset_kwargs: {json.dumps(files)}\n"
    )
    report, splits = read(path)
    assert report.task == "one"
    assert report.evaluated == ("dev",)
    assert {name: [e.gold["label"] for e in own] for name, own in splits.items()} == {
        "train": ["y"],
        "dev": ["y", "n", "?"],
    }


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        ("{{ ['含意', '\"矛盾\"', '中立'][label] }}", ["含意", '"矛盾"', "中立"]),
        ('"{{ ["含意", "矛盾", "中立"][label] }}"', ["含意", "矛盾", "中立"]),
        ("{% if label == 0 %}yes{% else %}no{% endif %}", ["yes", "no", "no"]),
    ],
)
def test_quotes_of_the_template_are_no_part_of_a_label(target: str, labels: list[str]) -> None:
    write_rows(NLI)
    path = write_yaml("doc_to_choice", output_type="generate_until", doc_to_target=target)
    settings: dict[str, Any] = {"kind": "inference"} if target.startswith('"') else {}
    report, splits = read(path, **settings)
    assert [example.gold["label"] for example in splits["dev"]] == labels
    assert any("quotation" in note for note in report.notes) == any('"' in one for one in labels)


def test_choices_of_each_row() -> None:
    rows = [{**row, "answer": "ABC".index(str(row["answer"]))} for row in QUESTIONS]
    write_rows(rows)
    changes = {
        "doc_to_text": "{% for choice in choices %}- {{ choice }}\n{% endfor %}{{ question }}",
        "doc_to_choice": "{{ [choices[0], choices[1], choices[2]] }}",
        "doc_to_target": "{{ answer }}",
    }
    report, splits = read(write_yaml(**changes))
    assert (report.kind, report.meta) == ("choice", ())
    inputs = {"question": "海の色は？", "choices": ["青", "赤", "白"]}
    assert splits["dev"][1] == Example(id="dev-2", inputs=inputs, gold={"choice": 0})
    assert "prompt file" in report.unread[0]
    assert "this is a choice task" in refusal("t.yaml", out="new", labels={"青": "blue"})


def test_lettered_choices_in_the_prompt_of_a_csv_file() -> None:
    Path("rows.csv").write_text(
        "question,A,B,answer,no\n바다의 색은? ,파랑,빨강,1,3\n배는?,종,밧줄,2,4\n"
    )
    path = write_yaml(
        "doc_to_choice",
        dataset_path="csv",
        dataset_kwargs={"data_files": {"validation": ["rows.csv"]}},
        doc_to_text="{{ question.strip() }}\nA. {{ A }}\nB. {{ B }}\n정답：",
        doc_to_target="{{ ['A', 'B'][answer-1] }}",
        output_type="generate_until",
    )
    report, splits = read(path)
    assert report.kind == "choice"
    assert [(e.inputs["choices"], e.gold, e.meta) for e in splits["dev"]] == [
        (["파랑", "빨강"], {"choice": 0}, {"no": 3}),
        (["종", "밧줄"], {"choice": 1}, {"no": 4}),
    ]


def test_letters_whose_choices_are_inside_a_text() -> None:
    write_rows([{"query": "問 (A) 青 (B) 赤 (C) 白", "answer": "(B)"}])
    path = write_yaml(
        doc_to_text="{{query}}", doc_to_choice=["(A)", "(B)", "(C)"], doc_to_target="{{answer}}"
    )
    report, splits = read(path)
    assert (report.kind, splits["dev"][0].gold) == ("text", {"label": "(B)"})
    assert any("--kind choice" in note for note in report.notes)


@pytest.mark.parametrize("target", ["{{ answers['text'][0] }}", "{{ answers.text }}", "short"])
def test_answers_in_a_passage(target: str) -> None:
    answers = {"text": ["1901年", "1901"], "answer_start": [5, 5]}
    write_rows([{"id": "r", **PASSAGE, "answers": answers, "short": "1901"}])
    path = write_yaml(
        "doc_to_choice",
        "metric_list",
        output_type="generate_until",
        doc_to_text="{{ context }}\n問：{{ question }}",
        doc_to_target=target,
    )
    report, splits = read(path)
    texts = [part["text"] for part in splits["dev"][0].gold["answers"]]
    assert (report.kind, texts) == (
        "reading",
        ["1901"] if target == "short" else ["1901年", "1901"],
    )
    assert report.metrics[0].nikawa == "jsquad-em"
    assert Path("out/prompt.txt").read_text().endswith("{context}\n問：{question}\n")


def test_scores_of_pairs() -> None:
    write_rows([{"sentence1": "犬", "sentence2": "猫", "label": score} for score in (1.5, 4.0)])
    path = write_yaml("doc_to_choice", output_type="generate_until", doc_to_target="{{label}}")
    report, splits = read(path)
    assert (report.kind, splits["dev"][0].gold) == ("similarity", {"score": 1.5})
    assert report.metrics[0].nikawa == "pearson"


def test_several_columns_make_the_prompt_the_text() -> None:
    rows = [{"paragraph": "バスは来ない。", "question": "バスは来るか。", "label": 0}]
    write_rows(rows)
    text = "{{paragraph}} 質問: {{question}}"
    report, splits = read(write_yaml(doc_to_text=text, doc_to_choice=["いいえ", "はい"]))
    assert splits["dev"][0].inputs == {"text": "バスは来ない。 質問: バスは来るか。"}
    assert splits["dev"][0].meta == {"paragraph": "バスは来ない。", "question": "バスは来るか。"}
    assert "whole prompt" in report.notes[0]


def test_rows_without_an_answer_have_no_gold() -> None:
    write_rows([*NLI[:1], {**NLI[1], "label": -1}, {**NLI[2], "label": None}])
    report, splits = read(write_yaml())
    assert report.unlabelled == 2
    assert [example.gold for example in splits["dev"]] == [{"label": "含意"}, {}, {}]


def test_python_code_is_listed_and_replaced_by_options() -> None:
    write_rows(NLI)
    Path("utils.py").write_text("raise SystemExit('run')\n")
    path = write_yaml(process_docs="!function utils.rows", process_results="!function utils.x")
    assert "process_docs cannot be read: Python code (utils.rows)" in refusal(path)
    assert "there is no unread part 'process'" in refusal(path, ignore=("process",))
    report, splits = read(path, ignore=("process_docs",))
    assert len(splits["dev"]) == 3
    assert [part.partition(":")[0] for part in report.unread[:2]] == [
        "process_docs",
        "process_results",
    ]
    assert "process_docs" in read_card(Path("out")).problems[0]
    path = write_yaml(
        "doc_to_choice", doc_to_text="!function utils.a", doc_to_target="!function utils.b"
    )
    assert "doc_to_target cannot be read" in refusal(path, out="out2")
    columns = {"premise": "sentence1", "hypothesis": "sentence2", "label": "word"}
    write_rows([{**row, "word": "yes"} for row in NLI])
    _, splits = read(path, out="out3", columns=columns)
    assert splits["dev"][0].gold == {"label": "yes"}


def test_data_on_a_hub_is_replaced_by_a_folder() -> None:
    path = write_yaml("dataset_kwargs", dataset_path="some/where", dataset_name="JNLI")
    line = refusal(path)
    assert "its data is at some/where (JNLI), and nikawa downloads no data" in line
    assert "hf download some/where --repo-type dataset" in line
    Path("data").mkdir()
    write_rows(NLI, "data/validation-00000-of-00001.jsonl")
    write_rows(NLI[:1], "data/train.jsonl")
    _, splits = read(path, data=Path("data"))
    assert {name: len(own) for name, own in splits.items()} == {"dev": 3}
    Path("data/validation-00000-of-00001.jsonl").rename("data/test.jsonl")
    assert "has no file of the split 'validation'" in refusal(path, data=Path("data"), out="out2")


def test_one_file_is_the_evaluated_split() -> None:
    write_rows(NLI)
    splits = {"test_split": "test", "training_split": "train", "validation_split": "validation"}
    path = write_yaml("dataset_kwargs", dataset_path="some/where", **splits)
    report, found = read(path, data=Path("rows.jsonl"))
    assert (report.evaluated, list(found)) == (("test",), ["test"])


def test_empty_prompts_need_columns() -> None:
    write_rows(NLI)
    path = write_yaml(doc_to_text="", doc_to_choice="{{ [sentence1 + '、' + sentence2] * 3 }}")
    assert "its prompt is empty: it compares whole texts; pass --columns premise=COLUMN" in refusal(
        path
    )
    columns = {"premise": "sentence1", "hypothesis": "sentence2", "label": "label"}
    _, splits = read(path, columns=columns, labels={"0": "a", "1": "b", "2": "c"})
    assert [example.gold["label"] for example in splits["dev"]] == ["a", "b", "c"]


def test_local_folders() -> None:
    Path("own").mkdir()
    write_rows(NLI, "own/validation.jsonl")
    _, splits = read(write_yaml("dataset_kwargs", dataset_path="./own"))
    assert len(splits["dev"]) == 3
    _, splits = read(write_yaml("dataset_kwargs", dataset_path="own"), out="out2")
    assert len(splits["dev"]) == 3


def test_groups_name_their_tasks() -> None:
    write_rows(NLI)
    path = write_yaml(group="g", task=["a", "b"])
    assert (
        "is the group 'g' of 2 tasks in other files; import the file of one task: a, b"
        in refusal(path)
    )
    path = write_yaml(group="g", task=[{"task": "a"}, {"task": "b", "doc_to_target": "{{ 0 }}"}])
    assert "has 2 tasks; choose one with --task: a, b" in refusal(path)
    _, splits = read(path, task="b")
    assert {example.gold["label"] for example in splits["dev"]} == {"含意"}


LM_EVAL_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "likelihood": ({"output_type": "loglikelihood_rolling"}, "has no answers to score"),
    "class": ({"class": "!function t.T"}, "a Python class, which is not run"),
    "no split": ({"validation_split": None}, "names no split to evaluate"),
    "slice": ({"validation_split": "validation[:5]"}, "is a part of a split"),
    "other split": ({"test_split": "test"}, "data_files has no split 'test'"),
    "column": (
        {"doc_to_text": "{{ nowhere }}"},
        "rows.jsonl, line 1: the template of the prompt does not fit the row: 'nowhere' is undefined",
    ),
    "target": ({"doc_to_target": "{{ 7 }}"}, "line 1: the answer 7 is not one of the 3 choices"),
    "targets": ({"doc_to_target": "{{ [0, 1] }}"}, "line 1: has 2 right choices"),
    "template": ({"doc_to_text": "{% if %}"}, "the template of the prompt is not valid"),
    "attribute": (
        {"doc_to_text": "{{ sentence1.__class__.__mro__ }}"},
        "the template of the prompt is refused",
    ),
    "place": ({"doc_to_text": "{{ label }}"}, "the prompt is the place of a context"),
    "outside": (
        {"dataset_kwargs": {"data_files": {"validation": "../../rows.jsonl"}}},
        "its data '../../rows.jsonl' is outside the folder of the task; pass the data: --data FILE",
    ),
    "absolute": (
        {"dataset_kwargs": {"data_files": {"validation": "/etc/passwd"}}},
        "is outside the folder of the task",
    ),
    "missing": (
        {"dataset_kwargs": {"data_files": {"validation": "no.jsonl"}}},
        "its data 'no.jsonl' does not exist",
    ),
    "address": (
        {"dataset_kwargs": {"data_files": {"validation": "https://x.test/a.jsonl"}}},
        "is at https://x.test/a.jsonl",
    ),
    "setting": (
        {"dataset_kwargs": {"data_files": {"validation": "rows.jsonl"}, "streaming": True}},
        "dataset_kwargs.streaming cannot be read",
    ),
    "free": (
        {
            "doc_to_choice": None,
            "doc_to_target": "{{ sentence1 }}!",
            "output_type": "generate_until",
        },
        "its answers are texts (3 distinct) without a list of labels",
    ),
    "big": ({"doc_to_text": "{{ 'x' * 2000000 }}"}, "gives more than 1,048,576 characters"),
}


@pytest.mark.parametrize("name", LM_EVAL_FAULTS)
def test_faults_of_lm_eval_tasks(name: str) -> None:
    changes, message = LM_EVAL_FAULTS[name]
    write_rows(NLI)
    assert message in refusal(write_yaml(**changes))


YAML_FAULTS = {
    "python": (
        "a: !!python/object/apply:os.system ['echo']",
        "is not plain YAML: could not determine a constructor",
    ),
    "broken": ("a: [1\nb: 2", "t.yaml, line 2: is not plain YAML"),
    "list": ("- 1", "is not a mapping of settings"),
    "loop": ("a: &a [*a]", "has an alias that contains itself"),
    "bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "\n".join(
            f"{new}: &{new} [{', '.join(['*' + old] * 10)}]"
            for old, new in zip("abcde", "bcdef", strict=True)
        ),
        "values once its aliases are expanded",
    ),
    "cycle": ("include: t.yaml", "includes itself"),
    "outside": ("include: ../../../x.yaml", "'../../../x.yaml' is outside the folder of the task"),
    "absent": ("include: x.yaml", "'x.yaml' does not exist"),
    "bytes": ("\udcff", "is not UTF-8"),
}


@pytest.mark.parametrize("name", YAML_FAULTS)
def test_faults_of_yaml(name: str) -> None:
    pytest.importorskip("yaml")
    text, message = YAML_FAULTS[name]
    Path("t.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert message in refusal("t.yaml")


def test_other_faults() -> None:
    assert "x.yaml: no such file" in refusal("x.yaml")
    Path("t.yaml").write_text("a" * (1 << 20) + "a")
    assert "has 1,048,577 bytes" in refusal("t.yaml")
    assert "there is no tool 'helm'" in refusal("t.yaml", "helm")
    write_rows([*NLI, NLI[0]])
    assert "the id 'p0' occurs twice" in refusal(write_yaml())


# flexeval


def write_jsonnet(text: str, name: str = "t.jsonnet") -> Path:
    pytest.importorskip("rjsonnet")
    Path(name).write_text(text)
    return Path(name)


def test_a_generation_set_up_of_flexeval() -> None:
    write_rows(NLI)
    write_rows([*NLI[:1], {**NLI[1], "page": "x"}], "train.jsonl")
    Path("parts.libsonnet").write_text(
        """{ data(path):: { class_path: 'flexeval.JsonlGenerationDataset', init_args: {
  path: path, reference_template: "{{ ['含意', '矛盾', '中立'][label] }}",
  remove_conditions: { '{{ page }}': 'x' } } } }"""
    )
    path = write_jsonnet(
        """
local parts = import 'parts.libsonnet';
{ class_path: 'Generation', init_args: {
  eval_dataset: parts.data('rows.jsonl') { init_args+: { data_range: [1, 3] } },
  few_shot_generator: { class_path: 'RandomFewShotGenerator', init_args: {
    dataset: parts.data('train.jsonl'), num_shots: 1 } },
  prompt_template: |||
    {% for item in few_shot_data %}{{ item.sentence1 }}{{ item.references[0] }}{% endfor %}
    {{ sentence1 }} / {{ sentence2 }}
  |||,
  metrics: [{ class_path: 'ExactMatch', init_args: { lm_output_processor: { class_path: 'NFKC' } } }] } }
"""
    )
    report, splits = read(path, "flexeval")
    assert {name: [e.id for e in own] for name, own in splits.items()} == {
        "train": ["p0"],
        "test": ["p1", "p2"],
    }
    assert splits["test"][0].gold == {"label": "矛盾"}
    assert report.unread[0].startswith("ExactMatch.lm_output_processor")


def test_two_sets_of_data_are_two_splits() -> None:
    write_rows(NLI, "a_test.jsonl")
    write_rows(NLI, "b_test.jsonl")
    path = write_jsonnet(
        """
local data(path) = { class_path: 'JsonlGenerationDataset', init_args: {
  path: path, reference_template: "{{ ['x', 'y', 'z'][label] }}" } };
{ class_path: 'Generation', init_args: { prompt_template: '{{ sentence1 }}', eval_dataset: data('a_test.jsonl'),
  few_shot_generator: { class_path: 'R', init_args: { dataset: data('b_test.jsonl') } } } }"""
    )
    assert "two parts of its data are the split 'test'; name the evaluated one" in refusal(
        path, "flexeval"
    )
    _, splits = read(path, "flexeval", split="dev")
    assert list(splits) == ["dev", "test"]


def test_choices_and_chats_of_flexeval() -> None:
    rows = [{"q": "海の色は？", "a": "青", "b": "赤", "c": "", "answer": 0}]
    write_rows(rows, "test.jsonl")
    path = write_jsonnet(
        """{ class_path: 'MultipleChoice', init_args: { prompt_template: 'Q: {{ q }}',
  eval_dataset: { class_path: 'JsonlMultipleChoiceDataset', init_args: { path: 'test.jsonl',
    choices_templates: ['{{ a }}', '{{ b }}', '{{ c }}'], answer_index_template: '{{ answer }}' } } } }"""
    )
    report, splits = read(path, "flexeval")
    inputs = {"question": "海の色は？", "choices": ["青", "赤"]}
    assert splits["test"] == [Example(id="test-1", inputs=inputs, gold={"choice": 0})]
    assert [one.nikawa for one in report.metrics][:2] == ["accuracy", "accuracy"]
    write_rows([{**PASSAGE, "answers": ["1901年", "1901"]}], "test.jsonl")
    path = write_jsonnet(
        """{ class_path: 'ChatResponse', init_args: { metrics: [{ class_path: 'CharF1' }],
  eval_dataset: { class_path: 'JsonlChatDataset', init_args: { path: 'test.jsonl',
    input_template: '{{ context }}\\n{{ question }}', reference_list_template: '{{ answers }}' } } } }"""
    )
    report, splits = read(path, "flexeval", out="out2")
    assert [part["text"] for part in splits["test"][0].gold["answers"]] == ["1901年", "1901"]
    assert report.metrics[0].nikawa == "jsquad-f1"


JSONNET_FAULTS = {
    "broken": ("{", "t.jsonnet, line 1: is not valid Jsonnet"),
    "loop": ("local f(x) = f(x + 1); f(1)", "is not valid Jsonnet: stack overflow"),
    "outside": ("import '/etc/hostname'", "'/etc/hostname' is outside the folder of the task"),
    "class": ("{ class_path: 'Foo' }", "is 'Foo', not a set-up with a dataset"),
    "no class": ("{ a: 1 }", "the set-up has no class_path"),
    "perplexity": ("{ class_path: 'Perplexity', init_args: {} }", "has no answers to score"),
    "own reader": (
        "{ class_path: 'Generation', init_args: { eval_dataset: { class_path: 'my.Data' } } }",
        "the dataset class 'Data' reads data in its own way",
    ),
}


@pytest.mark.parametrize("name", JSONNET_FAULTS)
def test_faults_of_jsonnet(name: str) -> None:
    text, message = JSONNET_FAULTS[name]
    assert message in refusal(write_jsonnet(text), "flexeval")


# inspect

HEAD = """raise SystemExit("run")
from inspect_ai import Task, task
PATH = "rows.jsonl"
LETTERS = "ABC"
"""


def write_python(body: str, name: str = "t.py") -> Path:
    Path(name).write_text(HEAD + body)
    return Path(name)


def test_a_field_specification_of_inspect() -> None:
    write_rows([{**row, "n": place} for place, row in enumerate(QUESTIONS)])
    body = """
@task
def sea(path: str = PATH):
    data = json_dataset(path, FieldSpec("question", target="answer", id="n"), limit=1)
    data.shuffle()
    return Task(dataset=data, solver=[system_message("選ぶ。"), multiple_choice()], scorer=choice())
"""
    report, splits = read(write_python(body), "inspect")
    inputs = {"question": "船を岸につなぐものは？", "choices": ["鐘", "綱", "帆"]}
    assert splits["test"] == [Example(id="0", inputs=inputs, gold={"choice": 1})]
    assert [(one.tool, one.nikawa) for one in report.metrics] == [("choice", "accuracy")]
    assert "path" in report.notes[0]


def test_a_function_that_makes_samples() -> None:
    write_rows(QUESTIONS)
    body = """
def letter(place):
    return chr(ord("A") + place)

def to_sample(record):
    texts = [text.strip() for text in record["choices"]]
    place = LETTERS.index(record["answer"])
    if place > 1:
        target = "C"
    else:
        target = letter(place)
    prompt = "問：{q}".format(q=record["question"])
    return Sample(input=f"{prompt}\\n", choices=texts, target=target, id=make_id(record),
                  metadata={"first": texts[0], "hash": make_id(record)})

@task
def sea():
    return Task(json_dataset(PATH, sample_fields=to_sample), solver=multiple_choice(), scorer=choice())
"""
    report, splits = read(write_python(body), "inspect")
    assert report.columns["question"] == ["question"]
    assert splits["test"][0] == Example(
        id="test-1",
        inputs={"question": "船を岸につなぐものは？", "choices": ["鐘", "綱", "帆"]},
        gold={"choice": 1},
        meta={"first": "鐘"},
    )


def test_empty_cells_of_a_csv_file_are_texts() -> None:
    Path("rows.csv").write_text("question,first,second,third,answer\n海は？,青,赤,,A\n")
    body = """
@task
def sea():
    def to_sample(row):
        choices = [row[name] for name in ("first", "second", "third") if row[name] != ""]
        return Sample(input=row["question"], choices=choices, target=row["answer"])
    return Task(csv_dataset("rows.csv", to_sample), solver=multiple_choice(), scorer=choice())
"""
    _, splits = read(write_python(body), "inspect")
    assert splits["test"][0].inputs == {"question": "海は？", "choices": ["青", "赤"]}


def test_samples_in_the_file_and_several_tasks() -> None:
    body = """
@task
def one():
    return Task(dataset=MemoryDataset([Sample(input="海は？", target=["A"], choices=["青", "赤"], id=7)]), scorer=choice())

@task
def two():
    return Task(dataset=[Sample("良い宿。", target="good"), Sample("風呂がぬるい。", target="bad")], scorer=match())
"""
    path = write_python(body)
    assert "has 2 tasks; choose one with --task: one, two" in refusal(path, "inspect")
    assert "there is no" not in refusal(path, "inspect", task="two")
    _, splits = read(path, "inspect", task="one")
    assert splits["test"][0].id == "7"
    report, splits = read(path, "inspect", task="two", kind="text", out="out2")
    assert report.labels == {"bad": 1, "good": 1}
    assert splits["test"][0].inputs == {"text": "良い宿。"}


PYTHON_FAULTS = {
    "syntax": ("def f(:\n", "t.py, line 5: is not valid Python"),
    "no task": ("def f(): pass\n", "has no function with @task"),
    "computed": (
        "@task\ndef t(): return Task(dataset=load(), scorer=choice())\n",
        "the dataset is computed by code that cannot be read (load())",
    ),
    "filter": (
        "@task\ndef t(): return Task(dataset=json_dataset(PATH).filter(keep))\n",
        "the dataset is computed",
    ),
    "class": (
        "@task\ndef t(): return Task(dataset=json_dataset(PATH, lambda r: Sample(input=r['question'].__class__)))\n",
        "the sample is computed by code that cannot be read",
    ),
    "format": (
        "@task\ndef t(): return Task(dataset=json_dataset(PATH, lambda r: Sample(input='{0.__class__}'.format(r))))\n",
        "the sample is computed",
    ),
    "endless": (
        "def f(x): return f(x)\n@task\ndef t(): return f(1)\n",
        "calls functions too deeply",
    ),
    "huge": (
        "A = 'x' + 'x'\nB = [a for a in [b for b in range(10 ** 9)]]\n@task\ndef t(): return Task(dataset=json_dataset(PATH, B))\n",
        "sample_fields of json_dataset is computed",
    ),
    "double": (
        "def f(x):\n"
        + "    x = x + x\n" * 40
        + "    return x\n@task\ndef t(): return Task(dataset=json_dataset(f('xy')))\n",
        "is too long",
    ),
    "nested": ("x = " + "(" * 5000 + ")" * 5000 + "\n", "is not valid Python"),
    "outside": (
        "@task\ndef t(): return Task(dataset=json_dataset('/etc/passwd.jsonl'))\n",
        "is outside the folder of the task",
    ),
    "hub": (
        "@task\ndef t(): return Task(dataset=hf_dataset('some/where', split='test', name='x'))\n",
        "its data is at some/where (x)",
    ),
    "several": (
        "@task\ndef t(): return Task(dataset=json_dataset(PATH), solver=multiple_choice(multiple_correct=True))\n",
        "several right choices",
    ),
    "letter": (
        "@task\ndef t(): return Task(dataset=json_dataset(PATH, FieldSpec(input='question', target='question')))\n",
        "rows.jsonl, line 1: the target '船を岸につなぐものは？' is not the letter of a choice",
    ),
    "messages": (
        "@task\ndef t(): return Task(dataset=json_dataset(PATH, FieldSpec(input='choices')))\n",
        "line 1: its input is not a text but a list of messages",
    ),
}


@pytest.mark.parametrize("name", PYTHON_FAULTS)
def test_faults_of_python_files(name: str) -> None:
    write_rows(QUESTIONS)
    body, message = PYTHON_FAULTS[name]
    assert message in refusal(write_python(body), "inspect")


# The process


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 10 ** 10 }}",
    ],
)
def test_a_process_of_its_own_ends_what_does_not_end(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "run_job", RUN_JOB)
    monkeypatch.setattr(child, "MAX_SECONDS", 1)
    prompt = Text(form="template", value=text)
    definition = Definition(tool="lm-eval", name="t", file="t.yaml", prompt=prompt)
    with pytest.raises(BadInput, match="takes more than 1 seconds or 2,048 MiB of memory to read"):
        child.apply_definition(definition, ("a",), [{"a": "b"}])


Nikawa = Callable[..., Any]


def test_the_command_walks_on(nikawa: Nikawa, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(NLI)
    done = nikawa("data", "import", str(write_yaml()), "--from", "lm-eval", "--out", "nli")
    assert done.returncode == 0, done.stderr
    assert "Task: t of lm-eval; it evaluates dev" in done.stdout
    assert "acc_norm" in done.stdout
    assert "not read: the prompt" in done.stderr
    assert nikawa("data", "check", "nli").returncode == 0
    assert nikawa("data", "export", "nli", "--to", "inspect", "--out", "again").returncode == 0
    write_rows([{"id": row["id"], "answer": "含意"} for row in NLI], "answers.jsonl")
    done = nikawa("score", "nli:dev", "answers.jsonl", "--json")
    assert json.loads(done.stdout)["scores"][0]["value"] == pytest.approx(100 / 3)
    done = nikawa("data", "import", "rows.jsonl", "--out", "x", "--task", "t")
    assert (done.returncode, "--task is for tasks of other tools" in done.stderr) == (2, True)
