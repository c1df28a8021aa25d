#!/usr/bin/env python3
"""Lists what others wrote and the built files contain, with versions and licences.

    packaging/parts.py notices [--zig FOLDER] [--nvtx FOLDER]
    packaging/parts.py sbom --epoch SECONDS [--zig FOLDER] [--nvtx FOLDER]

notices prints the text that each package carries; sbom a bill of materials in JSON, as CycloneDX
1.6 has it. The modules are those of the packages that the programs and the library are linked
from, as the go command lists them, and each licence is read from the module itself. GO names
another go command, GOARCH another processor, and CC the C compiler, which finds the headers of
libfabric and hwloc. Standard library only.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import uuid
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()

# What a build links: the commands, and the Go half of the library.
LINKED = ["./cmd/...", "./capi/core/library"]


class Part(NamedTuple):
    """Something that others wrote."""

    name: str
    version: str
    licence: str  # an SPDX expression
    purl: str
    use: str
    text: str


# A sentence of each licence, by its SPDX identifier. The first that fits is taken.
SENTENCES = {
    "Apache-2.0": "Apache License Version 2.0",
    "BSD-3-Clause": "contributors may be used to endorse or promote products derived from",
    "BSD-2-Clause": "Redistributions in binary form must reproduce the above copyright notice",
    "ISC": "Permission to use, copy, modify, and/or distribute this software for any purpose",
    "MIT": "Permission is hereby granted, free of charge, to any person obtaining a copy",
    "MPL-2.0": "Mozilla Public License Version 2.0",
}


def licence(name: str, text: str) -> str:
    """The SPDX identifier of a licence, by a sentence of its text."""
    words = " ".join(re.sub(r"[,.]", "", text).split())
    for spdx, sentence in SENTENCES.items():
        if re.sub(r"[,.]", "", sentence).lower() in words.lower():
            return spdx
    known = ", ".join(SENTENCES)
    remedy = "add a sentence of it to SENTENCES in packaging/parts.py"
    sys.exit(f"parts: the licence of {name} is none of {known} ({remedy})")


def licence_file(name: str, folder: Path) -> str:
    """The text of the licence in a module's folder."""
    found = sorted(p for p in folder.glob("*") if re.match(r"(?i)(licen[cs]e|copying)", p.name))
    if not found:
        sys.exit(f"parts: {name} has no licence in {folder} (ask its authors, or do without it)")
    return found[0].read_text(errors="replace").strip() + "\n"


def go(*arguments: str) -> str:
    """The output of the go command in the tree."""
    command = [os.environ.get("GO") or "go", *arguments]
    made = {**os.environ, "CGO_ENABLED": "1"}  # for another processor, too
    done = subprocess.run(command, cwd=ROOT, env=made, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"parts: {' '.join(command)}: {done.stderr.strip()} (go mod download)")
    return done.stdout


def modules() -> list[Part]:
    """The Go modules that the built files are linked from, and Go's own library."""
    form = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}"
    parts = []
    for line in sorted(set(go("list", "-deps", "-f", form, *LINKED).splitlines()) - {""}):
        name, version, folder = line.split(" ", 2)
        # A source archive has the modules in vendor, where the go command names no folder.
        text = licence_file(name, Path(folder) if folder else ROOT / "vendor" / name)
        use, purl = "linked into the library or a command", f"pkg:golang/{name}@{version}"
        parts.append(Part(name, version, licence(name, text), purl, use, text))
    if not parts:
        sys.exit("parts: the go command lists no modules (run it in a tree that builds)")
    root, version = go("env", "GOROOT", "GOVERSION").split("\n")[:2]
    # Distributions leave the file out of GOROOT. Go's other modules have the same text.
    at = Path(root) / "LICENSE"
    if at.is_file():
        text = at.read_text()
    else:
        text = next(p.text for p in parts if p.name.startswith("golang.org/x/"))
    version = version.removeprefix("go")
    use, purl = "the language's runtime and standard library", f"pkg:golang/std@{version}"
    parts.append(Part("Go", version, licence("Go", text), purl, use, text))
    return parts


def of_wheel(folder: Path, package: str, licence_name: str, use: str) -> Part:
    """A part that scripts/setup has fetched into a folder, which is named after its version."""
    name, _, version = folder.name.partition("-")
    text = licence_file(name, folder)
    return Part(name, version, licence_name, f"pkg:pypi/{package}@{version}", use, text)


class Numbers(NamedTuple):
    """How a header writes its version: a pattern with a group for each number, of this base."""

    pattern: str
    base: int

    def of(self, header: str) -> str:
        """The version, such as 2.8; empty if the header has none."""
        found = re.search(self.pattern, header)
        return ".".join(str(int(n, self.base)) for n in found.groups()) if found else ""


def headers(name: str, file: str, licence_name: str, version: Numbers) -> Part:
    """A library whose header has functions that are compiled in, with the header's own notice."""
    command = [*shlex.split(os.environ.get("CC") or "gcc"), "-E", "-M", "-x", "c", "-"]
    done = subprocess.run(command, input=f"#include <{file}>\n", capture_output=True, text=True)
    found = [w for w in done.stdout.split() if w.endswith("/" + file)]
    if done.returncode != 0 or not found:
        sys.exit(f"parts: {command[0]} finds no {file} (install the headers of {name})")
    text = Path(found[0]).read_text(errors="replace")
    at = version.of(text)
    if not at:
        sys.exit(f"parts: {found[0]} has no version (mend the pattern in packaging/parts.py)")
    comment = text[text.index("/*") + 2 : text.index("*/")]
    notice = re.sub(r"(?m)^ *\* ?", "", comment).strip() + "\n"
    use, purl = "functions of its headers", f"pkg:generic/{name}@{at}"
    return Part(name, at, licence_name, purl, use, notice)


# Major and minor number in the headers: macros of their own, and 0x00020b00 for hwloc 2.11.
LIBFABRIC = Numbers(r"FI_MAJOR_VERSION\s+(\d+)\s+#define\s+FI_MINOR_VERSION\s+(\d+)", 10)
HWLOC = Numbers(r"HWLOC_API_VERSION\s+0x0*([\da-f]+?)([\da-f]{2})[\da-f]{2}\b", 16)


def parts(zig: Path | None, nvtx: Path | None) -> list[Part]:
    """All parts, by name."""
    out = modules()
    out.append(headers("libfabric", "rdma/fabric.h", "BSD-2-Clause OR GPL-2.0-only", LIBFABRIC))
    out.append(headers("hwloc", "hwloc.h", "BSD-3-Clause", HWLOC))
    if nvtx:
        use = "headers that libshmem.so is compiled with"
        out.append(of_wheel(nvtx, "nvidia-nvtx", "Apache-2.0 WITH LLVM-exception", use))
    if zig:
        out.append(of_wheel(zig, "ziglang", "MIT", "the run-time functions of its C compiler"))
    return sorted(out, key=lambda p: p.name.lower())


def notices(listed: list[Part]) -> str:
    """The text for people."""
    out = [
        f"libshmem {VERSION} contains work of others, under the licences below.",
        "",
        "The libraries libfabric and hwloc are not here, nor is anything of CUDA but the code",
        "that its compiler made of libshmem's kernels: a program looks for them on its system.",
        "",
    ]
    out += [f"  {p.name} {p.version} ({p.licence}): {p.use}" for p in listed]
    for p in listed:
        out += ["", "-" * 80, f"{p.name} {p.version}", "", p.text.rstrip()]
    return "\n".join(out) + "\n"


def sbom(listed: list[Part], epoch: int) -> str:
    """The bill of materials, which is the same text for the same parts and time."""
    me = f"pkg:generic/libshmem@{VERSION}"
    components = [
        {
            "type": "library",
            "bom-ref": p.purl,
            "name": p.name,
            "version": p.version,
            "description": p.use,
            "licenses": [{"expression": p.licence}],
            "purl": p.purl,
        }
        for p in listed
    ]
    moment = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": me,
                "name": "libshmem",
                "version": VERSION,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": me,
            },
        },
        "components": components,
        "dependencies": [{"ref": me, "dependsOn": [p.purl for p in listed]}]
        + [{"ref": p.purl} for p in listed],
    }
    bom["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True)).urn
    return json.dumps(bom, indent=2) + "\n"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="parts.py", description="Lists what others wrote.")
    parser.add_argument("form", choices=["notices", "sbom"])
    parser.add_argument("--zig", type=Path, help="the folder of the compiler")
    parser.add_argument("--nvtx", type=Path, help="the folder of NVTX")
    parser.add_argument("--epoch", type=int, default=0, help="the time of the release")
    asked = parser.parse_args()
    listed = parts(asked.zig, asked.nvtx)
    print(notices(listed) if asked.form == "notices" else sbom(listed, asked.epoch), end="")


if __name__ == "__main__":
    main()
