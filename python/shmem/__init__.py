"""shmem: symmetric memory and one-sided communication between processes, by libshmem.

    import shmem

    shmem.init()
    box = shmem.zeros(1, int)
    shmem.put(box, [shmem.my_pe()], pe=(shmem.my_pe() + 1) % shmem.n_pes())
    shmem.barrier_all()
    print(f"PE {shmem.my_pe()}: {box[0]} wrote to me")
    shmem.finalize()

Run it with `shmemrun -n 4 python prog.py`. Importing starts nothing: the library is
loaded by the first init.
"""

from shmem._abi import VERSION as __version__
from shmem._arrays import array, empty, free, full, ones, zeros, zeros_like
from shmem._collectives import alltoall, alltoalls, broadcast, collect, fcollect
from shmem._constants import (
    CMP_EQ,
    CMP_GE,
    CMP_GT,
    CMP_LE,
    CMP_LT,
    CMP_NE,
    SIGNAL_ADD,
    SIGNAL_SET,
)
from shmem._contexts import Context
from shmem._device import DeviceArray
from shmem._errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    ForkedError,
    FreedError,
    HeapError,
    InitError,
    LayoutError,
    LibraryError,
    PeerError,
    PEError,
    RegisterError,
    ShmemError,
    SizeError,
    StateError,
    SymmetryError,
    VersionError,
    WaitTimeoutError,
)
from shmem._job import global_exit, is_initialized, my_pe, n_pes, pe_accessible, put_ordered
from shmem._library import nvshmem_path
from shmem._messages import ANY, Message, recv, recv_test, send, send_test
from shmem._notify import (
    notify_alloc,
    notify_fetch,
    notify_free,
    notify_reset,
    notify_test,
    notify_wait,
)
from shmem._pointers import ptr
from shmem._reclaim import reclaim
from shmem._reductions import (
    all_reduce,
    and_reduce,
    max_reduce,
    min_reduce,
    or_reduce,
    prod_reduce,
    sum_exscan,
    sum_inscan,
    sum_reduce,
    xor_reduce,
)
from shmem._register import register
from shmem._room import Heap, heap
from shmem._runtime import Job, finalize, get_uniqueid, init
from shmem._sync import (
    barrier_all,
    fence,
    quiet,
    sync_all,
    test_all,
    test_any,
    test_some,
    wait_until_all,
    wait_until_any,
    wait_until_some,
)
from shmem._teams import Team
from shmem._zz_atomics import (
    atomic_add,
    atomic_and,
    atomic_compare_swap,
    atomic_fetch,
    atomic_fetch_add,
    atomic_fetch_add_nbi,
    atomic_fetch_and,
    atomic_fetch_inc,
    atomic_fetch_or,
    atomic_fetch_xor,
    atomic_inc,
    atomic_or,
    atomic_set,
    atomic_swap,
    atomic_xor,
)
from shmem._zz_rma import g, get, get_nbi, p, put, put_nbi
from shmem._zz_signal import put_signal, put_signal_nbi, signal_add, signal_fetch, signal_set
from shmem._zz_wait import signal_wait_until, test, wait_until

__all__ = [
    "ANY",
    "ArgumentError",
    "CMP_EQ",
    "CMP_GE",
    "CMP_GT",
    "CMP_LE",
    "CMP_LT",
    "CMP_NE",
    "Context",
    "DeviceArray",
    "DeviceError",
    "DtypeError",
    "ForkedError",
    "FreedError",
    "Heap",
    "HeapError",
    "InitError",
    "Job",
    "LayoutError",
    "LibraryError",
    "Message",
    "PEError",
    "PeerError",
    "RegisterError",
    "SIGNAL_ADD",
    "SIGNAL_SET",
    "ShmemError",
    "SizeError",
    "StateError",
    "SymmetryError",
    "Team",
    "VersionError",
    "WaitTimeoutError",
    "__version__",
    "all_reduce",
    "alltoall",
    "alltoalls",
    "and_reduce",
    "array",
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_add_nbi",
    "atomic_fetch_and",
    "atomic_fetch_inc",
    "atomic_fetch_or",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_xor",
    "barrier_all",
    "broadcast",
    "collect",
    "empty",
    "fcollect",
    "fence",
    "finalize",
    "free",
    "full",
    "g",
    "get",
    "get_nbi",
    "get_uniqueid",
    "global_exit",
    "heap",
    "init",
    "is_initialized",
    "max_reduce",
    "min_reduce",
    "my_pe",
    "n_pes",
    "notify_alloc",
    "notify_fetch",
    "notify_free",
    "notify_reset",
    "notify_test",
    "notify_wait",
    "nvshmem_path",
    "ones",
    "or_reduce",
    "p",
    "pe_accessible",
    "prod_reduce",
    "ptr",
    "put",
    "put_nbi",
    "put_ordered",
    "put_signal",
    "put_signal_nbi",
    "quiet",
    "reclaim",
    "recv",
    "recv_test",
    "register",
    "send",
    "send_test",
    "signal_add",
    "signal_fetch",
    "signal_set",
    "signal_wait_until",
    "sum_exscan",
    "sum_inscan",
    "sum_reduce",
    "sync_all",
    "test",
    "test_all",
    "test_any",
    "test_some",
    "wait_until",
    "wait_until_all",
    "wait_until_any",
    "wait_until_some",
    "xor_reduce",
    "zeros",
    "zeros_like",
]
