"""The texts of exceptions and reports: numbers, causes, and the line of the program."""

import sys
from pathlib import Path

from launch import SHMEMRUN, pes, prints, python, run


def test_heap_error_has_the_numbers() -> None:
    program = """
import shmem
shmem.init(symmetric_size="1m")
kept = shmem.zeros(1 << 19, "u1")
try:
    shmem.zeros(1 << 20, "u1")
except shmem.HeapError as e:
    assert e.nbytes == 1 << 20 == e.size and 0 < e.largest <= e.free < 1 << 19, vars(e)
    use = f"{e.free} of 1048576 bytes are free, the largest free block has {e.largest}"
    assert use in str(e), e
    assert "SHMEM_SYMMETRIC_SIZE" in e.remedy, e
    print("told")
shmem.finalize()
"""
    done = python(program)
    # The exception has the text, so the library prints nothing.
    assert (done.returncode, done.stdout, done.stderr) == (0, "told\n", ""), done.stderr


def test_init_error_has_the_cause() -> None:
    program = """
import shmem
for settings in ({"symmetric_size": "many"}, {"uid": bytes(128), "pe": 0, "n_pes": 1}):
    try:
        shmem.init(**settings)
    except shmem.InitError as e:
        print(e.cause, "|", e.remedy)
"""
    done = python(program)
    size, uid = done.stdout.splitlines()
    assert size.startswith('read setting SHMEM_SYMMETRIC_SIZE="many": ') and "from 1 to 16t" in size
    assert uid.startswith("join job: unique id, byte 0: it is empty | pass on all 128 bytes"), uid
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_advice_after_finalize() -> None:
    """Follows each remedy; then the call works or has another remedy."""
    program = """
import shmem
uid = shmem.get_uniqueid()
shmem.init(uid=uid, pe=0, n_pes=1)
array, context, team = shmem.zeros(1, int), shmem.Context(), shmem.Team.world()
shmem.finalize()
def told(call, *words):
    try:
        call()
    except shmem.ShmemError as e:
        assert all(word in str(e) for word in words), e
    else:
        raise SystemExit(f"{call} was not refused")
again = "call shmem.init again, and make arrays, teams and contexts anew"
told(shmem.finalize, "after shmem.finalize", "once for each shmem.init")
for call in (lambda: shmem.put(array, [1], pe=0), context.quiet, team.sync):
    told(call, "after shmem.finalize", again)
told(lambda: shmem.init(uid=uid, pe=0, n_pes=1), "job of this id is over", "get_uniqueid again")
shmem.init(uid=shmem.get_uniqueid(), pe=0, n_pes=1)
for call in (lambda: shmem.put(array, [1], pe=0), context.quiet, team.sync):
    told(call, "after the init of this job")
array, context, team = shmem.zeros(1, int), shmem.Context(), shmem.Team.world()
shmem.put(array, [1], pe=0)
context.quiet()
team.sync()
shmem.finalize()
print("followed")
"""
    assert prints(program) == "followed\n"


def test_reports_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("""
import time
from pathlib import Path
import shmem

def until(reported):
    while reported not in Path("log").read_text():
        time.sleep(0.01)

shmem.init()
a = shmem.zeros(1, int)
if shmem.my_pe() == 0:
    until("train.py:16: shmem_int64_wait_until has waited")
    shmem.p(a, 1, pe=1)
else:
    shmem.wait_until(a, "==", 1)
team = shmem.Team.world()
if shmem.my_pe() == 0:
    until("train.py:20: shmem_team_sync has waited")
team.sync()
if shmem.my_pe() == 0:
    until("train.py:23: shmem_")
b = shmem.zeros(1, int)
shmem.finalize()
""")
    log = tmp_path / "log"
    log.touch()
    argv = [str(SHMEMRUN), "-n", "2", "--timeout", "240", "--", sys.executable, "train.py"]
    done = run(*argv, cwd=tmp_path, SHMEM_TIMEOUT="1", SHMEM_LOG_FILE=str(log))
    assert done.returncode == 0, done.stderr
    reports = log.read_text()
    for name in (
        "shmem.wait_until at train.py:16: shmem_int64_wait_until has waited",
        "Team.sync at train.py:20: shmem_team_sync has waited",
        "shmem.zeros at train.py:23: shmem_",
    ):
        assert f"PE 1: {name}" in reports or f"PE 1: shmem.{name}" in reports, reports


def test_the_end_of_a_job_names_the_line() -> None:
    """An address that only the library can judge ends the job."""
    program = """
import shmem
shmem.init()
from shmem import _runtime
_runtime.library("put").shmem_long_p(0, 1, 0)
"""
    done = pes(1, program)
    # The call is the program's own, not one of the package.
    assert "PE 0: shmem_long_p: the symmetric address is NULL" in done.stderr, done.stderr
    inside = """
import shmem
from shmem import _blocks, _room
shmem.init()
_blocks.heap.vote = 1 << 40
x = shmem.zeros(1, int)
"""
    done = pes(1, inside)
    assert "PE 0: shmem.zeros at <string>:6: shmem_" in done.stderr, done.stderr


def test_a_thread_that_keeps_the_interpreter_holds_up_no_report() -> None:
    """The line is omitted, and the report is still made."""
    program = """
import ctypes, threading
import shmem
shmem.init()
from shmem import _runtime
a = shmem.zeros(1, "i8")
def wait():
    _runtime.library("wait").shmem_long_wait_until(a.ctypes.data, 0, 1)
thread = threading.Thread(target=wait)
thread.start()
ctypes.PyDLL(None).system(b"sleep 3; echo awake >&2")
shmem.p(a, 1, pe=0)
thread.join()
shmem.finalize()
"""
    done = pes(1, program, SHMEM_TIMEOUT="1")
    assert done.returncode == 0, done.stderr
    before, awake, _ = done.stderr.partition("awake")
    assert awake and "PE 0: shmem_long_wait_until has waited 1 s" in before, done.stderr
