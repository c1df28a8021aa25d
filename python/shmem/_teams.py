"""Teams: sets of PEs with their own numbering, for collectives."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from shmem import _abi
from shmem._errors import ArgumentError
from shmem._own import Own
from shmem._protocols import StreamLike
from shmem._runtime import after_finalize, integer, library, refuse, settle, state
from shmem._streams import stream_of


class _Config(ctypes.Structure):
    """shmem_team_config_t of shmem.h."""

    _fields_ = [("num_contexts", ctypes.c_int)]


class Team(Own):
    """A set of PEs with its own numbering, for collectives.

    `Team.world()` and `Team.shared()` are predefined; a split makes others, and returns None on PEs
    that are not in the new team. A copy of a team is the team itself.

    Parameters
    ----------
    handle : int
        The library's number of the team, inside the package.
    call : str
        The call that makes it.

    Attributes
    ----------
    my_pe : int
        The number of this PE in the team.
    n_pes : int
        The number of its PEs.
    """

    _kind = "team"

    def __init__(self, handle: int, call: str) -> None:
        functions = library(call)
        self._handle: int | None = handle
        self.my_pe = functions.shmem_team_my_pe(handle)
        self.n_pes = functions.shmem_team_n_pes(handle)
        self._members: list[int] = []  # what members() has found, or empty
        self._turn = state.turn  # the number of the job that the team belongs to
        _teams[handle] = self

    @staticmethod
    def world() -> Team:
        """Return the team of every PE of the job.

        Returns
        -------
        Team
            The team.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        """
        return _always(_abi.SHMEM_TEAM_WORLD, "Team.world")

    @staticmethod
    def shared() -> Team:
        """Return the team of the PEs of this PE's node.

        Returns
        -------
        Team
            The team.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        """
        return _always(_abi.SHMEM_TEAM_SHARED, "Team.shared")

    def __repr__(self) -> str:
        if self._handle is None:
            return "<shmem.Team that was destroyed>"
        return f"<shmem.Team: PE {self.my_pe} of {self.n_pes}>"

    def handle(self, call: str) -> int:
        """The library's number of the team."""
        if state.count == 0:
            raise refuse(call)
        if self._handle is None:
            if self._turn != state.turn:
                raise ArgumentError(
                    call, "team", "it is of an earlier job", "make it after the init of this job"
                )
            raise ArgumentError(call, "team", "it was destroyed", "use one that is there")
        return self._handle

    def translate_pe(self, pe: int, team: Team) -> int | None:
        """Return the number that a PE of this team has in another team.

        Parameters
        ----------
        pe : int
            Its number in this team.
        team : Team
            The other team.

        Returns
        -------
        int or None
            Its number there; None if it is not in that team.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The team was destroyed, or a number is not in it.
        """
        call = "Team.translate_pe"
        functions = library(call)
        source, target = self.handle(call), team_handle(call, team)[0]
        number = functions.shmem_team_translate_pe(source, integer(call, "pe", pe), target)
        return None if number < 0 else number

    def members(self) -> list[int]:
        """Return the numbers that its PEs have among all PEs.

        Returns
        -------
        list of int
            The numbers, in the order of the team.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The team was destroyed, or a number is not in it.
        """
        call = "Team.members"
        functions, handle = library(call), self.handle(call)
        if not self._members:
            translate, world = functions.shmem_team_translate_pe, _abi.SHMEM_TEAM_WORLD
            self._members = [translate(handle, pe, world) for pe in range(self.n_pes)]
        return list(self._members)

    def split_strided(
        self, start: int, stride: int, size: int, *, num_contexts: int | None = None
    ) -> Team | None:
        """Make a team of PEs that are the same distance apart. All PEs of this one call it.

        Parameters
        ----------
        start : int
            The first PE, by its number in this team.
        stride : int
            The distance from a PE to the next, in numbers of this team.
        size : int
            The number of PEs.
        num_contexts : int, optional
            The largest number of contexts that the team will have.

        Returns
        -------
        Team or None
            The new team; None on a PE that is not in it.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The team was destroyed, or a number is not in it.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        call = "Team.split_strided"
        functions = library(call)
        config, mask = _config(call, num_contexts)
        start, stride = integer(call, "start", start), integer(call, "stride", stride)
        size = integer(call, "size", size)
        made = ctypes.c_int(_abi.SHMEM_TEAM_INVALID)
        failed = functions.shmem_team_split_strided(
            self.handle(call),
            start,
            stride,
            size,
            ctypes.addressof(config),
            mask,
            ctypes.addressof(made),
        )
        settle(call)
        if failed:
            raise _unusable(call, f"start {start}, stride {stride}, size {size}")
        return _team(made, call)

    def split_2d(
        self, xrange: int, *, num_contexts: int | None = None
    ) -> tuple[Team | None, Team | None]:
        """Lay the PEs out in rows, and make teams of rows and columns.

        All PEs of this team call it.

        Parameters
        ----------
        xrange : int
            The length of a row.
        num_contexts : int, optional
            The largest number of contexts that the team will have.

        Returns
        -------
        tuple of Team or None
            The teams of this PE's row and column.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The team was destroyed, or a number is not in it.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        call = "Team.split_2d"
        functions = library(call)
        config, mask = _config(call, num_contexts)
        xrange = integer(call, "xrange", xrange)
        at = ctypes.addressof(config)
        row, column = (ctypes.c_int(_abi.SHMEM_TEAM_INVALID) for _ in range(2))
        if xrange < 1:
            raise _unusable(call, f"xrange {xrange}")
        failed = functions.shmem_team_split_2d(
            self.handle(call),
            xrange,
            at,
            mask,
            ctypes.addressof(row),
            at,
            mask,
            ctypes.addressof(column),
        )
        settle(call)
        if failed:
            raise _unusable(call, f"xrange {xrange}")
        return _team(row, call), _team(column, call)

    def sync(self, *, stream: StreamLike | None = None) -> None:
        """Wait until every PE of the team has called it; it completes only plain stores.

        Parameters
        ----------
        stream : StreamLike, optional
            The CUDA stream on which the call is queued; "current" is torch's.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The team was destroyed, or a number is not in it.
        DeviceError
            `stream` cannot be used with this heap.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        call = "Team.sync"
        functions, handle = library(call), self.handle(call)
        if stream is not None:
            functions.shmemx_team_sync_on_stream(handle, stream_of(call, stream))
            return
        functions.shmem_team_sync(handle)
        settle(call)

    def destroy(self) -> None:
        """Destroy the team and its contexts. All of its PEs call it together.

        Raises
        ------
        StateError
            The call is before `init` or after `finalize`.
        ArgumentError
            The team was destroyed, or is predefined.
        PeerError
            A PE is lost, and the job goes on without it.
        """
        call = "Team.destroy"
        handle = self.handle(call)
        if handle in (_abi.SHMEM_TEAM_WORLD, _abi.SHMEM_TEAM_SHARED):
            raise ArgumentError(call, "team", "it is always there", "destroy what a split made")
        library(call).shmem_team_destroy(handle)
        self._handle = None
        del _teams[handle]
        # The library has destroyed the team's contexts with it, and ends the job if a program uses
        # one of them: so they are marked as destroyed here.
        for step in after_destroy:
            step(handle)
        settle(call)


_teams: dict[int, Team] = {}  # by handle


def _always(handle: int, call: str) -> Team:
    """A predefined team."""
    library(call)
    return _teams.get(handle) or Team(handle, call)


# The functions to call with a team's handle when the library has destroyed the team.
after_destroy: list[Callable[[int], None]] = []


def _config(call: str, num_contexts: int | None) -> tuple[_Config, int]:
    """The configuration of a new team, and the mask that says which members of it count."""
    if num_contexts is None:
        return _Config(0), 0
    number = integer(call, "num_contexts", num_contexts)
    if number < 0:
        raise ArgumentError(call, f"num_contexts {number}", "is negative", "use 0 or more")
    return _Config(number), _abi.SHMEM_TEAM_NUM_CONTEXTS


def _team(made: ctypes.c_int, call: str) -> Team | None:
    """The Team of a handle that the library has stored; None on a PE outside of the team."""
    return None if made.value == _abi.SHMEM_TEAM_INVALID else Team(made.value, call)


def _unusable(call: str, what: str) -> ArgumentError:
    """The error for a split with these numbers, which the library has refused."""
    return ArgumentError(
        call,
        what,
        "the team has no such PEs, or there is no room for another team",
        "pass numbers that are in the team, and destroy teams that are not used",
    )


def team_handle(call: str, team: Team | None) -> tuple[int, int]:
    """The handle of a team, or of all PEs, and the number of its PEs."""
    if team is None:
        return _abi.SHMEM_TEAM_WORLD, state.n_pes
    if not isinstance(team, Team):
        raise ArgumentError(call, f"team {team!r}", "is not a team", "pass a shmem.Team")
    return team.handle(call), team.n_pes


def find(call: str, handle: int) -> Team:
    """The Team of a handle, such as an operator of shmem.torch has it."""
    if handle in _teams:
        return _teams[handle]
    if handle == _abi.SHMEM_TEAM_WORLD:
        return Team.world()
    raise ArgumentError(call, f"team {handle}", "there is none", "use one that is there")


def _end_all() -> None:
    """After finalize, in which the library has destroyed all teams."""
    for team in _teams.values():
        team._handle = None
    _teams.clear()


after_finalize.append(_end_all)
