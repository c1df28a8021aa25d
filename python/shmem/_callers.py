"""The line of the program from which a call of the library came, for the library's reports.

When the library reports a long wait or ends the job, it calls _name in a thread of its own. So the
program's calls do not become slower.
"""

from __future__ import annotations

import ctypes
import os
import sys
from types import FrameType

from shmem._library import Loaded

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NAMER = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t)


def _is_own(frame: FrameType) -> bool:
    """Whether the frame runs code of this package."""
    return os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE)


def _function(frame: FrameType) -> str:
    """The public name of a function of the package."""
    module = str(frame.f_globals.get("__name__", "shmem"))
    parts = [part for part in module.split(".") if not part.startswith("_")]
    code = frame.f_code
    return ".".join([*parts, getattr(code, "co_qualname", code.co_name)])  # 3.11 has the class


def describe(frame: FrameType | None) -> str:
    """The line that called the package, such as `shmem.zeros at train.py:12`.

    frame is the innermost frame of a thread; "" if it does not run code of the package.
    """
    called = None
    while frame is not None and _is_own(frame):
        called, frame = frame, frame.f_back
    if called is None:
        return ""
    if frame is None:
        return _function(called)
    path = os.path.abspath(frame.f_code.co_filename)
    near = os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    return f"{_function(called)} at {near}:{frame.f_lineno}"


def _name(thread: int, text: int, size: int) -> None:
    """Writes the caller's line of a thread, a C string, to the size bytes at the address text.

    The thread is named as by threading.get_ident. An error, such as that of getcwd in a folder that
    was removed, leaves the bytes as they are: the library then reports without the line.
    """
    # Threads that Python has not made, such as the library's, have no frame.
    try:
        line = describe(sys._current_frames().get(thread)).encode(errors="replace")[: size - 1]
        ctypes.memmove(text, line + b"\0", len(line) + 1)
    except (ValueError, OSError):
        return


_namer = _NAMER(_name)


def begin(loaded: Loaded) -> None:
    """Lets the library call _name from now on."""
    loaded.untyped("shmemi_set_caller")(_namer)


def end(loaded: Loaded) -> None:
    """Stops the library from calling _name, because the interpreter ends."""
    loaded.untyped("shmemi_set_caller")(None)
