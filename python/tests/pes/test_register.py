"""register: arrays that exist already, as symmetric ones, where they are."""

import gc
import mmap

import numpy as np
import pytest

import shmem
from shmem import _blocks

MIB = 1 << 20


def pages(words, dtype="int64"):
    """An array in pages of its own, at an address that differs from PE to PE."""
    kind = np.dtype(dtype)
    memory = mmap.mmap(-1, words * kind.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, kind, words)


@pytest.fixture(autouse=True)
def nothing_left():
    gc.collect()
    shmem.reclaim()
    before = len(_blocks.heap.slots)
    yield
    gc.collect()
    shmem.reclaim()
    assert len(_blocks.heap.slots) == before


def test_where_it_is(me, right, left):
    a = pages(1000)
    a[:] = me
    view = a[10:20]
    s = shmem.register(a)
    assert (s.ctypes.data, s.shape, s.dtype) == (a.ctypes.data, a.shape, a.dtype)
    assert (s == me).all()
    shmem.barrier_all()
    shmem.put(s[500:], np.arange(500), pe=right)
    shmem.put(view, [left] * 10, pe=right)  # a view from before
    shmem.barrier_all()
    assert a[500:].tolist() == list(range(500)) and view.tolist() == [(me - 2) % shmem.n_pes()] * 10
    assert shmem.get(np.zeros(500, "int64"), a[500:], pe=left) is None
    assert shmem.g(a, pe=left, index=999) == 499


def test_large_arrays_of_numpy(me, right, left):
    """malloc maps large blocks by themselves, so that the header shares no page with other data."""
    a = np.arange(8 * MIB, dtype="int64")  # beyond what malloc ever takes from its arenas
    assert a.ctypes.data % mmap.PAGESIZE != 0
    s = shmem.register(a.reshape(8, -1)[2:4])
    assert s.shape == (2, MIB)
    shmem.put(s[1], np.full(MIB, me), pe=right)
    shmem.barrier_all()
    assert (a[3 * MIB : 4 * MIB] == left).all() and a[3 * MIB - 1] == 3 * MIB - 1
    assert a[4 * MIB] == 4 * MIB
    with pytest.raises(shmem.SymmetryError):
        shmem.put(a[:8], [0] * 8, pe=right)  # beside what is registered
    shmem.barrier_all()
    del s
    gc.collect()
    assert shmem.reclaim() == 2 * MIB * 8
    assert (a[3 * MIB : 4 * MIB] == left).all() and a[-1] == 8 * MIB - 1


@pytest.mark.parametrize("dtype", ["float32", "complex128", "bfloat16", "bool"])
def test_dtypes(dtype, me, right, left):
    size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    a = pages(4096, "u1").view(shmem.empty(1, dtype).dtype)
    s = shmem.register(a)
    assert s.dtype == a.dtype and s.itemsize == size
    shmem.put(s, np.full(4096, me % 2, "u1").view(a.dtype), pe=right)
    shmem.barrier_all()
    assert a.view("u1").tolist() == [left % 2] * 4096


def test_operations(me, n, right, left):
    a = shmem.register(pages(64))
    shmem.atomic_add(a, me + 1, pe=0)
    shmem.barrier_all()
    assert me != 0 or a[0] == n * (n + 1) // 2
    u = shmem.register(pages(64, "uint64"))
    shmem.put_signal(a[8:10], [me, me], u, 7, pe=right)
    shmem.signal_wait_until(u, "==", 7)
    assert a[8:10].tolist() == [left] * 2
    shmem.put(a[16:32:4], [me] * 4, pe=right)  # strided
    shmem.sum_reduce(a[40:41], shmem.full(1, me + 1))
    shmem.barrier_all()
    assert a[16:32:4].tolist() == [left] * 4 and a[40] == n * (n + 1) // 2
    there = shmem.ptr(a, right)
    assert there is None or there[8] == me
    shmem.barrier_all()


def test_views_keep_it(me, right, left):
    a = pages(512)
    view = shmem.register(a)[100:]
    gc.collect()
    shmem.reclaim()
    shmem.p(a, me, pe=right, index=200)
    shmem.barrier_all()
    assert view[100] == left and a[200] == left
    address = a.ctypes.data
    del a
    gc.collect()
    assert view.ctypes.data == address + 800 and view[100] == left  # its memory is kept, too
    shmem.barrier_all()


def test_it_becomes_the_programs_own(me, right):
    a = pages(512)
    for turn in range(3):
        s = shmem.register(a)
        shmem.p(s, turn, pe=right, index=3)
        shmem.barrier_all()
        shmem.free(s)
        with pytest.raises(shmem.FreedError):
            shmem.p(a, 9, pe=right)
        shmem.reclaim()
        with pytest.raises(shmem.SymmetryError, match=r"or register it"):
            shmem.p(a, 9, pe=right)
        a[4] = me
        assert a[3] == turn and s[4] == me
        del s


def test_one_pe_still_has_it(me, right, left):
    a = pages(512)
    s = shmem.register(a)
    if me == 0:
        keep = s
    del s
    gc.collect()
    shmem.reclaim()
    if me == 0:
        shmem.p(keep, 5, pe=right, index=2)
        del keep
    shmem.barrier_all()
    assert left != 0 or a[2] == 5
    gc.collect()
    assert shmem.reclaim() == 4096


def test_symmetric_already(me, right, left):
    a = shmem.zeros(100, "int64")
    assert shmem.register(a) is a
    assert shmem.register(a[10:20]).ctypes.data == a.ctypes.data + 80
    b = shmem.register(pages(512))
    assert shmem.register(b) is b


BAD = {
    "small": (lambda: np.zeros(10), shmem.RegisterError, "may hold other data"),
    "gaps": (lambda: pages(512)[::2], shmem.LayoutError, "not contiguous"),
    "empty": (lambda: pages(512)[:0], shmem.LayoutError, "no elements"),
    "text": (lambda: np.frombuffer(b"x" * 8192, "u1"), shmem.LayoutError, "read-only"),
    "a view of another's": (
        lambda: np.zeros(8 * MIB)[:1].astype("f4"),
        shmem.RegisterError,
        "mmap.MAP_PRIVATE",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_refused(what):
    make, kind, text = BAD[what]
    a = make()
    with pytest.raises(kind, match=text):
        shmem.register(a)


def test_shared_memory_is_refused():
    a = np.frombuffer(mmap.mmap(-1, 8192), "int64")
    a[:] = 7
    with pytest.raises(shmem.RegisterError, match="shared memory"):
        shmem.register(a)
    assert (a == 7).all()


def test_a_part_of_a_registered_one():
    a = pages(2048)
    s = shmem.register(a[512:1024])
    with pytest.raises(shmem.RegisterError, match="a part of it is registered already"):
        shmem.register(a)
    del s


def test_all_or_none(me, n, right):
    """If one PE cannot register its array, or has another size, no PE registers its own."""
    if n == 1:
        return
    # 511 words never fill a page. An array of 512 words from malloc does if its address, a multiple
    # of 16, is by chance that of a page: once in 256 times.
    a = pages(512) if me == 0 else np.zeros(511)
    why = "another PE refuses" if me == 0 else "may hold other data"
    with pytest.raises(shmem.RegisterError, match=why):
        shmem.register(a)
    with pytest.raises(shmem.RegisterError, match="another PE"):
        shmem.register(pages(512 * (1 + me)))
    mixed = shmem.zeros(512, "int64")
    with pytest.raises(shmem.RegisterError, match="another PE"):
        shmem.register(mixed if me == 0 else pages(512))
    s = shmem.register(pages(512))
    shmem.p(s, me, pe=right)
    shmem.barrier_all()


def test_no_room():
    a = pages(16 * MIB)  # 128 MiB, and the heap has 64
    with pytest.raises(shmem.HeapError, match="raise SHMEM_SYMMETRIC_SIZE"):
        shmem.register(a)
    a[0] = a[-1] = 1


def test_dlpack(me, right, left):
    """numpy offers its arrays to other packages, and takes theirs, without a copy."""
    a = shmem.zeros(16, "float32")
    assert a.__dlpack_device__() == (1, 0)
    other = np.from_dlpack(a)
    shmem.put(other, np.full(16, me, "float32"), pe=right)
    shmem.barrier_all()
    assert (a == left).all() and other.ctypes.data == a.ctypes.data
