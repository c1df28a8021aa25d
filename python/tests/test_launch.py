"""What starts the programs of the other tests."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from launch import _end, limited


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """At the end of its time a command ends with all that it has started, as make does."""
    started = tmp_path / "started"
    script = f"sh -c 'sleep 100 & echo $! >{started}; wait' & wait"
    with pytest.raises(subprocess.TimeoutExpired):
        limited(["sh", "-c", script], dict(os.environ), limit=0.5)
    (pid,) = started.read_text().split()
    for _ in range(1000):  # the kernel may take a while to end it
        if has_ended(pid):
            return
        time.sleep(0.01)
    pytest.fail("it goes on")


def test_a_thread_that_ends_saves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process ends although one of its threads is gone before its children are read."""

    def gone(path: Path) -> str:
        raise FileNotFoundError(path)

    with subprocess.Popen(["sleep", "100"]) as process:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_text", gone)
            _end(process.pid)
        try:
            assert process.wait(timeout=10) == -signal.SIGKILL
        finally:
            process.kill()


def has_ended(pid: str) -> bool:
    """Whether a process is gone, or waits only for its parent to ask for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
