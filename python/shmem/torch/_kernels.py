"""The work of the operators, on real tensors.

Each collective begins with a synchronization of the PEs, on the stream if there is one: before that
a slower PE may still read the memory that the result overwrites. So a loop that calls them is as
safe as one that calls torch.distributed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch

from shmem import _blocks, _operands, _sync, _zz_rma, _zz_signal, _zz_wait
from shmem._addresses import refuse_address
from shmem._errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    LayoutError,
    SizeError,
    SymmetryError,
)
from shmem._gpu import heap_gpu, is_elsewhere
from shmem._runtime import library, settle, state
from shmem._streams import stream_of
from shmem._teams import find
from shmem.torch._far import finish
from shmem.torch._tensors import symmetric_bytes

REDUCTIONS = ("sum", "avg", "max", "min", "prod")


def _stream(*tensors: torch.Tensor) -> Literal["current"] | None:
    """The stream for operands in GPU memory: torch's current one. None: the host does the work.

    Without operands, as for a barrier, the place of the heap decides.
    """
    on_gpu = any(t.is_cuda for t in tensors) if tensors else state.heap == "device"
    return "current" if on_gpu else None


def _flat(call: str, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor's bytes, as a tensor of one dimension."""
    _row(call, name, tensor)
    return tensor.detach().reshape(-1).view(torch.uint8)


def _check(
    call: str, out: torch.Tensor, src: torch.Tensor, elements: int, name: str = "out"
) -> None:
    """Refuses an out of another dtype than src's, or not of so many elements. name is out's."""
    if out.dtype != src.dtype:
        raise DtypeError(
            call, f"{name}, a tensor of {out.dtype}", f"src is of {src.dtype}", "use one dtype"
        )
    if out.numel() != elements:
        what = "the result" if name == "out" else "src"
        raise SizeError(
            call,
            f"{name}, of shape {tuple(out.shape)}",
            f"{what} has {elements} elements",
            "pass a tensor of that size",
        )


def check_blocks(call: str, src: torch.Tensor, n: int) -> None:
    """src must be n blocks of one length, one after the other."""
    if src.dim() == 0 or src.shape[0] % n:
        raise SizeError(
            call,
            f"src, of shape {tuple(src.shape)}",
            f"its first dimension is not {n} blocks of one length",
            f"make that a multiple of {n}",
        )


class _Collective:
    """The calls of one collective, on torch's current stream if GPU memory is involved."""

    def __init__(self, call: str, team: int, *tensors: torch.Tensor) -> None:
        functions = library(call)
        self.team = find(call, team)
        self._handle = self.team.handle(call)
        self._call, self._functions = call, functions
        on = _stream(*tensors)
        # The last argument of calls on a stream, or no argument.
        self._on: tuple[int, ...] = () if on is None else (stream_of(call, on),)
        self._put: Callable[..., None]
        self._get: Callable[..., None]
        if self._on:
            self._put = functions.shmemx_putmem_nbi_on_stream
            self._get = functions.shmemx_getmem_nbi_on_stream
        else:
            self._put, self._get = functions.shmem_putmem_nbi, functions.shmem_getmem_nbi

    def sync(self) -> None:
        """Waits for the PEs of the team."""
        if self._on:
            self._functions.shmemx_team_sync_on_stream(self._handle, *self._on)
        else:
            self.team.sync()

    def collective(self, name: str, to: int, of: int, nbytes: int) -> None:
        """Calls one of the library's collectives."""
        name = f"shmemx_{name}_on_stream" if self._on else f"shmem_{name}"
        getattr(self._functions, name)(self._handle, to, of, nbytes, *self._on)
        settle(self._call)
        self._finish()

    def put(self, to: int, of: int, nbytes: int, pe: int) -> None:
        """Copies bytes to a PE of the job."""
        self._put(to, of, nbytes, pe, *self._on)

    def get(self, to: int, of: int, nbytes: int, pe: int) -> None:
        """Copies bytes from a PE of the job."""
        self._get(to, of, nbytes, pe, *self._on)

    def barrier(self) -> None:
        """Completes the puts and gets of the team's PEs."""
        if self._on:
            self._functions.shmemx_barrier_on_stream(self._handle, *self._on)
            self._finish()
        else:
            self._functions.shmem_quiet()
            self.sync()

    def _finish(self) -> None:
        """Lets the host wait for the stream where a PE needs it (_far.py)."""
        if self._on:
            finish(self._call, self.team.members())


def _row(call: str, name: str, tensor: torch.Tensor) -> int:
    """The address of a tensor's elements, which are contiguous."""
    if tensor.layout is not torch.strided:
        raise LayoutError(
            call,
            f"{name}, a tensor of {tensor.layout}",
            "its elements are not in a row",
            "pass one that is dense: .to_dense() copies",
        )
    if not tensor.is_contiguous():
        raise LayoutError(
            call,
            f"{name}, a tensor of {tensor.dtype} of shape {tuple(tensor.shape)}",
            "it is not contiguous",
            "pass one that is"
            + (": .contiguous() copies" if name == "src" else "; a copy would not be symmetric"),
        )
    if tensor.is_cuda and is_elsewhere(tensor.get_device()):
        raise DeviceError(
            call,
            f"{name}, a tensor of {tensor.device}",
            f"this PE's heap is on GPU {heap_gpu()}",
            "copy it to that GPU",
        )
    return int(tensor.data_ptr())


def _symmetric(call: str, name: str, tensor: torch.Tensor) -> int:
    """The address of a contiguous tensor that must be in symmetric memory."""
    address = _row(call, name, tensor)
    there = _blocks.place(address, tensor.numel() * tensor.element_size(), tensor.numel())
    if there is None:
        array = _operands.as_array(call, name, tensor)
        raise refuse_address(call, name, array, address)
    return there


def _spread(
    call: str, out: torch.Tensor, src: torch.Tensor, team: int, whole: bool, ours: bool
) -> None:
    """Puts src (whole), or its block for each PE, to this PE's place in every PE's out.

    If src is symmetric, a collective of the library does this in a third of the host's time.
    Otherwise puts do it, and always if this package has allocated out (ours): then src may be
    symmetric on some PEs only, and in compiled code it is a tensor that torch has just computed.
    """
    to, of = _symmetric(call, "out", out), _row(call, "src", src)
    size = src.numel() * src.element_size()
    if to < of + size and of < to + out.numel() * out.element_size():
        raise SizeError(call, "out and src", "they overlap", "pass two tensors that do not")
    calls = _Collective(call, team, out, src)
    n, me, pes = calls.team.n_pes, calls.team.my_pe, calls.team.members()
    nbytes = out.numel() * out.element_size() // n
    calls.sync()
    if not ours and _blocks.find(of, size) is not None:
        calls.collective("fcollectmem" if whole else "alltoallmem", to, of, nbytes)
        return
    for i in range(1, n + 1):
        peer = (me + i) % n  # each PE begins with another one
        block = of if whole else of + peer * nbytes
        calls.put(to + me * nbytes, block, nbytes, pes[peer])
    calls.barrier()


def all_gather_out(
    out: torch.Tensor, src: torch.Tensor, n: int, team: int, ours: bool = False
) -> None:
    """Concatenates the src of the n PEs of a team in out. ours as in _spread."""
    _check("all_gather", out, src, n * src.numel())
    _spread("all_gather", out, src, team, True, ours)


def all_to_all_out(
    out: torch.Tensor, src: torch.Tensor, n: int, team: int, ours: bool = False
) -> None:
    """Exchanges blocks with the n PEs of a team; out gets theirs. ours as in _spread."""
    check_blocks("all_to_all", src, n)
    _check("all_to_all", out, src, src.numel())
    _spread("all_to_all", out, src, team, False, ours)


def reduce_scatter_out(out: torch.Tensor, src: torch.Tensor, n: int, op: str, team: int) -> None:
    """Reads this PE's block of the src of all n PEs, and combines the blocks in the PEs' order.

    So the result does not depend on the order in which PEs arrive, and any dtype of torch will do.
    """
    call = "reduce_scatter"
    check_blocks(call, src, n)
    _check(call, out, src, src.numel() // n)
    if op not in REDUCTIONS:
        raise ArgumentError(
            call, f"op {op!r}", "is not a reduction", f"use {', '.join(REDUCTIONS)}"
        )
    of = _symmetric(call, "src", src)
    calls = _Collective(call, team, out, src)
    me, pes = calls.team.my_pe, calls.team.members()
    blocks = torch.empty((n, *out.shape), dtype=src.dtype, device=src.device)
    to, nbytes = int(blocks.data_ptr()), out.numel() * out.element_size()
    calls.sync()
    for i in range(1, n + 1):
        peer = (me + i) % n  # each PE begins with another one
        calls.get(to + peer * nbytes, of + me * nbytes, nbytes, pes[peer])
    # This PE may use src again when all have read it.
    calls.barrier()
    out.copy_(_result(call, op, blocks))


def _combined(op: str, blocks: torch.Tensor) -> torch.Tensor:
    """The blocks along the first dimension, combined by op."""
    n = blocks.shape[0]
    if op == "sum":
        return blocks.sum(0, dtype=blocks.dtype)
    if op == "avg":
        return blocks.sum(0, dtype=blocks.dtype) / n
    if op == "prod":
        return blocks.prod(0, dtype=blocks.dtype)
    return blocks.amax(0) if op == "max" else blocks.amin(0)


def _result(call: str, op: str, blocks: torch.Tensor) -> torch.Tensor:
    """What _combined returns, with this package's error for a dtype that torch does not take."""
    try:
        return _combined(op, blocks)
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
        raise DtypeError(
            call, f"src, a tensor of {blocks.dtype}", str(error), "convert it, or use another op"
        ) from None


def _block(call: str, nbytes: int, src: torch.Tensor, team: int) -> torch.Tensor:
    """New symmetric memory for a result or a copy of src: a flat tensor of its dtype."""
    group = find(call, team)
    if group.n_pes != state.n_pes:
        raise ArgumentError(
            call,
            f"a team of {group.n_pes} of {state.n_pes} PEs",
            "symmetric memory is made by all PEs together",
            "pass out=",
        )
    if src.is_cuda != (state.heap == "device"):
        raise DeviceError(
            call,
            f"src, a tensor of {src.device}",
            "the symmetric heap is " + ("in main memory" if src.is_cuda else "in GPU memory"),
            "copy it there, or set SHMEM_HEAP=" + ("device" if src.is_cuda else "host"),
        )
    return symmetric_bytes(call, nbytes).view(src.dtype)


def all_gather(src: torch.Tensor, n: int, team: int) -> torch.Tensor:
    """The concatenated src of the n PEs of a team, in new symmetric memory."""
    out = _block("all_gather", n * src.numel() * src.element_size(), src, team)
    all_gather_out(out, src.contiguous(), n, team, ours=True)
    return out.reshape(gathered(src, n))


def all_to_all(src: torch.Tensor, n: int, team: int) -> torch.Tensor:
    """The blocks that the n PEs of a team have for this PE, in new symmetric memory."""
    check_blocks("all_to_all", src, n)
    out = _block("all_to_all", src.numel() * src.element_size(), src, team)
    all_to_all_out(out, src.contiguous(), n, team, ours=True)
    return out.reshape(src.shape)


def reduce_scatter(src: torch.Tensor, n: int, op: str, team: int) -> torch.Tensor:
    """The combined blocks that the n PEs of a team have for this PE, in ordinary memory."""
    check_blocks("reduce_scatter", src, n)
    # src is copied also where it is symmetric, since it may not be so on another PE.
    copy = _block("reduce_scatter", src.numel() * src.element_size(), src, team)
    copy = copy.reshape(src.shape).copy_(src.detach())
    out = torch.empty(scattered(src, n), dtype=src.dtype, device=src.device)
    reduce_scatter_out(out, copy, n, op, team)
    return out


def gathered(src: torch.Tensor, n: int) -> tuple[int, ...]:
    """The shape of the result of all_gather."""
    return (n * src.shape[0], *src.shape[1:]) if src.dim() else (n,)


def scattered(src: torch.Tensor, n: int) -> tuple[int, ...]:
    """The shape of the result of reduce_scatter."""
    return (src.shape[0] // n, *src.shape[1:])


def _one_sided(
    call: str,
    name: str,
    symmetric: torch.Tensor,
    on: Literal["current"] | None,
    pe: int,
    run: Callable[[], None],
) -> None:
    """Runs an operation on a symmetric tensor of a PE, on torch's current stream if on is not None.

    name is the tensor's name in errors.
    """
    try:
        run()
    except SymmetryError:
        _symmetric(call, name, symmetric)  # the same error, about the tensor instead of its bytes
        raise
    if on:
        finish(call, (pe,))


def put(dest: torch.Tensor, src: torch.Tensor, pe: int) -> None:
    """Copies src to dest at a PE; a later quiet or barrier completes the copy."""
    call = "torch.put"
    to, data = _flat(call, "dest", dest), _flat(call, "src", src)
    _check(call, dest, src, src.numel(), "dest")
    on = _stream(dest, src)
    _one_sided(call, "dest", dest, on, pe, lambda: _zz_rma.put(to, data, pe, stream=on))


def get(source: torch.Tensor, pe: int) -> torch.Tensor:
    """A copy of source at a PE, in ordinary memory."""
    out = torch.empty(source.shape, dtype=source.dtype, device=source.device)
    call = "torch.get"
    to, data, on = out.reshape(-1).view(torch.uint8), _flat(call, "source", source), _stream(source)
    _one_sided(call, "source", source, on, pe, lambda: _zz_rma.get(to, data, pe, stream=on))
    return out


def put_signal(
    dest: torch.Tensor, src: torch.Tensor, signal: torch.Tensor, value: int, op: int, pe: int
) -> None:
    """Copies src to dest at a PE, and then updates a signal there; op is SIGNAL_SET or _ADD."""
    call = "torch.put_signal"
    to, data = _flat(call, "dest", dest), _flat(call, "src", src)
    _check(call, dest, src, src.numel(), "dest")
    on = _stream(dest, src)

    def run() -> None:
        _zz_signal.put_signal(to, data, signal, value, pe, op=op, stream=on)

    _one_sided(call, "dest", dest, on, pe, run)


def signal_wait_until(signal: torch.Tensor, cmp: int, value: int, of: torch.Tensor) -> torch.Tensor:
    """Waits for the signal, and returns a copy of the tensor `of`, which the signal announces."""
    _zz_wait.signal_wait_until(signal, cmp, value, stream=_stream(signal))
    return of.detach().clone()


def quiet() -> None:
    """Completes this PE's operations."""
    on = _stream()
    _sync.quiet(stream=on)
    if on:
        finish("torch.quiet")


def barrier_all() -> None:
    """Waits until all PEs have called it and all operations are complete."""
    on = _stream()
    _sync.barrier_all(stream=on)
    if on:
        finish("torch.barrier_all")
