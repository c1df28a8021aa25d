"""The operators torch.ops.shmem.*: their registration in torch.

Each has a schema, an implementation, and a function that returns an empty tensor of the shape and
type of the result (registered for the Meta key, which every release of torch uses to trace without
data). Newer releases get three more properties:

- which operators have an effect that no operand shows. A put changes memory of another PE:
  without this property torch.compile would drop the put, or move it across a barrier. put and
  put_signal do not declare that they write to dest, although a put to this PE does: torch may pass
  a copy of an operand that is declared as written, and the copy is not symmetric;
- the gradients of the collectives that return their result;
- properties that inductor cannot know by itself (`_inductor.py`).
"""

from __future__ import annotations

from typing import Any

import torch

import shmem.torch._kernels as kernels
from shmem._errors import ArgumentError
from shmem.torch._inductor import register

_library = torch.library.Library("shmem", "DEF")

# From torch 2.4 on.
HAS_GRADIENTS = hasattr(torch.library, "register_autograd")


# The functions for the Meta key: an empty tensor with the result's shape, type and device.
def _fake_all_gather(src: torch.Tensor, n: int, team: int) -> torch.Tensor:
    return src.new_empty(kernels.gathered(src, n))


def _fake_all_to_all(src: torch.Tensor, n: int, team: int) -> torch.Tensor:
    kernels.check_blocks("all_to_all", src, n)
    return src.new_empty(src.shape)


def _fake_reduce_scatter(src: torch.Tensor, n: int, op: str, team: int) -> torch.Tensor:
    kernels.check_blocks("reduce_scatter", src, n)
    return src.new_empty(kernels.scattered(src, n))


def _fake_copy_of(of: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.empty(of.shape, dtype=of.dtype, device=of.device)


def _fake_wait(signal: torch.Tensor, cmp: int, value: int, of: torch.Tensor) -> torch.Tensor:
    return _fake_copy_of(of)


def _fake_nothing(*_: Any) -> None:
    return None


# The schema, the implementation, and the function for the Meta key.
_RESULTS = [
    (
        "all_gather(Tensor src, int n, int team) -> Tensor",
        kernels.all_gather,
        _fake_all_gather,
    ),
    (
        "all_to_all(Tensor src, int n, int team) -> Tensor",
        kernels.all_to_all,
        _fake_all_to_all,
    ),
    (
        "reduce_scatter(Tensor src, int n, str op, int team) -> Tensor",
        kernels.reduce_scatter,
        _fake_reduce_scatter,
    ),
    ("get(Tensor source, int pe) -> Tensor", kernels.get, _fake_copy_of),
    (
        "signal_wait_until(Tensor signal, int cmp, int value, Tensor of) -> Tensor",
        kernels.signal_wait_until,
        _fake_wait,
    ),
    ("put(Tensor dest, Tensor src, int pe) -> ()", kernels.put, _fake_nothing),
    (
        "put_signal(Tensor dest, Tensor src, Tensor signal, int value, int op, int pe) -> ()",
        kernels.put_signal,
        _fake_nothing,
    ),
    ("quiet() -> ()", kernels.quiet, _fake_nothing),
    ("barrier_all() -> ()", kernels.barrier_all, _fake_nothing),
]

# The operators that write to an operand need no effect: torch orders them by the operand.
_INTO = [
    ("all_gather_out(Tensor(a!) out, Tensor src, int n, int team) -> ()", kernels.all_gather_out),
    ("all_to_all_out(Tensor(a!) out, Tensor src, int n, int team) -> ()", kernels.all_to_all_out),
    (
        "reduce_scatter_out(Tensor(a!) out, Tensor src, int n, str op, int team) -> ()",
        kernels.reduce_scatter_out,
    ),
]


def _has_effect(name: str) -> None:
    """Declares the operator's effect, in releases of torch that know of effects."""
    try:
        from torch._higher_order_ops.effects import _EffectType, _register_effectful_op
    except ImportError:
        return
    _register_effectful_op(getattr(torch.ops.shmem, name).default, _EffectType.ORDERED)


_WITH_EFFECTS = tuple(schema.partition("(")[0] for schema, _, _ in _RESULTS)


def _traced(fake: Any) -> Any:
    """fake, which also registers the operators with inductor, if inductor is loaded by then."""

    def traced(*operands: Any) -> Any:
        register(_WITH_EFFECTS)
        return fake(*operands)

    return traced


def _define(schema: str, run: Any, fake: Any) -> str:
    """Registers an operator, and returns its name."""
    name = schema.partition("(")[0]
    _library.define(schema)
    _library.impl(name, run, "CompositeExplicitAutograd")
    _library.impl(name, fake, "Meta")
    if not HAS_GRADIENTS:
        _library.impl(name, fake, "AutogradMeta")  # old releases have no other method
    return name


for _schema, _run, _fake in _RESULTS:
    _has_effect(_define(_schema, _run, _traced(_fake)))
for _schema, _run in _INTO:
    _define(_schema, _run, _fake_nothing)


# ------------------------------------------------------------------ gradients


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps an operator's numbers and words, all operands after src, for its gradient."""
    ctx.numbers = inputs[1:]


# The gradients of an operator's operands, from that of its result. Numbers have None.
def _back_all_gather(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    n, team = ctx.numbers
    return torch.ops.shmem.reduce_scatter(grad.contiguous(), n, "sum", team), None, None


def _back_all_to_all(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    n, team = ctx.numbers
    return torch.ops.shmem.all_to_all(grad.contiguous(), n, team), None, None


def _back_reduce_scatter(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    n, op, team = ctx.numbers
    if op not in ("sum", "avg"):
        raise ArgumentError("reduce_scatter", f"op {op!r}", "has no gradient", "use sum or avg")
    back = torch.ops.shmem.all_gather(grad.contiguous(), n, team)
    return back / n if op == "avg" else back, None, None, None


if HAS_GRADIENTS:
    for _name, _back in (
        ("all_gather", _back_all_gather),
        ("all_to_all", _back_all_to_all),
        ("reduce_scatter", _back_reduce_scatter),
    ):
        torch.library.register_autograd(f"shmem::{_name}", _back, setup_context=_keep, lib=_library)
