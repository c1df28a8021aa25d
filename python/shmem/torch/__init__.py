"""shmem.torch: torch's tensors in symmetric memory, and operators that torch.compile knows.

    import shmem, shmem.torch as st

    shmem.init(heap="device")
    x = st.full((1024,), shmem.my_pe(), dtype=torch.float32)
    everybody = st.all_gather(x)

A heap in main memory gives tensors of the CPU, one in GPU memory tensors of that GPU, and
there everything below is done by torch's current stream: no call waits for the GPU, and
work that was queued before and after it sees what it should.

In compiled code (and only there) torch may move a plain read of a tensor that another PE
writes, for it does not know that. `get` and the result of `signal_wait_until` are read when
they are called.
"""

from shmem.torch._calls import (
    all_gather,
    all_to_all,
    barrier_all,
    get,
    put,
    put_signal,
    quiet,
    reduce_scatter,
    signal_wait_until,
)
from shmem.torch._tensors import empty, full, ptr, zeros

__all__ = [
    "all_gather",
    "all_to_all",
    "barrier_all",
    "empty",
    "full",
    "get",
    "ptr",
    "put",
    "put_signal",
    "quiet",
    "reduce_scatter",
    "signal_wait_until",
    "zeros",
]
