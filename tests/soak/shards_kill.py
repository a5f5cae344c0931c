"""Cleaning, tagging, perturbing and generating killed with SIGKILL again and again, in shards and not, on disk and at an S3 server that dies too.

Must hold: each command ends in the end with the bytes of one that was not killed, finished shards are not written again, nothing unfinished
can be read, and whatever dies, a command that ends by itself prints one line.

    python -m tests.soak.shards_kill [--sentences 60000] [--files 6] [--kills 4] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.cluster_kill import report_line

SERVER = """
import sys, time, logging
logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
port = int(sys.argv[1])
server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
for line in sys.stdin:
    if line.startswith("stop"):
        server.stop()
    else:
        server = ThreadedMotoServer("127.0.0.1", int(line), verbose=False)
        server.start()
    print("ready", flush=True)
"""
"""Keeps its objects while it is stopped."""


class Server:
    """An S3 server in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", SERVER, "0"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.port = int(self._read())

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def tell(self, line: str) -> None:
        """Stop it, or start it again by its port."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        assert self._read() == "ready\n"


def start(words: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start the command in a group of its own, workers and all."""
    command = [sys.executable, "-m", "nikawa", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def read_files(folder: Path, address: str = "") -> dict[str, bytes]:
    """The files of a folder, here or at the server, without the manifest."""
    if address:
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        files = {path.rpartition("/")[2]: store.cat(path) for path in store.find(address[5:])}
    elif folder.is_file():
        return {"": folder.read_bytes()}
    elif folder.is_dir():
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    else:
        return {}
    files.pop("shards.json", None)
    return files


def finish(words: list[str], folder: Path) -> float:
    """Run a command to its end; the seconds that it took."""
    begin = time.monotonic()
    process = start(words, folder)
    _, stderr = process.communicate()
    assert process.returncode == 0, (words, stderr[-2000:])
    return time.monotonic() - begin


def kill_until_done(
    name: str,
    words: list[str],
    out: str,
    folder: Path,
    chance: random.Random,
    kills: int,
    seconds: float,
    server: Server | None,
) -> None:
    """Kill the command some times, and stop the server under it some times; then let it end."""
    stopped = 0
    for number in range(kills):
        process = start([*words, "--out", out], folder)
        time.sleep(1.0 + chance.random() * seconds)
        if process.poll() is not None:
            break
        if server is not None and number % 2:
            server.tell("stop")
            _, stderr = process.communicate()
            server.tell(f"{server.port}")
            if process.returncode:
                stopped += 1
                assert process.returncode == 2, stderr[-2000:]
                assert stderr.startswith("nikawa: s3://"), stderr[-2000:]
                assert stderr.count("\n") == 1, stderr
        else:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        refuse_reading(out, folder)
    if not is_done(out, folder):
        finish([*words, "--out", out], folder)
    here = read_files(folder / f"expected-{name}")
    there = read_files(folder / out, out if server is not None else "")
    assert there == here, (name, sorted(there), sorted(here))
    report_line(f"{name}: {kills} kills ({stopped} of the server), same bytes")


def is_done(out: str, folder: Path) -> bool:
    """Whether the output is complete."""
    from nikawa.io.remote import forget_known, to_path

    forget_known()
    path = to_path(out) if "://" in out else folder / out
    return path.is_file() or (path / "shards.json").exists()


def refuse_reading(out: str, folder: Path) -> None:
    """Nothing that is not complete may be read."""
    if is_done(out, folder):
        return
    process = start(["tag", out, "--pack", "none"], folder)
    _, stderr = process.communicate()
    assert process.returncode == 2, (out, stderr)
    words = ("is incomplete", "no such file", "there is no dataset")
    assert any(word in stderr for word in words), stderr


def write_corpus(folder: Path, files: int, sentences: int) -> None:
    """Write text whose sentences differ; some repeat those of an earlier file."""
    words = ["犬", "猫", "庭", "海", "山", "空", "町", "本", "駅", "川", "森", "店"]
    chance = random.Random(0)
    folder.mkdir()
    for number in range(files):
        with (folder / f"part-{number}.txt").open("w", encoding="utf-8") as stream:
            for line in range(sentences // files):
                subject, place, other = chance.choices(words, k=3)
                time_of = chance.randrange(10**6) if line % 10 else line
                text = f"{subject}が{time_of}番目の{place}と{other}の間を静かに歩いて行かなかった。"
                stream.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=60_000)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_corpus(folder / "corpus", options.files, options.sentences)
        corpus = sorted(f"corpus/{path.name}" for path in (folder / "corpus").iterdir())
        finish(["clean", *corpus, "--shards", "--out", "candidates"], folder)
        commands = {
            "clean": ["clean", *corpus],
            "clean in shards": ["clean", *corpus, "--shards"],
            "tag": ["tag", "candidates", "--shards"],
            "perturb": ["perturb", "scramble,punctuation-drop", "candidates", "--shards"],
            "generate": ["generate", "comparative-ja", "-n", "40", "--seed", "3", "--shards", "9"],
        }
        commands["perturb"] += ["--assume-eligible"]
        server = Server()
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{server.port}"
        os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "test"
        os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
        os.environ["AWS_MAX_ATTEMPTS"] = "1"
        import s3fs

        store = s3fs.S3FileSystem()
        store.mkdir("lab")
        store.put(str(folder / "candidates"), "lab/candidates", recursive=True)
        store.put(str(folder / "corpus"), "lab/corpus", recursive=True)
        for name, words in commands.items():
            seconds = finish([*words, "--out", f"expected-{name}"], folder)
            local = ([*words, "--workers", "2"], f"killed-{name}", None)
            remote = ["s3://lab/" + w if w in (*corpus, "candidates") else w for w in words]
            places = [local, (remote, f"s3://lab/killed-{name.replace(' ', '-')}", server)]
            for command, out, where in places[: 1 if name == "clean" else 2]:
                kill_until_done(name, command, out, folder, chance, options.kills, seconds, where)
        server.process.kill()
        server.process.wait()


if __name__ == "__main__":
    main()
