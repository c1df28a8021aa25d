"""put, get, p, g, strides, signals, contexts."""

import datetime
import random
import weakref

import numpy as np
import pytest

import shmem

DTYPES = ["int8", "uint8", "int16", "float16", "int32", "float32", "int64", "float64", "complex64"]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex128", "longdouble"])
def test_put_get_p_g(dtype, me, left, right):
    a = shmem.zeros(8, dtype)
    shmem.put(a[:4], np.arange(4).astype(dtype) + np.dtype(dtype).type(me), pe=right)
    shmem.p(a, me + 2, pe=right, index=5)
    shmem.barrier_all()
    want = np.zeros(8, dtype)
    want[:4] = np.arange(4) + left
    want[5] = left + 2
    assert (a == want).all()
    back = np.empty(8, dtype)
    shmem.get(back, a, pe=right)
    assert back[1] == me + 1
    got = shmem.g(a, right, index=5)
    assert got == me + 2 and got.dtype == dtype


# Up to 8192 bytes a call may hold the interpreter's lock while it copies (QUICK in _near.py).
@pytest.mark.parametrize("size", [1, 7, 1000, 8192, 8193, 300000])
def test_sizes(size, me, left, right):
    a, b = shmem.zeros(size, "u1"), np.zeros(size, "u1")
    data = np.arange(size).astype("u1") ^ np.uint8(me)
    for _ in range(2):  # the second one may take another path
        shmem.put(a, data, pe=right)
        shmem.barrier_all()
        assert (a == np.arange(size).astype("u1") ^ np.uint8(left)).all()
        shmem.get(b, a, pe=right)
        assert (b == data).all()
        shmem.barrier_all()


@pytest.mark.parametrize("size", [100, 20000])
def test_nonblocking(size, me, left, right):
    a = shmem.zeros((30, size), "int64")
    sources = []
    for i in range(30):
        source = np.full(size, me * 30 + i)
        sources.append(weakref.ref(source))
        shmem.put_nbi(a[i], source, pe=right)
        del source
        np.full(size, -1)  # it takes the place of one that was dropped
    assert all(s() is not None for s in sources)
    shmem.quiet()
    shmem.barrier_all()
    assert (a == np.arange(30)[:, None] + left * 30).all()
    back = np.zeros_like(a)
    for i in range(30):
        shmem.get_nbi(back[i], a[i], pe=right)
    shmem.quiet()
    assert (back == np.arange(30)[:, None] + me * 30).all()


def test_what_can_be_a_source(me, right, left):
    import array

    a = shmem.zeros(4, "u1")
    for source in (b"abcd", bytearray(b"abcd"), memoryview(b"abcd"), array.array("B", b"abcd")):
        a[:] = 0
        shmem.barrier_all()
        shmem.put(a, source, pe=right)
        shmem.barrier_all()
        assert a.tobytes() == b"abcd"
    b = shmem.zeros(2, "f8")
    shmem.put(b, (1, 2.5), pe=right)
    shmem.barrier_all()
    assert b.tolist() == [1, 2.5]
    shmem.barrier_all()
    shmem.put(b[:1], 7, pe=right)
    shmem.barrier_all()
    assert b.tolist() == [7, 2.5]
    shmem.barrier_all()
    shmem.put(b[1:], np.float64(8), pe=right)
    shmem.barrier_all()
    assert b.tolist() == [7, 8]


def some_slice(rng, shape):
    out = []
    for n in shape:
        step = rng.choice([1, 1, 2, 3, -1, -2])
        low, high = sorted((rng.randrange(n), rng.randrange(n)))
        out.append(slice(low, high + 1, step) if step > 0 else slice(high, low or None, step))
    return tuple(out)


def layouts(rng, shape):
    """An array of this shape with one of several kinds of strides."""
    steps = [rng.choice([1, 2, -1]) for _ in shape]
    big = np.zeros([n * abs(s) for n, s in zip(shape, steps, strict=True)], "i4")
    return big[tuple(slice(None, None, s) for s in steps)]


def test_random_slices(me, left, right):
    rng = random.Random(7)  # the same on every PE
    for round_ in range(40):
        shape = [rng.randrange(1, 7) for _ in range(rng.randrange(1, 4))]
        a = shmem.zeros(shape, "i4")
        key = some_slice(rng, shape)
        want = np.zeros(shape, "i4")
        source = layouts(rng, want[key].shape)
        source[...] = np.arange(source.size).reshape(source.shape) + 1 + me
        shmem.put(a[key], source, pe=right)
        shmem.barrier_all()
        want[key] = source - me + left
        assert (a == want).all(), (round_, shape, key)
        into = layouts(rng, want[key].shape)
        shmem.get(into, a[key], pe=right)
        assert (into == source).all(), (round_, shape, key)
        shmem.barrier_all()


def test_transposed_and_broadcast(me, right, left):
    a = shmem.zeros((3, 4), "f4")
    shmem.put(a.T, np.arange(12, dtype="f4").reshape(4, 3) + me, pe=right)
    shmem.barrier_all()
    assert (a == np.arange(12).reshape(4, 3).T + left).all()
    shmem.barrier_all()
    shmem.put(a, np.broadcast_to(np.float32(me), (3, 4)), pe=right)
    shmem.barrier_all()
    assert (a == left).all()


@pytest.mark.parametrize("nbi", [False, True])
def test_put_signal(nbi, me, left, right):
    data, signal = shmem.zeros(1000, "int64"), shmem.zeros(2, "uint64")
    put = shmem.put_signal_nbi if nbi else shmem.put_signal
    for i in range(1, 20):
        put(data, np.full(1000, me + i), signal, i, pe=right)
        assert shmem.signal_wait_until(signal, ">=", i) == i
        assert (data == left + i).all()
        shmem.signal_add(signal, 1, pe=left, index=1)  # it may be overwritten
        shmem.signal_wait_until(signal, "==", i, index=1)
    shmem.put_signal(data[:1], [5], signal, 100, pe=right, op="add")
    shmem.wait_until(signal, "==", 119)
    shmem.barrier_all()
    shmem.signal_set(signal, -1, pe=right)
    shmem.wait_until(signal, "==", (1 << 64) - 1)
    assert shmem.signal_fetch(signal) == (1 << 64) - 1


def refused(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    e = caught.value
    assert isinstance(e, shmem.ShmemError)
    assert e.operation and e.cause and e.remedy
    assert str(e) == f"{e.operation} {e.subject}".strip() + f": {e.cause} ({e.remedy})"


def test_bad_input(me, n):
    a, b, signal = shmem.zeros(8, "int64"), shmem.zeros(8, "f4"), shmem.zeros(1, "u8")
    near = np.zeros(8)
    last = rf"put pe='0': is not a PE number \(pass pe as an int from 0 to {n - 1}\)"
    with pytest.raises(shmem.PEError, match=last):
        shmem.put(a, [1], pe="0")
    for pe in (-1, n, 1 << 40, 1.5, None, "0"):
        refused(shmem.PEError, shmem.put, a, [1], pe=pe)
        refused(shmem.PEError, shmem.get, near.astype("i8"), a, pe=pe)
        refused(shmem.PEError, shmem.p, a, 1, pe=pe)
        refused(shmem.PEError, shmem.g, a, pe)
        refused(shmem.PEError, shmem.put_signal, a, [1], signal, 1, pe=pe)
        refused(shmem.PEError, shmem.atomic_add, a, 1, pe=pe)
        refused(shmem.PEError, shmem.signal_set, signal, 1, pe=pe)
    refused(shmem.DtypeError, shmem.put, a, b, pe=me)
    refused(shmem.DtypeError, shmem.put, a, ["x"], pe=me)
    refused(shmem.DtypeError, shmem.put, a, object(), pe=me)
    refused(shmem.DtypeError, shmem.get, near, a, pe=me)
    refused(shmem.DtypeError, shmem.p, a, [1, 2], pe=me)
    refused(shmem.DtypeError, shmem.p, a, 1 << 70, pe=me)
    refused(shmem.SizeError, shmem.put, a, np.zeros(9, "i8"), pe=me)
    refused(shmem.SizeError, shmem.get, np.zeros(9, "i8"), a, pe=me)
    refused(shmem.SizeError, shmem.put, a[::2], [1, 2], pe=me)
    refused(shmem.SizeError, shmem.p, a, 1, pe=me, index=8)
    refused(shmem.SizeError, shmem.g, a, me, index=-9)
    refused(shmem.SymmetryError, shmem.put, near, [1.0], pe=me)
    refused(shmem.SymmetryError, shmem.put, np.zeros((4, 4))[::2], np.zeros((2, 4)), pe=me)
    refused(shmem.SymmetryError, shmem.get, near, np.zeros(8), pe=me)
    refused(shmem.SymmetryError, shmem.put_signal, a, [1], np.zeros(1, "u8"), 1, pe=me)
    refused(shmem.LayoutError, shmem.put_signal, a[::2], [1], signal, 1, pe=me)
    refused(shmem.LayoutError, shmem.put_signal, a, np.zeros(16, "i8")[::2], signal, 1, pe=me)
    refused(shmem.LayoutError, shmem.get, np.broadcast_to(np.int64(0), (8,)), a, pe=me)
    refused(shmem.DtypeError, shmem.put_signal, a, [1], b, 1, pe=me)
    refused(shmem.DtypeError, shmem.signal_set, signal, 1 << 64, pe=me)
    refused(shmem.ArgumentError, shmem.put_signal, a, [1], signal, 1, pe=me, op="mul")
    # Longer than its block, but inside the heap.
    longer = np.lib.stride_tricks.as_strided(a, (9,), (8,))
    refused(shmem.SizeError, shmem.put, longer, np.zeros(9, "i8"), pe=me)
    refused(
        shmem.SizeError,
        shmem.put,
        np.lib.stride_tricks.as_strided(a, (5,), (16,)),
        np.zeros(5, "i8"),
        pe=me,
    )
    for stream in (0, "current", object()):
        refused(shmem.DeviceError, shmem.put, a, [1], pe=me, stream=stream)
    refused(shmem.DeviceError, shmem.barrier_all, stream=0)

    class OnGPU:
        __cuda_array_interface__ = {"data": (0, False), "shape": (8,), "typestr": "<i8"}

    refused(shmem.DeviceError, shmem.put, a, OnGPU(), pe=me)
    refused(shmem.DeviceError, shmem.put, OnGPU(), [1], pe=me)
    assert not a.any()


def test_a_part_that_is_too_short(me):
    """Behind a part of an array there is more of it, which the call does not name."""
    a, near = shmem.zeros(8, "int64"), np.ones(4, "i8")
    for _ in range(2):  # the second ones are quick
        shmem.put(a[:2], near[:2], pe=me)
        shmem.get(near[:2], a[:2], pe=me)
    refused(shmem.SizeError, shmem.put, a[:2], near, pe=me)
    refused(shmem.SizeError, shmem.get, near, a[:2], pe=me)
    assert a.tolist() == [1, 1, 0, 0, 0, 0, 0, 0] and near.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint64"])
def test_numbers_of_numpy(kind, me, right, left):
    """Loops over numpy arrays give its narrow integers as indices, PEs and values."""
    a, signal = shmem.zeros(4, "int64"), shmem.zeros(4, "u8")
    for i in np.arange(4, dtype=kind):
        shmem.p(a, i, pe=np.dtype(kind).type(right), index=i)
        shmem.atomic_add(a, i, pe=right, index=i)
        shmem.put_signal(a[:0], a[:0], signal, i, pe=right, index=i)
    shmem.barrier_all()
    assert a.tolist() == [0, 2, 4, 6] and signal.tolist() == [0, 1, 2, 3]
    for i in np.arange(4, dtype=kind):
        assert shmem.g(a, right, index=i) == shmem.atomic_fetch(a, right, index=i) == 2 * i
        assert shmem.signal_fetch(signal, index=i) == i
        assert shmem.test(a, "==", np.dtype(kind).type(2 * i), index=i)
    assert shmem.pe_accessible(np.dtype(kind).type(right))


def test_numbers_that_do_not_fit(me):
    """numpy would cut off the fraction, or the upper bits."""
    a, bytes_ = shmem.zeros(4, "int64"), shmem.zeros(4, "u1")
    for value in (1.5, np.float32(1.5), "1", np.nan, np.float64("inf")):
        refused(shmem.DtypeError, shmem.p, a, value, pe=me)
        refused(shmem.DtypeError, shmem.put, a, [1, value], pe=me)
    for value in (300, -1, np.int64(300), np.int8(-1)):
        refused(shmem.DtypeError, shmem.p, bytes_, value, pe=me)
        refused(shmem.DtypeError, shmem.put, bytes_, (1, value), pe=me)
    real = shmem.zeros(2, "f4")
    for value in (1j, np.complex64(1j), "a", "1", b"1", 10**400):
        refused(shmem.DtypeError, shmem.p, real, value, pe=me)
        refused(shmem.DtypeError, shmem.put, real, [1, value], pe=me)
        refused(shmem.DtypeError, shmem.atomic_set, real, value, pe=me)
    assert not a.any() and not bytes_.any() and not real.any()
    shmem.put(a, [1.0, np.uint8(2), True, 2**62], pe=me)
    shmem.put(bytes_[:2], [np.int64(255), 0.0], pe=me)
    shmem.p(a, np.float32(7), pe=me)
    assert a.tolist() == [7, 2, 1, 2**62] and bytes_.tolist() == [255, 0, 0, 0]


def test_numbers_that_are_too_large(me):
    """numpy would make the large ones infinite, and None NaN."""
    for kind in ("f2", "f4", "c8"):
        a = shmem.zeros(2, kind)
        for value in (1e300, 1 << 200, np.float64(-1e300), None):
            refused(shmem.DtypeError, shmem.put, a, [1, value], pe=me)
            refused(shmem.DtypeError, shmem.p, a, [value], pe=me)
            refused(shmem.DtypeError, shmem.full, 2, value, kind)
        assert not a.any()
        shmem.put(a, [np.inf, 60000], pe=me)
        assert a[0] == np.inf and a[1] == np.float16(60000)
    single = shmem.zeros(1, "f4")
    for value in (1e300, "1", b"1"):
        refused(shmem.DtypeError, shmem.atomic_set, single, value, pe=me)
    shmem.atomic_set(single, np.inf, pe=me)
    assert single[0] == np.inf


def says(text, call, *args, **kwargs):
    with pytest.raises(shmem.ShmemError) as caught:
        call(*args, **kwargs)
    assert text in str(caught.value) and "\n" not in str(caught.value), caught.value


QUICK = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", QUICK)
def test_quick_calls_are_the_long_ones(dtype, me, right, left):
    """A known neighbour is served on the fast path, but not with numbers of numpy."""
    kind = np.dtype(dtype)
    a, far = shmem.zeros(8, dtype), np.int64(right)
    extent = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind)
    values = [extent.min, extent.max, 0, 1]
    values = [int(v) for v in values] if kind.kind in "iu" else [*map(float, values), 0.1, -np.inf]
    for _ in range(2):
        for value in values:
            for i, pe in enumerate((far, right)):
                shmem.p(a, value, pe=pe, index=i)
            shmem.quiet()
            slow, fast = shmem.g(a, far, index=1), shmem.g(a, right, index=1)
            assert type(slow) is type(fast) is kind.type
            assert slow == fast == kind.type(value) == shmem.g(a, right, index=-8)
    if kind.kind == "f":
        shmem.p(a, np.nan, pe=right)
        shmem.quiet()
        assert np.isnan(shmem.g(a, right))
    # Both paths find mistakes.
    long = np.lib.stride_tricks.as_strided(a, (9,), (kind.itemsize,))
    wrong = (1j, "1", None) if kind.kind == "f" else (extent.max + 1, extent.min - 1, 0.5, None)
    for pe in (far, right):
        for value in wrong:
            refused(shmem.DtypeError, shmem.p, a, value, pe=pe)
        for array, index in ((a, 8), (a, -9), (long, 0)):
            refused(shmem.SizeError, shmem.p, array, values[0], pe=pe, index=index)
            refused(shmem.SizeError, shmem.g, array, pe, index=index)
        refused(shmem.LayoutError, shmem.g, a[::2], pe)
        refused(shmem.SymmetryError, shmem.g, np.zeros(8, dtype), pe)
    shmem.p(a, True, pe=right)
    shmem.quiet()
    assert shmem.g(a, right) == 1
    shmem.barrier_all()
    if dtype not in ("i4", "u4", "i8", "u8"):
        refused(shmem.DtypeError, shmem.atomic_inc, a, pe=right)
        return
    low, high = values[:2]
    for pe in (far, right):
        a[2:4] = high, low
        shmem.barrier_all()
        assert shmem.atomic_fetch_inc(a, pe, index=2) == high
        assert shmem.atomic_compare_swap(a, low, high, pe=pe, index=3) == low
        assert shmem.atomic_swap(a, 5, pe, index=3) == high
        shmem.barrier_all()
        assert a[2:4].tolist() == [low, 5]
        for cond, value in ((low - 1, 0), (0, high + 1)):
            refused(shmem.DtypeError, shmem.atomic_compare_swap, a, cond, value, pe=pe)
    says("atomic_compare_swap cond", shmem.atomic_compare_swap, a, high + 1, 0, pe=right)
    says("atomic_compare_swap value", shmem.atomic_compare_swap, a, 0, high + 1, pe=right)
    refused(shmem.SizeError, shmem.atomic_inc, a, right, index=8)
    shmem.barrier_all()


def test_remedies_that_help(me):
    """The remedy of an error is possible, and names the argument that is wrong."""
    a, b, flag = shmem.zeros((4, 2), "int64"), shmem.zeros(8, "f4"), shmem.zeros(1, "u8")
    for shape in (-1, None, (2, -1)):
        says("full shape", shmem.full, shape, 1)
    says("SHMEM_SYMMETRIC_SIZE", shmem.full, 1 << 62, 1)
    says("the shape as a tuple", shmem.zeros, 2, 3)
    # An element of an array is a copy: a change to it would be lost.
    number = flag[0]
    for call in (shmem.atomic_inc, shmem.put_nbi, shmem.put):
        says("index=", call, number, *([[1]] if call is not shmem.atomic_inc else []), pe=me)
    says("index=", shmem.get, number, flag, pe=me)
    says("index=", shmem.wait_until, number, "==", 0)
    # A copy, or what .astype returns, is not symmetric.
    for call in (shmem.broadcast, shmem.fcollect):
        more = (0,) if call is shmem.broadcast else ()
        says("would not be symmetric", call, b, b[::2], *more)
        says("make both of one dtype", call, a, b, *more)
    says("would not be symmetric", shmem.put_signal, b[::2], [1], flag, 1, pe=me)
    says("make both of one dtype", shmem.get, np.zeros(8), b, pe=me)
    says(".astype('float32')", shmem.put, b, np.zeros(8), pe=me)
    says("p value", shmem.p, b, "1", pe=me)
    says("atomic_fetch source", shmem.atomic_fetch, flag, me, index=1)
    says("test_all values", shmem.test_all, flag, "==", np.zeros(1))
    says(
        "source, an array of int64 of shape (3, 2)",
        shmem.get_nbi,
        np.zeros((3, 2), "i8"),
        a[::-1][:3],
        me,
    )
    with pytest.raises(shmem.DtypeError) as caught:
        shmem.put(flag, [0.5] * 100000, pe=me)
    assert len(str(caught.value)) < 200


def test_nothing_is_copied_from_anywhere(me, n, right):
    """numpy decides where a view without elements begins: often not in its array."""
    e, a = shmem.zeros((3, 0, 4), "int64"), shmem.zeros((3, 4), "int64")
    for view in (e, e[::-1], e[::-2, :, ::-1], a[:0], a[::-1, 4:]):
        for other in (view, np.zeros(view.shape, "i8")):
            shmem.put(view, other, pe=right)
            shmem.get(other, view, pe=right)
            shmem.put_signal(view, other, a, 1, pe=me)
        shmem.put(view, 7, pe=right)
        shmem.sum_reduce(view, e[::-1])
        shmem.collect(e[::-1], view)
        shmem.barrier_all()
    assert a.sum() == 1
    refused(shmem.SizeError, shmem.put, a, [], pe=right)
    refused(shmem.SizeError, shmem.get, np.zeros(0, "i8"), a, pe=right)


def test_texts_and_times_that_do_not_fit(me):
    """numpy would shorten texts and round times."""
    s, u = shmem.zeros(2, "S3"), shmem.zeros(2, "U3")
    day, second = shmem.zeros(2, "M8[D]"), shmem.zeros(2, "m8[s]")
    hour, nothing = np.datetime64("2020-01-02T05"), np.datetime64("NaT")
    for a, value in (
        (s, b"abcd"),
        (s, "abcd"),
        (s, 1234),
        (u, "abcd"),
        (u, None),
        (day, hour),
        (day, "2020-01-02T05"),
        (day, datetime.datetime(2020, 1, 2, 5)),
        (second, np.timedelta64(1500, "ms")),
        (second, datetime.timedelta(milliseconds=1500)),
    ):
        refused(shmem.DtypeError, shmem.put, a, [value], pe=me)
        refused(shmem.DtypeError, shmem.full, 2, [value], a.dtype)
    assert not s.view("u1").any() and not u.view("u1").any()
    assert not day.view("i8").any() and not second.view("i8").any()
    shmem.put(s, [b"abc", "d"], pe=me)
    shmem.put(u, ["\u00e4bc", 12], pe=me)
    shmem.put(day, [datetime.date(2020, 1, 2), nothing], pe=me)
    shmem.put(second, [np.timedelta64(2000, "ms"), np.timedelta64(3, "s")], pe=me)
    shmem.put(second[:1], [4], pe=me)
    assert s.tolist() == [b"abc", b"d"] and u.tolist() == ["\u00e4bc", "12"]
    assert day[0] == np.datetime64("2020-01-02") and np.isnat(day[1])
    assert second.astype("i8").tolist() == [4, 3]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_values_of_a_signal(dtype, me):
    """Modulo 2^64, for every type of number; the second call takes the fast path."""
    signal = shmem.zeros(2, dtype)
    for value in (-1, (1 << 64) - 1, 1 << 63, -(1 << 63), 7, True, np.int8(-2)):
        for _ in range(2):
            shmem.signal_set(signal, value, pe=me, index=1)
            assert shmem.signal_fetch(signal, index=1) == int(value) % (1 << 64)
            shmem.signal_add(signal, value, pe=me, index=1)
            assert shmem.signal_fetch(signal, index=1) == 2 * int(value) % (1 << 64)
    assert shmem.signal_fetch(signal) == 0


def test_a_signal_has_the_order_of_the_machine(me):
    """In another dtype its values would differ, and waits for them would not end."""
    a, signal = shmem.zeros(1, "int64"), shmem.zeros(1, np.dtype("uint64").newbyteorder())
    refused(shmem.DtypeError, shmem.signal_set, signal, 1, pe=me)
    refused(shmem.DtypeError, shmem.put_signal, a, [1], signal, 1, pe=me)
    refused(shmem.DtypeError, shmem.signal_wait_until, signal, "==", 0)
    refused(shmem.DtypeError, shmem.signal_fetch, signal)
    assert signal[0] == 0 and a[0] == 0
    shmem.put(signal, [5], pe=me)
    assert signal[0] == 5 and shmem.g(signal, me) == 5


def test_arguments_that_are_no_numbers(me):
    a, world = shmem.zeros(4, "int64"), shmem.Team.world()
    for index in (1.0, None, "1", [1], np.float32(1), np.array([1, 2])):
        refused(shmem.ArgumentError, shmem.p, a, 1, pe=me, index=index)
        refused(shmem.ArgumentError, shmem.atomic_inc, a, pe=me, index=index)
        refused(shmem.ArgumentError, shmem.test, a, "==", 0, index=index)
        refused(shmem.PEError, shmem.put, a, [1], pe=index)
        refused(shmem.PEError, shmem.pe_accessible, index)
        refused(shmem.PEError, shmem.put_ordered, index)
        refused(shmem.ArgumentError, world.translate_pe, index, world)
        refused(shmem.ArgumentError, world.split_strided, 0, 1, index)
        refused(shmem.ArgumentError, world.split_2d, index)
        refused(shmem.ArgumentError, shmem.alltoalls, a, a, 1, 1, index)
        refused(shmem.ArgumentError, shmem.global_exit, index)
    # As C's int they would be 0 and 1.
    refused(shmem.ArgumentError, world.translate_pe, 1 << 32, world)
    refused(shmem.ArgumentError, world.split_strided, 0, 1, (1 << 32) + 1)
    assert not shmem.pe_accessible(1 << 32) and not shmem.pe_accessible(-1)
    refused(shmem.PEError, shmem.put_ordered, 1 << 32)
    refused(shmem.ArgumentError, world.translate_pe, 0, 3)
    refused(shmem.ArgumentError, shmem.test, a, ["=="], 0)
    refused(shmem.ArgumentError, shmem.put_signal, a, [1], a, 1, pe=me, op=["set"])
    refused(shmem.DtypeError, shmem.atomic_set, a, np.array([1, 2]), pe=me)
    refused(shmem.DtypeError, shmem.signal_set, a, np.array([1, 2]), pe=me)
    refused(shmem.DtypeError, shmem.test_any, a, "==", [[1], [1, 2]])
    refused(shmem.DtypeError, shmem.test_any, a, "==", 0, status="abcd")
    refused(shmem.DtypeError, shmem.test_any, a, "==", 0, status=[[1], [1, 2]])
    assert not a.any()
