"""Run every comparison in this folder: `make bench`, or `python -m bench NAME…`."""

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
        import_module(f"bench.{name}").main()


main()
