"""Sentence splitting on judged paragraphs: Nikawa against Kiwi, kss and bunkai, one core, one run.

The paragraphs are tests/cases/sentences.jsonl, written for this project. A paragraph counts if all of
its sentences are exactly the judged ones. kss and bunkai are installed in an environment of their
own, in `.interop/`; without a network they are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from nikawa.text import sentences

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "cases" / "sentences.jsonl"
REQUIREMENTS = ("kss==6.0.6", "bunkai==1.5.2", "python-mecab-ko")
OTHERS = {"ja": ("bunkai",), "ko": ("kss mecab", "kss pecab", "kss fast")}
REPEATS = 20
"""Runs over the paragraphs for the splitters that take milliseconds."""


def split_here(texts: list[str], language: str, method: Any, repeats: int) -> dict[str, Any]:
    """The sentences by Nikawa, and the CPU time of one pass."""
    sentences(texts[0], language, method=method)
    began = time.process_time()
    for _ in range(repeats):
        spans = [sentences(text, language, method=method) for text in texts]
    seconds = (time.process_time() - began) / repeats
    parts = [
        [text[s.start : s.end] for s in found] for text, found in zip(texts, spans, strict=True)
    ]
    return {"seconds": seconds, "sentences": parts}


def split_there(texts: list[str], splitter: str, python: Path) -> dict[str, Any]:
    """The same by another tool, in its own environment."""
    done = subprocess.run(
        [str(python), str(Path(__file__).with_name("_splitters.py"))],
        input=json.dumps({"splitter": splitter, "texts": texts}),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def find_python() -> Path | None:
    """The interpreter of the environment with the other tools, made at the first call."""
    from tests.interop.environments import ensure_environment

    try:
        return ensure_environment("splitters", *REQUIREMENTS) / "python"
    except subprocess.CalledProcessError as problem:
        print(f"kss and bunkai are skipped: {problem}", file=sys.stderr)
        return None


def main() -> None:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    python = find_python()
    print(f"{'':<22}{'exact':>12}{'paragraphs/s':>16}{'characters/s':>16}")
    for language in ("ja", "ko"):
        cases = [row for row in rows if row["language"] == language]
        texts = [row["text"] for row in cases]
        answers = {"nikawa": split_here(texts, language, "rules", REPEATS)}
        if language == "ko":
            answers["nikawa, Kiwi"] = split_here(texts, language, "kiwi", 1)
        if python is not None:
            for name in OTHERS[language]:
                answers[name] = split_there(texts, name, python)
        for name, answer in answers.items():
            parts = zip(answer["sentences"], cases, strict=True)
            exact = sum(found == case["sentences"] for found, case in parts)
            speed = len(texts) / answer["seconds"]
            characters = sum(map(len, texts)) / answer["seconds"]
            print(
                f"{language + ' ' + name:<22}{exact:>6} of {len(texts)}{speed:>14,.0f}{characters:>16,.0f}"
            )


if __name__ == "__main__":
    main()
