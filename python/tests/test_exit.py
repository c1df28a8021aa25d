"""How a program ends without a call of finalize."""

from pathlib import Path

import pytest
from launch import full, pes


@pytest.mark.parametrize("job", ["1 2", "2 1", *full("python", "1 1", "2 2")])
def test_the_first_to_end_waits(job: str, tmp_path: Path) -> None:
    """PE 0 ends long before the others, which still get the data that it has put."""
    hosts, inits = job.split()
    program = f"""
import os, time, shmem
for _ in range({inits}):
    shmem.init()
me, n = shmem.my_pe(), shmem.n_pes()
a = shmem.zeros(1000, int)
if me == 0:
    for pe in range(1, n):
        shmem.put_nbi(a, [7] * 1000, pe)
    open({str(tmp_path / "through")!r}, "w")
else:
    while not os.path.exists({str(tmp_path / "through")!r}):
        time.sleep(0.01)
    shmem.wait_until(a[999:], "==", 7)
    print("PE", me)
"""
    done = pes(3, program, "--hosts", hosts)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["PE 1", "PE 2"]
    assert done.stderr == ""


@pytest.mark.parametrize("end", ["sys.exit(3)", "raise ValueError", "os._exit(5)"])
def test_who_fails_does_not_wait(end: str) -> None:
    """A PE that fails ends the job with its status, although the others wait for it."""
    begin = "import os, sys, shmem\nshmem.init()\n"
    done = pes(3, f"{begin}if shmem.my_pe() == 1:\n    {end}\nshmem.barrier_all()\n")
    status = {"sys.exit(3)": 3, "raise ValueError": 1, "os._exit(5)": 5}[end]
    assert done.returncode == status, done.stderr
    assert f"PE 1 exited with status {status}" in done.stderr


def test_a_daemon_thread_in_a_wait() -> None:
    """The thread may be in a call until the process has ended."""
    program = """
import threading, shmem
shmem.init()
a = shmem.zeros(1, int)
threading.Thread(target=shmem.wait_until, args=(a, "==", 1), daemon=True).start()
shmem.barrier_all()
"""
    done = pes(2, program)
    assert done.returncode == 0, done.stderr
