"""shmem: symmetric memory and one-sided communication between processes, by libshmem.

    import shmem

    shmem.init()
    box = shmem.zeros(1)
    shmem.put(box, [shmem.my_pe()], pe=(shmem.my_pe() + 1) % shmem.n_pes())
    shmem.barrier_all()
    print(f"PE {shmem.my_pe()}: {box[0]} wrote to me")
    shmem.finalize()

Run it with `shmemrun -n 4 python prog.py`. Importing starts nothing: the library is
loaded by the first init.
"""

from shmem._abi import VERSION as __version__
from shmem._arrays import empty, free, full, zeros
from shmem._collectives import (
    alltoall,
    alltoalls,
    and_reduce,
    broadcast,
    collect,
    fcollect,
    max_reduce,
    min_reduce,
    or_reduce,
    prod_reduce,
    sum_exscan,
    sum_inscan,
    sum_reduce,
    xor_reduce,
)
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
)
from shmem._library import nvshmem_path
from shmem._pointers import ptr
from shmem._reclaim import reclaim
from shmem._register import register
from shmem._runtime import (
    finalize,
    get_uniqueid,
    global_exit,
    init,
    is_initialized,
    my_pe,
    n_pes,
    pe_accessible,
)
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
    "HeapError",
    "InitError",
    "LayoutError",
    "LibraryError",
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
    "__version__",
    "alltoall",
    "alltoalls",
    "and_reduce",
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
    "init",
    "is_initialized",
    "max_reduce",
    "min_reduce",
    "my_pe",
    "n_pes",
    "nvshmem_path",
    "or_reduce",
    "p",
    "pe_accessible",
    "prod_reduce",
    "ptr",
    "put",
    "put_nbi",
    "put_signal",
    "put_signal_nbi",
    "quiet",
    "reclaim",
    "register",
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
]
