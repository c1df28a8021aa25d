"""Starts without the library's own launcher."""

import contextlib
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from launch import need_torch, python, run, torch_variables, variables

# The program of every job: each PE writes its number to the next one.
RING = """
def ring():
    me, n = shmem.my_pe(), shmem.n_pes()
    box = shmem.full(1, -1)
    shmem.barrier_all()
    shmem.put(box, [me], pe=(me + 1) % n)
    shmem.barrier_all()
    assert box[0] == (me - 1) % n, box
    print(f"PE {me} of {n}")
"""

# A store as torch's: get waits until the key is there.
STORE = """
import os, time, shmem
class Store:
    def __init__(self, folder):
        self.folder = folder
    def set(self, key, value):
        name = os.path.join(self.folder, key.replace("/", "-"))
        with open(name + ".part", "w") as f:
            f.write(value)
        os.rename(name + ".part", name)
    def get(self, key):
        name = os.path.join(self.folder, key.replace("/", "-"))
        until = time.time() + 60
        while not os.path.exists(name):
            assert time.time() < until, "no process has set " + key
            time.sleep(0.01)
        with open(name, "rb") as f:
            return f.read()
"""


def job(program: str, n: int, *args: str, torch: str = "", **more: str) -> list[str]:
    """Runs n processes side by side, numbered as by torchrun; returns the output of each.

    torch is a Python with torch, for the tests that need it.
    """
    out, errors, all_well = [], [], True
    environment = torch_variables if torch else variables
    running = [
        subprocess.Popen(
            [torch or sys.executable, "-X", "faulthandler", "-c", program, *args],
            env=environment(RANK=str(i), WORLD_SIZE=str(n), **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(n)
    ]
    try:
        for process in running:
            said, error = process.communicate(timeout=240)
            out.append(said)
            errors.append(error)
            all_well = all_well and process.returncode == 0
    finally:
        for process in running:
            process.kill()
    assert all_well, "\n".join(out + errors)
    return out


def free_port() -> int:
    """A port without a listener, as are the next ones.

    The ports are below the range that the kernel assigns by itself.
    """
    while True:
        port = random.randrange(10000, 30000)
        try:
            for each in range(port, port + 5):
                socket.create_server(("127.0.0.1", each)).close()
        except OSError:
            continue
        return port


def test_unique_id(tmp_path: Path) -> None:
    program = (
        STORE
        + RING
        + """
import sys
import threading
import time
rank, size, store = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), Store(sys.argv[1])
if rank == 0:
    store.set("id", shmem.get_uniqueid().hex())
uid = bytes.fromhex(store.get("id").decode())
shmem.init(uid=uid, pe=size - 1 - rank, n_pes=size)
assert shmem.my_pe() == size - 1 - rank
ring()
shmem.finalize()
"""
    )
    assert job(program, 3, str(tmp_path)) == [f"PE {i} of 3\n" for i in (2, 1, 0)]


def test_store(tmp_path: Path) -> None:
    """RANK and WORLD_SIZE are taken from the environment, and jobs follow each other."""
    program = (
        STORE
        + RING
        + """
import sys
import threading
import time
store = Store(sys.argv[1])
for _ in range(2):
    shmem.init(store=store, symmetric_size="8m")
    ring()
    shmem.finalize()
shmem.init(store=store, pe=int(os.environ["RANK"]), n_pes=2)
shmem.init()
ring()
"""
    )
    assert job(program, 2, str(tmp_path)) == [f"PE {i} of 2\n" * 3 for i in (0, 1)]


@pytest.mark.parametrize(("host", "word"), [("localhost", ""), ("127.0.0.1", "auto")])
def test_variables_of_torchrun(host: str, word: str) -> None:
    program = (
        "import shmem\n"
        + RING
        + "for _ in range(2):\n    shmem.init()\n    ring()\n    shmem.finalize()\n"
    )
    address = {"MASTER_ADDR": host, "MASTER_PORT": str(free_port())}
    said = job(program, 3, **address, SHMEM_BOOTSTRAP=word)
    assert said == [f"PE {i} of 3\n" * 2 for i in range(3)]


def test_session_of_torchrun() -> None:
    """A session comes before the store: no process answers at MASTER_ADDR."""
    program = "import shmem\n" + RING + "shmem.init()\nring()\nshmem.finalize()\n"
    nobody = {"MASTER_ADDR": "192.0.2.1", "MASTER_PORT": "29500"}
    session = {
        "SHMEM_BOOTSTRAP_SESSION": f"localhost:{free_port()}",
        "SHMEM_BOOTSTRAP_SECRET": "0123456789abcdef",
    }
    assert job(program, 3, **nobody, **session) == [f"PE {i} of 3\n" for i in range(3)]


def test_taken_ports() -> None:
    """The ports above MASTER_PORT may have other listeners: one that is silent, one that sends
    something else, and one that closes are skipped.
    """
    port = free_port()
    sockets = [socket.create_server(("127.0.0.1", port + 1 + i)) for i in range(3)]

    def answer(server: socket.socket, what: bytes) -> None:
        with contextlib.suppress(OSError):  # until it is closed
            while True:
                one, _ = server.accept()
                with one:
                    one.sendall(what)

    threads = [
        threading.Thread(target=answer, args=(sockets[1], b"HTTP/1.1 400 Bad Request" * 10)),
        threading.Thread(target=answer, args=(sockets[2], b"")),
    ]
    for thread in threads:
        thread.start()
    try:
        program = "import shmem\n" + RING + "shmem.init()\nring()\n"
        said = job(program, 3, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        assert said == [f"PE {i} of 3\n" for i in range(3)]
    finally:
        for each in sockets:
            each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in threads:
            thread.join()


def test_two_jobs_of_the_same_variables() -> None:
    """The second PE 0 reports the first one, whose job goes on."""
    begin = "import shmem\n" + RING + "shmem.init()\nring()\n"
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    with subprocess.Popen(
        [sys.executable, "-c", begin], env=variables(RANK="0", **place), stdout=subprocess.PIPE
    ) as first:
        while not listens(int(place["MASTER_PORT"]) + 1):
            assert first.poll() is None
            time.sleep(0.01)
        second = python(begin, RANK="0", **place)
        assert second.returncode == 1
        assert "PE 0 of a job that has the same variables listens there" in second.stderr
        other = python(begin, RANK="1", **place)
        assert other.stdout == "PE 1 of 2\n", other.stderr
        assert first.communicate()[0] == b"PE 0 of 2\n"


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def play_torch(folder: Path, what: str) -> str:
    """Writes a package torch with some functions, and returns how a program finds it."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("")
    (folder / "torch" / "distributed.py").write_text(STORE + what)
    return f"import sys; sys.path.insert(0, {str(folder)!r})\nimport shmem\n" + RING


def test_store_of_the_agent(tmp_path: Path) -> None:
    """If torchrun's agent listens at MASTER_PORT, its store has the id."""
    program = play_torch(
        tmp_path,
        f"""
def TCPStore(host, port, *, is_master, timeout):
    assert host == "agent" and port == 29500 and not is_master and timeout.seconds == 60
    return Store({str(tmp_path)!r})
""",
    )
    elastic = {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "3"}
    said = job(
        program + "shmem.init()\nring()\n", 2, MASTER_ADDR="agent", MASTER_PORT="29500", **elastic
    )
    assert said == ["PE 0 of 2\n", "PE 1 of 2\n"]
    assert (tmp_path / "shmem-3-0").exists()


@pytest.mark.parametrize("group", ["True", "'of three'"])
def test_group(tmp_path: Path, group: str) -> None:
    """The default process group, and one whose ranks differ from the world's."""
    program = play_torch(
        tmp_path,
        f"""
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
def get_rank(group): return rank if group is None else size - 1 - rank
def get_world_size(group): return size
def get_global_rank(group, rank): return size - 1 - rank
def broadcast_object_list(box, src, group):
    store = Store({str(tmp_path)!r})
    if rank == src:
        assert len(box) == 1
        store.set("box", box[0].hex())
    box[0] = bytes.fromhex(store.get("box").decode())
""",
    )
    said = job(f"{program}shmem.init(group={group})\nring()\n", 3)
    places = [0, 1, 2] if group == "True" else [2, 1, 0]
    assert said == [f"PE {i} of 3\n" for i in places]


# The start of each process of a torch job: rank, size and a store.
TORCH = """
import os, sys
from datetime import timedelta
import torch
from torch import distributed as dist
import shmem
rank, size, port = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(sys.argv[1])
limit = timedelta(seconds=240)
store = dist.TCPStore("127.0.0.1", port, size, rank == 0, timeout=limit)
"""


def test_stores_of_torch(tmp_path: Path) -> None:
    program = (
        TORCH
        + RING
        + """
for each in (store, store, dist.PrefixStore("part", store), dist.FileStore(sys.argv[2], size)):
    shmem.init(store=each)
    ring()
    shmem.finalize()
"""
    )
    said = job(program, 2, str(free_port()), str(tmp_path / "store"), torch=need_torch())
    assert said == [f"PE {i} of 2\n" * 4 for i in (0, 1)]


@pytest.mark.full
def test_stores_without_an_id() -> None:
    """PE 0 does not come, or torchrun's agent is missing: the others report it in time."""
    program = """
import contextlib
import os
from datetime import timedelta
import shmem
from torch import distributed as dist
port = int(os.environ["MASTER_PORT"])
store = dist.TCPStore("127.0.0.1", port, 1, True, timeout=timedelta(seconds=1))
for start in (lambda: shmem.init(store=store, pe=1, n_pes=2), shmem.init):
    try:
        start()
    except shmem.InitError as e:
        print(e)
os.environ["MASTER_PORT"] = str(port + 1)
try:
    shmem.init()
except shmem.InitError as e:
    print(e)
"""
    port = free_port()
    agent = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "1", "WORLD_SIZE": "2"}
    agent["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    environment = torch_variables(**agent, SHMEM_BOOTSTRAP_TIMEOUT="1")
    done = run(need_torch(), "-c", program, **environment)
    assert done.returncode == 0, done.stderr
    own, agents, absent = done.stdout.splitlines()
    for line in (own, agents):
        assert line.startswith("init store, key shmem/0/0: PE 0's unique id was not found there: ")
        assert line.endswith(" (call init in all PEs, PE 0 too, within the store's timeout)")
    assert absent.startswith(f"init store of torchrun's agent, port {port + 1} of 127.0.0.1: ")


@pytest.mark.full
def test_groups_of_torch() -> None:
    """The default group and a part of it, over gloo, which go on working beside the job."""
    program = (
        TORCH
        + RING
        + """
def total(group):
    one = torch.full((1,), rank)
    dist.all_reduce(one, group=group)
    return int(one)
dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=limit)
shmem.init(group=True)
ring()
assert total(None) == 3
shmem.finalize()
part = dist.new_group([0, 2])
if rank == 1:
    try:
        shmem.init(group=part)
    except shmem.ArgumentError as e:
        print(e)
else:
    shmem.init(group=part)
    assert shmem.my_pe() == rank // 2 and total(part) == 2
    ring()
dist.barrier()
"""
    )
    said = job(program, 3, str(free_port()), torch=need_torch())
    assert said == [
        "PE 0 of 3\nPE 0 of 2\n",
        "PE 1 of 3\ninit group: this process is not in it (call init in its processes)\n",
        "PE 2 of 3\nPE 1 of 2\n",
    ]


def mpich(folder: Path) -> dict[str, str]:
    """Makes mpi4py load Debian's MPICH, whose library has a name of its own there."""
    (library,) = (
        line.split()[-1]
        for line in subprocess.check_output(["/sbin/ldconfig", "-p"], text=True).splitlines()
        if line.split()[0] == "libmpich.so.12"
    )
    (folder / "libmpi.so.12").symlink_to(library)
    path = f"{folder}:{variables()['LD_LIBRARY_PATH']}"
    return {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": path}


@pytest.mark.parametrize("vendor", ["Open MPI", "MPICH"])
def test_communicator(vendor: str, tmp_path: Path) -> None:
    """The job is a part of MPI's world, in another order of its processes."""
    starts = {
        # Root may run, and there may be fewer cores than processes.
        "Open MPI": (["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], "openmpi-bin"),
        "MPICH": (["mpiexec.hydra"], "mpich"),
    }
    launcher, package = starts[vendor]
    if shutil.which(launcher[0]) is None:
        lack = f"{launcher[0]} is not installed (apt-get install {package})"
        if os.environ.get("CI") == "true":
            pytest.fail(lack)
        pytest.skip(lack)
    program = (
        f"from mpi4py import MPI\nimport shmem\nassert MPI.get_vendor()[0] == {vendor!r}\n"
        + RING
        + """
world = MPI.COMM_WORLD
part = world.Split(world.rank % 2, -world.rank)
shmem.init(comm=part)
assert shmem.my_pe() == part.rank and shmem.n_pes() == part.size == 2
ring()
shmem.finalize()
assert world.allreduce(1) == 4
"""
    )
    more = mpich(tmp_path) if vendor == "MPICH" else {}
    done = run(*launcher, "-n", "4", sys.executable, "-c", program, TMPDIR="/tmp", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    # mpirun may split a line and mix it with those of other PEs.
    said = re.findall(r"PE \d of \d", done.stdout)
    assert sorted(said) == ["PE 0 of 2"] * 2 + ["PE 1 of 2"] * 2


BAD = {
    "uid=b'short', pe=0, n_pes=1": "init uid: has 5 bytes, not 128 (pass what get_uniqueid gave)",
    "uid=bytes(128)": "init pe=None, n_pes=None: is not a place in a job (pass 0 <= pe < n_pes)",
    "uid=bytes(128), pe=2, n_pes=2": "init pe=2, n_pes=2: is not a place in a job",
    "uid=bytes(128), pe='0', n_pes=1": "init pe='0', n_pes=1: is not a place in a job",
    "pe=0, n_pes=1": "init pe, n_pes: belong to uid= and store=",
    "uid=bytes(128), comm=1": "init uid and comm: are given together (pass one of them)",
    "comm='world'": "init comm: is not a communicator of mpi4py",
    "uid='a' * 128, pe=0, n_pes=1": "init uid: is not bytes, but str (pass what get_uniqueid gave)",
    "group=True": "init group: torch.distributed has none: ",
    "symetric_size='1m'": "init symetric_size: is not a setting (the nearest is symmetric_size; ",
    "symmetric_size='1m', xyz=1": "init xyz: is not a setting (shmem-info --env lists all",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_arguments(arguments: str) -> None:
    """They are refused, and the process goes on."""
    program = f"""
import shmem
try:
    shmem.init({arguments})
except shmem.ArgumentError as e:
    print(e)
shmem.init(symmetric_size=None)
assert shmem.n_pes() == 1
"""
    done = python(program)
    assert done.returncode == 0, done.stderr
    assert BAD[arguments] in done.stdout


def test_bad_places() -> None:
    """Mistakes in torchrun's variables, and PEs that do not come."""
    program = "import shmem\nshmem.init()\n"
    torch = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    for bad, why in (
        ({"RANK": "2"}, 'init RANK="2": is not a number from 0 to 1 (run under torchrun)'),
        ({"MASTER_PORT": "x"}, 'init MASTER_PORT="x": is not a number from 1 to 65534'),
        ({"SHMEM_BOOTSTRAP_TIMEOUT": "1s"}, "0 of 1 other PEs came (start all of WORLD_SIZE)"),
        ({"SHMEM_BOOTSTRAP_TIMEOUT": "1", "RANK": "1"}, "PE 0 was not found there: "),
    ):
        done = python(program, **{"RANK": "0", "WORLD_SIZE": "2", **torch, **bad})
        assert done.returncode == 1 and why in done.stderr, done.stderr


def test_an_id_of_nothing() -> None:
    """128 bytes that are not an id: an exception, and the process lives on."""
    program = """
import shmem
try:
    shmem.init(uid=bytes(128), pe=0, n_pes=1)
except shmem.InitError as e:
    assert "unique id" in e.cause, e
    print("refused")
shmem.init()
"""
    done = python(program)
    assert done.returncode == 0 and done.stdout == "refused\n", done.stderr
