"""Sources of another shape than dest."""

import numpy as np
import pytest

import shmem


def test_shapes_as_numpy(me, right, left):
    """put broadcasts as numpy's assignment does, or raises."""
    for shape in [(), (1,), (6,), (3, 2), (1, 3, 2), (2, 3, 2)]:
        a = shmem.zeros(shape, "i4")
        wide = shmem.zeros((*shape, 2), "i4")
        for source in (
            *([np.zeros(s, "i4") + 1 + me for s in [(), (1,), (2,), (6,), (3, 1), (3, 2)]]),
            np.full((1, 1, 3, 2), 7, "i4"),
            5,
            [1, 2],
        ):
            for dest in (a, wide[..., 0]):
                want = np.zeros(shape, "i4")
                try:
                    want[...] = source
                except ValueError:
                    with pytest.raises(shmem.SizeError, match="broadcast"):
                        shmem.put(dest, source, pe=right)
                    continue
                shmem.put(dest, source, pe=me)
                assert (dest == want).all(), (shape, source)
                dest[...] = 0
                signal = shmem.zeros(1, "u8")
                shmem.put_signal(a, source, signal, 1, pe=me)
                assert (a == want).all() and signal[0] == 1
                a[...] = 0
    for _ in range(2):  # the second one is quick
        a = shmem.zeros((2, 4), "i4")
        with pytest.raises(shmem.SizeError):
            shmem.put(a, np.zeros((4, 2), "i4"), pe=me)
        for part in (a, a[0, :1]):
            with pytest.raises(shmem.SizeError):
                shmem.get(np.zeros((4, 2), "i4"), part, pe=me)
        shmem.put(a, np.ones((2, 4), "i4"), pe=me)
    shmem.put(a[:, ::2], 9, pe=me)
    assert a.tolist() == [[9, 1, 9, 1]] * 2
