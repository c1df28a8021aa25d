"""Graphs of CUDA: each replay sends other data."""

import threading

import pytest
import torch

import shmem

REPLAYS = 100


def replayed(once, gpu):
    """Does something once, then as a graph; both must leave no error in `bad`."""
    bad = torch.zeros(1, dtype=torch.int64, device="cuda")
    count = torch.zeros(1, dtype=torch.int64, device="cuda")
    s = torch.cuda.Stream(gpu)
    torch.cuda.synchronize()
    shmem.barrier_all()
    with torch.cuda.stream(s):
        once(count, bad)
    s.synchronize()
    assert int(bad) == 0 and int(count) == 1, "without a graph"
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=s):
        once(count, bad)
    shmem.barrier_all()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    assert (int(bad), int(count)) == (0, 1 + REPLAYS), "of the graph"
    shmem.barrier_all()


def made(ramp, count, pe):
    """The data that a PE sends in a round."""
    return ramp + count.to(torch.float32) * 3 + pe


@pytest.fixture
def ramp():
    return torch.arange(20_011, device="cuda", dtype=torch.float32).remainder_(1000)


def new(*shape, dtype=torch.float32):
    return shmem.zeros(shape, dtype, device="cuda")


def test_put(me, right, left, gpu, ramp):
    source, inbox = new(ramp.numel()), new(ramp.numel())

    def once(count, bad):
        count.add_(1)
        source.copy_(made(ramp, count, me))
        shmem.put(inbox, source, pe=right, stream="current")
        shmem.quiet(stream="current")
        shmem.barrier_all(stream="current")
        bad.add_((inbox != made(ramp, count, left)).sum())
        shmem.barrier_all(stream="current")

    replayed(once, gpu)


def test_put_signal_and_wait(me, right, left, gpu, ramp):
    """Only the signal shows that the data has arrived; each replay waits for it."""
    source, inbox, flag = new(ramp.numel()), new(ramp.numel()), new(1, dtype=torch.int64)

    def once(count, bad):
        count.add_(1)
        source.copy_(made(ramp, count, me))
        shmem.put_signal(inbox, source, flag, 1, pe=right, stream="current")
        shmem.signal_wait_until(flag, "==", 1, stream="current")
        bad.add_((inbox != made(ramp, count, left)).sum())
        flag.zero_()
        shmem.barrier_all(stream="current")

    replayed(once, gpu)


def test_get(me, right, left, gpu, ramp):
    source, local = new(ramp.numel()), torch.zeros_like(ramp)

    def once(count, bad):
        count.add_(1)
        source.copy_(made(ramp, count, me))
        shmem.barrier_all(stream="current")
        shmem.get(local, source, pe=right, stream="current")
        bad.add_((local != made(ramp, count, right)).sum())
        shmem.barrier_all(stream="current")

    replayed(once, gpu)


def test_collectives(me, n, gpu, ramp):
    m = ramp.numel()
    source, dest, total = new(n, m), new(n, m), new(m)

    def once(count, bad):
        count.add_(1)
        for j in range(n):
            source[j].copy_(made(ramp, count, 100 * me + 10 * j))
        shmem.alltoall(dest, source, stream="current")
        for j in range(n):
            bad.add_((dest[j] != made(ramp, count, 100 * j + 10 * me)).sum())
        shmem.sum_reduce(total, source[0], stream="current")
        whole = n * made(ramp, count, 0) + 100 * (n * (n - 1) // 2)
        bad.add_((total != whole).sum())
        shmem.sync_all(stream="current")
        shmem.fcollect(dest, source[0], stream="current")
        for j in range(n):
            bad.add_((dest[j] != made(ramp, count, 100 * j)).sum())
        shmem.sync_all(stream="current")
        shmem.broadcast(dest[0], source[0], n - 1, stream="current")
        bad.add_((dest[0] != made(ramp, count, 100 * (n - 1))).sum())
        shmem.barrier_all(stream="current")

    replayed(once, gpu)


def test_calls_of_the_host_are_not_captured(me, right, left, gpu):
    """These calls act at once, and no replay repeats them."""
    box, count = new(1000), new(1, dtype=torch.int64)
    mine, x = torch.full((1000,), float(me), device="cuda"), torch.zeros(10, device="cuda")
    torch.cuda.synchronize()
    shmem.barrier_all()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream(gpu)):
        x.add_(1)
        shmem.put(box, mine, pe=right)
        shmem.atomic_add(count, 1, pe=right)
        shmem.barrier_all()
        assert shmem.g(box, pe=me, index=999) == left and shmem.g(count, pe=me) == 1
    for _ in range(5):
        graph.replay()
    torch.cuda.synchronize()
    shmem.barrier_all()
    assert int(count) == 1 and x.tolist() == [5] * 10
    shmem.barrier_all()


def test_another_thread_goes_on(me, right, left, gpu):
    """While this thread captures, as torch does, the driver refuses many calls in all threads."""
    box, x = new(1000), torch.zeros(1000, device="cuda")
    source, got = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    shmem.barrier_all()
    captured, did, failed = threading.Event(), [0], []

    def others():
        try:
            torch.cuda.set_device(gpu)
            while not captured.is_set() or did[0] < 3:
                shmem.put(box, source, pe=right)
                shmem.put_nbi(box, source, pe=right)
                shmem.quiet()
                shmem.get(got, box, pe=right)
                did[0] += 1
        except BaseException as e:
            failed.append(e)

    thread = threading.Thread(target=others)
    thread.start()
    graphs = []
    while len(graphs) < 30 and not failed:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream(gpu)):
            x.add_(1)
            shmem.put(box, source, pe=right, stream="current")
        graphs.append(graph)
    captured.set()
    thread.join()
    assert not failed, failed
    for graph in graphs:
        graph.replay()
    torch.cuda.synchronize()
    shmem.barrier_all()
    assert x.tolist() == [30] * 1000 and bool((box == 1).all()) and bool((got == 1).all())
    shmem.barrier_all()
