"""Passing a unique id among processes that torchrun's variables describe, without a store.

It serves processes that have no store of a torchrun agent. PE 0 listens at the first free one of
the ports above MASTER_PORT: torch picks MASTER_PORT at random, so other programs may have the ports
after it. The other PEs ask at each of these ports until PE 0 of their job replies.

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

# How long PE 0 waits for the request on a connection.
_QUESTION_S = 5.0
# How long another PE waits for a reply: at first, and at most. That PE doubles the time while no
# reply comes, because PE 0 may be on a busy machine.
_ANSWER_S = 1.0
_MOST_S = 8.0


class Meeting(NamedTuple):
    """Where the processes of a job meet, and which job it is."""

    host: str
    port: int  # MASTER_PORT
    job: str

    @property
    def ports(self) -> range:
        """The ports at which PE 0 may listen."""
        return range(self.port + 1, min(self.port + PORTS, 65535) + 1)

    def token(self, side: str) -> bytes:
        """The 32 bytes of the request ("question") or the reply ("answer") of this job."""
        import hashlib  # imported here as socket is: most programs need neither

        return hashlib.sha256(f"shmem {side} {self.port} {self.job}".encode()).digest()

    def __str__(self) -> str:
        return f"ports {self.ports[0]} to {self.ports[-1]} of {self.host}"


def hand_out(at: Meeting, uid: bytes, n: int, until: float) -> None:
    """Gives the id to the n other PEs. PE 0 calls it; until is a time of time.monotonic."""
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
                connection, _ = server.accept()
            except OSError:
                continue  # the time is over, or a PE has disconnected, which connects again
            with connection:
                served += _serve(connection, at, uid, until)


def _serve(connection: socket.socket, at: Meeting, uid: bytes, until: float) -> bool:
    """Sends the id to a peer, and returns whether the peer is a PE of the job that has got it."""
    question = at.token("question")
    try:
        connection.settimeout(_QUESTION_S)
        if _read(connection, len(question)) != question:
            return False
        # A PE of the job may be slow, so it has until the end to confirm that it has the id.
        connection.settimeout(max(until - time.monotonic(), 0.001))
        connection.sendall(at.token("answer") + uid)
        return connection.recv(1) == b"+"
    except OSError:
        return False  # a PE of the job connects again


def _listen(at: Meeting, backlog: int) -> socket.socket:
    """A socket of PE 0 that listens at the first free port."""
    import socket

    # A name may have another address here than elsewhere (127.0.1.1 on Debian), so PE 0 listens at
    # all addresses, except in a job of one machine.
    one_machine = at.host == "localhost" or at.host.startswith("127.")
    dual_stack = not one_machine and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if dual_stack else socket.AF_INET
    cause: OSError | None = None
    for port in at.ports:
        try:
            address = ("127.0.0.1" if one_machine else "", port)
            return socket.create_server(
                address, family=family, backlog=backlog, dualstack_ipv6=dual_stack
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
    """Gets the id from PE 0, which may not listen yet. until is a time of time.monotonic."""
    timeout, cause = _ANSWER_S, ""
    while (begin := time.monotonic()) < until:
        for port in at.ports:
            found = _ask(at, port, until, timeout)
            if isinstance(found, str):
                # The error reports the first port, at which PE 0 most likely listens.
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
        if time.monotonic() - begin > timeout:  # a port may have replied too late
            timeout = min(2 * timeout, _MOST_S)
        time.sleep(0.02)  # PE 0 may not listen yet
    raise InitError("init", str(at), f"PE 0 was not found there: {cause}", "start RANK 0, too")


def _ask(at: Meeting, port: int, until: float, timeout: float) -> socket.socket | str:
    """A connection to PE 0 of this job, which sends the id next; or, as text, why there is none.

    The connection and the reply may each take timeout seconds. All attempts end at the time until.
    """
    import socket

    answer = at.token("answer")
    try:
        left = max(min(until - time.monotonic(), timeout), 0.001)
        connection = socket.create_connection((at.host, port), timeout=left)
    except OSError as error:
        return str(error)
    try:
        connection.sendall(at.token("question"))
        if _read(connection, len(answer)) == answer:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            return connection
        cause = "the listener there is not PE 0 of this job"
    except OSError as error:
        cause = str(error)
    connection.close()
    return cause


def _read(connection: socket.socket, n: int) -> bytes:
    """n bytes, or fewer if the peer has closed the connection."""
    got = b""
    while len(got) < n and (more := connection.recv(n - len(got))):
        got += more
    return got
