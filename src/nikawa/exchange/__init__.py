"""Hand a dataset to the tools that people run models with: lm-eval, flexeval, inspect, lighteval, llm-jp-eval.

`describe.py` turns a task and its examples into a description without reference to any tool. One file per tool in `tools/` writes
it in the tool's own form. `scoring.py` reads replies and computes the official metrics inside the tool.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from nikawa.registry import Registry, collect_plugins

if TYPE_CHECKING:
    from nikawa.exchange.base import Tool


@cache
def export_tools() -> Registry[Tool]:
    """The tools that Nikawa can export to, by name."""
    import nikawa.exchange.tools as package
    from nikawa.exchange.base import Tool

    table: Registry[Tool] = Registry("export format")
    for tool in collect_plugins(Tool, "TOOL", "nikawa.export_tools", package):
        table.add(tool.name, tool)
    return table
