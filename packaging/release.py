#!/usr/bin/env python3
"""The parts of a release that are no program: the source archive and the checksums.

    packaging/release.py tree
    packaging/release.py source FILE --epoch SECONDS [--vendor FOLDER]
    packaging/release.py sums FOLDER

tree fails if the tree is not that of a commit. source writes the files that git knows, and the
folder of Go modules that `go mod vendor -o FOLDER` has made as vendor, so that a build needs no
network. sums writes SHA256SUMS, which `sha256sum -c` reads. The same files make the same bytes.
Standard library only.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()


def git(*arguments: str) -> bytes:
    """The output of git in the tree."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode != 0:
        reason = done.stderr.decode().strip().splitlines()[-1:]
        sys.exit(f"release: git {arguments[0]}: {''.join(reason)} (release from a clone)")
    return done.stdout


def check_tree() -> None:
    """Ends if the tree has changes, which no commit could be built from again."""
    changed = git("status", "--porcelain").decode().splitlines()
    if changed:
        first = changed[0][3:]  # behind two letters for the state, and a blank
        more = f" and {len(changed) - 1} more" if changed[1:] else ""
        sys.exit(
            f"release: {first}{more} differs from the commit "
            "(commit it, or set CHANGED=yes for a release that is not published)"
        )


def write_tar(out: Path, files: dict[str, Path], prefix: str, epoch: int) -> None:
    """An archive of the files under their names, without their times and owners."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, path in sorted(files.items()):
            info = tarfile.TarInfo(f"{prefix}/{name}")
            info.mtime = epoch
            if path.is_symlink():
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
                tar.addfile(info)
                continue
            data = path.read_bytes()
            info.size, info.mode = len(data), 0o755 if os.access(path, os.X_OK) else 0o644
            tar.addfile(info, io.BytesIO(data))
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        packed.write(raw.getvalue())


def below(folder: Path, prefix: str) -> dict[str, Path]:
    """The files below a folder, by their names in the archive."""
    found = [p for p in folder.rglob("*") if p.is_file() or p.is_symlink()]
    return {f"{prefix}{p.relative_to(folder)}": p for p in found}


def source(out: Path, epoch: int, vendor: Path | None) -> None:
    """The source archive."""
    names = [os.fsdecode(name) for name in git("ls-files", "-z").split(b"\0") if name]
    files = {name: ROOT / name for name in names if os.path.lexists(ROOT / name)}
    if vendor:
        if not (vendor / "modules.txt").is_file():
            sys.exit(f"release: {vendor} has no modules.txt (go mod vendor -o {vendor})")
        files |= below(vendor, "vendor/")
    write_tar(out, files, f"libshmem-{VERSION}", epoch)


def sums(folder: Path) -> None:
    """SHA256SUMS of all other files of the folder."""
    lines = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != "SHA256SUMS":
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    if not lines:
        sys.exit(f"release: {folder} has no files (make release)")
    (folder / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="release.py", description="Writes parts of a release.")
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("tree")
    archive = parts.add_parser("source")
    archive.add_argument("out", type=Path)
    archive.add_argument("--epoch", type=int, required=True)
    archive.add_argument("--vendor", type=Path)
    parts.add_parser("sums").add_argument("folder", type=Path)
    asked = parser.parse_args()
    if asked.part == "tree":
        check_tree()
    elif asked.part == "source":
        source(asked.out, asked.epoch, asked.vendor)
    else:
        sums(asked.folder)


if __name__ == "__main__":
    main()
