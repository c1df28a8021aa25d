"""Messages between the programs of a mesh's members."""

from __future__ import annotations

import ctypes
from typing import SupportsIndex

from shmem._mesh_parts import Calls, MeshRequest
from shmem._runtime import integer

_MESSAGE = 4096  # more than a message may have


class Messages(Calls):
    """The calls of a mesh for messages."""

    _handle: int

    def send(self, member: SupportsIndex, message: bytes) -> MeshRequest:
        """Send a message to a member's program, such as a request to a server.

        Parameters
        ----------
        member : SupportsIndex
            The number of the member.
        message : bytes
            1 to 4064 bytes.

        Returns
        -------
        MeshRequest
            The request. When it has ended, the message is on its way. It does not end while the
            member has 64 messages of this member that its program has not received.

        Raises
        ------
        ArgumentError
            The message is empty or too long, or there is no such member.
        PeerError
            The member has left, or is lost.
        StateError
            The mesh has been closed.
        """
        data = ctypes.create_string_buffer(bytes(message), max(1, len(message)))
        request = ctypes.c_uint64()
        self.call(
            "shmemx_mesh_send",
            self._handle,
            integer("send", "member", member),
            ctypes.addressof(data),
            len(message),
            ctypes.addressof(request),
        )
        return MeshRequest(self, request.value, [])

    def receive(self, timeout: float = 0.0) -> tuple[int, bytes] | None:
        """Receive the first message that has arrived, of any member.

        Parameters
        ----------
        timeout : float, optional
            How long to wait for one, in seconds.

        Returns
        -------
        tuple of int and bytes, or None
            The member that has sent it, and the message; None if none has arrived.

        Raises
        ------
        StateError
            The mesh has been closed.
        """
        data = ctypes.create_string_buffer(_MESSAGE)
        n, member = ctypes.c_size_t(_MESSAGE), ctypes.c_int()
        arrived = self.call_or_pending(
            "shmemx_mesh_receive",
            self._handle,
            ctypes.addressof(data),
            ctypes.addressof(n),
            ctypes.addressof(member),
            int(timeout * 1000),
        )
        return (member.value, data.raw[: n.value]) if arrived else None
