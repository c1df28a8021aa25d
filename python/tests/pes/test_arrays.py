"""Arrays: their properties, and the return of their memory."""

import gc
import random

import numpy as np
import pytest

import shmem
from shmem import _blocks


def live() -> int:
    return len(_blocks.heap.slots)


@pytest.fixture(autouse=True)
def nothing_left():
    """Each test gives back what it made."""
    gc.collect()
    shmem.reclaim()
    before = live()
    yield
    gc.collect()
    shmem.reclaim()
    assert live() == before


DTYPES = ["int8", "uint16", "int64", "float16", "float32", "float64", "complex128", "bool", ">i4"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_made_as_asked(dtype):
    a = shmem.zeros((3, 5), dtype)
    assert type(a) is np.ndarray
    assert (a.shape, a.dtype, a.flags.c_contiguous, a.flags.writeable) == ((3, 5), dtype, 1, 1)
    assert not a.any()
    b = shmem.full((2, 2), 1, dtype)
    assert (b == 1).all()
    assert shmem.empty(4, dtype).shape == (4,)


@pytest.mark.parametrize("kind", [bool, int, float, complex, np.int8, np.float32, np.complex64])
def test_dtypes_by_their_class(kind, me):
    a = shmem.zeros(2, kind)
    assert a.dtype == np.dtype(kind)
    assert shmem.full(2, 1, dtype=kind).dtype == shmem.empty(2, kind).dtype == a.dtype
    shmem.put(a, np.ones(2, kind), pe=me)
    assert (a == 1).all()


def test_shapes():
    assert shmem.zeros((), "int64").shape == ()
    assert shmem.zeros((0, 4), "int64").shape == (0, 4)
    assert shmem.zeros(np.int64(3), "int64").shape == (3,)
    assert shmem.zeros([2, 3], "int64").shape == (2, 3)


@pytest.mark.parametrize("dtype, size", [("bfloat16", 2), ("float8_e4m3fn", 1), ("half", 2)])
def test_types_of_gpus(dtype, size, right, left, me):
    a = shmem.zeros(8, dtype)
    assert a.itemsize == size and a.size == 8
    shmem.put(a, np.full(8 * size, me + 1, "u1").view(a.dtype), pe=right)
    shmem.barrier_all()
    assert a.view("u1").tolist() == [left + 1] * 8 * size


def test_structured(right, left, me):
    kind = np.dtype([("x", "f4"), ("n", "i8")])
    a = shmem.zeros(4, kind)
    assert a.dtype == kind
    shmem.put(a, np.array([(me, me)] * 4, kind), pe=right)
    shmem.barrier_all()
    assert a["n"].tolist() == [left] * 4


def test_no_copy(me, n):
    a = shmem.zeros(16, "int64")
    shmem.put(a[8:], [me] * 8, pe=me)
    assert a.tolist() == [0] * 8 + [me] * 8


def test_views_keep_the_memory(me, right, left):
    view = shmem.full((4, 4), me)[1:3, ::2].reshape(-1)[1:]
    gc.collect()
    shmem.reclaim()
    others = [shmem.full((4, 4), -1) for _ in range(4)]
    assert view.tolist() == [me] * 3
    del others


def test_a_block_that_one_pe_keeps_stays_for_all(me, n):
    a = shmem.full(1000, me)
    start = a.ctypes.data
    if me != 0:
        del a
        gc.collect()
    b = shmem.full(1000, 7)  # a collective point: nothing may be freed where n > 1
    assert n == 1 or b.ctypes.data != start
    shmem.barrier_all()
    if me == 0:
        assert (a == 0).all()
        del a
    c = shmem.empty(1000, "int64")  # now all have dropped it
    assert n == 1 or c.ctypes.data == start


def test_dropped_in_another_order_on_each_pe(me, n):
    rng = random.Random(me)
    arrays = [shmem.full(10 + i, i) for i in range(150)]  # three words of votes
    order = list(range(len(arrays)))
    rng.shuffle(order)
    for count, i in enumerate(order):
        if i % 3 == 0:
            shmem.free(arrays[i])
        arrays[i] = None
        if count % 25 == 24:
            shmem.zeros(5, "int64")
    assert shmem.reclaim() > 0


def test_random_life(me, n):
    """The same allocations everywhere, dropped, freed and kept at random by each PE."""
    same, mine = random.Random(1), random.Random(me)
    held = []
    for step in range(200):
        size = same.randrange(1, 2000)
        a = shmem.full(size, step, same.choice(["i4", "f8", "u1"]))
        held.append((a, step % 256 if a.dtype == "u1" else step))
        while held and mine.random() < 0.5:
            dropped, _ = held.pop(mine.randrange(len(held)))
            if mine.random() < 0.3:
                shmem.free(dropped)
            del dropped
        for a, value in held:
            assert (a == value).all()
    held.clear()
    del a


def test_cycles_are_collected_when_the_heap_is_full(me):
    big = 24 << 20  # of a heap of 64 MiB
    cycle = [shmem.empty(big, "u1")]
    cycle.append(cycle)
    del cycle
    gc.disable()
    try:
        again = shmem.empty(big, "u1"), shmem.empty(big // 2, "u1")
        third = shmem.empty(big // 2, "u1")  # there is room only where the cycle has gone
    finally:
        gc.enable()
    del again, third


def test_dropped_by_another_thread(me):
    import threading

    a = [shmem.zeros(100, "int64")]
    t = threading.Thread(target=a.clear)
    t.start()
    t.join()
    assert shmem.reclaim() == 800


def test_free_twice_and_use_after():
    a = shmem.zeros(4, "int64")
    view = a[1:]
    shmem.free(a)
    with pytest.raises(shmem.SymmetryError):
        shmem.free(a)
    with pytest.raises(shmem.FreedError):
        shmem.put(view, [1], pe=0)
    with pytest.raises(shmem.SymmetryError, match="not in symmetric memory"):
        shmem.free(np.zeros(3))
    b = shmem.zeros(4, "int64")
    with pytest.raises(shmem.SymmetryError):
        shmem.free(b[1:])


def test_a_quick_call_after_free(me):
    """The block of the last put is known by its ends, and no longer when it is freed."""
    a, source = shmem.zeros(4, "int64"), np.ones(4, "i8")
    for _ in range(2):  # the second one is quick
        shmem.put(a, source, pe=me)
    shmem.free(a)
    with pytest.raises(shmem.FreedError):
        shmem.put(a, source, pe=me)
    with pytest.raises(shmem.FreedError):
        shmem.get(source, a, pe=me)


def test_more_arrays_than_a_word_has_bits():
    """What is dropped is agreed on by bits, and takes more than one word."""
    many = [shmem.zeros(1, "int64") for _ in range(130)]
    del many
    gc.collect()
    assert shmem.reclaim() == 130 * 8


def test_heap_exhausted():
    with pytest.raises(
        shmem.HeapError, match=r"no room: \d+ of \d+ bytes are free.*SHMEM_SYMMETRIC_SIZE"
    ):
        shmem.empty(1 << 40, "u1")
    with pytest.raises(MemoryError):
        shmem.zeros(1 << 40, "u1")
    assert shmem.zeros(3, "int64").tolist() == [0, 0, 0]


def test_heap_use(me, n):
    shmem.empty(1)  # the first allocation also makes the words of the PEs' votes
    shmem.reclaim()
    before = shmem.heap()
    assert before.size == 64 << 20 and before.used + before.free == before.size
    assert 0 < before.largest <= before.free
    array = shmem.empty(1 << 20, "u1")
    during = shmem.heap()
    assert 1 << 20 <= during.used - before.used < (1 << 20) + 8192
    assert during.free == before.free - (during.used - before.used)
    if me == n - 1:  # the memory is back when every PE has dropped the array
        kept = array
    behind = shmem.empty(1, "u1")
    del array
    shmem.reclaim()
    assert during.used < shmem.heap().used < during.used + 8192
    if me == n - 1:
        del kept
    shmem.reclaim()
    hole = shmem.heap()
    assert hole.used < before.used + 8192 and hole.free - hole.largest >= 1 << 20
    del behind
    shmem.reclaim()
    assert shmem.heap() == before


def test_bad_arrays():
    with pytest.raises(shmem.DtypeError):
        shmem.empty(3, "object")
    with pytest.raises(shmem.DtypeError):
        shmem.empty(3, "no such type")
    for dtype in (str, bytes, object, 3, "", [("a", "i4"), ("a", "i4")]):
        with pytest.raises(shmem.DtypeError):
            shmem.empty(3, dtype)
    with pytest.raises(shmem.DtypeError, match="add .* to the shape"):
        shmem.empty(3, "(2,)i4")
    for shape in (-1, (2, -3), "abc", None, (1,) * 100, np.array([[1]]), np.array([1.0])):
        with pytest.raises(shmem.SizeError):
            shmem.empty(shape, "int64")
    assert shmem.empty(np.array([2, 3]), "int64").shape == (2, 3)
    with pytest.raises(shmem.DeviceError):
        shmem.empty(3, "int64", device="cuda")


def test_full_takes_nothing_half(me):
    """What cannot be in the array is refused before there is memory."""
    had, before = live(), shmem.full(1, me)
    for value in (300, -1, 1.5, None, "a", 1j, np.int64(300), np.nan, object()):
        with pytest.raises(shmem.DtypeError):
            shmem.full(4, value, "uint8")
    with pytest.raises(shmem.DtypeError, match="int64 has no such number"):
        shmem.full(4, 0.5, int)
    with pytest.raises(shmem.SizeError, match="does not fill"):
        shmem.full(4, [1, 2])
    assert live() == had + 1 and before[0] == me
    assert shmem.full((2, 2), [1, 2]).tolist() == [[1, 2], [1, 2]]
    assert shmem.full(2, 0.5, float).tolist() == [0.5, 0.5]


def test_ptr(me, n, right):
    a = shmem.full((2, 3), me, "float32")
    assert shmem.ptr(a, me) is not None
    there = shmem.ptr(a, right)
    if there is not None:
        assert there.shape == (2, 3) and there.dtype == "float32"
        assert (there == right).all()
    with pytest.raises(shmem.PEError):
        shmem.ptr(a, n)


def test_as_numpy_makes_them(me, right, left):
    """Default types are numpy's."""
    assert shmem.zeros(3).dtype == shmem.empty(3).dtype == shmem.ones((3, 1)).dtype == np.float64
    assert shmem.ones((2, 3), "i4").tolist() == [[1, 1, 1]] * 2
    for value in (7, 7.5, True, 1j, np.float32(2), [1, 2, 3], np.arange(3, dtype="i2")):
        a, want = shmem.full(3, value), np.full(3, value)
        assert a.dtype == want.dtype and (a == want).all()
    for values in (5, [1.5, 2], [[1], [2]], np.arange(6, dtype="u1").reshape(2, 3)[:, ::2]):
        a, want = shmem.array(values), np.array(values)
        assert a.dtype == want.dtype and a.shape == want.shape and (a == want).all()
    a = shmem.array([me, me + 1], "f4")
    shmem.barrier_all()
    assert shmem.g(a, right, index=1) == right + 1 and a.dtype == np.float32
    b = shmem.zeros_like(a)
    shmem.put(b, a, pe=right)
    shmem.barrier_all()
    assert b.tolist() == [left, left + 1]
    assert shmem.zeros_like(np.ones((2, 2), "i2"), int).tolist() == [[0, 0], [0, 0]]
    for values in ([1.5], ["x", 1], [[1], [1, 2]], object()):
        with pytest.raises(shmem.DtypeError):
            shmem.array(values, int)
    assert shmem.array([]).shape == (0,)
