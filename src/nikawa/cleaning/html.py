"""HTML: tags by their names (so that <기생충> and <email> stay), comments, scripts, entities.

A tag that starts a block or breaks a line becomes a line break, which ends a sentence.
"""

from __future__ import annotations

import html
import re

from nikawa.cleaning.base import Edit, Step
from nikawa.cleaning.patterns import merge_edits, replace_matches

_BLOCKS = (
    "address|article|aside|blockquote|body|br|caption|center|dd|div|dl|dt|fieldset|figcaption|figure|"
    "footer|form|h1|h2|h3|h4|h5|h6|head|header|hr|html|li|main|nav|ol|optgroup|option|p|pre|section|"
    "select|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
_INLINE = (
    "a|abbr|acronym|applet|area|audio|b|base|basefont|bdi|bdo|big|button|canvas|cite|code|col|"
    "colgroup|data|datalist|del|details|dfn|dialog|dir|em|embed|font|frame|frameset|i|iframe|img|"
    "input|ins|kbd|label|legend|link|map|mark|math|meta|meter|noframes|noscript|object|output|param|"
    "picture|progress|q|rb|rp|rt|rtc|ruby|s|samp|small|source|span|strike|strong|sub|summary|sup|svg|"
    "template|time|track|tt|u|var|video|wbr|script|style"
)
_REST = r"(?=[\s/>])(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>"
_BLOCK = re.compile(rf"</?(?:{_BLOCKS}){_REST}", re.IGNORECASE)
_TAG = re.compile(rf"</?(?:{_INLINE}){_REST}", re.IGNORECASE)
_WHOLE_ELEMENTS = (
    (re.compile(r"<!--.*?-->", re.DOTALL), "-->"),
    (re.compile(r"<script(?=[\s>])[^>]*>.*?</script\s*>", re.IGNORECASE | re.DOTALL), "</script"),
    (re.compile(r"<style(?=[\s>])[^>]*>.*?</style\s*>", re.IGNORECASE | re.DOTALL), "</style"),
    (re.compile(r"<rt(?=[\s>])[^>]*>[^<]*</rt\s*>", re.IGNORECASE), "</rt"),
    (re.compile(r"<rp(?=[\s>])[^>]*>[^<]*</rp\s*>", re.IGNORECASE), "</rp"),
)
"""What goes with its content, and how it ends: without an end in the text no start is looked for.
"""
_HEADS = re.compile(r"<!doctype[^<>]*>|<\?xml[^<>]*>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp;)*(#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")


def markup(text: str, language: str) -> list[Edit]:
    """Remove HTML; the readings of ruby go, its base stays."""
    edits: list[Edit] = []
    if "<" in text:
        lowered = text.lower()
        for pattern, closing in _WHOLE_ELEMENTS:
            last = lowered.rfind(closing)
            if last >= 0:
                end = text.find(">", last + len(closing) - 1) + 1
                matches = pattern.finditer(text, 0, end or len(text))
                edits += [(match.start(), match.end(), "") for match in matches]
        edits += replace_matches(_HEADS, text)
        edits += replace_matches(_BLOCK, text, "\n")
        edits += replace_matches(_TAG, text)
    if "&" in text:
        for match in _ENTITY.finditer(text):
            new = html.unescape(f"&{match[1]}")
            if new != match.group():
                edits.append((match.start(), match.end(), new))
    return merge_edits(edits)


STEPS = (Step("html", "HTML tags, comments and entities", 20, edits=markup),)
