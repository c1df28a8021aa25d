#!/usr/bin/env python3
"""Measures collective calls between hosts, and Open MPI's OSHMEM beside them in the same rounds.

The hosts are network namespaces of this machine, joined by virtual interfaces, which shmemrun makes
for both libraries. Places with more PEs than processors are left out. Between two hosts
bench/wire.c also sends the bytes of each call over bare TCP. Standard library only.
"""

import argparse
import datetime
import os
import statistics
import tempfile

import machine
import output
import perf
import systems

# Metrics of calls in which each PE gets as many bytes as it contributes; and of calls in which it
# gets that many bytes from each PE.
CALLS = ("barrier_all", "broadcast", "sum")
GATHERING = ("fcollect", "collect", "alltoall")
PLACES = ((2, 2), (4, 2), (8, 2), (16, 2), (4, 4), (8, 4), (16, 4))  # PEs and hosts


class Libshmem(systems.Libshmem):
    tries = 1

    def end_strays(self):
        """shmemrun leaves no processes."""

    def command(self, pes, hosts, argv):
        return ["build/bin/shmemrun", "-n", str(pes), "--hosts", str(hosts), "--host-netns", *argv]


class OpenMPI(systems.OpenMPI):
    # With several PEs on a host, shmem_init of 4.1.6 ends every second start by signal 11, in
    # mca_memheap_modex_recv_all, whatever its components are.
    tries = 6

    def end_strays(self):
        """Ends PEs that are left after a crash, which would take processors from later runs."""
        systems.run(["pkill", "-KILL", "-f", self.binary("perf")], 10)

    # Three scripts. shmemrun starts HOST once for each host, in a network namespace. The first HOST
    # starts oshrun; oshrun starts its daemon for another host by AGENT, its substitute for ssh,
    # which enters that host's namespace. AS runs a command with the name and the boot_id of a host:
    # UCX recognises a machine by these, and would use shared memory between equal ones.
    HOST = """#!/bin/sh
cd {work}
echo $$ >pid.new.$SHMEM_LAUNCHER_PE
mv pid.new.$SHMEM_LAUNCHER_PE pid.$SHMEM_LAUNCHER_PE
if [ "$SHMEM_LAUNCHER_PE" != 0 ]; then
    while [ ! -e done ]; do sleep .1; done
    exit
fi
while [ "$(ls pid.? | wc -l)" != {hosts} ]; do sleep .1; done
unset $(env | sed -n 's/^\\(SHMEM_[A-Z_]*\\)=.*/\\1/p')
unshare -u -i -m {work}/as shmem-0 "$@"
status=$?
touch done
exit $status
"""
    AS = """#!/bin/sh
hostname "$1"
echo "0000000${{1#shmem-}}-5f5e-4d3c-8b2a-000000000000" >{work}/boot."$1"
mount --bind {work}/boot."$1" /proc/sys/kernel/random/boot_id
shift
exec "$@"
"""
    AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec nsenter -t "$(cat {work}/pid.${{host#shmem-}})" -n \
    unshare -u -i -m {work}/as "$host" sh -c "$*"
"""

    def command(self, pes, hosts, argv):
        work = tempfile.mkdtemp(prefix="hosts-", dir=self.work)
        for name, text in (("host", self.HOST), ("as", self.AS), ("agent", self.AGENT)):
            path = os.path.join(work, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.format(work=work, hosts=hosts))
            os.chmod(path, 0o755)
        names = ",".join(f"shmem-{i}:{pes // hosts}" for i in range(hosts))
        oshrun = ["oshrun", "--allow-run-as-root", "-n", str(pes), "--host", names]
        oshrun += ["--bind-to", "none", "--mca", "plm_rsh_agent", f"{work}/agent"]
        oshrun += ["--mca", "btl_vader_backing_directory", self.segments]
        oshrun += ["--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0"]
        oshrun += ["-x", "UCX_TLS=tcp,self,sm", "-x", "UCX_NET_DEVICES=eth0"]
        shmemrun = ["build/bin/shmemrun", "-n", str(hosts), "--hosts", str(hosts), "--host-netns"]
        return [*shmemrun, f"{work}/host", *oshrun, *argv]


def starts(pes, milliseconds, most):
    """The arguments for each start of the program; a PE gets up to `most` bytes in a call."""
    for metrics, largest in ((CALLS[:1], 8), (CALLS[1:], most), (GATHERING, most // pes)):
        sizes = [8**i for i in range(1, 22) if 8**i <= largest]
        yield perf.arguments([perf.FIGURES[m] for m in metrics], sizes, milliseconds)


def measure(system, pes, hosts, milliseconds, most, limit):
    """The rows of all calls on one library; none if a start failed or data were wrong."""
    found = []
    for arguments in starts(pes, milliseconds, most):
        env = systems.environment(SHMEM_PROVIDER=system.provider) if system.provider else None
        for _ in range(system.tries):
            argv = system.command(pes, hosts, [system.binary("perf"), *arguments])
            _, out, err = systems.run(argv, limit, env)
            rows = systems.rows(out, CALLS + GATHERING)
            system.end_strays()
            if rows:
                break
        # The last row counts the figures with wrong data.
        if not rows or rows.pop()["value"] != 0:
            print(f"bench: {system.name}, {pes} PEs on {hosts} hosts: {err[-800:]}", flush=True)
            return []
        found += rows
    return found


def on_the_wire(metric, size, pes):
    """The metric of bench/wire.c for a call of two hosts, and the bytes that each host sends.

    A host sends once what its PEs contribute for the PEs of the other host. A barrier is 8 bytes.
    """
    each = pes // 2
    sizes = {"fcollect": size * each, "collect": size * each, "alltoall": size * each * each}
    if metric == "broadcast":
        return "one_way", size
    return "both_ways", sizes.get(metric, size) or 8


def measure_wire(work, pes, rows, milliseconds, limit):
    """Two rows for each of a library: what bare TCP takes for the same bytes ("wire"), and what it
    takes in the frames and system calls of libfabric's provider ("framed")."""
    sizes = sorted({on_the_wire(r["metric"], r["size"], pes)[1] for r in rows})
    start = ["build/bin/shmemrun", "-n", "2", "--hosts", "2", "--host-netns"]
    argv = [*start, os.path.join(work, "wire"), work, str(milliseconds), *map(str, sizes)]
    _, out, err = systems.run(argv, limit)
    took = {(r["metric"], r["size"]): r["value"] for r in systems.rows(out)}
    if len(took) != 4 * len(sizes):
        print(f"bench: wire, {pes} PEs: {err[-800:]}", flush=True)
        return []
    found = []
    for row in rows:
        way, size = on_the_wire(row["metric"], row["size"], pes)
        found.append({**row, "system": "wire", "value": took[way, size]})
        found.append({**row, "system": "framed", "value": took[f"{way}_framed", size]})
    return found


def page(rows, facts, failures=()):
    where = output.said(facts)
    lines = [
        "<!-- generated by bench/collectives_hosts.py -->",
        "# Collective calls between hosts",
        "",
        "The program of shmem-perf on libshmem and on Open MPI's OSHMEM, in network namespaces of",
        "one machine, in turn. Each cell is the median of the rounds in us. The ratios are the",
        "time of libshmem divided by that of OSHMEM, and by the time that the same bytes take",
        "over TCP, with one connection and one thread at each end (`bench/wire.c`, two hosts):",
        "bare, and framed, with the headers and system calls of libfabric's provider tcp.",
        f"{where}.",
    ]
    for pes, hosts in sorted({(r["pes"], r["hosts"]) for r in rows}, key=lambda p: (p[1], p[0])):
        lines += ["", f"## {pes} PEs on {hosts} hosts", ""]
        lines += ["| call | bytes | libshmem | OSHMEM | ratio | bare | ratio | framed | ratio |"]
        lines += ["|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
        at = {}
        for r in rows:
            if (r["pes"], r["hosts"]) == (pes, hosts):
                at.setdefault((r["metric"], r["size"]), {})[r["system"]] = r["median"]
        for (metric, size), of in sorted(at.items()):
            ours = of.get("libshmem")
            cells = [f"{ours:.3g}" if ours else ""]
            for other in (of.get("oshmem"), of.get("wire"), of.get("framed")):
                cells.append(f"{other:.3g}" if other else "")
                cells.append(f"{ours / other:.2f}" if ours and other else "")
            lines.append(f"| {metric} | {size or ''} | {' | '.join(cells)} |")
    lines += ["", "## Runs that ended without figures", ""]
    for (name, pes, hosts), n in sorted(failures):
        lines.append(f"- {name}, {pes} PEs on {hosts} hosts: {n}")
    lines += [] if failures else ["None."]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--milliseconds", type=int, default=30, help="for each figure")
    p.add_argument("--most", type=int, default=4 << 20, help="bytes that a PE gets in a call")
    p.add_argument("--out", default="bench/results")
    p.add_argument("--places", default="", help="PEs:hosts, separated by commas")
    p.add_argument("--limit", type=int, default=120, help="seconds of one run")
    args = p.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    processors = len(os.sched_getaffinity(0))
    if os.geteuid() != 0:
        raise SystemExit("bench: namespaces need root: run as root")
    chosen = [tuple(map(int, text.split(":"))) for text in args.places.split(",") if text]
    places = chosen or [place for place in PLACES if place[0] <= processors]
    facts = {"date": datetime.date.today().isoformat(), **machine.facts()}
    values, failed = {}, {}
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as work:
        measured = [Libshmem(work, work, "tcp"), OpenMPI(work, work, "")]
        for system in measured:
            system.build("perf")
        systems.build_plain(work, "wire")
        for _ in range(args.rounds):
            for pes, hosts in places:
                for system in measured:
                    found = measure(system, pes, hosts, args.milliseconds, args.most, args.limit)
                    if not found:
                        at = (system.name, pes, hosts)
                        failed[at] = failed.get(at, 0) + 1
                    for row in found:
                        key = (pes, hosts, system.name, row["metric"], row["size"])
                        values.setdefault(key, []).append(row["value"])
                    if hosts == 2 and system.name == "libshmem":
                        for row in measure_wire(work, pes, found, args.milliseconds, args.limit):
                            key = (pes, hosts, row["system"], row["metric"], row["size"])
                            values.setdefault(key, []).append(row["value"])
            text = write(args.out, f"collectives-hosts-{processors}", facts, values, failed)
    print(text)


def write(folder, name, facts, values, failed):
    """Writes the rows and the page of the rounds so far; returns the page."""
    names = ("pes", "hosts", "system", "metric", "size")
    rows = [
        {**dict(zip(names, key)), "median": statistics.median(of), "values": of}
        for key, of in values.items()
    ]
    output.rows(folder, f"{name}.jsonl", facts, rows)
    text = page(rows, facts, failed.items())
    output.page(folder, f"{name}.md", text)
    return text


if __name__ == "__main__":
    main()
