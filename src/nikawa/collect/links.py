"""Workers by name, and the links that are theirs."""

from __future__ import annotations

from nikawa.collect.database import Link
from nikawa.collect.project import Project, hashed
from nikawa.collect.workers import add_worker, audit


def make_links(
    link: Link, project: Project, names: list[str], who: str, now: float
) -> list[tuple[str, str]]:
    """Workers with these names, and the token of each."""
    made = []
    for name in names:
        token = project.token(name)
        add_worker(link, name, hashed(token), "link", language=project.settings.language, now=now)
        made.append((name, token))
    audit(link, who, "make links", {"workers": len(names)}, now)
    return made
