"""An extension of the reader of docstrings: their examples become code blocks."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import griffe

_SPEC = importlib.util.spec_from_file_location("hooks", Path(__file__).with_name("hooks.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
_HOOKS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_HOOKS)


class FenceExamples(griffe.Extension):
    """Writes the `>>>` examples of every docstring as code blocks."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called once for each module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = _HOOKS.fence_examples(obj.docstring.value)
