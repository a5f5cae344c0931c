"""Make the folders in `stored/`, each packed as `NAME.tar.xz`: what the recorded version left on the disk.

| archive | what is in it |
|---|---|
| runs | finished runs (two seeds, a replayed file, data of one's own before and after a change), one that was killed, analyses, a report |
| builds | a finished build, an amended version of it, a build that waits at a task sheet, and the answers it waits for |
| chat | a run that was killed while it asked a server, and the shared journal of a finished one |
| project | an annotation project on SQLite in which people are at work, and what it exported |
| pretrain | an encoder whose training was interrupted |
| datasets | dataset folders, a perturbed set, gold made of judgements |
"""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.compat.play import STORED, sheet
from tests.compat.scenes import CHAT, PRETRAIN
from tests.compat.servers import chat, get, project_served, work
from tests.compat.weights import repeat, sizes

PERIOD = 61
"""Numbers of a tensor that are kept; the rest repeats them, so that the state of a training packs well."""


def start(folder: Path, line: str) -> subprocess.Popen[bytes]:
    """A command as a process of its own."""
    import shlex

    env = {name: value for name, value in os.environ.items() if not name.startswith("NIKAWA_")}
    env["XDG_DATA_HOME"] = str(folder / ".none")
    words = [sys.executable, "-m", "nikawa", *shlex.split(line)]
    return subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.DEVNULL)


def do(folder: Path, *lines: str) -> None:
    """Commands one after the other; all must work."""
    for line in lines:
        with start(folder, line) as process:
            process.wait()
        assert process.returncode == 0, line


def pack(name: str, folder: Path, *parts: str) -> None:
    """Put parts of a folder into an archive; the same for all: owner, time."""

    def nameless(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info

    STORED.mkdir(exist_ok=True)
    with (
        lzma.open(STORED / f"{name}.tar.xz", "wb", preset=9) as stream,
        tarfile.open(fileobj=stream, mode="w") as archive,
    ):
        for part in parts:
            archive.add(folder / part, part, filter=nameless)


def _killed_at(folder: Path, line: str, ready: Callable[[], bool]) -> None:
    with start(folder, line) as process:
        while process.poll() is None and not ready():
            time.sleep(0.005)
        process.kill()


def _unfinished(folder: Path) -> bool:
    """Whether a run has begun and is not done."""
    return any(not (path.parent / "done.json").exists() for path in folder.glob("*/run.json"))


def runs(folder: Path) -> None:
    """Finished runs, one of data that changed since, one that was killed; analyses and a report."""
    sheet(folder)
    do(
        folder,
        "run --model majority --model baseline --tasks mini-ja-nli --seeds 2 --out runs --workers 1 --quiet",
        "run --model majority --tasks mini-ko-sts,own-data --out runs --workers 1 --quiet",
        "run --model char-overlap --tasks mini-ja-sts --out runs --workers 1 --quiet",
        "run --model 'Large model=replay:answers/label.jsonl' --tasks mini-ja-nli --out runs --workers 1 --quiet",
    )
    dev = folder / "own-data" / "dev.jsonl"
    dev.write_text("".join(dev.read_text("utf-8").splitlines(keepends=True)[:-2]), "utf-8")
    do(
        folder,
        "run --model majority --tasks own-data --out runs --workers 1 --quiet",
        "analyse runs --tokeniser none --resamples 100 --quiet",
        "report 'runs/mini-*' --out page --rounds 100 --no-analyses --quiet",
    )
    (folder / "numbers").mkdir()
    numbers = next(folder.glob("page/**/numbers.json"))
    numbers.rename(folder / "numbers" / "numbers.json")
    killed = folder / "killed"
    while not _unfinished(killed):
        line = "run --model baseline --tasks mini-ko-nli --out killed --workers 1 --quiet"
        _killed_at(folder, line, lambda: _unfinished(killed))
        do(
            folder,
            *(
                ["run remove --out killed --task mini-ko-nli --yes --quiet"]
                if not _unfinished(killed)
                else []
            ),
        )
    pack("runs", folder, "runs", "killed", "own-data", "answers/label.jsonl", "numbers")


def builds(folder: Path) -> None:
    """A finished build, a corrected version of it, and one that waits for people; with the answers it waits for."""
    sheet(folder)
    do(
        folder,
        "build jnli --config jnli.toml --out trial --simulate 1 --quiet",
        "build ynat --config ynat.toml --out waiting --quiet",
    )
    dev = [
        json.loads(line)
        for line in (folder / "trial" / "dev.jsonl").read_text("utf-8").splitlines()
    ]
    label = "neutral" if dev[0]["gold"]["label"] != "neutral" else "entailment"
    (folder / "correct.csv").write_text(
        f"id,label,reason,by\ndev/{dev[0]['id']},{label},seen again,rin\n", "utf-8"
    )
    (folder / "second.csv").write_text(
        f"id,label,by\ndev/{dev[0]['id']},{dev[0]['gold']['label']},mio\n", "utf-8"
    )
    do(
        folder,
        "build --amend trial --relabel correct.csv --out trial-next --date 2026-01-02 --quiet",
    )
    tasks = (
        (folder / "waiting" / "people" / "topics" / "tasks.jsonl").read_text("utf-8").splitlines()
    )
    labels = json.loads(
        (folder / "waiting" / "people" / "topics" / "sheet.json").read_text("utf-8")
    )["labels"]
    rows = ["example,worker,answer"]
    for number, line in enumerate(tasks):
        first, other = labels[number % 7], labels[(number + 3) % 7]
        given = [first, first, other if number % 4 == 0 else first]
        rows += [
            f"{json.loads(line)['id']},w{k},{best} > {labels[(number + 5) % 7]}"
            for k, best in enumerate(given)
        ]
    (folder / "answers.csv").write_text("\n".join(rows) + "\n", "utf-8")
    pack("builds", folder, "trial", "trial-next", "waiting", "answers.csv", "correct.csv", "second.csv", "captions.jsonl", "headlines.jsonl", "jnli.toml", "ynat.toml")  # fmt: skip


def chats(folder: Path) -> None:
    """A run killed while the server was silent, and a finished one whose replies are shared."""
    with chat():
        do(folder, f"{CHAT} --set cache=replies --tasks mini-ja-nli --out talked --quiet")
    with chat(most=6) as server:
        _killed_at(
            folder, f"{CHAT} --tasks mini-ja-nli --out broken --quiet", lambda: server.asked > 6
        )
    assert _unfinished(folder / "broken")
    pack("chat", folder, "talked", "replies", "broken")


def project(folder: Path) -> None:
    """Three workers: one is done with some, one has an item in hand, one was only invited."""
    sheet(folder)
    new = "collect new similarity --examples sims.jsonl --form scale --workers-per-item 2 --title 近さ --json"
    password = _said(folder, new)["password"]
    links = _said(folder, "collect links similarity rin mio sora --json")["links"]
    with project_served(folder, "similarity") as address:
        paths = {name: address + link[link.index("/w/") :] for name, link in links}
        assert work(paths["rin"], "rin", 6) == 6
        assert work(paths["mio"], "mio", 4) == 4
        get(f"{paths['sora']}/next")
    do(
        folder,
        "collect export similarity --out exported.jsonl --quiet",
        "collect export similarity --out nameless.jsonl --pseudonymise --quiet",
    )
    told = {"links": dict(links), "password": password}
    (folder / "links.json").write_text(json.dumps(told), "utf-8")
    pack("project", folder, "similarity", "exported.jsonl", "nameless.jsonl", "links.json")


def _said(folder: Path, line: str) -> Any:
    from tests.compat.play import said

    return json.loads(said(folder, line).out)


def pretrain(folder: Path) -> None:
    """A training that was interrupted between two steps. What its tensors hold repeats itself, to be small."""
    sheet(folder)
    state = folder / "encoder" / "work" / "state" / "state.safetensors"
    wait = 2.0
    while not state.exists():
        with start(folder, f"{PRETRAIN} --quiet") as process:
            while not (folder / "encoder" / "work" / "pack.json").exists():
                time.sleep(0.05)
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
        wait += 0.25
        assert not (folder / "encoder" / "config.json").exists(), (
            "it was done before it was interrupted"
        )
    repeat(state, PERIOD)
    pack("pretrain", folder, "encoder", "corpus.txt")
    do(folder, f"{PRETRAIN} --quiet")
    figures = json.loads((folder / "encoder" / "pretraining.json").read_text("utf-8"))
    ended = {"figures": figures, "sizes": sizes(folder / "encoder" / "model.safetensors")}
    (STORED / "pretrained.json").write_text(
        json.dumps(ended, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )


def datasets(folder: Path) -> None:
    """Dataset folders as several commands write them."""
    sheet(folder)
    do(
        folder,
        "data export own-data --to jsonl --out hidden --quiet",
        "perturb particles perturb-ja.jsonl --out perturbed --quiet",
        "aggregate judgements.jsonl --rule label=majority --rule score=mean+round:1 --examples pairs.jsonl --out gold --quiet",
        "split gold/examples.jsonl --by group --question label --sizes 0.5,0.5 --card name=judged --card version=1.0 --card licence=CC0-1.0 --out judged --quiet",
        "generate my-pack -n 2 --seed 1 --split all --out made --quiet",
        "data export mini-ko --to parquet --out table --quiet",
    )
    pack(
        "datasets",
        folder,
        "hidden",
        "perturbed",
        "gold",
        "judged",
        "made",
        "table",
        "judgements.jsonl",
        "my-pack",
    )


MAKERS = {
    "runs": runs,
    "builds": builds,
    "chat": chats,
    "project": project,
    "pretrain": pretrain,
    "datasets": datasets,
}


def archives(asked: set[str] | None) -> None:
    """Make all archives, or those named."""
    for name, make in MAKERS.items():
        if asked is None or name in asked:
            with tempfile.TemporaryDirectory() as folder:
                make(Path(folder))
