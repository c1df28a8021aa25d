"""Arrays in GPU memory, as jobs, with a fake driver, a fake torch and a fake cupy.

The fake GPU's memory is main memory, so these tests do not notice accesses of the CPU to it. It
runs no kernels of the library.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from launch import LIBRARY, ROOT, SHMEMRUN, pes, run, simulated_gpu


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that give PEs a GPU."""
    return simulated_gpu(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("job", ["-n 1", "-n 3", "-n 2 --hosts 2"])
def test_job(job: str, driver: dict[str, str]) -> None:
    tests = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    argv = [str(SHMEMRUN), "--timeout", "240", *job.split(), "--", *tests]
    done = run(*argv, "-c", "python/pyproject.toml", str(ROOT / "python/tests/gpu"), **driver)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


@pytest.mark.parametrize("job", ["-n 2", "-n 2 --hosts 2"])
def test_while_another_thread_captures(job: str, driver: dict[str, str]) -> None:
    """The driver then refuses many calls, but not this library's."""
    argv = [str(SHMEMRUN), "--timeout", "240", *job.split(), "--", sys.executable, "-m", "pytest"]
    tests = ["-q", "-p", "no:cacheprovider", "-c", "python/pyproject.toml"]
    file = str(ROOT / "python/tests/gpu/test_device.py")
    done = run(*argv, *tests, file, **{**driver, "FAKE_CUDA": "works=1 others_capture=1"})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


# The part of torch that is used: tensors over objects with __cuda_array_interface__.
TORCH = """
strided = object()

class dtype:
    is_complex = False

    def __init__(self, name, size):
        self.name, self.size = name, size

    def __repr__(self):
        return "torch." + self.name

uint8, int16, float32, bfloat16 = [
    dtype(*d) for d in (("uint8", 1), ("int16", 2), ("float32", 4), ("bfloat16", 2))
]

class Device:
    def __init__(self, index):
        self.index = index

class Tensor:
    is_cuda = True
    layout = strided

    def __init__(self, owner, at, shape, kind, index=0):
        self.owner, self.at, self.shape, self.dtype = owner, at, shape, kind
        self.device = Device(index)

    def data_ptr(self):
        return self.at

    def get_device(self):
        return self.device.index

    def is_contiguous(self):
        return True

    def is_neg(self):
        return False

    def numel(self):
        n = 1
        for length in self.shape:
            n *= length
        return n

    def is_conj(self):
        return False

    is_neg = is_conj

    def stride(self):
        steps = [1]
        for n in reversed(self.shape[1:]):
            steps.insert(0, steps[0] * n)
        return tuple(steps[: len(self.shape)])

    def view(self, kind):
        n = self.shape[0] * self.dtype.size // kind.size
        return Tensor(self.owner, self.at, (n,), kind)

    def reshape(self, shape):
        return Tensor(self.owner, self.at, tuple(shape), self.dtype)

    def free(self):
        self.at = 0

def as_tensor(owner, device):
    assert device == "cuda:0", device
    about = owner.__cuda_array_interface__
    assert about["typestr"] == "|u1" and len(about["shape"]) == 1
    return Tensor(owner, about["data"][0], about["shape"], uint8)

class Stream:
    cuda_stream = 0

    def __init__(self, index):
        self.device = Device(index)
        self.device_index = index

class cuda:
    def is_initialized():
        return True

    def current_stream(device=None):
        assert device in (0, None)
        return Stream(0)
"""

WITH_TORCH = """
import gc
import numpy as np
import torch
import shmem

shmem.init()
me, n = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
t = shmem.full((4, 8), me, torch.float32, device="cuda")
assert type(t) is torch.Tensor and t.dtype is torch.float32 and t.shape == (4, 8)
s = shmem.zeros((4, 8), "float32", device="cuda")
shmem.barrier_all()
shmem.put(s, t, pe=right)
shmem.barrier_all()
out = np.zeros((4, 8), "float32")
shmem.get(out, s, pe=me)
assert (out == left).all(), out
shmem.put(s, t, pe=me, stream="current")
while shmem.g(s, pe=me, index=31) != me:
    pass
b = shmem.zeros(6, torch.bfloat16, device="cuda")
assert b.dtype is torch.bfloat16 and b.shape == (6,)
shmem.put(b, np.full(12, me + 1, "u1").view("V2"), pe=right)
shmem.barrier_all()
got = np.zeros(6, "V2")
shmem.get(got, b, pe=me)
assert got.view("u1").tolist() == [left + 1] * 12
for bad, kind, text in (
    (lambda: shmem.put(s, t, pe=me, stream=torch.Stream(1)), shmem.DeviceError, "of GPU 1"),
    (lambda: shmem.zeros(4, "V3", device="cuda"), shmem.DeviceError, "does not take it"),
    (lambda: shmem.zeros(4, device="cuda:1"), shmem.DeviceError, "on GPU 0"),
    (lambda: (b.free(), shmem.put(b, b, pe=me)), shmem.FreedError, "its memory was freed"),
):
    try:
        bad()
    except kind as e:
        assert text in str(e), e
    else:
        raise AssertionError(text)
assert type(shmem.zeros(3, device="gpu")) is shmem.DeviceArray
del t, s, b, bad
gc.collect()
shmem.reclaim()
from shmem import _blocks
assert not [x for x in _blocks.heap.slots.values() if not x.freed], "tensors keep their memory"
old = shmem.zeros(4, device="gpu")
shmem.finalize()
try:
    old.__cuda_array_interface__
except shmem.StateError:
    pass
shmem.init()
try:
    shmem.put(old, [1] * 4, pe=me)
except shmem.FreedError as e:
    assert "earlier job" in str(e)
else:
    raise AssertionError("an array of an earlier job")
shmem.barrier_all()
shmem.finalize()
if me == 0:
    print("good")
"""


def test_with_torch(driver: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + WITH_TORCH
    done = pes(2, program, **driver)
    assert done.returncode == 0 and done.stdout == "good\n", done.stdout + done.stderr


STREAMS = """
import ctypes
import shmem

driver = ctypes.CDLL("libcuda.so.1")
shmem.init()
a = shmem.zeros(8, device="gpu")


def stream_on(gpu):
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0  # CU_STREAM_NON_BLOCKING
    assert driver.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
    return stream.value


class Stream:
    def __init__(self, address):
        self.address = address

    def __cuda_stream__(self):
        return 0, self.address


here, there = stream_on(0), stream_on(1)
for good in (0, 1, 2, here, Stream(here)):  # 1 and 2: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
    shmem.put(a[:0], a[:0], pe=0, stream=good)
for bad in (there, Stream(there)):
    try:
        shmem.put(a, a, pe=0, stream=bad)
    except shmem.DeviceError as e:
        assert "of GPU 1, and this PE's heap on GPU 0" in str(e), e
    else:
        raise AssertionError(bad)
for bad in (True, -1, 1 << 64, 1.0):
    try:
        shmem.put(a, a, pe=0, stream=bad)
    except shmem.DeviceError as e:
        assert "it is not a stream" in str(e), e
    else:
        raise AssertionError(bad)
try:
    shmem.sum_reduce(*(shmem.zeros(2, "bfloat16", device="gpu") for _ in range(2)))
except shmem.DtypeError as e:
    assert "an array of bfloat16" in str(e), e
# The address of a destroyed stream may be used for the next one, on any GPU.
# 0x1000 is the fake driver's context of GPU 0.
assert driver.cuCtxPushCurrent_v2(ctypes.c_void_p(0x1000)) == 0
assert driver.cuStreamDestroy_v2(ctypes.c_void_p(there)) == 0
while stream_on(0) != there:
    pass
shmem.put(a, a, pe=0, stream=there)
assert driver.cuStreamSynchronize(ctypes.c_void_p(there)) == 0
shmem.finalize()
"""


def test_streams_of_two_gpus(driver: dict[str, str]) -> None:
    """The address does not determine its GPU, so the driver must."""
    done = pes(1, STREAMS, **{**driver, "FAKE_CUDA": "works=1 devices=2"})
    assert done.returncode == 0, done.stdout + done.stderr


REGISTER = """
import ctypes
import sys
import shmem

driver = ctypes.CDLL("libcuda.so.1")
shmem.init(symmetric_size="64m")
block = ctypes.c_uint64()
assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 21)) == 0


class Foreign:
    __cuda_array_interface__ = dict(
        version=3, data=(block.value, False), shape=(8,), typestr="<i8", strides=None
    )


try:
    shmem.register(Foreign())
except shmem.RegisterError as e:
    assert sys.argv[1] in str(e), e
    print("refused")
shmem.finalize()
"""


@pytest.mark.parametrize(
    "variables, why",
    [
        ({"SHMEM_HEAP": "pinned"}, "the symmetric heap in main memory (set SHMEM_HEAP=device)"),
        ({"SHMEM_GPU_SHARE": "ipc"}, "got by CUDA's IPC, into which nothing can be mapped"),
        ({}, "the driver does not let other code map it"),
    ],
)
def test_heaps_that_take_no_memory(
    variables: dict[str, str], why: str, driver: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(REGISTER)
    argv = [str(SHMEMRUN), "-n", "2", "--", sys.executable, str(program), why]
    done = run(*argv, **{**driver, **variables})
    assert done.returncode == 0 and done.stdout == "refused\n" * 2, done.stdout + done.stderr


CAPTURED = """
import ctypes
import torch
import shmem

shmem.init()
before = shmem.zeros(4, device="gpu")
driver, context, stream = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxPushCurrent_v2(context) == 0
assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
torch.Stream.cuda_stream = stream.value
os.environ["FAKE_CUDA"] += " capturing=1"
for make in (shmem.empty, shmem.zeros, lambda n, device: shmem.full(n, 1, device=device)):
    try:
        make(4, device="gpu")
    except shmem.StateError as e:
        assert "the current stream is captured, and a graph does not keep" in str(e), e
    else:
        raise AssertionError(make)
shmem.put(before, before, pe=0, stream="current")
os.environ["FAKE_CUDA"] = "works=1"
shmem.zeros(4, device="gpu")
shmem.finalize()
"""


def test_no_memory_in_a_graph(driver: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    program = f"import os, sys; sys.path.insert(0, {str(tmp_path)!r})\n" + CAPTURED
    done = pes(1, program, **driver)
    assert done.returncode == 0, done.stdout + done.stderr


CUPY = """
class Array:
    def __init__(self, owner, dtype="u1", shape=None):
        self.owner, self.dtype, self.shape = owner, dtype, shape
        self.__cuda_array_interface__ = dict(owner.__cuda_array_interface__)

    def view(self, dtype):
        return Array(self.owner, dtype, self.shape)

    def reshape(self, shape):
        return Array(self.owner, self.dtype, shape)

class cuda:
    class get_current_stream:
        ptr = 0

def asarray(owner):
    return Array(owner)
"""


def test_a_folder_named_torch(driver: dict[str, str], tmp_path: Path) -> None:
    """Python would import it, as a package without files; it is not torch."""
    (tmp_path / "torch").mkdir()
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import importlib.util, shmem
assert importlib.util.find_spec("torch") is not None
shmem.init()
print(type(shmem.zeros(3, device="cuda")).__name__)
"""
    done = pes(1, program, **driver)
    assert done.stdout == "DeviceArray\n", done.stdout + done.stderr


def test_with_cupy(driver: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text(CUPY)
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import cupy, shmem
shmem.init()
a = shmem.zeros((2, 3), "float32", device="cupy")
assert type(a) is cupy.Array and a.shape == (2, 3) and a.dtype == "float32"
assert a.__cuda_array_interface__["shape"] == (24,)
assert type(shmem.zeros(3, device="cuda")) is shmem.DeviceArray  # torch is not there
shmem.finalize()
"""
    done = pes(2, program, **driver)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_heap_of_the_cpu() -> None:
    program = """
import shmem
class Foreign:
    __cuda_array_interface__ = dict(version=3, data=(4096, False), shape=(1,), typestr="<i8")
shmem.init()
a = shmem.zeros(1, int)
for bad in (lambda: shmem.zeros(1, device="cuda"), lambda: shmem.put(a, Foreign(), pe=0)):
    try:
        bad()
    except shmem.DeviceError as e:
        assert "SHMEM_HEAP=device" in str(e)
    else:
        raise AssertionError
shmem.finalize()
"""
    done = pes(1, program)
    assert done.returncode == 0, done.stdout + done.stderr


HEAPS = """
import ctypes
import sys
import shmem

for extension in sys.argv[1:]:
    ctypes.CDLL(extension, ctypes.RTLD_GLOBAL)
shmem.init()
try:
    shmem.zeros(4, device="gpu")
    print("device")
except shmem.DeviceError:
    shmem.zeros(4, int)
    print("host")
shmem.finalize()
"""

# The part of a unit of device code that the library reads before it has kernels.
UNIT = """
#include <stddef.h>
#include <stdint.h>
#include <shmem/unit.h>

static int set(const struct shmemi_device_image *image, int device)
{
    return (void)image, (void)device, 0;
}
static const char *why(int error)
{
    return (void)error, "";
}
static struct shmemi_unit unit = {
    SHMEMI_WIRE_VERSION, sizeof unit, sizeof(struct shmemi_device_state),
    sizeof(struct shmemi_device_image), "unit.c", set, why, NULL};
__attribute__((constructor)) static void begin(void)
{
    shmemi_device_register(&unit);
}
__attribute__((destructor)) static void end(void)
{
    shmemi_device_unregister(&unit);
}
"""


@pytest.mark.parametrize(
    ("word", "heap"), [("Device", "device"), ("HOST", "host"), ("auto", "host"), ("", "host")]
)
def test_which_heap(word: str, heap: str, driver: dict[str, str], tmp_path: Path) -> None:
    """The package and the library mean the same heap, also with an extension that has kernels."""
    (tmp_path / "unit.c").write_text(UNIT)
    extension = tmp_path / "extension.so"
    argv = ["gcc", "-shared", "-fPIC", f"-I{ROOT / 'device'}", str(tmp_path / "unit.c")]
    subprocess.run([*argv, f"-L{LIBRARY.parent}", "-lshmem", "-o", str(extension)], check=True)
    variables = {**driver, "SHMEM_HEAP": word, "SHMEM_LOG_LEVEL": "info"}
    done = run(
        str(SHMEMRUN), "-n", "1", "--", sys.executable, "-c", HEAPS, str(extension), **variables
    )
    assert done.returncode == 0 and done.stdout == f"{heap}\n", done.stdout + done.stderr
    assert f"; heap {heap} " in done.stderr, done.stderr


def test_doctor(driver: dict[str, str]) -> None:
    """The job has the heap that these settings select."""
    said = run(sys.executable, "-m", "shmem.doctor", **driver).stdout
    assert "ok  a job of one PE\n" in said, said
