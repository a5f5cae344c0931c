"""The device a training runs on: which, how exactly, how fast at most, and the error when it fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nikawa.errors import BadInput, missing_extra
from nikawa.pretrain.settings import TrainSettings

PEAK_OPERATIONS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L40": 181e12}
"""Dense bf16 operations a second by the makers' sheets, by a word of the GPU's name."""


def find_device(name: str) -> Any:
    """The device of this name; `auto`: the GPU where there is one."""
    try:
        import torch
    except ImportError:
        raise missing_extra("the package 'torch'", "encoder") from None
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as problem:
        first = str(problem).strip().splitlines()[0]
        # that message lists all devices that torch knows
        why = "" if first.startswith("Expected one of") else f": {first}"
        cure = "pass --device auto, cpu or cuda"
        raise BadInput(f"there is no device {name!r} to train on{why}", cure=cure) from None


def uses_bf16(precision: str, device: Any) -> bool:
    """Whether products are taken in bf16."""
    if precision == "auto":
        return bool(device.type == "cuda")
    return precision == "bf16"


def find_peak(device: Any) -> float | None:
    """The most operations a second, where it is known."""
    if device.type != "cuda":
        return None
    import torch

    name = torch.cuda.get_device_name(device)
    return next((peak for word, peak in PEAK_OPERATIONS.items() if word in name), None)


@contextmanager
def use_repeatable_kernels(enabled: bool) -> Iterator[None]:
    """Use only deterministic kernels, and restore the previous setting afterwards."""
    if not enabled:
        yield
        return
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    only_warned = torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    # nothing is read before it is written
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=only_warned)
        torch.utils.deterministic.fill_uninitialized_memory = filled


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Use so many CPU threads, or torch's default.

    The former number is restored afterwards.
    """
    if not threads:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def explain_failures(settings: TrainSettings) -> Iterator[None]:
    """Report memory that runs out and a GPU that fails in one line."""
    import torch

    smaller = f"choose a smaller batch than {settings.batch:,} tokens, or a smaller --size"
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        raise BadInput("the GPU is out of memory", cure=smaller) from None
    except MemoryError:
        raise BadInput("the machine is out of memory", cure=smaller) from None
    except RuntimeError as problem:
        first = str(problem).strip().splitlines()[0]
        if "allocate memory" in first:
            raise BadInput("the machine is out of memory", cure=smaller) from None
        if "cuda" not in first.lower():
            raise
        cure = "run the same command again: it resumes from the last state"
        raise BadInput(f"the GPU failed: {first}", cure=cure) from None
