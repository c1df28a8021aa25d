"""python -m shmem.perf."""

import sys
from pathlib import Path

from launch import BUILD, run

SHORT = ("-T", "0.2", "--batches", "1", "-s", "8", "put_latency")


def test_it_measures() -> None:
    done = run(sys.executable, "-m", "shmem.perf", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "# put latency, us, until quiet" in done.stdout


def test_it_measures_in_a_job() -> None:
    done = run(f"{BUILD}/bin/shmemrun", "-n", "2", sys.executable, "-m", "shmem.perf", *SHORT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("# put latency, us, until quiet") == 1


def test_it_is_missing(tmp_path: Path) -> None:
    (tmp_path / "libshmem.so").write_text("nothing")
    nowhere = str(tmp_path)
    done = run(sys.executable, "-m", "shmem.perf", LD_LIBRARY_PATH=nowhere, PATH=nowhere)
    assert done.returncode == 1
    assert done.stderr == "shmem.perf: shmem-perf is missing (install the complete library)\n"
