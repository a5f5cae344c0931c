"""Keep the prompt of a task as a prompt file of Nikawa, if such a file can say the same: plain text and inputs, and a list of options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nikawa.errors import BadInput
from nikawa.exchange.reading.convert import PROMPT, QUESTION, Plan
from nikawa.exchange.reading.definition import Analysis, Definition
from nikawa.models.chat.prompts import SLOTS, read_template
from nikawa.records import Task

PROMPT_FILE = "prompt.txt"
OPTIONS = "{options}"
BRACES = re.compile(r"\{[A-Za-z_]\w*\}")
SEPARATOR = r"[\s、,，・/／「」『』\"'\-*•.()（）]*"
"""Characters between the labels in a list of a prompt."""


def write_prompt(definition: Definition, analysis: Analysis, plan: Plan) -> tuple[str, str]:
    """The content of the prompt file, or an empty text and the reason why it cannot be kept."""
    if definition.tool == "inspect":
        return "", "inspect's solvers make the prompt"
    if plan.columns.get("text") == PROMPT or plan.columns.get("question") in (PROMPT, QUESTION):
        return "", "the prompt has its text in the data"
    if not analysis.pieces:
        return "", "its template has more than plain text and columns"
    if BRACES.search("".join(text for text, _ in analysis.pieces) + definition.system):
        return "", "its text has braces, which mark the slots of Nikawa's prompts"
    slots = {column: name for name, column in plan.columns.items() if name in SLOTS[plan.kind]}
    names = [column for _, column in analysis.pieces if column]
    if any(name not in slots for name in names):
        missing = next(name for name in names if name not in slots)
        return "", f"it uses the column {missing}, which is not an input"
    user = "".join(
        text + ("{" + slots[name] + "}" if name else "") for text, name in analysis.pieces
    )
    system = definition.system
    if "options" in SLOTS[plan.kind]:
        system, user = list_options(plan.labels, system, user)
        if OPTIONS not in system + user:
            return (
                "",
                "it does not list the answers in a row, and Nikawa's prompts show them as {options}",
            )
    parts = [
        f"# The prompt of the {definition.tool} task {definition.name}; docs/chat.md explains prompt files."
    ]
    if system.strip():
        parts += ["", "== system ==", system.strip()]
    return "\n".join([*parts, "", "== user ==", user.strip(), ""]), ""


def list_options(labels: Sequence[str], *texts: str) -> list[str]:
    """The texts with `{options}` in place of the first list of all labels."""
    marked = list(texts)
    if len(labels) < 2:
        return marked
    words = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    pattern = re.compile(rf"(?:{words})(?:{SEPARATOR}(?:{words})){{{len(labels) - 1}}}")
    for place, text in enumerate(texts):
        for match in pattern.finditer(text):
            listed = re.findall(words, match[0])
            if sorted(listed) == sorted(labels):
                before, after = text[: match.start()], text[match.end() :]
                before = re.sub(r"[ \t「『\"'(（]*$", "", before)
                after = re.sub(r"^[」』\"')）]*", "", after)
                start = "" if before.endswith("\n") or not before else "\n"
                end = "" if after.startswith("\n") or not after else "\n"
                marked[place] = f"{before}{start}{OPTIONS}{end}{after}"
                return marked
    return marked


def check_prompt(path: Path, task: Task) -> str:
    """The reason why a prompt file cannot be used with a task; empty if it can."""
    try:
        read_template(path, task)
    except BadInput as problem:
        return problem.what
    return ""
