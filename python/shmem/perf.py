"""`python -m shmem.perf`: the program shmem-perf, which measures how long operations take.

It takes the arguments of shmem-perf (docs/guides/perf.md), and also works as the program of a job.
"""

from __future__ import annotations

import os
import sys

from shmem import _library


def main() -> int:
    """Replaces this process by shmem-perf; returns 1 if it is missing."""
    tool = _library.command("shmem-perf")
    if tool is None:
        print("shmem.perf: shmem-perf is missing (install the complete library)", file=sys.stderr)
        return 1
    os.execv(tool, [str(tool), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
