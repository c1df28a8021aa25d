"""Keys of arrays in GPU memory."""

from launch import prints


def test_keys_for_which_numpy_copies() -> None:
    """The memory of the array can be neither read nor written, as that of a GPU."""
    program = """
import ctypes
import numpy as np
import shmem
from shmem._device import DeviceArray
from shmem._ghosts import ghost_at
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
at = libc.mmap(None, 4096, 0, 0x22, -1, 0)  # no access, private and anonymous
a = DeviceArray(ghost_at(at, (4, 6), np.dtype("float32"), None), "float32")
class Tensor:  # torch's also has __index__, with one bool or int of any shape
    def __init__(self, value, dtype, ndim=0):
        self.value, self.dtype, self.ndim = value, dtype, ndim
    def __index__(self):
        return self.value
for key in (
    True, np.True_, (slice(0, 4), True), (0, False), np.array(1), np.array([2]), np.array(True),
    np.array([0, 2]), (..., np.array([0, 2])), (np.array([0, 2]), ...), np.ones((4, 6), bool),
    [0, 2], [True] * 4, (0, [1]), 1.0, "0", Tensor(1, "torch.bool"), Tensor(1, "torch.int64", 1),
):
    try:
        a[key]
    except shmem.LayoutError as e:
        assert "would need a copy (use ints and slices)" in str(e), e
    else:
        raise SystemExit(f"a[{key!r}] was not refused")
shapes = {1: (6,), -1: (6,), np.int8(2): (6,), Tensor(3, "torch.int64"): (6,)}
assert all(a[key].shape == shape for key, shape in shapes.items())
assert a[np.uint64(1), 2:].shape == (4,) and a[..., 0].shape == (4,) == a[:, 3].shape
assert a[None].shape == (1, 4, 6) and a[()].shape == (4, 6) and a[1:, None, ::2].shape == (3, 1, 3)
print("refused")
"""
    assert prints(program) == "refused\n"
