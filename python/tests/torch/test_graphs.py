"""CUDA graphs, on a heap in GPU memory."""

import os

import pytest
import torch

import shmem
import shmem.torch as st

pytestmark = pytest.mark.skipif(
    os.environ.get("SHMEM_HEAP") != "device", reason="the heap is not in GPU memory"
)


def captured(step):
    """A graph of step, which has run before as torch asks."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    shmem.barrier_all()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def test_collectives(me, n, device):
    x = torch.zeros((n, 1000), device=device)
    exchanged, gathered = st.zeros((n, 1000)), st.zeros((n * n, 1000))

    def step():
        st.all_to_all(x + 1, out=exchanged)
        st.all_gather(exchanged * 2, out=gathered)

    graph = captured(step)
    numbers = torch.arange(float(n), device=device)
    for turn in range(100):
        # What PE i has for PE j.
        x.copy_((turn * n * n + me * n + numbers).reshape(n, 1).expand(n, 1000))
        graph.replay()
        i, j = numbers.reshape(n, 1), numbers.reshape(1, n)
        want = 2 * (turn * n * n + i * n + j + 1)
        assert torch.equal(gathered[:, 7], want.t().reshape(-1)), turn
        assert torch.equal(exchanged[:, 999] * 2, want[:, me]), turn


def test_one_sided(me, n, right, left, device):
    box, signal = st.zeros(100), st.zeros(1, torch.int64)
    x, received = torch.zeros(100, device=device), torch.zeros(100, device=device)

    def step():
        st.put_signal(box, x, signal, 1, right)
        received.copy_(st.signal_wait_until(signal, "==", 1, box))
        signal.zero_()
        st.barrier_all()

    graph = captured(step)
    for turn in range(100):
        x.fill_(turn * n + me)
        graph.replay()
        assert (received == turn * n + left).all(), turn
