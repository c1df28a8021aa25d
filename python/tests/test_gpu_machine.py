"""gpu_machine.py: one run names all tests that fail, also those that hang."""

import sys
from pathlib import Path

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
