"""Parts of meshes: what C takes and returns, regions, signals and requests."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from shmem import _abi
from shmem._addresses import address_of
from shmem._dtypes import Array
from shmem._errors import (
    ArgumentError,
    InitError,
    PeerError,
    ShmemError,
    StateError,
    VersionError,
    WaitTimeoutError,
)
from shmem._ghosts import of_cpu
from shmem._operands import as_array, not_contiguous
from shmem._protocols import Memory

_BLOB = 4096  # more bytes than the address of a member or the description of a region has
_SWEEP = 256  # at a multiple of so many pending requests, those that the program dropped are tested
# The references to a request that the program has dropped, while Calls.hold counts them: in the
# set, in the list, in the loop's variable and in the argument of the call.
_OWN_REFERENCES = 4


class Options(ctypes.Structure):
    """shmemx_mesh_options_t of shmemx.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("member", ctypes.c_int),
        ("most", ctypes.c_int),
        ("secret", ctypes.c_char_p),
        ("secret_nbytes", ctypes.c_size_t),
        ("contexts", ctypes.c_int),
        ("timeout_ms", ctypes.c_int),
        ("provider", ctypes.c_char_p),
        ("nics", ctypes.c_char_p),
        ("library", ctypes.c_char_p),
        ("log", ctypes.c_void_p),
        ("log_arg", ctypes.c_void_p),
        ("gpu", ctypes.c_int),
        ("reserved", ctypes.c_int),
    ]


# Values of Mesh's argument gpu.
GPUS = {None: 0, "others": _abi.SHMEMX_MESH_GPU_OTHERS, "own": _abi.SHMEMX_MESH_GPU_OWN}


class Block(ctypes.Structure):
    """shmemx_mesh_block_t of shmemx.h."""

    _fields_ = [
        ("local", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("nbytes", ctypes.c_size_t),
    ]


class Signal(ctypes.Structure):
    """shmemx_mesh_signal_t of shmemx.h."""

    _fields_ = [
        ("remote", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
        ("op", ctypes.c_int),
        ("reserved", ctypes.c_int),
    ]


_KINDS: dict[int, type[ShmemError]] = {
    _abi.SHMEMX_MESH_ARGUMENT: ArgumentError,
    _abi.SHMEMX_MESH_MEMBER: PeerError,
    _abi.SHMEMX_MESH_CLOSED: StateError,
    _abi.SHMEMX_MESH_VERSION: VersionError,
    _abi.SHMEMX_MESH_TIMEOUT: WaitTimeoutError,
    _abi.SHMEMX_MESH_NETWORK: InitError,
}


def error(functions: _abi.Library, status: int) -> ShmemError:
    """The exception for the status of a call, with the parts of the library's text for it.

    The text is `call: operation subject: cause (remedy)`.
    """
    line = (functions.shmemx_mesh_error_text() or b"").decode(errors="replace")
    _call, _, text = line.partition(": ")
    head, _, rest = text.partition(": ")
    cause, found, remedy = rest.removesuffix(")").rpartition(" (")
    if not found:
        cause, remedy = rest, "see docs/guides/mesh.md"
    operation, _, subject = head.partition(" ")
    return _KINDS[status](operation, subject, cause, remedy)


class Calls:
    """The calls of one mesh, and its requests under way, which keep their operands' memory."""

    def __init__(self, functions: _abi.Library) -> None:
        self.functions = functions
        self.pending: set[MeshRequest] = set()

    def call(self, name: str, *args: Any) -> None:
        """Calls a function of the library, and raises its error."""
        status = getattr(self.functions, name)(*args)
        if status != 0:
            raise error(self.functions, status)

    def call_or_pending(self, name: str, *args: Any) -> bool:
        """Calls a function of the library; False if it has no result yet. Raises other errors."""
        status: int = getattr(self.functions, name)(*args)
        if status not in (0, _abi.SHMEMX_MESH_PENDING):
            raise error(self.functions, status)
        return status == 0

    def blob(self, name: str, handle: int) -> bytes:
        """The bytes that a function of the library writes about a handle."""
        room = ctypes.create_string_buffer(_BLOB)
        n = ctypes.c_size_t(_BLOB)
        self.call(name, handle, ctypes.addressof(room), ctypes.addressof(n))
        return room.raw[: n.value]

    def hold(self, request: MeshRequest) -> None:
        """Keeps a request, and thereby the memory of its operands, until it has ended."""
        self.pending.add(request)
        if len(self.pending) % _SWEEP == 0:
            # A request that the program has dropped is never tested otherwise, and its error
            # interests no one.
            for each in list(self.pending):
                if sys.getrefcount(each) <= _OWN_REFERENCES:
                    with contextlib.suppress(ShmemError):
                        each.test()

    def drop(self, request: MeshRequest) -> None:
        """Forgets a request that has ended."""
        self.pending.discard(request)


class MeshRegion:
    """Memory of this process that members of a mesh may import. `Mesh.register` makes it.

    Parameters
    ----------
    mesh : Calls
        The region's mesh.
    handle : int
        The library's number of the region.
    kept : Array
        The memory.
    """

    def __init__(self, mesh: Calls, handle: int, kept: Array) -> None:
        self._mesh = mesh
        self._handle = handle
        self._kept = kept

    @property
    def description(self) -> bytes:
        """The bytes by which other members import the region; the program carries them there."""
        return self._mesh.blob("shmemx_mesh_describe", self._handle)

    def close(self) -> MeshRequest:
        """End the region.

        Returns
        -------
        MeshRequest
            The request. When it has ended, no member uses the memory any more.

        Raises
        ------
        StateError
            The region or the mesh has been closed.
        """
        request = ctypes.c_uint64()
        mesh = self._mesh
        mesh.call("shmemx_mesh_unregister", self._handle, ctypes.addressof(request))
        return MeshRequest(mesh, request.value, [self._kept])


class MeshRemote(NamedTuple):
    """A region of a member, as `Mesh.import_region` returns it.

    Attributes
    ----------
    handle : int
        The library's number of the region at this member.
    nbytes : int
        The length of the region in bytes.
    """

    handle: int
    nbytes: int


class MeshSignal(NamedTuple):
    """A change of a word of 8 bytes in a region of a member.

    Attributes
    ----------
    remote : MeshRemote
        The region.
    offset : int
        The bytes from the start of the region to the word, a multiple of 8.
    value : int
        The number that is stored in the word or added to it.
    add : bool
        Whether the value is added, not stored.
    """

    remote: MeshRemote
    offset: int
    value: int
    add: bool = False


class MeshRequest:
    """An operation under way. The memory that it uses is kept until it has ended.

    Parameters
    ----------
    mesh : Calls
        The operation's mesh.
    handle : int
        The library's number of the operation.
    kept : list of Array
        The memory.
    """

    def __init__(self, mesh: Calls, handle: int, kept: list[Array]) -> None:
        self._mesh = mesh
        self._handle = ctypes.c_uint64(handle)
        self._kept = kept
        mesh.hold(self)

    def test(self) -> bool:
        """Report whether the operation has ended. It does not wait.

        Returns
        -------
        bool
            Whether it has ended. An operation that has failed raises its error instead.

        Raises
        ------
        PeerError
            The member has left, or is lost.
        StateError
            The region or the mesh has been closed.
        """
        return self._ended("shmemx_mesh_test")

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until the operation has ended.

        Parameters
        ----------
        timeout : float, optional
            The longest time, in seconds.

        Raises
        ------
        WaitTimeoutError
            It has not ended in that time. It goes on.
        PeerError
            The member has left, or is lost.
        StateError
            The region or the mesh has been closed.
        """
        self._ended("shmemx_mesh_wait", max(1, int(timeout * 1000)))

    def _ended(self, name: str, *more: int) -> bool:
        """Calls test or wait of the library: whether the operation has ended. Raises its error."""
        if self._handle.value == 0:
            return True
        functions = self._mesh.functions
        status = getattr(functions, name)(ctypes.addressof(self._handle), *more)
        # The library sets the handle to 0 when the operation has ended. A closed mesh has none.
        if self._handle.value == 0 or status == _abi.SHMEMX_MESH_CLOSED:
            self._handle.value = 0
            self._kept = []
            self._mesh.drop(self)
        if status == _abi.SHMEMX_MESH_PENDING:
            return False
        if status != 0:
            raise error(functions, status)
        return True


Blocks = Memory | Sequence[tuple[Memory, int]]


def memory_of(call: str, operand: Memory, gpu: bool) -> Array:
    """The contiguous memory of an operand, which may be a GPU's only if gpu is set."""
    array = as_array(call, "array", operand, heap=False)
    if not gpu:
        array = of_cpu(call, "array", array)
    if not array.flags.c_contiguous:
        raise not_contiguous(call, "array", array)
    return array


def blocks_of(call: str, blocks: Blocks, gpu: bool) -> tuple[ctypes.Array[Block], list[Array]]:
    """The list of blocks for C, and the arrays that have their memory."""
    listed_by_program = isinstance(blocks, list | tuple)
    pairs = cast("list[tuple[Memory, int]]", blocks if listed_by_program else [(blocks, 0)])
    kept = [memory_of(call, memory, gpu) for memory, _ in pairs]
    listed = (Block * max(1, len(pairs)))()
    for block, array, (_, offset) in zip(listed, kept, pairs, strict=False):
        block.local, block.offset, block.nbytes = address_of(array), offset, array.nbytes
    return listed, kept


def signal_of(signal: MeshSignal) -> Signal:
    """A signal as the library takes it."""
    op = _abi.SHMEMX_MESH_ADD if signal.add else _abi.SHMEMX_MESH_SET
    return Signal(signal.remote.handle, signal.offset, signal.value, op)
