"""Jobs of torch's own launcher."""

import subprocess
from pathlib import Path

import pytest
from launch import full, need_torch, run, torch_variables
from test_start import RING, free_port


def torchrun() -> list[str]:
    """The command that starts a job by torch itself; its environment is torch_variables."""
    # With --redirects and --tee, because torch 1.13 fails without them on Python 3.11.
    return [need_torch(), "-m", "torch.distributed.run", "--redirects=1", "--tee=1"]


@pytest.mark.parametrize("meeting", ["standalone", *full("python", "two agents", "agent")])
def test_torchrun(meeting: str, tmp_path: Path) -> None:
    """A job of torch's own launcher: if its agent listens at MASTER_PORT, the id is in the agent's
    store, else PE 0 passes it on at a port beside that one.
    """
    (tmp_path / "ring.py").write_text(
        "import shmem\n" + RING + "for _ in range(2):\n    shmem.init(); ring(); shmem.finalize()\n"
    )
    argv, port = torchrun(), str(free_port())
    at = ["--master_addr=127.0.0.1", f"--master_port={port}"]
    agents = {
        "standalone": [["--standalone", "--nproc_per_node=2"]],
        "agent": [[*at, "--nproc_per_node=2"]],
        "two agents": [
            [*at, "--nnodes=2", f"--node_rank={i}", f"--nproc_per_node={2 - i}"] for i in range(2)
        ],
    }[meeting]
    n = 3 if meeting == "two agents" else 2
    running = [
        subprocess.Popen(
            [*argv, *agent, str(tmp_path / "ring.py")],
            env=torch_variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for agent in agents
    ]
    try:
        said, errors = zip(*(agent.communicate(timeout=240) for agent in running), strict=True)
    finally:
        for agent in running:
            agent.kill()
    assert not any(agent.returncode for agent in running), "".join(said + errors)
    lines = [line.split(":", 1)[1] for line in "".join(said).splitlines()]
    assert sorted(lines) == sorted(2 * [f"PE {i} of {n}" for i in range(n)])


@pytest.mark.full
def test_torchrun_again(tmp_path: Path) -> None:
    """The PEs of a job that torch restarts find each other without help."""
    (tmp_path / "die.py").write_text(
        "import os, shmem\n"
        + RING
        + """
shmem.init()
ring()
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and shmem.my_pe() == 1:
    os._exit(3)
shmem.barrier_all()
"""
    )
    more = ["--standalone", "--nproc_per_node=2", "--max_restarts=1", str(tmp_path / "die.py")]
    done = run(*torchrun(), *more, **torch_variables())
    assert done.returncode == 0, done.stderr
    lines = [line.split(":", 1)[1] for line in done.stdout.splitlines()]
    assert sorted(lines) == ["PE 0 of 2"] * 2 + ["PE 1 of 2"] * 2
