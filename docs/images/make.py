"""Make the pictures of the README from real output: `python docs/images/make.py` (needs Chromium, playwright and a CJK font)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURES = {
    "show.png": (
        "nikawa data show mini-ja:dev --id nli-019 --id qa-010 --id ner-011",
        "nikawa data show mini-ko:dev --id sts-013 --id choice-010 --id ner-011",
    ),
}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0;background:#0c0c0c">
<pre style="font:16px/1.45 'Noto Sans Mono CJK JP',monospace;color:#d9d9d9;padding:24px 28px;margin:0">{code}</pre>"""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--force-device-scale-factor=1.5",
)


def output(command: str) -> str:
    """What a command prints on a terminal of 96 columns."""
    code = f"import sys; sys.argv = {command.split()!r}; from nikawa.cli import main; main()"
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "96", "TTY_COMPATIBLE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout


def page(commands: tuple[str, ...]) -> tuple[str, int]:
    """The commands and their output as HTML, and how many lines there are."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=96, force_terminal=True, file=nowhere, highlight=False)
        for command in commands:
            console.print(Text(f"$ {command}", style="bold green"))
            console.print(Text.from_ansi(output(command)))
        lines = len(console.export_text(clear=False).splitlines())
        return PAGE.format(
            code=console.export_html(inline_styles=True, code_format="{code}", theme=MONOKAI)
        ), lines


def report(browser: str) -> None:
    """The page that `nikawa demo` leaves behind, from its task on: scores, plots, confusion."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        output(f"nikawa demo --out {folder}/demo --quiet")
        window = running.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": 1200, "height": 1440}, device_scale_factor=1.25, reduced_motion="reduce")  # fmt: skip
        page.goto(Path(folder, "demo", "report", "index.html").as_uri())
        page.evaluate("scrollTo(0, document.querySelector('section.task header').offsetTop - 80)")
        page.wait_for_timeout(500)
        page.screenshot(path=Path(__file__).with_name("report.png"))
        top = {"x": 76, "y": 64, "width": 690, "height": 632}  # scores and plot, for the README
        page.screenshot(path=Path(__file__).with_name("scores.png"), clip=top)
        window.close()


def board(browser: str) -> None:
    """The table of the demonstration leaderboard and its scores over time."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        output(f"nikawa board demo {folder}/board --no-serve --quiet")
        output(f"nikawa board export {folder}/board --to html --out {folder}/pages --quiet")
        window = running.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": 1100, "height": 850}, device_scale_factor=1.25)
        page.goto(Path(folder, "pages", "t", "nikawa-ja-label.html").as_uri())
        page.screenshot(path=Path(__file__).with_name("board.png"))
        window.close()


def main() -> None:
    """Write each picture to the folder of this file."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium is not installed")
    report(browser)
    board(browser)
    for name, commands in PICTURES.items():
        html, lines = page(commands)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            path.write_text(html, "utf-8")
            place = (f"--user-data-dir={folder}/profile", f"--window-size=1000,{lines * 24 + 40}")
            target = f"--screenshot={Path(__file__).with_name(name)}"
            subprocess.run(
                [browser, *FLAGS, *place, target, path.as_uri()], check=True, capture_output=True
            )


if __name__ == "__main__":
    main()
