"""`python -m shmem.perf`: the program shmem-perf, which measures how long operations take.

It takes the same command line (docs/guides/perf.md), and works in a job, too.
"""

from __future__ import annotations

import os
import sys

from shmem import _library


def main() -> int:
    """Becomes the program; returns 1 where there is none."""
    tool = _library.command("shmem-perf")
    if tool is None:
        print("shmem.perf: shmem-perf is missing (install the complete library)", file=sys.stderr)
        return 1
    os.execv(tool, [str(tool), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
