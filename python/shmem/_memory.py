"""Symmetric arrays: which blocks there are, and when they go back to the heap.

Memory of the symmetric heap is given back by all PEs together, but a garbage collector
runs when it likes, so that PEs drop their arrays at different times and in different
orders. A dropped block is therefore only noted. At the next collective point (empty,
zeros, full, register, reclaim, finalize) the PEs combine by `and` which blocks each of them has
dropped, and free those that all have, in the order in which they were made. No PE ever
waits for another one's collector: a block that one PE still uses stays for all.
docs/decisions/0028 has the protocol and what it costs.

A finalizer runs at any moment and in any thread, also in the middle of what is below. It
appends to a deque and does nothing else.
"""

from __future__ import annotations

import ctypes
import gc
import heapq
from bisect import bisect_right, insort
from collections import deque
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shmem import _device, _events, _remains, _room
from shmem._dtypes import resolve
from shmem._errors import SizeError, StateError, SymmetryError
from shmem._runtime import (
    after_finalize,
    after_init,
    before_finalize,
    library,
    lock,
    settle,
    state,
)
from shmem._shapes import Shape, sizes_of

Array = NDArray[Any]

_WORD = 64  # slots in a word of the vote


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
        self.slot = slot  # its bit in the vote
        self.owner_alive = True
        self.freed = False  # by free: it cannot be used, whatever else refers to it
        self.remains: _remains.Pages | None = None  # what is in its place after finalize
        # Of memory that is registered: its place in the heap and the bytes of its pages, and
        # the array that has it, which may not go before it is the program's own again.
        self.symmetric = 0
        self.length = 0
        self.keeps: Array | None = None


class _Owner:
    """What the arrays of a block refer to; when the last one goes, so does this."""

    __slots__ = ("__array_interface__", "_block", "_drop")

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._block = block
        self._drop = _dropped.append
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

NOTHING = Block(0, 0, -1, -1)  # that what has no elements is in


class _Heap:
    """The blocks of the job that is running."""

    def __init__(self) -> None:
        self.starts: list[int] = []  # of the blocks that can be used, ascending
        self.blocks: dict[int, Block] = {}  # those, by their start
        self.slots: dict[int, Block] = {}  # all that are not back in the heap, by slot
        self.pending: dict[int, Block] = {}  # of those, what this PE has dropped
        self.free_slots: list[int] = []
        self.count = 0
        # The block that was found last, which the next put or get most often is about.
        self.low, self.high = 1, 0
        self.vote = 0  # address of two arrays of words, mine and the answer
        self.words = 0


heap = _Heap()
_leaving = _events.Queue()  # blocks that were dropped, but the GPU may be at work on them


# --------------------------------------------------------------------- looking


def find(address: int, nbytes: int) -> Block | None:
    """The block that has all of a range, if it can be used."""
    i = bisect_right(heap.starts, address) - 1
    if i >= 0:
        block = heap.blocks[heap.starts[i]]
        end = block.address + block.nbytes
        if address + nbytes <= end:
            heap.low, heap.high = block.address, end
            return block
    return NOTHING if nbytes == 0 and heap.vote and address == heap.vote else None


def place(address: int, nbytes: int, elements: int) -> int | None:
    """The symmetric address of an operand of which nbytes are used; None: it has none.

    One without elements may be anywhere: a tensor of torch has no address then, and a view of
    numpy one behind its array.
    """
    if find(address, nbytes) is not None:
        return address
    return heap.vote or None if elements == 0 else None


def address_of_nothing() -> int:
    """A symmetric address for what has no elements and no address; 0 while there is none."""
    return heap.vote


def find_freed(address: int) -> bool:
    """Whether an address is in a block that was freed and is not back in the heap yet."""
    return any(b.freed and b.address <= address < b.address + b.nbytes for b in heap.slots.values())


# ------------------------------------------------------------------ the vote


def write_words(at: int, values: list[int]) -> None:
    """Stores words of 64 bits in the heap of this PE, which may be out of the CPU's reach."""
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
    """Notes what was dropped since the last time; with wait, also what the GPU still uses."""
    while True:
        try:
            block = _dropped.popleft()
        except IndexError:
            break
        if _is_out(block):
            _leave(block)
    for block in _leaving.gone(wait):
        if _is_out(block):
            heap.pending[block.slot] = block


def _is_out(block: Block) -> bool:
    """Whether it is still to be given back. It may be of an earlier job, or freed and dropped."""
    return heap.slots.get(block.slot) is block


def _leave(block: Block) -> None:
    """A block that the program uses no more."""
    _hide(block)
    if state.heap == "device":
        _leaving.add(block)
    else:
        heap.pending[block.slot] = block


def _hide(block: Block) -> None:
    heap.low, heap.high = 1, 0
    if heap.blocks.pop(block.address, None) is not None:
        heap.starts.remove(block.address)


def _widen(call: str) -> None:
    """Makes room for the votes of the slots that there are. The same on every PE."""
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


def _agree(call: str, wait: bool = False) -> int:
    """Frees what every PE has dropped; answers how many bytes. All PEs make it together."""
    _collect(wait)
    if not heap.slots:
        return 0
    functions = library(call)
    words = (len(heap.slots) + len(heap.free_slots) + _WORD - 1) // _WORD
    mine = [0] * words
    for slot in heap.pending:
        mine[slot // _WORD] |= 1 << slot % _WORD
    write_words(heap.vote, mine)
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
    """Frees a block, the same on every PE; False: there was no memory to, and it stays."""
    functions = library("free")
    if not block.symmetric:
        functions.shmem_free(block.address)
        return True
    failed = functions.shmemx_buffer_unregister_symmetric(block.symmetric, block.length)
    if not failed:
        block.keeps = None
    return not failed


def reclaim() -> int:
    """Gives back to the heap what every PE has dropped or freed; answers how many bytes.

    All PEs call it together. Allocation does the same by itself, but for what the GPU may
    still be at work on: this waits for it.
    """
    with lock:
        functions = library("reclaim")
        freed = _agree("reclaim", wait=True)
        # The next vote must not be written before every PE has read this one.
        functions.shmem_sync_all()
        settle("reclaim")
        return freed


# ---------------------------------------------------------------- allocation


def prepare(call: str) -> None:
    """What all PEs do before one block more."""
    _agree(call)
    _widen(call)


def _enter(address: int, nbytes: int) -> Block:
    slot = heapq.heappop(heap.free_slots) if heap.free_slots else len(heap.slots)
    block = Block(address, nbytes, heap.count, slot)
    heap.count += 1
    heap.slots[slot] = block
    heap.blocks[address] = block
    insort(heap.starts, address)
    return block


def adopt(array: Array, address: int, symmetric: int, length: int) -> Array:
    """The memory of an array, which is registered by now, as an array of its own."""
    block = _enter(address, array.nbytes)
    block.symmetric, block.length, block.keeps = symmetric, length, array
    return _own(block, array.shape, array.dtype)


def _allocate(call: str, nbytes: int, zero: bool) -> Block:
    functions = library(call)
    if state.heap == "device" and _events.in_graph():
        raise StateError(
            call,
            "",
            "the current stream is captured, and a graph does not keep symmetric memory",
            "make it before the capture; of shmem.torch's collectives pass out=",
        )
    prepare(call)
    take = max(nbytes, 1)  # an array without elements has a place, too
    address = functions.shmem_calloc(1, take) if zero else functions.shmem_malloc(take)
    settle(call)
    if address == 0:
        # The same on every PE, so that all of them come here. What is only kept by a
        # cycle of references may be enough.
        gc.collect()
        if _agree(call, wait=True):
            address = functions.shmem_calloc(1, take) if zero else functions.shmem_malloc(take)
            settle(call)
        else:
            functions.shmem_sync_all()
    if address == 0:
        raise _room.error(call, f"{nbytes} bytes", take)
    return _enter(address, nbytes)


def _array(call: str, shape: Shape, dtype: DTypeLike, zero: bool) -> Array:
    kind = resolve(call, dtype)
    sizes = sizes_of(call, shape)
    nbytes = kind.itemsize
    for n in sizes:
        nbytes *= n
    with lock:
        block = _allocate(call, nbytes, zero)
    return _own(block, sizes, kind)


def _own(block: Block, sizes: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """A block as an array; when the array and its views have gone, so has the block."""
    out: Array = np.asarray(_Owner(block, sizes, kind))
    # numpy knows types that it did not bring itself by object only, not by a text.
    return out if kind.isbuiltin == 1 else out[: block.nbytes].view(kind).reshape(sizes)


def make(call: str, shape: Shape, dtype: DTypeLike, device: str | None, zero: bool) -> Any:
    """An array in symmetric memory, as `empty` and `zeros` make it."""
    wanted = _device.check_device(call, device)
    out = _array(call, shape, dtype, zero)
    return out if wanted is None else _device.deliver(call, out, dtype, wanted)


@overload
def empty(shape: Shape, dtype: DTypeLike = "int64", device: None = None) -> Array: ...
@overload
def empty(shape: Shape, dtype: DTypeLike = "int64", *, device: str) -> Any: ...
def empty(shape: Shape, dtype: DTypeLike = "int64", device: str | None = None) -> Any:
    """Makes an array in symmetric memory, with any values.

    A numpy array without a copy; views keep its memory. All PEs make the same arrays in
    the same order. It goes back to the heap when every PE has dropped or freed it.

    With SHMEM_HEAP=device it is in the memory of the PE's GPU, and device says what it is:
    "cuda" a tensor of torch where torch is installed, "cupy" an array of cupy, "gpu" a
    DeviceArray, as "cuda" without torch.
    """
    return make("empty", shape, dtype, device, zero=False)


@overload
def zeros(shape: Shape, dtype: DTypeLike = "int64", device: None = None) -> Array: ...
@overload
def zeros(shape: Shape, dtype: DTypeLike = "int64", *, device: str) -> Any: ...
def zeros(shape: Shape, dtype: DTypeLike = "int64", device: str | None = None) -> Any:
    """Makes an array in symmetric memory, all zero on every PE; else as `empty`."""
    return make("zeros", shape, dtype, device, zero=True)


@overload
def full(shape: Shape, value: Any, dtype: DTypeLike = "int64", device: None = None) -> Array: ...
@overload
def full(shape: Shape, value: Any, dtype: DTypeLike = "int64", *, device: str) -> Any: ...
def full(shape: Shape, value: Any, dtype: DTypeLike = "int64", device: str | None = None) -> Any:
    """Makes an array in symmetric memory, all value on every PE; else as `empty`."""
    from shmem._operands import describe, numbers

    wanted = _device.check_device("full", device)
    # Before there is memory, which the other PEs would believe to be ready.
    given = numbers("full", "value", value, resolve("full", dtype))
    sizes = sizes_of("full", shape)
    try:
        if given.ndim:
            np.broadcast_to(given, (1,) if wanted else sizes)
    except ValueError:
        raise SizeError(
            "full", describe("value", given), f"does not fill shape {shape!r}", "pass one number"
        ) from None
    out = _array("full", sizes, dtype, zero=False)
    if wanted is None:
        out[...] = given
    else:
        _fill(out, given)
    # A neighbour may write into it as soon as it knows that this has been written.
    library("full").shmem_sync_all()
    settle("full")
    return out if wanted is None else _device.deliver("full", out, dtype, wanted)


def _fill(array: Array, value: Any) -> None:
    """Writes a value to memory that the CPU does not reach, by pieces of 1 MiB."""
    piece: Array = np.full(min(array.size, (1 << 20) // array.itemsize + 1), value, array.dtype)
    to, end = array.ctypes.data, array.ctypes.data + array.nbytes
    while to < end:
        n = min(end - to, piece.nbytes)
        library("full").shmem_putmem(to, piece.ctypes.data, n, state.pe)
        to += n


def free(array: Any) -> None:
    """Frees an array of this PE, whatever else refers to it.

    It is not collective: the memory goes back to the heap when every PE has dropped or
    freed the array and the PEs meet in an allocation, `reclaim` or `finalize`. Until then
    operations refuse it as the symmetric operand; after that its place may be another array's.
    So use neither it nor its views any more.
    """
    from shmem._operands import address_of, as_array, describe, refuse_address

    with lock:
        library("free")
        array = as_array("free", "array", array)
        address = address_of(array)
        block = find(address, 0)
        if block is None:
            raise refuse_address("free", "array", array, address)
        if block is NOTHING:
            return  # what has no address is not known here, and goes when it is dropped
        if block.address != address:
            raise SymmetryError(
                "free",
                describe("array", array),
                "it is a part of another one",
                "pass what shmem.empty, zeros, full or register has made",
            )
        block.freed = True
        _leave(block)


# ----------------------------------------------------------- init and finalize


def _open() -> None:
    global heap
    heap = _Heap()


def _before() -> None:
    # Everything goes with the heap, so that nothing has to be agreed on. What is still
    # referred to keeps its values.
    _collect(wait=True)
    if state.heap == "device":
        return  # the CPU does not reach what they have
    # What is registered is in memory of its own, which the library leaves in place.
    _remains.save([b for b in heap.slots.values() if b.owner_alive and not b.symmetric])


def _after() -> None:
    global heap, _leaving
    heap, _leaving = _Heap(), _events.Queue()
    _remains.restore()


after_init.append(_open)
before_finalize.append(_before)
after_finalize.append(_after)
