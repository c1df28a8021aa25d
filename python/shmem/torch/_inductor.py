"""Properties of the operators for inductor, torch's compiler, beside their effects.

This module registers them when inductor traces an operator: inductor is not loaded before a program
compiles something, and takes a second to load.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch


def register(operators: tuple[str, ...]) -> None:
    """Registers the operators torch.ops.shmem.* of these names, if inductor is loaded."""
    config: Any = sys.modules.get("torch._inductor.config")
    if config is not None:
        _keep_out_of_graphs(config, [f"shmem::{name}" for name in operators])
    if "torch._inductor.graph" in sys.modules:
        _lower(operators)


def _keep_out_of_graphs(config: Any, operators: list[str]) -> None:
    """Makes inductor partition its CUDA graphs at the operators of these names.

    The operands in a graph are copies in the graph's own memory, which is not symmetric. A tag of
    an operator would have this result only for operators without an effect (torch 2.11).
    """
    known = getattr(config, "custom_should_partition_ops", None)
    if known is not None and not set(operators).issubset(known):
        config.custom_should_partition_ops = [*known, *operators]


@functools.cache
def _lower(operators: tuple[str, ...]) -> None:
    """Registers how inductor lowers these operators, once in a process."""
    if torch.__version__ < (2, 6):
        _keep_types()
    for name in operators:
        _keep_in_order(getattr(torch.ops.shmem, name).default)


def _keep_types() -> None:
    """Makes inductor leave the operands of operators with an effect unchanged.

    torch 2.4 and 2.5 convert them to one dtype, like those of a sum, and a converted operand is a
    copy.
    """
    from torch._inductor.lowering import lowerings, register_lowering

    effects: Any = torch.ops.higher_order.with_effects
    plain = getattr(lowerings[effects], "__wrapped__", None)  # the lowering without conversions
    if plain is not None:
        register_lowering(effects, type_promotion_kind=None)(plain)


def _keep_in_order(operator: Any) -> None:
    """Makes each call of the operator in compiled code follow the calls with an effect before it.

    torch should order operators with an effect itself, but from torch 2.10 on it records the
    dependence under a wrong name (pytorch/pytorch#188301), and may move a wait before the put that
    ends it: it did so in a partitioned graph.
    """
    from torch._inductor.ir import FallbackKernel, IRNode, TensorBox
    from torch._inductor.lowering import register_lowering
    from torch._inductor.virtualized import V
    from torch.utils import _pytree as tree

    def box(value: Any) -> Any:
        """A result of a kernel in the form that inductor's lowerings return."""
        return TensorBox.create(value) if isinstance(value, IRNode) else value

    def lower(*operands: Any) -> Any:
        """inductor's fallback for an operator, whose operations depend on the earlier ones."""
        graph: Any = V.graph
        begin = len(graph.operations)
        out = tree.tree_map(box, FallbackKernel.create(operator, *operands))
        dependences: Any = getattr(graph, "additional_buffer_deps", None)
        if dependences is not None:
            behind = [before.get_name() for before in graph.effectful_ops.values()]
            for operation in graph.operations[begin:]:
                dependences[operation.get_operation_name()].update(behind)
        return out

    register_lowering(operator, type_promotion_kind=None)(lower)
