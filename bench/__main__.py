"""Run every comparison in this folder: `make bench`, or `python -m bench NAME…`.

Of the waits only the starts of the commands are measured here: all parts take most of an hour (`python -m bench.waits`).
"""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    names = [
        m.name
        for m in pkgutil.iter_modules([str(Path(__file__).parent)])
        if not m.name.startswith("_")
    ]
    for name in sys.argv[1:] or names:
        print(f"\n== {name}")
        run = import_module(f"bench.{name}").main
        run(["starts"]) if name == "waits" else run()


main()
