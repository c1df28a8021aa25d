"""What the operators do, on tensors that are there.

Each collective begins with a meeting of the PEs, on the stream where there is one: until
then a slower PE may still read what the result is written over. With that a loop that
calls them is as safe as one that calls torch.distributed.
"""

from __future__ import annotations

import torch

from shmem import _operands, _rma, _sync
from shmem._abi import SHMEM_TEAM_WORLD
from shmem._errors import ArgumentError, DeviceError, DtypeError, LayoutError, SizeError
from shmem._runtime import library, state
from shmem._streams import stream_of
from shmem._teams import Team, find
from shmem.torch import _tensors

REDUCTIONS = ("sum", "avg", "max", "min", "prod")


def _stream(*tensors: torch.Tensor) -> str | None:
    """Everything goes by the stream where GPU memory is in it."""
    on_gpu = any(t.is_cuda for t in tensors) if tensors else state.heap == "device"
    return "current" if on_gpu else None


def _flat(call: str, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Its bytes in a row."""
    if not tensor.is_contiguous():
        raise LayoutError(
            call,
            f"{name}, a tensor of {tensor.dtype} of shape {tuple(tensor.shape)}",
            "it is not contiguous",
            "pass one that is: .contiguous() copies",
        )
    return tensor.detach().reshape(-1).view(torch.uint8)


def _check(call: str, out: torch.Tensor, src: torch.Tensor, elements: int) -> None:
    if out.dtype != src.dtype:
        raise DtypeError(
            call, f"out, a tensor of {out.dtype}", f"src is of {src.dtype}", "use one dtype"
        )
    if out.numel() != elements:
        raise SizeError(
            call,
            f"out, of shape {tuple(out.shape)}",
            f"the result has {elements} elements",
            "pass a tensor of that size",
        )


def check_blocks(call: str, src: torch.Tensor, n: int) -> None:
    """src has to be n blocks of one length, one after the other."""
    if src.dim() == 0 or src.shape[0] % n:
        raise SizeError(
            call,
            f"src, of shape {tuple(src.shape)}",
            f"its first dimension is not {n} blocks of one length",
            f"make that a multiple of {n}",
        )


def _meet(call: str, team: Team, stream: str | None) -> None:
    if team.n_pes == state.n_pes:
        _sync.sync_all(stream=stream)
    else:
        team.sync(stream=stream)


def _end(call: str, team: Team, stream: str | None) -> None:
    """Completes this PE's puts, and waits until every PE of the team has done so."""
    if stream is not None:
        functions, on = library(call), stream_of(call, stream)
        functions.shmemx_barrier_on_stream(team.handle(call), on)
        return
    _sync.quiet()
    _meet(call, team, stream)


def _spread(call: str, team: Team, out: torch.Tensor, src: torch.Tensor, whole: bool) -> None:
    """Puts src, or its block for each PE, to this PE's place in everybody's out.

    By puts, since src need not be symmetric: in compiled code it is what torch has just
    computed. A collective of the library would ask for that.
    """
    n, me = team.n_pes, team.my_pe
    mine = _flat(call, "out", out).reshape(n, -1)[me]
    data = _flat(call, "src", src)
    blocks = data.reshape(1, -1).expand(n, -1) if whole else data.reshape(n, -1)
    _operands.symmetric(call, "out", mine)
    stream, world = _stream(out, src), find(call, SHMEM_TEAM_WORLD)
    _meet(call, team, stream)
    if mine.numel():
        for i in range(1, n):
            to = (me + i) % n  # not all to one PE
            pe = team.translate_pe(to, world)
            assert pe is not None
            _rma.put_nbi(mine, blocks[to], pe, stream=stream)
        mine.copy_(blocks[me])
    _end(call, team, stream)


def all_gather_out(out: torch.Tensor, src: torch.Tensor, n: int, team: int) -> None:
    group = find("all_gather", team)
    _check("all_gather", out, src, n * src.numel())
    _spread("all_gather", group, out, src, whole=True)


def all_to_all_out(out: torch.Tensor, src: torch.Tensor, n: int, team: int) -> None:
    group = find("all_to_all", team)
    check_blocks("all_to_all", src, n)
    _check("all_to_all", out, src, src.numel())
    _spread("all_to_all", group, out, src, whole=False)


def reduce_scatter_out(out: torch.Tensor, src: torch.Tensor, n: int, op: str, team: int) -> None:
    """Reads this PE's block at every PE and combines them in the order of the PEs.

    So the result does not depend on who came first, and any dtype of torch will do.
    """
    call, group = "reduce_scatter", find("reduce_scatter", team)
    check_blocks(call, src, n)
    _check(call, out, src, src.numel() // n)
    if op not in REDUCTIONS:
        raise ArgumentError(call, f"op {op!r}", "is no reduction", f"use {', '.join(REDUCTIONS)}")
    blocks = _flat(call, "src", src).reshape(n, -1)
    mine = blocks[group.my_pe]
    stream = _stream(out, src)
    found = torch.empty((n, *out.shape), dtype=src.dtype, device=src.device)
    into = found.reshape(-1).view(torch.uint8).reshape(n, -1)
    world = find(call, SHMEM_TEAM_WORLD)
    _meet(call, group, stream)
    for i in range(n):
        of = (group.my_pe + i) % n  # not all at one PE
        pe = group.translate_pe(of, world)
        assert pe is not None
        _rma.get_nbi(into[of], mine, pe, stream=stream)
    _sync.quiet(stream=stream)
    # src is this PE's again when all have read it.
    _meet(call, group, stream)
    if op == "sum":
        combined = found.sum(0, dtype=found.dtype)
    elif op == "avg":
        combined = found.sum(0, dtype=found.dtype) / n
    elif op == "prod":
        combined = found.prod(0, dtype=found.dtype)
    else:
        combined = found.amax(0) if op == "max" else found.amin(0)
    out.copy_(combined)


def _block(call: str, nbytes: int, src: torch.Tensor, team: int) -> torch.Tensor:
    """Symmetric memory for a result, or for a copy of src."""
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
    return _tensors.block(call, nbytes).view(src.dtype)


def all_gather(src: torch.Tensor, n: int, team: int) -> torch.Tensor:
    out = _block("all_gather", n * src.numel() * src.element_size(), src, team)
    all_gather_out(out, src.contiguous(), n, team)
    return out.reshape(gathered(src, n))


def all_to_all(src: torch.Tensor, n: int, team: int) -> torch.Tensor:
    check_blocks("all_to_all", src, n)
    out = _block("all_to_all", src.numel() * src.element_size(), src, team)
    all_to_all_out(out, src.contiguous(), n, team)
    return out.reshape(src.shape)


def reduce_scatter(src: torch.Tensor, n: int, op: str, team: int) -> torch.Tensor:
    check_blocks("reduce_scatter", src, n)
    # Whether src is symmetric itself is not asked: another PE may find otherwise.
    copy = _block("reduce_scatter", src.numel() * src.element_size(), src, team)
    copy = copy.reshape(src.shape).copy_(src.detach())
    out = torch.empty(scattered(src, n), dtype=src.dtype, device=src.device)
    reduce_scatter_out(out, copy, n, op, team)
    return out


def gathered(src: torch.Tensor, n: int) -> tuple[int, ...]:
    """The shape of what all_gather makes."""
    return (n * src.shape[0], *src.shape[1:]) if src.dim() else (n,)


def scattered(src: torch.Tensor, n: int) -> tuple[int, ...]:
    """The shape of what reduce_scatter makes."""
    return (src.shape[0] // n, *src.shape[1:])


def put(dest: torch.Tensor, src: torch.Tensor, pe: int) -> None:
    to, data = _flat("put", "dest", dest), _flat("put", "src", src)
    _check("put", dest, src, src.numel())
    _rma.put(to, data, pe, stream=_stream(dest, src))


def get(source: torch.Tensor, pe: int) -> torch.Tensor:
    out = torch.empty(source.shape, dtype=source.dtype, device=source.device)
    data = _flat("get", "source", source)
    _rma.get(out.reshape(-1).view(torch.uint8), data, pe, stream=_stream(source))
    return out


def put_signal(
    dest: torch.Tensor, src: torch.Tensor, signal: torch.Tensor, value: int, op: int, pe: int
) -> None:
    to, data = _flat("put_signal", "dest", dest), _flat("put_signal", "src", src)
    _check("put_signal", dest, src, src.numel())
    _rma.put_signal(to, data, signal, value, pe, op=op, stream=_stream(dest, src))


def signal_wait_until(signal: torch.Tensor, cmp: int, value: int, of: torch.Tensor) -> torch.Tensor:
    _sync.signal_wait_until(signal, cmp, value, stream=_stream(signal))
    return of.detach().clone()


def quiet() -> None:
    _sync.quiet(stream=_stream())


def barrier_all() -> None:
    _sync.barrier_all(stream=_stream())
