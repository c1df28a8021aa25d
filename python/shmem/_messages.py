"""Two-sided messages: the sender names a PE and a tag, the receiver the memory."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, SupportsIndex

from shmem import _abi
from shmem._addresses import address_of
from shmem._describe import describe
from shmem._dtypes import Array
from shmem._errors import ArgumentError, SizeError
from shmem._ghosts import of_cpu
from shmem._operands import as_array, not_contiguous, writable
from shmem._protocols import Memory
from shmem._runtime import after_finalize, check_pe, integer, library, settle, state, whole
from shmem._waiting import wait

ANY = _abi.SHMEMX_ANY_TAG  # any tag, and any PE


class Message(NamedTuple):
    """A message that `recv` has received.

    Attributes
    ----------
    tag : int
        Its tag.
    pe : int
        Its sender.
    nbytes : int
        Its length in bytes.
    """

    tag: int
    pe: int
    nbytes: int


# Arrays whose messages the library has announced to the receiver and not sent: it reads them later,
# when the program may have dropped them. It announces only long messages. A key has the arguments
# of shmemx_send: address, bytes, tag and receiver.
_Key = tuple[int, int, int, int]
_under_way: dict[_Key, Array] = {}


_longest_short = (0, 0)  # the number of a job, and the bytes of its longest short message


def _is_long(data: Array) -> bool:
    """Whether the library announces the message of an array when it cannot send it at once."""
    global _longest_short
    if _longest_short[0] != state.turn:
        assert state.loaded is not None
        _longest_short = state.turn, state.loaded.private("shmemi_longest_short_message")
    return data.nbytes > _longest_short[1]


def _tag(call: str, tag: SupportsIndex, least: int) -> int:
    """The number of a tag. least is 0, or ANY where any tag will do."""
    number = integer(call, "tag", tag)
    if number < least:
        raise ArgumentError(
            call,
            f"tag {number}",
            "is out of range",
            "use 0 to 2^31 - 1" + (", or shmem.ANY" if least == ANY else ""),
        )
    return number


def _outgoing(call: str, array: Any, tag: SupportsIndex, pe: SupportsIndex) -> tuple[_Key, Array]:
    """The checked arguments of a send, and the array that has its bytes."""
    number, target = _tag(call, tag, 0), check_pe(call, pe)
    data = of_cpu(call, "array", as_array(call, "array", array))
    if not data.flags.c_contiguous:
        raise not_contiguous(call, "array", data)
    return (address_of(data), data.nbytes, number, target), data


def send(array: Memory, tag: SupportsIndex, pe: SupportsIndex) -> None:
    """Send the bytes of an array to another PE, and return when it may be used again.

    A message of up to 4016 bytes (less in jobs of more than 256 PEs) is sent at once, unless that
    PE has too many messages that it has not received. A longer message waits until a `recv`
    receives it.

    Parameters
    ----------
    array : Memory
        Contiguous memory of this PE, which need not be symmetric.
    tag : SupportsIndex
        The message's tag, by which the receiver chooses: 0 to 2^31 - 1.
    pe : SupportsIndex
        The PE that receives it.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    ArgumentError
        `tag` is out of range.
    DtypeError
        `array` has no memory.
    LayoutError
        The array is not contiguous.
    DeviceError
        `array` is in GPU memory.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "send"
    functions = library(call)
    key, data = _outgoing(call, array, tag, pe)
    if _is_long(data):
        _under_way[key] = data  # a signal handler may end the wait, and the message goes on
    wait(call, functions.shmemx_send, *key)
    _under_way.pop(key, None)
    if state.failed:
        settle(call)


def send_test(array: Memory, tag: SupportsIndex, pe: SupportsIndex) -> bool:
    """Send as `send` does, but do not wait for the receiver.

    After False, call it again with the same arguments, and leave the array as it is, until it
    returns True.

    Parameters
    ----------
    array : Memory
        Contiguous memory of this PE, which need not be symmetric.
    tag : SupportsIndex
        The message's tag, by which the receiver chooses: 0 to 2^31 - 1.
    pe : SupportsIndex
        The PE that receives it.

    Returns
    -------
    bool
        Whether the message has been sent.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    ArgumentError
        `tag` is out of range.
    DtypeError
        `array` has no memory.
    LayoutError
        The array is not contiguous.
    DeviceError
        `array` is in GPU memory.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "send_test"
    functions = library(call)
    key, data = _outgoing(call, array, tag, pe)
    if _is_long(data):
        _under_way[key] = data
    answer = functions.shmemx_send_test(*key)
    if answer != 0:
        _under_way.pop(key, None)
    if state.failed:
        settle(call)
    return answer == 1


class _Incoming:
    """A receive: its operands, and the words that the library writes."""

    def __init__(self, call: str, array: Any, tag: SupportsIndex, pe: SupportsIndex) -> None:
        self._call = call
        self._tag = ctypes.c_int(_tag(call, tag, ANY))
        self._pe = ctypes.c_int(ANY if whole(pe) == ANY else check_pe(call, pe))
        self._nbytes = ctypes.c_size_t()
        self._data = of_cpu(call, "array", as_array(call, "array", array))
        writable(call, "array", self._data)
        if not self._data.flags.c_contiguous:
            raise not_contiguous(call, "array", self._data)

    def operands(self) -> tuple[int, int, int, int, int]:
        """The arguments of shmemx_recv: addresses, except for the bytes of the array."""
        words = (ctypes.addressof(w) for w in (self._tag, self._pe, self._nbytes))
        tag, pe, nbytes = words
        return address_of(self._data), self._data.nbytes, tag, pe, nbytes

    def message(self, failed: bool) -> Message:
        """The message that the library has received. failed: it is longer than the array."""
        if state.failed:
            settle(self._call)
        found = Message(self._tag.value, self._pe.value, self._nbytes.value)
        if failed:
            raise SizeError(
                self._call,
                describe("array", self._data),
                f"it has {self._data.nbytes} bytes, and the message with tag {found.tag} of PE "
                f"{found.pe} has {found.nbytes}",
                "pass a larger one: the message can still be received",
            )
        return found


def recv(
    array: Memory,
    tag: SupportsIndex = ANY,
    pe: SupportsIndex = ANY,
    *,
    timeout: float | None = None,
) -> Message:
    """Wait for a message, and receive it into an array.

    Messages from one PE arrive in the order in which they were sent.

    Parameters
    ----------
    array : Memory
        Contiguous memory of this PE, at least as long as the message.
    tag : SupportsIndex, optional
        The tag of the message; `ANY`, the default, accepts any tag.
    pe : SupportsIndex, optional
        Its sender; `ANY`, the default, accepts any PE.
    timeout : float, optional
        Seconds after which the call gives up; None waits without a limit.

    Returns
    -------
    Message
        The tag, the sender and the length.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    ArgumentError
        `tag` is out of range.
    SizeError
        The message is longer than `array`; it can still be received.
    DtypeError
        `array` has no memory.
    LayoutError
        The array is not contiguous or read-only.
    DeviceError
        `array` is in GPU memory.
    WaitTimeoutError
        `timeout` seconds have passed.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "recv"
    functions = library(call)
    incoming = _Incoming(call, array, tag, pe)
    answer = wait(call, functions.shmemx_recv, *incoming.operands(), timeout=timeout)
    return incoming.message(answer != 0)


def recv_test(array: Memory, tag: SupportsIndex = ANY, pe: SupportsIndex = ANY) -> Message | None:
    """Receive a message if one is there.

    Parameters
    ----------
    array : Memory
        Contiguous memory of this PE, at least as long as the message.
    tag : SupportsIndex, optional
        The tag of the message; `ANY`, the default, accepts any tag.
    pe : SupportsIndex, optional
        Its sender; `ANY`, the default, accepts any PE.

    Returns
    -------
    Message or None
        The tag, the sender and the length; None if there is no such message.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`.
    PEError
        There is no PE `pe`.
    ArgumentError
        `tag` is out of range.
    SizeError
        The message is longer than `array`; it can still be received.
    DtypeError
        `array` has no memory.
    LayoutError
        The array is not contiguous or read-only.
    DeviceError
        `array` is in GPU memory.
    PeerError
        A PE is lost, and the job goes on without it.
    """
    call = "recv_test"
    functions = library(call)
    incoming = _Incoming(call, array, tag, pe)
    answer = functions.shmemx_recv_test(*incoming.operands())
    if answer == 0:
        return None
    return incoming.message(answer < 0)


after_finalize.append(_under_way.clear)
