"""register: memory of the GPU that the program has mapped itself, as symmetric memory."""

import ctypes
import gc

import numpy as np
import pytest
from job import host

import shmem
from shmem import _blocks

driver = ctypes.CDLL("libcuda.so.1")
GRANULE = 2 << 20


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    gc.collect()
    shmem.reclaim()
    assert not [b for b in _blocks.heap.slots.values() if b.symmetric]


def call(name, *args):
    code = getattr(driver, name)(*args)
    assert code == 0, f"{name}: {code}"


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int))


class Property(ctypes.Structure):
    """CUmemAllocationProp, without unused fields."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", ctypes.c_int),
        ("device", ctypes.c_int),
        ("windows", ctypes.c_void_p),
        ("compression", ctypes.c_ubyte),
        ("rdma", ctypes.c_ubyte),
        ("rest", ctypes.c_ubyte * 6),
    )


class Chunks:
    """Memory of the GPU as torch's expandable segments allocate it."""

    def __init__(self, gpu, granules, handles=1):
        self.n = granules * GRANULE
        # CU_MEM_ALLOCATION_TYPE_PINNED at CU_MEM_LOCATION_TYPE_DEVICE. handles of 1 is
        # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR. The last 1 asks for memory that NICs reach.
        wanted = Property(1, handles, 1, gpu, None, 0, 1)
        at, name = ctypes.c_uint64(), ctypes.c_uint64()
        size, none = ctypes.c_size_t(self.n), ctypes.c_size_t(0)
        if driver.cuMemCreate(ctypes.byref(name), size, ctypes.byref(wanted), none) != 0:
            wanted.rdma = 0  # a GPU that NICs do not reach
            call("cuMemCreate", ctypes.byref(name), size, ctypes.byref(wanted), none)
        call("cuMemAddressReserve", ctypes.byref(at), size, none, none, none)
        call("cuMemMap", at, size, none, name, none)
        # By CU_MEM_LOCATION_TYPE_DEVICE, this GPU: CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
        allowed = Access(1, gpu, 3)
        call("cuMemSetAccess", at, size, ctypes.byref(allowed), ctypes.c_size_t(1))
        call("cuMemRelease", name)
        self.address = at.value

    def __del__(self):
        call("cuMemUnmap", ctypes.c_uint64(self.address), ctypes.c_size_t(self.n))
        call("cuMemAddressFree", ctypes.c_uint64(self.address), ctypes.c_size_t(self.n))


class Foreign:
    """A part of the memory of Chunks, as packages describe memory of a GPU."""

    def __init__(self, chunks, shape, dtype="int64", offset=0, strides=None):
        self.chunks, self.shape, self.dtype = chunks, shape, np.dtype(dtype)
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (chunks.address + offset, False),
            "shape": shape,
            "strides": strides,
            "typestr": self.dtype.str,
        }


def test_both_are_the_same_memory(me, right, left, gpu):
    there = Foreign(Chunks(gpu, 3), (300,), offset=4096)
    a = shmem.register(there)
    assert type(a) is shmem.DeviceArray and a.shape == (300,) and a.dtype == np.dtype("int64")
    assert a.__cuda_array_interface__["data"][0] == there.__cuda_array_interface__["data"][0]
    shmem.put(a, np.arange(300) + me, pe=right)
    shmem.barrier_all()
    assert host(there).tolist() == [i + left for i in range(300)]
    shmem.put(there, np.arange(300) * 2, pe=me)
    shmem.barrier_all()
    assert host(a[7:9], right).tolist() == [14, 16]
    shmem.barrier_all()
    shmem.atomic_add(there, me + 1, pe=right)
    shmem.barrier_all()
    assert host(a)[0] == left + 1
    assert shmem.register(a) is a and shmem.register(there) is there


def test_signal_and_collectives(me, n, right, left, gpu):
    a = shmem.register(Foreign(Chunks(gpu, 1), (2048,)))
    shmem.put(a, np.zeros(2048, "int64"), pe=me)
    shmem.barrier_all()
    shmem.put_signal(a[:4], [me] * 4, a[8:9], 5, pe=right)
    shmem.wait_until(a[8:9], "==", 5)
    assert host(a[:4]).tolist() == [left] * 4
    shmem.barrier_all()
    shmem.put(a[:2], [me, 10 * me], pe=me)
    shmem.fcollect(a[100 : 100 + 2 * n], a[:2])
    assert host(a[100 : 100 + 2 * n]).tolist() == [x for pe in range(n) for x in (pe, 10 * pe)]
    shmem.sum_reduce(a[200:202], a[:2])
    assert host(a[200:202]).tolist() == [n * (n - 1) // 2, 5 * n * (n - 1)]


def test_on_a_stream(me, right, left, gpu):
    """A put on a stream takes the address that the program has mapped."""
    a = shmem.register(Foreign(Chunks(gpu, 1), (64,)))
    shmem.put(a, np.full(64, me), pe=me)
    shmem.barrier_all()
    if all(shmem.ptr(a, pe) is not None for pe in (right, left)):
        shmem.put(a[32:], a[:32], pe=right, stream=0)
        shmem.quiet(stream=0)
        call("cuStreamSynchronize", None)
        shmem.barrier_all()
        assert host(a[32:]).tolist() == [left] * 32


def test_it_keeps_the_memory_and_gives_it_back(me, right, left, gpu):
    chunks = Chunks(gpu, 2)
    there = Foreign(chunks, (16,))
    a = shmem.register(there)
    shmem.put(a, [me] * 16, pe=right)
    shmem.barrier_all()
    part = a[2:5]
    del a
    gc.collect()
    shmem.reclaim()
    assert host(part).tolist() == [left] * 3
    del part
    gc.collect()
    assert shmem.reclaim() > 0
    # The memory is the program's own again, with its contents.
    with pytest.raises(shmem.SymmetryError, match="not in symmetric memory"):
        shmem.put(there, [1] * 16, pe=right)
    b = shmem.zeros(16, "int64", device="gpu")
    shmem.put(b, there, pe=me)
    assert host(b).tolist() == [left] * 16
    again = shmem.register(there)
    assert host(again).tolist() == [left] * 16


def test_other_types(me, gpu):
    chunks = Chunks(gpu, 1)
    a = shmem.register(Foreign(chunks, (4, 8), "float32", 512))
    assert (a.shape, a.dtype, a.name) == ((4, 8), np.dtype("float32"), "float32")


def test_nothing_with_strides(me, gpu):
    """An empty tensor as torch describes it."""
    a = shmem.zeros(4, "int64", device="gpu")
    nothing = Foreign(Chunks(gpu, 1), (0,), strides=(8,))
    shmem.put(a[:0], nothing, pe=me)
    shmem.get(nothing, a[:0], pe=me)
    assert host(a).tolist() == [0] * 4

    class Nowhere:
        address = 0

    for shape in ((0,), (0, 3)):
        nowhere, mine = Foreign(Nowhere, shape), a[:0].reshape(shape)
        for stream in (None, 0):
            shmem.put(nowhere, mine, pe=me, stream=stream)
            shmem.put(mine, nowhere, pe=me, stream=stream)
            shmem.get(nowhere, mine, pe=me, stream=stream)
            shmem.get(mine, nowhere, pe=me, stream=stream)
        shmem.fcollect(nowhere, nowhere)
        shmem.sum_reduce(nowhere, nowhere)
        shmem.free(nowhere)
        with pytest.raises(shmem.SizeError):
            shmem.put(nowhere, a, pe=me)
        with pytest.raises(shmem.LayoutError, match="no elements"):
            shmem.register(nowhere)
    call("cuStreamSynchronize", None)
    assert host(a).tolist() == [0] * 4


def test_what_goes_wrong(me, n, gpu):
    chunks = Chunks(gpu, 1)
    block = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(GRANULE))

    class Allocated:
        address = block.value

    wrong = {
        "by cudaMalloc": (
            Foreign(Allocated, (8,)),
            shmem.RegisterError,
            "expandable_segments:True",
        ),
        "nothing": (Foreign(chunks, (0,)), shmem.LayoutError, "no elements"),
        "not contiguous": (
            Foreign(chunks, (8,), strides=(16,)),
            shmem.LayoutError,
            "not contiguous",
        ),
        "larger than the heap": (
            Foreign(Chunks(gpu, 33), (33 * GRANULE // 8,)),  # 66 MiB, and the heap has 64
            shmem.HeapError,
            "SHMEM_SYMMETRIC_SIZE",
        ),
    }
    for what, (array, kind, text) in wrong.items():
        with pytest.raises(kind) as caught:
            shmem.register(array)
        assert text in str(caught.value), (what, str(caught.value))
    call("cuMemFree_v2", block)
    if n > 1:
        with pytest.raises(shmem.RegisterError, match="one size on every PE"):
            shmem.register(Foreign(chunks, (8 + me,)))
        with pytest.raises(shmem.RegisterError, match="make the same allocations on every PE"):
            shmem.register(Foreign(chunks, (8,), offset=512 * me))
    assert shmem.register(Foreign(chunks, (8,))).shape == (8,)
