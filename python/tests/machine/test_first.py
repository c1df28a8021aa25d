"""The first calls on a stream that a job makes, which are captured; a job of its own."""

import torch

import shmem


def test_capture(me, n, right, gpu):
    """The library loads its kernels during the capture."""
    inbox, mine = (shmem.full(1000, me + 1, torch.float32, device="cuda") for _ in range(2))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream(gpu)):
        shmem.put(inbox, mine, pe=right, stream="current")
        shmem.barrier_all(stream="current")
        shmem.sum_reduce(mine, inbox, stream="current")
        shmem.barrier_all(stream="current")
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    # After the first replay all PEs have the same value; each replay multiplies it by n.
    assert mine.tolist() == [n * (n + 1) / 2 * n**2] * 1000
    shmem.barrier_all()
