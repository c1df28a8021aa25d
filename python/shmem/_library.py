"""Finds libshmem.so and loads it; nothing is loaded before the first init."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from shmem import _abi
from shmem._errors import LibraryError, VersionError

FILE = "libshmem.so"
KERNELS = "libshmem_kernels.fatbin"
_NVSHMEM = ("include/nvshmem.h", "lib/libnvshmem_host.so.3")  # what an NVSHMEM_HOME contains
_PACKAGE = Path(__file__).resolve().parent


def _nothing() -> bytes | None:
    """Stands for the library's function shmemi_init_error until a library is loaded."""
    return None


_init_error: Callable[[], bytes | None] = _nothing  # the function of the loaded library


def installed(package: str) -> bool:
    """Whether a package of another project can be imported."""
    spec = importlib.util.find_spec(package)
    # A folder of that name in the module path would be found, too, but has no origin.
    return spec is not None and spec.origin is not None


def candidates() -> list[Path]:
    """The places where the library may be, in order; the system's loader comes after these."""
    found = []
    # A program that runs under shmemrun uses the library that belongs to shmemrun.
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            found.append(Path(folder) / FILE)
    found.append(_PACKAGE / "lib" / FILE)  # a wheel
    found.append(_PACKAGE.parent.parent / "build" / "lib" / FILE)  # a source tree
    return found


def find(library: str | os.PathLike[str] | None = None) -> str:
    """The library to load: as named, or the first candidate, or the loader's choice."""
    if library is not None:
        return os.fspath(library)
    for path in candidates():
        if path.is_file():
            return str(path)
    return FILE


def command(name: str) -> Path | None:
    """A command of the library that shmem.init would load, else the one in PATH."""
    ours = Path(find()).resolve().parent.parent / "bin" / name
    found = str(ours) if ours.is_file() else shutil.which(name)
    return Path(found) if found else None


def nvshmem_path() -> str:
    """Return the folder that the build files of NVSHMEM programs call NVSHMEM_HOME.

    It has include/nvshmem.h, lib/libnvshmem_host.so.3 and bin/nvshmem-info. The folder of the
    library that `init` would load comes first.

    Returns
    -------
    str
        The path of the folder.

    Raises
    ------
    LibraryError
        There is no such folder.
    """
    looked = []
    for library in candidates():
        prefix = library.parent.parent
        for home in (prefix / "share" / "nvshmem", prefix):
            looked.append(str(home))
            if all((home / file).exists() for file in _NVSHMEM):
                return str(home)
    raise LibraryError(
        "find",
        "nvshmem.h",
        f"not below {', '.join(looked)}",
        "install the wheel, or put the lib of a make install into LD_LIBRARY_PATH",
    )


class Loaded:
    """One loaded library, with two ways of calling it.

    A call by `waiting` releases the interpreter's lock, so that other Python threads can run. A
    call by `quick` keeps it: releasing it and taking it again costs more than a store into a
    neighbour's memory, and a thread that takes it in between keeps it for 5 ms. Only calls that
    cannot wait are quick.
    """

    def __init__(self, path: str) -> None:
        handle = _open(path)
        self.path = path
        # The file with the kernels of calls on streams is beside the library; lacks is its path if
        # a build has left it out, else "". It is "" also if the system's loader has found the
        # library, since the folder is then not known.
        beside = Path(path).with_name(KERNELS)
        self.lacks = str(beside) if os.path.dirname(path) and not beside.exists() else ""
        self.name = _name(handle)
        _compare(self.name, path)
        self.waiting = _abi.Library(handle)
        self._keeping = ctypes.PyDLL(path)
        self.quick = _abi.Library(self._keeping)
        global _init_error
        function = self._keeping["shmemi_init_error"]
        function.restype = ctypes.c_char_p
        _init_error = function

    def private(self, name: str) -> int:
        """Calls a private function of the library, which has no parameters; returns its int."""
        function = self._keeping[name]
        function.restype = ctypes.c_int
        return int(function())

    def untyped(self, name: str) -> Callable[..., None]:
        """A function for quick calls, whose arguments are objects of ctypes, or ints as C's int.

        ctypes does not convert these, which is half of the cost of a typed call.
        """
        function = self._keeping[name]
        function.restype = None
        return function


def init_error() -> tuple[str, str]:
    """Why the last init or unique id of the loaded library failed, and the remedy."""
    text = (_init_error() or b"").decode(errors="replace")
    cause, found, remedy = text.removesuffix(")").rpartition(" (")
    if not found or not text.endswith(")"):
        return text or "the library gives no cause", "see python -m shmem.doctor"
    return cause, remedy


def _open(path: str) -> ctypes.CDLL:
    """Loads a library: a path, or a name that the system's loader searches for."""
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        if os.path.sep in path:
            cause, remedy = str(error), "name the library of this package's version"
        else:
            looked = ", ".join(map(str, candidates()))
            cause = f"not found: not at {looked}, and the loader says: {error}"
            remedy = "install the wheel, pass library= to shmem.init, or set LD_LIBRARY_PATH"
        raise LibraryError("load", path, cause, remedy) from None


def _name(handle: ctypes.CDLL) -> str:
    """The name and version that the library gives itself (shmem_info_get_name)."""
    text = ctypes.create_string_buffer(_abi.SHMEM_MAX_NAME_LEN)
    try:
        handle.shmem_info_get_name(text)
    except AttributeError:
        return "no OpenSHMEM library"
    return text.value.decode(errors="replace")


def _compare(name: str, path: str) -> None:
    """Refuses a library of another version than this package: its calls may differ."""
    if name != _abi.SHMEM_VENDOR_STRING:
        raise VersionError(
            "load",
            path,
            f"it is {name}, and this package is for {_abi.SHMEM_VENDOR_STRING}",
            "install both from one release, or name another library",
        )
