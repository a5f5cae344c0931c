"""inspect 0.3.285: logs with ids and without, of `generate()` and of `multiple_choice()`, in both formats.

The model is a provider of its own that answers from a list: inspect's own mock model counts tokens with
tables that it fetches from the network. Everything else is inspect: data sets, solvers, scorers, logs.
`figures.json` keeps the accuracy that inspect computed for each log.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.interop.environments import FOLDER, ROOT, ensure_data_folder, ensure_environment
from tests.interop.log_items import rows_of

VERSION = "0.3.285"
REQUIREMENTS = (f"inspect_ai=={VERSION}", "openai")
"""What runs of inspect need here; openai is the client of the chat server."""
WORDS_JA = {"entailment": "含意", "contradiction": "矛盾", "neutral": "中立"}
WORDS_KO = {"entailment": "함의", "contradiction": "모순", "neutral": "중립"}
TOPICS = ["정치", "경제", "사회", "생활문화", "세계", "IT과학", "스포츠"]
Reply = Callable[[str], str]


def choose_letter(text: str) -> Reply:
    """A reply to a prompt of `multiple_choice()`: the letter beside `text`, whatever the order shown."""

    def reply(prompt: str) -> str:
        letters = re.findall(rf"^([A-Z])\) {re.escape(text)}$", prompt, re.MULTILINE)
        return f"選択肢を順に見る。\n\nANSWER: {letters[-1]}"

    return reply


def reply_text(text: str) -> Reply:
    """The same reply to every prompt."""
    return lambda prompt: text


def make_logs(out: Path) -> None:
    """Run every evaluation; called inside inspect's environment."""
    from inspect_ai import Task  # type: ignore[import-not-found]
    from inspect_ai import eval as run_eval
    from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
    from inspect_ai.model import (  # type: ignore[import-not-found]
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        ModelAPI,
        ModelOutput,
        modelapi,
    )
    from inspect_ai.scorer import choice, exact, match  # type: ignore[import-not-found]
    from inspect_ai.solver import generate, multiple_choice  # type: ignore[import-not-found]

    replies: Iterator[Reply] = iter(())
    by_content: dict[str, tuple[float, str]] = {}

    class Scripted(ModelAPI):  # type: ignore[misc]
        """Answers the next reply; with `by_content`, the one whose key the prompt holds, after a while."""

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            prompt = input[-1].text
            for key, (seconds, text) in by_content.items():
                if key in prompt:
                    await asyncio.sleep(seconds)
                    return ModelOutput.from_content("scripted", choose_letter(text)(prompt))
            return ModelOutput.from_content("scripted", next(replies)(prompt))

    modelapi(name="scripted")(lambda: Scripted)
    figures: dict[str, float] = {}

    def evaluate(name: str, dataset: Any, solver: Any, scorer: Any, **more: Any) -> None:
        is_json = name.endswith(".json")
        (log,) = run_eval(
            Task(dataset=dataset, solver=solver, scorer=scorer, name=name.partition(".")[0]),
            model="scripted/model",
            log_dir=str(out / "logs"),
            log_format="json" if is_json else "eval",
            display="none",
            **{"max_samples": 1, **more},
        )
        assert log.status == "success", log.error
        shutil.copy(log.location.removeprefix("file://"), out / name)
        metrics = log.results.scores[0].metrics
        figures[name] = next(m.value for n, m in metrics.items() if n in ("accuracy", "mean"))

    jnli = rows_of("jnli")
    right = [row["label"] for row in jnli]
    answered = [*right]
    answered[1], answered[5], answered[7] = "contradiction", "contradiction", "entailment"
    pair = "前提：{sentence1}\n仮説：{sentence2}\n前提と仮説の関係を、含意・矛盾・中立のどれか一語で答えてください。"

    replies = iter([reply_text(WORDS_JA[label]) for label in answered])
    samples = [Sample(input=pair.format(**row), target=WORDS_JA[row["label"]]) for row in jnli]
    evaluate("jnli_generate.eval", MemoryDataset(samples), generate(), exact())

    plain = "前提：{sentence1}\n仮説：{sentence2}"
    words = list(WORDS_JA.values())

    def choose_among(order: list[str]) -> list[Any]:
        return [
            Sample(
                input=plain.format(**row),
                choices=[*order],
                target="ABC"[order.index(WORDS_JA[row["label"]])],
            )
            for row in jnli
        ]

    replies = iter([choose_letter(WORDS_JA[label]) for label in answered])
    samples = choose_among(["中立", "含意", "矛盾"])
    evaluate("jnli_choice.eval", MemoryDataset(samples), multiple_choice(), choice())

    shuffled = MemoryDataset(choose_among(words))
    shuffled.shuffle_choices(seed=5)
    replies = iter([choose_letter(WORDS_JA[label]) for label in answered])
    evaluate("jnli_shuffled_choices.json", shuffled, multiple_choice(), choice())

    # shuffled by the solver, which is an older way: its log looks as if it were not
    replies = iter([choose_letter(WORDS_JA[label]) for label in answered])
    solver = multiple_choice(shuffle=random.Random(2))
    evaluate("jnli_solver_shuffle.eval", MemoryDataset(choose_among(words)), solver, choice())

    # its ids, and everything that is published of an item, in the metadata; samples in another order
    samples = [
        Sample(
            id=row["sentence_pair_id"],
            input=[
                ChatMessageSystem(content="一語で答えます。"),
                ChatMessageUser(content=pair.format(**row)),
            ],
            target=WORDS_JA[row["label"]],
            metadata=row,
        )
        for row in jnli
    ]
    order = list(range(len(jnli)))
    random.Random(3).shuffle(order)
    replies = iter([reply_text(WORDS_JA[answered[place]]) for place in order])
    dataset = MemoryDataset([samples[place] for place in order])
    evaluate("jnli_ids.json", dataset, generate(), exact())

    # hypothesis first, and examples of the same set before it
    reverse = "「{sentence2}」は「{sentence1}」から言えますか。"
    shots = []
    for row in jnli[8:]:
        shots.append(ChatMessageUser(content=reverse.format(**row)))
        shots.append(ChatMessageAssistant(content=WORDS_JA[row["label"]]))
    samples = [
        Sample(
            input=[*shots, ChatMessageUser(content=reverse.format(**row))],
            target=WORDS_JA[row["label"]],
        )
        for row in jnli
    ]
    replies = iter([reply_text(WORDS_JA[label]) for label in answered])
    evaluate("jnli_few_shot.eval", MemoryDataset(samples), generate(), exact())

    # two items of the same texts, of which one was left out: nothing tells which
    kept = [0, 2, 5, 8, 9]
    samples = [Sample(input=plain.format(**jnli[place]), target="x") for place in kept]
    replies = iter([reply_text(WORDS_JA[answered[place]]) for place in kept])
    evaluate("jnli_unclear.eval", MemoryDataset(samples), generate(), exact())

    jsts = rows_of("jsts")
    similar = "文1：{sentence1}\n文2：{sentence2}\n意味の近さを0から5の数で答えてください。"
    samples = [Sample(input=similar.format(**row), target=str(row["label"])) for row in jsts]
    replies = iter([reply_text(text) for text in ("4.2", "0.8", "4.0", "1.5", "4.6", "1.0")])
    evaluate("jsts_generate.eval", MemoryDataset(samples), generate(), match(numeric=True))

    # answered at once, so that the last sample is logged first
    korean = rows_of("klue-nli")
    samples = [
        Sample(
            input="전제: {premise}\n가설: {hypothesis}".format(**row),
            choices=list(WORDS_KO.values()),
            target="ABC"[list(WORDS_KO).index(row["gold_label"])],
        )
        for row in korean
    ]
    for place, row in enumerate(korean):
        label = "neutral" if place == 1 else row["gold_label"]
        by_content[row["hypothesis"]] = (0.2 * (len(korean) - place), WORDS_KO[label])
    evaluate(
        "klue_nli_choice.eval", MemoryDataset(samples), multiple_choice(), choice(), max_samples=8
    )
    by_content.clear()

    topics = rows_of("ynat")
    samples = [
        Sample(input=row["title"], choices=TOPICS, target="ABCDEFG"[TOPICS.index(row["label"])])
        for row in topics
    ]
    replies = iter([choose_letter(text) for text in ("사회", "경제", "생활문화", "IT과학")])
    evaluate("ynat_choice.eval", MemoryDataset(samples), multiple_choice(), choice())

    questions = rows_of("jcommonsenseqa")
    choices = [[row[f"choice{place}"] for place in range(5)] for row in questions]
    samples = [
        Sample(input=row["question"], choices=choices[i], target="ABCDE"[row["label"]])
        for i, row in enumerate(questions)
    ]
    dataset = MemoryDataset(samples)
    dataset.shuffle_choices(seed=7)
    replies = iter([choose_letter(text) for text in ("綱", "傘", "橋", "鶏")])
    evaluate("jcommonsenseqa_shuffled.eval", dataset, multiple_choice(), choice())

    # the passage without its title, and without ids
    samples = [
        Sample(
            input=f"次の文章を読んで答えてください。\n{row['context'].partition(' [SEP] ')[2]}\n問：{row['question']}",
            target=row["answers"][0]["text"],
        )
        for row in rows_of("jsquad")
    ]
    replies = iter([reply_text(text) for text in ("北の岬", "白", "五日", "魚")])
    evaluate("jsquad_generate.eval", MemoryDataset(samples), generate(), exact())

    text = json.dumps(figures, indent=1, ensure_ascii=False, sort_keys=True)
    (out / "figures.json").write_text(text + "\n")


def main() -> None:
    """Install inspect, run it, and keep its logs without what machines and runs differ in."""
    folder = ensure_data_folder("inspect")
    python = ensure_environment("inspect", *REQUIREMENTS) / "python"
    out = FOLDER / "inspect_out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    command = [str(python), "-m", "tests.interop.make_inspect", str(out)]
    # outside the checkout: inspect logs the commit of the folder it is run in
    environment = {**os.environ, "INSPECT_LOG_LEVEL": "warning", "PYTHONPATH": str(ROOT)}
    with TemporaryDirectory() as work:
        subprocess.run(command, check=True, cwd=work, env=environment)
    for file in out.iterdir():
        if file.suffix == ".eval":
            shutil.copy(file, folder / file.name)
        elif file.suffix == ".json":
            document = json.loads(file.read_text())
            for sample in document.get("samples", ()):  # most of the file, and not read by anyone
                for name in ("events", "events_data", "attachments"):
                    sample.pop(name, None)
            text = json.dumps(document, ensure_ascii=False, indent=1)
            (folder / file.name).write_text(text + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        make_logs(Path(sys.argv[1]))
    else:
        main()
