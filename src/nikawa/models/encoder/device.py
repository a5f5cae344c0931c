"""The device, the precision, and a random state that is restored.

Errors of a device are reported in one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from nikawa.errors import BadInput
from nikawa.io.processes import get_worker_number

GPU_ERROR_WORDS = ("CUDA", "cuda", "cuDNN", "CUDNN", "CUBLAS", "cuBLAS", "NCCL", "NVML")
"""Words by which an error of the GPU or its libraries is recognised."""


class NamesDevice(Protocol):
    """Settings that say where to compute."""

    @property
    def device(self) -> str:
        """`auto`, or a device as torch names it."""
        ...


class DeviceSettings(NamesDevice, Protocol):
    """Settings that say where to compute, and in which precision."""

    @property
    def precision(self) -> str:
        """`auto`, `float32` or `bf16`."""
        ...


def choose_device(settings: NamesDevice) -> Any:
    """The device of the settings; with `auto` the GPU where there is one, else the CPU.

    Where there are several GPUs, each process of a pool takes its own.
    Raises BadInput for a device that does not exist or cannot be used.
    """
    import torch

    if settings.device == "auto":
        if not torch.cuda.is_available():
            return torch.device("cpu")
        worker, count = get_worker_number(), torch.cuda.device_count()
        has_own = worker is not None and count > 1
        return torch.device("cuda", worker % count) if has_own else torch.device("cuda")
    try:
        torch.device(settings.device)
    except RuntimeError:  # torch lists all the devices it knows of
        raise BadInput(
            f"there is no device {settings.device!r}",
            cure="set device=auto, cpu, cuda, or cuda:1 for the second GPU",
        ) from None
    try:
        probe = torch.zeros(1, device=settings.device)
        probe.cpu()  # torch may list a device that cannot hold a tensor
    except (RuntimeError, AssertionError) as problem:
        raise BadInput(
            f"the device {settings.device} cannot be used: {str(problem).splitlines()[0]}",
            cure="set device=auto",
        ) from None
    return probe.device


def uses_bf16(settings: DeviceSettings, device: Any) -> bool:
    """Whether to compute in bf16."""
    return settings.precision == "bf16" or (settings.precision == "auto" and device.type == "cuda")


@contextmanager
def seed_torch(seed: int) -> Iterator[None]:
    """Seed torch inside the block, and restore the caller's random state afterwards."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def report_device_errors(settings: Any) -> Iterator[None]:
    """Turn errors of a full memory or a failing GPU into a BadInput of one line."""
    import torch

    batch = getattr(settings, "batch", None)
    smaller = f"a smaller batch (now {batch}) with a larger accumulate, or " if batch else ""
    cure = f"set {smaller}a smaller max_length"
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        raise BadInput("the GPU is out of memory", cure=cure) from None
    except MemoryError:
        raise BadInput("the machine is out of memory", cure=cure) from None
    except RuntimeError as problem:
        if "can't allocate memory" in str(problem):
            raise BadInput("the machine is out of memory", cure=cure) from None
        if not any(word in str(problem) for word in GPU_ERROR_WORDS):
            raise
        first = str(problem).splitlines()[0]
        raise BadInput(
            f"the GPU failed: {first}",
            cure="run the same command again: it resumes where it stopped",
        ) from None
