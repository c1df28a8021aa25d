"""Reclaiming blocks: when dropped blocks go back to the heap.

All PEs free memory of the symmetric heap together, but each garbage collector runs at its own
times, so PEs drop their arrays at different times and in different orders. A dropped block is
therefore only recorded. At the next collective point (empty, zeros, full, register, reclaim,
finalize) the PEs combine by `and` which blocks each of them has dropped, and free the blocks that
all have dropped, in the order in which they were made. No PE ever waits for another one's
collector: a block that one PE still uses stays for all. docs/decisions/0028 has the protocol and
its cost.

A finalizer runs at any moment and in any thread, also in the middle of the code below. It appends
to a deque and does nothing else.
"""

from __future__ import annotations

import ctypes
import heapq
from collections import deque
from typing import Any

import numpy as np

from shmem import _blocks, _events, _remains, _room
from shmem._blocks import Block
from shmem._runtime import after_finalize, before_finalize, library, lock, settle, state

_WORD = 64  # slots in a word of the vote


class Owner:
    """The object that the arrays of a block refer to; it lives as long as the last one."""

    __slots__ = ("__array_interface__", "_block", "_drop")

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._block = block
        self._drop = _dropped.append  # the name may be gone when the interpreter ends
        self.__array_interface__ = {
            "version": 3,
            "data": (block.address, False),
            "shape": (block.nbytes,) if dtype.isbuiltin != 1 else shape,
            "typestr": "|u1" if dtype.isbuiltin != 1 else dtype.str,
        }

    def __del__(self) -> None:
        self._block.owner_alive = False
        self._block.remains = None
        self._drop(self._block)


_dropped: deque[Block] = deque()
_leaving = _events.Queue()  # blocks that were dropped, on which the GPU may still work


# ------------------------------------------------------------------ the vote


def write_words(at: int, values: list[int]) -> None:
    """Stores words of 64 bits in this PE's heap, which the CPU may be unable to access."""
    if state.heap != "device":
        _remains.words(at, len(values))[:] = values
        return
    here = (ctypes.c_uint64 * len(values))(*values)
    library("put").shmem_putmem(at, ctypes.addressof(here), ctypes.sizeof(here), state.pe)


def read_words(at: int, n: int) -> list[int]:
    """Loads words of the heap of this PE."""
    here = _remains.words(at, n) if state.heap != "device" else (ctypes.c_uint64 * n)()
    if state.heap == "device":
        library("get").shmem_getmem(ctypes.addressof(here), at, ctypes.sizeof(here), state.pe)
    return list(here)


def _collect(wait: bool = False) -> None:
    """Records as pending the blocks that this PE has dropped since the last call.

    A block on which the GPU may still work is recorded later; with wait, now, after a wait for it.
    """
    while True:
        try:
            block = _dropped.popleft()
        except IndexError:
            break
        if _is_out(block):
            leave(block)
    for block in _leaving.gone(wait):
        if _is_out(block):
            _blocks.heap.pending[block.slot] = block


def _is_out(block: Block) -> bool:
    """Whether the block is still to be freed. It may be of an earlier job, or freed and dropped."""
    return _blocks.heap.slots.get(block.slot) is block


def leave(block: Block) -> None:
    """Records that the program no longer uses a block, for the next vote or a later one."""
    _blocks.hide(block)
    if state.heap == "device":
        _leaving.add(block)
    else:
        _blocks.heap.pending[block.slot] = block


def _widen(call: str) -> None:
    """Makes the arrays of the vote long enough for one slot more. All PEs call it together."""
    heap = _blocks.heap
    words = max(heap.words, 1)
    while words * _WORD < len(heap.slots) + len(heap.free_slots) + 1:
        words *= 2
    if words == heap.words:
        return
    functions = library(call)
    address = functions.shmem_calloc(2 * words, 8)
    settle(call)
    if address == 0:
        raise _room.error(call, f"{2 * words} words for the package", 16 * words)
    if heap.vote:
        functions.shmem_free(heap.vote)
    heap.vote, heap.words = address, words


def agree(call: str, wait: bool = False) -> int:
    """Frees the blocks that every PE has dropped, and returns their bytes.

    All PEs call it together, with the lock. wait: first waits for the GPU's work on dropped blocks.
    """
    _collect(wait)
    heap = _blocks.heap
    if not heap.slots:
        return 0
    functions = library(call)
    words = (len(heap.slots) + len(heap.free_slots) + _WORD - 1) // _WORD
    mine = [0] * words
    for slot in heap.pending:
        mine[slot // _WORD] |= 1 << slot % _WORD
    write_words(heap.vote, mine)
    # 0 is SHMEM_TEAM_WORLD.
    failed = functions.shmem_uint64_and_reduce(0, heap.vote + 8 * heap.words, heap.vote, words)
    settle(call)
    if failed:
        return 0
    answer = read_words(heap.vote + 8 * heap.words, words)
    agreed = [
        heap.pending[word * _WORD + bit]
        for word in range(words)
        if (bits := answer[word])
        for bit in range(_WORD)
        if bits >> bit & 1
    ]
    freed = 0
    for block in sorted(agreed, key=lambda b: b.number):
        if not _give_back(block):
            continue
        del heap.slots[block.slot], heap.pending[block.slot]
        heapq.heappush(heap.free_slots, block.slot)
        freed += block.nbytes
    return freed


def _give_back(block: Block) -> bool:
    """Frees a block, as all PEs do. False: no memory to move registered pages back; it stays."""
    functions = library("free")
    if not block.symmetric:
        functions.shmem_free(block.address)
        return True
    failed = functions.shmemx_buffer_unregister_symmetric(block.symmetric, block.length)
    if not failed:
        block.keeps = None
    return not failed


def prepare(call: str) -> None:
    """Prepares an allocation: frees what all PEs have dropped, and makes room for a slot."""
    agree(call)
    _widen(call)


def reclaim() -> int:
    """Free all arrays that every PE has dropped or freed. All PEs call it together.

    Allocation does the same by itself, except for arrays on which the GPU may still work: this call
    waits for it.

    Returns
    -------
    int
        The bytes of these arrays.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    with lock:
        functions = library("reclaim")
        freed = agree("reclaim", wait=True)
        # The next vote must not be written before every PE has read this one.
        functions.shmem_sync_all()
        settle("reclaim")
        return freed


# ------------------------------------------------------------------ finalize


def _before() -> None:
    """Before the library's finalize: saves the values of arrays to which references exist.

    All blocks go with the heap, so the PEs need not vote about them.
    """
    _collect(wait=True)
    if state.heap == "device":
        return  # the CPU does not reach their values
    # Registered memory is the program's own, which the library leaves in place.
    _remains.save([b for b in _blocks.heap.slots.values() if b.owner_alive and not b.symmetric])


def _after() -> None:
    """After the library's finalize: drops the blocks of that job."""
    global _leaving
    _leaving = _events.Queue()


before_finalize.append(_before)
after_finalize.append(_after)
