"""A sweep and a cleaning on a real cluster of two nodes while a node, and then the command itself, is killed with SIGKILL.

Must hold: the same bytes as on one machine, nothing lost, no finished run done again, and no candidates of half a text.

    python -m tests.soak.cluster_kill [--runs 8] [--rows 4000] [--sentences 200000]
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster.desk import write_dataset
from tests.cluster.nodes import TestCluster, start_cluster
from tests.cluster.test_runs import read_results

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
            lines = (
                f"{n}日目の朝、{n * 7 % 1000}人の旅人は港で古い地図を見ていた。\n"
                for n in range(options.sentences)
            )
            (desk / "text.txt").write_text("".join(lines), "utf-8")
            second = cluster.add_node()
            cluster.cluster.wait_for_nodes()
            kill_node_of_cleaning(desk, cluster, second)
            kill_driver_of_cleaning(desk, cluster)


if __name__ == "__main__":
    main()
