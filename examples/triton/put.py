"""Puts of a kernel in Triton to the next PE, which may be on another machine.

    shmemrun -n 2 python put.py [--length N] [--turns N]

The kernel calls functions of NVSHMEM by their names. Triton links it with libnvshmem_device.bc of
this library, from the folder that NVSHMEM_LIB_DIR names, or from the installation. After the kernel
is compiled, nvshmemx_cumodule_init gives its module the state of the job."""

import argparse
import ctypes
import os
import sys

import shmem
import shmem.torch as st
import torch
import triton
import triton.language as tl
from triton.language import core

ADD, GE = 10, tl.constexpr(5)  # NVSHMEM_SIGNAL_ADD, NVSHMEM_CMP_GE


def extern(name, *types):
    """A function of the bitcode with arguments of these types. Addresses are int64."""
    signature = {tuple(core.dtype(t) for t in types): (name, core.dtype("int32"))}

    # The library's name and path are empty: the launch names the bitcode by extern_libs.
    @core.extern
    def call(*args, _semantic=None):
        return core.extern_elementwise(
            "", "", list(args), signature, is_pure=False, _semantic=_semantic
        )

    return call


putmem_signal = extern("nvshmemx_putmem_signal_block", *["int64"] * 4, "uint64", "int32", "int32")
signal_wait_until = extern("nvshmem_signal_wait_until", "int64", "int32", "uint64")


@triton.jit
def exchange(out, src, nbytes, signal, turn, pe, OP: tl.constexpr):
    """Puts src to pe's copy of out, adds 1 to pe's signal, and waits until this PE's is turn."""
    word = signal.to(tl.int64)
    one = tl.full((), 1, tl.uint64)
    putmem_signal(out.to(tl.int64), src.to(tl.int64), nbytes.to(tl.int64), word, one, OP, pe)
    signal_wait_until(word, GE, tl.load(turn).to(tl.uint64))


def prepared(kernel, folder, *args, **options):
    """Compiles a kernel for its arguments, and gives its module the state of the job.

    folder has libshmem's libraries. Returns a function that launches the kernel.
    """
    libraries = {"libnvshmem_device": os.path.join(folder, "libnvshmem_device.bc")}
    compiled = kernel.warmup(*args, grid=(1,), extern_libs=libraries, **options)
    compiled._init_handles()  # loads the module
    host = ctypes.CDLL(os.path.join(folder, "libnvshmem_host.so.3"))
    if host.nvshmemx_cumodule_init(ctypes.c_void_p(compiled.module)) != 0:
        sys.exit(1)
    return lambda: kernel[(1,)](*args, extern_libs=libraries, **options)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--length", type=int, default=100_000, help="elements of an array")
    options.add_argument("--turns", type=int, default=20)
    args = options.parse_args()
    folder = os.environ.get("NVSHMEM_LIB_DIR") or os.path.join(shmem.nvshmem_path(), "lib")
    shmem.init(heap="device")
    me, n = shmem.my_pe(), shmem.n_pes()

    out, signal = st.zeros(args.length), st.zeros(1, torch.int64)
    torch.cuda.set_device(out.device)  # where Triton starts kernels
    src = torch.zeros_like(out)
    turn = torch.zeros(1, dtype=torch.int64, device=out.device)
    columns = torch.arange(args.length, device=out.device) % 1000
    launch = prepared(
        exchange, folder, out, src, 4 * args.length, signal, turn, (me + 1) % n, OP=ADD
    )

    wrong = torch.zeros((), dtype=torch.int64, device=out.device)
    for i in range(1, args.turns + 1):
        turn.fill_(i)
        src.copy_(columns + 1000 * (i + 100 * me))
        launch()
        wrong += (out != columns + 1000 * (i + 100 * ((me - 1) % n))).sum()
        st.barrier_all()  # the next turn overwrites what a PE may still compare
    count = int(wrong)
    print(f"PE {me} of {n}: {args.turns} turns, {count} wrong elements", flush=True)
    del out, signal
    shmem.finalize()
    sys.exit(count != 0)


if __name__ == "__main__":
    main()
