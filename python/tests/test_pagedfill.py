"""examples/pagedfill in Python: pages of servers, refusals, and a client that is killed."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from launch import ROOT, SHMEMRUN, prints, run

EXAMPLE = ROOT / "examples" / "pagedfill" / "pagedfill.py"
Done = CompletedProcess[str]

# A client that misbehaves, in place of the example's own.
LIAR = f"""
import os, signal, sys, time
sys.path.insert(0, {str(EXAMPLE.parent)!r})
import numpy as np, shmem
from pagedfill import *
what = sys.argv.pop(1)
o = arguments()
join(o)
memory = Memory(o)
pages = np.zeros(o.pages, PAGE)
pages["index"] = np.arange(o.pages) // o.buffers
pages["buffer"] = np.arange(o.pages) % o.buffers

def message(pages=pages, magic=MAGIC, size=o.page_bytes, notify=memory.notify, n=None, repeats=1):
    n = len(pages) if n is None else n
    context, seed, flags = 0xC0FFEE, 7, 0
    head = REQUEST.pack(magic, context, seed, size, notify, n, repeats, flags)
    return np.frombuffer(head + pages.tobytes(), "u1").copy()

def refused(m, cause, tag=TAG_REQUEST):
    shmem.send(m, tag, 0)
    answer = np.zeros(ANSWER.size, "u1")
    shmem.recv(answer, TAG_ANSWER, 0)
    no, _, _, text = ANSWER.unpack(answer.tobytes())
    assert no == 1 and cause in text.decode(), (cause, text)

if what == "vanish":
    shmem.send(message(repeats=50), TAG_REQUEST, 0)
    shmem.notify_wait(memory.notify, o.pages // 4)
    os.kill(os.getpid(), signal.SIGKILL)
bad = pages.copy()
refused(message()[:0], "0 bytes are too few")
refused(message()[:31], "31 bytes are too few")
refused(message()[:-1], "but says")
# A request of the greatest size has 32 bytes and 8 for each of 65536 pages.
refused(np.zeros(32 + 8 * 65536 + 1, "u1"), "524321 bytes are more than the 524320")
refused(message(), "a message of tag 9", tag=9)
refused(message(magic=1), "it begins with 0x00000001")
refused(message(n=0), "but says 0 pages")
refused(message(n=2**32 - 1), "but says 4294967295 pages")
refused(message(size=0), "its pages have 0 bytes")
refused(message(size=9), "its pages have 9 bytes")
refused(message(size=2**32 - 8), "its pages have 4294967288 bytes")
refused(message(notify=memory.notify + o.servers), "is not the job's")
refused(message(repeats=0), "it asks for 0 repeats")
bad[1]["buffer"] = o.buffers
refused(message(bad), f"page 1 has buffer {{o.buffers}}")
bad = pages.copy()
bad[2]["index"] = memory.nbytes // o.page_bytes
refused(message(bad), f"page 2 has index {{bad[2]['index']}}")
assert shmem.notify_fetch(memory.notify) == 0 and not any(b.any() for b in memory.buffers)
client = Client(o, memory)
client.run()
client.leave()
shmem.finalize()
"""


def job(tmp_path: Path, *commands: list[str], clients: int, **settings: str) -> list[Done]:
    """Runs commands at the same time: their arguments to shmemrun and to Python."""
    options = ["--id", str(tmp_path / "id"), "--clients", str(clients), "--pages", "40"]

    def one(command: list[str]) -> Done:
        host = "servers" if "serve" in command else "clients"
        python = [sys.executable, *command[1:]]
        argv = [str(SHMEMRUN), "-n", command[0], "--timeout", "60", "--", *python, *options]
        return run(*argv, SHMEM_ON_FAILURE="return", SHMEM_HOST_ID=host, **settings)

    with ThreadPoolExecutor(len(commands)) as threads:
        return list(threads.map(one, commands))


def succeeded(done: Done, clients: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    line = r"^client PE \d+: 3 rounds of 40 pages of 65536 bytes: every byte verified, [\d.]+ GB/s$"
    assert len(re.findall(line, done.stdout, re.MULTILINE)) == clients, done.stdout


def test_pages(tmp_path: Path) -> None:
    """Between two hosts, with memory of the program and figures."""
    more = ["--own-memory", "--measure", "1", "--servers", "2"]
    serve = ["2", str(EXAMPLE), "serve", *more]
    client = ["2", str(EXAMPLE), "client", *more]
    servers, asked = job(tmp_path, serve, client, clients=2, SHMEM_PROVIDER="tcp")
    assert servers.returncode == 0, servers.stderr
    succeeded(asked, 2)
    assert asked.stdout.count("(medians of 1)") == 2, asked.stdout


@pytest.mark.full
def test_last_word(tmp_path: Path) -> None:
    """The last page announces all where the network keeps its order, and is refused elsewhere."""
    serve = ["2", str(EXAMPLE), "serve", "--last-word", "--servers", "2"]
    client = ["2", str(EXAMPLE), "client", "--last-word", "--servers", "2", "--measure", "1"]
    servers, asked = job(tmp_path, serve, client, clients=2, SHMEM_PROVIDER="tcp")
    assert servers.returncode == 0, servers.stderr
    succeeded(asked, 2)
    server, asked = job(
        tmp_path,
        ["1", str(EXAMPLE), "serve", "--last-word"],
        ["1", str(EXAMPLE), "client", "--last-word"],
        clients=1,
        SHMEM_PROVIDER="tcp",
        SHMEM_CHAOS="3",  # the network then keeps no order
    )
    assert "refuse a request of PE 1: the path to PE 1 keeps no order" in server.stderr
    assert asked.returncode == 1 and "PE 0 refused the request: the path" in asked.stderr


def test_lies_and_losses(tmp_path: Path) -> None:
    """The server refuses by name, and outlives a client."""
    server, asked, vanished, liar = job(
        tmp_path,
        ["1", str(EXAMPLE), "serve"],
        ["1", str(EXAMPLE), "client"],
        ["1", "-c", LIAR, "vanish", "client", "--first", "1"],
        ["1", "-c", LIAR, "lies", "client", "--first", "2"],
        clients=3,
        SHMEM_PROVIDER="tcp",
    )
    assert server.returncode == 0, server.stdout + server.stderr
    succeeded(asked, 1)
    succeeded(liar, 1)
    assert vanished.returncode == 128 + 9, vanished.stdout + vanished.stderr
    assert server.stderr.count("client PE 2 is lost; the others are served") == 1, server.stderr
    # Each call of refused in LIAR.
    assert server.stderr.count("refuse a request of PE 3: ") == 15, server.stderr


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["serve", "--pages", "0"], "invalid number from 1 to 1048576 value: '0'"),
        (["serve", "--page-bytes", "12"], "--page-bytes is not a multiple of 8"),
        (["serve", "--servers", "2"], "1 PEs are not --servers or --clients"),
    ],
)
def test_arguments(tmp_path: Path, options: list[str], cause: str) -> None:
    argv = [str(SHMEMRUN), "-n", "1", "--", sys.executable, str(EXAMPLE), *options]
    done = run(*argv, "--id", str(tmp_path / "id"), SHMEM_ON_FAILURE="return")
    assert done.returncode == 2 and cause in done.stderr, done.stderr


def test_one_protocol() -> None:
    """Sizes, numbers and the bytes of a page are those of protocol.h."""
    header = (EXAMPLE.parent / "protocol.h").read_text()
    sizes = re.findall(r"sizeof\((?:request|page|answer)\) == (\d+)", header)
    factors = [int(x, 16) for x in re.findall(r"\* (0x[0-9a-f]{16})", header)]
    shift = re.search(r"x >> (\d+)", header)
    assert len(sizes) == 3 and len(factors) == 2 and shift is not None
    key, index, n = 2**63 + 5, 3, 6  # pages of 48 bytes
    words = []
    for i in range(index * n, index * n + n):
        x = ((key + 1) * factors[0] + i * factors[1]) % 2**64
        words.append(str(x ^ (x >> int(shift[1]))))
    program = f"""
import sys
sys.path.insert(0, {str(EXAMPLE.parent)!r})
import numpy as np
from pagedfill import *
words = np.zeros({n}, "u8")
stream_page(words, {key}, {index})
print(REQUEST.size, PAGE.itemsize, ANSWER.size, hex(MAGIC), *words)
"""
    assert prints(program).split() == [*sizes, "0x4c494650", *words]
    assert "MAGIC = 0x4c494650;" in header
