"""What a dashboard shows that other stages compute, by name: given to the server, which knows no other stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nikawa.collect.gate import gate
from nikawa.collect.judged import judged
from nikawa.collect.project import Project
from nikawa.collect.store import Store

ANALYSES: Mapping[str, Callable[[Project, Store], Any]] = {"judged": judged, "gate": gate}
"""Name to a function of project and store; its result must be JSON."""
