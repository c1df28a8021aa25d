"""Blocks: the parts of the symmetric heap that this PE uses.

The block of an operand is found by its address. Each block has a slot, the same on every PE.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort

from shmem import _remains
from shmem._dtypes import Array
from shmem._runtime import after_finalize, after_init


class Block:
    """An allocation, the same on every PE, or memory of the program that is registered."""

    __slots__ = (
        "address",
        "freed",
        "keeps",
        "length",
        "nbytes",
        "number",
        "owner_alive",
        "remains",
        "slot",
        "symmetric",
    )

    def __init__(self, address: int, nbytes: int, number: int, slot: int) -> None:
        self.address = address
        self.nbytes = nbytes
        self.number = number  # in the order of allocation
        self.slot = slot  # its bit in the PEs' vote about what to free (_reclaim.py)
        self.owner_alive = True  # the program has an array on it (_reclaim.Owner)
        self.freed = False  # by free: it cannot be used, even if references to it exist
        self.remains: _remains.Pages | None = None  # the copy of its contents after finalize
        # For registered memory: the address of its pages in the heap (0: the block was allocated),
        # their bytes, and the array that owns it, which must live until the memory is the program's
        # own again.
        self.symmetric = 0
        self.length = 0
        self.keeps: Array | None = None


NOTHING = Block(0, 0, -1, -1)  # the block of operands without elements


class _Heap:
    """The blocks of the job that is running."""

    def __init__(self) -> None:
        self.starts: list[int] = []  # of the blocks that can be used, ascending
        self.blocks: dict[int, Block] = {}  # these blocks, by their start
        self.slots: dict[int, Block] = {}  # all blocks that are not back in the heap, by slot
        self.pending: dict[int, Block] = {}  # the blocks among them that this PE has dropped
        self.free_slots: list[int] = []  # a heap (heapq), so that all PEs take the same slot
        self.count = 0  # blocks made so far
        # The addresses of the block that was found last, which the next put or get most often uses
        # again. 1 and 0, in which no address is: no such block.
        self.low, self.high = 1, 0
        # The address of two symmetric arrays of `words` words of 64 bits: this PE's vote about what
        # to free, and its result (_reclaim.py). 0 before the first allocation.
        self.vote = 0
        self.words = 0


heap = _Heap()


def find(address: int, nbytes: int) -> Block | None:
    """The block that contains a whole range of bytes, if it can be used; else None.

    The address that `place` gives operands without elements, heap.vote, is in no such block. For 0
    bytes at this address the result is NOTHING.
    """
    i = bisect_right(heap.starts, address) - 1
    if i >= 0:
        block = heap.blocks[heap.starts[i]]
        end = block.address + block.nbytes
        if address + nbytes <= end:
            heap.low, heap.high = block.address, end
            return block
    return NOTHING if nbytes == 0 and heap.vote and address == heap.vote else None


def place(address: int, nbytes: int, elements: int) -> int | None:
    """The symmetric address of an operand of which nbytes are used; None if it has none.

    An operand without elements may be anywhere: a tensor of torch then has no address, and a view
    of numpy has one behind its array.
    """
    if find(address, nbytes) is not None:
        return address
    return heap.vote or None if elements == 0 else None


def address_of_nothing() -> int:
    """A symmetric address for an operand without elements and address; 0 if there is none."""
    return heap.vote


def find_freed(address: int) -> bool:
    """Whether an address is in a block that was freed and is not back in the heap yet."""
    return any(b.freed and b.address <= address < b.address + b.nbytes for b in heap.slots.values())


# ---------------------------------------------------------------- the table


def enter(address: int, nbytes: int) -> Block:
    """Records an allocation, as every PE does."""
    slot = heapq.heappop(heap.free_slots) if heap.free_slots else len(heap.slots)
    block = Block(address, nbytes, heap.count, slot)
    heap.count += 1
    heap.slots[slot] = block
    heap.blocks[address] = block
    insort(heap.starts, address)
    return block


def hide(block: Block) -> None:
    """Removes a block from the blocks that lookups find."""
    heap.low, heap.high = 1, 0
    if heap.blocks.pop(block.address, None) is not None:
        heap.starts.remove(block.address)


def _open() -> None:
    """After init: the new job has no blocks."""
    global heap
    heap = _Heap()


def _after() -> None:
    """After the library's finalize: the blocks are gone, but arrays keep copies of their values."""
    global heap
    heap = _Heap()
    _remains.restore()


after_init.append(_open)
after_finalize.append(_after)
