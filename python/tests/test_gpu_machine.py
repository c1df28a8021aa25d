"""gpu_machine.py: one run names all tests that fail or hang; PEs share GPUs."""

import os
import sys
from pathlib import Path

import pytest
from launch import BUILD, ROOT, run

MADE_UP = """
import pytest
import shmem

@pytest.mark.parametrize("k", ["a", "b"])
def test_compares(k, me):
    answer = 40 + me
    assert k == "b" or answer == 40

def test_ends(me):
    if me == 0:
        import os, signal
        os.kill(os.getpid(), signal.SIGSEGV)

def test_good():
    shmem.barrier_all()

def test_left_out():
    pytest.skip("for the sake of it")
"""

PROGRAM = """
import sys
sys.path.insert(0, "python/tests")
import gpu_machine
gpu_machine.tests("made up", "-n 2", {}, sys.argv[1])
gpu_machine.tests("again", "-n 2", {}, sys.argv[2])
print(gpu_machine.verdicts)
"""


@pytest.mark.full
def test_rows(tmp_path: Path) -> None:
    for folder, text in (("bad", MADE_UP), ("good", "def test_good(): pass\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "conftest.py").write_text("from job import *\n")
        (tmp_path / folder / f"test_{folder}.py").write_text(text)
    bad, good = str(tmp_path / "bad"), str(tmp_path / "good")
    paths = {"BUILD": str(BUILD), "OUT": str(tmp_path)}
    done = run(sys.executable, "-c", PROGRAM, bad, good, cwd=ROOT, **paths)
    said = done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("== ")]
    assert len(rows) == 2 and done.stdout.endswith("[False, True]\n"), said
    assert "FAILED" in rows[0] and "test_compares[a]" in rows[0] and "test_ends" in rows[0], said
    assert "test_good" not in rows[0] and "[b]" not in rows[0]
    assert "answer     = 41" in said and "for the sake of it" in said
    assert rows[1].startswith("== python/again: ok, 1 passed")
    assert "test_good" in (tmp_path / "gpu-python.txt").read_text()


# Replaces the programs of a machine with GPUs. The jobs print only how they were started.
FAKES = {
    "path/nvidia-smi": """for i in $(seq "$GPUS"); do echo "GPU $i: a made up one"; done""",
    "path/nvidia-cuda-mps-control": """
word=$1
[ -n "$word" ] || read -r word
echo "$word $CUDA_MPS_PIPE_DIRECTORY" >>"$OUT/mps"
[ "$word" != get_server_list ] || [ ! -e "$OUT/server" ] || cat "$OUT/server"
""",
    "cuda/facts": """
[ "$MPS" = idle ] || echo 4711 >"$OUT/server"
[ "$MPS" != ends ] && [ -d "$CUDA_MPS_PIPE_DIRECTORY" ]
""",
    "bin/shmemrun": """
echo "pipe '${CUDA_MPS_PIPE_DIRECTORY-}': $*"
for i in $(seq "$4"); do echo "PE $i of $4: 2 passed, 0 failed, 0 skipped"; done
exit "$STATUS"
""",
}


def machine(folder: Path, gpus: int, mps: str = "serves", status: int = 0) -> tuple[str, str, str]:
    """The output of some rows, how their jobs were started, and the requests to MPS."""
    for name, text in FAKES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    names = "machine/ring", "draft/ring", "triton"
    done = run(
        *(sys.executable, "python/tests/gpu_machine.py", *names),
        cwd=ROOT,
        **{"BUILD": str(folder), "OUT": str(folder), "MPS": mps, "GPUS": str(gpus)},
        **{"PATH": f"{folder / 'path'}:{os.environ['PATH']}", "STATUS": str(status)},
    )
    assert done.returncode == (status != 0), done.stdout + done.stderr
    asked = folder / "mps"
    said = (folder / "gpu-python.txt").read_text()
    return done.stdout, said, asked.read_text() if asked.exists() else ""


def jobs(said: str, word: str) -> list[str]:
    """How the jobs with a word in their command were started."""
    return [line for line in said.splitlines() if line.startswith("pipe") and word in line]


@pytest.mark.parametrize("status", [0, 3])
def test_one_gpu(status: int, tmp_path: Path) -> None:
    """All share it by MPS, except the drafts; MPS also ends when rows fail."""
    shown, said, asked = machine(tmp_path, 1, status=status)
    assert shown.startswith("== one GPU, shared by MPS\n") and "MPS" in said
    assert "\nleft for several GPUs: triton/direct\n" in shown and "triton/direct:" not in said
    words = [line.split() for line in asked.splitlines()]
    pipe = words[0][1]
    assert words == [["-d", pipe], ["get_server_list", pipe], ["quit", pipe]]
    assert not Path(pipe).exists()
    # The drafts run beside the others, in their own order.
    (folder,) = jobs(said, "tests/machine --ignore")
    assert folder.startswith(f"pipe '{pipe}'") and folder.count("test_draft.py") == 1
    drafts = [line for line in jobs(said, "tests/machine") if line != folder]
    assert len(drafts) == 3 and all(line.startswith("pipe ''") for line in drafts)
    assert [line.partition(" -k ")[2] for line in drafts] == [
        "",
        *["driver or triton or numba"] * 2,
    ]
    assert all(line.startswith(f"pipe '{pipe}'") for line in jobs(said, "triton/exchange"))


@pytest.mark.parametrize("mps", ["idle", "ends"])
def test_mps_does_not_start(mps: str, tmp_path: Path) -> None:
    """A daemon without a server, and a client that it ends."""
    shown, said, asked = machine(tmp_path, 1, mps)
    assert shown.startswith("== one GPU, whose PEs take turns of 2.4 ms: MPS does not start\n")
    assert len(jobs(said, "")) == 6 and len(jobs(said, "pipe ''")) == 6
    assert asked.splitlines()[-1].startswith("quit /")


def test_several_gpus(tmp_path: Path) -> None:
    shown, said, asked = machine(tmp_path, 2)
    assert "MPS" not in shown and "left" not in shown and asked == ""
    assert "== python/triton/direct: ok" in shown and len(jobs(said, "pipe ''")) == 7
