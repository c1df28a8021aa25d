#!/usr/bin/env python3
"""Prints the facts on which the figures of a GPU machine depend, as a JSON object in one line.

facts.py PART: the part of bench/gpu/run.sh whose rows follow.
"""

import datetime
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import machine  # noqa: E402

ASKED = [
    "index",
    "name",
    "driver_version",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "persistence_mode",
    "ecc.mode.current",
    "power.limit",
    "pcie.link.gen.current",
    "pcie.link.width.current",
]


def main():
    facts = machine.facts()
    smi = machine.output(
        "nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader"
    ).splitlines()
    gpus = [line.split(", ") for line in smi if line.count(", ") == len(ASKED) - 1]
    facts["gpus"] = ["; ".join(f"{k} {v}" for k, v in zip(ASKED, gpu)) for gpu in gpus]
    speeds = re.findall(r"[\d.]+ GB/s", machine.output("nvidia-smi", "nvlink", "-s"))
    facts["links"] = [f"{speeds.count(s)} of {s}" for s in sorted(set(speeds))]
    facts["libfabric"] = machine.first(
        r"^libfabric\s+(.*)$",
        machine.output(os.path.join(os.environ.get("BUILD", "build"), "gpu/bin/shmem-info")),
    )
    facts["date"] = datetime.date.today().isoformat()
    facts["part"] = sys.argv[1]
    facts = {k: v for k, v in facts.items() if v != "unknown"}
    print(json.dumps({"facts": facts}))


if __name__ == "__main__":
    main()
