"""Where to compute and how exactly; randomness that is put back; a device that fails, told in one line."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Protocol

from nikawa.errors import BadInput

OF_CARDS = ("CUDA", "cuda", "cuDNN", "CUDNN", "CUBLAS", "cuBLAS", "NCCL", "NVML")
"""Words by which an error of the graphics card or its libraries is known."""


class Placed(Protocol):
    """Settings that say where to compute, and how exactly."""

    @property
    def device(self) -> str:
        """`auto`, or a device as torch names it."""
        ...

    @property
    def precision(self) -> str:
        """`auto`, `float32` or `bf16`."""
        ...


def device_of(settings: Placed) -> Any:
    """The card where there is one, else the processor."""
    import torch

    if settings.device != "auto":
        _spelled(settings.device)
        try:
            tried = torch.zeros(1, device=settings.device)
            tried.cpu()  # a device may be known and hold nothing
        except (RuntimeError, AssertionError) as problem:
            raise BadInput(
                f"the device {settings.device} cannot be used: {str(problem).splitlines()[0]}",
                cure="set device=auto",
            ) from None
        return tried.device
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _spelled(name: str) -> None:
    """Refuse a word that names no device in fewer words than torch does."""
    import torch

    try:
        torch.device(name)
    except RuntimeError:
        raise BadInput(
            f"there is no device {name!r}",
            cure="set device=auto, cpu, cuda, or cuda:1 for the second card",
        ) from None


def is_low(settings: Placed, device: Any) -> bool:
    """Whether to compute in bf16."""
    return settings.precision == "bf16" or (settings.precision == "auto" and device.type == "cuda")


@contextmanager
def seeded(seed: int) -> Any:
    """Dropout by this seed, and the caller's randomness untouched."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def one_line(settings: Any) -> Any:
    """A card that is full or gone is told in one line."""
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError:
        raise _full("the graphics card is out of memory", settings) from None
    except MemoryError:
        raise _full("the memory is full", settings) from None
    except RuntimeError as problem:
        if "can't allocate memory" in str(problem):
            raise _full("the memory is full", settings) from None
        if not any(word in str(problem) for word in OF_CARDS):
            raise
        first = str(problem).splitlines()[0]
        raise BadInput(
            f"the graphics card failed: {first}",
            cure="run the same command again: it goes on where it stopped",
        ) from None


def _full(what: str, settings: Any) -> BadInput:
    batch = getattr(settings, "batch", None)
    first = f"a smaller batch (now {batch}) with accumulate to match, or " if batch else ""
    cure = f"set {first}a smaller max_length"
    return BadInput(what, cure=cure)
