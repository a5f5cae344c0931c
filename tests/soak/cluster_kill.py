"""A sweep and a cleaning on a real cluster of two nodes while a node, and then the command itself, is killed with SIGKILL.

Must hold: the same bytes as on one machine, nothing lost, no finished run done again, and no candidates of half a text.
That finished runs are not done again is counted exactly: a model notes in a file outside each time it begins and ends.

    python -m tests.soak.cluster_kill [--runs 8] [--rows 4000] [--sentences 200000] [--counted 24]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster.counting import COUNTS_VARIABLE, count_runs
from tests.cluster.desk import write_dataset
from tests.cluster.nodes import TestCluster, start_cluster
from tests.cluster.test_runs import read_results
from tests.models.encoder.checkpoints import save_tiny

import nikawa
from nikawa.execute.ray_cluster import QUEUE_AHEAD

PATIENCE_SECONDS = 600.0


def start_sweep(desk: Path, runs: int, out: str, *where: str) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    words = ["run", "--model", "char-linear", "--tasks", "mine", "--seeds", str(runs)]
    command = [sys.executable, "-m", "nikawa", *words, "--json", "--out", out, *where]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=desk, stdout=pipe, stderr=pipe, text=True)


def end_sweep(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The report of a command that must succeed and print nothing else."""
    stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, stderr) == (0, ""), (process.returncode, stderr[-2000:])
    report: dict[str, Any] = json.loads(stdout)
    return report


def report_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def list_finished(out: Path) -> dict[str, int]:
    """The finished runs, with the time at which each was finished."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/done.json")}


def wait_until(what: str, is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < end, f"{what}: not within {PATIENCE_SECONDS:.0f} s"
        time.sleep(0.05)


def kill_node(desk: Path, cluster: TestCluster, node: Any, runs: int) -> None:
    """Kill one of two nodes after a third of the runs; the other one does the rest."""
    out = desk / "node-killed"
    process = start_sweep(desk, runs, out.name, "--executor", "ray", "--address", cluster.address)
    wait_until("runs before the kill", lambda: len(list_finished(out)) >= runs // 3)
    cluster.kill_node(node)
    before = list_finished(out)
    report = end_sweep(process)
    assert (report["done"], report["skipped"], report["problems"]) == (runs, 0, []), report
    assert before.items() <= list_finished(out).items(), "a finished run was done again"
    assert read_results(out) == read_results(desk / "here"), "other bytes than on one machine"
    report_line(f"node killed after {len(before)} of {runs} runs: all done, same bytes")


def send_checkpoint(desk: Path, cluster: TestCluster) -> None:
    """An encoder by a relative path: each node fetches it once, and the bytes are those of one machine."""
    save_tiny(desk / "models" / "tiny", set("番目の犬が庭を走る。猫鳥traindevtest0123456789"))
    words = ["run", "--model", "encoder:models/tiny", "--tasks", "mine", "--seeds", "4"]
    words += ["--set", "epochs=1", "--set", "device=cpu", "--threads", "1", "--json", "--out"]
    where = ["--executor", "ray", "--address", cluster.address, "--gpus-per-run", "0"]
    for place in (["encoder-here", "--workers", "1"], ["encoder-there", *where]):
        command = [sys.executable, "-m", "nikawa", *words, *place]
        subprocess.run(command, cwd=desk, check=True, stdout=subprocess.DEVNULL)
    there = read_results(desk / "encoder-there")
    assert there == read_results(desk / "encoder-here"), "other bytes than on one machine"
    copies = [
        len(list(node.glob("contents/*/tiny/config.json"))) for node in cluster.folder.iterdir()
    ]
    assert max(copies) == 1, copies
    report_line(f"a checkpoint went to {sum(copies)} nodes, once to each: same bytes")


def kill_driver(desk: Path, cluster: TestCluster, runs: int) -> None:
    """Kill the command after a third of the runs, and start it again."""
    out = desk / "driver-killed"
    where = ("--executor", "ray", "--address", cluster.address)
    process = start_sweep(desk, runs, out.name, *where)
    wait_until("runs before the kill", lambda: len(list_finished(out)) >= runs // 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = list_finished(out)
    assert len(before) < runs, "all runs were done before the kill: raise --rows"
    reference = read_results(desk / "here")
    for name, data in read_results(out).items():
        if name.partition("/")[0] in before:
            assert reference[name] == data, name
    report = end_sweep(start_sweep(desk, runs, out.name, *where))
    counts = (report["done"], report["skipped"], report["problems"])
    assert counts == (runs - len(before), len(before), []), counts
    assert before.items() <= list_finished(out).items(), "a finished run was done again"
    assert read_results(out) == reference, "other bytes than on one machine"
    report_line(
        f"command killed after {len(before)} of {runs} runs: the others were resumed, same bytes"
    )


def start_counted(desk: Path, cluster: TestCluster, runs: int) -> subprocess.Popen[str]:
    """Start a sweep of a model of another package that notes its runs; each takes half a second."""
    path = os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(cluster.plugins)))
    os.environ["PYTHONPATH"] = path
    os.environ[COUNTS_VARIABLE] = str(desk / "none")
    words = ["run", "--model", "counted", "--tasks", "mine", "--seeds", str(runs)]
    words += ["--set", "seconds=0.5", "--json", "--out", "counted"]
    words += ["--executor", "ray", "--address", cluster.address]
    command = [sys.executable, "-m", "nikawa", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=desk, stdout=pipe, stderr=pipe, text=True)


def list_finished_seeds(out: Path) -> set[int]:
    """The seeds of the finished runs."""
    runs = [path.with_name("run.json") for path in out.glob("*/done.json")]
    return {json.loads(path.read_text("utf-8"))["seed"] for path in runs}


def count_work(desk: Path, cluster: TestCluster, node: Any, runs: int) -> None:
    """Kill the command twice and a node once; then count how often each run was worked on."""
    out = desk / "counted"
    finished_at: list[set[int]] = []
    for share, number in ((1, signal.SIGTERM), (2, signal.SIGKILL)):
        process = start_counted(desk, cluster, runs)
        wanted = runs * share // 4
        wait_until("runs before the kill", lambda wanted=wanted: len(list_finished(out)) >= wanted)  # type: ignore[misc]
        process.send_signal(number)
        _, stderr = process.communicate()
        assert (process.returncode, stderr) == (-number, ""), stderr[-2000:]
        finished_at.append(list_finished_seeds(out))
    process = start_counted(desk, cluster, runs)
    wait_until("runs before the kill", lambda: len(list_finished(out)) >= runs * 3 // 4)
    cluster.kill_node(node)
    end_sweep(process)
    begun, ended = count_runs(cluster.counts)
    assert sorted(begun) == sorted(ended) == list(range(runs)), (begun, ended)
    again = {seed: number for seed, number in begun.items() if number > 1}
    for finished in finished_at:
        assert len(finished) < runs, "all runs were done before the kill: raise --counted"
    # Of a run that is on its way when the command or its node is killed, nothing is stored: it is done again.
    assert not again.keys() & finished_at[0], (again, finished_at)
    assert all(begun[seed] <= 2 for seed in finished_at[1]), (again, finished_at)
    on_their_way = 2 * 2 * QUEUE_AHEAD + 1
    assert sum(begun.values()) <= runs + on_their_way, again
    report = end_sweep(start_counted(desk, cluster, runs))
    assert (report["done"], report["skipped"]) == (0, runs), report
    assert count_runs(cluster.counts) == (begun, ended), "a finished run was done again"
    assert not (desk / "none").exists(), "the command did a run itself"
    done_again = ", ".join(f"{number - 1} of seed {seed}" for seed, number in again.items())
    report_line(
        f"{runs} runs counted, the command killed after {len(finished_at[0])} and {len(finished_at[1])}, then a node: "
        f"no finished run was begun again; unfinished ones were: {done_again or 'none'}"
    )


def refuse_other_version(desk: Path, cluster: TestCluster) -> None:
    """A node that has another version of the package: no command may send it work."""
    source = cluster.folder / "other-source"
    shutil.copytree(Path(nikawa.__file__).parent, source / "nikawa")
    version = source / "nikawa" / "version.py"
    version.write_text(version.read_text("utf-8").replace(nikawa.__version__, "9.9.9"), "utf-8")
    other = cluster.add_node(str(source))
    cluster.cluster.wait_for_nodes()
    where = ("--executor", "ray", "--address", cluster.address)
    (desk / "few.txt").write_text("朝、旅人は港で古い地図を見ていた。\n", "utf-8")
    clean = [sys.executable, "-m", "nikawa", "clean", "few.txt", "--out", "few.jsonl", *where]
    for process in (
        start_sweep(desk, 1, "other-version", *where),
        subprocess.Popen(
            clean, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ),
    ):
        stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.returncode, stdout, stderr.count("\n")) == (2, "", 1), (stdout, stderr)
        line = f"the node 127.0.0.1 has nikawa 9.9.9, and the command runs {nikawa.__version__}"
        assert line in stderr, stderr
    assert not list(desk.glob("other-version/*/done.json"))
    assert not (desk / "few.jsonl").exists()
    cluster.kill_node(other)
    report_line("a node of another version: a sweep and a cleaning were refused with one line")


def start_cleaning(desk: Path, out: str, *where: str) -> subprocess.Popen[str]:
    """Start a cleaning in a process of its own; its candidates go into a folder of their own."""
    (desk / out).mkdir(exist_ok=True)
    words = ["clean", "text.txt", "--out", f"{out}/o.jsonl", "--json", *where]
    command = [sys.executable, "-m", "nikawa", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=desk, stdout=pipe, stderr=pipe, text=True)


def has_begun(folder: Path) -> bool:
    """Whether a cleaning has written something, to a file that is not complete yet."""
    return any(path.is_file() and path.stat().st_size > 0 for path in folder.glob("**/*"))


def kill_node_of_cleaning(desk: Path, cluster: TestCluster, node: Any) -> None:
    """Kill one of two nodes in the middle of a cleaning; the other one does the rest."""
    where = ("--executor", "ray", "--address", cluster.address)
    process = start_cleaning(desk, "clean-node", *where)
    wait_until("candidates before the kill", lambda: has_begun(desk / "clean-node"))
    assert process.poll() is None, "the cleaning ended before the kill: raise --sentences"
    cluster.kill_node(node)
    report = end_sweep(process)
    assert report == end_sweep(start_cleaning(desk, "clean-here")), report
    whole = (desk / "clean-here" / "o.jsonl").read_bytes()
    assert (desk / "clean-node" / "o.jsonl").read_bytes() == whole, "other bytes"
    report_line(f"node killed in the middle of a cleaning: {report['kept']:,} kept, same bytes")


def kill_driver_of_cleaning(desk: Path, cluster: TestCluster) -> None:
    """Kill the command in the middle of a cleaning, and start it again."""
    where = ("--executor", "ray", "--address", cluster.address)
    process = start_cleaning(desk, "clean-driver", *where)
    wait_until("candidates before the kill", lambda: has_begun(desk / "clean-driver"))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    out = desk / "clean-driver" / "o.jsonl"
    assert not out.exists(), "half a text has candidates"
    end_sweep(start_cleaning(desk, "clean-driver", *where))
    assert out.read_bytes() == (desk / "clean-here" / "o.jsonl").read_bytes(), "other bytes"
    assert list(out.parent.iterdir()) == [out], "the killed command left files"
    report_line("command killed in the middle of a cleaning: nothing written, then same bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--counted", type=int, default=24)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # Ray announces changes of its own
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as nodes:
        desk = Path(place)
        write_dataset(desk, {"train": options.rows, "dev": 300, "test": 300})
        begin = time.monotonic()
        end_sweep(start_sweep(desk, options.runs, "here", "--workers", "1"))
        report_line(f"{options.runs} runs on one machine: {time.monotonic() - begin:.0f} s")
        with start_cluster(Path(nodes), desk, nodes=0) as cluster:
            first, _ = cluster.add_node(), cluster.add_node()
            cluster.cluster.wait_for_nodes()
            kill_node(desk, cluster, first, options.runs)
            cluster.add_node()
            cluster.cluster.wait_for_nodes()
            kill_driver(desk, cluster, options.runs)
            send_checkpoint(desk, cluster)
            third = cluster.add_node()
            cluster.cluster.wait_for_nodes()
            count_work(desk, cluster, third, options.counted)
            lines = (
                f"{n}日目の朝、{n * 7 % 1000}人の旅人は港で古い地図を見ていた。\n"
                for n in range(options.sentences)
            )
            (desk / "text.txt").write_text("".join(lines), "utf-8")
            refuse_other_version(desk, cluster)
            second = cluster.add_node()
            cluster.cluster.wait_for_nodes()
            kill_node_of_cleaning(desk, cluster, second)
            kill_driver_of_cleaning(desk, cluster)


if __name__ == "__main__":
    main()
