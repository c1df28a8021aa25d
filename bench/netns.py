"""Two network namespaces joined by a pair of virtual interfaces: two hosts."""

import os
import subprocess
import time

DEVICE = "ve0"  # the same name on both sides, as Open MPI's settings need
ADDRESSES = ("198.18.255.1", "198.18.255.2")  # from the range for benchmarks (RFC 2544)
NETWORK = "198.18.255.0/30"


def _ip(*args):
    done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(
            f"bench: ip {' '.join(args)}: {done.stderr.strip()} (namespaces need root; "
            "run as root, or leave the network out with --places node)"
        )
    return done.stdout


class Pair:
    """A context manager: the namespaces exist while it is entered. Needs root."""

    def __init__(self):
        self.names = tuple(f"shmem-bench-{os.getpid()}-{side}" for side in "ab")
        self._made = []

    def __enter__(self):
        try:
            for name in self.names:
                _ip("netns", "add", name)
                self._made.append(name)
            a, b = self.names
            _ip("-n", a, "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", b)
            for name, address in zip(self.names, ADDRESSES):
                _ip("-n", name, "address", "add", f"{address}/30", "dev", DEVICE)
                _ip("-n", name, "link", "set", "lo", "up")
                _ip("-n", name, "link", "set", DEVICE, "up")
            self._await_link()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _await_link(self):
        # UCX reports a peer as unreachable while the interface has no carrier.
        end = time.monotonic() + 5
        while any("state UP" not in _ip("-n", n, "link", "show", DEVICE) for n in self.names):
            if time.monotonic() > end:
                raise SystemExit(f"bench: interface {DEVICE} did not come up within 5 s")
            time.sleep(0.05)
        time.sleep(1)

    def __exit__(self, *_):
        while self._made:
            _ip("netns", "delete", self._made.pop())

    def inside(self, side, argv):
        """argv, run in the namespace of side 0 or 1."""
        return ["ip", "netns", "exec", self.names[side], *argv]
