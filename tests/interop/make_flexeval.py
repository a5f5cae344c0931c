"""flexeval 0.18.3: `outputs.jsonl` of generated texts, of chats and of log-probabilities of choices.

Texts come from a chat server on the loopback interface, log-probabilities from a GPT-2 of a few random weights
that is made here. `figures.json` keeps the metrics that flexeval computed for each log.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.interop.environments import ROOT, ensure_data_folder, ensure_environment
from tests.interop.log_items import DATASETS, Row, rows_of
from tests.interop.loopback import serve_chat
from tests.interop.make_lm_eval import NLI, TOPICS, Replies

VERSION = "0.18.3"
WORDS = ["含意", "矛盾", "中立"]
PAIR = "前提：{{ sentence1 }}\n仮説：{{ sentence2 }}\n関係："


def make_model(folder: Path) -> None:
    """A tiny language model that knows every character of the items; called inside flexeval's environment."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    texts = [*WORDS, *TOPICS, *(str(row) for name in DATASETS for row in rows_of(name))]
    characters = sorted({sign for text in texts for sign in text})
    vocabulary = {sign: place for place, sign in enumerate(["<unk>", "<s>", *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="<s>",
        pad_token="<s>",
    ).save_pretrained(folder)
    torch.manual_seed(11)
    size = {"n_positions": 512, "n_embd": 16, "n_layer": 1, "n_head": 1, "initializer_range": 0.5}
    ends = {"bos_token_id": 1, "eos_token_id": 1}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(vocabulary), **size, **ends)).save_pretrained(folder)


def describe_setups(data: Path) -> tuple[dict[str, Row], dict[str, Row]]:
    """The set-ups for the chat server and those for the tiny model, by name."""

    def dataset(kind: str, name: str, **settings: object) -> Row:
        path = str(data / f"{name}.jsonl")
        return {"class_path": f"Jsonl{kind}Dataset", "init_args": {"path": path, **settings}}

    def generation(name: str, prompt: str, reference: str) -> Row:
        return {
            "class_path": "Generation",
            "init_args": {
                "eval_dataset": dataset("Generation", name, reference_template=reference),
                "prompt_template": prompt,
                "metrics": [{"class_path": "ExactMatch"}],
                "gen_kwargs": {"max_new_tokens": 16},
            },
        }

    def choice(name: str, prompt: str, choices: list[str], place: str) -> Row:
        settings = {"choices_templates": choices, "answer_index_template": place}
        return {
            "class_path": "MultipleChoice",
            "init_args": {
                "eval_dataset": dataset("MultipleChoice", name, **settings),
                "prompt_template": prompt,
            },
        }

    chat = {
        "jnli_generation": generation("jnli", PAIR, "{{ label }}"),
        "jsts_generation": generation(
            "jsts_no_ids",
            "文1：{{ sentence1 }}\n文2：{{ sentence2 }}\n近さ：",
            "{{ label }}",
        ),
        "klue_nli_chat": {
            "class_path": "ChatResponse",
            "init_args": {
                "eval_dataset": dataset(
                    "Chat",
                    "klue-nli",
                    input_template="전제: {{ premise }}\n가설: {{ hypothesis }}\n관계:",
                    reference_template="{{ gold_label }}",
                ),
                "metrics": [{"class_path": "ExactMatch"}],
                "gen_kwargs": {"max_new_tokens": 16},
            },
        },
    }
    five = [f"{{{{ choice{place} }}}}" for place in range(5)]
    tiny = {
        "jnli_choice": choice("jnli", PAIR, WORDS, f"{{{{ {NLI}.index(label) }}}}"),
        "jcommonsenseqa_choice": choice(
            "jcommonsenseqa", "質問：{{ question }}\n答え：", five, "{{ label }}"
        ),
        "ynat_choice": choice(
            "ynat", "제목: {{ title }}\n주제: ", TOPICS, f"{{{{ {TOPICS}.index(label) }}}}"
        ),
    }
    return chat, tiny


def main() -> None:
    """Install flexeval, run it on every set-up, and keep what it wrote under the set-up's name."""
    bin_folder = ensure_environment("flexeval", "torch==2.13.0", f"flexeval=={VERSION}")
    folder = ensure_data_folder("flexeval")
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        for name in DATASETS:
            rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows_of(name)]
            (work / f"{name}.jsonl").write_text("".join(rows))
        texts = [
            {name: row[name] for name in ("sentence1", "sentence2", "label")}
            for row in rows_of("jsts")
        ]
        rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in texts]
        (work / "jsts_no_ids.jsonl").write_text("".join(rows))
        model = work / "model"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(work / "hf"),
            "OPENAI_API_KEY": "none",
            "no_proxy": "127.0.0.1",
        }
        command = [str(bin_folder / "python"), "-m", "tests.interop.make_flexeval", str(model)]
        subprocess.run(command, check=True, cwd=work, env=environment)
        chat, tiny = describe_setups(work)
        with serve_chat(Replies()) as url:
            for setups, language_model in (
                (chat, ["OpenAIChatAPI", "--language_model.model", "scripted"]),
                (tiny, ["HuggingFaceLM", "--language_model.model", str(model)]),
            ):
                command = [str(bin_folder / "flexeval_lm"), "--language_model", *language_model]
                for name, setup in setups.items():
                    (work / f"{name}.jsonnet").write_text(json.dumps(setup, ensure_ascii=False))
                    command += [f"--eval_setups.{name}", str(work / f"{name}.jsonnet")]
                command += ["--save_dir", str(work / "out"), "--force", "true"]
                environment["OPENAI_BASE_URL"] = url
                subprocess.run(command, check=True, cwd=work, env=environment)
        figures = {}
        for name in (*chat, *tiny):
            metrics = json.loads((work / "out" / name / "metrics.json").read_text())
            keys = ("exact_match", "accuracy", "byte_norm_accuracy")
            figures[name] = {key: metrics[key] for key in keys if key in metrics}
            (folder / name).mkdir(exist_ok=True)
            shutil.copy(work / "out" / name / "outputs.jsonl", folder / name / "outputs.jsonl")
        (folder / "figures.json").write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        make_model(Path(sys.argv[1]))
    else:
        main()
