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
        # The data of PE i for PE j.
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


def test_no_memory(me, n, device):
    """An operator that makes memory raises an error, and neither the graph nor the job ends."""
    x = torch.zeros(n, device=device)
    out = st.zeros(n * n)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for make in (lambda: st.zeros(4), lambda: st.all_gather(x), lambda: st.all_to_all(x)):
            with pytest.raises(shmem.StateError, match="before the capture"):
                make()
        x.add_(1)
        st.all_gather(x, out=out)
    graph.replay()
    graph.replay()
    assert torch.equal(out, torch.full((n * n,), 2.0, device=device))
    assert torch.equal(st.all_gather(x), out)


@pytest.mark.skipif(torch.__version__ < (2, 10), reason="this torch makes graphs around them")
def test_reduce_overhead(me, n, right, left, device):
    """torch.compile makes the graphs, of the operators that a graph can have."""

    def collectives(x):
        return st.all_to_all(st.all_gather(x.relu() + 1) * 2).sum(0) + 1

    def one_sided(x, box, signal):
        st.put_signal(box, x * 2, signal, 1, right)
        return st.signal_wait_until(signal, "==", 1, box) + 1

    torch._dynamo.reset()
    box, signal = st.zeros(64), st.zeros(1, torch.int64)
    many = torch.compile(collectives, mode="reduce-overhead", fullgraph=True)
    two = torch.compile(one_sided, mode="reduce-overhead", fullgraph=True)
    for turn in range(5):
        x = torch.full((n, 8), float(me + turn), device=device)
        assert torch.equal(many(x).clone(), collectives(x))
        y = torch.full((64,), float(me + turn), device=device)
        assert (two(y, box, signal).clone() == 2.0 * (left + turn) + 1).all()
        signal.zero_()
        st.barrier_all()
        torch.cuda.synchronize()
