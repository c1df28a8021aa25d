"""Memory that exports a plain buffer, and memory that does not."""

import numpy as np
import pytest

import shmem


def _forms(array):
    """The same elements in memory that ctypes takes as a buffer, and in memory that it refuses."""
    frozen = array.copy()
    frozen.flags.writeable = False
    wide = np.repeat(array, 2)
    yield from (array.copy(), frozen, wide[::2], array[::-1].copy()[::-1])
    yield np.frombuffer(b"-" + array.tobytes(), "u1")[1:].view(array.dtype)  # not aligned


@pytest.mark.parametrize("dtype", ["f8", "M8[s]", "m8[s]", "f2", "U2", "?", ">i4"])
def test_memory_of_every_form(dtype, me, left, right):
    values = np.arange(3).astype("i8").astype(dtype)
    a = shmem.zeros((2, 3), dtype)
    for source in _forms(values):
        for _ in range(2):  # the second one may take another path
            a[:] = np.zeros(1, dtype)
            shmem.barrier_all()
            shmem.put(a[1], source, pe=right)
            shmem.barrier_all()
            assert (a[1] == values).all() and (a[0] == np.zeros(1, dtype)).all()
            back, frozen = np.zeros(6, dtype), a[1]
            frozen.flags.writeable = False
            shmem.get(back[:3], frozen, pe=right)
            shmem.get(back[3:], a[1], pe=right)
            assert (back == np.tile(values, 2)).all()
            shmem.barrier_all()
    if dtype == "f8":
        frozen = a[1]
        frozen.flags.writeable = False
        assert shmem.g(frozen, right, index=2) == 2
        with pytest.raises(shmem.LayoutError, match="not contiguous"):
            shmem.g(a[1, ::2], right, index=1)
