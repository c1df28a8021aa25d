"""Import, init, finalize and fork: their effects on the process."""

import subprocess
import sys
from pathlib import Path

import pytest
from launch import LIBRARY, SHMEMRUN, pes, prints, python, run


def test_import_starts_nothing() -> None:
    """No thread, no file, no library except those of numpy and Python."""
    program = """
import os, bisect, ctypes, grp, heapq, mmap, zlib, numpy
def seen():
    maps = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
    # Each number is tested: a list of the folder would have the descriptor of the list, too.
    fds = [os.path.exists(f"/proc/self/fd/{i}") for i in range(200)]
    return len(os.listdir("/proc/self/task")), fds, maps
before = seen()
import shmem
assert seen() == before, (before, seen())
assert not shmem.is_initialized()
shmem.init()
assert any("libshmem_core" in m for m in seen()[2])
shmem.finalize()
"""
    prints(program)


def test_before_init_and_after_finalize() -> None:
    program = """
import numpy as np, shmem
a = np.zeros(3, "i8")
calls = [
    shmem.my_pe, shmem.n_pes, shmem.finalize, shmem.quiet, shmem.fence, shmem.barrier_all,
    shmem.sync_all, shmem.reclaim, shmem.Context, shmem.Team.world, shmem.Team.shared,
    lambda: shmem.zeros(3, int), lambda: shmem.full(3, 1), lambda: shmem.put(a, [1], pe=0),
    lambda: shmem.get(a, a, pe=0), lambda: shmem.p(a, 1, pe=0), lambda: shmem.g(a, 0),
    lambda: shmem.atomic_inc(a, pe=0), lambda: shmem.put_signal(a, a, a, 1, pe=0),
    lambda: shmem.wait_until(a, "==", 0), lambda: shmem.test(a, "==", 0), lambda: shmem.recv(a),
    lambda: shmem.sum_reduce(a, a), lambda: shmem.free(a), lambda: shmem.ptr(a, 0),
    lambda: shmem.signal_fetch(a), lambda: shmem.pe_accessible(0), lambda: shmem.global_exit(0),
    lambda: shmem.put(a, [1], pe=0, notify=0), lambda: shmem.notify_wait(0, 0), shmem.heap,
]
def all_refuse(why):
    for call in calls:
        try:
            call()
        except shmem.StateError as e:
            assert why in str(e), e
        else:
            raise SystemExit(f"{call} was not refused")
all_refuse("before shmem.init")
shmem.init()
team, context = shmem.Team.world(), shmem.Context()
b = shmem.zeros(3, int)
shmem.put(b, [1], pe=0)  # its way is remembered
shmem.finalize()
all_refuse("after shmem.finalize")
a = b
all_refuse("after shmem.finalize")
for call in (team.sync, team.destroy, context.quiet, context.destroy):
    try:
        call()
    except shmem.StateError:
        pass
    else:
        raise SystemExit(f"{call} was not refused")
shmem.init()
try:
    context.quiet()
except shmem.ArgumentError:
    shmem.finalize()
"""
    prints(program)


@pytest.mark.parametrize("n", [1, 2])
def test_inits_are_counted_and_follow_each_other(n: int) -> None:
    program = """
import shmem
for round in range(3):
    shmem.init()
    shmem.init()
    assert shmem.is_initialized()
    a = shmem.zeros(4, int)
    shmem.put(a, [shmem.my_pe() + round] * 4, pe=(shmem.my_pe() + 1) % shmem.n_pes())
    shmem.finalize()
    shmem.barrier_all()
    assert a.tolist() == [(shmem.my_pe() - 1) % shmem.n_pes() + round] * 4
    shmem.finalize()
    assert not shmem.is_initialized()
"""
    done = pes(n, program)
    assert done.returncode == 0, done.stderr


def test_arrays_outlive_the_job() -> None:
    program = """
import gc, mmap, numpy as np, shmem
shmem.init(symmetric_size="64m")
small = [shmem.full(10, i) for i in range(50)]
big = shmem.full((1000, 1000), 7.5, "f8")
view = big[3:5]
start, size = big.ctypes.data, big.nbytes
shmem.finalize()
assert all((a == i).all() for i, a in enumerate(small))
assert (big == 7.5).all()
big[:] = 8
shmem.init(symmetric_size="64m")
others = [shmem.zeros((1000, 1000), int) for _ in range(4)]
assert (view == 8).all() and not any(o.any() for o in others)
try:
    shmem.put(view, view, pe=0)
except shmem.SymmetryError:
    pass
else:
    raise SystemExit("an array of an earlier job was taken")
def mapped():
    ranges = (line.split()[0].split("-") for line in open("/proc/self/maps"))
    return any(int(a, 16) <= start + size // 2 < int(b, 16) for a, b in ranges)
was = mapped()
del big, view, small
gc.collect()
print(was, mapped())
shmem.finalize()
"""
    assert prints(program) == "True False\n"


def test_fork() -> None:
    """Every call in a child says so, and its finalizers leave the parent alone."""
    program = """
import gc, os, multiprocessing, numpy as np, shmem
shmem.init()
a, b = shmem.full(8, 5), shmem.full(8, 6)
context, team = shmem.Context(), shmem.Team.world()
shmem.put(a, [5], pe=0)
child = os.fork()
if child == 0:
    status = 0
    assert a.sum() == 40  # numpy may read
    for call in (
        lambda: shmem.put(a, [1], pe=0), lambda: shmem.zeros(1), shmem.barrier_all, shmem.my_pe,
        lambda: shmem.g(a, 0), shmem.finalize, shmem.init, context.destroy, team.sync,
        lambda: shmem.free(a), lambda: shmem.atomic_inc(a, pe=0), shmem.Context,
    ):
        try:
            call()
            status = 1
        except shmem.ForkedError as e:
            assert "forked after shmem.init" in str(e)
    del a, b
    gc.collect()
    os._exit(status)
assert os.waitpid(child, 0)[1] == 0
assert a.tolist() == [5] * 8
def load(i):
    return np.arange(i)
with multiprocessing.get_context("fork").Pool(2) as pool:  # as a DataLoader does
    assert [len(x) for x in pool.map(load, range(10))] == list(range(10))
shmem.put(a, [9], pe=0)
del b
assert shmem.reclaim() == 64 and a[0] == 9
shmem.finalize()
"""
    prints(program)


def test_fork_while_another_thread_is_in_the_package() -> None:
    """Its lock would never be released in the child, which would wait for it."""
    program = """
import os, signal, sys, threading
import shmem
shmem.init()
done = threading.Event()
inside = threading.Event()
from shmem import _runtime
def hold():
    with _runtime.lock:
        inside.set()
        done.wait()
t = threading.Thread(target=hold)
t.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    for call in (shmem.reclaim, lambda: shmem.zeros(3, int), shmem.finalize, shmem.init):
        try:
            call()
        except shmem.ForkedError:
            continue
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
done.set()
t.join()
shmem.finalize()
"""
    prints(program)


def test_a_child_that_comes_to_init(tmp_path: Path) -> None:
    """multiprocessing's spawn runs the program again in the child; its error has the remedy."""
    program = tmp_path / "program.py"
    program.write_text("""
import multiprocessing
import shmem
try:
    shmem.init()
except shmem.InitError as e:
    assert __name__ == "__mp_main__" and 'if __name__ == "__main__"' in e.remedy, e
    print("told", flush=True)
def work(): print("worked", flush=True)
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
    shmem.finalize()
""")
    done = run(str(SHMEMRUN), "-n", "2", "--timeout", "240", "--", sys.executable, str(program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split()) == ["told", "told", "worked", "worked"], done.stdout


def test_memory_of_a_gpu_is_not_copied_here() -> None:
    """pickle and copy read elements, which would end a process that cannot."""
    program = """
import copy, pickle, numpy as np, shmem
from shmem import _ghosts
out_of_reach = _ghosts.ghost_at(1 << 12, (4,), np.dtype("int64"), None)
array = shmem.DeviceArray(out_of_reach, "int64")
assert copy.copy(array).shape == (4,)
for call in (pickle.dumps, copy.deepcopy):
    try:
        call({"weights": array})
    except shmem.DeviceError as e:
        assert "shmem.get" in e.remedy, e
    else:
        raise SystemExit(f"{call} was not refused")
"""
    prints(program)


def test_exceptions_go_to_other_processes() -> None:
    """As from the worker of a pool: the pool would wait for ever for one that cannot be read."""
    program = """
import copy, pickle, shmem
for kind in [getattr(shmem, name) for name in shmem.__all__]:
    if isinstance(kind, type) and issubclass(kind, shmem.ShmemError):
        one = kind("put", "dest", "it is not", "make it")
        if kind is shmem.PeerError:
            one = kind("put", "PE 3", "it is not", "make it", 3)
        for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert type(other) is kind and str(other) == str(one), other
            assert vars(other) == vars(one), vars(other)
"""
    prints(program)


def test_arguments_beat_the_environment() -> None:
    program = """
import os, shmem
shmem.init(symmetric_size="2m", debug=True)
assert os.environ["SHMEM_SYMMETRIC_SIZE"] == "64m" and "SHMEM_DEBUG" not in os.environ
try:
    shmem.zeros(3 << 20, "u1")
except shmem.HeapError:
    print("small")
try:
    shmem.init(symmetric_size="4m")
except shmem.StateError as e:
    print(e.remedy)
shmem.finalize()
shmem.init()
shmem.zeros(3 << 20, "u1")
shmem.finalize()
try:
    shmem.init(symetric_size="4m")
except shmem.ArgumentError as e:
    print(e.cause)
"""
    done = python(program, SHMEM_SYMMETRIC_SIZE="64m")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "small\npass settings to the first init\nis not a setting\n"
    assert "shmem" in done.stderr  # the banner


def test_init_fails() -> None:
    program = """
import shmem
for _ in range(2):
    try:
        shmem.init(symmetric_size="many")
    except shmem.InitError as e:
        print(e)
shmem.init()
shmem.finalize()
"""
    done = python(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("init: ") == 2 and done.stdout.count("SHMEM_SYMMETRIC_SIZE") == 2


def build(tmp_path: Path, name: str) -> Path:
    source = tmp_path / "other.c"
    source.write_text(
        f'#include <string.h>\nvoid shmem_info_get_name(char *name) {{ strcpy(name, "{name}"); }}\n'
    )
    out = tmp_path / "libshmem.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", out, source], check=True)
    return out


def test_another_library(tmp_path: Path) -> None:
    program = """
import sys, shmem
try:
    shmem.init(library=sys.stdin.readline().strip() or None)
except shmem.ShmemError as e:
    print(type(e).__name__, e)
"""
    other = build(tmp_path, "libshmem 9.9.9")

    def loads(name: object) -> str:
        return prints(program.replace("sys.stdin.readline().strip() or None", repr(str(name))))

    assert loads(other).startswith(f"VersionError load {other}: it is libshmem 9.9.9, and this")
    assert loads("/no/such.so").startswith("LibraryError load /no/such.so: ")
    assert loads(LIBRARY) == ""
    # The loader's path is first, as shmemrun sets it.
    found = prints(
        program.replace("sys.stdin.readline().strip() or None", "None"),
        LD_LIBRARY_PATH=str(tmp_path),
    )
    assert found.startswith("VersionError")


def test_it_says_where_it_looked(tmp_path: Path) -> None:
    """A package without a library, not in a source tree."""
    package = tmp_path / "a" / "b"
    package.mkdir(parents=True)
    (package / "shmem").symlink_to(Path(__file__).resolve().parents[1] / "shmem")
    program = f"""
import sys
sys.path.insert(0, {str(package)!r})
import pathlib
pathlib.Path.resolve = lambda self: self  # the link is what counts
import shmem
try:
    shmem.init()
except shmem.LibraryError as e:
    print(e)
"""
    text = prints(program, LD_LIBRARY_PATH="/nowhere")
    for place in ("/nowhere/libshmem.so", f"{package}/shmem/lib/libshmem.so", "library="):
        assert place in text, text


@pytest.mark.parametrize("hosts", [[], ["--hosts", "2"]])
def test_handlers_of_signals_run_in_a_wait(hosts: list[str]) -> None:
    """Ctrl-C ends a wait; a handler that only does something does not, and may wait itself."""
    program = """
import os, signal, threading
import shmem
shmem.init()
me = shmem.my_pe()
a, s = shmem.zeros(4, int), shmem.zeros(1, "uint64")
class Stop(Exception): pass
def stop(*_): raise Stop
signal.signal(signal.SIGTERM, stop)
def ring(number): threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
waits = [
    lambda: shmem.wait_until(a, "==", 1),
    lambda: shmem.signal_wait_until(s, "==", 1),
    lambda: shmem.wait_until_all(a, "==", 1),
    lambda: shmem.wait_until_any(a, "==", 1),
    lambda: shmem.wait_until_some(a, "==", [1, 2, 3, 4]),
]
kinds = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Stop)]
for i, wait in enumerate(waits):
    number, error = kinds[i % 2]
    try: # the signal may come before the wait
        ring(number)
        wait()
    except error:
        continue
    raise SystemExit("it was not ended")
def write(*_):
    ring(signal.SIGUSR1)
    shmem.wait_until(a, "==", 7, index=1)
    shmem.p(a, 5, pe=me)
def inner(*_): shmem.p(a, 7, pe=me, index=1)
signal.signal(signal.SIGTERM, write)
signal.signal(signal.SIGUSR1, inner)
ring(signal.SIGTERM)
shmem.wait_until(a, "==", 5)
shmem.barrier_all()
shmem.p(a, 9, pe=1 - me)
shmem.wait_until(a, "==", 9)
shmem.finalize()
signal.signal(signal.SIGTERM, lambda *_: shmem.finalize())
shmem.init()
a = shmem.zeros(1, int)
ring(signal.SIGTERM)
try:
    shmem.wait_until(a, "==", 1)
except shmem.StateError as e:
    assert "wait_until: called after shmem.finalize" in str(e), e
    print("ended")
"""
    done = pes(2, program, *hosts)
    assert done.returncode == 0 and done.stdout == "ended\nended\n", done.stdout + done.stderr


@pytest.mark.parametrize("n", [1, 2])
def test_finalize_ends_the_waits_of_threads(n: int) -> None:
    """Waits read memory that finalize unmaps: one that went on would end the process."""
    program = """
import threading
import shmem
for _ in range(5):
    shmem.init()
    a, s = shmem.zeros(2, int), shmem.zeros(1, "uint64")
    told = []
    def wait(form):
        ready.wait()
        try:
            form()
        except shmem.StateError as e:
            told.append(str(e))
    waits = [
        lambda: shmem.wait_until(a, "==", 1),
        lambda: shmem.signal_wait_until(s, "==", 1),
        lambda: shmem.wait_until_any(a, "==", 1),
    ]
    ready = threading.Barrier(len(waits) + 1)
    threads = [threading.Thread(target=wait, args=[w]) for w in waits]
    for t in threads: t.start()
    ready.wait()
    shmem.finalize()
    for t in threads: t.join()
    assert len(told) == 3 and all("shmem.finalize" in t for t in told), told
    assert a.tolist() == [0, 0]
"""
    done = pes(n, program)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wait_in_slices_is_reported() -> None:
    """After SHMEM_TIMEOUT, which does not begin anew at each check for signals."""
    program = """
import os, re, shmem, threading
shmem.init()
a = shmem.zeros(1, int)
r, w = os.pipe()
said = os.dup(2)
os.dup2(w, 2)
def read():
    text = b""
    while not any(int(n) >= 2 for n in re.findall(rb"has waited (\\d+)", text)):
        text += os.read(r, 4096)
    shmem.p(a, 1, pe=0)
t = threading.Thread(target=read)
t.start()
shmem.wait_until(a, "==", 1)
t.join()
os.dup2(said, 2)
shmem.finalize()
"""
    prints(program, SHMEM_TIMEOUT="1")


@pytest.mark.parametrize("word", ["return", "Return"])
def test_a_lost_pe_is_an_exception(word: str) -> None:
    program = """
import os, time, shmem
shmem.init()
a = shmem.zeros(1, int)
if shmem.my_pe() == 1:
    os._exit(3)
try:
    while True:
        shmem.wait_until(a, "==", 1)
except shmem.PeerError as e:
    assert e.pe == 1, e
    print("told:", e.pe)
try:
    shmem.barrier_all()
except shmem.PeerError as e:
    print("again:", e.pe)
assert not shmem.pe_accessible(1) and shmem.pe_accessible(0)
shmem.finalize()
"""
    done = pes(2, program, SHMEM_ON_FAILURE=word)
    assert done.returncode == 3
    assert done.stdout == "told: 1\nagain: 1\n", done.stderr
