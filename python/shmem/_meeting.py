"""Passing a unique id among processes that torchrun's variables describe, without a store.

It serves processes that have no store of a torchrun agent. PE 0 listens at the first free one of
the ports above MASTER_PORT: torch picks MASTER_PORT by chance, so other programs may have the next
ones. The other PEs ask at each of these ports until one replies for their job.

A request is 32 bytes derived from the job. The reply is 32 other bytes and the id. A last byte of
the PE that has asked confirms that the id has arrived. Any process that reaches the port can join,
as with torch's own store.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from shmem._errors import InitError

if TYPE_CHECKING:
    import socket

ID_BYTES = 128

# How many ports above MASTER_PORT PE 0 tries.
PORTS = 16

# How long PE 0 waits for the request of a connection. How long another PE waits for a reply: at
# first, and at most, because PE 0 may be on a busy machine.
_QUESTION_S = 5.0
_ANSWER_S = 1.0
_MOST_S = 8.0


class Meeting(NamedTuple):
    """Where the processes of a job meet, and which job it is."""

    host: str
    port: int  # MASTER_PORT
    job: str

    @property
    def ports(self) -> range:
        return range(self.port + 1, min(self.port + PORTS, 65535) + 1)

    def token(self, side: str) -> bytes:
        import hashlib  # imported here as socket is: most programs need neither

        return hashlib.sha256(f"shmem {side} {self.port} {self.job}".encode()).digest()

    def __str__(self) -> str:
        return f"ports {self.ports[0]} to {self.ports[-1]} of {self.host}"


def hand_out(at: Meeting, uid: bytes, n: int, until: float) -> None:
    """Gives the id to n other PEs, which may connect until then (time.monotonic)."""
    with _listen(at, n) as server:
        served = 0
        while served < n:
            if (left := until - time.monotonic()) <= 0:
                raise InitError(
                    "init",
                    f"port {server.getsockname()[1]} of {at.host}",
                    f"{served} of {n} other PEs came",
                    "start all of WORLD_SIZE",
                )
            server.settimeout(left)
            try:
                one, _ = server.accept()
            except OSError:
                continue  # a PE that disconnected connects again
            with one:
                served += _serve(one, at, uid, until)


def _serve(one: socket.socket, at: Meeting, uid: bytes, until: float) -> bool:
    """Whether the peer was a PE of the job, and has received the id."""
    question = at.token("question")
    try:
        one.settimeout(_QUESTION_S)
        if _read(one, len(question)) != question:
            return False
        # A PE of the job may be slow, so it has until the end to confirm that it has the id.
        one.settimeout(max(until - time.monotonic(), 0.001))
        one.sendall(at.token("answer") + uid)
        return one.recv(1) == b"+"
    except OSError:
        return False


def _listen(at: Meeting, backlog: int) -> socket.socket:
    """A socket that listens at the first free port."""
    import socket

    # A name may have another address here than elsewhere (127.0.1.1 on Debian), so PE 0 listens at
    # all addresses, except in a job of one machine.
    here = at.host == "localhost" or at.host.startswith("127.")
    both = not here and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    cause: OSError | None = None
    for port in at.ports:
        try:
            address = ("127.0.0.1" if here else "", port)
            return socket.create_server(
                address, family=family, backlog=backlog, dualstack_ipv6=both
            )
        except OSError as error:
            cause = error
        # If PE 0 of another job with the same variables has the port, the PEs of both jobs would
        # ask there first, and join that job.
        found = _ask(at, port, time.monotonic() + _ANSWER_S, _ANSWER_S)
        if not isinstance(found, str):
            found.close()
            raise InitError(
                "init",
                f"port {port} of {at.host}",
                "PE 0 of a job that has the same variables listens there",
                "give each job a MASTER_PORT of its own",
            )
    raise InitError(
        "init", str(at), f"cannot listen there: {cause}", "set another MASTER_PORT, or pass store="
    )


def fetch(at: Meeting, until: float) -> bytes:
    """Gets the id from PE 0, which may not listen yet."""
    timeout, cause = _ANSWER_S, ""
    while (begin := time.monotonic()) < until:
        for port in at.ports:
            found = _ask(at, port, until, timeout)
            if isinstance(found, str):
                cause = found if port == at.ports[0] else cause
                continue
            with found:
                try:
                    uid = _read(found, ID_BYTES)
                    if len(uid) == ID_BYTES:
                        found.sendall(b"+")
                        return uid
                except OSError as error:
                    cause = str(error)
        if time.monotonic() - begin > timeout:
            timeout = min(2 * timeout, _MOST_S)
        time.sleep(0.02)
    raise InitError("init", str(at), f"PE 0 was not found there: {cause}", "start RANK 0, too")


def _ask(at: Meeting, port: int, until: float, timeout: float) -> socket.socket | str:
    """A connection on which the id comes, or the reason why there is none."""
    import socket

    answer = at.token("answer")
    try:
        left = max(min(until - time.monotonic(), timeout), 0.001)
        one = socket.create_connection((at.host, port), timeout=left)
    except OSError as error:
        return str(error)
    try:
        one.sendall(at.token("question"))
        if _read(one, len(answer)) == answer:
            one.settimeout(max(until - time.monotonic(), 0.001))
            return one
        cause = "the listener there is not PE 0 of this job"
    except OSError as error:
        cause = str(error)
    one.close()
    return cause


def _read(one: socket.socket, n: int) -> bytes:
    """n bytes, or fewer if the peer has closed the connection."""
    got = b""
    while len(got) < n and (more := one.recv(n - len(got))):
        got += more
    return got
