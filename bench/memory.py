"""Peak memory of streaming a long JSON-lines file with its ids checked. `NIKAWA_BENCH_MB` sets its size (default 300)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = """
import resource, sys
from pathlib import Path
from nikawa.io.records import read_examples
n = sum(1 for _ in read_examples(Path(sys.argv[1])))
print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def main() -> None:
    size = int(os.environ.get("NIKAWA_BENCH_MB", "300"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        with path.open("w", encoding="utf-8") as out:
            number = 0
            while out.tell() < size * 1_000_000:
                out.writelines(
                    f'{{"id":"{i}","inputs":{{"premise":"駅の前に{i}番の店がある。","hypothesis":"店がある。"}},'
                    f'"gold":{{"label":"entailment"}},"meta":{{"source":"bench"}}}}\n'
                    for i in range(number, number + 10_000)
                )
                number += 10_000
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
        )
        examples, peak = done.stdout.split()
        rate = path.stat().st_size / 1e6 / (time.perf_counter() - start)
        print(
            f"{path.stat().st_size / 1e6:,.0f} MB, {int(examples):,} examples: peak {peak} MB, {rate:.0f} MB/s"
        )
