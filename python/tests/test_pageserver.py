"""examples/pageserver: clients come, read and write, leave, are killed, or lack the secret."""

import os
import subprocess
import sys
from pathlib import Path

from launch import ROOT, variables

EXAMPLE = ROOT / "examples" / "pageserver" / "pageserver.py"

# A client that stays until it is killed. It writes the page of key 999 for key 998, too.
LASTING = f"""
import sys, time
sys.path.insert(0, {str(EXAMPLE.parent)!r})
from pageserver import *
client = Client(Path(sys.argv[1]) / "s", (Path(sys.argv[1]) / "secret").read_bytes(), "tcp")
client.write([999])
(wrong,) = client.ask(do="place", keys=[998])["pages"]
there = shmem.MeshSignal(client.ready, 8 * wrong, 1)
client.mesh.put(client.pages, [(content(999), PAGE * wrong)], signal=there).wait()
client.mesh.flush(0).wait()
print("written", flush=True)
time.sleep(600)
"""


def start(
    command: str, folder: Path, *more: str, secret: str = "secret"
) -> "subprocess.Popen[str]":
    argv = [str(EXAMPLE), command, str(folder / "s"), str(folder / secret), *more]
    return spawn(*argv, "--provider", "tcp")


def spawn(*argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *argv],
        env=variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ends(process: "subprocess.Popen[str]", wanted: str) -> None:
    text, _ = process.communicate(timeout=120)
    assert text.startswith(wanted), text


def test_clients_come_and_go(tmp_path: Path) -> None:
    for name in ("secret", "other", "open"):
        file = tmp_path / name
        file.write_bytes(os.urandom(32))
        file.chmod(0o644 if name == "open" else 0o600)
    server = start("serve", tmp_path, "0", "3000")
    assert server.stdout
    assert server.stdout.readline() == "serves\n"
    writers = [start("write", tmp_path, str(first), "300") for first in (0, 300)]
    lasting = spawn("-c", LASTING, str(tmp_path))
    assert lasting.stdout
    assert lasting.stdout.readline() == "written\n"
    for writer in writers:
        ends(writer, "300 pages written")
    ends(start("read", tmp_path, "100", "400"), "400 pages are right")
    ends(start("read", tmp_path, "0", "10", secret="other"), "the server refuses: add a member: ")
    ends(start("read", tmp_path, "0", "10", secret="open"), f"{tmp_path / 'open'}: others may read")
    lasting.kill()
    lasting.communicate()
    ends(start("read", tmp_path, "0", "600"), "600 pages are right")
    ends(start("read", tmp_path, "999", "1"), "1 pages are right")
    ends(start("read", tmp_path, "998", "2"), "1 pages are right")
    said = ""
    # The two writers and the four readers that were served have left; `lasting` was killed.
    while "cannot be reached any more" not in said or said.count("has left the mesh") < 6:
        line = server.stdout.readline()
        assert line, said
        said += line
    server.terminate()
    server.communicate(timeout=120)
