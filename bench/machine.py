"""The facts on which a figure depends: the machine, its load, and the versions."""

import os
import platform
import re
import subprocess


def output(*argv):
    """The command's output, or "" when it cannot run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def first(pattern, text):
    """The first group of the pattern's first match in the text, or "unknown"."""
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def facts():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = first(r"^model name\s*:\s*(.*)$", f.read())
    with open("VERSION", encoding="utf-8") as f:
        version = f.read().strip()
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory = first(r"^MemTotal:\s*(\d+) kB", f.read())
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory) / 2**20, 1) if memory.isdigit() else memory,
        "kernel": platform.release(),
        "load_before": round(os.getloadavg()[0], 2),
        "libshmem": version,
        "gcc": first(r"^gcc .* ([\d.]+)$", output("gcc", "--version")),
        "go": first(r"go version go(\S+)", output("go", "version")),
        "libfabric": first(r"libfabric: ([\w.]+)", output("fi_info", "--version")),
        "openmpi": first(r"Open MPI v([\d.]+)", output("ompi_info", "--version")),
        "iperf3": first(r"iperf ([\d.]+)", output("iperf3", "--version")),
    }
