"""Init, finalize, and the state that every call checks: the job, and the near PEs.

Importing this module starts nothing. In the child of a fork every call raises an error; the parent
is as before.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import warnings
from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from shmem import _abi, _callers, _start
from shmem._environment import environment
from shmem._errors import (
    ArgumentError,
    ForkedError,
    InitError,
    PeerError,
    PEError,
    ShmemError,
    StateError,
)
from shmem._library import Loaded, find, init_error
from shmem._settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack  # Python has it from 3.11 on

_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class _State:
    """The job of this process."""

    def __init__(self) -> None:
        self.loaded: Loaded | None = None
        self.count = 0  # inits without a matching finalize; 0: there is no job
        self.turn = 0  # the number of the job: how many this process has joined
        self.forked = False  # this process is the child of a fork after init
        self.ended = False  # a job was finalized, and there is no new one yet
        self.pe = -1
        self.n_pes = 0
        self.heap = "host"  # SHMEM_HEAP, with "host" for "auto"
        # The PEs for quick calls: loads and stores reach them. Empty if a call may fail and return
        # an error.
        self.near: set[int] = set()
        self.survives = False  # SHMEM_ON_FAILURE=return: the job goes on after the loss of a PE
        self.failed = False  # since init the library has reported an error to a thread


class _Lock:
    """A lock that the child of a fork replaces: the thread that held it does not exist there."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    renew = __init__


state = _State()
lock = _Lock()
_failure = threading.local()

# Functions to call after init, and before and after the C library's finalize, registered by the
# modules that own them.
after_init: list[Callable[[], None]] = []
before_finalize: list[Callable[[], None]] = []
after_finalize: list[Callable[[], None]] = []


def _forked() -> None:
    """Called in the child of a fork."""
    lock.renew()
    state.forked = True
    state.count = 0
    state.near.clear()


def refuse(call: str) -> ShmemError:
    """The error for a call that cannot be made now."""
    if state.forked:
        return ForkedError(
            call,
            f"in process {os.getpid()}",
            "it was forked after shmem.init, and has no place in the job",
            "use symmetric memory in the parent only; children may read copies",
        )
    if not state.ended:
        return StateError(call, "", "called before shmem.init", "call shmem.init first")
    remedy = "call shmem.init again, and make arrays, teams and contexts anew"
    if call == "finalize":
        remedy = "call it once for each shmem.init"
    return StateError(call, "", "called after shmem.finalize", remedy)


def library(call: str) -> _abi.Library:
    """The library's functions, for a call that may wait: it releases the interpreter's lock."""
    if state.count == 0 or state.loaded is None:
        raise refuse(call)
    return state.loaded.waiting


def quick(call: str) -> _abi.Library:
    """The library's functions, for a call that cannot wait: it keeps the interpreter's lock."""
    if state.count == 0 or state.loaded is None:
        raise refuse(call)
    return state.loaded.quick


def untyped(name: str) -> Callable[..., None]:
    """A function for quick calls without conversion of the arguments (Loaded.untyped)."""
    assert state.loaded is not None
    return state.loaded.untyped(name)


def whole(value: Any) -> int | None:
    """A whole number of any kind, as an int; None for anything else.

    A narrow number of numpy's must not be added to an address: numpy makes the sum a number of the
    narrow type.
    """
    try:
        return index(value)
    except TypeError:
        return None


def integer(call: str, name: str, value: Any) -> int:
    """An argument that the library takes as C's int; ctypes would cut off bits that do not fit."""
    number = whole(value)
    if number is None or not -(1 << 31) <= number < 1 << 31:
        raise ArgumentError(
            call, f"{name}={value!r}", "is not an int of 32 bits", f"pass {name} as such an int"
        )
    return number


def check_pe(call: str, pe: SupportsIndex, n_pes: int | None = None, name: str = "pe") -> int:
    """The number of a PE; an error unless it is one of n_pes PEs, by default of the job.

    name is the name of the argument.
    """
    n = state.n_pes if n_pes is None else n_pes
    number = whole(pe)
    if number is None:
        raise PEError(
            call, f"{name}={pe!r}", "is not a PE number", f"pass {name} as an int from 0 to {n - 1}"
        )
    if not 0 <= number < n:
        raise PEError(
            call, f"{name}={number}", f"there are {n} PEs", f"pass {name} from 0 to {n - 1}"
        )
    return number


# ------------------------------------------------------------------ lost PEs


def _note(error: int, pe: int, text: bytes | None, _arg: int | None) -> None:
    """The library's error handler: keeps the error for settle, in the thread of the call."""
    if error in (_abi.SHMEMX_ERROR_BUFFER, _abi.SHMEMX_ERROR_MESSAGE):
        return  # register and recv check the error themselves
    _failure.error = (error, pe, (text or b"").decode(errors="replace"))
    state.failed = True


_handler = _HANDLER(_note)


def settle(call: str) -> None:
    """Raises the error that the library has reported to this thread, if there is one."""
    error = getattr(_failure, "error", None)
    if error is None:
        return
    _failure.error = None
    _code, pe, text = error
    raise PeerError(call, f"PE {pe}" if pe >= 0 else "", text, "go on with the others", pe)


# ------------------------------------------------------------- init, finalize


def _load(call: str, library: str | os.PathLike[str] | None) -> Loaded:
    """The library, which the first call loads. The caller has the lock."""
    if state.loaded is None:
        state.loaded = Loaded(find(library))
        _callers.begin(state.loaded)
        os.register_at_fork(after_in_child=_forked)
        atexit.register(_at_exit)
    elif library is not None and find(library) != state.loaded.path:
        raise StateError(
            call,
            os.fspath(library),
            f"{state.loaded.path} is loaded already",
            "a process has one library",
        )
    return state.loaded


def load(call: str, library: str | os.PathLike[str] | None) -> Loaded:
    """The library, for calls that need no job."""
    with lock:
        if state.forked:
            raise refuse(call)
        return _load(call, library)


def get_uniqueid(*, library: str | os.PathLike[str] | None = None) -> bytes:
    """Make the id of a job, for `init(uid=..., pe=..., n_pes=...)` of each PE.

    One process calls it, usually PE 0, before `init`; it must live until the job is over. A process
    that knows the id can join the job.

    Parameters
    ----------
    library : str or os.PathLike, optional
        The libshmem.so to load.

    Returns
    -------
    bytes
        The id, of 128 bytes.

    Raises
    ------
    InitError
        The library cannot make one.
    LibraryError
        libshmem.so was not found, or cannot be loaded.
    ForkedError
        The process was forked after `init`.
    StateError
        Another library is loaded already.
    """
    with lock:
        if state.forked:
            raise refuse("get_uniqueid")
        return _start.make_id(_load("get_uniqueid", library).waiting)


def init(
    *,
    library: str | os.PathLike[str] | None = None,
    pe: int | None = None,
    n_pes: int | None = None,
    uid: bytes | None = None,
    store: _start.Store | None = None,
    group: Any = None,
    comm: Any = None,
    **settings: Unpack[Settings],
) -> Job:
    """Join the job; every PE calls it, and it returns when all PEs have called it.

    `with shmem.init():` calls `finalize` at the end of the block. After an exception in a job of
    several PEs it does not, because `finalize` would wait for the others: the exception then ends
    the process, and with it the job.

    Under shmemrun, mpirun, srun or Hydra the job is the launcher's; under torchrun its variables
    describe the job; without a launcher the job is this process alone. `uid`, `store`, `group` or
    `comm` selects another job, the same on all PEs.

    Each call counts: the library stays in use until `finalize` has been called as many times.

    Parameters
    ----------
    library : str or os.PathLike, optional
        The libshmem.so to load.
    pe : int, optional
        The number of this PE, with `uid` or `store`.
    n_pes : int, optional
        The number of PEs, with `uid` or `store`.
    uid : bytes, optional
        The id that `get_uniqueid` has made on one of the PEs.
    store : Store, optional
        A store of torch.distributed; without `pe` and `n_pes`, RANK and WORLD_SIZE stand for them.
    group : ProcessGroup or True, optional
        A process group of torch.distributed; True is the default one.
    comm : mpi4py.MPI.Comm, optional
        A communicator of mpi4py.
    **settings : Settings
        The library's settings: environment variables without SHMEM_ and in lower case, as in
        `shmem.init(symmetric_size="64m")`. A setting overrides the variable, unless it is None.

    Returns
    -------
    Job
        A context manager that calls `finalize`.

    Raises
    ------
    InitError
        The PE could not join the job.
    ArgumentError
        There is no such setting, or the arguments do not belong together.
    LibraryError
        libshmem.so was not found, or cannot be loaded.
    VersionError
        The library is of another version than this package.
    StateError
        The library is in use already, and the call has arguments.
    ForkedError
        The process was forked after `init`.
    """
    with lock:
        if state.forked:
            raise refuse("init")
        start = _start_of(pe, n_pes, uid, store, group, comm)
        if state.count > 0:
            if settings or library is not None or start is not None:
                raise StateError(
                    "init", "", "the library is in use already", "pass settings to the first init"
                )
            state.count += 1
            _warn_in_session()
            return Job()
        loaded = _load("init", library)
        with environment(settings):
            if start is None and _start.torchrun():
                start = _start.by_torchrun(state.turn)
            _join(loaded, start or _plain)
    return Job()


class Job:
    """The result of init: a context manager that calls finalize."""

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if state.count > 0 and (kind is None or state.n_pes == 1):
            finalize()

    def __repr__(self) -> str:
        return f"PE {state.pe} of {state.n_pes}" if state.count > 0 else "a job that is over"


def _warn_in_session() -> None:
    """Warns of a second init in an interactive session, where it is a cell that was run again.

    In a program a second init is a nested one, and needs no warning.
    """
    ipython = sys.modules.get("IPython")
    if hasattr(sys, "ps1") or (ipython is not None and ipython.get_ipython() is not None):
        warnings.warn(
            f"shmem.init: the library is in use already, by PE {state.pe} of {state.n_pes}; call "
            f"shmem.finalize {state.count} times to leave the job",
            stacklevel=3,  # the program's call of init
        )


def _start_of(
    pe: int | None,
    n_pes: int | None,
    uid: bytes | None,
    store: _start.Store | None,
    group: Any,
    comm: Any,
) -> _start.Start | None:
    """How to start the job that the arguments of init select; None if they select none."""
    choices = {"uid": uid, "store": store, "group": group, "comm": comm}
    given = [name for name, value in choices.items() if value is not None]
    if len(given) > 1:
        raise ArgumentError("init", " and ".join(given), "are given together", "pass one of them")
    numbered = uid is not None or store is not None
    if not numbered and (pe is not None or n_pes is not None):
        raise ArgumentError("init", "pe, n_pes", "belong to uid= and store=", "leave them out")
    if not numbered:
        if group is not None:
            return _start.by_group(group)
        return None if comm is None else _start.by_communicator(comm)
    if uid is None and pe is None and n_pes is None:
        pe, n_pes = _start.place()
    place, size = whole(pe), whole(n_pes)
    if place is None or size is None or not 0 <= place < size:
        raise ArgumentError(
            "init", f"pe={pe!r}, n_pes={n_pes!r}", "is not a place in a job", "pass 0 <= pe < n_pes"
        )
    if uid is not None:
        return _start.by_id(uid, place, size)
    assert store is not None
    return _start.by_store(store, _start.key(state.turn), place, size)


def _plain(functions: _abi.Library) -> int:
    """Starts the job of the launcher, or a job of this process alone; returns the status."""
    # 0 is NULL: the level that the library grants is at least the one that is asked for.
    return functions.shmem_init_thread(_abi.SHMEM_THREAD_MULTIPLE, 0)


def _join(loaded: Loaded, start: _start.Start) -> None:
    """Joins a job, and fills in the state. The caller has the lock."""
    # The library takes these words in upper and in lower case.
    heap = (os.environ.get("SHMEM_HEAP") or "auto").lower()
    survives = (os.environ.get("SHMEM_ON_FAILURE") or "").lower() == "return"
    # Arrays are numpy's, in main memory, unless the program requests others. With "auto" the
    # library would put the heap into GPU memory if an extension of the program has kernels for it.
    chosen = {"heap": "host"} if heap == "auto" else {}
    with environment(chosen):
        failed = start(loaded.waiting) != 0
    if failed:
        # A process that multiprocessing has spawned runs the program again, up to this init, before
        # multiprocessing itself can report that the program lacks a main guard.
        is_child = any("from multiprocessing." in word for word in sys.orig_argv)
        cause, remedy = init_error()
        if is_child:
            remedy = (
                'a process that a PE starts is not a PE: call init under if __name__ == "__main__"'
            )
        raise InitError("init", "", cause, remedy)
    state.turn += 1
    state.pe = loaded.waiting.shmem_my_pe()
    state.n_pes = loaded.waiting.shmem_n_pes()
    state.heap = "host" if chosen else heap
    state.survives = survives
    state.failed = False
    if survives:
        # The handler uses no arg, which is 0. ctypes gives None for an address of 0.
        loaded.waiting.shmemx_set_error_handler(
            ctypes.cast(_handler, ctypes.c_void_p).value or 0, 0
        )
    state.near.clear()
    state.count = 1
    state.ended = False
    for step in after_init:
        step()


def _at_exit() -> None:
    """Has the job finalized for a program that ends with success without a call of finalize.

    Only the C library finds out how the program ends. The job is not finalized if daemon threads
    may be in calls, or if kernels may still read the memory of a GPU.
    """
    if state.loaded is None:
        return
    _callers.end(state.loaded)
    if state.count == 0:
        return
    if state.heap == "device" or threading.active_count() > 1:
        return
    # No handler (NULL): Python has ended when the library finalizes the job.
    state.loaded.waiting.shmemx_set_error_handler(0, 0)
    state.loaded.waiting.shmemx_finalize_at_exit()


def finalize() -> None:
    """Complete all communication and leave the job; every PE calls it.

    Arrays that still exist keep their values, in memory of this process alone. A wait for memory in
    another thread ends with a StateError.

    For a program that ends with success without it, `finalize` is called at exit, unless the
    program has daemon threads or a heap in GPU memory.

    Raises
    ------
    StateError
        There was no `init`, or as many calls of `finalize` already.
    """
    with lock:
        functions = library("finalize")
        if state.count > 1:
            state.count -= 1
            return
        for step in before_finalize:
            step()
        state.near.clear()
        functions.shmem_finalize()
        state.count = 0
        state.ended = True
        state.pe, state.n_pes = -1, 0
        for step in after_finalize:
            step()
