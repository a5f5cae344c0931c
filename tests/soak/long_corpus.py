"""A corpus of 10 GB streams under the default limits, through a pipe and from a packed file.

    python -m tests.soak.long_corpus --gigabytes 10

The text is made as it is read, so that nothing of it is stored, but for what a pipe holds on disk
while the command runs. Each reader must count all lines and stay under 300 MB of memory.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from zstandard import ZstdCompressor

MAX_BYTES = 300 * 10**6
BLOCK_LINES = 10_000
COUNT = """
import re, sys
from pathlib import Path
from nikawa.io.records import read_examples
count = sum(1 for _ in read_examples(Path(sys.argv[1])))
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(count, int(peak) * 1024)
"""
MAKE = """
import sys
from tests.soak.long_corpus import make_blocks
for block in make_blocks(int(sys.argv[1])):
    sys.stdout.buffer.write(block)
"""


def make_blocks(size: int) -> Iterator[bytes]:
    """Blocks of JSON lines, every id its own, until there are `size` bytes."""
    line = '{"id":"%d-%d","inputs":{"text":"古い橋のそばに小さな店が一軒あったそうだ。%s"}}\n'
    words = ["雨" * (17 * number % 900) for number in range(BLOCK_LINES)]
    rows = "".join(line.replace("%d-", "@-") % (at, word) for at, word in enumerate(words))
    number = done = 0
    while done < size:
        block = rows.replace("@", str(number)).encode()
        number, done = number + 1, done + len(block)
        yield block


def report(name: str, counted: str, lines: int, began: float) -> bool:
    """Print how a reader fared; whether it was well."""
    count, peak = map(int, re.findall(r"\d+", counted)[:2])
    is_well = count == lines and peak < MAX_BYTES
    seconds = time.monotonic() - began
    figures = f"{count:,} of {lines:,} lines, {peak / 10**6:.0f} MB, {seconds:.0f} s"
    sys.stdout.write(f"{name}: {figures}\n")
    sys.stdout.flush()
    return is_well


def main() -> int:
    """Read the corpus in both ways; 1 where one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10)
    size = int(parser.parse_args().gigabytes * 10**9)
    lines = BLOCK_LINES * sum(1 for _ in make_blocks(size))
    count = [sys.executable, "-c", COUNT]
    began = time.monotonic()
    maker = subprocess.Popen([sys.executable, "-c", MAKE, str(size)], stdout=subprocess.PIPE)
    done = subprocess.run(
        [*count, "/dev/stdin"], stdin=maker.stdout, capture_output=True, text=True, check=False
    )
    if maker.stdout is not None:
        maker.stdout.close()
    maker.wait()
    if done.returncode:
        sys.stderr.write(done.stderr)
        return 1
    results = [report("a pipe", done.stdout, lines, began)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl.zst"
        began = time.monotonic()
        with path.open("wb") as raw, ZstdCompressor().stream_writer(raw) as packed:
            # a part that does not pack, so that the whole packs as text does, not as a bomb
            for block in make_blocks(size):
                noise = os.urandom(len(block) // 300).hex().encode()
                packed.write(block.replace(b'"}}', b'","more":"' + noise + b'"}}', 1))
        done = subprocess.run([*count, path], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.stderr.write(done.stderr)
            return 1
        results.append(report("a packed file", done.stdout, lines, began))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
