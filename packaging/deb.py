#!/usr/bin/env python3
"""Writes the packages of Debian from an installation.

    packaging/deb.py STAGE FOLDER --notices FILE --maintainer "NAME <ADDRESS>" [--machine x86_64]
                     [--glibc 2.28]

STAGE is what `make install DESTDIR=STAGE PREFIX=/` has written. libshmem0 has the libraries,
libshmem-dev headers, archives, manual pages of functions and examples, and shmem-tools the
commands. The commands are in /usr/lib/shmem-tools/bin, with links beside it to the parts that they
look for there, and in /usr/bin. SOURCE_DATE_EPOCH is the time of all
files, so that the same files make the same packages.

Open MPI's package has commands of the same names, such as oshcc and shmemrun, and no alternatives.
So shmem-tools diverts those to oshcc.openmpi and so on, and makes both implementations choices of
one alternative, oshcc, whose slaves are the other commands and the manual pages: a compiler wrapper
and a launcher of two implementations do not fit together. A trigger adds Open MPI's when it is
installed later.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from email.utils import formatdate
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = (HERE.parent / "VERSION").read_text().strip()
REVISION = f"{VERSION}-1"
# The time of all files, in seconds since 1970. The start of 2020 (UTC) stands for a missing time.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or 1577836800)
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# The names that Open MPI has, too. The first is the alternative's name.
SHARED = ("oshcc", "oshc++", "oshcxx", "oshCC", "oshrun", "oshmem_info", "shmemrun")

# Where the commands are, under their own names whatever the alternative.
TOOLS = "usr/lib/shmem-tools"

ABOUT = """\
libshmem moves data between the processes of a parallel job by one-sided
operations, which programs in C, C++, CUDA and Python call by OpenSHMEM's
names.
.
"""

# By name: section, Depends, Recommends, and two descriptions.
PACKAGES = {
    "libshmem0": (
        "libs",
        "libc6 (>= {glibc})",
        "libfabric1, libhwloc15",
        "OpenSHMEM for CPUs and GPUs, libraries",
        "These are the libraries that such programs load.",
    ),
    "libshmem-dev": (
        "libdevel",
        "libshmem0 (= {version})",
        "gcc | c-compiler",
        "OpenSHMEM for CPUs and GPUs, headers",
        """\
These are the headers for the host and for kernels, the manual pages of the
functions, packages for pkg-config and CMake, and examples.""",
    ),
    "shmem-tools": (
        "utils",
        "libshmem0 (= {version}), libc6 (>= {glibc})",
        "libshmem-dev, gcc | c-compiler",
        "OpenSHMEM for CPUs and GPUs, commands",
        """\
These are the launcher shmemrun, the compiler's wrapper oshcc, and commands
that measure, trace, and say what a machine lacks. Beside Open MPI's the
names are chosen by update-alternatives --config oshcc.""",
    ),
}


def package_of(name: str) -> str:
    """The package that has a file of the installation."""
    if name.startswith(("bin/", "libexec/", "share/man/man1/", "share/man/man7/")):
        return "shmem-tools"
    if name.startswith(("share/bash-completion/", "share/zsh/", "share/libshmem/")):
        return "shmem-tools"
    library = name.startswith("lib/") and "/" not in name[4:]
    # What programs load at run time. libnvshmem_host.so without a number is for linking alone.
    loaded = name.endswith((".so", ".so.3", ".fatbin", ".bc"))
    if library and loaded and name != "lib/libnvshmem_host.so":
        return "libshmem0"
    return "libshmem-dev"


def place_of(name: str) -> str:
    """Where a file of the installation goes."""
    folder, _, file = name.rpartition("/")
    if folder == "bin":
        return f"{TOOLS}/{name}"
    stem = file.removesuffix(".1")
    if folder == "share/man/man1":
        file = f"{stem}.libshmem.1.gz" if stem in SHARED else file + ".gz"
    elif folder.startswith("share/man"):
        file += ".gz"
    elif folder == "share/zsh/site-functions":
        folder = "share/zsh/vendor-completions"
    return f"usr/{folder}/{file}"


def lay_out(stage: Path, root: Path) -> None:
    """The files of each package below root/PACKAGE."""
    for path in sorted(stage.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = str(path.relative_to(stage))
        to = root / package_of(name) / place_of(name)
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            target = os.readlink(path)
            beside = "/" not in target
            to.symlink_to(
                Path(place_of(name.rpartition("/")[0] + "/" + target)).name if beside else target
            )
        elif name.startswith("share/man/"):
            to.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
        else:
            shutil.copy(path, to)
    tools = root / "shmem-tools" / TOOLS
    for part in ("include", "lib", "libexec", "share"):
        (tools / part).symlink_to("../../lib" if part == "lib" else f"../../{part}")
    bin_ = root / "shmem-tools" / "usr/bin"
    bin_.mkdir()
    for command in sorted((tools / "bin").iterdir()):
        if command.name not in SHARED:
            (bin_ / command.name).symlink_to(f"../lib/shmem-tools/bin/{command.name}")


def documents(root: Path, package: str, notices: str, maintainer: str) -> None:
    """The copyright and the change log that every package has."""
    folder = root / package / "usr/share/doc" / package
    folder.mkdir(parents=True)
    licence = "This package is under the Apache License, Version 2.0, whose text is in\n"
    licence += "/usr/share/common-licenses/Apache-2.0.\n\n"
    (folder / "copyright").write_text(licence + notices)
    entry = f"libshmem ({REVISION}) unstable; urgency=medium\n\n  * Release {VERSION}.\n\n"
    entry += f" -- {maintainer}  {formatdate(EPOCH)}\n"
    packed = gzip.compress(entry.encode(), 9, mtime=0)
    (folder / "changelog.Debian.gz").write_bytes(packed)


def alternative(commands: str, suffix: str, priority: int) -> str:
    """The command that makes one implementation a choice. commands is a form of its paths."""
    words = [f"/usr/bin/{SHARED[0]} {SHARED[0]} {commands.format(SHARED[0])} {priority}"]
    for name in SHARED[1:]:
        words.append(f"--slave /usr/bin/{name} {name} {commands.format(name)}")
    man = "/usr/share/man/man1/{}.1.gz"
    for name in SHARED:
        words.append(f"--slave {man.format(name)} {name}.1.gz {man.format(name + suffix)}")
    return "update-alternatives --quiet --install " + " \\\n        ".join(words)


def scripts() -> dict[str, str]:
    """What dpkg runs for shmem-tools."""
    head = "#!/bin/sh\nset -e\n"

    def divert(action: str) -> str:
        lines = []
        for name in SHARED:
            for path in (f"/usr/bin/{name}", f"/usr/share/man/man1/{name}"):
                end = ".1.gz" if "/man/" in path else ""
                lines.append(
                    f"    dpkg-divert --quiet --package shmem-tools --rename {action} \\\n"
                    f"        --divert {path}.openmpi{end} {path}{end}"
                )
        return "\n".join(lines)

    # The alternative with the greater priority is in use until the administrator chooses another:
    # libshmem's. A trigger calls postinst with "triggered", see control.
    return {
        "preinst": f"""{head}
case $1 in
install | upgrade)
{divert("--add")}
    ;;
esac
""",
        "postinst": f"""{head}
case $1 in
configure | triggered)
    {alternative(f"/{TOOLS}/bin/{{}}", ".libshmem", 60)}
    if [ -e /usr/bin/oshcc.openmpi ]; then
        {alternative("/usr/bin/{}.openmpi", ".openmpi", 50)}
    else
        update-alternatives --quiet --remove oshcc /usr/bin/oshcc.openmpi
    fi
    ;;
esac
""",
        "prerm": f"""{head}
case $1 in
remove | deconfigure) update-alternatives --quiet --remove-all oshcc ;;
esac
""",
        "postrm": f"""{head}
case $1 in
remove | abort-install | disappear)
{divert("--remove")}
    ;;
esac
""",
    }


def control(root: Path, package: str, machine: str, glibc: str, maintainer: str) -> None:
    """DEBIAN, with what dpkg reads."""
    top = root / package
    section, depends, recommends, short, long = PACKAGES[package]
    files = sorted(p for p in top.rglob("*") if p.is_file() and not p.is_symlink())
    size = sum(-(-p.stat().st_size // 1024) for p in files)
    text = f"""\
Package: {package}
Source: libshmem
Version: {REVISION}
Architecture: {ARCHITECTURES[machine]}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: {depends.format(glibc=glibc, version=REVISION)}
Recommends: {recommends}
Section: {section}
Priority: optional
Description: {short}
"""
    text += "".join(f" {line}\n" for line in (ABOUT + long).split("\n"))
    debian = top / "DEBIAN"
    debian.mkdir()
    (debian / "control").write_text(text)
    sums = "".join(
        f"{hashlib.md5(p.read_bytes()).hexdigest()}  {p.relative_to(top)}\n" for p in files
    )
    (debian / "md5sums").write_text(sums)
    if package == "libshmem0":
        (debian / "triggers").write_text("activate-noawait ldconfig\n")
        (debian / "shlibs").write_text(f"libnvshmem_host 3 libshmem0 (>= {VERSION})\n")
    if package == "shmem-tools":
        # Open MPI's package has this file: its installation or removal calls postinst.
        (debian / "triggers").write_text("interest-noawait /usr/bin/mpirun.openmpi\n")
        for name, script in scripts().items():
            (debian / name).write_text(script)


def settle(top: Path) -> None:
    """Modes that do not depend on who builds. dpkg-deb sets the times, by SOURCE_DATE_EPOCH."""
    for path in [top, *top.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or os.access(path, os.X_OK) and ".so" not in path.name
            runs = runs or path.parent.name == "DEBIAN" and path.name in scripts()
            path.chmod(0o755 if runs else 0o644)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="deb.py", description="Writes the packages of Debian.")
    parser.add_argument("stage", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notices", type=Path, required=True)
    parser.add_argument("--maintainer", required=True)
    parser.add_argument("--machine", default=platform.machine(), choices=ARCHITECTURES)
    parser.add_argument("--glibc", default="2.28")
    asked = parser.parse_args()
    if not shutil.which("dpkg-deb"):
        sys.exit("deb: dpkg-deb is missing, which packs the files (apt-get install dpkg)")
    if not (asked.stage / "lib/libshmem.so").is_file():
        sys.exit(f"deb: {asked.stage}/lib/libshmem.so is missing (make release)")
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        lay_out(asked.stage, root)
        for package in PACKAGES:
            documents(root, package, asked.notices.read_text(), asked.maintainer)
            control(root, package, asked.machine, asked.glibc, asked.maintainer)
            settle(root / package)
            out = asked.folder / f"{package}_{REVISION}_{ARCHITECTURES[asked.machine]}.deb"
            began = time.monotonic()
            # Threads would cut the compressed stream into pieces by their number.
            made_here = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "DPKG_DEB_THREADS_MAX": "1"}
            command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root / package, out]
            done = subprocess.run(command, env=made_here, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"deb: {package}: {done.stderr.strip()}")
            size, seconds = out.stat().st_size / (1 << 20), time.monotonic() - began
            print(f"{out}: {size:.1f} MiB, {seconds:.0f} s")


if __name__ == "__main__":
    main()
