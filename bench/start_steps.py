#!/usr/bin/env python3
"""Shows what init of a job on two simulated hosts waits for, on a machine where it takes long.

It uses no tracer, which would slow down what it shows. Each millisecond or so it reads in /proc, of
every PE: the libraries that it has mapped, its open files of the kernel and of devices, what its
first thread does, and the processor time of its threads. It prints one line for each change,
between the lines of the job's own log, with the milliseconds since the launcher was started, and
then for how long files were open. The machine's facts come first. Standard library only.

    python3 bench/start_steps.py [-n PES] [--hosts HOSTS]
"""

import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import machine
import start
import systems

# System calls by number, those in which a start may spend time.
CALLS = {
    "x86_64": {
        0: "read", 7: "poll", 9: "mmap", 16: "ioctl", 17: "pread", 23: "select", 35: "nanosleep",
        42: "connect", 47: "recvmsg", 59: "execve", 202: "futex", 217: "getdents",
        230: "clock_nanosleep", 232: "epoll_wait", 257: "openat", 271: "ppoll", 281: "epoll_pwait",
    },
    "aarch64": {
        22: "epoll_pwait", 29: "ioctl", 56: "openat", 61: "getdents", 63: "read", 67: "pread",
        73: "ppoll", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 203: "connect",
        212: "recvmsg", 221: "execve", 222: "mmap",
    },
}.get(os.uname().machine, {})  # fmt: skip
# Files in these are what the kernel, a driver or a device tells.
TELLS = ("/proc/", "/sys/", "/dev/")
PAUSE = 0.0005  # seconds between two looks at all PEs


def text_of(path):
    """The text of a file in /proc; "" when the process has ended, or others may not read it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def links(folder):
    """What the symbolic links in a folder point to."""
    found = []
    try:
        for name in os.listdir(folder):
            found.append(os.readlink(os.path.join(folder, name)))
    except OSError:
        pass
    return found


def call_of(text):
    """What /proc/PID/task/TID/syscall says, as a word."""
    word = text.split(" ", 1)[0].strip()
    if word.lstrip("-").isdigit():
        return CALLS.get(int(word), f"call {word}")
    return word or "unknown"


def run_ms(pid):
    """The milliseconds of a processor that the threads of a process have had so far."""
    total = 0
    for file in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        total += int((text_of(file) or "0").split()[0])
    return total / 1e6


class Process:
    """What is known of one process, and the lines that say when it changed."""

    def __init__(self, pid, name, lines):
        self.pid, self.name, self.lines = pid, name, lines
        self.libraries, self.files = set(), set()
        self.open = collections.Counter()  # ms for which a file was seen open
        self.calls = collections.Counter()  # ms of the first thread, by what it does
        self.ran = 0.0
        self.seen = None

    def look(self, now):
        """Reads the state of the process; now is in milliseconds."""
        passed = 0.0 if self.seen is None else now - self.seen
        maps = text_of(f"/proc/{self.pid}/maps")
        if not maps:
            return
        self.seen = now
        self.ran = run_ms(self.pid) or self.ran
        libraries = set(re.findall(r"/\S*/([^/\s]+\.so[.\w]*)$", maps, re.MULTILINE))
        if new := sorted(libraries - self.libraries):
            self.note(now, f"maps {', '.join(new)}")
        self.libraries |= libraries
        own = f"/proc/{self.pid}/"
        files = set(links(f"/proc/{self.pid}/fd"))
        files = {f for f in files if f.startswith(TELLS) and not f.startswith(own)}
        if files != self.files:
            self.note(now, f"has open: {', '.join(sorted(files)) or 'none'}")
        self.files = files
        for name in files:
            self.open[name] += passed
        self.calls[call_of(text_of(f"/proc/{self.pid}/task/{self.pid}/syscall"))] += passed

    def note(self, now, what):
        self.lines.append((now, f"{self.name}: {what} ({self.ran:.1f} ms of processors so far)"))


def descends(pid, root):
    """Whether root has started a process, itself or through others, or is that process."""
    while pid > 1 and pid != root:
        fields = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
        pid = int(fields[1]) if fields else 0
    return pid == root


def pes_of(program, root, known):
    """The processes of a program that root has started and that are not known yet."""
    for folder in glob.glob("/proc/[0-9]*"):
        pid = int(os.path.basename(folder))
        if pid in known:
            continue
        try:
            if os.readlink(f"{folder}/exe") == program and descends(pid, root):
                yield pid
        except OSError:
            pass


def read_log(pipe, began, lines):
    """Adds the lines of a job's log, each at the time at which it came."""
    for line in pipe:
        lines.append(((time.perf_counter() - began) * 1e3, "log: " + line.rstrip()))


def watch(argv, program, **settings):
    """Runs a job, and returns its lines in the order of time, its PEs, and its milliseconds."""
    lines, known = [], {}
    env = systems.environment(SHMEM_LOG_LEVEL="debug", **settings)
    began = time.perf_counter()
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
    ) as job:
        reader = threading.Thread(target=read_log, args=(job.stdout, began, lines))
        reader.start()
        while job.poll() is None:
            for pid in pes_of(program, job.pid, known):
                known[pid] = Process(pid, f"process {len(known)}", lines)
                known[pid].note((time.perf_counter() - began) * 1e3, "has started")
            for p in known.values():
                p.look((time.perf_counter() - began) * 1e3)
            time.sleep(PAUSE)
        took = (time.perf_counter() - began) * 1e3
        reader.join()
    if job.returncode != 0:
        raise SystemExit(
            f"bench: {' '.join(argv)} failed with {job.returncode}\n"
            + "\n".join(t for _, t in lines)
        )
    return sorted(lines), list(known.values()), took


def facts():
    """The facts of the machine on which the time of a start may depend."""
    began = time.perf_counter()
    symbols = text_of("/proc/kallsyms").count("\n")
    read = (time.perf_counter() - began) * 1e3
    listed = {
        "PCI devices": "/sys/bus/pci/devices/*",
        "network devices": "/sys/class/net/*",
        "RDMA devices": "/sys/class/infiniband/*",
        "in /dev/infiniband": "/dev/infiniband/*",
        "GPUs": "/dev/nvidia[0-9]*",
    }
    found = machine.facts()
    out = [
        f"{found['cores']} processors ({found['cpu']}), kernel {found['kernel']}, "
        f"libfabric {found['libfabric']}"
    ]
    for what, pattern in listed.items():
        names = [os.path.basename(n) for n in glob.glob(pattern)]
        shown = f" ({', '.join(sorted(names))})" if 0 < len(names) <= 8 else ""
        out.append(f"{what}: {len(names)}{shown}")
    out.append(f"/proc/kallsyms: {symbols} lines, one read takes {read:.1f} ms")
    return out


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("-n", type=int, default=2, help="PEs")
    p.add_argument("--hosts", type=int, default=2)
    args = p.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    print("\n".join(facts()))
    job = [start.LAUNCHERS["shmemrun"][0], "--hosts", str(args.hosts), "-n", str(args.n)]
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as work:
        made = {what: os.path.realpath(file) for what, file in start.build(work).items()}
        for what in ("nothing", "load", "init"):
            rounds = [start.used([*job, made[what]]) for _ in range(6)][1:]
            took, cpu = (sorted(column)[2] * 1e3 for column in zip(*rounds, strict=True))
            print(f"unwatched, {what}: {took:.1f} ms, {cpu:.1f} of processors (medians of 5)")
        watched = [watch([*job, made["init"]], made["init"]) for _ in range(5)]
    lines, pes, took = min(watched, key=lambda run: run[2])
    print(f"watched, init: {took:.1f} ms, the shortest of {len(watched)}")
    for at, text in lines:
        print(f"{at:9.1f}  {text[:400]}")
    for pe in pes:
        print(f"{pe.name}: {pe.ran:.1f} ms of processors")
        for what, counts in (("its first thread", pe.calls), ("open files", pe.open)):
            for name, ms in counts.most_common(12):
                if ms >= 1:
                    print(f"    {what}: {name} {ms:.1f} ms")


if __name__ == "__main__":
    sys.exit(main())
