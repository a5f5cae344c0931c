"""What is in a file of tensors (safetensors), without any library of models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

Places = dict[str, tuple[int, int]]


def places(raw: bytes | bytearray) -> Places:
    """Where the numbers of each tensor of 32 bits begin and end."""
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + size])
    found: Places = {}
    for name, entry in head.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            found[name] = (8 + size + begin, 8 + size + end)
    return found


def sizes(path: Path) -> dict[str, float]:
    """The mean size of the numbers of each tensor."""
    raw = path.read_bytes()
    return {
        name: float(np.abs(np.frombuffer(raw[begin:end], "<f4")).mean())
        for name, (begin, end) in places(raw).items()
    }


def repeat(path: Path, period: int) -> None:
    """Keep the first numbers of each tensor and say them over and over; the head of the file stays as it is."""
    raw = bytearray(path.read_bytes())
    for begin, end in places(raw).values():
        values = np.frombuffer(bytes(raw[begin:end]), "<f4")
        raw[begin:end] = np.resize(values[:period], values.size).astype("<f4").tobytes()
    path.write_bytes(bytes(raw))
