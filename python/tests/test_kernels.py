"""A library that was built without its own kernels."""

import sys
from pathlib import Path

from launch import LIBRARY, run, simulated_gpu

PROGRAM = """
import shmem

shmem.init()
a = shmem.zeros(4, device="gpu")
for call in (lambda: shmem.put(a, a, pe=0, stream=0), lambda: shmem.barrier_all(stream=0)):
    try:
        call()
    except shmem.DeviceError as e:
        assert "libshmem_kernels.fatbin is not there" in str(e) and "KERNELS=yes" in str(e), e
    else:
        raise AssertionError(call)
shmem.put(a, a, pe=0)
shmem.finalize()
"""


def test_calls_on_streams(tmp_path: Path) -> None:
    """Without its kernels each call raises an exception, and the program continues."""
    for name in ("libshmem.so", "libshmem_core.so"):
        (tmp_path / name).symlink_to(LIBRARY.parent / name)
    done = run(sys.executable, "-c", PROGRAM, **simulated_gpu(tmp_path, tmp_path / "libshmem.so"))
    assert done.returncode == 0, done.stdout + done.stderr
