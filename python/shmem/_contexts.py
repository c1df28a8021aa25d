"""Contexts: operations with their own order and completion."""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType
from typing import Any

from shmem import _abi
from shmem._errors import ArgumentError, StateError
from shmem._own import Own
from shmem._runtime import after_finalize, library, settle, state
from shmem._teams import Team, after_destroy, team_handle


class Context(Own):
    """A context: operations with their own order and completion.

    `context=` of an operation selects it. On a context of a team, PEs have the numbers that they
    have in the team. A context ends by `destroy`, by a `with` statement, with its team, or at
    `finalize`. A copy of a context is the context itself.

    Parameters
    ----------
    team : Team, optional
        The team; by default all PEs.
    serialized : bool, optional
        Only one thread at a time uses it.
    private : bool, optional
        Only the thread that makes it uses it.
    nostore : bool, optional
        `quiet` and `fence` need not order plain stores.

    Attributes
    ----------
    n_pes : int or None
        The number of PEs of its team; None if it has no team.

    Raises
    ------
    StateError
        The call is before `init` or after `finalize`, or there is no room for another context.
    ArgumentError
        `team` is not a team of this job.
    """

    _kind = "context"

    def __init__(
        self,
        *,
        team: Team | None = None,
        serialized: bool = False,
        private: bool = False,
        nostore: bool = False,
    ) -> None:
        call = "Context"
        functions = library(call)
        team_number = None if team is None else team_handle(call, team)[0]
        options = bool(serialized) * _abi.SHMEM_CTX_SERIALIZED
        options |= bool(private) * _abi.SHMEM_CTX_PRIVATE
        options |= bool(nostore) * _abi.SHMEM_CTX_NOSTORE
        made = ctypes.c_int(_abi.SHMEM_CTX_INVALID)
        at = ctypes.addressof(made)
        if team_number is None:
            failed = functions.shmem_ctx_create(options, at)
        else:
            failed = functions.shmem_team_create_ctx(team_number, options, at)
        settle(call)
        if failed:
            raise StateError(
                call, "", "there is no room for another context", "destroy some that are not used"
            )
        self._handle: int | None = made.value  # None after destroy
        self._team = team_number
        self._turn = state.turn  # the number of the job that the context belongs to
        self.n_pes: int | None = None if team is None else team.n_pes
        self._kept: list[Any] = []
        # An RLock: in a thread that has it, a finalizer may run and use the context.
        self._guard = threading.RLock()
        _contexts.add(self)

    def __repr__(self) -> str:
        return "<shmem.Context that was destroyed>" if self._handle is None else "<shmem.Context>"

    def handle(self, call: str) -> int:
        """The library's number of the context."""
        if self._handle is None:
            if self._turn != state.turn:
                raise ArgumentError(
                    call, "context", "it is of an earlier job", "make it after the init of this job"
                )
            raise ArgumentError(call, "context", "it was destroyed", "use one that is there")
        return self._handle

    def keep(self, operand: Any) -> None:
        """Keeps an operand until the next quiet, since the library may still use it."""
        with self._guard:
            self._kept.append(operand)

    def take(self) -> list[Any]:
        """The operands kept so far, for a quiet that begins after this call and then drops them.

        Operands that another thread has kept meanwhile stay: their operations may not be complete.
        """
        fresh: list[Any] = []
        with self._guard:
            out, self._kept = self._kept, fresh
        return out

    def fence(self) -> None:
        """Order the context's earlier operations to each PE before later ones.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The context was destroyed.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        library("Context.fence").shmem_ctx_fence(self.handle("Context.fence"))
        settle("Context.fence")

    def quiet(self) -> None:
        """Wait until the context's operations are complete.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The context was destroyed.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        functions, handle = library("Context.quiet"), self.handle("Context.quiet")
        kept = self.take()
        functions.shmem_ctx_quiet(handle)
        del kept
        settle("Context.quiet")

    def destroy(self) -> None:
        """Complete the context's operations and destroy it.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The context was destroyed.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        call = "Context.destroy"
        functions = library(call)
        functions.shmem_ctx_destroy(self.handle(call))
        self.end()
        settle(call)

    def end(self) -> None:
        """Removes a context that the library has already destroyed."""
        self._handle = None
        self._kept.clear()
        _contexts.discard(self)

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        """Destroys the context, unless it is destroyed already, or the job is over (count is 0)."""
        if self._handle is not None and state.count:
            self.destroy()


class _Default(Context):
    """The default context, which operations without `context=` use."""

    def __init__(self) -> None:
        self._handle = _abi.SHMEM_CTX_DEFAULT
        self._team = None
        self.n_pes = None
        self._kept = []
        self._guard = threading.RLock()  # as in Context

    def destroy(self) -> None:
        raise ArgumentError(
            "Context.destroy", "the default context", "it is always there", "destroy others"
        )

    def end(self) -> None:
        self._kept.clear()


_contexts: set[Context] = set()  # those that are not destroyed
DEFAULT = _Default()


def handle_of(call: str, context: Context) -> int:
    """The number of a context that a program passed."""
    if not isinstance(context, Context):
        raise ArgumentError(
            call, f"context {context!r}", "is not a context", "pass a shmem.Context"
        )
    return context.handle(call)


def _end_all() -> None:
    """After finalize, in which the library has destroyed all contexts."""
    for context in [*_contexts, DEFAULT]:
        context.end()


def _end_those_of(team: int) -> None:
    """Removes the contexts of a team (its handle), which the library has destroyed with it."""
    for context in [c for c in _contexts if c._team == team]:
        context.end()


after_finalize.append(_end_all)
after_destroy.append(_end_those_of)
