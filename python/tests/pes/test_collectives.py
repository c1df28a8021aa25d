"""Collectives and teams, compared with numpy's results."""

import copy
import pickle

import numpy as np
import pytest

import shmem


def row(pe, size, dtype):
    """A PE's values: small, so that products fit, and different for each PE."""
    return ((np.arange(size) * (pe + 1)) % 3 + 1).astype(dtype)


def teams(n):
    """The world (None), and a team of the even PEs if this PE is one, with the PEs of each."""
    yield None, list(range(n))
    even = shmem.Team.world().split_strided(0, 2, (n + 1) // 2)
    if even is not None:
        yield even, list(range(0, n, 2))
        even.destroy()


MOVED = ["uint8", "float16", "int32", "float64", "complex128"]


@pytest.mark.parametrize("dtype", MOVED)
def test_moves(dtype, me, n):
    size = 50
    source, dest = shmem.empty(size, dtype), shmem.zeros(size * n, dtype)
    blocks, out = shmem.empty(size * n, dtype), shmem.zeros(size * n, dtype)
    source[:] = row(me, size, dtype)
    blocks[:] = np.concatenate([row(me + 10 * pe, size, dtype) for pe in range(n)])
    shmem.barrier_all()
    for team, pes in teams(n):
        k, rank = len(pes), pes.index(me)
        for root in range(k):
            shmem.broadcast(dest, source, root, team=team)
            assert (dest[:size] == row(pes[root], size, dtype)).all()
            shmem.sync_all() if team is None else team.sync()
        shmem.fcollect(dest, source, team=team)
        want = np.concatenate([row(pe, size, dtype) for pe in pes])
        assert (dest[: size * k] == want).all()
        shmem.sync_all() if team is None else team.sync()
        shmem.collect(dest, source[: size // (rank + 1)], team=team)
        want = np.concatenate([row(pe, size, dtype)[: size // (i + 1)] for i, pe in enumerate(pes)])
        assert (dest[: len(want)] == want).all()
        shmem.sync_all() if team is None else team.sync()
        shmem.alltoall(out, blocks[: size * k], team=team)
        want = np.concatenate([row(pe + 10 * rank, size, dtype) for pe in pes])
        assert (out[: size * k] == want).all()
        shmem.sync_all() if team is None else team.sync()


def test_alltoalls(me, n):
    source, dest = shmem.zeros(2 * 3 * n, "int64"), shmem.zeros(3 * 3 * n, "int64")
    source[::2] = np.arange(3 * n) + 100 * me
    shmem.barrier_all()
    shmem.alltoalls(dest, source, 3, 2, 3)
    want = np.concatenate([np.arange(3) + 3 * me + 100 * pe for pe in range(n)])
    assert (dest[::3] == want).all()


REDUCTIONS = {
    "sum_reduce": np.add.reduce,
    "prod_reduce": np.multiply.reduce,
    "max_reduce": np.maximum.reduce,
    "min_reduce": np.minimum.reduce,
    "and_reduce": np.bitwise_and.reduce,
    "or_reduce": np.bitwise_or.reduce,
    "xor_reduce": np.bitwise_xor.reduce,
}
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
REALS = ["float32", "float64", "longdouble"]


def takes(name, dtype):
    if dtype in INTEGERS:
        return True
    if dtype in REALS:
        return name.startswith(("sum", "prod", "max", "min"))
    return name.startswith(("sum", "prod"))


@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS, "complex64", "complex128", "float16"])
def test_reductions(dtype, me, n):
    size = 40
    source, dest = shmem.empty(size, dtype), shmem.zeros(size, dtype)
    source[:] = row(me, size, dtype)
    shmem.barrier_all()
    for team, pes in teams(n):
        rows = np.array([row(pe, size, dtype) for pe in pes])
        for name, combine in REDUCTIONS.items():
            call = getattr(shmem, name)
            if dtype == "float16" or not takes(name, dtype):
                with pytest.raises(shmem.DtypeError):
                    call(dest, source, team=team)
                continue
            call(dest, source, team=team)
            assert np.allclose(dest, combine(rows, axis=0, dtype=dtype)), name
            shmem.sync_all() if team is None else team.sync()
        if dtype != "float16":
            rank = pes.index(me)
            shmem.sum_inscan(dest, source, team=team)
            assert np.allclose(dest, rows[: rank + 1].sum(axis=0, dtype=dtype))
            shmem.sync_all() if team is None else team.sync()
            shmem.sum_exscan(dest, source, team=team)
            assert np.allclose(dest, rows[:rank].sum(axis=0, dtype=dtype))
            shmem.sync_all() if team is None else team.sync()


def test_bad_collectives(me, n):
    a, b = shmem.zeros(8, "int64"), shmem.zeros(8, "f4")
    with pytest.raises(shmem.DtypeError):
        shmem.sum_reduce(a, b)
    with pytest.raises(shmem.SizeError):
        shmem.sum_reduce(a[:4], a)
    with pytest.raises(shmem.SizeError, match="overlap"):
        shmem.sum_reduce(a[1:5], a[:4])
    with pytest.raises(shmem.SizeError):
        shmem.fcollect(shmem.zeros(8 * n - 1, "int64"), a)
    wrong = rf"root={n}: there are {n} PEs \(pass root from 0 to {n - 1}\)"
    with pytest.raises(shmem.PEError, match=wrong):
        shmem.broadcast(a, a, n)
    with pytest.raises(shmem.LayoutError):
        shmem.sum_reduce(a[::2], a[::2])
    with pytest.raises(shmem.SymmetryError):
        shmem.sum_reduce(np.zeros(8, "i8"), a)
    with pytest.raises(shmem.ArgumentError):
        shmem.sum_reduce(a, a, team=0)
    with pytest.raises(shmem.ArgumentError):
        shmem.alltoalls(a, a, 0, 1, 1)
    with pytest.raises(shmem.DeviceError):
        shmem.sum_reduce(a, a, stream=0)
    if n > 1:
        with pytest.raises(shmem.SizeError):
            shmem.alltoall(shmem.zeros(n + 1, "int64"), shmem.zeros(n + 1, "int64"))


def test_teams(me, n):
    world, shared = shmem.Team.world(), shmem.Team.shared()
    assert (world.my_pe, world.n_pes) == (me, n)
    assert 1 <= shared.n_pes <= n
    assert world.translate_pe(me, shared) == shared.my_pe
    last = world.split_strided(n - 1, -1, n)
    assert last is not None and last.my_pe == n - 1 - me
    assert last.translate_pe(0, world) == n - 1
    context = shmem.Context(team=last)
    a = shmem.zeros(1, "int64")
    shmem.p(a, 5, pe=0, context=context)
    with pytest.raises(shmem.PEError):
        shmem.p(a, 5, pe=n, context=context)
    context.destroy()
    shmem.barrier_all()
    assert a[0] == (5 if me == n - 1 else 0)
    with pytest.raises(shmem.ArgumentError):
        world.split_strided(0, 1, n + 1)
    for number in (-1, 1 << 31, 1.5):
        with pytest.raises(shmem.ArgumentError, match="num_contexts"):
            world.split_strided(0, 1, n, num_contexts=number)
        with pytest.raises(shmem.ArgumentError, match="num_contexts"):
            world.split_2d(n, num_contexts=number)
    with pytest.raises(shmem.ArgumentError, match="always there"):
        world.destroy()
    last.destroy()
    with pytest.raises(shmem.ArgumentError, match="destroyed"):
        last.sync()
    row_, column = world.split_2d(2)
    assert row_ is not None and row_.my_pe == me % 2
    assert column is not None and column.my_pe == me // 2
    row_.destroy()
    column.destroy()
    one = world.split_strided(0, 1, 1)
    assert (one is None) == (me != 0)
    if one is not None:
        assert one.translate_pe(0, world) == 0
        assert n == 1 or world.translate_pe(1, one) is None
        with pytest.raises(shmem.PEError):
            shmem.broadcast(a, a, 1, team=one)
        one.destroy()


def test_teams_and_contexts_are_not_copied(me, n):
    """A copy would not notice destroy: the library would end the job at its next use."""
    world = shmem.Team.world()
    assert shmem.Team.world() is world and shmem.Team.shared() is shmem.Team.shared()
    team, context = world.split_strided(0, 1, n), shmem.Context()
    assert team is not None and f"PE {me} of {n}" in repr(team)
    holder = {"team": team, "context": context}
    copied = copy.deepcopy(holder)
    assert copied == holder and copy.copy(team) is team and copy.copy(context) is context
    for thing in (team, context):
        with pytest.raises(shmem.ArgumentError, match="pickle"):
            pickle.dumps(thing)
    team.destroy()
    context.destroy()
    assert "destroyed" in repr(team) and "destroyed" in repr(context)
    for use in (copied["team"].sync, copied["context"].quiet):
        with pytest.raises(shmem.ArgumentError, match="it was destroyed"):
            use()


def test_a_context_goes_with_its_team(me, n, right):
    team, a = shmem.Team.world().split_strided(0, 1, n), shmem.zeros(2, "int64")
    assert team is not None
    with shmem.Context(team=team) as context:
        shmem.put_nbi(a, [me + 1, 7], pe=right, context=context)
        context.quiet()
        team.destroy()
        for use in (context.quiet, lambda: shmem.put(a, [0], pe=me, context=context)):
            with pytest.raises(shmem.ArgumentError, match="it was destroyed"):
                use()
    shmem.barrier_all()
    assert a.tolist() == [(me - 1) % n + 1, 7]
    # Another team may have its number by now.
    again = shmem.Context()
    with pytest.raises(shmem.ArgumentError, match="it was destroyed"):
        context.destroy()
    again.destroy()
    with pytest.raises(shmem.ArgumentError, match="is not a team"):
        shmem.Context(team=3)


def test_operands_that_overlap(me, n):
    """Calls whose operands overlap raise an error and write nothing.

    Without the check PEs would overwrite blocks that others have yet to read. Some calls may have
    the same array as both operands, and an empty operand overlaps nothing.
    """
    a = shmem.zeros(4 * n + 2, "int64")
    a[:] = me
    shmem.barrier_all()
    shmem.broadcast(a[:4], a[:4], n - 1)
    shmem.sum_reduce(a[4:5], a[4:5])
    shmem.fcollect(a[: 4 * n], a[4 * n :][:0])
    wrong = [
        lambda: shmem.broadcast(a[1:5], a[:4], 0),
        lambda: shmem.sum_reduce(a[1:5], a[:4]),
    ]
    if n > 1:
        wrong += [
            lambda: shmem.alltoall(a[: 4 * n], a[: 4 * n]),
            lambda: shmem.alltoalls(a[: 2 * n], a[1 : 2 * n + 1], 2, 2, 1),
            lambda: shmem.fcollect(a[: 4 * n], a[:4]),
            lambda: shmem.fcollect(a[: 4 * n], a[4:8]),
            lambda: shmem.collect(a[: 4 * n], a[:4]),
            lambda: shmem.collect(a[: 4 * n], a[4:8]),
            lambda: shmem.collect(a[1 : 4 * n + 1], a[:4]),
        ]
    shmem.barrier_all()
    before = a.tolist()
    for call in wrong:
        with pytest.raises(shmem.SizeError, match="they overlap"):
            call()
    assert a.tolist() == before and before[:3] == [n - 1] * 3


def test_a_read_only_array_is_not_written(me, n):
    """A read-only array stays unchanged; without the check the collectives would write to it."""
    a, b = shmem.full(4 * n, me), shmem.full(4 * n, 7)
    locked = b.view()
    locked.flags.writeable = False
    calls = [
        lambda to: shmem.broadcast(to, a, 0),
        lambda to: shmem.fcollect(to, a[:4]),
        lambda to: shmem.collect(to, a[:4]),
        lambda to: shmem.alltoall(to, a),
        lambda to: shmem.alltoalls(to, a, 1, 1, 4),
        *(
            lambda to, name=name: getattr(shmem, name)(to, a)
            for name in (*REDUCTIONS, "sum_inscan", "sum_exscan")
        ),
    ]
    for call in calls:
        with pytest.raises(shmem.LayoutError, match=r"dest.*read-only.*can be written"):
            call(locked)
    assert (b == 7).all()
    shmem.barrier_all()
    # Reading from a read-only array is allowed, and a refusal has no effect.
    a.flags.writeable = False
    for call in calls:
        call(b)
        shmem.barrier_all()
    assert (a == me).all()


def test_collect_needs_room_at_every_pe(me, n):
    """Without the check the memory behind dest would be overwritten, without an error."""
    a, source = shmem.full(3 * n + 8, -1), shmem.full(4, me)
    for team, pes in teams(n):
        k, rank = len(pes), pes.index(me)
        parts = [2 + i % 3 for i in range(k)]
        needed = sum(parts)
        mine = source[: parts[rank]]
        # The PE with less room refuses for all: every PE raises, and no memory was written.
        for short in {0, k - 1}:
            dest = a[: needed - 1] if rank == short else a[:needed]
            text = f"{needed} elements together, and a PE has room for {needed - 1}"
            with pytest.raises(shmem.SizeError, match=text):
                shmem.collect(dest, mine, team=team)
            assert (a == -1).all()
        with pytest.raises(shmem.SizeError, match="room for 0"):
            shmem.collect(a[:0], mine, team=team)
        shmem.collect(a[:needed], mine, team=team)
        assert a[:needed].tolist() == [pes[i] for i, p in enumerate(parts) for _ in range(p)]
        assert (a[needed:] == -1).all()
        shmem.collect(a[:0], mine[:0], team=team)
        shmem.sync_all() if team is None else team.sync()
        a[:] = -1
        shmem.sync_all() if team is None else team.sync()
