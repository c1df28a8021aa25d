"""Kernels of Triton that call this library's functions, by declarations of their own."""

import ctypes
import struct
import time

import functions as nv
import pytest
import torch
import triton
import triton.language as tl

import shmem
import shmem.torch

SIZES = (1, 3, 16, 1000, 4096, 100_003, 1 << 20)
ROUNDS = 50

# A length of 1 would be a constant without a type.
UNSPECIALIZED = triton.jit(do_not_specialize=["nbytes", "n"])


def zeros(n, dtype=torch.uint8):
    return shmem.zeros(n, dtype, device="cuda")


def content(pe, n):
    """Bytes that only one PE sends."""
    return (torch.arange(n, device="cuda") * 7 + 31 * pe + n).remainder(251).to(torch.uint8)


@triton.jit
def number(out):
    tl.store(out, nv.my_pe())
    tl.store(out + 1, nv.n_pes())


@UNSPECIALIZED
def put(dest, source, nbytes, pe):
    nv.putmem(dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64), pe)
    nv.barrier_all()


@UNSPECIALIZED
def put_nbi(dest, source, nbytes, pe):
    nv.putmem_nbi(dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64), pe)
    nv.quiet()
    nv.barrier_all_block()


@UNSPECIALIZED
def get(dest, source, nbytes, pe):
    nv.barrier_all()
    nv.getmem(dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64), pe)


@triton.jit
def exchange(dest, source, nbytes, signal, pe, rounds, OP: tl.constexpr):
    """Puts with signals, each of which the next put of the neighbour waits for."""
    d = dest.to(tl.int64)
    s = source.to(tl.int64)
    word = signal.to(tl.int64)
    for i in range(rounds):
        value = (i + 1).to(tl.uint64)
        # NVSHMEM_SIGNAL_SET sets the word to value; NVSHMEM_SIGNAL_ADD adds 1 to it, of its type.
        by = value if OP == 9 else (value * 0 + 1)
        nv.putmem_signal(d, s, nbytes.to(tl.int64), word, by, OP, pe)
        nv.signal_wait_until(word, 5, value)  # NVSHMEM_CMP_GE


@triton.jit
def barriers(counts, rounds, pe):
    """Adds 1 to a word of the neighbour between barriers, and keeps what this PE had by then.

    Warps take turns in the calls, so that each of them comes after the others' accesses.
    """
    for i in range(rounds):
        nv.fetch_add(counts.to(tl.int64), tl.full((), 1, tl.int64), pe)
        tl.debug_barrier()
        nv.barrier_all()
        tl.store(counts + 1 + i, tl.load(counts, volatile=True))
        tl.debug_barrier()
        nv.sync_all()


@triton.jit
def halves(dest, out, pe):
    value = tl.program_id(0).to(tl.float16) + 0.5
    nv.half_p(dest.to(tl.int64), value, pe)
    nv.barrier_all()
    tl.store(out, nv.half_g(dest.to(tl.int64), pe))


@triton.jit
def brain_halves(dest, out, pe):
    value = (tl.program_id(0) + 3).to(tl.bfloat16)
    nv.bfloat16_p(dest.to(tl.int64), value, pe)
    nv.barrier_all()
    tl.store(out, nv.bfloat16_g(dest.to(tl.int64), pe))


@UNSPECIALIZED
def collect(dest, source, nbytes, WHAT: tl.constexpr):
    if WHAT == "broadcast":
        nv.broadcastmem(0, dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64), 0)
    elif WHAT == "alltoall":
        nv.alltoallmem(0, dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64))
    else:
        nv.fcollectmem(0, dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64))


@UNSPECIALIZED
def reduce(dest, source, n, WHAT: tl.constexpr):
    d = dest.to(tl.int64)
    s = source.to(tl.int64)
    m = n.to(tl.int64)
    if WHAT == "double_sum":
        nv.double_sum(0, d, s, m)
    elif WHAT == "float_max":
        nv.float_max(0, d, s, m)
    elif WHAT == "int32_min":
        nv.int32_min(0, d, s, m)
    elif WHAT == "half_sum":
        nv.half_sum(0, d, s, m)
    elif WHAT == "bfloat16_sum":
        nv.bfloat16_sum(0, d, s, m)
    else:
        nv.int64_prod(0, d, s, m)


@triton.jit
def where(out, object, pe):
    tl.store(out, nv.address(object.to(tl.int64), pe))


def test_numbers(me, n):
    out = torch.zeros(2, dtype=torch.int32, device="cuda")
    nv.launch(number, (1,), out)
    assert out.tolist() == [me, n]


def test_time_of_a_compilation(me, capfd, monkeypatch, tmp_path):
    """Shows the seconds; nothing is asserted of them."""
    monkeypatch.setattr(triton.knobs.cache, "dir", str(tmp_path))

    @triton.jit
    def fresh(dest, source, nbytes, pe):
        nv.putmem(dest.to(tl.int64), source.to(tl.int64), nbytes.to(tl.int64), pe)
        nv.fence()
        nv.barrier_all()

    there, began = zeros(16), time.monotonic()
    fresh.warmup(there, there, 16, me, grid=(1,), extern_libs=nv.LIBRARIES, num_warps=2)
    with capfd.disabled():
        print(f"a kernel was compiled and linked in {time.monotonic() - began:.2f} s", flush=True)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("kernel", [put, put_nbi], ids=["put", "put_nbi"])
@pytest.mark.parametrize("size", SIZES)
def test_put(kernel, size, warps, me, left, right):
    there, source = zeros(size), content(me, size)
    nv.launch(kernel, (1,), there, source, size, right, num_warps=warps)
    assert torch.equal(there, content(left, size))


@pytest.mark.parametrize("size", SIZES)
def test_get(size, me, right):
    there, here = zeros(size), torch.zeros(size, dtype=torch.uint8, device="cuda")
    there.copy_(content(me, size))
    torch.cuda.synchronize()
    nv.launch(get, (1,), here, there, size, right)
    assert torch.equal(here, content(right, size))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("op", [nv.SET, nv.ADD])
@pytest.mark.parametrize("size", (8, 5000))
def test_signals(size, op, warps, me, left, right):
    there, signal, source = zeros(size), zeros(1, torch.int64), content(me, size)
    nv.launch(exchange, (1,), there, source, size, signal, right, ROUNDS, OP=op, num_warps=warps)
    assert torch.equal(there, content(left, size))
    assert signal.item() == ROUNDS


@pytest.mark.parametrize("warps", [1, 4])
def test_barriers_of_all_threads(warps, right):
    """Each thread of the block calls the barrier, which counts once for a warp."""
    counts = zeros(ROUNDS + 1, torch.int64)
    nv.launch(barriers, (1,), counts, ROUNDS, right, num_warps=warps)
    threads = 32 * warps
    assert counts.tolist() == [ROUNDS * threads, *(threads * (i + 1) for i in range(ROUNDS))]


def test_values_of_16_bits(right):
    there, out = zeros(1, torch.float16), torch.zeros(1, dtype=torch.float16, device="cuda")
    nv.launch(halves, (1,), there, out, right)
    assert there.item() == out.item() == 0.5
    there, out = zeros(1, torch.bfloat16), torch.zeros(1, dtype=torch.bfloat16, device="cuda")
    nv.launch(brain_halves, (1,), there, out, right)
    assert there.item() == out.item() == 3


@pytest.mark.parametrize("size", (4, 1000, 40_000))
def test_collectives(size, me, n):
    blocks = torch.cat([content(100 * me + pe, size) for pe in range(n)])
    source, dest = zeros(n * size), zeros(n * size)
    source.copy_(blocks)
    torch.cuda.synchronize()
    nv.launch(collect, (1,), dest, source, size, WHAT="broadcast")
    assert torch.equal(dest[:size], content(0, size))
    shmem.barrier_all()
    nv.launch(collect, (1,), dest, source, size, WHAT="alltoall")
    assert torch.equal(dest, torch.cat([content(100 * pe + me, size) for pe in range(n)]))
    shmem.barrier_all()
    nv.launch(collect, (1,), dest, source, size, WHAT="fcollect")
    assert torch.equal(dest, torch.cat([content(100 * pe, size) for pe in range(n)]))


REDUCTIONS = {
    "double_sum": (torch.float64, torch.sum),
    "float_max": (torch.float32, torch.amax),
    "int32_min": (torch.int32, torch.amin),
    "half_sum": (torch.float16, torch.sum),
    "bfloat16_sum": (torch.bfloat16, torch.sum),
    "int64_prod": (torch.int64, torch.prod),
}


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("what", REDUCTIONS)
@pytest.mark.parametrize("length", (1, 300))
def test_reductions(length, what, warps, me, n):
    """The numbers are whole and small, so that the order of additions does not matter."""
    dtype, expected = REDUCTIONS[what]
    rows = torch.stack([(torch.arange(length) + pe) % 7 + 1 for pe in range(n)]).to(dtype).cuda()
    source, dest = zeros(length, dtype), zeros(length, dtype)
    source.copy_(rows[me])
    torch.cuda.synchronize()
    nv.launch(reduce, (1,), dest, source, length, WHAT=what, num_warps=warps)
    assert torch.equal(dest, expected(rows, 0).to(dtype))


def test_address(me, right):
    there, out = zeros(4), torch.ones(1, dtype=torch.int64, device="cuda")
    nv.launch(where, (1,), out, there, me)
    assert out.item() == there.data_ptr()
    nv.launch(where, (1,), out, there, right)
    peer = shmem.torch.ptr(there, right)
    assert out.item() == (0 if peer is None else peer.data_ptr())


def test_another_version(me, capfd):
    """A kernel that was linked with the bitcode of another version is refused by name."""
    out = torch.zeros(2, dtype=torch.int32, device="cuda")
    cubin = nv.launch(number, (1,), out).asm["cubin"]
    # The version of the bitcode in the kernel: NVSHMEM's 3 and 8, and a number of this library.
    start = struct.pack("<2i", 3, 8)
    at = cubin.index(start)
    (patch,) = struct.unpack_from("<i", cubin, at + 8)
    assert patch > 1000 and cubin.count(start + struct.pack("<i", patch)) == 1
    other = cubin[: at + 8] + struct.pack("<i", patch - 1) + cubin[at + 12 :]
    driver, module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    assert driver.cuModuleLoadData(ctypes.byref(module), other) == 0
    capfd.readouterr()
    assert nv.host().nvshmemx_cumodule_init(module) != 0
    said = capfd.readouterr().err
    assert "shmemx_cumodule_init: check the version of libnvshmem_device.bc" in said
    assert f"3.8.{patch - 1}, of another version of libshmem" in said
    assert driver.cuModuleUnload(module) == 0
