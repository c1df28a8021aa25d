"""How the PEs of a job find each other without a launcher of the library's.

Each method leads to a unique id, which one process makes and all get, or to an MPI communicator;
the C library does the rest (docs/guides/bootstrap.md).
"""

from __future__ import annotations

import ctypes
import datetime
import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from shmem import _abi
from shmem._errors import ArgumentError, InitError
from shmem._library import init_error
from shmem._meeting import ID_BYTES, Meeting, fetch, hand_out

# A function that joins a job by calls of the library, and returns their status: 0 is success.
Start = Callable[[_abi.Library], int]

# The variables by which torchrun, or a launcher like it, describes a job.
TORCH = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# The variables of other bootstraps, which come first. One of them is that of a session
# (docs/guides/bootstrap.md): in it the library reads RANK and WORLD_SIZE itself, and no unique id,
# which would contain the session's secret, may go through a store.
OTHERS = (
    "SHMEM_BOOTSTRAP",
    "SHMEM_LAUNCHER_PE",
    "SHMEM_BOOTSTRAP_FILE",
    "SHMEM_BOOTSTRAP_SESSION",
    "SHMEM_BOOTSTRAP_PLUGIN",
    "PMIX_RANK",
    "PMI_FD",
    "PMI_PORT",
)


class Store(Protocol):
    """The methods that this module uses of a torch.distributed.Store."""

    def set(self, key: str, value: Any, /) -> Any: ...
    def get(self, key: str, /) -> Any: ...


def _version(kind: type[ctypes.Structure]) -> int:
    """The member `version` of a struct of shmemx.h: 1 in the upper half, and the struct's bytes."""
    return (1 << 16) + ctypes.sizeof(kind)


class _UniqueID(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("internal", ctypes.c_char * (ID_BYTES - 4))]


class _UniqueIDArgs(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int),
        ("id", ctypes.c_void_p),
        ("pe", ctypes.c_int),
        ("n_pes", ctypes.c_int),
    ]


class _Args(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int),
        ("uid_args", _UniqueIDArgs),
        ("content", ctypes.c_char * 96),
    ]


class _Attributes(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("mpi_comm", ctypes.c_void_p), ("args", _Args)]


def _attributes() -> _Attributes:
    """The argument of shmemx_init_attr, which selects nothing yet."""
    args = _Args(_version(_Args), _UniqueIDArgs(_version(_UniqueIDArgs), None, -1, -1))
    return _Attributes(_version(_Attributes), None, args)


def make_id(functions: _abi.Library) -> bytes:
    """A new unique id."""
    uid = _UniqueID(_version(_UniqueID))
    if functions.shmemx_get_uniqueid(ctypes.addressof(uid)) != 0:
        raise InitError("get_uniqueid", "", *init_error())
    return bytes(uid)


_joined: set[bytes] = set()  # ids of jobs of this process; an id serves one job


def by_id(uid: bytes, pe: int, n_pes: int) -> Start:
    """How to join as PE pe of the n_pes PEs that have the same unique id."""
    try:
        raw = bytes(memoryview(uid))
        wrong = "" if len(raw) == ID_BYTES else f"has {len(raw)} bytes, not {ID_BYTES}"
    except TypeError:
        wrong = f"is not bytes, but {type(uid).__name__}"
    if wrong:
        raise ArgumentError("init", "uid", wrong, "pass what get_uniqueid gave")
    if raw in _joined:
        raise ArgumentError(
            "init",
            "uid",
            "the job of this id is over",
            "have one process call get_uniqueid again, and pass its result in all PEs",
        )

    def start(functions: _abi.Library) -> int:
        copied = _UniqueID.from_buffer_copy(raw)
        attributes = _attributes()
        status = functions.shmemx_set_attr_uniqueid_args(
            pe, n_pes, ctypes.addressof(copied), ctypes.addressof(attributes)
        )
        status = status or functions.shmemx_init_attr(
            _abi.SHMEMX_INIT_WITH_UNIQUEID, ctypes.addressof(attributes)
        )
        if status == 0:
            _joined.add(raw)
        return status

    return start


def by_store(store: Store, name: str, pe: int, n_pes: int) -> Start:
    """How to join as PE pe of n_pes PEs that share a store, where PE 0 sets name to the id."""

    def start(functions: _abi.Library) -> int:
        uid_text = make_id(functions).hex() if pe == 0 else ""
        try:
            # As text: some stores do not take all bytes as values.
            if pe == 0:
                store.set(name, uid_text)
            found = store.get(name)
        except Exception as error:  # each store has exceptions of its own
            raise InitError(
                "init",
                f"store, key {name}",
                f"PE 0's unique id was not found there: {_first_line(error)}",
                "call init in all PEs, PE 0 too, within the store's timeout",
            ) from error
        text = found if isinstance(found, str) else bytes(found).decode("ascii", "replace")
        try:
            uid = bytes.fromhex(text)
        except ValueError:
            raise InitError(
                "init", f"store, key {name}", "has no unique id", "use a store of this job alone"
            ) from None
        return by_id(uid, pe, n_pes)(functions)

    return start


def _first_line(error: Exception) -> str:
    """The first line of a torch error: the rest may be a page of C++."""
    return (str(error) or type(error).__name__).splitlines()[0]


def by_group(group: Any) -> Start:
    """How to join as a PE of a process group of torch.distributed; True is the default group."""
    torch_group = None if group is True else group
    try:
        from torch import distributed

        pe, n_pes = distributed.get_rank(torch_group), distributed.get_world_size(torch_group)
    except (ImportError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(
            "init",
            "group",
            f"torch.distributed has none: {_first_line(error)}",
            "call init_process_group before, and pass True or a group",
        ) from error
    if pe < 0:
        raise ArgumentError(
            "init", "group", "this process is not in it", "call init in its processes"
        )

    def start(functions: _abi.Library) -> int:
        ids = [make_id(functions) if pe == 0 else None]
        first = 0 if torch_group is None else distributed.get_global_rank(torch_group, 0)
        distributed.broadcast_object_list(ids, src=first, group=torch_group)
        return by_id(ids[0] or b"", pe, n_pes)(functions)

    return start


def by_communicator(comm: Any) -> Start:
    """How to join as a process of a communicator of mpi4py."""
    try:
        from mpi4py import MPI

        address = MPI._addressof(comm)
    except (ImportError, TypeError) as error:
        raise ArgumentError(
            "init",
            "comm",
            f"is not a communicator of mpi4py: {error}",
            "pass mpi4py.MPI.COMM_WORLD",
        ) from None

    def start(functions: _abi.Library) -> int:
        attributes = _attributes()
        attributes.mpi_comm = address
        return functions.shmemx_init_attr(
            _abi.SHMEMX_INIT_WITH_MPI_COMM, ctypes.addressof(attributes)
        )

    return start


# ------------------------------------------------------- torchrun's variables


def torchrun() -> bool:
    """Whether torchrun's variables describe the job, and no launcher's do."""
    others = [word for v in OTHERS if (word := os.environ.get(v)) and word.lower() != "auto"]
    return all(os.environ.get(v) for v in TORCH) and not others


def _number(name: str, low: int, high: int) -> int:
    """The number in a variable; an error unless it is one from low to high."""
    text = os.environ[name]
    if not text.isdecimal() or not low <= int(text) <= high:
        raise InitError(
            "init",
            f'{name}="{text}"',
            f"is not a number from {low} to {high}",
            "run under torchrun",
        )
    return int(text)


def place() -> tuple[int, int]:
    """RANK and WORLD_SIZE, torch's number of this process and of all processes."""
    for name in TORCH[:2]:
        if name not in os.environ:
            raise ArgumentError(
                "init", "store", f"without pe= and n_pes=, and {name} is not set", "pass them"
            )
    # More PEs than any job can have: the library has the exact limit, and an error of its own.
    n_pes = _number("WORLD_SIZE", 1, 1 << 24)
    return _number("RANK", 0, n_pes - 1), n_pes


def key(turn: int) -> str:
    """The key of a job's id in a store.

    turn is how many jobs this process has joined before. torchrun counts its restarts of all
    processes: so no PE finds the id of an earlier job.
    """
    return f"shmem/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{turn}"


def by_torchrun(turn: int) -> Start:
    """How to join the job that torchrun's variables describe; turn as in key."""
    pe, n_pes = place()
    # The PEs meet at a port above MASTER_PORT (_meeting.py), so 65535 is too high.
    host, port = os.environ["MASTER_ADDR"], _number("MASTER_PORT", 1, 65534)
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return by_store(_agent(host, port), key(turn), pe, n_pes)

    run = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    meeting = Meeting(host, port, f"{run} {key(turn)} {n_pes}")

    def start(functions: _abi.Library) -> int:
        until = time.monotonic() + _timeout()
        if pe == 0:
            uid = make_id(functions)
            hand_out(meeting, uid, n_pes - 1, until)
        else:
            uid = fetch(meeting, until)
        return by_id(uid, pe, n_pes)(functions)

    return start


def _agent(host: str, port: int) -> Store:
    """The store of torchrun's agent, which is already listening."""
    from torch import distributed

    wait = datetime.timedelta(seconds=_timeout())
    try:
        store: Store = distributed.TCPStore(host, port, is_master=False, timeout=wait)
        return store
    except (OSError, RuntimeError) as error:
        raise InitError(
            "init",
            f"store of torchrun's agent, port {port} of {host}",
            _first_line(error),
            "run under torchrun, or unset TORCHELASTIC_USE_AGENT_STORE",
        ) from error


def _timeout() -> float:
    """The seconds in which all PEs must have joined: SHMEM_BOOTSTRAP_TIMEOUT."""
    try:
        return float(os.environ.get("SHMEM_BOOTSTRAP_TIMEOUT", "60").removesuffix("s"))
    except ValueError:
        return 60  # the library reports the mistake in it
