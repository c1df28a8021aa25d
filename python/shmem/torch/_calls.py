"""The functions for programs: teams and words become the numbers that operators take."""

from __future__ import annotations

from typing import Literal

import torch

from shmem import _zz_wait
from shmem._constants import SIGNAL_SET, Comparison, SignalOp, comparison, signal_op
from shmem._errors import ArgumentError, DeviceError, DtypeError
from shmem._runtime import check_pe, library, whole
from shmem._teams import Team, team_handle
from shmem.torch._operators import HAS_GRADIENTS

_ops = torch.ops.shmem

TorchReduction = Literal["sum", "avg", "max", "min", "prod"]


def _check(call: str, **tensors: object) -> None:
    """Refuses operands that are not tensors: torch's own error would not name the operand."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise DtypeError(
                call,
                f"{name}, {type(tensor).__name__}",
                "it is not a tensor",
                "pass a torch.Tensor",
            )


def _check_value(call: str, value: int) -> None:
    """A signal's value, which torch takes as an int64."""
    if not isinstance(value, (int, torch.Tensor)) and whole(value) is None:
        raise DtypeError(call, f"value {value!r}", "is not an int", "pass an int")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise DtypeError(
            call, f"value {value}", "torch has no such int64", "subtract 1 << 64, for the same bits"
        )


def _no_gradient(call: str, tensor: torch.Tensor, why: str, remedy: str) -> None:
    """Refuses a src that requires a gradient, for the cause `why`."""
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(call, "src, which requires a gradient", why, remedy)


def _check_gradients_exist(call: str, src: torch.Tensor) -> None:
    """Refuses a src that requires a gradient in releases of torch for which operators have none."""
    if not HAS_GRADIENTS:
        _no_gradient(
            call, src, f"torch {torch.__version__} has no gradients here", "use torch 2.4 or newer"
        )


def _refuse_gradient(call: str, src: torch.Tensor) -> None:
    """Refuses a src that requires a gradient, for operations that write in place."""
    _no_gradient(call, src, "what is written in place has none", "pass src.detach()")


def _collective(
    call: str, src: torch.Tensor, team: Team | None, out: torch.Tensor | None, *options: str
) -> torch.Tensor:
    """Calls the operator of that name, or its variant that writes to out; returns the result.

    options are the operator's other arguments: of reduce_scatter, the reduction.
    """
    library(call)
    _check(call, src=src)
    handle, n = team_handle(call, team)
    if out is None:
        _check_gradients_exist(call, src)
        return getattr(_ops, call).default(src, n, *options, handle)
    _check(call, out=out)
    _refuse_gradient(call, src)
    getattr(_ops, call + "_out").default(out, src, n, *options, handle)
    return out


def all_gather(
    src: torch.Tensor, *, team: Team | None = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Concatenate the tensors of all PEs of the team along the first dimension.

    The order is that of the PEs.

    Parameters
    ----------
    src : torch.Tensor
        Any tensor of the heap's device, of one shape on all PEs.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    out : torch.Tensor, optional
        Where the result goes: contiguous and symmetric. `src` is then the same symmetric tensor on
        all PEs or on none. A team of only some PEs needs it, because all PEs allocate memory
        together.

    Returns
    -------
    torch.Tensor
        The result: `out`, or a new tensor in symmetric memory.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        A tensor or the team cannot be used.
    SizeError
        The shapes do not fit.
    DtypeError
        The type is not one that the operation takes.
    DeviceError
        A tensor is on another device than the heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _collective("all_gather", src, team, out)


def all_to_all(
    src: torch.Tensor, *, team: Team | None = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Exchange blocks: block j of PE i's src becomes block i of PE j's result.

    Parameters
    ----------
    src : torch.Tensor
        One block for each PE of the team along its first dimension.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    out : torch.Tensor, optional
        Where the result goes: contiguous and symmetric. `src` is then the same symmetric tensor on
        all PEs or on none. A team of only some PEs needs it, because all PEs allocate memory
        together.

    Returns
    -------
    torch.Tensor
        The result: `out`, or a new tensor in symmetric memory.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        A tensor or the team cannot be used.
    SizeError
        The shapes do not fit.
    DtypeError
        The type is not one that the operation takes.
    DeviceError
        A tensor is on another device than the heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _collective("all_to_all", src, team, out)


def reduce_scatter(
    src: torch.Tensor,
    op: TorchReduction = "sum",
    *,
    team: Team | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Combine the tensors of all PEs of the team, and give PE i the i-th block.

    Parameters
    ----------
    src : torch.Tensor
        One block for each PE of the team along its first dimension.
    op : TorchReduction, optional
        The operation: sum, avg, max, min or prod, in the order of the PEs.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.
    out : torch.Tensor, optional
        Where the result goes, in ordinary memory. `src` is then symmetric and contiguous.

    Returns
    -------
    torch.Tensor
        The result: `out`, or a new tensor in ordinary memory.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        A tensor or the team cannot be used.
    SizeError
        The shapes do not fit.
    DtypeError
        The type is not one that the operation takes.
    DeviceError
        A tensor is on another device than the heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    return _collective("reduce_scatter", src, team, out, op)


def all_reduce(
    src: torch.Tensor, op: TorchReduction = "sum", *, team: Team | None = None
) -> torch.Tensor:
    """Combine the tensors of all PEs of the team, of one shape.

    The call consists of `reduce_scatter` and `all_gather`: every PE has the same bits, and sum and
    avg have a gradient. A team of only some PEs cannot call it.

    Parameters
    ----------
    src : torch.Tensor
        Any tensor of the heap's device.
    op : TorchReduction, optional
        The operation: sum, avg, max, min or prod, in the order of the PEs.
    team : Team, optional
        The PEs that make the call; every PE of the job by default.

    Returns
    -------
    torch.Tensor
        The result, a new tensor.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    ArgumentError
        A tensor or the team cannot be used.
    SizeError
        The shapes do not fit.
    DtypeError
        The type is not one that the operation takes.
    DeviceError
        A tensor is on another device than the heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "all_reduce"
    library(call)
    _check(call, src=src)
    _, n = team_handle(call, team)
    flat = src.reshape(-1)
    padding = -flat.numel() % n  # elements up to n blocks of one length
    if padding:
        flat = torch.cat([flat, flat.new_zeros(padding)])
    result = all_gather(reduce_scatter(flat, op, team=team), team=team)
    return result[: src.numel()].reshape(src.shape)


def put(dest: torch.Tensor, src: torch.Tensor, pe: int) -> None:
    """Copy src into dest at another PE.

    The copy is complete after the next `quiet` or barrier. src may be changed when the call returns
    or, on a GPU, by later work on torch's current stream.

    Parameters
    ----------
    dest : torch.Tensor
        A contiguous symmetric tensor.
    src : torch.Tensor
        A contiguous tensor of that size and type.
    pe : int
        The other PE.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    SymmetryError
        An array that must be symmetric is not.
    SizeError
        The tensors differ in size.
    DtypeError
        The tensors differ in type.
    LayoutError
        A tensor is not contiguous.
    DeviceError
        A tensor is on another device than the heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    library("torch.put")
    _check("torch.put", dest=dest, src=src)
    _refuse_gradient("torch.put", src)
    _ops.put.default(dest, src, check_pe("torch.put", pe))


def get(source: torch.Tensor, pe: int) -> torch.Tensor:
    """Read source at another PE, or at this one.

    Parameters
    ----------
    source : torch.Tensor
        A contiguous symmetric tensor.
    pe : int
        The other PE.

    Returns
    -------
    torch.Tensor
        A new tensor in ordinary memory.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    SymmetryError
        `source` is not symmetric.
    DtypeError
        `source` is not a tensor.
    LayoutError
        `source` is not contiguous.
    DeviceError
        `source` is on another device than the heap.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    library("torch.get")
    _check("torch.get", source=source)
    return _ops.get.default(source, check_pe("torch.get", pe))


def put_signal(
    dest: torch.Tensor,
    src: torch.Tensor,
    signal: torch.Tensor,
    value: int,
    pe: int,
    *,
    op: SignalOp | int = SIGNAL_SET,
) -> None:
    """Copy as `put` does, and then update a signal of that PE.

    A PE that sees the signal also sees the data.

    Parameters
    ----------
    dest : torch.Tensor
        A contiguous symmetric tensor.
    src : torch.Tensor
        A contiguous tensor of that size and type.
    signal : torch.Tensor
        One int64 in symmetric memory.
    value : int
        The number for the signal.
    pe : int
        The other PE.
    op : SignalOp or int, optional
        "set" writes `value` to the signal, "add" adds it.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    SymmetryError
        An array that must be symmetric is not.
    SizeError
        The tensors differ in size.
    DtypeError
        The tensors differ in type.
    LayoutError
        A tensor is not contiguous.
    DeviceError
        A tensor is on another device than the heap.
    ArgumentError
        `op` is not an operation on a signal.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "torch.put_signal"
    library(call)
    _check(call, dest=dest, src=src, signal=signal)
    _check_value(call, value)
    _refuse_gradient(call, src)
    _ops.put_signal.default(dest, src, signal, value, signal_op(call, op), check_pe(call, pe))


def signal_wait_until(
    signal: torch.Tensor,
    cmp: Comparison | int,
    value: int,
    of: torch.Tensor,
    *,
    timeout: float | None = None,
) -> torch.Tensor:
    """Wait until a signal of this PE satisfies the comparison.

    Signals are compared as unsigned numbers: -1 is the greatest. On a GPU the stream waits, and
    ">=" compares counters: it holds if the signal is less than 2^63 ahead of value.

    Parameters
    ----------
    signal : torch.Tensor
        One int64 in symmetric memory.
    cmp : Comparison or int
        The comparison of the signal with `value`: ==, !=, <, <=, > or >=.
    value : int
        The number.
    of : torch.Tensor
        The tensor that the signal announces.
    timeout : float, optional
        Seconds after which the call gives up; only for a heap in main memory.

    Returns
    -------
    torch.Tensor
        A copy of `of`, made after the wait.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    SymmetryError
        An array that must be symmetric is not.
    ArgumentError
        `cmp` is not a comparison.
    DeviceError
        `timeout` with a signal in GPU memory.
    WaitTimeoutError
        `timeout` seconds have passed.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "torch.signal_wait_until"
    library(call)
    _check(call, signal=signal, of=of)
    _check_value(call, value)
    if timeout is not None:
        if signal.is_cuda:
            raise DeviceError(
                call,
                f"timeout={timeout!r}",
                "a stream waits without a limit",
                "leave it out, or wait on the CPU",
            )
        _zz_wait.signal_wait_until(signal, cmp, value, timeout=timeout)
    return _ops.signal_wait_until.default(signal, comparison(call, cmp), value, of)


def quiet() -> None:
    """Complete this PE's operations at the others, before later work on the stream.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    library("torch.quiet")
    _ops.quiet.default()


def barrier_all() -> None:
    """Wait until every PE has called it and all earlier operations are complete.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    library("torch.barrier_all")
    _ops.barrier_all.default()
