#!/usr/bin/env python3
"""Writes the wheel: the package of Python, and below it what make install installs.

    python/wheel.py STAGE DIST --notices FILE [--glibc 2.28] [--machine aarch64] [--url URL]

STAGE is the folder that `make install DESTDIR=STAGE PREFIX=/` has written, and FILE the licences of
others' work in it, as packaging/parts.py writes them. The platform tag of the wheel contains a
release of glibc. With --glibc it is that release, and a program or library that needs a newer one
is an error; otherwise it is the lowest release with every symbol that they need. SOURCE_DATE_EPOCH
is the time of all files, so that the same files make the same wheel. This program uses only the
standard library: a wheel is a zip archive.
"""

import argparse
import base64
import hashlib
import os
import platform
import sys
import time
import zipfile
from pathlib import Path

import elf

HERE = Path(__file__).resolve().parent
VERSION = (HERE.parent / "VERSION").read_text().strip()
# The most bytes of a wheel with the kernels of all architectures, so that growth is noticed. Today
# it has 16.9 MB, of which four commands in Go take 9 MB.
MOST = 18 << 20
LICENCES = ("LICENSE", "THIRD-PARTY.txt")

METADATA = f"""\
Metadata-Version: 2.4
Name: libshmem
Version: {VERSION}
Summary: Symmetric memory and one-sided communication between processes, on CPUs and GPUs
Keywords: openshmem,nvshmem,pgas,hpc,gpu,rdma,libfabric
License-Expression: Apache-2.0
{"".join(f"License-File: {name}{chr(10)}" for name in LICENCES)}Requires-Python: >=3.10
Requires-Dist: numpy>=1.23
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Go
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Programming Language :: Python :: 3.10
Classifier: Programming Language :: Python :: 3.11
Classifier: Programming Language :: Python :: 3.12
Classifier: Programming Language :: Python :: 3.13
Classifier: Topic :: Scientific/Engineering
Classifier: Topic :: System :: Distributed Computing
Classifier: Typing :: Typed
Project-URL: Specification, https://www.openshmem.org
"""


def metadata(url):
    """The head of METADATA, with the project's pages if it has some."""
    pages = ""
    if url:
        url = url.rstrip("/")
        pages = "".join(
            f"Project-URL: {name}, {url}{path}\n"
            for name, path in (
                ("Homepage", ""),
                ("Source", ""),
                ("Documentation", "/blob/main/docs/README.md"),
                ("Changelog", "/blob/main/CHANGELOG.md"),
                ("Issues", "/issues"),
            )
        )
    return METADATA + pages + "Description-Content-Type: text/markdown\n\n"


WHEEL = "Wheel-Version: 1.0\nGenerator: libshmem\nRoot-Is-Purelib: false\n"


def commands(stage):
    """entry_points.txt: a Python script for each command; pip puts it into the environment's bin.

    The command itself stays in the package, because it looks for its library beside itself.
    """
    names = sorted(path.name for path in (stage / "bin").iterdir())
    return "[console_scripts]\n" + "".join(f"{name} = shmem._commands:main\n" for name in names)


class Script(str):
    """The text of a file of the wheel that is executable."""


def stand_in(link):
    """The replacement of a symbolic link, which a wheel cannot contain: a text, or the file itself.

    A link to a command becomes a script that runs the command, and a library's name for the linker
    a linker script. A link to any other file becomes a second copy of the file: such files are
    small, or check their own name.
    """
    target = link.resolve()
    if target.read_bytes()[:4] != b"\x7fELF":
        return target
    if link.parent.name == "bin":
        return Script(
            f'#!/bin/sh\nself=$(readlink -f -- "$0")\nexec "${{self%/*}}/{target.name}" "$@"\n'
        )
    return f"/* libnvshmem_host for the linker */\nINPUT({target.name})\n"


def home(stage):
    """Headers that make the package's folder a NVSHMEM_HOME for programs of NVSHMEM.

    They look for include/nvshmem.h, where an installation has links to folders.
    """
    folder = stage / "include" / "nvshmem"
    out = {}
    for path in sorted(path for end in ("h", "cuh", "hpp") for path in folder.rglob("*." + end)):
        name = path.relative_to(folder)
        up = "../" * (len(name.parts) - 1)
        out[f"shmem/include/{name}"] = f'#include "{up}nvshmem/{name}"\n'
    return out


def contents(stage):
    """(name in the archive, file or text), sorted."""
    out = {}
    for path in sorted((HERE / "shmem").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".pyi", ".typed"):
            out[f"shmem/{path.relative_to(HERE / 'shmem')}"] = path
    out["shmem/py.typed"] = HERE / "shmem" / "py.typed"
    for path in sorted(stage.rglob("*")):
        # The links libnvshmem_device_sm_NN.bc lead to the one bitcode file for all GPUs. Programs
        # that do not find the link take that file.
        if path.is_symlink() and path.suffix == ".bc":
            continue
        if path.is_file():
            name = f"shmem/{path.relative_to(stage)}"
            out[name] = stand_in(path) if path.is_symlink() else path
    for name, text in home(stage).items():
        if name in out:
            sys.exit(f"wheel: {name} is there already")
        out[name] = text
    return dict(sorted(out.items()))


def entry(name, executable):
    """A file of the archive, with the time of the release.

    Without one the time is the start of 2020 (UTC). The format has no times before 1980.
    """
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or 1577836800))
    info = zipfile.ZipInfo(name, max(moment[:6], (1980, 1, 1, 0, 0, 0)))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # Unix, whose permissions it has
    # Unix keeps type and mode of a file in the upper 16 bits: 0o100000 is a regular file.
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    return info


def needs(stage, files, machine, newest):
    """The lowest glibc on which all files run; ends with the reasons if newest is too old."""
    own = frozenset(Path(name).name for name in files)
    lowest, found = (2, 5), []  # pip accepts no manylinux tag for a glibc before 2.5
    for name, source in files.items():
        if not isinstance(source, Path) or name.endswith((".fatbin", ".o", ".a")):
            continue  # code of GPUs, or files that the loader does not load
        file = elf.read(source.read_bytes())
        if file is None:
            continue
        lowest = max([lowest, *(elf.glibc(s.version) or lowest for s in file.symbols)])
        # Without --glibc any release will do.
        found += elf.faults(source.relative_to(stage), file, machine, newest or (2, 999), own)
    if found:
        sys.exit("\n".join(f"wheel: {line}" for line in found))
    return newest or lowest


def main():
    """Write the wheel of the installation in stage to dist, with no other wheel there."""
    parser = argparse.ArgumentParser(prog="wheel.py", description="Writes the wheel.")
    parser.add_argument("stage", type=Path)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--notices", type=Path, required=True)
    parser.add_argument("--glibc", type=lambda text: tuple(map(int, text.split("."))))
    parser.add_argument("--machine", default=platform.machine())
    parser.add_argument("--url")
    asked = parser.parse_args()
    stage, dist = asked.stage, asked.dist
    files = contents(stage)
    for name in ("lib/libshmem.so", "lib/libshmem_core.so", "bin/shmemrun"):
        if f"shmem/{name}" not in files:
            sys.exit(f"wheel: {stage}/{name} is missing (run make wheel)")
    major, minor = needs(stage, files, asked.machine, asked.glibc)
    tag = f"py3-none-manylinux_{major}_{minor}_{asked.machine}"
    info = f"libshmem-{VERSION}.dist-info"
    readme = (HERE.parent / "README.md").read_text()
    texts = {
        f"{info}/METADATA": metadata(asked.url) + readme,
        f"{info}/WHEEL": WHEEL + f"Tag: {tag}\n",
        f"{info}/entry_points.txt": commands(stage),
        f"{info}/licenses/{LICENCES[0]}": (HERE.parent / "LICENSE").read_text(),
        f"{info}/licenses/{LICENCES[1]}": asked.notices.read_text(),
    }
    dist.mkdir(parents=True, exist_ok=True)
    for old in dist.glob("*.whl"):
        old.unlink()
    out = dist / f"libshmem-{VERSION}-{tag}.whl"
    record = []
    with zipfile.ZipFile(out, "w") as wheel:
        for name, source in [*files.items(), *texts.items()]:
            data = source.encode() if isinstance(source, str) else source.read_bytes()
            executable = (
                isinstance(source, Script)
                if isinstance(source, str)
                else os.access(source, os.X_OK)
            )
            wheel.writestr(entry(name, executable), data, compresslevel=6)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
        record.append(f"{info}/RECORD,,\n")
        wheel.writestr(entry(f"{info}/RECORD", False), "".join(record))
    if out.stat().st_size > MOST:
        sys.exit(f"wheel: {out} has {out.stat().st_size} bytes, more than {MOST} (strip the files)")
    print(f"{out}: {out.stat().st_size / (1 << 20):.1f} MiB")


if __name__ == "__main__":
    main()
