"""The build and the start of programs for each OpenSHMEM, and the measurement of the limits."""

import json
import os
import re
import signal
import subprocess
import time

import netns
import perf


class RunError(Exception):
    """A run that did not produce its figures."""


def environment(**more):
    """The variables of this process and `more`, without settings of the libraries compared here."""
    drop = ("SHMEM_", "NVSHMEM_", "OMPI_", "UCX_", "FI_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env.update(more)
    return env


def run(argv, limit, env=None):
    """Runs a program: its exit status, output and error output.

    After limit seconds all processes of its group are killed.
    """
    try:
        p = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env or environment(),
            start_new_session=True,
        )
    except OSError as e:
        raise RunError(f"{argv[0]} cannot be started: {e.strerror}") from e
    try:
        out, err = p.communicate(timeout=limit)
    except BaseException as stop:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        if not isinstance(stop, subprocess.TimeoutExpired):
            raise
        err += f"\nended after {limit} s"
    return p.returncode, out, err


def rows(text, names=perf.FIGURES):
    """The results in a program's output, as dicts with metric, size, value and unit.

    A line "metric TAB size TAB value TAB unit", as the benchmarks of this folder print, is a row.
    The program of shmem-perf prints a line for each figure, which becomes a row if the metric, a
    key of perf.FIGURES, is in names. Its last line, "end", becomes a row "errors": the number of
    figures with wrong data. All other lines are left out.
    """
    found = []
    for line in text.splitlines():
        parts = line.split("\t")
        if parts[0] in ("figure", "end"):
            row = perf.row(line, names)
            found += [row] if row else []
            continue
        if len(parts) != 4:
            continue
        try:
            found.append(
                {
                    "metric": parts[0],
                    "size": int(parts[1]),
                    "value": float(parts[2]),
                    "unit": parts[3],
                }
            )
        except ValueError:
            continue
    return found


class System:
    """One OpenSHMEM implementation: how to build a program with it, and how to launch one.

    work is the folder of the built programs, segments the one in which Open MPI makes its segments
    of shared memory, and provider libfabric's provider for libshmem between hosts.
    """

    name = ""

    def __init__(self, work, segments, provider):
        self.work = work
        self.segments = segments
        self.provider = provider

    def binary(self, program):
        return os.path.join(self.work, f"{program}.{self.name}")

    def build(self, program):
        # The alignment is that of the program of shmem-perf (Makefile), whose figures stand beside
        # those of these programs.
        flags = ["-O2", "-g", "-falign-functions=64", "-falign-loops=64"]
        sources = perf.sources() if program == "perf" else [f"bench/{program}.c"]
        argv = [*self.compiler(), *flags, *sources, "-o", self.binary(program)]
        status, out, err = run(argv + self.libraries(), 120)
        if status != 0:
            raise SystemExit(f"bench: build {program} for {self.name} failed\n{out}{err}")

    def measure(self, pair, place, pes, program, args, last, limit):
        """Runs a program once; returns its rows and exit status.

        place is "node" or "tcp", between the network namespaces of pair. RunError: no row has the
        metric `last`, which every complete run prints, or the program reports wrong data.
        """
        argv, env = self.launch(pair, place, pes, [self.binary(program), *args])
        status, out, err = run(argv, limit, env)
        found = rows(out)
        if not any(r["metric"] == last for r in found):
            raise RunError(f"{self.name}, {place}, {pes} PEs, {program} {' '.join(args)}: {err}")
        wrong = [r["value"] for r in found if r["metric"] == "errors" and r["value"] != 0]
        if wrong:
            raise RunError(f"{self.name}, {place}, {pes} PEs: wrong data: {err}")
        return found, status


class Libshmem(System):
    name = "libshmem"

    def compiler(self):
        return ["gcc", "-Iinclude"]

    def libraries(self):
        return ["-Lbuild/lib", "-lshmem"]

    def launch(self, pair, place, pes, argv):
        shmemrun = ["build/bin/shmemrun", "-n", str(pes)]
        if place == "node":
            bind = ["--bind"] if pes <= len(os.sched_getaffinity(0)) else []
            return [*shmemrun, *bind, *argv], environment()
        # Every PE is a host of its own: the command enters the network namespace with the PE's
        # number, and then starts the program. The connection to the launcher is an inherited
        # socket, which works from there.
        names = " ".join(pair.names)
        enter = f'set -- {names} "$@"; shift "$SHMEM_LAUNCHER_PE"; ns=$1; '
        enter += (
            f'shift "$(({len(pair.names)} - SHMEM_LAUNCHER_PE))"; exec ip netns exec "$ns" "$@"'
        )
        wrapped = ["sh", "-c", enter, "sh", *argv]
        return [*shmemrun, "--hosts", str(pes), *wrapped], environment(SHMEM_PROVIDER=self.provider)

    def route(self, pair):
        """The provider in the library's banner, without the suffix ";msg".

        The suffix says that libshmem opens connected endpoints. fi_pingpong and raw open datagram
        endpoints, for which the provider's name has no suffix.
        """
        argv, env = self.launch(pair, "tcp", 2, [self.binary("oshm_micro"), "init"])
        env["SHMEM_LOG_LEVEL"] = "info"
        _, _, err = run(argv, 60, env)
        found = re.search(r"network (?:\S+ by )?(\S+) on ", err)
        if found:
            return found.group(1).removesuffix(";msg")
        raise RunError(f"the banner of libshmem names no network: {err}")


class OpenMPI(System):
    name = "oshmem"

    # Open MPI 4.1.4, Debian's, crashes in shmem_finalize. The program has printed its rows by then,
    # so the rows count, and the exit status is recorded.

    def compiler(self):
        return ["oshcc"]

    def libraries(self):
        return []

    def launch(self, pair, place, pes, argv):
        oshrun = ["oshrun", "--allow-run-as-root", "-n", str(pes)]
        # After its crash in shmem_finalize Open MPI leaves segments in the folder in which it makes
        # them. The driver removes self.segments when it ends.
        oshrun += ["--mca", "btl_vader_backing_directory", self.segments]
        if place == "node":
            # No ssh is needed, but oshrun looks for it.
            oshrun += ["--mca", "plm_rsh_agent", "sh"]
            # Without the option its processes are bound and spin, which is fastest. If processors
            # are too few, they have to yield.
            if pes > len(os.sched_getaffinity(0)):
                oshrun.append("--oversubscribe")
            return [*oshrun, *argv], environment()
        # Each namespace has a daemon of oshrun. Both take the whole machine for theirs, so binding
        # would put all PEs on its first core. agent starts the second daemon, in place of ssh.
        agent = os.path.join(self.work, "agent")
        with open(agent, "w", encoding="utf-8") as f:
            f.write(
                "#!/bin/sh\n"
                'while [ "${1#-}" != "$1" ]; do shift; done\n'
                "shift\n"
                f'exec ip netns exec {pair.names[1]} unshare -u sh -c "hostname shmem-b; $*"\n'
            )
        os.chmod(agent, 0o755)
        oshrun += ["--host", "shmem-a:1,shmem-b:1", "--bind-to", "none"]
        oshrun += ["--mca", "plm_rsh_agent", agent]
        oshrun += ["--mca", "oob_tcp_if_include", netns.NETWORK]
        oshrun += ["-x", "UCX_TLS=tcp,self", "-x", f"UCX_NET_DEVICES={netns.DEVICE}"]
        inner = ["sh", "-c", 'hostname shmem-a; exec "$@"', "sh", *oshrun, *argv]
        return pair.inside(0, ["unshare", "-u", *inner]), environment()


def _server_and_client(pair, server, client, limit):
    """Runs a server in one namespace of the pair and a client in the other; the client's output."""
    p = subprocess.Popen(
        pair.inside(1, server),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    try:
        time.sleep(0.5)  # until the server listens
        status, out, err = run(pair.inside(0, client), limit)
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGTERM)
        p.wait()
    if status != 0:
        raise RunError(f"{client[0]}: {out}{err}")
    return out


def pingpong(pair, provider, size=8):
    """libfabric's own half round trip in us, on a reliable datagram endpoint."""
    base = ["fi_pingpong", "-p", provider, "-e", "rdm", "-I", "20000", "-S", str(size)]
    out = _server_and_client(pair, base, [*base, netns.ADDRESSES[1]], 60)
    try:
        header, *lines = [line.split() for line in out.splitlines() if line.strip()]
        return float(lines[-1][header.index("usec/xfer")])
    except (ValueError, IndexError) as e:
        raise RunError(f"fi_pingpong printed no table: {out}") from e


def raw(pair, binary, provider, budget):
    """The rows of bench/raw.c, which enters both namespaces by itself.

    Its last row, errors, shows that all others are there.
    """
    sides = [word for side in zip(pair.names, netns.ADDRESSES) for word in side]
    status, out, err = run([binary, provider, *sides, str(budget)], 120)
    found = rows(out)
    if status != 0 or not any(r["metric"] == "errors" for r in found):
        raise RunError(f"raw {provider}: {out}{err}")
    return [r for r in found if r["metric"] != "errors"]


MODEL_METRICS = ("many_bytes", "many_notify", "many_signal", "many_fence_signal")


def model_rows(text):
    """Places and rows from the table that the test of the simulated networks prints."""
    cells = "".join(rf" \| ({part})" for part in (r"[a-z-]+", *[r"\d+\.\d+"] * 4))
    for line in text.splitlines():
        found = re.search(cells[1:], line)
        if found:
            for metric, value in zip(MODEL_METRICS, found.groups()[1:]):
                row = {"metric": metric, "size": 8192, "value": float(value), "unit": "us"}
                yield f"{found.group(1)}, simulated", row


def models():
    """The figures of bench/many.c on simulated networks, in the time of the simulation."""
    argv = ["go", "test", "./runtime/proxy", "-count=1", "-v", "-run", "^TestSimNotifications$"]
    status, out, err = run(argv, 300)
    found = list(model_rows(out))
    if status != 0 or not found:
        raise RunError(f"models of networks: {out[-300:]}{err[-300:]}")
    return found


def build_plain(work, program, *libraries):
    """Builds a program that uses no OpenSHMEM."""
    binary = os.path.join(work, program)
    argv = ["gcc", "-O2", f"bench/{program}.c", "-o", binary, *libraries]
    status, out, err = run(argv, 120)
    if status != 0:
        raise SystemExit(f"bench: build {program} failed\n{out}{err}")
    return binary


def build_raw(work):
    return build_plain(work, "raw", "-lfabric")


def stream(pair):
    """GB/s of one TCP connection, by iperf3."""
    client = ["iperf3", "-J", "-t", "2", "-c", netns.ADDRESSES[1]]
    out = _server_and_client(pair, ["iperf3", "-s", "-1"], client, 60)
    try:
        return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8e9
    except (ValueError, KeyError) as e:
        raise RunError(f"iperf3 printed no rate: {out}") from e
