"""lm-eval 0.4.13: `samples_*.jsonl` of likelihoods and of generated texts, with ids in the documents and without.

Likelihoods are those of its `dummy` model (random numbers), generated texts come from a chat server on the
loopback interface. `figures.json` keeps the metric that lm-eval computed for each log.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.interop.environments import ensure_data_folder, ensure_environment
from tests.interop.log_items import Row, rows_of
from tests.interop.loopback import serve_chat

VERSION = "0.4.13"
NLI = ["entailment", "contradiction", "neutral"]
TOPICS = ["정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠"]
JNLI_PROMPT = "前提：{{sentence1}}\n仮説：{{sentence2}}\n関係："
CHOICE_TASKS: dict[str, Row] = {
    "jnli_ids": {
        "doc_to_text": JNLI_PROMPT,
        "doc_to_choice": ["含意", "矛盾", "中立"],
        "doc_to_target": f"{{{{{NLI}.index(label)}}}}",
    },
    "jcommonsenseqa_no_ids": {
        "doc_to_text": "質問：{{question}}\n答え：",
        "doc_to_choice": "{{[choice0, choice1, choice2, choice3, choice4]}}",
        "doc_to_target": "{{label}}",
    },
    "ynat_no_ids": {
        "doc_to_text": "제목: {{title}}\n주제:",
        "doc_to_choice": TOPICS,
        "doc_to_target": f"{{{{{TOPICS}.index(label)}}}}",
        "target_delimiter": " ",
    },
}
GENERATE_TASKS: dict[str, Row] = {
    "jnli_no_ids": {"doc_to_text": JNLI_PROMPT, "doc_to_target": "{{label}}"},
    "klue_nli_ids": {
        "doc_to_text": "전제: {{premise}}\n가설: {{hypothesis}}\n관계:",
        "doc_to_target": "{{gold_label}}",
    },
    "jsquad_ids": {
        "doc_to_text": "{{context}}\n問：{{question}}\n答え：",
        "doc_to_target": "{{answers[0].text}}",
    },
    "jsts_no_ids": {
        "doc_to_text": "文1：{{sentence1}}\n文2：{{sentence2}}\n近さ：",
        "doc_to_target": "{{label}}",
        "filter_list": [
            {"name": "strict", "filter": [{"function": "take_first"}]},
            {
                "name": "first-number",
                "filter": [
                    {"function": "regex", "regex_pattern": "([0-9.]+)"},
                    {"function": "take_first"},
                ],
            },
        ],
    },
}
ID_FIELDS = ("sentence_pair_id", "yjcaptions_id", "q_id", "guid", "id")


def write_task(folder: Path, name: str, settings: Row, output_type: str) -> None:
    """The data and the configuration of one task; without ids the items are in another order too."""
    rows = rows_of(name.removesuffix("_no_ids").removesuffix("_ids").replace("_", "-"))
    if name.endswith("_no_ids"):
        rows = [{key: row[key] for key in row if key not in ID_FIELDS} for row in rows]
        if name.startswith("jcommonsenseqa"):
            random.Random(1).shuffle(rows)
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    task = {
        "task": f"interop_{name}",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"validation": str(data)}},
        "validation_split": "validation",
        "output_type": output_type,
        "target_delimiter": "",
        "num_fewshot": 0,
        **settings,
    }
    if output_type == "generate_until":
        task["generation_kwargs"] = {"until": ["\n\n"], "max_gen_toks": 32}
        task["metric_list"] = [{"metric": "exact_match"}]
    else:
        task["metric_list"] = [{"metric": "acc"}]
    (folder / f"interop_{name}.yaml").write_text(json.dumps(task, ensure_ascii=False))


class Replies:
    """What the chat server answers: the gold of most items, another answer for some."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._answers: list[tuple[tuple[str, ...], list[str]]] = []
        labels = [row["label"] for row in rows_of("jnli")]
        labels[1], labels[7] = "contradiction", "entailment"
        for row, label in zip(rows_of("jnli"), labels, strict=True):
            self._add((f"前提：{row['sentence1']}", f"仮説：{row['sentence2']}"), label)
        for place, row in enumerate(rows_of("klue-nli")):
            label = "neutral" if place == 0 else row["gold_label"]
            self._add((row["premise"], row["hypothesis"]), label)
        for place, row in enumerate(rows_of("jsquad")):
            self._add((row["question"],), "三人" if place == 1 else row["answers"][0]["text"])
        for place, row in enumerate(rows_of("jsts")):
            text = f"{row['label']}" if place % 2 else f"およそ{row['label']}です"
            self._add((f"文1：{row['sentence1']}", f"文2：{row['sentence2']}"), text)

    def _add(self, texts: tuple[str, ...], answer: str) -> None:
        for known, answers in self._answers:
            if known == texts:
                answers.append(answer)
                return
        self._answers.append((texts, [answer]))

    def __call__(self, prompt: str) -> str:
        for texts, answers in self._answers:
            if all(text in prompt for text in texts):
                self._seen[prompt] += 1  # items of the same texts are answered in turn
                return answers[(self._seen[prompt] - 1) % len(answers)]
        raise LookupError(prompt)


def run_tool(bin_folder: Path, work: Path, tasks: list[str], *more: str) -> None:
    """One command of lm-eval."""
    command = [str(bin_folder / "lm-eval"), "run", "--include_path", str(work), "--log_samples"]
    command += ["--output_path", str(work / "out"), "--tasks", ",".join(tasks), *more]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(work / "hf")}
    environment = {**os.environ, **offline, "OPENAI_API_KEY": "none", "no_proxy": "127.0.0.1"}
    subprocess.run(command, check=True, cwd=work, env=environment)


def main() -> None:
    """Install lm-eval, run it, and keep its logs under short names."""
    bin_folder = ensure_environment("lm_eval", f"lm_eval[api]=={VERSION}")
    folder = ensure_data_folder("lm_eval")
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        for name, settings in CHOICE_TASKS.items():
            write_task(work, name, settings, "multiple_choice")
        for name, settings in GENERATE_TASKS.items():
            write_task(work, name, settings, "generate_until")
        run_tool(bin_folder, work, [f"interop_{name}" for name in CHOICE_TASKS], "--model", "dummy")
        with serve_chat(Replies()) as url:
            model = f"model=scripted,base_url={url}/chat/completions,num_concurrent=1"
            run_tool(
                bin_folder,
                work,
                [f"interop_{name}" for name in GENERATE_TASKS],
                *("--model", "local-chat-completions", "--model_args", model),
                "--apply_chat_template",
            )
        figures: dict[str, Any] = {}
        for results in sorted((work / "out").rglob("results_*.json")):
            figures.update(json.loads(results.read_text())["results"])
        kept = {
            f"samples_{name.removeprefix('interop_')}.jsonl": {
                key: value
                for key, value in sorted(metrics.items())
                if key.startswith(("acc,", "exact_match,"))
            }
            for name, metrics in sorted(figures.items())
        }
        (folder / "figures.json").write_text(json.dumps(kept, indent=1) + "\n")
        for log in sorted((work / "out").rglob("samples_interop_*.jsonl")):
            name = log.name.removeprefix("samples_interop_").rpartition("_")[0]
            shutil.copy(log, folder / f"samples_{name}.jsonl")


if __name__ == "__main__":
    main()
