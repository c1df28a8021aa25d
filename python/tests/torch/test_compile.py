"""torch.compile, and torch's own checks of operators. Needs torch 2.5 or newer."""

import pytest
import torch

import shmem
import shmem.torch as st

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "opcheck") or torch.__version__ < (2, 5),
    reason="this torch does not compile what has effects and gradients",
)
BACKENDS = ["eager", "aot_eager", "inductor"]


def compiled(f, backend):
    torch._dynamo.reset()
    return torch.compile(f, backend=backend, fullgraph=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_sided(backend, me, n, right, left, device):
    """Effects stay, in their order; received data is not read too early."""

    def step(x, box, signal):
        st.put_signal(box, x * 2, signal, 1, right)
        got = st.signal_wait_until(signal, ">=", 1, box)
        st.barrier_all()
        st.put(box, got + 1, right)
        st.quiet()
        st.barrier_all()
        return got, st.get(box, me)

    f = compiled(step, backend)
    for turn in range(3):
        box, signal = st.zeros(64), st.zeros(1, torch.int64)
        first, second = f(torch.full((64,), float(me + turn), device=device), box, signal)
        assert torch.equal(first, torch.full((64,), 2.0 * (left + turn), device=device))
        before = (me - 2) % n
        assert torch.equal(second, torch.full((64,), 2.0 * (before + turn) + 1, device=device))
        st.barrier_all()


def test_order_is_a_dependence(me, n, right, left, device, monkeypatch):
    """inductor may begin with operations that wait for nothing, for example to save memory."""
    memory = pytest.importorskip("torch._inductor.memory")

    def latest_first(nodes, *_, **__):
        made, out, left = set(), [], list(nodes)
        while left:
            ready = [x for x in left if {d.name for d in x.unmet_dependencies} <= made]
            out.append(ready[-1])
            left.remove(ready[-1])
            made.update(buffer.get_name() for buffer in ready[-1].get_outputs())
        asked.append(len(out))
        return out

    def step(x, box, signal):
        st.put_signal(box, x * 2, signal, 1, right)
        got = st.signal_wait_until(signal, "==", 1, box)
        st.barrier_all()
        st.put(box, st.all_gather(got)[: got.numel()] + 1, right)
        st.quiet()
        st.barrier_all()
        return st.get(box, me) + x.sin().sum()

    asked: list[int] = []
    monkeypatch.setattr(memory, "reorder_for_peak_memory", latest_first)
    x, box, signal = (
        torch.full((64,), float(me), device=device),
        st.zeros(64),
        st.zeros(1, torch.int64),
    )
    got = compiled(step, "inductor")(x, box, signal)
    assert asked and torch.allclose(got, 2.0 * (n - 1) + 1 + x.sin().sum())


@pytest.mark.parametrize("backend", BACKENDS)
def test_collectives(backend, me, n, device):
    def step(x):
        y = st.all_gather(x + 1) * 2
        return st.all_to_all(y), st.reduce_scatter(y, "max")

    f = compiled(step, backend)
    for turn in range(3):
        x = torch.full((2, 8), float(me + turn), device=device)
        assert all(map(torch.equal, f(x), step(x)))


def test_in_place(me, n, device):
    """inductor passes out itself to an operator that writes to it; src is computed data."""

    def step(out, x):
        st.all_to_all(x * 2, out=out)
        return out + 1

    out, x = st.zeros(2 * n), torch.arange(2.0 * n, device=device) + me
    want = torch.cat(
        [2 * (torch.arange(2.0 * n, device=device) + i)[2 * me :][:2] for i in range(n)]
    )
    assert torch.equal(compiled(step, "inductor")(out, x), want + 1) and torch.equal(out, want)
    # A backend that passes a copy instead gets an error.
    with pytest.raises((shmem.SymmetryError, shmem.DeviceError)):
        compiled(step, "aot_eager")(out, x)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_gradients(backend, me, n, device):
    def step(x, w):
        return (st.all_gather(x * x) * w).sum()

    w = torch.arange(2.0 * n, device=device)
    plain, other = (
        torch.full((2,), float(me + 1), device=device, requires_grad=True) for _ in "ab"
    )
    step(plain, w).backward()
    compiled(step, backend)(other, w).backward()
    assert torch.allclose(plain.grad, other.grad)


def test_opcheck(me, n, device):
    x = torch.rand((n, 4), device=device, requires_grad=True)
    world = 0
    ops = torch.ops.shmem
    torch.library.opcheck(ops.all_gather.default, (x, n, world))
    torch.library.opcheck(ops.all_to_all.default, (x, n, world))
    torch.library.opcheck(ops.reduce_scatter.default, (x, n, "sum", world))


def test_kernels_loaded_behind_a_collective(me, n, device):
    """The search for the best kernel loads many; a backward pass loads them in another thread."""

    def step(x, w):
        return st.all_to_all(x @ w).relu().sum()

    torch._dynamo.reset()
    f = torch.compile(step, mode="max-autotune-no-cudagraphs", fullgraph=True)
    x, w = torch.full((n * 16, 32), 1.0 + me, device=device), torch.ones((32, 16), device=device)
    assert f(x, w).item() == sum((1.0 + pe) * 32 * 16 * 16 for pe in range(n))

    kind = torch.device(device).type
    with torch.autocast(kind, torch.bfloat16):
        w = torch.ones((8, 8), device=device, requires_grad=True)
        y = st.all_gather(torch.ones((8, 8), device=device) @ w)
        assert y.dtype is torch.bfloat16
        y.float().sum().backward()
    assert torch.equal(w.grad, torch.full((8, 8), 8.0 * n, device=device))
