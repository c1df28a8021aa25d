"""The exceptions. Each has the operation, the object, the cause and the remedy."""

from __future__ import annotations

from typing import Any


class ShmemError(Exception):
    """The base class of all exceptions of this package. `str` is one line with all parts.

    Parameters
    ----------
    operation : str
        The call that failed.
    subject : str
        The argument or object on which it failed; may be empty.
    cause : str
        Why.
    remedy : str
        What the program or its user can do.
    """

    def __init__(self, operation: str, subject: str, cause: str, remedy: str) -> None:
        super().__init__(operation, subject, cause, remedy)
        self.operation = operation
        self.subject = subject
        self.cause = cause
        self.remedy = remedy

    # The exception's other base class decides which arguments are kept: OSError keeps two.
    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.operation, self.subject, self.cause, self.remedy)
        return type(self), parts, dict(self.__dict__)

    def __str__(self) -> str:
        head = f"{self.operation} {self.subject}".rstrip()
        # Texts of numpy and torch may have several lines.
        return " ".join(f"{head}: {self.cause} ({self.remedy})".split())


class StateError(ShmemError, RuntimeError):
    """A call before init, after finalize, or in a state that does not allow it."""


class ForkedError(StateError):
    """A call in a child of fork(), which is not part of the job."""


class InitError(ShmemError, RuntimeError):
    """The PE could not join the job."""


class LibraryError(ShmemError, ImportError):
    """The library libshmem.so was not found, or cannot be loaded."""


class VersionError(LibraryError):
    """The library and this package are of different versions."""


class HeapError(ShmemError, MemoryError):
    """The symmetric heap has no room.

    Parameters
    ----------
    operation : str
        The call that failed.
    subject : str
        The argument or object on which it failed; may be empty.
    cause : str
        Why.
    remedy : str
        What the program or its user can do.
    nbytes : int, optional
        The bytes that the call requested.
    free : int, optional
        The free bytes of the heap.
    largest : int, optional
        The bytes of its largest free block.
    size : int, optional
        The bytes of the heap.
    """

    def __init__(
        self,
        operation: str,
        subject: str,
        cause: str,
        remedy: str,
        nbytes: int = 0,
        free: int = 0,
        largest: int = 0,
        size: int = 0,
    ) -> None:
        super().__init__(operation, subject, cause, remedy)
        self.nbytes = nbytes
        self.free = free
        self.largest = largest
        self.size = size


class PEError(ShmemError, IndexError):
    """There is no PE of that number."""


class DtypeError(ShmemError, TypeError):
    """An element type that does not fit the other operand, or the operation."""


class SizeError(ShmemError, ValueError):
    """Operands whose lengths or shapes do not fit."""


class LayoutError(ShmemError, ValueError):
    """An operand that is not contiguous although it must be, or cannot be written."""


class SymmetryError(ShmemError, ValueError):
    """An operand that is not in symmetric memory although it must be."""


class RegisterError(ShmemError, ValueError):
    """Memory that cannot become symmetric where it is."""


class FreedError(SymmetryError):
    """An operand in symmetric memory that was freed."""


class ArgumentError(ShmemError, ValueError):
    """Another argument that cannot be used: a comparison, an option, a team."""


class DeviceError(ShmemError, RuntimeError):
    """Memory on the wrong device, or a stream where streams are not possible."""


class WaitTimeoutError(ShmemError, TimeoutError):
    """A wait has taken as long as its timeout= allows. What it waits for may still arrive."""


class PeerError(ShmemError, ConnectionError):
    """A PE of the job was lost, with SHMEM_ON_FAILURE=return.

    Parameters
    ----------
    operation : str
        The call that failed.
    subject : str
        The argument or object on which it failed; may be empty.
    cause : str
        Why.
    remedy : str
        What the program or its user can do.
    pe : int, optional
        The number of the PE; -1 if it is not known.
    """

    def __init__(self, operation: str, subject: str, cause: str, remedy: str, pe: int = -1) -> None:
        super().__init__(operation, subject, cause, remedy)
        self.pe = pe
