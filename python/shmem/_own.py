"""Objects of this process alone, which are not copied."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from shmem._errors import ArgumentError

_Self = TypeVar("_Self", bound="Own")


class Own:
    """A copy is the object itself: a second one would not learn when it is destroyed."""

    _kind: str  # its name in messages

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, _memo: object) -> _Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ArgumentError(
            "pickle",
            repr(self),
            "it is this process's own",
            f"make the {self._kind} where it is needed",
        )
