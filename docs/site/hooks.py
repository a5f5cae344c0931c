"""Add pages to the site that are not files of docs/: pages of the project, the Python reference, notebooks."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PROJECT_PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
API_MARKER = "<!-- public names -->"


def list_notebooks() -> list[Path]:
    """The notebooks of examples/, in the order of their names."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the notebooks to the navigation, before the reference."""
    notebooks = [f"examples/{path.stem}.md" for path in list_notebooks()]
    if notebooks and config.nav:
        titles = [next(iter(entry)) for entry in config.nav]
        config.nav.insert(titles.index("Reference"), {"Examples": notebooks})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages that are written from files outside docs/."""
    from mkdocs.structure.files import File

    for source, target in PROJECT_PAGES.items():
        text = move_links((ROOT / source).read_text("utf-8"))
        files.append(File.generated(config, target, content=text))
    for path in list_notebooks():
        page = write_notebook(run_notebook(path.read_text("utf-8")))
        files.append(File.generated(config, f"examples/{path.stem}.md", content=page))
    return files


def move_links(text: str) -> str:
    """Point the links of a page of the root at the pages of the site, which is a folder deeper."""

    def move(match: re.Match[str]) -> str:
        target = match[1]
        if target.startswith("docs/"):
            return f"](../{target.removeprefix('docs/')}"
        if target.endswith(".ipynb"):
            return f"](../{target.removesuffix('.ipynb')}.md"
        if target in PROJECT_PAGES:
            return f"]({PROJECT_PAGES[target].removeprefix('project/')}"
        if target == "README.md":
            return "](../index.md"
        return match[0]

    return re.sub(r"\]\(([^)#:\s]+)", move, text)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn what GitHub and Python-Markdown read differently into what both read the same."""
    for source, target in PROJECT_PAGES.items():
        up = "../" * page.file.src_uri.count("/")
        markdown = markdown.replace(f"](../{up}{source}", f"]({up}{target}")
    markdown = re.sub(r"\]\(\.\./((?:\.\./)*examples/[\w-]+)\.ipynb", r"](\1.md", markdown)
    if page.file.src_uri == "api.md":
        assert API_MARKER in markdown
        markdown = markdown.replace(API_MARKER, write_reference())
    return rewrite_blocks(markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the language of the pages in Japanese and Korean: browsers choose their fonts by it."""
    language = page.file.src_uri.partition("/")[0]
    if language in {"ja", "ko"}:
        return output.replace('<html lang="en"', f'<html lang="{language}"', 1)
    return output


def rewrite_blocks(markdown: str) -> str:
    """Write lists and code blocks as Python-Markdown reads them.

    An empty line comes before a list, items are indented by four spaces a level, and the line that
    opens a code block names the language alone.
    """
    lines: list[str] = []
    levels: list[int] = []  # columns at which the text of the open list items begins
    in_code = False
    for line in markdown.split("\n"):
        text = line.lstrip(" ")
        column = len(line) - len(text)
        if text:
            item = None if in_code else re.match(r"(?:[-*+]|\d+\.) +", text)
            if not in_code:
                after_break = not lines or not lines[-1].strip()
                while levels and column < levels[-1] and (item or after_break or text[0] == "#"):
                    levels.pop()
            if item and not levels and lines and lines[-1].strip() and not is_item(lines[-1]):
                lines.append("")
            depth = 4 * len(levels)
            excess = column - levels[-1] if levels else column
            lines.append(" " * (depth + max(excess, 0)) + text)
            if item:
                levels.append(column + len(item[0]))
            if fence := re.match(r"(```|~~~)([\w-]*)", text):
                in_code = not in_code
                lines[-1] = " " * (depth + max(excess, 0)) + (fence[0] if in_code else text)
        else:
            lines.append("")
    return "\n".join(lines)


def is_item(line: str) -> bool:
    """Whether a line is, or goes on with, a list item."""
    return bool(re.match(r" *(?:[-*+]|\d+\.) +| {2,}\S", line))


def write_reference() -> str:
    """The Python reference, from what is public now: functions, types, then modules."""
    import nikawa

    groups: dict[str, list[str]] = {"Functions": [], "Types": []}
    modules = []
    for name in sorted(nikawa.__all__, key=str.lower):
        value = getattr(nikawa, name)
        if inspect.ismodule(value):
            modules.append(value)
        elif callable(value):
            groups["Types" if inspect.isclass(value) else "Functions"].append(find_home(value))
    parts = [write_section(title, "", paths) for title, paths in groups.items()]
    for module in modules:
        homes = [find_home(getattr(module, name)) for name in module.__all__]
        parts.append(write_section(module.__name__, inspect.getdoc(module) or "", homes))
    return "\n\n".join(parts)


def fence_examples(docstring: str) -> str:
    """Write the examples of a docstring as code blocks; Markdown reads `>>>` as a quotation."""
    paragraphs = re.split(r"\n\s*\n", docstring)
    return "\n\n".join(
        f"```pycon\n{text}\n```" if text.startswith(">>> ") else text for text in paragraphs
    )


def find_home(value: Any) -> str:
    """Where a public function or class is defined: names of the package are imported lazily."""
    return f"{value.__module__}.{value.__qualname__}"


def write_section(title: str, text: str, paths: list[str]) -> str:
    """A heading, a text, and what mkdocstrings writes about each path."""
    return "\n\n".join([f"## {title}", text, *(f"::: {path}" for path in paths)])


@cache  # `mkdocs serve` builds the site again after each change
def run_notebook(text: str) -> dict[str, Any]:
    """Run a notebook in an empty folder; return it with its outputs.

    The notebooks of examples/ are stored without outputs. A cell that raises stops the build.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(text, as_version=4)
    with TemporaryDirectory(prefix="nikawa-site-") as folder:
        NotebookClient(
            notebook,
            timeout=120,
            resources={"metadata": {"path": folder}},
            extra_arguments=["--IPKernelApp.log_level=40"],  # errors only
        ).execute()
    return dict(notebook)


def write_notebook(notebook: dict[str, Any]) -> str:
    """Write a notebook as a page: text, code, and outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            moved = re.sub(r"\]\(\.\./docs/", "](../", source)
            parts.append(re.sub(r"\]\(([\w-]+)\.ipynb\)", r"](\1.md)", moved))
        elif cell["cell_type"] == "code" and source:
            parts.append(f"```python\n{source}\n```")
            parts += [html for output in cell.get("outputs", []) if (html := write_output(output))]
    return "\n\n".join(parts) + "\n"


def write_output(output: dict[str, Any]) -> str:
    """One output of a cell: its HTML where it has some, its text otherwise."""
    data = output.get("data", {})
    if html := "".join(data.get("text/html", "")):
        without_empty_lines = re.sub(r"\n\s*\n", "\n", html)  # one would end the HTML block
        return f'<div class="cell-output">{without_empty_lines}</div>'
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    return f"```text\n{text}\n```" if text else ""
