"""Meshes: processes that work together without a job, and come and go."""

from __future__ import annotations

import ctypes
import math
import os
from typing import Literal, SupportsIndex

from shmem import _abi
from shmem._addresses import address_of
from shmem._errors import ArgumentError
from shmem._mesh_messages import Messages
from shmem._mesh_parts import (
    GPUS,
    Blocks,
    MeshRegion,
    MeshRemote,
    MeshRequest,
    MeshSignal,
    Options,
    blocks_of,
    memory_of,
    signal_of,
)
from shmem._operands import writable
from shmem._protocols import Memory
from shmem._runtime import integer, load


class Mesh(Messages):
    """One process's end of a mesh: members that come and go, with memory that each registers.

    It needs no job, works beside one, and a process may have several. Two members work together
    when each has added the other's `address`. Use it in a `with` statement, or `close` it.

    Parameters
    ----------
    member : SupportsIndex
        The number of this process, from 0. No other process may have had it.
    most : SupportsIndex
        How many numbers members may ever have, up to 65536; the same for all members.
    secret : bytes
        At least 16 bytes, the same for all members. It is not in the address.
    contexts : SupportsIndex, optional
        How many contexts this member has, up to 1023; operations name them from 0 on.
    timeout : float, optional
        How long a member may take to answer before it is lost, in seconds.
    provider : str, optional
        The provider of libfabric; without it the best that works.
    nics : str, optional
        The network interfaces, separated by commas; without it any.
    gpu : {"others", "own"}, optional
        Which GPU memory the mesh uses: regions of other members, or also regions and arrays of this
        one, on the GPU that the thread of this call uses. All contexts then share one order.
        Without it regions and arrays are main memory.
    library : str or os.PathLike, optional
        The libshmem.so to load.

    Raises
    ------
    ArgumentError
        A number is out of range, the secret is too short, or there is no such `gpu` or timeout.
    InitError
        There is no such network.
    LibraryError
        libshmem.so was not found, or cannot be loaded.
    StateError
        Another library is loaded already.
    """

    def __init__(
        self,
        member: SupportsIndex,
        most: SupportsIndex,
        *,
        secret: bytes,
        contexts: SupportsIndex = 1,
        timeout: float = 10.0,
        provider: str | None = None,
        nics: str | None = None,
        gpu: Literal["others", "own"] | None = None,
        library: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(load("Mesh", library).waiting)
        if gpu not in GPUS:
            raise ArgumentError("Mesh", f"gpu={gpu!r}", "it is not known", "use 'others' or 'own'")
        if not timeout > 0:
            raise ArgumentError(
                "Mesh", f"timeout={timeout}", "no member answers at once", "raise it"
            )
        self._gpu = gpu == "own"
        handle = ctypes.c_uint64()
        options = Options(
            ctypes.sizeof(Options),
            integer("Mesh", "member", member),
            integer("Mesh", "most", most),
            secret,
            len(secret),
            integer("Mesh", "contexts", contexts),
            math.ceil(timeout * 1000),
            provider.encode() if provider else None,
            nics.encode() if nics else None,
            gpu=GPUS[gpu],
        )
        self.call("shmemx_mesh_open", ctypes.addressof(options), ctypes.addressof(handle))
        self._handle = handle.value

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> bytes:
        """The bytes by which other members `add` this one; the program carries them there."""
        return self.blob("shmemx_mesh_address", self._handle)

    def close(self) -> None:
        """Leave the mesh. The other members first receive what was sent to them, then learn of it.

        A second call does nothing.

        Raises
        ------
        StateError
            The mesh has been closed.
        """
        handle, self._handle = self._handle, 0
        if handle:
            self.call("shmemx_mesh_close", handle)
            self.pending.clear()

    def add(self, address: bytes) -> int:
        """Add a member.

        Parameters
        ----------
        address : bytes
            The `address` of that member.

        Returns
        -------
        int
            The number of the member.

        Raises
        ------
        ArgumentError
            `address` is not an address or is of another secret, or its number was used before.
        PeerError
            The member has left, or is lost.
        VersionError
            The member uses another version of the library.
        """
        number = ctypes.c_int()
        blob = ctypes.create_string_buffer(bytes(address), max(1, len(address)))
        self.call(
            "shmemx_mesh_add",
            self._handle,
            ctypes.addressof(blob),
            len(address),
            ctypes.addressof(number),
        )
        return number.value

    def remove(self, member: SupportsIndex) -> None:
        """End the work with a member at once. Requests on that member end with an error.

        Parameters
        ----------
        member : SupportsIndex
            The number of the member.

        Raises
        ------
        ArgumentError
            There is no such member.
        PeerError
            The member has left, or is lost.
        """
        self.call("shmemx_mesh_remove", self._handle, integer("remove", "member", member))

    def check(self, member: SupportsIndex) -> None:
        """Raise an error that says why a member is not there; return if it is there.

        Parameters
        ----------
        member : SupportsIndex
            The number of the member.

        Raises
        ------
        ArgumentError
            There is no such member.
        PeerError
            The member has left, is lost, or was removed.
        """
        self.call("shmemx_mesh_status", self._handle, integer("check", "member", member))

    def register(self, array: Memory) -> MeshRegion:
        """Make memory a region, which other members may import.

        Parameters
        ----------
        array : Memory
            Contiguous memory at a multiple of 8: of the CPU or, in a mesh with gpu="own", of a GPU.

        Returns
        -------
        MeshRegion
            The region. The memory is kept until it is closed.

        Raises
        ------
        ArgumentError
            The memory is empty, or not at a multiple of 8.
        InitError
            The network cannot register it.
        LayoutError
            The array has gaps, or cannot be written.
        DeviceError
            The memory is a GPU's, and the mesh was made without gpu="own".
        DtypeError
            `array` has no memory.
        """
        data = memory_of("register", array, self._gpu)
        writable("register", "array", data)
        handle = ctypes.c_uint64()
        self.call(
            "shmemx_mesh_register",
            self._handle,
            address_of(data),
            data.nbytes,
            ctypes.addressof(handle),
        )
        return MeshRegion(self, handle.value, data)

    def import_region(self, description: bytes, timeout: float = 60.0) -> MeshRemote:
        """Ask a member for the use of one of its regions, and wait for the reply.

        Parameters
        ----------
        description : bytes
            The `description` of the region.
        timeout : float, optional
            The longest time, in seconds.

        Returns
        -------
        MeshRemote
            The region, for operations on it.

        Raises
        ------
        ArgumentError
            `description` is not a description, or is of another secret.
        PeerError
            The member has left, or is lost.
        StateError
            The region has been closed.
        VersionError
            The member uses another version of the library.
        WaitTimeoutError
            The member has not replied in that time.
        """
        remote, length, request = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_uint64()
        blob = ctypes.create_string_buffer(bytes(description), max(1, len(description)))
        self.call(
            "shmemx_mesh_import",
            self._handle,
            ctypes.addressof(blob),
            len(description),
            ctypes.addressof(remote),
            ctypes.addressof(length),
            ctypes.addressof(request),
        )
        MeshRequest(self, request.value, []).wait(timeout)
        return MeshRemote(remote.value, length.value)

    def put(
        self,
        remote: MeshRemote,
        blocks: Blocks,
        *,
        signal: MeshSignal | None = None,
        ordered: bool = False,
        context: SupportsIndex = 0,
    ) -> MeshRequest:
        """Copy blocks to a region of a member, and then send a signal, if there is one.

        Parameters
        ----------
        remote : MeshRemote
            The region.
        blocks : Memory or sequence of (Memory, int)
            An array for the start of the region, or arrays with their offsets in bytes.
        signal : MeshSignal, optional
            The signal that follows the blocks: a program that sees its value also sees their bytes.
        ordered : bool, optional
            Whether the put follows all earlier operations of the context on the member.
        context : SupportsIndex, optional
            The number of the context.

        Returns
        -------
        MeshRequest
            The request. When it has ended, the arrays may be used again.

        Raises
        ------
        ArgumentError
            A block leaves the region, or a number is out of range.
        PeerError
            The member has left, or is lost.
        StateError
            The region or the mesh has been closed.
        LayoutError
            An array has gaps.
        DeviceError
            An array is in GPU memory, and the mesh was made without gpu="own".
        DtypeError
            An operand has no memory.
        """
        listed, kept = blocks_of("put", blocks, self._gpu)
        word = signal_of(signal) if signal else None
        request = ctypes.c_uint64()
        name = "shmemx_mesh_put_signal" if word else "shmemx_mesh_put"
        more = [ctypes.addressof(word)] if word else []
        self.call(
            name,
            self._handle,
            integer("put", "context", context),
            remote.handle,
            ctypes.addressof(listed),
            len(kept),
            *more,
            _abi.SHMEMX_MESH_ORDERED if ordered else 0,
            ctypes.addressof(request),
        )
        return MeshRequest(self, request.value, kept)

    def get(self, remote: MeshRemote, blocks: Blocks, *, context: SupportsIndex = 0) -> MeshRequest:
        """Copy blocks from a region of a member.

        Parameters
        ----------
        remote : MeshRemote
            The region.
        blocks : Memory or sequence of (Memory, int)
            An array for the start of the region, or arrays with their offsets in bytes.
        context : SupportsIndex, optional
            The number of the context.

        Returns
        -------
        MeshRequest
            The request. When it has ended, the bytes are in the arrays.

        Raises
        ------
        ArgumentError
            A block leaves the region, or a number is out of range.
        PeerError
            The member has left, or is lost.
        StateError
            The region or the mesh has been closed.
        LayoutError
            An array has gaps, or cannot be written.
        DeviceError
            An array is in GPU memory, and the mesh was made without gpu="own".
        DtypeError
            An operand has no memory.
        """
        listed, kept = blocks_of("get", blocks, self._gpu)
        for array in kept:
            writable("get", "blocks", array)
        request = ctypes.c_uint64()
        self.call(
            "shmemx_mesh_get",
            self._handle,
            integer("get", "context", context),
            remote.handle,
            ctypes.addressof(listed),
            len(kept),
            ctypes.addressof(request),
        )
        return MeshRequest(self, request.value, kept)

    def notify(
        self, signal: MeshSignal, *, ordered: bool = False, context: SupportsIndex = 0
    ) -> MeshRequest:
        """Send a signal without bytes.

        Parameters
        ----------
        signal : MeshSignal
            The signal.
        ordered : bool, optional
            Whether the signal follows all earlier operations of the context on the member.
        context : SupportsIndex, optional
            The number of the context.

        Returns
        -------
        MeshRequest
            The request. When it has ended, the signal is on its way.

        Raises
        ------
        ArgumentError
            The word is not at a multiple of 8, or leaves the region.
        PeerError
            The member has left, or is lost.
        StateError
            The region or the mesh has been closed.
        """
        word, request = signal_of(signal), ctypes.c_uint64()
        self.call(
            "shmemx_mesh_notify",
            self._handle,
            integer("notify", "context", context),
            ctypes.addressof(word),
            _abi.SHMEMX_MESH_ORDERED if ordered else 0,
            ctypes.addressof(request),
        )
        return MeshRequest(self, request.value, [])

    def flush(self, member: SupportsIndex, *, context: SupportsIndex = 0) -> MeshRequest:
        """Begin a flush of a member.

        Parameters
        ----------
        member : SupportsIndex
            The number of the member.
        context : SupportsIndex, optional
            The number of the context.

        Returns
        -------
        MeshRequest
            The request. When it has ended, all earlier operations of the context on the member have
            taken effect there.

        Raises
        ------
        ArgumentError
            There is no such member or context.
        PeerError
            The member has left, or is lost.
        """
        request = ctypes.c_uint64()
        self.call(
            "shmemx_mesh_flush",
            self._handle,
            integer("flush", "context", context),
            integer("flush", "member", member),
            ctypes.addressof(request),
        )
        return MeshRequest(self, request.value, [])
