"""register: makes memory that a program already has symmetric, in place.

The library moves whole pages of main memory, and peers may write to all of them. So registered
memory must have its pages to itself: an array that fills pages, an array in memory of mmap, or one
whose memory numpy has from malloc and that glibc has mapped for it alone. In other memory the first
and last page may hold other data, whose owner is not aware of the registration.

Memory of a GPU is mapped a second time and not moved, so any part of it can be registered.
"""

from __future__ import annotations

import ctypes
import mmap
import zlib
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shmem import _arrays, _blocks, _device, _reclaim, _room
from shmem._addresses import address_of
from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import HeapError, LayoutError, RegisterError, ShmemError
from shmem._ghosts import Ghost
from shmem._operands import as_array, not_contiguous, writable
from shmem._protocols import Memory
from shmem._runtime import library, lock, settle

S = TypeVar("S", bound=np.generic)

_PAGE = mmap.PAGESIZE
_HEADER = 16  # bytes of glibc's header before each block; the last 8 are a size and flags
_FLAGS = 7  # the bits of that word that are flags
_MAPPED = 2  # the flag IS_MMAPPED: the block has a mapping of its own

_COPY = (
    "copy it into an array of shmem.empty, or make it in pages of its own: "
    "np.frombuffer(mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE), dtype)"
)


def _base(array: Array) -> Any:
    """The owner of an array's memory: an array that owns it, or another object."""
    owner: Any = array
    while True:
        if isinstance(owner, memoryview):
            owner = owner.obj
        elif isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        else:
            return owner


def _has_malloc(array: Array) -> bool:
    """Whether numpy has allocated an array's memory itself, which it does with malloc."""
    core: Any = getattr(np, "_core", None) or np.core
    try:
        name = core.multiarray.get_handler_name(array)
    except AttributeError:
        return False
    return bool(array.flags.owndata) and name == "default_allocator"


def _is_mapped(address: int) -> bool:
    """Whether a block of malloc has a mapping of its own, whole pages.

    glibc then has its header at the start of the first page. The header is read only where
    it lies in the page of the block's first byte, and is believed only when it agrees with
    what malloc_usable_size says.
    """
    if address % _PAGE != _HEADER or not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        return False
    size = ctypes.c_size_t.from_address(address - ctypes.sizeof(ctypes.c_size_t)).value
    if size & _FLAGS != _MAPPED or (size - _MAPPED) % _PAGE != 0:
        return False
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.restype, usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    return bool(usable(address) == size - _MAPPED - _HEADER)


def _pages(array: Array, address: int) -> tuple[int, int]:
    """Whole pages around an array that hold no other data: start and length."""
    start = address // _PAGE * _PAGE
    length = (address + array.nbytes - start + _PAGE - 1) // _PAGE * _PAGE
    base = _base(array)
    if (
        (start, length) == (address, array.nbytes)
        or isinstance(base, mmap.mmap)
        or (isinstance(base, np.ndarray) and _has_malloc(base) and _is_mapped(address_of(base)))
    ):
        return start, length
    raise RegisterError(
        "register",
        describe("array", array),
        "its first or last page may hold other data, which peers could overwrite",
        _COPY,
    )


def _same(plan: tuple[Any, ...] | None) -> bool:
    """Whether all PEs have the same plan. None: this PE has no plan, since it has an error."""
    functions = library("register")
    # The PEs combine their words by `and`. The lower half of a word is the complement of the upper
    # half: so the result is this PE's word only if all PEs have the same word.
    mine = 0
    if plan is not None:
        half = zlib.crc32(repr(plan).encode())
        mine = half << 32 | (~half & 0xFFFFFFFF)
    # The two symmetric arrays of the votes of _reclaim.py.
    source, dest = _blocks.heap.vote, _blocks.heap.vote + 8 * _blocks.heap.words
    _reclaim.write_words(source, [mine])
    # 0 is SHMEM_TEAM_WORLD.
    failed = functions.shmem_uint64_and_reduce(0, dest, source, 1)
    settle("register")
    same = not failed and mine != 0 and _reclaim.read_words(dest, 1) == [mine]
    # The next vote must not be written before every PE has read this one.
    functions.shmem_sync_all()
    settle("register")
    return same


def _refusal(array: Array, text: str) -> ShmemError:
    """The exception for the library's error text, `call: object: cause (remedy)`."""
    cause, _, remedy = text.split(": ", 2)[-1].rpartition(" (")
    if "SHMEM_SYMMETRIC_SIZE" in remedy:
        size, _, free, largest = _room.heap()
        what = describe("array", array)
        return HeapError(
            "register", what, cause, remedy.rstrip(")"), array.nbytes, free, largest, size
        )
    return RegisterError("register", describe("array", array), cause, remedy.rstrip(")"))


def _deliver(array: Any, own: Array) -> Any:
    """own, an array on registered memory of a GPU, as the kind of array that the program passed."""
    wanted = "gpu"
    if hasattr(array, "is_cuda"):
        wanted = "torch"
    elif type(array).__module__.partition(".")[0] == "cupy":
        wanted = "cupy"
    # own.dtype is only bytes if numpy lacks the type: the program's array names it.
    dtype = array.name if isinstance(array, _device.DeviceArray) else getattr(array, "dtype", "")
    return _device.deliver("register", own, dtype or own.dtype, wanted)


@overload
def register(array: NDArray[S]) -> NDArray[S]: ...
@overload
def register(array: Memory) -> Any: ...
def register(array: Memory) -> Any:
    """Make the memory of an array symmetric, in place; return it as such an array.

    The program sees no copy: the array, its views and its contents stay as they are, and every
    operation accepts them like an array of `empty`. The memory takes space in the symmetric heap.
    All PEs register arrays of the same size together, each its own; an array that is symmetric
    already is returned as it is. Do not write to the array during the call.

    With SHMEM_HEAP=device it is an array in the memory of the PE's GPU, a tensor of torch, an array
    of cupy or another with `__cuda_array_interface__`, and so is the result. Its memory must come
    from cuMemCreate and cuMemMap, as torch's does with
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. Memory of cudaMalloc is a RegisterError,
    because the driver does not let it be mapped a second time.

    The memory is symmetric while any PE has the result, or a view of it, or until `free`. Then, at
    the next allocation, `register`, `reclaim` or `finalize`, it becomes the program's own memory
    again, with its contents.

    Parameters
    ----------
    array : Memory
        A contiguous array that can be written, so large that its pages hold nothing else.

    Returns
    -------
    numpy.ndarray or torch.Tensor or cupy.ndarray or DeviceArray
        The same memory, as an array that is symmetric.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    RegisterError
        The memory cannot be registered, here or on another PE.
    HeapError
        The symmetric heap has no room.
    LayoutError
        The array is read-only, not contiguous, or has no elements.
    DtypeError
        `array` has no memory.
    """
    with lock:
        library("register")
        # If one PE cannot register its array no PE does, so an error waits for the others.
        own: Array | None = None
        error: ShmemError | None = None
        start = length = address = 0
        plan: tuple[Any, ...] | None = None
        inside = on_gpu = False
        try:
            own = as_array("register", "array", array)
            on_gpu = isinstance(own, Ghost)
            writable("register", "array", own)
            if not own.flags.c_contiguous:
                raise not_contiguous("register", "array", own)
            address = address_of(own)
            inside = _blocks.find(address, own.nbytes) not in (None, _blocks.NOTHING)
            if not inside:
                if own.nbytes == 0:
                    raise LayoutError(
                        "register", describe("array", own), "it has no elements", "leave it out"
                    )
                start, length = (address, own.nbytes) if on_gpu else _pages(own, address)
            # What must be the same on all PEs. `inside`: the memory is symmetric already.
            plan = (inside, own.nbytes, address - start if not inside else 0, length)
        except ShmemError as caught:
            error = caught
        _reclaim.prepare("register")
        if not _same(plan):
            raise error or RegisterError(
                "register",
                describe("array", array),
                "another PE refuses its own, or has one of another size or place in its page",
                "register arrays of one size on every PE, and see the errors of the others",
            )
        assert own is not None
        if inside:
            return array if on_gpu else own
        functions = library("register")
        there = functions.shmemx_buffer_register_symmetric(start, length, 0)
        settle("register")
        if there == 0:
            text = functions.shmemx_last_error_text() or b""
            functions.shmemx_last_error()  # the exception has it, so it is no longer the last one
            raise _refusal(own, text.decode(errors="replace"))
        adopted = _arrays.adopt(own, address, there, length)
        return _deliver(array, adopted) if on_gpu else adopted
