"""Servers write pages into the memory of clients that ask for them: README.md explains it.

export SHMEM_ON_FAILURE=return
shmemrun -n 1 python pagedfill.py serve --id /tmp/job17 --clients 2 &
shmemrun -n 2 python pagedfill.py client --id /tmp/job17 --clients 2

The messages and the bytes are those of the program in C++ (protocol.h).
"""

from __future__ import annotations

import argparse
import os
import statistics
import struct
import sys
import time
from pathlib import Path

import numpy as np
import shmem
from numpy.typing import NDArray

TAG_REQUEST, TAG_ANSWER, TAG_LEAVE = 1, 2, 3
MAGIC = 0x4C494650
MAX_PAGES, MAX_REPEATS, MAX_PAGE_BYTES = 65536, 1000, 1 << 20
REQUEST = struct.Struct(
    "=IIQIIIHH"
)  # magic, context, seed, page bytes, counter, pages, repeats, flags
FLAG_UNFILLED, FLAG_LAST_WORD = 1, 2
ANSWER = struct.Struct("=III228s")  # refused, context, writes, text
PAGE = np.dtype([("buffer", "u4"), ("index", "u4")])

Bytes = NDArray[np.uint8]
Pages = NDArray[np.void]


class Refused(Exception):
    """Raised when a request is refused; the text is the cause."""


def stream_page(words: NDArray[np.uint64], key: int, index: int) -> None:
    """Fills words with page number index, counted in pages of this size, of a key's stream."""
    first = index * len(words)
    begin = (key + 1) * 0xD1342543DE82EF95 + first * 0x9E3779B97F4A7C15
    np.multiply(np.arange(len(words), dtype="u8"), np.uint64(0x9E3779B97F4A7C15), out=words)
    words += np.uint64(begin % 2**64)
    words ^= words >> np.uint64(29)


def last_word(context: int) -> int:
    """The word that the last page of a request brings with FLAG_LAST_WORD."""
    return 1 << 32 | context


def say(text: str) -> None:
    sys.stderr.write(f"pagedfill: PE {shmem.my_pe()}: {text}\n")


def arguments() -> argparse.Namespace:
    def number(least: int, most: int) -> type[int]:
        def read(text: str) -> int:
            value = int(text)
            if not least <= value <= most:
                raise ValueError
            return value

        read.__name__ = f"number from {least} to {most}"
        return read  # type: ignore[return-value]

    p = argparse.ArgumentParser(prog="pagedfill", description=__doc__.splitlines()[0])
    p.add_argument("role", choices=["serve", "client"])
    p.add_argument("--id", required=True, type=Path, help="a new file for the unique ID of the job")
    p.add_argument("--servers", type=number(1, 1000), default=1)
    p.add_argument("--clients", type=number(1, 1000), default=1)
    p.add_argument("--first", type=number(0, 999), default=0, help="first client of this command")
    p.add_argument("--page-bytes", type=number(8, MAX_PAGE_BYTES), default=65536)
    p.add_argument("--pages", type=number(1, 1 << 20), default=1000)
    p.add_argument("--buffers", type=number(1, 1000), default=2)
    p.add_argument("--own-memory", action="store_true", help="buffers are registered")
    p.add_argument(
        "--last-word", action="store_true", help="the last page brings a word, and none counts"
    )
    p.add_argument("--rounds", type=number(1, 1000), default=3)
    p.add_argument("--measure", type=number(0, 1000), default=0, help="compare with writes alone")
    p.add_argument("--seed", type=number(0, 2**63), default=1)
    o = p.parse_args()
    if o.page_bytes % 8 != 0:
        p.error("--page-bytes is not a multiple of 8")
    place, n = os.environ.get("SHMEM_LAUNCHER_PE"), os.environ.get("SHMEM_LAUNCHER_NPES")
    if place is None or n is None:
        p.error("no launcher gave this process a number (start it by shmemrun)")
    if os.environ.get("SHMEM_ON_FAILURE") != "return":
        p.error("a server would end with its first lost client (set SHMEM_ON_FAILURE=return)")
    if int(n) != o.servers if o.role == "serve" else o.first + int(n) > o.clients:
        p.error(f"{n} PEs are not --servers or --clients (let shmemrun -n and the options agree)")
    o.me = int(place) if o.role == "serve" else o.servers + o.first + int(place)
    return o


def join(o: argparse.Namespace) -> None:
    """Makes the processes of all commands one job."""
    if o.me == 0:
        uid = shmem.get_uniqueid()
        part = o.id.with_name(o.id.name + ".part")
        part.unlink(missing_ok=True)
        # Only this user may read the file: with the ID any process could join the job. link makes
        # it appear with its whole content, and never replaces a file of another job.
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
            f.write(uid)
        try:
            os.link(part, o.id)
        finally:
            part.unlink()
    else:
        end = time.monotonic() + 60
        while not o.id.exists():
            if time.monotonic() > end:
                sys.exit(f"pagedfill: PE {o.me}: no server has written {o.id} within 60 s")
            time.sleep(0.01)
        uid = o.id.read_bytes()
    try:
        shmem.init(uid=uid, pe=o.me, n_pes=o.servers + o.clients)
    finally:
        if o.me == 0:
            o.id.unlink(missing_ok=True)


class Memory:
    """The symmetric buffers of a PE, and its notification counters, one for each server."""

    def __init__(self, o: argparse.Namespace) -> None:
        each = -(-o.pages // o.buffers) * o.page_bytes
        self.nbytes = -(-each // 4096) * 4096
        self.buffers: list[Bytes] = []
        for _ in range(o.buffers):
            if o.own_memory:
                self.buffers.append(shmem.register(np.zeros(self.nbytes, "u1")))
            else:
                self.buffers.append(shmem.empty(self.nbytes, "u1"))
        self.words = shmem.zeros(o.servers, "u8")  # of the last pages, by server
        self.notify = shmem.notify_alloc(o.servers)
        self.clients = shmem.Team.world().split_strided(o.servers, 1, o.clients)

    def place(self, page: np.void, page_bytes: int) -> Bytes:
        """The bytes of a page in its buffer."""
        at = int(page["index"]) * page_bytes
        return self.buffers[page["buffer"]][at : at + page_bytes]


class Server:
    """Checks a request whole before its first page is written."""

    HALF = 2 * MAX_PAGE_BYTES  # bytes: several pages travel at once even if each has the most

    def __init__(self, o: argparse.Namespace, memory: Memory) -> None:
        self.o, self.memory = o, memory
        self.gone = {pe: False for pe in range(o.servers, o.servers + o.clients)}
        self.capacity = REQUEST.size + MAX_PAGES * PAGE.itemsize
        self.message: Bytes = np.zeros(self.capacity, "u1")
        # One half is filled while the pages of the other travel.
        self.halves = [(np.zeros(self.HALF, "u1"), shmem.Context()) for _ in range(2)]
        self.which, self.used = 0, 0  # the half that is being filled, and its bytes in use
        # With FLAG_LAST_WORD all pages go on one context: there is no order between contexts.
        self.in_order = False

    def run(self) -> None:
        while not all(self.gone.values()):
            try:
                self.take()
            except shmem.PeerError:
                self.note_losses()
            except shmem.SizeError:
                # No other message of this client comes before the one that is too long. The next
                # receive has room for it, or for another client's, which is served.
                self.message = np.zeros(2 * len(self.message), "u1")

    def take(self) -> None:
        """Receives one message and handles it."""
        m = shmem.recv(self.message)
        if m.tag == TAG_LEAVE and m.pe in self.gone:
            self.gone[m.pe] = True
            return
        context = 0
        try:
            if m.nbytes > self.capacity:
                self.message = np.zeros(self.capacity, "u1")
                raise Refused(
                    f"{m.nbytes} bytes are more than the {self.capacity} of {MAX_PAGES} pages"
                )
            if m.tag != TAG_REQUEST or m.pe not in self.gone:
                raise Refused(f"a message of tag {m.tag} of PE {m.pe} is none of this protocol")
            if m.nbytes < REQUEST.size:
                raise Refused(
                    f"{m.nbytes} bytes are too few (a request has {REQUEST.size} and its pages)"
                )
            head = REQUEST.unpack(self.message[: REQUEST.size].tobytes())
            context = head[1]
            pages = self.checked(head, m.nbytes, m.pe)
        except Refused as e:
            self.refuse(m.pe, context, str(e))
            return
        repeats, flags = head[6:]
        if self.in_order != (flags & FLAG_LAST_WORD != 0):
            self.quiet(0)
            self.quiet(1)
            self.in_order = not self.in_order
        for left in reversed(range(repeats)):
            if not self.write(pages, m.pe, head, left == 0):
                return
        self.reply(m.pe, ANSWER.pack(0, context, len(pages) * repeats, b""))

    def checked(self, head: tuple[int, ...], nbytes: int, pe: int) -> Pages:
        """The pages that a request lists, after a check of all that it says."""
        magic, _, _, page_bytes, counter, npages, repeats, flags = head
        first, size = self.memory.notify, self.memory.nbytes
        if magic != MAGIC:
            raise Refused(f"it begins with 0x{magic:08x} (a request begins with 0x{MAGIC:08x})")
        if npages == 0 or nbytes != REQUEST.size + npages * PAGE.itemsize:
            raise Refused(f"it has {nbytes} bytes, but says {npages} pages (8 bytes each, and 32)")
        most = min(size, MAX_PAGE_BYTES)
        if page_bytes == 0 or page_bytes % 8 != 0 or page_bytes > most:
            raise Refused(f"its pages have {page_bytes} bytes (a multiple of 8, up to {most})")
        if not first <= counter < first + self.o.servers:
            raise Refused(f"notification {counter} is not the job's")
        if not 1 <= repeats <= MAX_REPEATS or flags > FLAG_UNFILLED | FLAG_LAST_WORD:
            raise Refused(f"it asks for {repeats} repeats (1 to {MAX_REPEATS}), flags {flags}")
        if flags & FLAG_LAST_WORD and not shmem.put_ordered(pe):
            raise Refused(
                f"the path to PE {pe} keeps no order, so the word of the last page may come "
                "before other pages (ask for notifications)"
            )
        pages = self.message[REQUEST.size : nbytes].view(PAGE).copy()
        for name, end in ("buffer", len(self.memory.buffers)), ("index", size // page_bytes):
            bad = np.flatnonzero(pages[name] >= end)
            if len(bad) > 0:
                value = pages[name][bad[0]]
                raise Refused(f"page {bad[0]} has {name} {value} (there are 0 to {end - 1})")
        return pages

    def write(self, pages: Pages, pe: int, head: tuple[int, ...], last: bool) -> bool:
        """Writes each page once; False when the client is lost."""
        _, word, seed, page_bytes, counter, _, _, flags = head
        for i, page in enumerate(pages):
            source, context = self.stage(page_bytes)
            if not flags & FLAG_UNFILLED:
                key = seed + int(page["buffer"])
                stream_page(source.view("u8"), key, int(page["index"]))
            dest = self.memory.place(page, page_bytes)
            try:
                if not flags & FLAG_LAST_WORD:
                    shmem.put_nbi(dest, source, pe, context=context, notify=counter)
                elif not last or i + 1 < len(pages):
                    shmem.put_nbi(dest, source, pe, context=context)
                else:
                    signal = self.memory.words[self.o.me : self.o.me + 1]
                    shmem.put_signal_nbi(dest, source, signal, last_word(word), pe, context=context)
            except shmem.PeerError:
                self.note_losses()
            if self.gone[pe]:
                return False
        return True

    def stage(self, nbytes: int) -> tuple[Bytes, shmem.Context]:
        """Memory for the next page, and the context to write it on."""
        if self.used + nbytes > self.HALF:
            self.which, self.used = 1 - self.which, 0
            self.quiet(self.which)
        self.used += nbytes
        memory = self.halves[self.which][0]
        return memory[self.used - nbytes : self.used], self.context(self.which)

    def context(self, half: int) -> shmem.Context:
        return self.halves[0 if self.in_order else half][1]

    def quiet(self, half: int) -> None:
        try:
            self.context(half).quiet()
        except shmem.PeerError:
            # It may be another client than the one that is served now, whose pages go on.
            self.note_losses()

    def note_losses(self) -> None:
        for pe in self.gone:
            if not self.gone[pe] and not shmem.pe_accessible(pe):
                self.gone[pe] = True
                say(f"client PE {pe} is lost; the others are served")

    def refuse(self, pe: int, context: int, cause: str) -> None:
        say(f"refuse a request of PE {pe}: {cause}")
        self.reply(pe, ANSWER.pack(1, context, 0, cause.encode()[:227]))  # a zero follows

    def reply(self, pe: int, answer: bytes) -> None:
        """Sends an answer, or drops it: a client that receives none must not block the server."""
        try:
            if not shmem.send_test(np.frombuffer(answer, "u1"), TAG_ANSWER, pe):
                say(f"answer PE {pe}: it has too many answers that it has not received")
        except shmem.PeerError:
            self.note_losses()


class Client:
    def __init__(self, o: argparse.Namespace, memory: Memory) -> None:
        self.o, self.memory = o, memory
        self.number = 0
        indices = np.zeros(o.pages, PAGE)
        indices["buffer"] = np.arange(o.pages) % o.buffers
        indices["index"] = np.arange(o.pages) // o.buffers
        shares = [indices[s :: o.servers] for s in range(o.servers)]
        self.shares = [x for x in shares if len(x) > 0]

    def run(self) -> None:
        o, nbytes = self.o, self.o.pages * self.o.page_bytes
        took = sum(self.round(verify=True) for _ in range(o.rounds))
        print(
            f"client PE {o.me}: {o.rounds} rounds of {o.pages} pages of {o.page_bytes} bytes: "
            f"every byte verified, {nbytes * o.rounds / took / 1e9:.3f} GB/s"
        )
        # With a request for each round; with one for all; and that without filling pages. They
        # alternate, so that all find the machine in the same state.
        figures: list[list[float]] = [[], [], []]
        for _ in range(o.measure):
            self.together()
            figures[0].append(sum(self.round() for _ in range(o.rounds)))
            self.together()
            figures[1].append(self.round(o.rounds))
            self.together()
            figures[2].append(self.round(o.rounds, unfilled=1))
        if o.measure > 0:
            rates = [nbytes * o.rounds / statistics.median(f) / 1e9 for f in figures]
            ratios = [
                statistics.median(t / s for t, s in zip(f, figures[0], strict=True))
                for f in figures
            ]
            print(
                f"client PE {o.me}: paged fill {rates[0]:.3f} GB/s; without requests "
                f"{rates[1]:.3f} GB/s, ratio {ratios[1]:.3f}; the writes alone {rates[2]:.3f} "
                f"GB/s, ratio {ratios[2]:.3f} (medians of {o.measure})"
            )

    def together(self) -> None:
        """Waits for the other clients, so that all measure at the same time; not if one is lost."""
        try:
            if self.memory.clients is not None:
                self.memory.clients.sync()
        except shmem.PeerError:
            pass

    def leave(self) -> None:
        for s in range(self.o.servers):
            try:
                shmem.send(np.zeros(0, "u1"), TAG_LEAVE, s)
            except shmem.PeerError:
                say(f"leave server PE {s}: it is lost")

    def round(self, repeats: int = 1, *, unfilled: int = 0, verify: bool = False) -> float:
        """Requests all pages, repeats times; returns the seconds until the last one is there."""
        o, self.number = self.o, self.number + 1
        rng = np.random.default_rng((o.seed, o.me, self.number))
        # A context and a seed for each server, so that bytes of an earlier round are wrong.
        asked = [(int(rng.integers(2**32)), int(rng.integers(2**62))) for _ in self.shares]
        flags = unfilled * FLAG_UNFILLED | o.last_word * FLAG_LAST_WORD
        if o.last_word:
            self.memory.words[:] = 0
        begun = time.monotonic()
        for s, (context, seed) in enumerate(asked):
            pages, counter = self.shares[s], self.memory.notify + s
            head = REQUEST.pack(
                MAGIC, context, seed, o.page_bytes, counter, len(pages), repeats, flags
            )
            message = np.frombuffer(head + pages.tobytes(), "u1")
            self.again(s, lambda m=message, s=s: shmem.send(m, TAG_REQUEST, s))
        for s, (context, _) in enumerate(asked):
            self.receive(s, context, len(self.shares[s]) * repeats)
        for s, (context, _) in enumerate(asked if o.last_word else []):
            self.announced(s, last_word(context))
        for s, pages in enumerate([] if o.last_word else self.shares):
            want, counter = len(pages) * repeats, self.memory.notify + s
            while shmem.notify_fetch(counter) < want:
                self.again(s, lambda c=counter, w=want: shmem.notify_wait(c, w))
        took = time.monotonic() - begun
        for s, (_, seed) in enumerate(asked):
            self.finish(s, seed, len(self.shares[s]) * repeats, verify)
        return took

    def announced(self, server: int, word: int) -> None:
        """Waits for the word of the last page, which comes behind all others."""
        signal = self.memory.words[server : server + 1]
        while signal[0] != word:
            self.again(server, lambda: shmem.wait_until(signal, "==", word))

    def again(self, server: int, call: object) -> None:
        """Makes a call that the loss of any PE may end early; exits if the server is lost."""
        try:
            call()  # type: ignore[operator]
        except shmem.PeerError:
            if not shmem.pe_accessible(server):
                sys.exit(f"pagedfill: PE {self.o.me}: server PE {server} is lost")

    def receive(self, server: int, context: int, writes: int) -> None:
        answer: Bytes = np.zeros(ANSWER.size, "u1")
        self.again(server, lambda: shmem.recv(answer, TAG_ANSWER, server))
        refused, is_context, is_writes, text = ANSWER.unpack(answer.tobytes())
        if refused:
            cause = text.rstrip(b"\0").decode(errors="replace")
            sys.exit(f"pagedfill: PE {self.o.me}: server PE {server} refused the request: {cause}")
        if (is_context, is_writes) != (context, writes):
            sys.exit(
                f"pagedfill: PE {self.o.me}: the answer of PE {server} has context "
                f"0x{is_context:08x} and {is_writes} pages instead of 0x{context:08x} and {writes}"
            )

    def finish(self, server: int, seed: int, writes: int, verify: bool) -> None:
        counter = self.memory.notify + server
        count = shmem.notify_fetch(counter)
        if count != (0 if self.o.last_word else writes):
            sys.exit(f"pagedfill: PE {self.o.me}: {count} notifications, and {writes} pages")
        shmem.notify_reset(counter)
        words = np.zeros(self.o.page_bytes // 8, "u8")
        for page in self.shares[server] if verify else ():
            stream_page(words, seed + int(page["buffer"]), int(page["index"]))
            if not np.array_equal(self.memory.place(page, self.o.page_bytes), words.view("u1")):
                sys.exit(
                    f"pagedfill: PE {self.o.me}: page {page} is not what server {server} fills"
                )


def main() -> None:
    o = arguments()
    join(o)
    memory = Memory(o)
    if o.role == "serve":
        Server(o, memory).run()
    else:
        client = Client(o, memory)
        client.run()
        client.leave()
    shmem.finalize()


if __name__ == "__main__":
    main()
