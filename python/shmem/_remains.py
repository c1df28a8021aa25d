"""The memory of arrays that live longer than the heap.

The library unmaps the heap at finalize. A read of an array that a program still has would then end
the process, and after another init the array could lie in the middle of a new one. So the pages of
such arrays are copied before, and put in the same place after; they are freed with the last array.
"""

from __future__ import annotations

import ctypes
import mmap
import warnings
from collections.abc import Iterable
from typing import Any, Protocol

_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
_FIXED_NOREPLACE = 0x100000  # MAP_FIXED_NOREPLACE
_MAYMOVE_FIXED = 3  # MREMAP_MAYMOVE | MREMAP_FIXED
_FAILED = ctypes.c_size_t(-1).value  # MAP_FAILED; as a file descriptor, -1


class Kept(Protocol):
    """A kept block: its address, and the object that its arrays refer to without the heap."""

    address: int
    nbytes: int
    remains: Pages | None


# Ranges of pages that are copied: address and bytes of the range, address of the copy, and the
# blocks in the range.
_saved: list[tuple[int, int, int, list[Kept]]] = []


def words(address: int, n: int) -> Any:
    """n words of memory as an array of ctypes."""
    return (ctypes.c_uint64 * n).from_address(address)


def _system(name: str, parameters: int) -> Any:
    """A function of the C library whose parameters and result have the size of an address."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    function.restype = ctypes.c_size_t
    function.argtypes = [ctypes.c_size_t] * parameters
    return function


def _map(at: int, nbytes: int, flags: int) -> int:
    """New private memory at an address, or (0) at any; returns its address, or _FAILED."""
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    got: int = _system("mmap", 6)(at, nbytes, protection, _PRIVATE | flags, _FAILED, 0)
    return got


class Pages:
    """Memory of this process where a part of the heap was."""

    def __init__(self, at: int, nbytes: int) -> None:
        self._at = at
        self._nbytes = nbytes
        self._unmap = _system("munmap", 2)

    def __del__(self) -> None:
        self._unmap(self._at, self._nbytes)


def save(blocks: Iterable[Kept]) -> None:
    """Copies the pages of the blocks, before the library unmaps the heap."""
    page = mmap.PAGESIZE
    ranges: list[tuple[int, int, list[Kept]]] = []  # whole pages: start, end, blocks in them
    for block in sorted(blocks, key=lambda b: b.address):
        start = block.address // page * page
        end = (block.address + max(block.nbytes, 1) + page - 1) // page * page
        if ranges and start < ranges[-1][1]:  # they share a page
            first, last, whose = ranges.pop()
            ranges.append((first, max(last, end), [*whose, block]))
        else:
            ranges.append((start, end, [block]))
    for start, end, whose in ranges:
        copy = _map(0, end - start, 0)
        if copy == _FAILED:
            warnings.warn(
                f"shmem.finalize: no memory to keep {end - start} bytes of arrays "
                "(drop them before finalize)",
                RuntimeWarning,
                stacklevel=4,  # the program's call of finalize, which calls _reclaim._before
            )
            continue
        for block in whose:
            ctypes.memmove(copy + block.address - start, block.address, block.nbytes)
        _saved.append((start, end - start, copy, whose))


def restore() -> None:
    """Moves the copies to where the blocks were, after the library has unmapped the heap."""
    for start, nbytes, copy, whose in _saved:
        # The new mapping reserves the place. If another thread has mapped memory there since the
        # heap was unmapped, the arrays are lost.
        if _map(start, nbytes, _FIXED_NOREPLACE) != start:
            _system("munmap", 2)(copy, nbytes)
            continue
        _system("mremap", 5)(copy, nbytes, nbytes, _MAYMOVE_FIXED, start)
        pages = Pages(start, nbytes)
        for block in whose:
            block.remains = pages
    _saved.clear()
