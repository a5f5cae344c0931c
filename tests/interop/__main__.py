"""Make the files of other tools again: all of them, or those of the tools that are named.

python -m tests.interop [inspect lm_eval …]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the modules one after the other, each in a process of its own; 1 where one of them fails."""
    modules = sorted(Path(__file__).parent.glob("make_*.py"))
    names = sys.argv[1:] or [module.stem.removeprefix("make_") for module in modules]
    failed = []
    for name in names:
        sys.stdout.write(f"{name} …\n")
        sys.stdout.flush()
        done = subprocess.run(
            [sys.executable, "-m", f"tests.interop.make_{name}"], check=False
        ).returncode
        if done:
            failed.append(name)
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
