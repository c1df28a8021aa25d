"""Programs as users write them first: no settings, and operands that are torch's own tensors.

CUDA loads a kernel when it is launched for the first time. If that happens beside a kernel that
waits for another PE, the driver executes no other work of the program in the meantime, and the
library must still deliver the data that the kernel waits for (docs/guides/gpu-network.md). In each
test a stream waits for a PE that is late, and the tested work runs beside it. The PEs share a GPU,
and reach each other through the ring and the proxy; gpu_machine.py runs this as jobs of their own.

Calls that wait for the whole GPU themselves are not here: cudaFree, torch.cuda.empty_cache.
"""

import ctypes
import functools
import io
import os
import time
from typing import NamedTuple

import cupy
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from cupy.cuda import runtime

import shmem
import shmem.torch as st

IS_SET = "CUDA_MODULE_LOADING" in os.environ  # torch sets it itself when it starts CUDA
LAZY = 2  # CU_MODULE_LAZY_LOADING

LATE = 0.03  # seconds
LATER = 0.3  # beside compilers: PEs do not all take the same time for that
SIZES = (64 << 10, 1, 4096, 3, 40_001, 1000, 17)  # in bytes
DTYPES = (torch.float64, torch.bfloat16, torch.float32, torch.float16)

MODULE = """
extern "C" __global__ void store_NUMBER(int *out) { out[threadIdx.x] = NUMBER + threadIdx.x; }
"""


def content(pe, number, size):
    """Bytes that only one PE sends, in one turn."""
    return (torch.arange(size) * 7 + 31 * pe + 13 * number).remainder(251).to(torch.uint8)


def sent(pe, number):
    """The bytes of a PE for all others in a turn."""
    return content(pe, number, SIZES[(pe + number) % len(SIZES)])


def by_kernel(word, value):
    """The wait of a kernel, which polls the signal."""
    shmem.signal_wait_until(word, ">", value - 1, stream="current")


def by_stream(word, value):
    """The wait of the stream itself, without a kernel."""
    shmem.signal_wait_until(word, ">=", value, stream="current")


class Turn(NamedTuple):
    """The arguments of the loop's body."""

    number: int
    waits: bool  # this PE is not the late one
    stream: torch.cuda.Stream  # the one that waits
    came: torch.Tensor  # behind the wait: what another PE sent, the late one where it can be
    wanted: torch.Tensor  # the same, in main memory


@pytest.fixture
def beside(me, n, gpu):
    """A loop with turns, whose body runs while a stream waits for the PE that is late.

    All other PEs send their bytes to every PE, and then wait for those of every PE. The late one
    sends its own when it has received theirs. So each wait needs data from this PE and to it, and
    no wait needs the work of the body. The loop must finish.
    """
    inbox = shmem.zeros((n, max(SIZES)), torch.uint8, device="cuda")
    # 16 bytes for each: for words at other alignments Triton makes another kernel, to be loaded.
    flags = shmem.zeros((n, 2), torch.int64, device="cuda")
    ours = torch.empty(max(SIZES), dtype=torch.uint8, device="cuda")
    symmetric = shmem.zeros(max(SIZES), torch.uint8, device="cuda")
    stream = torch.cuda.Stream(gpu)
    others = [pe for pe in range(n) if pe != me]

    def send(source, number):
        op, value = ("add", 1) if number % 3 == 0 else ("set", number + 1)
        for pe in others:
            dest = inbox[me, : len(source)]
            shmem.put_signal(dest, source, flags[me], value, pe=pe, op=op, stream="current")

    def receive(wait, number):
        for pe in others:
            wait(flags[pe, :1], number + 1)

    def turns(count=4 * n, *, together=False, wait=None, late=LATE):
        """Runs the body in `count` turns. The PEs are late by turns.

        The late PE runs the body first, and then sleeps for `late` seconds before it sends. With
        together it runs the body after it has sent, for a body that needs all PEs.
        """
        for number in range(count):
            # Each PE is late once with each pair of a kind of wait and a kind of source.
            last, kind = number % n, number // n % 4
            how = wait or (by_kernel, by_kernel, by_stream, by_stream)[kind]
            data = sent(me, number)
            source = (ours, symmetric)[kind % 2][: len(data)]
            source.copy_(data)
            sender = others[0] if me == last else last
            wanted = sent(sender, number)
            turn = Turn(number, me != last, stream, inbox[sender, : len(wanted)], wanted)
            if turn.waits:
                with torch.cuda.stream(stream):
                    send(source, number)
                    receive(how, number)
            shmem.sync_all()  # the late PE is later than all PEs that wait
            if turn.waits:
                assert not stream.query(), f"turn {number}: the wait for PE {last} is over"
            else:
                if not together:
                    yield turn
                time.sleep(late)
                with torch.cuda.stream(stream):
                    receive(how, number)
                    send(source, number)
            if turn.waits or together:
                yield turn
            stream.synchronize()
            for pe in others:
                data = sent(pe, number)
                assert torch.equal(inbox[pe, : len(data)].cpu(), data), f"turn {number}, PE {pe}"
            shmem.barrier_all()

    return turns


def test_kernels_are_loaded_lazily():
    """Without this the other tests would show nothing."""
    mode = ctypes.c_int(-1)
    assert ctypes.CDLL("libcuda.so.1").cuModuleGetLoadingMode(ctypes.byref(mode)) == 0
    assert mode.value == LAZY and not IS_SET


# ---------------------------------------------------------------- torch


def test_first_matmul(beside, n):
    """cuBLAS begins with its first call, and once in a process: no test above has a matmul."""
    for turn in beside():
        if turn.waits:
            size, dtype = 16 * (turn.number + 1), DTYPES[turn.number // n]
            a = torch.full((size, size), 2.0, dtype=dtype, device="cuda")
            b = torch.full((size, size), 3.0, dtype=dtype, device="cuda")
            assert bool((a @ b == 6 * size).all())


OPERATIONS = (
    *("erf", "lgamma", "sinh", "asinh", "exp2", "expm1", "log1p", "rsqrt"),
    *("sigmoid", "frac", "atan", "digamma", "erfc", "tan", "acos", "erfinv"),
)


@pytest.mark.parametrize("together", [False, True])
def test_kernels_of_torch(together, beside):
    """Each kernel is launched for the first time, behind the wait or on another stream."""
    half = len(OPERATIONS) // 2
    for turn in beside(half, together=together):
        f = getattr(torch, OPERATIONS[turn.number + half * together])
        with torch.cuda.stream(turn.stream if turn.number % 4 < 2 else None):
            x = torch.linspace(0.1, 0.9, 1000 + turn.number, dtype=torch.float64, device="cuda")
            assert torch.allclose(f(x).cpu(), f(x.cpu()))


def printed(x):
    """The numbers as print shows them, without the device that print names behind them."""
    out = io.StringIO()
    print(x, file=out)
    return out.getvalue().partition("]")[0]


READS = {
    "print": printed,
    "tolist": torch.Tensor.tolist,
    "cpu": lambda x: x.cpu().tolist(),
    "item": lambda x: x.sum().item(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_the_host_reads(read, beside):
    """The host reads data from before the wait, and then the data that comes behind it."""
    for turn in beside():
        assert read(turn.wanted.cuda()) == read(turn.wanted)
        with torch.cuda.stream(turn.stream):
            found = read(turn.came)
        assert not turn.waits or found == read(turn.wanted)


@pytest.mark.parametrize("non_blocking", [False, True])
@pytest.mark.parametrize("pinned", [False, True])
def test_copies(pinned, non_blocking, beside):
    """Copies to the GPU and back beside the wait, and behind it a copy of the data that came."""
    for turn in beside():
        host = turn.wanted.pin_memory() if pinned else turn.wanted
        back, behind = torch.empty((2, len(host)), dtype=torch.uint8, pin_memory=pinned)
        there = host.to("cuda", non_blocking=non_blocking)
        back.copy_(there, non_blocking=non_blocking)
        torch.cuda.current_stream().synchronize()
        assert torch.equal(back, host)
        with torch.cuda.stream(turn.stream):
            behind.copy_(turn.came, non_blocking=non_blocking)
            turn.stream.synchronize()
        assert not turn.waits or torch.equal(behind, host)


def test_memory_of_a_new_size(beside):
    """torch has no cached block as large, and calls cudaMalloc."""
    made = []
    for turn in beside():
        before = torch.cuda.memory_reserved()
        size = (128 << 20) + (turn.number << 21)
        made.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        assert torch.cuda.memory_reserved() >= before + size
        made[-1].fill_(turn.number + 1)
    found = [(int(x.min()), int(x.max())) for x in made]
    assert found == [(i, i) for i in range(1, len(made) + 1)]


def test_gets(beside, me, right):
    """Gets into torch's own memory, from a PE that may be the late one."""
    box = shmem.zeros(max(SIZES), torch.uint8, device="cuda")
    box.copy_(content(me, 0, max(SIZES)))
    shmem.barrier_all()
    for turn in beside():
        want = content(right, 0, SIZES[turn.number % len(SIZES)])
        got = torch.zeros(len(want), dtype=torch.uint8, device="cuda")
        shmem.get(got, box[: len(want)], pe=right, stream="current")
        assert torch.equal(got.roll(turn.number).cpu(), want.roll(turn.number))


LOOKS = (
    torch.bitwise_not,
    lambda x: x.flip(0),
    lambda x: x.cumsum(0),
    lambda x: x.sort().values,
)


def test_operators(beside, me, n, right, left):
    """torch.ops.shmem: kernels that were not launched before read the data that came."""
    box, signal = st.zeros(max(SIZES), torch.uint8), st.zeros(1, torch.int64)
    for turn in beside(2 * n, together=True):
        size, look = SIZES[turn.number % len(SIZES)], LOOKS[turn.number % len(LOOKS)]
        mine = content(me, turn.number, size).cuda()
        st.put_signal(box[:size], mine, signal, turn.number + 1, right)
        got = st.signal_wait_until(signal, ">=", turn.number + 1, box[:size])
        assert torch.equal(look(got).cpu(), look(content(left, turn.number, size)))
        everybody = torch.cat([content(pe, turn.number, size) for pe in range(n)])
        assert torch.equal((st.all_gather(mine) ^ turn.number).cpu(), everybody ^ turn.number)


@pytest.mark.parametrize("name", ["all_to_all", "all_gather", "reduce_scatter"])
def test_gradients(name, beside, me, n):
    """The backward pass launches in a thread of torch's, and waits for the other PEs there."""
    for turn in beside(2 * n, together=True):
        rows, factor = 8 + turn.number, turn.number + 2
        dtype = DTYPES[turn.number % len(DTYPES)]
        x = torch.full((n * rows, 5), float(me + 1), dtype=dtype, device="cuda", requires_grad=True)
        y = getattr(st, name)(x * factor)
        (y * (me + 1)).sum().backward()
        # A block for each PE: its number plus one, which is its value, and its weight.
        numbers = torch.arange(1, n + 1, dtype=dtype) * factor
        total = numbers.sum()
        blocks = numbers.repeat_interleave(rows).reshape(-1, 1)
        values, gradient = {
            "all_to_all": (blocks, blocks),
            "all_gather": (numbers.repeat_interleave(n * rows).reshape(-1, 1), total),
            "reduce_scatter": (total, blocks),
        }[name]
        assert bool((y.detach().cpu() == values).all()), turn.number
        assert x.grad is not None and bool((x.grad.cpu() == gradient).all()), turn.number


@pytest.mark.skipif(torch.__version__ < (2, 10), reason="this torch makes graphs around them")
@pytest.mark.parametrize("mode, rows", [("max-autotune", 16), ("reduce-overhead", 24)])
def test_compiled(mode, rows, beside, me, n):
    """The first call of f searches or compiles, the second one makes graphs, the others replay."""

    def step(x, w):
        return (st.all_to_all(x @ w) * 2 + 1).relu()

    torch._dynamo.reset()
    f = torch.compile(step, mode=mode, fullgraph=True)
    w = torch.ones((32, rows), device="cuda")
    for turn in beside(5, together=True):
        x = torch.full((n * rows, 32), 1.0 + me + turn.number, device="cuda")
        numbers = torch.arange(n) + 1.0 + turn.number
        want = (numbers * 64 + 1).repeat_interleave(rows).reshape(-1, 1).expand(-1, rows)
        assert torch.equal(f(x, w).clone().cpu(), want), turn.number


def scaled(number):
    """A function that torch has not compiled."""

    def step(x):
        return (x.to(torch.float32) * (number + 2) + 1).sqrt()

    return step


def test_compiled_behind_a_wait(beside, n):
    """torch compiles a function and launches its kernels on the stream that waits."""
    torch._dynamo.reset()
    for turn in beside(n, late=LATER):
        step = scaled(turn.number)
        with torch.cuda.stream(turn.stream):
            found = torch.compile(step, dynamic=False)(turn.came).cpu()
        assert not turn.waits or torch.allclose(found, step(turn.wanted))


# ---------------------------------------------------------------- calls of the driver


@pytest.fixture
def other():
    """Another stream than the one that waits."""
    return cupy.cuda.Stream(non_blocking=True)


def test_driver_allocates(beside, other):
    """The test frees the memory after all turns, since cudaFree waits for the GPU."""
    size = 5 << 20
    host = np.empty(size, np.uint8)
    plain, of_stream = [], []
    for turn in beside():
        plain.append(runtime.malloc(size))
        of_stream.append(runtime.mallocAsync(size, other.ptr))
        for value, at in ((1 + turn.number, plain[-1]), (101 + turn.number, of_stream[-1])):
            runtime.memsetAsync(at, value, size, other.ptr)
            runtime.memcpyAsync(host.ctypes.data, at, size, runtime.memcpyDeviceToHost, other.ptr)
            other.synchronize()
            assert (host == value).all()
    for at in plain:
        runtime.free(at)
    for at in of_stream:
        runtime.freeAsync(at, other.ptr)
    other.synchronize()


def test_driver_loads_a_module(beside, n, other):
    out = cupy.empty(64, cupy.int32)
    modules = []
    for turn in beside(2 * n, late=LATER):
        modules.append(cupy.RawModule(code=MODULE.replace("NUMBER", str(turn.number))))
        with other:
            modules[-1].get_function(f"store_{turn.number}")((1,), (64,), (out,))
        other.synchronize()
        assert out.get().tolist() == list(range(turn.number, turn.number + 64))


def test_driver_streams_and_events(beside, gpu):
    """cupy's streams are new ones; torch makes those of a priority together, in the first turn."""
    kept = []
    for turn in beside():
        new, urgent = cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream(gpu, priority=-1)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(torch.cuda.ExternalStream(new.ptr, device=gpu)):
            begin.record()
            x = torch.full((1000,), turn.number, device="cuda")
            end.record()
        urgent.wait_event(end)
        with torch.cuda.stream(urgent):
            y = x + 1
        urgent.synchronize()
        assert begin.query() and begin.elapsed_time(end) >= 0
        assert y.tolist() == [turn.number + 1] * 1000
        kept.append((new, x, y))


def test_driver_graphs(beside, gpu, other):
    """Captured, instantiated and launched, by torch and by cupy.

    Not by torch.cuda.graph, which waits for the GPU before it captures.
    """
    side, memory = torch.cuda.Stream(gpu), cupy.empty(1000, cupy.uint8)
    torch.zeros(8, device="cuda").add_(2)  # the captured kernel is not loaded in the meantime
    kept = []
    for turn in beside():
        x = torch.zeros(100 + turn.number, device="cuda")
        torch.cuda.current_stream().synchronize()
        by_torch = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            by_torch.capture_begin(capture_error_mode="thread_local")
            x.add_(turn.number + 1)
            by_torch.capture_end()
            by_torch.replay()
            by_torch.replay()
        side.synchronize()
        assert x.tolist() == [2 * (turn.number + 1)] * len(x)
        other.begin_capture()
        runtime.memsetAsync(memory.data.ptr, turn.number + 1, memory.nbytes, other.ptr)
        by_cupy = other.end_capture()
        by_cupy.launch(other)
        other.synchronize()
        assert (memory.get() == turn.number + 1).all()
        kept.append((by_torch, by_cupy, x))


# ---------------------------------------------------------------- Triton and Numba


@triton.jit
def spin(word, until):
    """Waits for a signal."""
    while tl.atomic_add(word, 0, sem="acquire", scope="sys") < until:
        pass


@triton.jit
def add(source, out, length, by: tl.constexpr, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    here = at < length
    tl.store(out + at, tl.load(source + at, mask=here).to(tl.int32) + by, mask=here)


def check_kernels(turns, launch):
    """Runs kernels beside the wait of each turn, and then behind that wait.

    launch(source, out, by) launches a kernel that is new for each by: out becomes source + by.
    """
    for turn in turns:
        by = 100 * (turn.number + 1)
        want = turn.wanted.to(torch.int32) + by
        out = torch.zeros(len(want), dtype=torch.int32, device="cuda")
        launch(turn.wanted.cuda(), out, by)
        assert torch.equal(out.cpu(), want)
        with torch.cuda.stream(turn.stream):
            out.zero_()
            launch(turn.came, out, by)
            found = out.cpu()
        assert not turn.waits or torch.equal(found, want)


def test_triton(beside, n):
    """A kernel of Triton waits, and another one is compiled for each turn."""

    def launch(source, out, by):
        add[(triton.cdiv(len(out), 256),)](source, out, len(out), by=by, block=256)

    turns = beside(2 * n, wait=lambda word, value: spin[(1,)](word, value), late=LATER)
    check_kernels(turns, launch)


@pytest.fixture
def cuda(monkeypatch, gpu):
    """numba.cuda, which asks numpy for a name that numpy 2.5 has dropped (numba-cuda 0.30)."""
    if not hasattr(np, "row_stack"):
        monkeypatch.setattr(np, "row_stack", np.vstack, raising=False)
    from numba import cuda

    cuda.select_device(gpu)
    return cuda


def test_numba(beside, n, cuda):
    """A kernel of Numba waits, and another one is compiled for each turn."""

    def current():
        address = torch.cuda.current_stream().cuda_stream
        return cuda.external_stream(address) if address else 0

    @cuda.jit
    def spins(word, until):
        while cuda.atomic.max(word, 0, 0) < until:
            pass

    def wait(word, value):
        spins[1, 1, current()](cuda.as_cuda_array(word), value)

    @functools.cache
    def kernel(by):
        @cuda.jit
        def adds(source, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = source[i] + by

        return adds

    def launch(source, out, by):
        grid = -(-len(out) // 128)
        kernel(by)[grid, 128, current()](cuda.as_cuda_array(source), cuda.as_cuda_array(out))

    check_kernels(beside(2 * n, wait=wait, late=LATER), launch)
