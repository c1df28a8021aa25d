"""Loads the library into a process that already has threads, and uses it.

usage: late.py libshmem.so
"""

import ctypes
import os
import sys
import threading

MULTIPLE = 3  # SHMEM_THREAD_MULTIPLE

stop = threading.Event()
threads = [threading.Thread(target=stop.wait, daemon=True) for _ in range(8)]
for thread in threads:
    thread.start()

# After the start of the process: the library must read the environment when it is initialised, not
# when it is loaded.
lib = ctypes.CDLL(sys.argv[1])
os.environ["SHMEM_SYMMETRIC_SIZE"] = "4m"

lib.shmem_malloc.restype = ctypes.c_void_p
lib.shmem_malloc.argtypes = [ctypes.c_size_t]
lib.shmem_free.argtypes = [ctypes.c_void_p]
lib.shmem_long_put.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
lib.shmem_long_atomic_fetch_add.restype = ctypes.c_long
lib.shmem_long_atomic_fetch_add.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]

provided = ctypes.c_int(-1)
assert lib.shmem_init_thread(MULTIPLE, ctypes.byref(provided)) == 0
assert provided.value == MULTIPLE
assert (lib.shmem_my_pe(), lib.shmem_n_pes()) == (0, 1)
assert lib.shmem_malloc(64 << 20) is None, "64 MiB from a heap of 4 MiB"

array = ctypes.c_long * 1000
dest = lib.shmem_malloc(ctypes.sizeof(array))
source = array(*range(1000))
lib.shmem_long_put(dest, source, 1000, 0)
lib.shmem_barrier_all()
assert list(array.from_address(dest)) == list(range(1000))


# Any thread may call, not only the one that called init.
def add():
    for _ in range(1000):
        lib.shmem_long_atomic_fetch_add(dest, 1, 0)


adders = [threading.Thread(target=add) for _ in range(4)]
for thread in adders:
    thread.start()
for thread in adders:
    thread.join()
assert lib.shmem_long_atomic_fetch_add(dest, 0, 0) == 4000
lib.shmem_free(dest)
lib.shmem_finalize()

stop.set()
for thread in threads:
    thread.join()
print("ok")
