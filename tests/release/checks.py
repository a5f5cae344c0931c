"""What must hold of a version, its tree and its files before it may be released."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from pathlib import Path, PurePosixPath


class Refused(Exception):
    """Why this version cannot be released, on one line."""


def read_version(root: Path) -> str:
    """The version in src/nikawa/version.py."""
    text = (root / "src" / "nikawa" / "version.py").read_text("utf-8")
    match = re.search(r'^__version__ = "(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)"$', text, re.MULTILINE)
    if match is None:
        raise Refused('src/nikawa/version.py has no line like __version__ = "1.2.3"')
    return match[1]


def check_changelog(root: Path, version: str) -> None:
    """The newest section of CHANGELOG.md must be that of the version, finished and not empty.

    An older section does not do: what changed since would be released without a word.
    """
    text = (root / "CHANGELOG.md").read_text("utf-8")
    sections = re.findall(r"^## (\S+)(.*)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    if not sections:
        raise Refused(f"CHANGELOG.md has no section; write one, ## {version}")
    newest, remark, body = sections[0]
    title = f"{newest}{remark}".strip()
    if newest != version:
        raise Refused(
            f"the version is {version}, but the newest section of CHANGELOG.md is {title}; "
            f"set the version in src/nikawa/version.py, or write the section ## {version}"
        )
    if "unreleased" in remark:
        raise Refused(f"CHANGELOG.md says {title}; replace (unreleased) by the date of the release")
    if not body.strip():
        raise Refused(f"the section ## {title} of CHANGELOG.md is empty")


def check_citation(root: Path, version: str) -> None:
    """CITATION.cff must name the version."""
    text = (root / "CITATION.cff").read_text("utf-8")
    match = re.search(r'^version: "?([^"\s]+)"?$', text, re.MULTILINE)
    if match is None or match[1] != version:
        named = match[1] if match else "no version"
        raise Refused(f"CITATION.cff names {named}; write version: {version}, and date-released")


def check_tree(root: Path, version: str) -> None:
    """Everything must be committed, and the tag of the version must be free or here."""
    changes = git(root, "status", "--porcelain").splitlines()
    if changes:
        names = ", ".join(line[3:] for line in changes[:3])
        more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
        raise Refused(f"the tree has changes that are not committed: {names}{more}")
    tag = f"v{version}"
    if (
        git(root, "tag", "--list", tag)
        and tag not in git(root, "tag", "--points-at", "HEAD").split()
    ):
        raise Refused(f"the tag {tag} is on another commit; raise the version")


def git(root: Path, *arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(f"git {arguments[0]}: {(done.stderr.strip() or 'failed').splitlines()[0]}")
    return done.stdout


def list_package_files(root: Path) -> set[str]:
    """The files of the package that git holds, from nikawa/ on."""
    paths = git(root, "ls-files", "-z", "src/nikawa").split("\0")
    return {path.removeprefix("src/") for path in paths if path}


def check_wheel(root: Path, wheel: Path) -> None:
    """A wheel holds the package as it is committed, its licence, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    metadata = {name for name in names if PurePosixPath(name).parts[0].endswith(".dist-info")}
    compare_files(wheel, names - metadata, list_package_files(root))
    if not any(name.endswith("/licenses/LICENSE") for name in metadata):
        raise Refused(f"{wheel.name} holds no LICENSE")


def check_sdist(root: Path, sdist: Path) -> None:
    """An sdist holds the package, what is needed to build it, and neither tests nor their data."""
    with tarfile.open(sdist) as archive:
        paths = [PurePosixPath(member.name) for member in archive if member.isfile()]
    names = {"/".join(path.parts[1:]) for path in paths}
    package = {name for name in names if name.startswith("src/")}
    compare_files(sdist, {name.removeprefix("src/") for name in package}, list_package_files(root))
    needed = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"}
    if missing := needed - names:
        raise Refused(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    if others := names - package - needed - {"PKG-INFO", ".gitignore"}:
        raise Refused(f"{sdist.name} holds what is not to be released: {list_some(others)}")


def compare_files(archive: Path, packed: set[str], committed: set[str]) -> None:
    """Refuse an archive whose package differs from what is committed."""
    if others := packed - committed:
        raise Refused(f"{archive.name} holds files that git does not: {list_some(others)}")
    if missing := committed - packed:
        raise Refused(f"{archive.name} lacks files of the package: {list_some(missing)}")


def list_some(names: set[str]) -> str:
    """The first three names, and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more
