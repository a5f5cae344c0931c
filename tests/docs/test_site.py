"""The site, without building it: every page is in the navigation once, links and anchors lead somewhere, nothing is loaded from other hosts."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = (ROOT / "mkdocs.yml").read_text("utf-8")
NAVIGATION = re.findall(r"([\w./-]+\.md)$", SETTINGS.partition("\nnav:\n")[2], re.MULTILINE)
PAGES = sorted(DOCS.rglob("*.md"))
LINKED = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]


def load_hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "site" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOKS = load_hooks()


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    slugs: Counter[str] = Counter()
    anchors = set()
    for heading in re.findall(r"^#+ (.+)$", without_code(path.read_text("utf-8")), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        anchors.add(f"{slug}-{slugs[slug]}" if slugs[slug] else slug)
        slugs[slug] += 1
    return anchors


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [path.relative_to(DOCS).as_posix() for path in PAGES]
    expected = sorted([*pages, *HOOKS.PROJECT_PAGES.values()])
    assert sorted(NAVIGATION) == expected, "add new pages to nav in mkdocs.yml, under their job"


def test_pages_of_the_project_exist() -> None:
    assert all((ROOT / source).is_file() for source in HOOKS.PROJECT_PAGES)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    text = without_code(page.read_text("utf-8"))
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        path = (page.parent / target).resolve() if target else page
        assert path.is_file(), f"{target}: name a file, not a folder"
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


def test_nothing_comes_from_other_hosts() -> None:
    assert re.search(r"^  font: false", SETTINGS, re.MULTILINE)
    assert "http" not in SETTINGS
    for path in [*(DOCS / "assets").iterdir(), *(DOCS / "site" / "theme").rglob("*.html")]:
        assert not re.search(r"(?:https?:)?//[\w-]+\.\w", path.read_text("utf-8")), path


def test_lists_become_what_python_markdown_reads() -> None:
    page = "Three:\n- one\n  goes on\n  1. inner\n\n     ```json Example\n     - no item\n     ```\n- two\n\nAfter"
    assert HOOKS.rewrite_blocks(page).split("\n") == [
        "Three:",
        "",
        "- one",
        "    goes on",
        "    1. inner",
        "",
        "        ```json",
        "        - no item",
        "        ```",
        "- two",
        "",
        "After",
    ]


@pytest.mark.parametrize(("folder", "language"), [("ja/", "ja"), ("ko/", "ko"), ("", "en")])
def test_translated_pages_name_their_language(folder: str, language: str) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=f"{folder}quickstart.md"))
    assert HOOKS.on_post_page('<html lang="en" class="no-js">', page, None) == (
        f'<html lang="{language}" class="no-js">'
    )


def test_links_of_the_root_lead_into_the_site() -> None:
    text = "[a](docs/run.md#seeds) [b](SECURITY.md) [c](README.md) [d](#here) [e](https://e.org)"
    moved = "[a](../run.md#seeds) [b](security.md) [c](../index.md) [d](#here) [e](https://e.org)"
    assert HOOKS.move_links(text) == moved


def test_the_reference_has_every_public_name() -> None:
    import nikawa

    reference = HOOKS.write_reference()
    listed = set(re.findall(r"^::: .*?(\w+)$", reference, re.MULTILINE))
    for name in set(nikawa.__all__) - {"__version__"}:
        assert name in listed or f"## nikawa.{name}\n" in reference, name
    assert {"load", "score", "Example", "krippendorff_alpha", "DawidSkene"} <= listed


def test_examples_of_docstrings_become_code() -> None:
    text = "Add.\n\n>>> 1 + 1\n2\n\n>>> 2 + 2\n4\n\nThe end."
    fence = "```"
    assert HOOKS.fence_examples(text) == (
        f"Add.\n\n{fence}pycon\n>>> 1 + 1\n2\n{fence}\n\n"
        f"{fence}pycon\n>>> 2 + 2\n4\n{fence}\n\nThe end."
    )


def test_a_notebook_becomes_a_page() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
        {
            "cell_type": "code",
            "source": ["1 + 1"],
            "outputs": [
                {"data": {"text/plain": ["2"]}},
                {"data": {"text/html": ["<b>2</b>\n\n<i>3</i>"], "text/plain": ["2"]}},
                {"text": ["printed\n"]},
            ],
        },
    ]
    assert HOOKS.write_notebook({"cells": cells}) == (
        "# Title\nWords.\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n\n"
        '<div class="cell-output"><b>2</b>\n<i>3</i></div>\n\n```text\nprinted\n```\n'
    )
