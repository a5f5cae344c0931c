"""Where the kernels of fine-tuning can run: on a GPU, or in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

HAS_TRITON = find_spec("triton") is not None
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not IS_INTERPRETED else "cpu"
NO_KERNELS = not HAS_TRITON or (DEVICE == "cpu" and not IS_INTERPRETED)

direct = pytest.mark.skipif(
    NO_KERNELS, reason="kernels need a GPU, or Triton's interpreter (pip install triton)"
)
in_a_process = pytest.mark.skipif(
    not NO_KERNELS or not HAS_TRITON, reason="they run in this process, or nowhere"
)


def run_interpreted(file: str) -> None:
    """Run a file's tests in a process with Triton's interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
