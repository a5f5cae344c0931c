"""Splits paragraphs with kss or bunkai; `bench.sentences` runs it in an environment that has them.

Reads JSON from standard input and prints the sentences of each paragraph with the CPU time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def load(name: str) -> Callable[[str], list[str]]:
    """The splitter called `name`: `bunkai`, or `kss` with the name of a backend."""
    if name == "bunkai":
        from bunkai import Bunkai  # type: ignore[import-not-found]

        split_line = Bunkai()
        # Bunkai takes one line at a time; a line break ends a sentence in the cases.
        return lambda text: [
            sentence.strip()
            for line in text.split("\n")
            for sentence in split_line(line)
            if sentence.strip()
        ]
    from kss import Kss  # type: ignore[import-not-found]

    split: Any = Kss("split_sentences")
    backend = name.partition(" ")[2]
    return lambda text: list(split(text, backend=backend, num_workers=1))


def main() -> None:
    request = json.load(sys.stdin)
    split = load(request["splitter"])
    split(request["texts"][0])  # loads the model
    began = time.process_time()
    parts = [split(text) for text in request["texts"]]
    print(json.dumps({"seconds": time.process_time() - began, "sentences": parts}))


if __name__ == "__main__":
    main()
