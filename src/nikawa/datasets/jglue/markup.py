"""The text of a review without its mark-up, as BeautifulSoup 4 gives it on Python's own HTML parser.

What is followed: unknown entities lose their semicolon, numeric ones below 256 are Windows-1252, a run that
is all blank becomes one blank or line end, and script, style, template and ruby readings are left out. What
may differ: older releases of BeautifulSoup kept ruby readings, still older ones scripts too; broken
comments, declarations and an entity cut off by the end are read as the Python release at hand reads them.
"""

from __future__ import annotations

from html.entities import html5
from html.parser import HTMLParser

BLANKS = " \n\t\f\r"
LEFT_OUT = frozenset({"script", "style", "template", "rt", "rp"})
KEEPS_BLANKS = frozenset({"pre", "textarea"})
EMPTY = frozenset(
    {
        "area",
        "base",
        "basefont",
        "bgsound",
        "br",
        "col",
        "command",
        "embed",
        "frame",
        "hr",
        "image",
        "img",
        "input",
        "isindex",
        "keygen",
        "link",
        "menuitem",
        "meta",
        "nextid",
        "param",
        "source",
        "spacer",
        "track",
        "wbr",
    }
)


def plain_text(markup: str) -> str:
    """The text of `markup`."""
    if "<" not in markup and "&" not in markup:
        return markup
    parser = _Text()
    try:
        parser.feed(markup)
        parser.close()
    except AssertionError:  # how the parser refuses a broken declaration; the converter would stop
        return markup
    parser.end_run()
    return "".join(parser.runs)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.runs: list[str] = []
        self._run: list[str] = []
        self._open: list[str] = []
        self._closed_already: list[str] = []

    def end_run(self) -> None:
        """Close the run of characters between two tags."""
        text, self._run = "".join(self._run), []
        if text and not LEFT_OUT.intersection(self._open):
            if not text.strip(BLANKS) and not KEEPS_BLANKS.intersection(self._open):
                text = "\n" if "\n" in text else " "
            self.runs.append(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.end_run()
        if tag in EMPTY:
            self._closed_already.append(tag)
        else:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.end_run()
        self._open.append(tag)
        self.handle_endtag(tag)  # which an earlier <br> may swallow, as there

    def handle_endtag(self, tag: str) -> None:
        if tag in self._closed_already:
            self._closed_already.remove(tag)
            return
        self.end_run()
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._run.append(data)

    def handle_entityref(self, name: str) -> None:
        self._run.append(html5.get(f"{name};", f"&{name}"))

    def handle_charref(self, name: str) -> None:
        try:
            code = int(name[1:], 16) if name[0] in "xX" else int(name)
            text = bytes([code]).decode("windows-1252", "ignore") if code < 256 else ""
            self._run.append(text or chr(code))
        except (ValueError, OverflowError):
            self._run.append("\N{REPLACEMENT CHARACTER}")

    def handle_comment(self, data: str) -> None:
        self.end_run()

    def handle_decl(self, decl: str) -> None:
        self.end_run()

    def handle_pi(self, data: str) -> None:
        self.end_run()

    def unknown_decl(self, data: str) -> None:
        self.end_run()
        if data.upper().startswith("CDATA["):
            self.runs.append(data[len("CDATA[") :])
