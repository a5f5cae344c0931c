"""Run every comparison in this folder: `make bench`, or `python -m bench NAME…`.

Of the waits only the starts of the commands are measured here: all parts take most of an hour (`python -m bench.waits`).
A comparison that fails does not stop the others; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

ALONE = {
    "encoder": "trains an encoder of the size of BERT-base: python -m bench.encoder --data DIR, on a machine with a GPU",
    "lm": "needs arguments: python -m bench.lm --data DIR --text FILE --out DIR",
}
"""What is started by its own command only, with the reason and the command."""


def list_names() -> list[str]:
    """The comparisons in this folder."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return [module.name for module in found if not module.name.startswith("_")]


def run_all(names: Sequence[str]) -> list[str]:
    """Run comparisons one after the other; return the names of those that failed."""
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if name in ALONE:
            print(f"left out: {ALONE[name]}")
            continue
        try:
            run = import_module(f"bench.{name}").main
            run(["starts"]) if name == "waits" else run()
        except (Exception, SystemExit) as problem:
            if isinstance(problem, SystemExit) and not problem.code:
                continue
            traceback.print_exc()
            failed.append(name)
    return failed


def main(words: Sequence[str] | None = None) -> int:
    names = list_names()
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Run comparisons: all of them, or those named."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    chosen = parser.parse_args(words).names
    unknown = [name for name in chosen if name not in names]
    if unknown:
        parser.error(f"no comparison is called {unknown[0]}; there are {', '.join(names)}")
    sys.argv[1:] = []  # the names are not arguments of the comparisons
    failed = run_all(chosen or names)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
