"""Meshes of Python: beside a job and without one, blocks and signals, and errors by member."""

import re
import signal
import subprocess
import sys
from pathlib import Path

from launch import ROOT, pes, prints, run, simulated_gpu, variables

MEMBER = """
import sys, numpy as np, shmem
number, secret = int(sys.argv[1]), b"the secret of the tests"
mesh = shmem.Mesh(number, 8, secret=secret, provider="tcp")
print(mesh.address.hex(), flush=True)
server = mesh.add(bytes.fromhex(input()))
remote = mesh.import_region(bytes.fromhex(input()))
page = np.full(1000, number, np.int64)
mesh.put(remote, [(page, 8000 * number)],
         signal=shmem.MeshSignal(remote, 8 * number, number)).wait()
print("written", flush=True)
sys.stdin.read()
mesh.close()
"""


def test_messages_and_gpu_memory_as_an_option() -> None:
    program = """
import numpy as np, shmem
secret = b"0123456789abcdef"
for wrong in {"gpu": "both"}, {"timeout": 0}:
    try:
        shmem.Mesh(0, 2, secret=secret, provider="tcp", **wrong)
    except shmem.ArgumentError as error:
        print(error)
with shmem.Mesh(0, 2, secret=secret, provider="tcp", gpu="others") as a, \\
     shmem.Mesh(1, 2, secret=secret, provider="tcp") as b:
    a.add(b.address), b.add(a.address)
    there = np.zeros(1 << 16, np.uint8)
    region = b.register(there)
    a.put(a.import_region(region.description), np.full(1 << 15, 7, np.uint8)).wait()
    a.flush(1).wait()
    assert there.sum() == 7 << 15
    assert b.receive() is None
    a.send(1, b"a page, please").wait()
    assert b.receive(timeout=10) == (0, b"a page, please")
    b.send(0, b"x" * 4064)  # the longest message
    assert a.receive(timeout=10) == (1, b"x" * 4064)
"""
    out = prints(program)
    assert "gpu='both'" in out and "use 'others' or 'own'" in out and "timeout=0: no" in out


def test_two_meshes_of_one_process() -> None:
    program = """
import numpy as np, shmem
secret = b"0123456789abcdef"
with shmem.Mesh(0, 2, secret=secret, provider="tcp") as a, \\
     shmem.Mesh(1, 2, secret=secret, provider="tcp", contexts=2) as b:
    assert a.add(b.address) == 1 and b.add(a.address) == 0
    there = np.zeros(1 << 16, np.uint8)
    region = a.register(there)
    remote = b.import_region(region.description)
    assert remote.nbytes == 1 << 16
    source, back = np.arange(5000, dtype=np.int32), np.zeros(5000, np.int32)
    b.put(remote, source, context=1).wait()
    b.flush(0, context=1).wait()
    b.get(remote, back).wait()
    assert (back == source).all() and (there[:20000].view(np.int32) == source).all()
    for i in range(600):  # requests that the program drops
        b.put(remote, [(np.full(8, i % 251, np.uint8), 8 * i)])
    # Those that the program dropped are looked for whenever 256 more are there.
    assert len(b.pending) <= 512, len(b.pending)
    b.notify(shmem.MeshSignal(remote, 65528, 7, add=True), ordered=True)
    while there[65528:].view(np.int64)[0] != 7:
        pass
    assert there[8 * 599] == 599 % 251 and there[8 * 250] == 250
    region.close().wait()
    for call in (lambda: b.put(remote, source), lambda: region.close()):
        try:
            call()
            print("no error")
        except shmem.StateError as e:
            assert "closed" in str(e) or "ended" in str(e), e
    for kind, call in (
        (shmem.ArgumentError, lambda: a.add(b"nonsense")),
        (shmem.ArgumentError, lambda: a.check(7)),
        (shmem.LayoutError, lambda: a.register(there[::2])),
        (shmem.ArgumentError, lambda: shmem.Mesh(0, 2, secret=b"short")),
        (shmem.InitError, lambda: shmem.Mesh(0, 2, secret=secret, provider="tpc")),
    ):
        try:
            call()
            print("no error")
        except kind as e:
            assert e.operation and e.cause and e.remedy, e
print("ok")
"""
    assert prints(program) == "ok\n"


def test_guide() -> None:
    page = (ROOT / "docs" / "guides" / "mesh.md").read_text()
    (cell,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert prints(cell) == "1 2\n"


def test_beside_a_job() -> None:
    program = """
import numpy as np, shmem
shmem.init()
me, n = shmem.my_pe(), shmem.n_pes()
boxes = shmem.zeros((n, 2, 1024), np.uint8)
mesh = shmem.Mesh(me, n, secret=b"a secret of this job", provider="tcp")
own = np.zeros(n, np.int64)
region = mesh.register(own)
for i, blob in enumerate((mesh.address, region.description)):
    row = np.frombuffer(blob.ljust(1024, b"\\0"), np.uint8)
    for pe in range(n):
        shmem.put(boxes[me, i], row, pe)
shmem.barrier_all()
length = len(mesh.address), len(region.description)
for pe in range(n):
    if pe != me:
        mesh.add(boxes[pe, 0].tobytes()[:length[0]])
shmem.barrier_all()
for pe in range(n):
    there = mesh.import_region(boxes[pe, 1].tobytes()[:length[1]])
    mesh.put(there, [(np.array([me + 1]), 8 * me)]).wait()
    mesh.flush(pe).wait()
shmem.barrier_all()
assert (own == np.arange(n) + 1).all(), own
shmem.finalize()
mesh.close()
"""
    done = pes(3, program)
    assert done.returncode == 0, done.stdout + done.stderr


def start(number: int) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", MEMBER, str(number)]
    return subprocess.Popen(
        argv, env=variables(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_members_come_and_are_killed() -> None:
    program = """
import sys, numpy as np, shmem, time
mesh = shmem.Mesh(0, 8, secret=b"the secret of the tests", provider="tcp")
pages = np.zeros(8000, np.int64)
region = mesh.register(pages)
for number in (1, 2):
    mesh.add(bytes.fromhex(input()))
    print(mesh.address.hex(), region.description.hex(), flush=True)
    while pages[number] != number:
        time.sleep(0.001)
    assert (pages[1000 * number : 1000 * (number + 1)][8:] == number).all()
    print("seen", flush=True)
    while True:
        try:
            mesh.check(number)
            time.sleep(0.01)
        except shmem.PeerError as e:
            print(e.cause, flush=True)
            break
mesh.close()
"""
    server = subprocess.Popen(
        [sys.executable, "-c", program],
        env=variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin and server.stdout
    for number in (1, 2):
        member = start(number)
        assert member.stdin and member.stdout
        server.stdin.write(member.stdout.readline())
        server.stdin.flush()
        member.stdin.write("\n".join(server.stdout.readline().split()) + "\n")
        member.stdin.flush()
        assert member.stdout.readline() == "written\n"
        assert server.stdout.readline() == "seen\n"
        if number == 1:
            member.send_signal(signal.SIGKILL)
            wanted = "member 1 cannot be reached any more"
        else:
            member.stdin.close()
            wanted = "member 2 has left the mesh"
        assert wanted in server.stdout.readline()
        member.wait(60)
    assert server.wait(60) == 0


# Members of a mesh in one process without a job, two of them with memory of the GPU.
ON_GPU = """
import ctypes
import numpy as np
import shmem

cuda = ctypes.CDLL("libcuda.so.1")
context, at = ctypes.c_void_p(), ctypes.c_uint64()
calls = (
    cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
    cuda.cuCtxSetCurrent(context), cuda.cuMemAlloc_v2(ctypes.byref(at), 4 << 20),
)
assert not any(calls), calls

class OnGPU:
    def __init__(self, offset):
        self.__cuda_array_interface__ = {
            "data": (at.value + offset, False), "shape": (1 << 20,), "typestr": "|u1", "version": 3,
        }

def bytes_of(offset, n):  # the fake GPU's memory is main memory
    return ctypes.string_at(at.value + offset, n)

secret = b"16 bytes or more"
with shmem.Mesh(0, 3, secret=secret, provider="tcp", gpu="own") as a, \
     shmem.Mesh(1, 3, secret=secret, provider="tcp", gpu="own") as b, \
     shmem.Mesh(2, 3, secret=secret, provider="tcp", gpu="others") as c:
    for x in (a, b, c):
        for y in (a, b, c):
            if x is not y:
                x.add(y.address)
    source = bytes(range(256)) * 4096
    ctypes.memmove(at.value, source, 1 << 20)
    ctypes.memset(at.value + (1 << 20), 0, 1 << 20)
    region = b.register(OnGPU(1 << 20))
    remote = a.import_region(region.description)
    a.put(remote, [(OnGPU(0), 0)]).wait()
    a.flush(1).wait()
    assert bytes_of(1 << 20, 1 << 20) == source
    words = np.zeros(1000, np.uint8)
    c.get(c.import_region(region.description), [(words, 256)]).wait()
    assert bytes(words) == source[256:1256]
    try:
        c.put(remote, [(OnGPU(0), 0)])
    except shmem.ShmemError as error:
        print(error)
    region.close().wait()
"""


def test_memory_of_a_gpu(tmp_path: Path) -> None:
    """It is a region and a block, whatever heap a job of the process would have."""
    driver = simulated_gpu(tmp_path)
    without = {k: v for k, v in driver.items() if k != "SHMEM_HEAP"}
    done = run(sys.executable, "-c", ON_GPU, **without)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it is in GPU memory" in done.stdout, done.stdout
