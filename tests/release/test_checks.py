"""What `make release` refuses, each in one line."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.release.checks import (
    Refused,
    check_changelog,
    check_citation,
    check_sdist,
    check_tree,
    check_wheel,
    read_version,
)

NEEDED = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "PKG-INFO")


def git(root: Path, *arguments: str) -> None:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A committed tree of version 1.2.0 that may be released."""
    root = tmp_path / "tree"
    package = root / "src" / "nikawa"
    package.mkdir(parents=True)
    (package / "version.py").write_text('__version__ = "1.2.0"\n', "utf-8")
    (root / "CHANGELOG.md").write_text(
        "# What changed\n\n## 1.2.0 (2026-01-31)\n\n- More.\n\n## 1.1.0\n\n- Less.\n", "utf-8"
    )
    (root / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n", "utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Begin")
    return root


def refusal(check: object, *arguments: object) -> str:
    assert callable(check)
    with pytest.raises(Refused) as caught:
        check(*arguments)
    text = str(caught.value)
    assert "\n" not in text
    return text


def write_wheel(folder: Path, names: Iterable[str]) -> Path:
    path = folder / "nikawa-1.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def write_sdist(folder: Path, names: Iterable[str]) -> Path:
    path = folder / "nikawa-1.2.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"nikawa-1.2.0/{name}"), io.BytesIO())
    return path


def test_a_finished_version_passes(root: Path) -> None:
    assert read_version(root) == "1.2.0"
    check_changelog(root, "1.2.0")
    check_citation(root, "1.2.0")
    check_tree(root, "1.2.0")


def test_a_version_without_its_section(root: Path) -> None:
    assert "the newest section of CHANGELOG.md is 1.2.0 (2026-01-31)" in refusal(
        check_changelog, root, "1.3.0"
    )
    # An older section is not that of what is in the tree now.
    assert "write the section ## 1.1.0" in refusal(check_changelog, root, "1.1.0")


def test_an_unfinished_section(root: Path) -> None:
    changelog = root / "CHANGELOG.md"
    changelog.write_text("## 1.2.0 (unreleased)\n\n- More.\n", "utf-8")
    assert "replace (unreleased)" in refusal(check_changelog, root, "1.2.0")
    changelog.write_text("## 1.2.0\n\n## 1.1.0\n\n- Less.\n", "utf-8")
    assert "is empty" in refusal(check_changelog, root, "1.2.0")
    changelog.write_text("# What changed\n", "utf-8")
    assert "has no section" in refusal(check_changelog, root, "1.2.0")


def test_a_citation_of_another_version(root: Path) -> None:
    assert "CITATION.cff names 1.2.0" in refusal(check_citation, root, "1.3.0")


def test_a_tree_with_changes(root: Path) -> None:
    for name in "abcd":
        (root / name).write_text("", "utf-8")
    assert refusal(check_tree, root, "1.2.0").endswith("not committed: a, b, c and 1 more")


def test_a_tag_on_another_commit(root: Path) -> None:
    git(root, "tag", "v1.2.0")
    check_tree(root, "1.2.0")
    git(root, "commit", "-q", "--allow-empty", "-m", "More")
    assert "v1.2.0 is on another commit" in refusal(check_tree, root, "1.2.0")


def test_what_a_wheel_holds(root: Path, tmp_path: Path) -> None:
    package = ["nikawa/version.py"]
    licence = "nikawa-1.2.0.dist-info/licenses/LICENSE"
    check_wheel(root, write_wheel(tmp_path, [*package, licence]))
    assert "no LICENSE" in refusal(check_wheel, root, write_wheel(tmp_path, package))
    wheel = write_wheel(tmp_path, [*package, licence, "tests/data/others.tsv"])
    assert "git does not: tests/data/others.tsv" in refusal(check_wheel, root, wheel)
    wheel = write_wheel(tmp_path, [licence])
    assert "lacks files of the package: nikawa/version.py" in refusal(check_wheel, root, wheel)


def test_what_an_sdist_holds(root: Path, tmp_path: Path) -> None:
    whole = [*NEEDED, "src/nikawa/version.py"]
    check_sdist(root, write_sdist(tmp_path, whole))
    sdist = write_sdist(tmp_path, [*whole, "tests/test_errors.py"])
    assert "not to be released: tests/test_errors.py" in refusal(check_sdist, root, sdist)
    assert "lacks LICENSE" in refusal(check_sdist, root, write_sdist(tmp_path, whole[1:]))
