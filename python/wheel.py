#!/usr/bin/env python3
"""Writes the wheel: the package of Python, and below it what make install installs.

    python/wheel.py STAGE DIST

STAGE is what `make install DESTDIR=STAGE PREFIX=/` has written. The platform's name contains the
lowest glibc with every symbol that the programs and libraries need, read from their version
sections. Standard library only: a wheel is a zip archive.
"""

import base64
import hashlib
import os
import re
import struct
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = (HERE.parent / "VERSION").read_text().strip()
MOST = 15 << 20

METADATA = f"""\
Metadata-Version: 2.1
Name: libshmem
Version: {VERSION}
Summary: Symmetric memory and one-sided communication between processes, on CPUs and GPUs
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy>=1.23
Classifier: Programming Language :: Python :: 3.10
Classifier: Programming Language :: Python :: 3.11
Classifier: Programming Language :: Python :: 3.12
Classifier: Programming Language :: Python :: 3.13
Description-Content-Type: text/markdown

"""

WHEEL = "Wheel-Version: 1.0\nGenerator: libshmem\nRoot-Is-Purelib: false\n"


def needed_glibc(path):
    """The highest version of glibc's symbols that an ELF file needs, or (0, 0)."""
    data = path.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        return (0, 0)
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQII", data, offset + i * size) for i in range(count)]
    highest = (0, 0)
    for kind, at, link, entries in ((s[1], s[4], s[6], s[7]) for s in sections):
        if kind != 0x6FFFFFFE:  # SHT_GNU_verneed
            continue
        names = sections[link][4]
        for _ in range(entries):
            _, parts, _, part, following = struct.unpack_from("<HHIII", data, at)
            part += at
            for _ in range(parts):
                _, _, _, name, then = struct.unpack_from("<IHHII", data, part)
                text = data[names + name : data.index(b"\0", names + name)].decode()
                match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", text)
                if match:
                    highest = max(highest, (int(match[1]), int(match[2])))
                part += then
            at += following
    return highest


def commands(stage):
    """A program of Python for each command: pip puts it into the environment's bin.

    The command itself stays beside its library, where it looks for it.
    """
    names = sorted(path.name for path in (stage / "bin").iterdir())
    return "[console_scripts]\n" + "".join(f"{name} = shmem._commands:main\n" for name in names)


class Script(str):
    """The text of a file that is run."""


def stand_in(link):
    """The replacement of a link, which a wheel cannot have: a text that leads to the same file.

    A command under another name runs the command itself. A library's name for the linker is a
    linker script. Small files, and files that check their own name, are included twice.
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
        if path.is_file():
            name = f"shmem/{path.relative_to(stage)}"
            out[name] = stand_in(path) if path.is_symlink() else path
    for name, text in home(stage).items():
        if name in out:
            sys.exit(f"wheel: {name} is there already")
        out[name] = text
    return dict(sorted(out.items()))


def entry(name, executable):
    """One time for all files, so that the same files make the same wheel."""
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    return info


def main(stage, dist):
    """Write the wheel of the installation in stage to dist, with nothing else in it."""
    files = contents(stage)
    for name in ("lib/libshmem.so", "lib/libshmem_core.so", "bin/shmemrun"):
        if f"shmem/{name}" not in files:
            sys.exit(f"wheel: {stage}/{name} is missing (run make wheel)")
    glibc = max(needed_glibc(f) for f in files.values() if isinstance(f, Path))
    # pip accepts no manylinux tag for a glibc before 2.5.
    major, minor = max(glibc, (2, 5))
    tag = f"py3-none-manylinux_{major}_{minor}_x86_64"
    info = f"libshmem-{VERSION}.dist-info"
    readme = (HERE.parent / "README.md").read_text()
    texts = {
        f"{info}/METADATA": METADATA + readme,
        f"{info}/WHEEL": WHEEL + f"Tag: {tag}\n",
        f"{info}/entry_points.txt": commands(stage),
        f"{info}/LICENSE": (HERE.parent / "LICENSE").read_text(),
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
    main(Path(sys.argv[1]), Path(sys.argv[2]))
