"""Smoothing a ring of numbers in Numba: kernels write their edges to their neighbours.

    shmemrun -n 2 python exchange.py [--length N] [--steps N]

The numbers are spread over the PEs. In each step a kernel stores this PE's first and last number to
the neighbours' memory, whose addresses shmem.ptr gives, and sets a flag there; the next kernel
waits for its own two flags, and then each number becomes the mean of itself and its neighbours.
"""

import argparse
import sys

import numpy as np
import shmem
from numba import cuda

BLOCK = 128
LEFT, RIGHT = 0, 1  # places in edges and flags: from the left and from the right neighbour


@cuda.jit
def send(numbers, left_edges, left_flags, right_edges, right_flags, step):
    """Stores this PE's edges at the neighbours, and sets their flags. By one thread."""
    # edges has room for two steps: a PE may be a step ahead of its neighbour.
    half = 2 * (step % 2)
    left_edges[half + RIGHT] = numbers[0]
    right_edges[half + LEFT] = numbers[numbers.size - 1]
    cuda.threadfence_system()  # a PE that sees a flag sees the edge
    cuda.atomic.max(left_flags, RIGHT, step)
    cuda.atomic.max(right_flags, LEFT, step)


@cuda.jit
def receive(flags, step):
    """Waits for the flags of both neighbours. By one thread."""
    # An atomic operation that changes nothing: the compiler may move a plain load out of the loop.
    while cuda.atomic.max(flags, LEFT, 0) < step:
        pass
    while cuda.atomic.max(flags, RIGHT, 0) < step:
        pass
    cuda.threadfence_system()  # the edges are read after the flags


@cuda.jit
def smooth(numbers, edges, step, out):
    """Writes the mean of each number and its two neighbours to out."""
    i = cuda.grid(1)
    if i >= numbers.size:
        return
    half = 2 * (step % 2)
    before = numbers[i - 1] if i > 0 else edges[half + LEFT]
    after = numbers[i + 1] if i + 1 < numbers.size else edges[half + RIGHT]
    out[i] = (before + numbers[i] + after) / 3


def neighbour(array, pe):
    """The copy of a symmetric array that a PE has, for kernels of this PE."""
    there = shmem.ptr(array, pe)
    if there is None:
        sys.exit(f"exchange: no loads and stores reach PE {pe}: it is on another host")
    return cuda.as_cuda_array(there)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--length", type=int, default=1000, help="numbers of each PE")
    options.add_argument("--steps", type=int, default=50)
    args = options.parse_args()
    shmem.init(heap="device")
    me, n = shmem.my_pe(), shmem.n_pes()
    left, right = (me - 1) % n, (me + 1) % n

    edges = shmem.zeros(4, "float64", device="gpu")
    flags = shmem.zeros(2, "int64", device="gpu")
    cuda.select_device(edges.__dlpack_device__()[1])
    to_left = neighbour(edges, left), neighbour(flags, left)
    to_right = neighbour(edges, right), neighbour(flags, right)
    my_edges, my_flags = cuda.as_cuda_array(edges), cuda.as_cuda_array(flags)

    whole = np.random.default_rng(1).random(n * args.length)
    numbers = cuda.to_device(whole[me * args.length :][: args.length])
    other = cuda.device_array_like(numbers)
    blocks = -(-args.length // BLOCK)
    for step in range(1, args.steps + 1):
        send[1, 1](numbers, *to_left, *to_right, step)
        receive[1, 1](my_flags, step)
        smooth[blocks, BLOCK](numbers, my_edges, step, other)
        numbers, other = other, numbers
    for _ in range(args.steps):  # the same in this process alone
        whole = (np.roll(whole, 1) + whole + np.roll(whole, -1)) / 3
    apart = np.abs(numbers.copy_to_host() - whole[me * args.length :][: args.length]).max()
    print(f"PE {me} of {n}: {args.steps} steps, at most {apart:.1e} from one process", flush=True)
    shmem.finalize()
    sys.exit(not apart <= 1e-12)  # also if it is NaN


if __name__ == "__main__":
    main()
