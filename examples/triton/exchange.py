"""An all-to-all in Triton: kernels store to the other PEs' memory, and set their flags.

    shmemrun -n 2 python exchange.py [--length N] [--turns N]

Block j of each PE's source becomes its block in PE j's tensor, as in
torch.distributed.all_to_all_single, but without a host call in between: the kernel has the
addresses of all PEs' tensors from shmem.torch.ptr. With TRITON_INTERPRET=1 it runs without a GPU,
on a heap in main memory."""

import argparse
import os
import sys

import shmem
import shmem.torch as st
import torch
import triton
import triton.language as tl


@triton.jit
def send(src, outs, flags, me, length, BLOCK: tl.constexpr):
    """Stores a part of the block for one PE there, and adds 1 to the flag for this PE there."""
    pe, part = tl.program_id(0), tl.program_id(1)
    out = tl.load(outs + pe).to(tl.pointer_type(tl.float32))
    flag = tl.load(flags + pe).to(tl.pointer_type(tl.int64))
    at = part * BLOCK + tl.arange(0, BLOCK)
    here = at < length
    tl.store(out + me * length + at, tl.load(src + pe * length + at, mask=here), mask=here)
    # Only one thread makes the atomic addition. Its release covers the stores of the other threads
    # because the barrier orders them before it.
    tl.debug_barrier()
    tl.atomic_add(flag + me, 1, sem="release", scope="sys")


@triton.jit
def receive(flags, until):
    """Waits until the flag for one PE has counted all parts up to `until`."""
    flag = flags + tl.program_id(0)
    while tl.atomic_add(flag, 0, sem="acquire", scope="sys") < until:
        pass


def addresses(tensor):
    """The addresses of all PEs' copies of a symmetric tensor, as a tensor for kernels, and those
    copies as tensors, which the caller keeps as long as kernels use the addresses."""
    peers = [st.ptr(tensor, pe) for pe in range(shmem.n_pes())]
    far = [pe for pe, peer in enumerate(peers) if peer is None]
    if far:
        sys.exit(f"exchange: no loads and stores reach PEs {far}: they are on another host")
    numbers = torch.tensor([peer.data_ptr() for peer in peers], dtype=torch.int64)
    return numbers.to(tensor.device), peers


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--length", type=int, default=100_000, help="elements for each PE")
    options.add_argument("--turns", type=int, default=20)
    args = options.parse_args()
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    shmem.init(heap="host" if interpreted else "device")
    me, n = shmem.my_pe(), shmem.n_pes()

    out = st.zeros((n, args.length))
    flags = st.zeros(n, torch.int64)
    if out.is_cuda:
        torch.cuda.set_device(out.device)  # where Triton starts kernels
    outs_at, outs = addresses(out)
    flags_at, all_flags = addresses(flags)
    block = 1024
    parts = triton.cdiv(args.length, block)
    rows = torch.arange(n, device=out.device).reshape(n, 1)
    columns = torch.arange(args.length, device=out.device) % 1000

    wrong = torch.zeros((), dtype=torch.int64, device=out.device)
    for turn in range(1, args.turns + 1):
        # The value from PE i to PE j in this round: a number that no other PE sends.
        src = (columns + 1000 * (turn + 100 * (me * n + rows))).to(torch.float32)
        send[(n, parts)](src, outs_at, flags_at, me, args.length, BLOCK=block)
        receive[(n,)](flags, turn * parts)
        want = (columns + 1000 * (turn + 100 * (rows * n + me))).to(torch.float32)
        wrong += (out != want).sum()
        st.barrier_all()  # no PE overwrites in the next round what another one still reads
    count = int(wrong)
    print(f"PE {me} of {n}: {args.turns} turns, {count} wrong elements", flush=True)
    del outs, all_flags
    shmem.finalize()
    sys.exit(count != 0)


if __name__ == "__main__":
    main()
