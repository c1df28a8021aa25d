"""shmem.torch: torch's tensors in symmetric memory, and operators that torch.compile knows.

    import shmem, shmem.torch as st

    shmem.init(heap="device")
    x = st.full((1024,), shmem.my_pe(), dtype=torch.float32)
    everybody = st.all_gather(x)

A heap in main memory gives tensors of the CPU. A heap in GPU memory gives tensors of that GPU; then
torch's current stream executes everything below: no call waits for the GPU, and work queued before
and after a call sees the right data.

In compiled code (and only there) torch may move a plain read of a tensor that another PE writes,
because torch is not aware of that write. `get` and the result of `signal_wait_until` are read at
the call.
"""

from shmem.torch._calls import (
    all_gather,
    all_reduce,
    all_to_all,
    barrier_all,
    get,
    put,
    put_signal,
    quiet,
    reduce_scatter,
    signal_wait_until,
)
from shmem.torch._tensors import array, empty, full, ones, ptr, zeros, zeros_like

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "array",
    "barrier_all",
    "empty",
    "full",
    "get",
    "ones",
    "ptr",
    "put",
    "put_signal",
    "quiet",
    "reduce_scatter",
    "signal_wait_until",
    "zeros",
    "zeros_like",
]
