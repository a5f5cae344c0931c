"""Answers of invented systems to the published tasks that score.md, answers.md and stress.md name."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from nikawa.datasets import load, load_task
from nikawa.io.records import write_records
from nikawa.records import Example


def published() -> Path:
    """The folder of the published data: `NIKAWA_DATA`."""
    return Path(os.environ["NIKAWA_DATA"])


def answer_task(task: str, split: str, seed: int = 0) -> dict[str, Any]:
    """Gold of every item, and another item's gold for three in ten; ids in the order of the data."""
    about, examples = load_task(task, split, data=published())
    draw = Random(f"{task} {seed}")
    gold = [_tell(example, about.question) for example in examples]
    return {
        example.id: draw.choice(gold) if draw.random() < 0.3 else own
        for example, own in zip(examples, gold, strict=True)
    }


def _tell(example: Example, question: str) -> Any:
    """Gold as a system gives it: of answers in a text, the first."""
    gold = example.gold[question]
    if question == "answers":
        return gold[0]["text"] if gold else ""
    if question == "spans":
        return [{"start": s.start, "end": s.end, "label": s.label} for s in gold]
    return gold


def write_answers(path: Path, task: str, split: str, seed: int = 0) -> None:
    """A file of answers: JSON lines, an object of ids, or a table, as its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    answers = answer_task(task, split, seed)
    if path.suffix == ".json":
        text = json.dumps(answers, ensure_ascii=False)
    elif path.suffix == ".tsv":
        text = "".join(f"{id}\t{answer}\n" for id, answer in {"id": "answer", **answers}.items())
    else:
        rows = [{"id": id, "answer": answer} for id, answer in answers.items()]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, "utf-8")


def write_of(task: str, split: str, *names: str, folder: str = "") -> Callable[[Path], None]:
    """A preparation that writes a file of each name."""

    def write(place: Path) -> None:
        for seed, name in enumerate(names):
            write_answers(place / folder / name, task, split, seed)

    return write


def write_reasons(folder: Path) -> None:
    """Replies with a conclusion to JCommonsenseQA."""
    answers = answer_task("jcommonsenseqa", "dev")
    rows = [{"id": id, "answer": f"順に考える。\n結論 {a}"} for id, a in answers.items()]
    (folder / "cot.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_logs(folder: Path) -> None:
    """Answers to JNLI as lm-eval and Inspect log them."""
    words = {"entailment": "含意", "contradiction": "矛盾", "neutral": "中立"}
    answers = answer_task("jnli", "dev")
    rows = [
        {"doc_id": n, "doc": {"id": id}, "filtered_resps": [words[a]], "filter": "strict-match"}
        for n, (id, a) in enumerate(answers.items())
    ]
    (folder / "samples_jnli.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf-8"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        head = {"version": 2, "status": "success", "eval": {"task": "jnli"}}
        packed.writestr("header.json", json.dumps(head))
        for id, answer in answers.items():
            row = {"id": id, "epoch": 1, "input": "x", "output": {"completion": words[answer]}}
            packed.writestr(f"samples/{id}_epoch_1.json", json.dumps(row))
    (folder / "jnli.eval").write_bytes(stream.getvalue())


def write_systems(folder: Path) -> None:
    """Two systems that answered two tasks."""
    for seed, name in enumerate("ab"):
        for task in ("jnli", "jsts"):
            write_answers(folder / "systems" / name / f"{task}.jsonl", task, "dev", seed)


def write_entities(folder: Path) -> None:
    """A folder of answers to KLUE-NER."""
    write_answers(folder / "answers" / "klue-ner.jsonl", "klue-ner", "dev")


def write_stress(folder: Path) -> None:
    """Answers to the test of JSICK and to its stress sets."""
    for kind, tops in (
        ("nli", ("test", "jsick-answers")),
        ("sts", ("test-scores", "jsick-scores")),
    ):
        write_answers(folder / f"{tops[0]}.jsonl", f"jsick-{kind}", "test")
        for name in load("jsick-stress", data=published()).splits:
            write_answers(folder / tops[1] / f"{name}.jsonl", f"jsick-stress-{kind}", name)


def copy_old_version(folder: Path) -> None:
    """The file of JSTS 1.3 at the path that data.md names."""
    (found, *_) = sorted(published().rglob("jsts*/valid-v1.3.json"))
    path = folder / "path" / "to" / found.name
    path.parent.mkdir(parents=True)
    path.write_bytes(found.read_bytes())


def write_first_pairs(folder: Path) -> None:
    """The first 400 pairs of KLUE-NLI dev, as klue-nli.jsonl."""
    examples = load("klue-nli:dev", data=published()).splits["dev"][:400]
    write_records(folder / "klue-nli.jsonl", list(examples))
