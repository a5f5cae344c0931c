"""One table, several notations: Markdown, LaTeX, CSV. The terminal's own is the command line's business."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

NOTATIONS = ("markdown", "latex", "csv")

ESCAPES = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


@dataclass(frozen=True)
class TextTable:
    """Rows of text under column names; columns named in `numbers` align right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[str] = ()

    def render(self, notation: str) -> str:
        """The table in the requested notation."""
        return {"markdown": self.markdown, "latex": self.latex, "csv": self.csv}[notation]()

    def markdown(self) -> str:
        """A GitHub-style table."""
        rule = ["---:" if column in self.numbers else "---" for column in self.columns]
        lines = [
            self.columns,
            rule,
            *([cell.replace("|", "\\|") for cell in row] for row in self.rows),
        ]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def latex(self) -> str:
        """A booktabs tabular; Japanese and Korean need a Unicode engine such as LuaLaTeX."""
        shape = "".join("r" if column in self.numbers else "l" for column in self.columns)
        body = [" & ".join(map(escape, row)) + r" \\" for row in self.rows]
        head = " & ".join(map(escape, self.columns)) + r" \\"
        lines = [
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines)

    def csv(self) -> str:
        """Comma-separated values, quoted where needed."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue().rstrip("\n")


def escape(text: str) -> str:
    """Text with LaTeX's own characters made plain."""
    return "".join(ESCAPES.get(character, character) for character in text)
