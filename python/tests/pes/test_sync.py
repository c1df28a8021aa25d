"""Atomics, waiting, order, contexts."""

import threading
import time
import weakref

import numpy as np
import pytest

import shmem


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_atomics(dtype, me, n):
    a = shmem.zeros(4, dtype)
    for _ in range(50):
        shmem.atomic_inc(a, pe=0)
        shmem.atomic_add(a, 2, pe=0)
        shmem.atomic_fetch_inc(a, pe=0)
        old = shmem.atomic_fetch_add(a, 3, pe=0)
    assert old.dtype == dtype
    shmem.barrier_all()
    assert shmem.atomic_fetch(a, pe=0) == 350 * n
    # One PE wins; the others get its number.
    was = shmem.atomic_compare_swap(a, 0, me + 1, pe=0, index=1)
    shmem.barrier_all()
    winner = shmem.atomic_fetch(a, pe=0, index=1)
    assert was == 0 if winner == me + 1 else was == winner
    bits = a[2:3]
    assert shmem.atomic_fetch_or(bits, 12, pe=me) == 0
    assert shmem.atomic_fetch_and(bits, 10, pe=me) == 12
    assert shmem.atomic_fetch_xor(bits, 3, pe=me) == 8
    shmem.atomic_or(bits, 4, pe=me)
    shmem.atomic_and(bits, 13, pe=me)
    shmem.atomic_xor(bits, 1, pe=me)
    shmem.quiet()
    assert shmem.atomic_swap(bits, 5, pe=me) == (11 | 4) & 13 ^ 1
    fetched = np.zeros(1, dtype)
    shmem.atomic_fetch_add_nbi(fetched, bits, 1, pe=me)
    shmem.quiet()
    assert fetched[0] == 5 and bits[0] == 6
    most = np.iinfo(dtype).max
    shmem.atomic_set(bits, most, pe=me)
    shmem.quiet()
    assert bits[0] == most
    assert shmem.atomic_fetch_add(bits, 0, pe=me) == most


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_atomics_of_real_numbers(dtype, me, right, left):
    a = shmem.zeros(2, dtype)
    shmem.atomic_set(a, me + 0.5, pe=right)
    shmem.barrier_all()
    assert shmem.atomic_swap(a, 1.25, pe=me) == left + 0.5
    assert shmem.atomic_fetch(a, pe=me) == 1.25
    with pytest.raises(shmem.DtypeError, match="it has no such type"):
        shmem.atomic_add(a, 1, pe=me)


def test_bad_operands(me):
    a = shmem.zeros(1, "int32")
    shmem.atomic_set(a, 0, pe=me)  # from here on the fast path is open
    for value in (1 << 31, -(1 << 31) - 1, 1.5, "1", None):
        with pytest.raises(shmem.DtypeError):
            shmem.atomic_add(a, value, pe=me)
        with pytest.raises(shmem.DtypeError):
            shmem.wait_until(a, "==", value)
    with pytest.raises(shmem.DtypeError):
        shmem.atomic_inc(shmem.zeros(1, "int16"), pe=me)
    with pytest.raises(shmem.ArgumentError, match="is not a comparison"):
        shmem.wait_until(a, "=", 1)
    with pytest.raises(shmem.SymmetryError):
        shmem.wait_until(np.zeros(1, "i8"), "==", 0)
    with pytest.raises(shmem.SizeError):
        shmem.wait_until_all(shmem.zeros(4, "int64"), "==", [0, 0])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_wait(dtype, me, right):
    a = shmem.zeros(2, dtype)
    assert shmem.test(a, "==", 0) and not shmem.test(a, shmem.CMP_GT, 0)
    shmem.p(a, 3, pe=right, index=1)
    shmem.wait_until(a, ">", 2, index=1)
    for cmp, value in (("==", 3), ("!=", 2), (">", 2), ("<=", 3), ("<", 4), (">=", 3)):
        assert shmem.test(a, cmp, value, index=1)
        shmem.wait_until(a, cmp, value, index=-1)


def test_wait_for_several(me, n, right):
    a = shmem.zeros(6, "int64")
    for i in (1, 4):
        shmem.p(a, i, pe=right, index=i)
    shmem.wait_until_all(a, "!=", 0, status=[1, 0, 1, 1, 0, 1])
    assert shmem.wait_until_some(a, ">", 0).tolist() == [1, 4]
    assert {shmem.wait_until_any(a, ">", 0) for _ in range(4)} == {1, 4}
    assert shmem.wait_until_any(a, ">", 0, status=np.ones(6)) is None
    assert shmem.test_some(a, ">=", [1, 1, 1, 1, 5, 0]).tolist() == [1, 5]
    assert shmem.test_any(a, ">", 9) is None and shmem.test_any(a, "==", 4) == 4
    assert shmem.test_all(a, ">=", 0) and not shmem.test_all(a, ">", 0)
    shmem.wait_until_all(a, "==", [0, 1, 0, 0, 4, 0])
    shmem.wait_until_any(a, "==", np.arange(6))
    shmem.wait_until_some(a, "==", np.arange(6))


def test_a_fence_orders(me, left, right):
    a = shmem.zeros(2, "int64")
    for i in range(1, 100):
        shmem.p(a, i, pe=right)
        shmem.fence()
        shmem.p(a, i, pe=right, index=1)
        shmem.wait_until(a, ">=", i, index=1)
        assert a[0] >= i
    shmem.sync_all()


def test_other_threads_run_while_one_waits(me, right):
    """A wait releases the interpreter's lock: else this would never end."""
    a = shmem.zeros(1, "int64")
    ran = []

    def work() -> None:
        for i in range(20):
            ran.append(i)
            time.sleep(0.001)
        shmem.p(a, 1, pe=me)

    t = threading.Thread(target=work)
    t.start()
    shmem.wait_until(a, "==", 1)
    t.join()
    assert ran == list(range(20))


def test_contexts(me, n, left, right):
    a = shmem.zeros((4, 8), "int64")
    contexts = [shmem.Context(), shmem.Context(private=True), shmem.Context(serialized=True)]
    for i, context in enumerate(contexts):
        shmem.put_nbi(a[i], np.full(8, me + i), pe=right, context=context)
        context.fence()
        shmem.p(a, me + 9, pe=right, index=24 + i, context=context)
        shmem.atomic_add(a, 1, pe=right, index=28, context=context)
    for context in contexts:
        shmem.quiet(context=context)
    shmem.barrier_all()
    assert a[:3].tolist() == [[left + i] * 8 for i in range(3)]
    assert a[3].tolist() == [left + 9] * 3 + [0, 3, 0, 0, 0]
    assert shmem.g(a, right, index=28, context=contexts[0]) == 3
    for context in contexts:
        context.destroy()
        with pytest.raises(shmem.ArgumentError, match="destroyed"):
            shmem.put(a, [1], pe=me, context=context)
    shmem.barrier_all()
    with shmem.Context(nostore=True) as context:
        shmem.put_signal(a, [me], a, 5, pe=right, index=1, context=context)
    shmem.wait_until(a, "==", 5, index=1)
    with pytest.raises(shmem.ArgumentError, match="is not a context"):
        shmem.put(a, [1], pe=me, context=3)


def test_a_quiet_keeps_what_other_threads_have_begun(me, right, monkeypatch):
    """A quiet drops only the operands that were kept before it began."""
    functions = shmem._runtime.state.loaded.waiting
    a, own = shmem.zeros(4, "int64"), shmem.Context()

    def begin(context):
        source = np.full(4, me)
        shmem.put_nbi(a, source, pe=right, context=context)
        return weakref.ref(source)

    for name, context, quiet in (
        ("shmem_ctx_quiet", None, shmem.quiet),
        ("shmem_barrier_all", None, shmem.barrier_all),
        ("shmem_ctx_quiet", own, own.quiet),
        ("shmem_ctx_quiet", own, lambda: shmem.quiet(context=own)),
    ):
        before, during = begin(context), []
        form = getattr(functions, name)

        def and_then(*operands, form=form, context=context, during=during):
            form(*operands)
            other = threading.Thread(target=lambda: during.append(begin(context)))
            other.start()
            other.join()

        with monkeypatch.context() as patch:
            patch.setattr(functions, name, and_then)
            quiet()
        assert before() is None and during[0]() is not None
        quiet()
        assert during[0]() is None
    own.destroy()


def test_too_many_contexts():
    made = []
    with pytest.raises(shmem.StateError, match="no room"):
        for _ in range(2000):
            made.append(shmem.Context())
    assert len(made) == 1023  # of 1024, of which the default context is one
    for context in made:
        context.destroy()


@pytest.mark.parametrize("nbi", [False, True])
def test_notifications(nbi, me, n, right):
    a = shmem.zeros((n, 3000), "int64")
    first = shmem.notify_alloc(2)
    put = shmem.put_nbi if nbi else shmem.put
    context = shmem.Context()
    for turn in range(1, 10):
        for pe in range(n):
            put(a[me], np.full(3000, me + turn), pe=pe, notify=first)
            put(a[me, :0], [], pe=pe, notify=np.int8(first + 1), context=context)
        assert shmem.notify_wait(first, turn * n) == turn * n
        shmem.notify_wait(first + 1, turn * n)
        assert (a == (np.arange(n) + turn)[:, None]).all()
        shmem.quiet()
        context.quiet()
        shmem.barrier_all()
    assert shmem.notify_test(first, 9 * n) and not shmem.notify_test(first, 9 * n + 1)
    assert shmem.notify_fetch(first) == shmem.notify_fetch(first + 1) == 9 * n
    shmem.notify_reset(first, 3)
    shmem.barrier_all()
    shmem.put(a[me], [1], pe=right, notify=first)
    assert shmem.notify_wait(first, 4) == 4
    shmem.notify_reset(first)
    assert shmem.notify_fetch(first) == 0
    shmem.notify_free(first)
    assert shmem.notify_alloc(4096) == 0  # all counters of a PE
    with pytest.raises(shmem.ArgumentError, match="are not free"):
        shmem.notify_alloc(1)
    shmem.notify_free(0)


def test_bad_notifications(me):
    a = shmem.zeros(4, "int64")
    for notify in (-1, 4096, 1 << 40):
        with pytest.raises(shmem.ArgumentError):
            shmem.put(a, [1], pe=me, notify=notify)
        with pytest.raises(shmem.ArgumentError):
            shmem.notify_wait(notify, 0)
    for count in (-1, 1 << 63, 1.5, None):
        with pytest.raises(shmem.DtypeError, match="a counter cannot have it"):
            shmem.notify_wait(0, count)
        with pytest.raises(shmem.DtypeError):
            shmem.notify_reset(0, count)
    for call in (
        lambda: shmem.put(a, [1], pe=me, notify=0, stream="current"),
        lambda: shmem.notify_wait(0, 0, stream="current"),
        lambda: shmem.notify_reset(0, stream="current"),
    ):
        with pytest.raises(shmem.DeviceError, match="set SHMEM_HEAP=pinned"):
            call()
    with pytest.raises(shmem.LayoutError):
        shmem.put(a[::2], [1, 2], pe=me, notify=0)
    with pytest.raises(shmem.ArgumentError, match="ask for 1 or more"):
        shmem.notify_alloc(0)
    first = shmem.notify_alloc(3)
    with pytest.raises(shmem.ArgumentError, match="no range begins there"):
        shmem.notify_free(first + 1)
    shmem.notify_free(first)
    with pytest.raises(shmem.ArgumentError, match="no range begins there"):
        shmem.notify_free(first)
    assert shmem.notify_fetch(0) == 0


def test_timeouts(me, n):
    """Every wait and recv ends after its timeout, and can go on with another call."""
    flags, notify = shmem.zeros(3, int), shmem.notify_alloc(1)
    waits = [
        lambda timeout: shmem.wait_until(flags, "==", 1, timeout=timeout),
        lambda timeout: shmem.wait_until_all(flags, "==", 1, timeout=timeout),
        lambda timeout: shmem.wait_until_any(flags, "==", 1, timeout=timeout),
        lambda timeout: shmem.wait_until_some(flags, "==", [1, 1, 1], timeout=timeout),
        lambda timeout: shmem.signal_wait_until(flags, ">=", 1, timeout=timeout),
        lambda timeout: shmem.notify_wait(notify, 1, timeout=timeout),
        lambda timeout: shmem.recv(np.zeros(1), tag=77, timeout=timeout),
    ]
    for wait in waits:
        for timeout in (0, 0.01, np.float32(0.15)):
            begin = time.monotonic()
            with pytest.raises(shmem.WaitTimeoutError) as caught:
                wait(timeout)
            assert time.monotonic() - begin >= timeout
            assert isinstance(caught.value, TimeoutError) and f"waited {timeout} s" in str(
                caught.value
            )
        for timeout in (-1, float("nan"), "1"):
            with pytest.raises(shmem.ArgumentError, match="is not a time"):
                wait(timeout)
    shmem.barrier_all()
    shmem.put(flags, [1, 1, 1], pe=me, notify=notify)
    shmem.send(np.ones(1), tag=77, pe=me)
    for wait in waits:
        wait(1e300)
    shmem.barrier_all()
    shmem.notify_free(notify)


def test_all_reduce(me, n):
    a, b = shmem.full(4, me + 1), shmem.zeros(4, int)
    for op, want in (("sum", n * (n + 1) // 2), ("max", n), ("min", 1), ("or", None)):
        shmem.all_reduce(b, a, op)
        if want is not None:
            assert b.tolist() == [want] * 4
    shmem.all_reduce(a, a)
    assert a.tolist() == [n * (n + 1) // 2] * 4
    with pytest.raises(shmem.ArgumentError, match="use sum, prod, max"):
        shmem.all_reduce(a, a, "mean")
