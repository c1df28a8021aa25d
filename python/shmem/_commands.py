"""The commands of a wheel: each runs the library's program of the same name, in shmem/bin."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the program that has the name of the command (argv[0])."""
    name = Path(sys.argv[0]).name
    program = Path(__file__).resolve().parent / "bin" / name
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {program}: {error.strerror} (install the wheel anew)")
