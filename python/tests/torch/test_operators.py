"""torch.ops.shmem: the results, wrong operands, and the operators' properties in torch."""

import pytest
import torch

import shmem
import shmem.torch as st


def source(pe, shape, dtype, device):
    """A PE's values, different from those of any other PE."""
    numbers = torch.arange(torch.Size(shape).numel(), device=device).reshape(shape)
    return (numbers + 100 * pe).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("rest", [(), (3,), (2, 5)])
def test_all_gather(dtype, rest, me, n, device):
    want = torch.cat([source(i, (2, *rest), dtype, device) for i in range(n)])
    mine = source(me, (2, *rest), dtype, device)
    assert torch.equal(st.all_gather(mine), want)
    out, symmetric = st.zeros((2 * n, *rest), dtype), st.zeros((2, *rest), dtype)
    assert st.all_gather(mine, out=out) is out and torch.equal(out, want)
    symmetric.copy_(mine + 1)
    st.all_gather(symmetric, out=out)
    assert torch.equal(out, want + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
def test_all_to_all(dtype, me, n, device):
    want = torch.cat([source(i, (3 * n, 4), dtype, device)[3 * me : 3 * me + 3] for i in range(n)])
    mine = source(me, (3 * n, 4), dtype, device)
    assert torch.equal(st.all_to_all(mine), want)
    out, symmetric = st.zeros((3 * n, 4), dtype), st.zeros((3 * n, 4), dtype)
    assert st.all_to_all(mine, out=out) is out and torch.equal(out, want)
    for turn in range(1, 5):
        symmetric.copy_(mine + turn)
        st.all_to_all(symmetric, out=out)
        assert torch.equal(out, want + turn)


@pytest.mark.parametrize("op", ["sum", "avg", "max", "min", "prod"])
def test_reduce_scatter(op, me, n, device):
    all_of = torch.stack([source(i, (2 * n, 3), torch.float64, device) for i in range(n)])
    want = {
        "sum": all_of.sum(0),
        "avg": all_of.mean(0),
        "max": all_of.amax(0),
        "min": all_of.amin(0),
        "prod": all_of.prod(0),
    }[op][2 * me : 2 * me + 2]
    mine = source(me, (2 * n, 3), torch.float64, device)
    assert torch.equal(st.reduce_scatter(mine, op), want)
    src = st.empty((2 * n, 3), torch.float64)
    out = torch.empty((2, 3), dtype=torch.float64, device=device)
    src.copy_(mine)
    assert st.reduce_scatter(src, op, out=out) is out and torch.equal(out, want)


def test_all_pes_add_in_one_order(me, n, device):
    """Numbers whose sum depends on the order, to the last bit of bfloat16."""
    torch.manual_seed(7)
    all_of = torch.randn(n, n * 1000, dtype=torch.float32).to(device) * 1000
    src = st.empty(n * 1000)
    src.copy_(all_of[me])
    want = all_of.reshape(n, n, 1000)[:, me].sum(0)
    assert torch.equal(st.reduce_scatter(src), want)


def test_a_loop_waits_for_nobody_by_itself(me, n, device):
    """A slow PE still reads its result while others are in the next round."""
    out = st.zeros((n, 1000))
    for turn in range(30):
        st.all_gather(torch.full((1, 1000), float(turn * n + me), device=device), out=out)
        want = torch.arange(float(n), device=device).reshape(n, 1) + turn * n
        for _ in range(20 * (me == turn % n)):
            assert torch.equal(out, want.expand(n, 1000)), turn
        assert torch.equal(out, want.expand(n, 1000)), turn


def test_teams(me, n, device):
    team = shmem.Team.world().split_strided(0, 2, (n + 1) // 2)
    if team is not None:
        k, mine = team.n_pes, source(me, (2,), torch.float32, device)
        with pytest.raises(shmem.ArgumentError, match="pass out="):
            if k < n:
                st.all_gather(mine, team=team)
            else:
                raise shmem.ArgumentError("a team", "of all", "is not a team of some", "pass out=")
    out, src = st.zeros(2 * n), st.zeros(2 * n)
    if team is not None:
        team.sync(stream="current" if device.type == "cuda" else None)
        st.all_gather(mine, team=team, out=out[: 2 * k])
        want = torch.cat([source(2 * i, (2,), torch.float32, device) for i in range(k)])
        assert torch.equal(out[: 2 * k], want)
        src.copy_(source(me, (2 * n,), torch.float32, device))
        part = torch.empty(2, device=device)
        st.reduce_scatter(src[: 2 * k], team=team, out=part)
        at = 2 * team.my_pe
        of = [source(2 * i, (2 * n,), torch.float32, device)[at : at + 2] for i in range(k)]
        assert torch.equal(part, torch.stack(of).sum(0))
        team.destroy()
        with pytest.raises(shmem.ArgumentError, match="it was destroyed"):
            st.all_gather(mine, team=team, out=out)


def test_put_with_a_signal(me, n, right, left, device):
    box, signal = st.zeros(100), st.zeros(1, torch.int64)
    for turn in range(1, 20):
        st.put_signal(box, torch.full((100,), float(turn + me), device=device), signal, turn, right)
        got = st.signal_wait_until(signal, ">=", turn, box)
        assert torch.equal(got, torch.full((100,), float(turn + left), device=device))
        st.barrier_all()
    st.put_signal(box, got, signal, 1, right, op="add")
    st.signal_wait_until(signal, "==", 20, box)
    st.quiet()


def test_tensors_without_elements(me, n, right, device):
    """Like the last batch of a loader: torch gives an empty tensor no address."""
    x = torch.zeros((0, 3), device=device)
    signal = st.zeros(1, torch.int64)
    shmem.barrier_all()
    for src in (x, st.zeros((0, 3))):
        assert st.all_gather(src).shape == (0, 3)
        assert st.all_to_all(src).shape == (0, 3)
        assert st.reduce_scatter(src).shape == (0, 3)
        st.all_gather(src, out=st.zeros((0, 3)))
        st.all_to_all(src, out=x)
        st.put(x, src, right)
        assert st.get(src, right).shape == (0, 3)
    st.put_signal(x, x, signal, 1, right)
    assert st.signal_wait_until(signal, "==", 1, x).shape == (0, 3)


def test_no_tensors(me, right, device):
    """torch's own errors would be about the package's calls."""
    a, signal = st.zeros(4), st.zeros(1, torch.int64)
    for bad in ([1.0, 2.0, 3.0, 4.0], None, 1.0):
        for call in (
            lambda: st.all_gather(bad),  # noqa: B023
            lambda: st.all_to_all(a, out=[bad]),  # noqa: B023
            lambda: st.reduce_scatter(bad),  # noqa: B023
            lambda: st.put(a, bad, right),  # noqa: B023
            lambda: st.put(bad, a, right),  # noqa: B023
            lambda: st.get(bad, right),  # noqa: B023
            lambda: st.put_signal(a, a, bad, 1, right),  # noqa: B023
            lambda: st.signal_wait_until(signal, "==", 0, bad),  # noqa: B023
        ):
            with pytest.raises(shmem.DtypeError, match="is not a tensor"):
                call()
    for value in (1 << 63, -(1 << 63) - 1):
        with pytest.raises(shmem.DtypeError, match="no such int64"):
            st.put_signal(a, a, signal, value, right)
        with pytest.raises(shmem.DtypeError, match="no such int64"):
            st.signal_wait_until(signal, "==", value, a)


def test_errors_are_about_the_operand(me, n, right, device):
    """Puts and gets copy bytes, and torch has errors of its own: neither shows."""
    a, flag, plain = st.zeros(4), st.zeros(1, torch.int64), torch.zeros(4, device=device)
    with pytest.raises(shmem.SizeError, match=r"torch\.put dest.*src has 3"):
        st.put(a, plain[:3], right)
    for call in (
        lambda: st.put(plain, plain, right),
        lambda: st.get(plain, right),
        lambda: st.put_signal(plain, plain, flag, 1, right),
    ):
        with pytest.raises(shmem.SymmetryError, match=r"torch\.\w+ (dest|source).*float32.*\(4,\)"):
            call()
    with pytest.raises(shmem.LayoutError, match="would not be symmetric"):
        st.put(a[::2], plain[:2], right)
    with pytest.raises(shmem.LayoutError, match="to_dense"):
        st.put(a, plain.to_sparse(), right)
    for value in (1.5, "1", None):
        with pytest.raises(shmem.DtypeError, match="is not an int"):
            st.put_signal(a, plain, flag, value, right)
        with pytest.raises(shmem.DtypeError, match="is not an int"):
            st.signal_wait_until(flag, "==", value, a)
    with pytest.raises(shmem.DtypeError, match="complex64.*another op"):
        st.reduce_scatter(torch.zeros(n, dtype=torch.complex64, device=device), "max")
    with pytest.raises(shmem.DtypeError, match="as a tuple"):
        st.zeros(2, 3)
    assert not a.any() and not flag.any()


def test_bad_operands(me, n, right, device):
    a, plain = st.zeros((2 * n, 4)), torch.zeros((2 * n, 4), device=device)
    with pytest.raises(shmem.SizeError, match="the result has"):
        st.all_gather(plain, out=a[:1])
    with pytest.raises(shmem.DtypeError, match="use one dtype"):
        st.all_to_all(plain, out=a.view(torch.int32))
    with pytest.raises((shmem.SymmetryError, shmem.DeviceError), match=r"shmem\.empty"):
        st.all_to_all(plain, out=plain.clone())
    with pytest.raises(shmem.SizeError, match="they overlap"):
        st.all_to_all(a, out=a)
    with pytest.raises((shmem.SymmetryError, shmem.DeviceError), match=r"shmem\.empty"):
        st.put(plain, a, right)
    with pytest.raises(shmem.LayoutError, match="not contiguous"):
        st.all_to_all(plain, out=st.zeros((4, 2 * n)).t())
    with pytest.raises(shmem.LayoutError, match="not contiguous"):
        st.put(a.t(), plain, right)
    with pytest.raises(shmem.ArgumentError, match="is not a reduction"):
        st.reduce_scatter(a, "xor", out=torch.zeros((2, 4), device=device))
    with pytest.raises(shmem.PEError, match=f"there are {n} PEs"):
        st.put(a, plain, n)
    with pytest.raises(shmem.DtypeError, match="8 bytes"):
        st.put_signal(a, plain, st.zeros(1, torch.int32), 1, right)
    with pytest.raises(shmem.ArgumentError, match="is not a comparison"):
        st.signal_wait_until(st.zeros(1, torch.int64), "~", 1, a)
    if n > 1:
        with pytest.raises(shmem.SizeError, match=f"{n} blocks"):
            st.all_to_all(torch.zeros(2 * n + 1, device=device))
    shmem.free(a)
    with pytest.raises(shmem.FreedError, match="it was freed"):
        st.put(a, plain, right)
    if device.type == "cuda":
        with pytest.raises(shmem.DeviceError, match="SHMEM_HEAP=host"):
            st.all_gather(torch.zeros(4))
        with pytest.raises(shmem.DeviceError, match="main memory"):
            st.put(torch.zeros(4), torch.zeros(4), right)


def test_meta(n):
    """Shapes without computation, which tracing needs."""
    x = torch.empty((2 * n, 3), dtype=torch.bfloat16, device="meta")
    ops = torch.ops.shmem
    assert ops.all_gather(x, n, 0).shape == (2 * n * n, 3)
    assert ops.all_to_all(x, n, 0).shape == x.shape
    assert ops.reduce_scatter(x, n, "sum", 0).shape == (2, 3)
    assert ops.get(x, 0).dtype is torch.bfloat16
    with pytest.raises(shmem.SizeError):
        ops.all_to_all(torch.empty(n + 1, device="meta"), n + 2, 0)


HAS_GRADIENTS = hasattr(torch.library, "register_autograd")


def test_gradients(me, n, device):
    x = source(me, (2 * n, 3), torch.float32, device).requires_grad_()
    if not HAS_GRADIENTS:
        for f in (st.all_gather, st.all_to_all, st.reduce_scatter):
            with pytest.raises(shmem.ArgumentError, match=r"use torch 2\.4"):
                f(x)
        return
    weights = [
        torch.rand(2 * n * n, 3, generator=torch.Generator().manual_seed(i)) for i in range(n)
    ]
    weights = [w.to(device) for w in weights]
    (st.all_gather(x) * weights[me]).sum().backward()
    want = sum(w[2 * n * me : 2 * n * (me + 1)] for w in weights)
    assert torch.allclose(x.grad, want)
    x.grad = None
    (st.all_to_all(x) * weights[me][: 2 * n]).sum().backward()
    want = torch.cat([w[2 * me : 2 * me + 2] for w in weights])
    assert torch.equal(x.grad, want)
    for op, share in (("sum", 1), ("avg", n)):
        x.grad = None
        (st.reduce_scatter(x, op) * weights[me][:2]).sum().backward()
        assert torch.allclose(x.grad, torch.cat([w[:2] for w in weights]) / share)
    with pytest.raises(shmem.ArgumentError, match=r"pass src\.detach"):
        st.all_to_all(x, out=st.zeros((2 * n, 3)))


@pytest.mark.parametrize("op", ["sum", "avg", "max", "min", "prod"])
@pytest.mark.parametrize("shape", [(), (1,), (5, 3), (6,)])
def test_all_reduce(op, shape, me, n, device):
    all_of = torch.stack([source(i, shape, torch.float64, device) for i in range(n)])
    want = {
        "sum": all_of.sum(0),
        "avg": all_of.mean(0),
        "max": all_of.amax(0),
        "min": all_of.amin(0),
        "prod": all_of.prod(0),
    }[op]
    got = st.all_reduce(all_of[me], op)
    assert got.shape == want.shape and torch.equal(got, want)


@pytest.mark.skipif(not HAS_GRADIENTS, reason="needs torch 2.4")
def test_gradient_of_all_reduce(me, n, device):
    """Each PE weighs the sum by its own number, so the gradient is the sum of the weights."""
    for op, share in (("sum", 1), ("avg", n)):
        mine = torch.ones(5, dtype=torch.float64, device=device, requires_grad=True)
        (st.all_reduce(mine, op) * (me + 1)).sum().backward()
        assert torch.allclose(mine.grad, torch.full_like(mine, n * (n + 1) / 2 / share))
    mine = torch.ones(5, device=device, requires_grad=True)
    with pytest.raises(shmem.ArgumentError, match="has no gradient"):
        st.all_reduce(mine, "max").sum().backward()
    shmem.barrier_all()
