"""Build and try this version: `python -m tests.release`. Needs Python and git only; publishes nothing.

It refuses, in one line, a version without its section in CHANGELOG.md and a tree with changes. Then it
builds sdist and wheel, checks both, installs the wheel into a fresh environment, runs `nikawa demo`
there, and puts the two files into dist/. When a step fails, dist/ stays as it was.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from tests.release.checks import (
    Refused,
    check_changelog,
    check_citation,
    check_sdist,
    check_tree,
    check_wheel,
    read_version,
)

ROOT = Path(__file__).parents[2]


def report(line: str) -> None:
    """Print a line at once, so that a reader knows what is under way."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; a failure ends the release with its last lines."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout[-4000:])
        name = " ".join([Path(command[0]).name, *(str(part) for part in command[1:4])])
        raise Refused(f"`{name} …` failed with status {done.returncode}; its output is above")
    return done.stdout


def make_environment(folder: Path, *requirements: str | Path) -> Path:
    """A fresh environment with the requirements; returns its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q")
    run(*pip, *requirements)
    return programs


def try_wheel(wheel: Path, version: str, folder: Path) -> None:
    """Install the wheel where nothing else is, and run the demo from there."""
    programs = make_environment(folder / "user", f"nikawa[light] @ {wheel.as_uri()}")
    away = folder / "away"  # not the checkout: its src/ must not be what is imported
    away.mkdir()
    home = run(programs / "python", "-c", "import nikawa; print(nikawa.__file__)", cwd=away)
    if not Path(home.strip()).is_relative_to(folder):
        raise Refused(f"the fresh environment imports {home.strip()} instead of the wheel")
    printed = run(programs / "nikawa", "--version", cwd=away)
    if version not in printed.split():
        raise Refused(f"the wheel says that it is {printed.strip()}, not {version}")
    began = time.monotonic()
    run(programs / "nikawa", "demo", "--out", away / "demo", "--quiet", cwd=away)
    if not (away / "demo" / "report" / "index.html").is_file():
        raise Refused("nikawa demo left no report/index.html")
    report(f"nikawa demo ran from the wheel in {time.monotonic() - began:.0f} s")


def release() -> None:
    """All steps, in order."""
    version = read_version(ROOT)
    check_changelog(ROOT, version)
    check_citation(ROOT, version)
    check_tree(ROOT, version)
    report(f"nikawa {version}: the changelog has its section, the tree has no changes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        tools = make_environment(folder / "tools", "build>=1.2", "twine>=6.1")
        built = folder / "dist"
        run(tools / "python", "-m", "build", "--outdir", built, ROOT)
        [wheel] = built.glob("*.whl")
        [sdist] = built.glob("*.tar.gz")
        run(tools / "python", "-m", "twine", "check", "--strict", wheel, sdist)
        check_wheel(ROOT, wheel)
        check_sdist(ROOT, sdist)
        for path in (sdist, wheel):
            report(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, checked")
        try_wheel(wheel, version, folder)
        dist = ROOT / "dist"
        dist.mkdir(exist_ok=True)
        for path in (sdist, wheel):
            shutil.move(path, dist / path.name)
    report(f"""Nothing is published yet. Next:
  git tag -a v{version} -m 'Nikawa {version}'
  git push origin v{version}
  python -m twine upload dist/nikawa-{version}*
then begin the next section of CHANGELOG.md, marked (unreleased).""")


if __name__ == "__main__":
    try:
        release()
    except Refused as problem:
        sys.exit(f"make release: {problem}")
