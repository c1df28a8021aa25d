"""Bad operands and streams: an exception of the right type, and the program continues."""

from functools import partial

import cupy
import numpy as np
import pytest
import torch

# With segments that grow, the addresses of memory that was given back stay reserved.
from test_locals import EXPANDABLE

import shmem


@pytest.fixture
def a():
    return shmem.zeros(8, "int64", device="cuda")


@pytest.fixture(autouse=True)
def goes_on(me, right, left):
    yield
    b = shmem.zeros(8, "int64", device="cuda")
    shmem.put(b, torch.full((8,), me), pe=right)
    shmem.put(b[:1], b[:1], pe=me, stream="current")
    torch.cuda.synchronize()
    shmem.barrier_all()
    assert b.tolist() == [left] * 8


def refused(kind, text, call):
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert text in said, said


def test_memory_of_the_cpu(a, me):
    """As a local operand it is good; where symmetric memory is needed it is not."""
    cpu = torch.arange(8)
    shmem.put(a, cpu, pe=me)
    assert a.tolist() == cpu.tolist()
    flag = shmem.zeros(1, "int64", device="cuda")
    for call in (
        lambda: shmem.put(cpu, a, pe=me),
        lambda: shmem.get(a, cpu, pe=me),
        lambda: shmem.put(cpu, a, pe=me, stream="current"),
        lambda: shmem.put_signal(a, a, cpu, 1, pe=me),
        lambda: shmem.put_signal(cpu, a, flag, 1, pe=me, stream="current"),
        lambda: shmem.sum_reduce(a, cpu),
        lambda: shmem.sum_reduce(cpu, a, stream="current"),
        lambda: shmem.atomic_add(cpu, 1, pe=me),
        lambda: shmem.signal_wait_until(cpu, "==", 0),
    ):
        refused(shmem.DeviceError, "in main memory", call)


def test_memory_of_the_gpu_that_is_not_symmetric(a, me):
    x = torch.arange(8, device="cuda")
    torch.cuda.synchronize()
    for call in (
        lambda: shmem.put(x, a, pe=me),
        lambda: shmem.put(x, a, pe=me, stream="current"),
        lambda: shmem.sum_reduce(x, a),
        lambda: shmem.atomic_add(x, 1, pe=me),
    ):
        refused(shmem.SymmetryError, "not in symmetric memory", call)


def test_memory_of_another_gpu(a, me, gpu, other_gpu):
    x = torch.arange(8, device=f"cuda:{other_gpu}")
    torch.cuda.synchronize(other_gpu)
    text = f"on GPU {other_gpu}, and this PE's heap on GPU {gpu}"
    for call in (
        lambda: shmem.put(a, x, pe=me),
        lambda: shmem.get(x, a, pe=me),
        lambda: shmem.put(a, x, pe=me, stream="current"),
        lambda: shmem.put(x, a, pe=me),
    ):
        refused(shmem.DeviceError, text, call)
    refused(
        shmem.DeviceError,
        f"on GPU {gpu}",
        lambda: shmem.zeros(8, "int64", device=f"cuda:{other_gpu}"),
    )


class Protocol:
    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.cuda_stream


def test_stream_of_another_gpu(a, me, gpu, other_gpu):
    s = torch.cuda.Stream(other_gpu)
    with cupy.cuda.Device(other_gpu):
        c = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device(gpu).use()
    text = f"of GPU {other_gpu}, and this PE's heap on GPU {gpu}"
    flag = shmem.zeros(1, "int64", device="cuda")
    calls = (
        partial(shmem.put, a, a, pe=me),
        partial(shmem.get, a, a, pe=me),
        partial(shmem.put_signal, a, a, flag, 1, pe=me),
        partial(shmem.signal_wait_until, flag, "==", 0),
        shmem.barrier_all,
        shmem.quiet,
    )
    for stream in (s, s.cuda_stream, Protocol(s), c, c.ptr, torch.cuda.default_stream(other_gpu)):
        for call in calls:
            refused(shmem.DeviceError, text, partial(call, stream=stream))
    assert torch.cuda.current_device() == gpu


def test_no_stream(a, me):
    for stream in (object(), 1.5, "next", torch.cuda.Event(), a):
        refused(
            shmem.DeviceError, "is not a stream", partial(shmem.put, a, a, pe=me, stream=stream)
        )


def test_freed(a, me):
    x = torch.arange(8, device="cuda")
    torch.cuda.synchronize()
    x.untyped_storage().resize_(0)
    refused(shmem.FreedError, "freed", lambda: shmem.put(a, x, pe=me))
    shmem.free(a)
    refused(shmem.FreedError, "freed", lambda: shmem.put(a, a, pe=me))
    refused(shmem.FreedError, "freed", lambda: shmem.put(a, [1] * 8, pe=me, stream="current"))


class Old:
    """What still says that it has memory."""

    def __init__(self, about):
        self.__cuda_array_interface__ = about


@pytest.mark.skipif(EXPANDABLE, reason="a segment that grows keeps its addresses")
def test_given_back_to_the_driver(a, me):
    x = torch.zeros(64 << 17, dtype=torch.int64, device="cuda")  # a segment of its own
    old = Old(x[:8].__cuda_array_interface__)
    torch.cuda.synchronize()
    del x
    torch.cuda.empty_cache()
    refused(shmem.FreedError, "freed", lambda: shmem.put(a, old, pe=me))
    refused(shmem.FreedError, "freed", lambda: shmem.get(old, a, pe=me))


def test_types_and_sizes(a, me):
    half = torch.zeros(8, dtype=torch.float16, device="cuda")
    refused(shmem.DtypeError, "", lambda: shmem.put(a, half, pe=me))
    refused(shmem.SizeError, "", lambda: shmem.put(a[:4], a, pe=me))
    refused(shmem.PEError, "", lambda: shmem.put(a, a, pe=99))
    sparse = torch.zeros(8, dtype=torch.int64).to_sparse()
    for no_memory in (torch.zeros(8, dtype=torch.int64, device="meta"), sparse, sparse.cuda()):
        refused(shmem.DtypeError, "no memory", partial(shmem.put, a, no_memory, pe=me))
    array = shmem.zeros(8, "int64", device="gpu")
    refused(shmem.DeviceError, "shmem.get", lambda: np.asarray(array))
