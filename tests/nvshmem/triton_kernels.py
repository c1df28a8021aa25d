"""Compiles kernels of Triton that call functions of libnvshmem_device.bc, without a GPU.

    triton_kernels.py BITCODE FOLDER

Triton is on PYTHONPATH. Writes KERNEL.ptx for each kernel, and prints its name, the bytes of its
machine code and the seconds. Triton passes addresses as int64.
"""

import sys
import time
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.language import core


def extern(name, *types, result="int32"):
    """A function of the bitcode library with arguments of these types."""
    signature = {tuple(core.dtype(t) for t in types): (name, core.dtype(result))}

    @core.extern
    def call(*args, _semantic=None):
        return core.extern_elementwise(
            "", "", list(args), signature, is_pure=False, _semantic=_semantic
        )

    return call


putmem = extern("nvshmemx_putmem_block", "int64", "int64", "int64", "int32")
putmem_signal = extern("nvshmemx_putmem_signal_block", *["int64"] * 4, "uint64", "int32", "int32")
signal_wait_until = extern("nvshmem_signal_wait_until", "int64", "int32", "uint64")
barrier_all = extern("nvshmem_barrier_all")
half_p = extern("nvshmem_half_p", "int64", "fp16", "int32")
bfloat16_g = extern("nvshmem_bfloat16_g", "int64", "int32", result="bf16")
float_sum = extern("nvshmem_float_sum_reduce", "int32", "int64", "int64", "int64")
bfloat16_max = extern("nvshmem_bfloat16_max_reduce", "int32", "int64", "int64", "int64")


@triton.jit
def put(dest, source, n, pe):
    putmem(dest, source, n, pe)
    barrier_all()


@triton.jit
def signal(dest, source, n, pe):
    putmem_signal(dest, source, n, dest + n, tl.full((), 1, tl.uint64), 9, pe)
    signal_wait_until(dest + n, 0, tl.full((), 1, tl.uint64))


@triton.jit
def halves(dest, source, n, pe):
    half_p(dest, n.to(tl.float16), pe)
    out = bfloat16_g(source, pe)
    tl.store(dest.to(tl.pointer_type(tl.bfloat16)), out)


@triton.jit
def reduce(dest, source, n, pe):
    float_sum(0, dest, source, n)
    bfloat16_max(0, source, dest, n)


def main():
    bitcode, folder = sys.argv[1:]
    signature = {"dest": "i64", "source": "i64", "n": "i64", "pe": "i32"}
    for kernel in (put, signal, halves, reduce):
        began = time.monotonic()
        made = compile(
            ASTSource(fn=kernel, signature=signature, constexprs={}),
            target=GPUTarget("cuda", 90, 32),
            options={"extern_libs": {"libnvshmem_device": bitcode}},
        )
        name = kernel.fn.__name__
        Path(folder, name + ".ptx").write_text(made.asm["ptx"])
        print(name, len(made.asm["cubin"]), f"{time.monotonic() - began:.2f}")


if __name__ == "__main__":
    main()
