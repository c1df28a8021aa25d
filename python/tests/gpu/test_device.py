"""Arrays in GPU memory: the views of other packages, and every operation on them."""

import copy
import ctypes
import gc
import importlib.util
import mmap
import pickle

import numpy as np
import pytest
from job import host

import shmem
from shmem import _blocks


@pytest.fixture(autouse=True)
def nothing_left():
    gc.collect()
    shmem.reclaim()
    before = len(_blocks.heap.slots)
    yield
    gc.collect()
    shmem.reclaim()
    assert len(_blocks.heap.slots) == before


class Stream:
    """A stream by its address, as packages describe one: version 0 of the protocol."""

    def __init__(self, address, device):
        self.address, self.device_index = address, device

    def __cuda_stream__(self):
        return 0, self.address


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "complex128"])
def test_made_as_asked(dtype):
    a = shmem.zeros((3, 5), dtype, device="gpu")
    assert type(a) is shmem.DeviceArray
    assert (a.shape, a.dtype, a.size, a.ndim, len(a)) == ((3, 5), dtype, 15, 2, 3)
    assert a.nbytes == 15 * a.itemsize and a.strides == (5 * a.itemsize, a.itemsize)
    assert not host(a).any()
    b = shmem.full((2, 700000), 3, dtype, device="gpu")  # in several pieces
    assert (host(b) == 3).all()
    assert shmem.empty((), dtype, device="gpu").shape == ()
    assert shmem.empty((0, 4), dtype, device="gpu").nbytes == 0


def test_interface():
    a = shmem.full((4, 6), 7, "float32", device="gpu")
    about = a.__cuda_array_interface__
    assert (about["version"], about["shape"], about["typestr"]) == (3, (4, 6), "<f4")
    assert about["strides"] is None and about["data"][1] is False
    part = a[1:, ::2]
    other = part.__cuda_array_interface__
    assert other["strides"] == (24, 8) and other["shape"] == (3, 3)
    assert other["data"][0] == about["data"][0] + 24
    assert a[2, 3].__cuda_array_interface__["data"][0] == about["data"][0] + 4 * 15
    assert a[2, 3].shape == () and a[None, ..., 0].shape == (1, 4)
    assert a.reshape(-1).shape == a.reshape(24).shape == a.reshape((24,)).shape == (24,)
    assert a.view("uint8").shape == (4, 24) and "(4, 6), dtype=float32" in repr(a)


def test_nobody_reads_it_to_show_it():
    """A traceback that shows the values of locals may have such arrays among them."""
    ghost = shmem.zeros((2, 3), "float32", device="gpu").live("test")
    for text in (repr(ghost), str(ghost), f"{ghost}", f"{ghost:>3}"):
        assert text == "Ghost(shape=(2, 3), dtype=float32)"


class Tensor(ctypes.Structure):
    """DLManagedTensor of DLPack."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


def consume(capsule):
    """Acts as a package that accepts a capsule: the tensor, and a call of its deleter."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    at = api.PyCapsule_GetPointer(capsule, b"dltensor")
    api.PyCapsule_SetName(capsule, consume.used)
    tensor = Tensor.from_address(at)
    return tensor, lambda: tensor.deleter(at)


consume.used = b"used_dltensor"  # CPython keeps the pointer to this name


# The codes are DLPack's DLDataTypeCode, and 2 in a device is kDLCUDA.
@pytest.mark.parametrize(
    "dtype, code, bits",
    [("float32", 2, 32), ("uint8", 1, 8), ("int64", 0, 64), ("bool", 6, 8), ("half", 2, 16)]
    + [("bfloat16", 4, 16), ("float8_e4m3fn", 10, 8), ("float8_e5m2", 12, 8)],
)
def test_dlpack(dtype, code, bits, gpu):
    a = shmem.zeros((4, 6), dtype, device="gpu")
    assert a.__dlpack_device__() == (2, gpu)
    t, back = consume(a[1:, ::2].__dlpack__(stream=1, max_version=(1, 0)))
    assert (t.code, t.bits, t.lanes, t.ndim, list(t.device)) == (code, bits, 1, 2, [2, gpu])
    assert t.shape[:2] == [3, 3] and t.strides[:2] == [6, 2] and t.offset == 0
    assert t.data == a.__cuda_array_interface__["data"][0] + 6 * a.itemsize
    del a
    gc.collect()
    assert shmem.reclaim() == 0  # the consumer has it
    back()
    gc.collect()
    assert shmem.reclaim() == 24 * bits // 8


def test_a_capsule_that_nobody_takes():
    a = shmem.zeros(8, "int64", device="gpu")
    capsule = a.__dlpack__()
    del a, capsule
    gc.collect()
    assert shmem.reclaim() == 64
    with pytest.raises(BufferError):
        shmem.zeros(8, "int64", device="gpu").__dlpack__(copy=True)
    with pytest.raises(BufferError):
        shmem.zeros(8, "int64", device="gpu").__dlpack__(dl_device=(1, 0))


def test_put_and_get(me, n, right, left):
    a = shmem.zeros(64, "int64", device="gpu")
    shmem.put(a, np.arange(64) + me, pe=right)
    shmem.put(a[:2], [-1, me], pe=right)
    shmem.barrier_all()
    assert host(a).tolist() == [-1, left, *range(2 + left, 64 + left)]
    b = shmem.full(64, me, device="gpu")
    shmem.put_nbi(a[32:], b[:32], pe=right)  # from GPU to GPU
    shmem.quiet()
    shmem.barrier_all()
    assert host(a)[32:].tolist() == [left] * 32
    shmem.barrier_all()
    shmem.get(b, a, pe=right)
    assert host(b)[1] == me
    shmem.get_nbi(b[:8], a[40:48], pe=right)
    shmem.quiet()
    assert host(b)[:8].tolist() == [me] * 8
    shmem.barrier_all()
    shmem.p(a, 5 + me, pe=right, index=-1)
    shmem.barrier_all()
    assert shmem.g(a, pe=me, index=63) == 5 + left and shmem.g(a, pe=left, index=1) == (me - 2) % n


def test_strides(me, right, left):
    a = shmem.zeros((6, 8), "float32", device="gpu")
    shmem.put(a[:, 2], np.arange(6, dtype="float32") + me, pe=right)
    shmem.put(a[1::2, 4:], np.full((3, 8), me, "float32")[:, ::2], pe=right)
    shmem.barrier_all()
    out = host(a)
    assert out[:, 2].tolist() == [i + left for i in range(6)]
    assert (out[1::2, 4:] == left).all() and not out[::2, 4:].any()
    column = np.zeros(6, "float32")
    shmem.get(column, a[:, 2], pe=left)
    assert column[0] == (me - 2) % shmem.n_pes()
    near = shmem.zeros((3, 2), "float32", device="gpu")
    shmem.get(near[:, 0], a[::2, 2], pe=me)
    assert host(near)[:, 0].tolist() == [left, 2 + left, 4 + left]
    with pytest.raises(shmem.DeviceError, match="runs backwards"):
        shmem.put(a[:, 2], near.reshape(-1)[::-1], pe=right)


@pytest.mark.parametrize("dtype", ["bfloat16", "half", "float8_e4m3fn"])
def test_types_of_gpus(dtype, me, right, left):
    a = shmem.zeros(8, dtype, device="gpu")
    shmem.put(a, np.full(8 * a.itemsize, me + 1, "u1").view(a.dtype), pe=right)
    shmem.barrier_all()
    assert host(a).view("u1").tolist() == [left + 1] * 8 * a.itemsize


def test_words(me, n, right, left):
    """Collectives without the library's own kernels, which the fake GPU lacks."""
    flags, data = shmem.zeros(4, "uint64", device="gpu"), shmem.zeros(4, "int64", device="gpu")
    shmem.put_signal(data, [me] * 4, flags, 3, pe=right)
    assert shmem.signal_wait_until(flags, "==", 3) == 3
    assert host(data).tolist() == [left] * 4 and shmem.signal_fetch(flags) == 3
    shmem.atomic_set(flags, 9, pe=right, index=1)
    shmem.wait_until(flags, "==", 9, index=1)
    shmem.barrier_all()
    assert shmem.test(flags, "==", 9, index=1) and shmem.atomic_fetch(flags, pe=left, index=1) == 9
    shmem.p(flags, me, pe=right, index=2)
    assert shmem.wait_until_any(flags[1:2], "==", [9]) == 0


def test_collectives(me, n):
    a, b = shmem.full(2, me + 1, device="gpu"), shmem.zeros(2 * n, "int64", device="gpu")
    shmem.fcollect(b, a)
    assert host(b).tolist() == [pe + 1 for pe in range(n) for _ in range(2)]
    shmem.barrier_all()  # a PE that is ahead may write to the memory that is read here
    shmem.sum_reduce(b[:2], a)
    assert host(b)[:2].tolist() == [n * (n + 1) // 2] * 2
    shmem.barrier_all()
    shmem.broadcast(b[:2], a, n - 1)
    assert host(b)[:2].tolist() == [n] * 2
    source = shmem.zeros(n, "int64", device="gpu")
    shmem.put(source, np.arange(n) + 10 * me, pe=me)
    shmem.barrier_all()
    shmem.alltoall(b[:n], source)
    assert host(b)[:n].tolist() == [10 * pe + me for pe in range(n)]


def test_streams(me, n, right, left, gpu):
    """Copies on a stream. The fake GPU supports them between PEs of a node only."""
    a = shmem.zeros(8, "int64", device="gpu")
    with pytest.raises(
        shmem.DeviceError, match=f"of GPU {gpu + 1}, and this PE's heap on GPU {gpu}"
    ):
        shmem.put(a, [1] * 8, pe=right, stream=Stream(0, gpu + 1))
    with pytest.raises(shmem.DeviceError, match="is not a stream"):
        shmem.put(a, [1] * 8, pe=right, stream=object())
    if shmem.ptr(a, right) is not None and shmem.ptr(a, left) is not None:
        shmem.put(a, np.full(8, me), pe=right, stream=Stream(0, gpu))
        while host(a)[0] != left:
            pass
    shmem.barrier_all()


@pytest.mark.parametrize("dtype", ["half", "bfloat16", "float32"])
def test_sums_on_a_stream(dtype, me, n):
    """They have types that the host's collectives lack. The fake GPU adds values of no type."""
    a, b = shmem.zeros(4, dtype, device="gpu"), shmem.zeros(4, dtype, device="gpu")
    shmem.put(a, np.full(4 * a.itemsize, 64, "u1").view(a.dtype), pe=me)
    if n == 1:
        shmem.sum_reduce(b[1:], a[1:], stream=0)
        while host(b).view("u1")[-1] != 64:
            pass
    with pytest.raises(shmem.DtypeError, match="bfloat16"):
        shmem.sum_reduce(b.view("V1"), a.view("V1"), stream=0)


def test_ptr(me, right):
    a = shmem.full(4, me, "float32", device="gpu")
    shmem.barrier_all()
    there = shmem.ptr(a, right)
    assert there is None or (there.shape, there.dtype) == ((4,), "float32")
    assert there is None or there.__cuda_array_interface__["data"][0] != 0
    mine = shmem.ptr(a, me)
    assert mine.__cuda_array_interface__["data"] == a.__cuda_array_interface__["data"]


def test_views_keep_the_memory(me):
    view = shmem.full((4, 4), me, device="gpu")[1:3].reshape(-1)[2:]
    gc.collect()
    shmem.reclaim()
    others = [shmem.full((4, 4), -1, device="gpu") for _ in range(3)]
    assert host(view).tolist() == [me] * 6
    del others


def test_freed(me):
    a = shmem.zeros(8, "int64", device="gpu")
    shmem.free(a)
    for use in (
        lambda: a.__cuda_array_interface__,
        a.__dlpack__,
        lambda: shmem.put(a, [0] * 8, pe=me),
    ):
        with pytest.raises(shmem.FreedError):
            use()


class Foreign:
    """Memory of an array of numpy that claims, by its interface, to be a GPU's."""

    def __init__(self, array, shape=None):
        self.keep = array
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (array.ctypes.data, False),
            "shape": shape or array.shape,
            "typestr": array.dtype.str,
        }


def test_others_on_the_same_memory(me, right, left):
    """As cupy, numba and torch have it: an object of their own, the memory of the heap."""
    a = shmem.zeros(8, "int64", device="gpu")

    class Same:
        __cuda_array_interface__ = a[2:6].__cuda_array_interface__

    shmem.put(Same(), [me] * 4, pe=right)
    shmem.barrier_all()
    assert host(a).tolist() == [0, 0, *[left] * 4, 0, 0]


def test_what_goes_wrong(me, gpu):
    a, cpu = shmem.zeros(8, "int64", device="gpu"), np.zeros(8, "int64")
    both = shmem.zeros(2, "complex64", device="gpu")
    wrong = {
        "of the CPU": (lambda: shmem.put(cpu, a, pe=me), shmem.DeviceError, "in main memory"),
        "freed": (lambda: shmem.put(a, Foreign(cpu), pe=me), shmem.FreedError, "it was freed"),
        "no device": (lambda: shmem.zeros(8, "int64"), shmem.DeviceError, "device='cuda'"),
        "cpu": (
            lambda: shmem.zeros(8, "int64", device="cpu"),
            shmem.DeviceError,
            "SHMEM_HEAP=host",
        ),
        "unknown": (
            lambda: shmem.zeros(8, "int64", device="tpu"),
            shmem.DeviceError,
            "is not a device",
        ),
        "another": (
            lambda: shmem.zeros(8, "int64", device=f"gpu:{gpu + 1}"),
            shmem.DeviceError,
            f"on GPU {gpu}",
        ),
        "dtype": (lambda: shmem.put(a, cpu.astype("f4"), pe=me), shmem.DtypeError, ""),
        "long": (lambda: shmem.put(a[:2], cpu, pe=me), shmem.SizeError, ""),
        "sum": (lambda: shmem.sum_reduce(both, both, stream=0), shmem.DtypeError, "float16"),
        "numpy": (lambda: np.asarray(a), shmem.DeviceError, "shmem.get"),
        "a list as a key": (lambda: a[[1, 2]], shmem.LayoutError, "ints and slices"),
        "shape": (lambda: a.reshape(3, 3), shmem.SizeError, ""),
        "values": (lambda: shmem.test_all(a, "==", a), shmem.DeviceError, "GPU memory"),
        "host memory": (lambda: shmem.register(pages()), shmem.RegisterError, "GPU"),
    }
    if importlib.util.find_spec("cupy") is None:
        wrong["cupy"] = (
            lambda: shmem.zeros(8, "int64", device="cupy"),
            shmem.DeviceError,
            "not installed",
        )
    for what, (use, kind, text) in wrong.items():
        with pytest.raises(kind) as caught:
            use()
        assert text in str(caught.value), (what, str(caught.value))


def pages():
    memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, "int64")


def test_what_a_stream_still_uses_stays(me):
    signal = shmem.zeros(1, "uint64", device="gpu")
    a = shmem.empty(1000, "int64", device="gpu")
    was = a.__cuda_array_interface__["data"][0]
    shmem.barrier_all()
    shmem.signal_wait_until(signal, "==", 1, stream=0)  # work that has not been executed yet
    del a
    gc.collect()
    others = [shmem.empty(1000, "int64", device="gpu") for _ in range(3)]
    assert was not in [b.__cuda_array_interface__["data"][0] for b in others]
    shmem.signal_set(signal, 1, pe=me)
    shmem.free(others.pop())
    assert shmem.reclaim() == 16000


def test_a_list_lives_until_the_stream_has_read_it(me):
    signal, a = shmem.zeros(1, "uint64", device="gpu"), shmem.zeros(4, "int64", device="gpu")
    shmem.barrier_all()
    shmem.signal_wait_until(signal, "==", 1, stream=0)
    shmem.put(a, [me + 5] * 4, pe=me, stream=0)
    for _ in range(100):
        np.full(4, 77)  # the copy would find this if the list's memory had been freed
    shmem.signal_set(signal, 1, pe=me)
    while host(a)[3] == 0:
        pass
    assert host(a).tolist() == [me + 5] * 4


def test_copies():
    """The error of a call that would read the elements names the array."""
    a = shmem.zeros((2, 3), "int64", device="gpu")
    b = copy.copy(a)
    shmem.p(b, 5, pe=shmem.my_pe(), index=1)
    assert shmem.g(a, shmem.my_pe(), index=1) == 5
    for call in (copy.deepcopy, pickle.dumps, np.asarray):
        with pytest.raises(shmem.DeviceError, match=r"DeviceArray\(shape=\(2, 3\).*shmem\.get"):
            call(a)
