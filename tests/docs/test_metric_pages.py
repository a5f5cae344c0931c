"""Every metric has its page: formula, paper, what the official code does, and an example that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nikawa.metrics import metrics

FOLDER = Path(__file__).parents[2] / "docs" / "metrics"
PAGES = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.md"))}
SECTIONS = {
    name: text
    for page in PAGES.values()
    for name, text in re.findall(
        r"^## `([\w-]+)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE
    )
}


def test_metrics_and_sections_are_the_same() -> None:
    assert set(SECTIONS) == set(metrics())
    assert sum(len(re.findall(r"^## ", page, re.MULTILINE)) for page in PAGES.values()) == len(
        SECTIONS
    )


@pytest.mark.parametrize("name", list(metrics()))
def test_a_section_says_what_it_must(name: str) -> None:
    for part in ("Formula", "Paper", "Official code"):
        assert re.search(rf"^\*\*{part}\.\*\* \S", SECTIONS[name], re.MULTILINE), part
    if metrics()[name].difference:
        assert "`documented`" in SECTIONS[name]


@pytest.mark.parametrize("name", list(metrics()))
def test_the_example_runs(name: str) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", SECTIONS[name], re.DOTALL | re.MULTILINE)
    assert f'"{name}"' in code
    assert "assert " in code
    exec(compile(code, f"docs/metrics: {name}", "exec"), {})


@pytest.mark.parametrize("page", sorted(set(PAGES) - {"README.md"}))
def test_a_page_opens_with_an_example_that_prints_what_it_says(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opening = PAGES[page].partition("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```", opening, re.DOTALL | re.MULTILINE)
    exec(compile(code, f"docs/metrics/{page}", "exec"), {})
    expected = re.findall(r"^print\(.*\)  # ([\d.]+)", code, re.MULTILINE)
    assert expected
    assert capsys.readouterr().out.split() == expected


def test_the_list_of_pages_is_whole() -> None:
    listed = dict(
        re.findall(r"^\| \[[\w-]+\]\(([\w.-]+)\) \| (.*) \|$", PAGES["README.md"], re.MULTILINE)
    )
    assert set(listed) == set(PAGES) - {"README.md"}
    for page, names in listed.items():
        assert re.findall(r"`([\w-]+)`", names) == re.findall(
            r"^## `([\w-]+)`", PAGES[page], re.MULTILINE
        )


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGES["README.md"], re.DOTALL)
    exec(compile(code, "docs/metrics/README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("0.9\n[1.0, 0.8]\n")
