"""The part of Markdown that guidelines need, as safe HTML: headings, lists, quotes, tables, code, emphasis.

Everything is escaped first, so a guideline cannot hold markup of its own; links go to https, http and mailto only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

_INLINE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\*\*(?=\S)([^*\n]{1,500}?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]{1,500}?)\*(?![\w*])"), r"<em>\1</em>"),
    (
        re.compile(r"\[([^\]\n]{1,300})\]\(((?:https?://|mailto:)[^\s()<>\"]{1,500})\)"),
        r'<a href="\2" rel="noreferrer noopener" target="_blank">\1</a>',
    ),
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(.*)")


def _inline(text: str) -> str:
    parts = re.split(r"`([^`\n]+)`", text)
    for place, part in enumerate(parts):
        safe = escape(part)
        if place % 2:
            parts[place] = f"<code>{safe}</code>"
            continue
        for pattern, made in _INLINE:
            safe = pattern.sub(made, safe)
        parts[place] = safe
    return "".join(parts)


def render(text: str) -> str:
    """Markdown to HTML."""
    blocks: list[str] = []
    for part in re.split(r"(?ms)^```[^\n]*\n(.*?)^```[ \t]*$", text)[:2001]:
        blocks.append(part)
    made = [
        f"<pre><code>{escape(part)}</code></pre>" if place % 2 else _paragraphs(part)
        for place, part in enumerate(blocks)
    ]
    return "\n".join(part for part in made if part)


def _paragraphs(text: str) -> str:
    return "\n".join(
        _block(block.strip("\n")) for block in re.split(r"\n\s*\n", text) if block.strip()
    )


def _block(block: str) -> str:
    lines = block.splitlines()
    heading = re.match(r"(#{1,4})\s+(.*)", lines[0])
    if heading:
        level = len(heading[1]) + 1
        rest = "\n".join(lines[1:])
        title = f"<h{level}>{_inline(heading[2].rstrip('# '))}</h{level}>"
        return title + ("\n" + _block(rest) if rest.strip() else "")
    for test, make in _KINDS:
        if test(lines):
            return make(lines)
    return f"<p>{'<br>'.join(_inline(line) for line in lines)}</p>"


def _list(lines: list[str]) -> str:
    tag = "ol" if re.match(r"\s*\d", lines[0]) else "ul"
    entries: list[str] = []
    for line in lines:
        found = _ITEM.match(line)
        if found:
            entries.append(found[1])
        else:
            entries[-1] += f" {line.strip()}"
    return f"<{tag}>{''.join(f'<li>{_inline(entry)}</li>' for entry in entries)}</{tag}>"


def _quote(lines: list[str]) -> str:
    return f"<blockquote>{'<br>'.join(_inline(line.lstrip('> ')) for line in lines)}</blockquote>"


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in rows[2:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _is_table(lines: list[str]) -> bool:
    return len(lines) > 1 and "|" in lines[0] and bool(re.fullmatch(r"[\s|:-]*-[\s|:-]*", lines[1]))


_KINDS: tuple[tuple[Callable[[list[str]], bool], Callable[[list[str]], str]], ...] = (
    (lambda lines: _ITEM.match(lines[0]) is not None, _list),
    (lambda lines: all(line.startswith(">") for line in lines), _quote),
    (_is_table, _table),
)
