"""The job as a context, and another init of a person."""

import sys

from launch import SHMEMRUN, python, run


def test_with_finalizes() -> None:
    program = """
import shmem
with shmem.init() as job:
    assert repr(job) == "PE 0 of 1"
    with shmem.init():
        shmem.barrier_all()
    assert shmem.is_initialized()
assert not shmem.is_initialized() and repr(job) == "a job that is over"
try:
    with shmem.init():
        raise KeyError
except KeyError:
    assert not shmem.is_initialized()
"""
    done = python(program)
    assert done.returncode == 0, done.stderr


def test_an_exception_in_the_block_ends_the_job() -> None:
    """finalize would wait for the other PEs, which wait for this one."""
    program = """
import shmem
with shmem.init():
    if shmem.my_pe() == 1:
        raise KeyError("told")
    shmem.barrier_all()
"""
    done = run(str(SHMEMRUN), "-n", "2", "--timeout", "60", "--", sys.executable, "-c", program)
    assert done.returncode == 1 and "told" in done.stderr, done.stderr


def test_a_notebook_is_told_of_another_init() -> None:
    program = """
import sys, warnings, shmem
shmem.init()
with warnings.catch_warnings(record=True) as none:
    warnings.simplefilter("always")
    shmem.init()  # in a program, as libraries do
assert not none
sys.ps1 = ">>> "  # a person types
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    shmem.init()
assert "call shmem.finalize 3 times" in str(told[0].message), told
assert told[0].filename == "<string>"
for _ in range(3):
    shmem.finalize()
assert not shmem.is_initialized()
"""
    done = python(program)
    assert done.returncode == 0, done.stderr
