#!/usr/bin/env python3
"""A server of pages, as a cache of keys and values has them, and clients that come and go.

The server has the pages in its memory, and a table of the keys that have one. Clients, members of a
mesh, copy pages to and from that memory without its program. There is no common start, no launcher,
and no collective allocation.

    pageserver.py serve /tmp/pages.sock secret &
    pageserver.py write /tmp/pages.sock secret 0 1000
    pageserver.py read  /tmp/pages.sock secret 0 1000

The socket stands for a service that programs have anyway: it passes addresses, descriptions of
regions, and places of keys. `secret` is a file that only the processes of the mesh can read.
"""

import argparse
import json
import os
import selectors
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import shmem

PAGE = 64 << 10  # bytes of a page
MOST = 1024  # clients during the life of the server
ONE_CALL = 64  # pages in one call


def content(key: int) -> np.ndarray[Any, Any]:
    """The page that belongs to a key."""
    return np.arange(PAGE // 8, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(key)


def secret_of(file: Path) -> bytes:
    """The secret of the mesh, in a file that others cannot read."""
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        sys.exit(f"{file}: others may read it (chmod 600 {file})")
    return file.read_bytes()


class Line:
    """A socket with one JSON value in each line."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.file = sock.makefile("rw")

    def say(self, **values: Any) -> None:
        print(json.dumps(values), file=self.file, flush=True)

    def hear(self) -> dict[str, Any]:
        if line := self.file.readline():
            return dict(json.loads(line))
        raise EOFError("the other side has closed the connection")


class Server:
    """The pages, the keys, and the members that have come."""

    def __init__(self, secret: bytes, pages: int, provider: str | None) -> None:
        self.mesh = shmem.Mesh(0, MOST, secret=secret, provider=provider, timeout=5)
        self.pages = np.zeros((pages, PAGE), np.uint8)
        # A word for each page: not 0 once its bytes are there. Its writer stores it by a signal.
        self.ready = np.zeros(pages, np.uint64)
        self.regions = [self.mesh.register(memory) for memory in (self.pages, self.ready)]
        self.place: dict[int, int] = {}
        self.members: dict[int, str] = {}

    def answer(self, line: Line, asked: dict[str, Any]) -> None:
        keys = asked.get("keys", [])
        if asked["do"] == "come":  # the first request: which number do I get?
            self.members[len(self.members) + 1] = "here"
            line.say(member=len(self.members), most=MOST)
        elif asked["do"] == "join":
            self.mesh.add(bytes.fromhex(asked["address"]))
            blobs = [region.description.hex() for region in self.regions]
            line.say(address=self.mesh.address.hex(), regions=blobs)
        elif asked["do"] == "place":  # where may I write these keys?
            new = [key for key in keys if key not in self.place]
            if len(self.place) + len(new) > len(self.pages):
                raise ValueError("no page is free")
            for key in new:
                self.place[key] = len(self.place)
            line.say(pages=[self.place[key] for key in keys])
        else:  # where are these keys? None: the page of a key is not written yet
            found = [self.place.get(key) for key in keys]
            line.say(pages=[p if p is not None and self.ready[p] else None for p in found])

    def look(self) -> None:
        """Reports members that have left or are lost, once each."""
        for number, known in self.members.items():
            if known == "here":
                try:
                    self.mesh.check(number)
                except shmem.PeerError as e:
                    self.members[number] = e.cause
                    print(e.cause, flush=True)
                except shmem.ArgumentError:
                    continue  # it has not joined yet

    def serve(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        os.umask(0o077)  # only this user may connect
        listener.bind(str(path))
        listener.listen()
        ready = selectors.DefaultSelector()
        ready.register(listener, selectors.EVENT_READ)
        print("serves", flush=True)
        while True:
            for key, _ in ready.select(timeout=0.2):
                if key.fileobj is listener:
                    sock, _ = listener.accept()
                    ready.register(sock, selectors.EVENT_READ, Line(sock))
                    continue
                try:
                    try:
                        self.answer(key.data, key.data.hear())
                    except (ValueError, KeyError, shmem.ShmemError) as e:
                        key.data.say(error=str(e))
                except (EOFError, OSError):
                    ready.unregister(key.fileobj)
                    key.data.sock.close()
            self.look()


class Client:
    """A member that knows the server's regions."""

    def __init__(self, path: Path, secret: bytes, provider: str | None) -> None:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(path))
        self.line = Line(sock)
        come = self.ask(do="come")
        self.mesh = shmem.Mesh(come["member"], come["most"], secret=secret, provider=provider)
        joined = self.ask(do="join", address=self.mesh.address.hex())
        self.mesh.add(bytes.fromhex(joined["address"]))
        blobs = map(bytes.fromhex, joined["regions"])
        self.pages, self.ready = (self.mesh.import_region(blob) for blob in blobs)

    def ask(self, **values: Any) -> dict[str, Any]:
        self.line.say(**values)
        if "error" in (heard := self.line.hear()):
            sys.exit(f"the server refuses: {heard['error']}")
        return heard

    def write(self, keys: list[int]) -> None:
        """Puts each page, and behind it the word that says that it is there."""
        requests = []
        for key, page in zip(keys, self.ask(do="place", keys=keys)["pages"], strict=True):
            then = shmem.MeshSignal(self.ready, 8 * page, 1)
            requests.append(self.mesh.put(self.pages, [(content(key), PAGE * page)], signal=then))
        for request in requests:
            request.wait()
        self.mesh.flush(0).wait()  # then the pages are in the server's memory

    def read(self, keys: list[int]) -> int:
        """Gets the pages that are there, in one call; returns how many have the right content."""
        pages = self.ask(do="find", keys=keys)["pages"]
        found = {key: p for key, p in zip(keys, pages, strict=True) if p is not None}
        here = np.zeros((len(found), PAGE // 8), np.uint64)
        request = self.mesh.get(
            self.pages, [(here[i], PAGE * p) for i, p in enumerate(found.values())]
        )
        while not request.test():
            time.sleep(0)  # a model would compute meanwhile
        pairs = zip(found, here, strict=True)
        return sum(bool((page == content(key)).all()) for key, page in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["serve", "write", "read"])
    parser.add_argument("socket", type=Path)
    parser.add_argument("secret", type=Path, help="file with 16 bytes or more")
    parser.add_argument("first", type=int, nargs="?", default=0, help="key")
    parser.add_argument("count", type=int, nargs="?", default=1000, help="of keys, or of pages")
    parser.add_argument("--provider", help="of libfabric")
    a = parser.parse_args()
    secret = secret_of(a.secret)
    if a.command == "serve":
        Server(secret, a.count, a.provider).serve(a.socket)
    client, began, right = Client(a.socket, secret, a.provider), time.time(), 0
    for first in range(a.first, a.first + a.count, ONE_CALL):
        keys = list(range(first, min(first + ONE_CALL, a.first + a.count)))
        if a.command == "write":
            client.write(keys)
        else:
            right += client.read(keys)
    done = f"{right} pages are right" if a.command == "read" else f"{a.count} pages written"
    print(f"{done}, {a.count * PAGE / 1e9 / (time.time() - began):.2f} GB/s", flush=True)
    client.mesh.close()


if __name__ == "__main__":
    main()
