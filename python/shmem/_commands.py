"""The commands of a wheel: each becomes the program of its name beside the library."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Runs the program of the name by which this one was started."""
    name = Path(sys.argv[0]).name
    program = Path(__file__).resolve().parent / "bin" / name
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: {program}: {error.strerror} (install the wheel anew)")
