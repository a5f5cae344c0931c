"""Memory that is freed goes back to the system."""

from __future__ import annotations

import sys
from contextlib import suppress
from ctypes import CDLL

LARGE_BYTES = 7 << 20
"""A block of resamples is smaller and is made again and again; a column of a million items is larger."""
MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


def return_large_arrays() -> None:
    """From now on, give every large array and list back to the system when it is freed.

    By default glibc raises the size from which it does so up to 32 MB, and columns of a million items leave holes that nothing
    else fits into. It holds for the whole process, so commands call it and functions do not. Without glibc nothing happens.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            CDLL(None).mallopt(MMAP_THRESHOLD, LARGE_BYTES)
