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
    """Refuses mistakes for which torch's own error would not name the cause."""
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
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(call, "src, which requires a gradient", why, remedy)


def _may_have_gradient(call: str, src: torch.Tensor) -> None:
    if not HAS_GRADIENTS:
        _no_gradient(
            call, src, f"torch {torch.__version__} has no gradients here", "use torch 2.4 or newer"
        )


def _has_none(call: str, src: torch.Tensor) -> None:
    _no_gradient(call, src, "what is written in place has none", "pass src.detach()")


def _collective(
    call: str, src: torch.Tensor, team: Team | None, out: torch.Tensor | None, *options: str
) -> torch.Tensor:
    """The operator of that name, or its variant that writes to out."""
    library(call)
    _check(call, src=src)
    handle, n = team_handle(call, team)
    if out is None:
        _may_have_gradient(call, src)
        return getattr(_ops, call).default(src, n, *options, handle)
    _check(call, out=out)
    _has_none(call, src)
    getattr(_ops, call + "_out").default(out, src, n, *options, handle)
    return out


def all_gather(
    src: torch.Tensor, *, team: Team | None = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Concatenates the tensors of all PEs of the team, of one shape, along the first dimension.

    The order is that of the PEs. src is any tensor of the heap's device, with the result in a new
    one in symmetric memory. With out the result is there, contiguous and symmetric, and src is the
    same symmetric tensor on all PEs or on none. A team of only some PEs needs out, because all PEs
    allocate memory together.
    """
    return _collective("all_gather", src, team, out)


def all_to_all(
    src: torch.Tensor, *, team: Team | None = None, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Exchanges blocks: block j of PE i's src becomes block i of PE j's result.

    src has one block for each PE of the team along its first dimension. Otherwise as `all_gather`.
    """
    return _collective("all_to_all", src, team, out)


def reduce_scatter(
    src: torch.Tensor,
    op: TorchReduction = "sum",
    *,
    team: Team | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Combines the tensors of all PEs of the team, and gives PE i the i-th block of the result.

    op is sum, avg, max, min or prod; values are combined in the order of the PEs. The result, and
    so out, is in ordinary memory; with out, src is symmetric and contiguous. Otherwise as
    `all_to_all`.
    """
    return _collective("reduce_scatter", src, team, out, op)


def all_reduce(
    src: torch.Tensor, op: TorchReduction = "sum", *, team: Team | None = None
) -> torch.Tensor:
    """Combines the tensors of all PEs of the team, of one shape; the result is a new tensor.

    op is as for `reduce_scatter`, of which, with `all_gather`, the call consists: every PE has the
    same bits, and sum and avg have a gradient. A team of only some PEs cannot call it.
    """
    call = "all_reduce"
    library(call)
    _check(call, src=src)
    _, n = team_handle(call, team)
    flat = src.reshape(-1)
    rest = -flat.numel() % n
    if rest:
        flat = torch.cat([flat, flat.new_zeros(rest)])
    whole = all_gather(reduce_scatter(flat, op, team=team), team=team)
    return whole[: src.numel()].reshape(src.shape)


def put(dest: torch.Tensor, src: torch.Tensor, pe: int) -> None:
    """Copies src into dest at another PE; both are contiguous and of one size.

    It is complete there after the next `quiet` or barrier.
    """
    library("torch.put")
    _check("torch.put", dest=dest, src=src)
    _has_none("torch.put", src)
    _ops.put.default(dest, src, check_pe("torch.put", pe))


def get(source: torch.Tensor, pe: int) -> torch.Tensor:
    """Reads source at another PE, or at this one, into a tensor of ordinary memory."""
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
    """Copies as put does, and then updates signal, an int64 of that PE's symmetric memory.

    A PE that sees the signal also sees the data.
    """
    call = "torch.put_signal"
    library(call)
    _check(call, dest=dest, src=src, signal=signal)
    _check_value(call, value)
    _has_none(call, src)
    _ops.put_signal.default(dest, src, signal, value, signal_op(call, op), check_pe(call, pe))


def signal_wait_until(
    signal: torch.Tensor,
    cmp: Comparison | int,
    value: int,
    of: torch.Tensor,
    *,
    timeout: float | None = None,
) -> torch.Tensor:
    """Waits until a signal of this PE satisfies the comparison; returns a later copy of `of`.

    Signals are compared as unsigned numbers: -1 is the greatest. On a GPU the stream waits, and
    ">=" compares counters: it holds if the signal is less than 2^63 ahead of value. After timeout
    seconds, which the CPU alone takes, the call raises WaitTimeoutError.
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
    """Completes this PE's operations at the others, before later work on the stream."""
    library("torch.quiet")
    _ops.quiet.default()


def barrier_all() -> None:
    """Waits until every PE has called it and all earlier operations are complete, like `quiet`."""
    library("torch.barrier_all")
    _ops.barrier_all.default()
