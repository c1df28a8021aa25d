"""stream=: an operation on a stream runs after earlier kernels of it, and before later ones.

In each round a kernel that takes milliseconds runs before the one that makes the data. A put that
did not wait for it would send the data of the last round.
"""

import ctypes

import cupy
import pytest
import torch
from numba import cuda as numba_cuda

import shmem

SLOW = 20_000_000  # clock cycles of a kernel that only waits


class Protocol:
    """A stream that only the protocol describes."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.cuda_stream


def of_torch(gpu):
    s = torch.cuda.Stream(gpu)
    return s, s


def as_int(gpu):
    s = torch.cuda.Stream(gpu)
    return s.cuda_stream, s


def by_protocol(gpu):
    s = torch.cuda.Stream(gpu)
    return Protocol(s), s


def current(gpu):
    return "current", torch.cuda.Stream(gpu)


def current_default(gpu):
    return "current", torch.cuda.default_stream(gpu)


def of_cupy(gpu):
    with cupy.cuda.Device(gpu):
        s = cupy.cuda.Stream(non_blocking=True)
    outer = torch.cuda.ExternalStream(s.ptr, device=gpu)
    outer.keep = s
    return s, outer


def of_numba(gpu):
    numba_cuda.select_device(gpu)
    s = numba_cuda.stream()
    address = getattr(s.handle, "value", s.handle)
    outer = torch.cuda.ExternalStream(int(address), device=gpu)
    outer.keep = s
    return s, outer


def of_cuda_core(gpu):
    try:
        from cuda.core import Device
    except ImportError:
        from cuda.core.experimental import Device
    device = Device(gpu)
    device.set_current()
    s = device.create_stream()
    outer = torch.cuda.ExternalStream(int(s.handle), device=gpu)
    outer.keep = s
    return s, outer


KINDS = [of_torch, as_int, by_protocol, current, current_default, of_cupy, of_numba, of_cuda_core]


@pytest.mark.parametrize("kind", KINDS)
def test_order(kind, me, right, left, gpu):
    try:
        stream, on = kind(gpu)
    except ImportError as error:
        pytest.skip(f"{kind.__name__}: {error}")
    n = 100_000
    source = shmem.zeros(n, torch.float32, device="cuda")
    inbox = shmem.zeros(n, torch.float32, device="cuda")
    flag = shmem.zeros(2, "int64", device="cuda")
    bad = torch.zeros(1, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    shmem.barrier_all()
    rounds = 5
    with torch.cuda.stream(on):
        for i in range(1, rounds + 1):
            torch.cuda._sleep(SLOW)
            source.fill_(i * 100 + me)
            shmem.put_signal(inbox, source, flag, 1, pe=right, op="add", stream=stream)
            shmem.signal_wait_until(flag, ">=", i, stream=stream)
            bad += (inbox != i * 100 + left).sum()
            # Neither the source nor the result changes before all PEs have read them.
            shmem.barrier_all(stream=stream)
    on.synchronize()
    assert int(bad) == 0 and int(flag[0]) == rounds
    shmem.barrier_all()


def test_notifications(me, right, left, gpu):
    source = shmem.zeros(50_000, torch.float32, device="cuda")
    inbox = shmem.zeros(50_000, torch.float32, device="cuda")
    bad = torch.zeros(1, dtype=torch.int64, device="cuda")
    s = torch.cuda.Stream(gpu)
    counter = shmem.notify_alloc(1)
    torch.cuda.synchronize()
    shmem.barrier_all()
    with torch.cuda.stream(s):
        for i in range(1, 4):
            torch.cuda._sleep(SLOW)
            source.fill_(i + 10 * me)
            shmem.put(inbox[:20_000], source[:20_000], right, notify=counter, stream="current")
            shmem.put_nbi(inbox[20_000:], source[20_000:], right, notify=counter, stream="current")
            assert shmem.notify_wait(counter, 2, stream="current") == 2
            shmem.notify_reset(counter, stream="current")
            bad += (inbox != i + 10 * left).sum()
            shmem.quiet(stream="current")
            shmem.barrier_all(stream="current")
    s.synchronize()
    assert int(bad) == 0 and shmem.notify_fetch(counter) == 0
    shmem.barrier_all()
    shmem.notify_free(counter)


def test_put_get_quiet(me, right, left, gpu):
    source = shmem.zeros(50_000, torch.float32, device="cuda")
    a = shmem.zeros(50_000, torch.float32, device="cuda")
    got = torch.zeros(50_000, device="cuda")
    bad = torch.zeros(1, dtype=torch.int64, device="cuda")
    s = torch.cuda.Stream(gpu)
    torch.cuda.synchronize()
    shmem.barrier_all()
    with torch.cuda.stream(s):
        for i in range(1, 5):
            torch.cuda._sleep(SLOW)
            source.fill_(i + 10 * me)
            shmem.put(a[:20_000], source[:20_000], pe=right, stream="current")
            shmem.put_nbi(a[20_000:], source[20_000:], pe=right, stream="current")
            shmem.quiet(stream="current")
            shmem.barrier_all(stream="current")
            bad += (a != i + 10 * left).sum()
            shmem.get(got, source, pe=right, stream="current")
            bad += (got != i + 10 * right).sum()
            got.zero_()
            shmem.get_nbi(got, source, pe=left, stream="current")
            shmem.quiet(stream="current")
            bad += (got != i + 10 * left).sum()
            shmem.sync_all(stream="current")
    s.synchronize()
    assert int(bad) == 0
    shmem.barrier_all()


def test_collectives(me, n, gpu):
    """Each operation once after a slow kernel, and read by the next kernel."""
    m = 30_011
    source = shmem.zeros((n, m), torch.float32, device="cuda")
    dest = shmem.zeros((n, m), torch.float32, device="cuda")
    s = torch.cuda.Stream(gpu)
    ramp = torch.arange(m, device="cuda", dtype=torch.float32)
    bad = torch.zeros(4, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    shmem.barrier_all()
    with torch.cuda.stream(s):
        for i in range(3):
            torch.cuda._sleep(SLOW)
            for j in range(n):  # a block for each PE
                source[j].copy_(ramp + 1000 * i + 100 * me + 10 * j)
            shmem.alltoall(dest, source, stream="current")
            for j in range(n):
                bad[0] += (dest[j] != ramp + 1000 * i + 100 * j + 10 * me).sum()
            shmem.barrier_all(stream="current")
            shmem.fcollect(dest, source[0], stream="current")
            for j in range(n):
                bad[1] += (dest[j] != ramp + 1000 * i + 100 * j).sum()
            shmem.barrier_all(stream="current")
            shmem.broadcast(dest[0], source[0], n - 1, stream="current")
            bad[2] += (dest[0] != ramp + 1000 * i + 100 * (n - 1)).sum()
            shmem.barrier_all(stream="current")
            shmem.sum_reduce(dest[0], source[0], stream="current")
            whole = n * (ramp + 1000 * i) + 100 * (n * (n - 1) // 2)
            bad[3] += (dest[0] != whole).sum()
            shmem.barrier_all(stream="current")
    s.synchronize()
    assert bad.tolist() == [0, 0, 0, 0]
    shmem.barrier_all()


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int32], ids=str
)
def test_sums(dtype, me, n, gpu):
    source, dest = (shmem.zeros(1000, dtype, device="cuda") for _ in range(2))
    source.fill_(me + 1)
    shmem.sum_reduce(dest, source, stream="current")
    assert bool((dest == n * (n + 1) // 2).all())
    shmem.barrier_all()
    shmem.max_reduce(dest, source, stream="current")
    assert bool((dest == n).all())
    shmem.barrier_all()


def test_waits(me, right):
    word, flag = shmem.zeros(1, "int64", device="cuda"), shmem.zeros(1, "uint64", device="cuda")
    seen = torch.zeros(2, dtype=torch.int64, device="cuda")
    s = torch.cuda.Stream()
    torch.cuda.synchronize()
    shmem.barrier_all()
    # First operations without a wait: a kernel is loaded by its first launch, and that may wait for
    # the running kernels, whose waits no PE ends yet.
    for first, second in ((0, 0), (5, 7)):
        with torch.cuda.stream(s):
            shmem.wait_until(word, "==", first, stream=s)
            seen[0] = word[0]
            shmem.signal_wait_until(flag, ">=", second, stream=s)
            seen[1] = flag.view(torch.int64)[0]
        if first == 0:
            s.synchronize()
            shmem.barrier_all()
    assert not s.query()
    shmem.barrier_all()
    shmem.p(word, 5, pe=right)
    shmem.quiet()
    shmem.signal_set(flag, 7, pe=right)
    s.synchronize()
    assert seen.tolist() == [5, 7]
    shmem.barrier_all()


def test_the_driver_knows_the_gpu_of_a_stream(gpu):
    """Older calls find the GPU, and so does the one of CUDA 12.8, if the driver has it."""
    from shmem import _cuda

    newer = getattr(ctypes.CDLL("libcuda.so.1"), "cuStreamGetDevice", None)
    for number in range(torch.cuda.device_count()):
        s = torch.cuda.Stream(number)
        assert _cuda.device_of_stream(s.cuda_stream) == number
        if newer is not None:
            found = ctypes.c_int(-1)
            assert newer(ctypes.c_void_p(s.cuda_stream), ctypes.byref(found)) == 0
            assert found.value == number
    assert torch.cuda.current_device() == gpu  # the query does not change the device
