"""The sbatch script on this machine: `srun` and `scontrol` are stubs, Ray and the sweep are real.

    python -m tests.soak.slurm_script

Two nodes of a Slurm job are two nodes of Ray on 127.0.0.1 with one CPU each and a folder of their own. The sweep must leave the same
files as a local one, no process of Ray may be left, and a node that does not come must be one line and a failure.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nikawa

SCRIPT = Path(__file__).parents[2] / "examples" / "cluster" / "nikawa.sbatch"
HOSTS = ("node-a", "node-b")
JOB = str(40_000 + os.getpid() % 9_000)
SCONTROL = f"""#!/bin/bash
[ "$1 $2 $3" = "show hostnames node-[a-b]" ] || exit 9
printf '%s\\n' {" ".join(HOSTS)}
"""
SRUN = """#!/bin/bash
# runs a command as the node that --nodelist names would
host=""
while [ "${1#--}" != "$1" ]; do
    case "$1" in
        --nodelist=*) host="${1#*=}" ;;
        --nodes=1 | --ntasks=1) ;;
        *) exit 9 ;;
    esac
    shift
done
[ "$host" != "$MISSING_NODE" ] || exec sleep 600
mkdir -p "$STUBS/$host"
cd "$STUBS/$host"
export HOME="$STUBS/$host" NIKAWA_NODE_DIR="$STUBS/$host/nikawa"
exec "$@"
"""
HOSTNAME = """#!/bin/bash
echo "::1 127.0.0.1"
"""
RAY = """#!/bin/bash
# a node of its own machine finds its address; here it is the loopback address
case "$*" in
    *--head*) exec "$PYTHON" -m ray.scripts.scripts "$@" ;;
    *) exec "$PYTHON" -m ray.scripts.scripts "$@" --node-ip-address=127.0.0.1 ;;
esac
"""
NIKAWA = '#!/bin/bash\nexec "$PYTHON" -m nikawa "$@"\n'
PYTHON = '#!/bin/bash\nexec "$PYTHON" "$@"\n'
SWEEP = ("run", "--model", "majority", "--tasks", "mini-ja-nli", "--seeds", "3", "--quiet")


def write_stubs(folder: Path) -> None:
    """The programs that the script finds first."""
    programs = {
        "scontrol": SCONTROL,
        "srun": SRUN,
        "hostname": HOSTNAME,
        "ray": RAY,
        "nikawa": NIKAWA,
        "python": PYTHON,
    }
    for name, text in programs.items():
        path = folder / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)


def run_script(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the script as Slurm runs it on the first node of a job."""
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": str(Path(nikawa.__file__).parents[1]),
        "STUBS": str(folder),
        "MISSING_NODE": "",
        "SLURM_JOB_ID": JOB,
        "SLURM_JOB_NODELIST": "node-[a-b]",
        "SLURM_CPUS_PER_TASK": "1",
        **settings,
    }
    command = ["bash", str(SCRIPT), *words]
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def list_processes() -> list[str]:
    """The processes of Ray that belong to the job."""
    shown = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if f"/tmp/ray-{JOB}" in words:
            shown.append(words)
    return shown


def list_answers(runs: Path) -> dict[str, Path]:
    """The files of predictions below a folder of runs."""
    return {path.relative_to(runs).as_posix(): path for path in runs.glob("*/predictions/*.jsonl")}


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_stubs(folder)
        done = run_script(folder, *SWEEP, "--out", "runs")
        lines = [line for line in done.stdout.splitlines() if line.startswith("nikawa.sbatch")]
        sys.stdout.write("\n".join([*lines, done.stderr[-3000:] if done.returncode else ""]))
        assert done.returncode == 0, done.returncode
        assert "2 nodes with 1 CPUs each have joined" in done.stdout
        local = [sys.executable, "-m", "nikawa", *SWEEP, "--out", str(folder / "local")]
        subprocess.run(local, check=True, cwd=folder)
        ours, theirs = list_answers(folder / "runs"), list_answers(folder / "local")
        assert len(ours) == 3, ours
        assert ours.keys() == theirs.keys()
        assert all(filecmp.cmp(ours[name], theirs[name], shallow=False) for name in ours)
        used = [host for host in HOSTS if (folder / host / "nikawa" / "contents").exists()]
        assert used, "no node fetched anything"
        assert not list_processes(), list_processes()

        missing = run_script(
            folder, *SWEEP, "--out", "other", MISSING_NODE="node-b", NIKAWA_START_SECONDS="15"
        )
        assert missing.returncode == 1, missing
        assert "1 of 2 nodes joined within 15 seconds" in missing.stderr, missing.stderr
        assert not (folder / "other").exists()
        assert not list_processes(), list_processes()
    sys.stdout.write("the sbatch script ran a sweep on two nodes, and refused a job with one\n")


if __name__ == "__main__":
    main()
