"""Long files: flat memory, and repeated ids found all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from nikawa.errors import BadInput
from nikawa.io import records as io_records
from nikawa.io import records as unique
from nikawa.io.records import IdSet, read_examples

READ = """
import resource, sys
from pathlib import Path
from nikawa.io.records import read_examples
count = sum(1 for _ in read_examples(Path(sys.argv[1])))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

SIP = """
import resource, sys
from pathlib import Path
from nikawa.io.lines import open_bytes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_bytes(Path(sys.argv[1])) as stream:
    count = sum(map(len, stream))
print(count, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_long(path: Path, megabytes: int) -> int:
    """About `megabytes` of invented pairs with ids of their own; returns how many."""
    count = megabytes * 1_000_000 // 200
    with path.open("wb") as stream:
        for number in range(count):
            pair = f'{{"id":"{number:09}","inputs":{{"premise":"第{number:09}の橋は朝の駅の前にあり、青く塗られている。","hypothesis":"橋は駅の前にある。"}}}}\n'
            stream.write(pair.encode())
    return count


def peak(path: Path) -> tuple[int, float]:
    """Examples read and the megabytes a process of its own took for it."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True
    )
    count, kilobytes = map(int, done.stdout.split())
    return count, kilobytes / 1000


@pytest.mark.slow
def test_memory_stays_flat(tmp_path: Path) -> None:
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    counts = write_long(small, 10), write_long(large, 60)
    (few, low), (many, high) = peak(small), peak(large)
    assert (few, many) == counts
    grown = (many - few) * 8 / 1e6
    assert high - low < 4 * grown + 5, "more than the hashes of the ids stays in memory"


@pytest.mark.slow
def test_well_packed_data_is_taken_in_sips(tmp_path: Path) -> None:
    """The same line again and again packs ten thousandfold: memory must not follow what it unpacks to."""
    path, line = (
        tmp_path / "x.jsonl.zst",
        b'{"example":"1","worker":"w","question":"q","answer":"x"}\n',
    )
    with path.open("wb") as raw, zstandard.ZstdCompressor(level=19).stream_writer(raw) as stream:
        for _ in range(100):
            stream.write(line * 16_000)
    assert path.stat().st_size < 20_000
    done = subprocess.run(
        [sys.executable, "-c", SIP, str(path)], check=True, capture_output=True, text=True
    )
    count, before, after = map(int, done.stdout.split())
    assert count == 1_600_000 * len(line)
    assert after - before < 40_000, "kilobytes beyond what a reader of nothing takes"


def numbered(*ids: int) -> bytes:
    return b"".join(b'{"id":"%d","inputs":{"text":"x"}}\n' % number for number in ids)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(io_records, "IdSet", lambda: IdSet(block=8))


@pytest.mark.parametrize("first", [0, 5, 31, 90])
@pytest.mark.usefixtures("small_blocks")
def test_repeat_far_apart_names_both_lines(tmp_path: Path, first: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(numbered(*range(100), first))
    with pytest.raises(
        BadInput, match=f"line 101: the id '{first}' is already on line {first + 1}"
    ):
        list(read_examples(path))


@pytest.mark.usefixtures("small_blocks")
def test_equal_hashes_of_different_ids_are_no_repeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unique, "hash", lambda name: int(name) % 16, raising=False)
    path = tmp_path / "x.jsonl"
    path.write_bytes(numbered(*range(100)))
    assert len(list(read_examples(path))) == 100
    path.write_bytes(numbered(*range(100), 3))
    with pytest.raises(BadInput, match="line 101: the id '3' is already on line 4"):
        list(read_examples(path))


def test_ids_across_many_merges() -> None:
    ids = IdSet(block=4)
    suspects: list[tuple[str, int]] = []
    for place, name in enumerate([*map(str, range(1000)), "17", "998"], start=1):
        ids.block[name] = place
        if len(ids.block) >= ids.size:
            suspects += ids.close_block()
    suspects += ids.close_block()
    assert suspects == [("17", 1001), ("998", 1002)]
