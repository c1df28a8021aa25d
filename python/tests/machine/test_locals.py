"""Local operands in memory of torch's allocator, in both of its modes.

PYTORCH_CUDA_ALLOC_CONF selects the mode before torch starts: gpu_machine.py runs this with
expandable_segments on and off. A segment that can grow is many small pieces of memory in a row, and
an operand may begin in one and end in another.
"""

import os

import pytest
import torch

import shmem
import shmem.torch

MANY = 13 << 18  # floats: 13 MiB
EXPANDABLE = "expandable_segments:True" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")

# Slices of a tensor, as first and length in floats (1 << 18 floats have 1 MiB): small, odd, across
# the borders of pieces of 2 and 20 MiB.
SLICES = [
    (0, 1),
    (1, 4),
    (3, 1000),
    ((2 << 18) - 100, 200),
    (1, MANY - 2),
    ((20 << 18) - 7, 1 << 18),
]


@pytest.fixture
def ours():
    """A tensor of 40 MiB: larger than a piece."""
    return torch.zeros(40 << 18, dtype=torch.float32, device="cuda")


def test_it_is_of_the_kind_that_is_meant(ours):
    at = ours.data_ptr()
    mine = [
        s
        for s in torch.cuda.memory_snapshot()
        if s["address"] <= at < s["address"] + s["total_size"]
    ]
    assert [bool(s.get("is_expandable")) for s in mine] == [EXPANDABLE]


@pytest.mark.parametrize("stream", [None, "current"])
@pytest.mark.parametrize("first, length", SLICES)
def test_put_and_get(first, length, stream, ours, me, right, left):
    there = shmem.zeros(length, torch.float32, device="cuda")
    source = ours[first : first + length]
    ramp = torch.arange(length, dtype=torch.float32, device="cuda").remainder_(10_000)
    source.copy_(ramp + me)
    torch.cuda.synchronize()
    shmem.barrier_all()
    shmem.put(there, source, pe=right, stream=stream)
    if stream is not None:
        shmem.quiet(stream=stream)
        torch.cuda.synchronize()
    shmem.barrier_all()
    assert torch.equal(there, ramp + left)
    source.zero_()
    torch.cuda.synchronize()
    shmem.get(source, there, pe=right, stream=stream)
    if stream is not None:
        torch.cuda.synchronize()
    assert torch.equal(source, ramp + me)
    assert not ours[first + length : first + length + 4].any()
    assert not ours[max(0, first - 4) : first].any()


def test_memory_that_comes_again(me, right, left):
    """Tensors that come and go at one address, with other memory behind it."""
    there = shmem.zeros(3 << 18, torch.float32, device="cuda")
    for i in range(6):
        x = torch.full((3 << 18,), float(10 * i + me), device="cuda")
        torch.cuda.synchronize()
        shmem.put(there, x, pe=right)
        shmem.barrier_all()
        assert bool((there == 10 * i + left).all())
        shmem.barrier_all()
        del x
        torch.cuda.empty_cache()


@pytest.mark.skipif(EXPANDABLE, reason="it can be registered")
def test_register_refuses_what_cudamalloc_gave(ours):
    with pytest.raises(shmem.RegisterError) as caught:
        shmem.register(ours)
    assert "expandable_segments:True" in str(caught.value)


@pytest.mark.skipif(not EXPANDABLE, reason="the driver does not let it be mapped again")
@pytest.mark.parametrize("stream", [None, "current"])
def test_register(stream, me, right, left):
    """A tensor from before the call keeps its values, also in the middle of a segment."""
    kept = torch.full((3 << 18,), 5.0, device="cuda")
    x = torch.arange(12 << 18, dtype=torch.float32, device="cuda").remainder_(1000) + me
    torch.cuda.synchronize()
    s = shmem.register(x)
    assert (type(s), s.dtype, s.shape) == (torch.Tensor, x.dtype, x.shape)
    assert s.data_ptr() == x.data_ptr() and shmem.register(x) is x
    half = len(x) // 2
    shmem.barrier_all()
    shmem.put(x[:half], s[half:], pe=right, stream=stream)
    if stream is not None:
        shmem.quiet(stream=stream)
        torch.cuda.synchronize()
    shmem.barrier_all()
    wanted = torch.arange(half, 2 * half, dtype=torch.float32, device="cuda").remainder_(1000)
    assert torch.equal(x[:half], wanted + left) and torch.equal(x[half:], wanted + me)
    back = torch.empty_like(wanted)
    torch.cuda.synchronize()
    shmem.get(back, s[half:], pe=right)
    assert torch.equal(back, wanted + right)
    peer = shmem.torch.ptr(s, right)
    if peer is not None:
        assert torch.equal(peer[half:], wanted + right)
        torch.cuda.synchronize()
    shmem.barrier_all()
    assert bool((kept == 5.0).all())
    shmem.sum_reduce(s[:half], s[half:])
    total = sum(range(shmem.n_pes()))
    assert torch.equal(x[:half], wanted * shmem.n_pes() + total)
    shmem.barrier_all()
    # With kernels of the library.
    n = shmem.n_pes()
    x[:100] = float(me)
    shmem.fcollect(x[1000 : 1000 + 100 * n], x[:100], stream="current")
    torch.cuda.synchronize()
    assert x[1000 : 1000 + 100 * n : 100].tolist() == list(range(n))
    shmem.barrier_all()


@pytest.mark.skipif(not EXPANDABLE, reason="the driver does not let it be mapped again")
def test_registered_ones_come_and_go(me, right, left):
    for i in range(8):
        x = torch.full((3 << 20,), float(10 * i + me), device="cuda", dtype=torch.bfloat16)
        torch.cuda.synchronize()
        s = shmem.register(x)
        shmem.barrier_all()
        del x  # the registration keeps it
        back = torch.empty_like(s)
        shmem.get(back, s, pe=right)
        assert bool((back == torch.tensor(10 * i + right, dtype=torch.bfloat16)).all())
        shmem.barrier_all()
        del s, back
        if i % 3 == 0:
            shmem.reclaim()
            torch.cuda.empty_cache()
