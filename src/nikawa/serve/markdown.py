"""Markdown to safe HTML, for guidelines: CommonMark with tables, by markdown-it-py.

A text cannot hold markup of its own (HTML is escaped), and links go to https, http and mailto only. Images are left
out: the content security policy would block them. A heading is one level lower than written, since the page has the
first one. Emphasis works next to Japanese and Korean text, where CommonMark requires a blank that is not usual: `**「強調」**です`
(https://github.com/tats-u/markdown-cjk-friendly, specification.md).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

SAFE_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U00020000-\U0003ffff]"
)
"""Letters and punctuation of Japanese, Korean and Chinese, full-width forms included."""
MAX_HEADING = 6


def render_markdown(text: str) -> str:
    r"""The HTML of a Markdown text.

    >>> render_markdown("# Guideline")
    '<h2>Guideline</h2>\n'
    """
    html: str = _parser().render(text)
    return html


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.parser_inline import ParserInline
    from markdown_it.rules_inline import StateInline
    from markdown_it.rules_inline.state_inline import Scanned

    class State(StateInline):
        def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803  (markdown-it-py's names)
            scanned = super().scanDelims(start, canSplitWord)
            if self.src[start] != "*":
                return scanned
            end = start + scanned.length
            before = self.src[start - 1] if start else " "
            after = self.src[end] if end < self.posMax else " "
            return Scanned(_may_open(before, after), _may_open(after, before), scanned.length)

    class Inline(ParserInline):
        def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Any]) -> list[Any]:
            state = State(src, md, env, tokens)
            self.tokenize(state)
            for rule in self.ruler2.getRules(""):
                rule(state)
            return state.tokens

    class Parser(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802  (markdown-it-py's name)
            return SAFE_LINK.match(url) is not None

    parser = Parser("zero", {"html": False, "breaks": True, "xhtmlOut": False})
    parser.inline = Inline()
    parser.configure("commonmark", {"html": False, "breaks": True, "xhtmlOut": False})
    parser.enable("table").disable(["image", "html_block", "html_inline"])
    parser.core.ruler.push("nikawa", _adapt_tokens)
    return parser


def _may_open(outside: str, inside: str) -> bool:
    """Whether stars between two characters may begin emphasis; turned round, whether they may end it."""
    if inside.isspace():
        return False
    is_punctuation = unicodedata.category(inside)[0] in "PS" and not CJK.match(inside)
    if not is_punctuation:
        return True
    is_boundary = outside.isspace() or unicodedata.category(outside)[0] in "PS"
    return is_boundary or CJK.match(outside) is not None


def _adapt_tokens(state: Any) -> None:
    """Lower headings by a level, and have links open in a tab of their own that learns nothing of the page."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, MAX_HEADING)}"
        for part in token.children or ():
            if part.type == "link_open":
                part.attrSet("rel", "noreferrer noopener")
                part.attrSet("target", "_blank")
