"""The versions of what a result may depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

NAMES = (
    "nikawa",
    "numpy",
    "scipy",
    "scikit-learn",
    "python-crfsuite",
    "torch",
    "transformers",
    "tokenizers",
    "peft",
    "httpx",
    "fugashi",
    "ipadic",
    "kiwipiepy",
)


@cache
def packages() -> dict[str, str]:
    """Package to version, of those that are installed."""
    found = {}
    for name in NAMES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def python() -> str:
    """The interpreter, and the kind of machine without its name."""
    return f"{platform.python_implementation()} {platform.python_version()} {platform.system()} {platform.machine()}"
