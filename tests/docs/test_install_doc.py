"""docs/install.md and every word on extras: what is said is what pyproject.toml and the Makefile hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from nikawa.errors import TORCH_EXTRAS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def parts(extra: str) -> tuple[list[str], list[str]]:
    """The extras and the packages that an extra names."""
    extras: list[str] = []
    packages = []
    for requirement in EXTRAS[extra]:
        if inner := re.fullmatch(r"nikawa\[(.*)\]", requirement):
            extras += inner[1].split(",")
        else:
            packages.append(re.split(r"[\[<>=!~; ]", requirement)[0])
    return extras, packages


def reached(extra: str) -> set[str]:
    """All packages an extra brings by itself or through others."""
    extras, packages = parts(extra)
    return set(packages).union(*map(reached, extras))


def test_the_table_is_that_of_the_project() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| .+ \|$", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == list(EXTRAS)
    for name, brings in rows:
        extras, packages = parts(name)
        tools = "" if name != "dev" else " and the test tools"
        expected = [f"`{extra}`" for extra in extras] + ([] if tools else packages)
        assert brings == ", ".join(expected) + tools


def test_what_brings_torch() -> None:
    heavy = [extra for extra in EXTRAS if "torch" in reached(extra)]
    assert sorted(heavy) == sorted(TORCH_EXTRAS)
    assert (
        f"The extras {', '.join(f'`{e}`' for e in heavy[:-1])} and `{heavy[-1]}` bring torch"
        in PAGE
    )


def test_light_is_all_that_runs_without_torch_and_a_database_server() -> None:
    further = {extra for extra in EXTRAS if extra.startswith(("ja-", "ko-"))}
    assert set(parts("light")[0]) == set(EXTRAS) - further - set(TORCH_EXTRAS) - {
        "cluster",
        "docs",
        "light",
        "postgres",
        "remote",
    }
    assert set(parts("dev")[0]) == {"all", "cluster", "remote", *further}


def test_the_pages_and_make_name_one_torch() -> None:
    [pinned] = re.findall(
        r"^TORCH +\?= (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    for page in PAGES:
        assert set(re.findall(r"torch==([0-9.]+[0-9])", page.read_text("utf-8"))) <= {pinned}, page
    assert f"pip install torch=={pinned}+cpu\n" in PAGE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_install_from_a_checkout_and_name_extras_there_are(page: Path) -> None:
    text = page.read_text("utf-8")
    for extras in re.findall(r"(?:nikawa|['`]\.)\[([a-z,-]+)\]", text):
        assert set(extras.split(",")) <= set(EXTRAS), extras
    by_name = text.count("pip install 'nikawa[")
    assert by_name == (page.name == "install.md"), (
        "write pip install -e '.[…]', which a checkout understands"
    )


def test_errors_name_extras_there_are() -> None:
    named: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(
            re.findall(r"""missing_extra\([^)]*, "([a-z-]+)"\)""", path.read_text("utf-8"))
        )
    assert {"encoder", "models", "serve", "tables"} <= named <= set(EXTRAS)
