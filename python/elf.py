"""What an ELF file of 64 bits needs from the system: machine, libraries, versions of symbols.

Standard library only. Files of other kinds have no needs: read returns None.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

MACHINES = {62: "x86_64", 183: "aarch64"}

_DYNAMIC, _DYNSYM, _VERNEED, _VERSYM = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
_DT_NEEDED = 1


class Symbol(NamedTuple):
    """A symbol that the file takes from a library, or a version alone if name is empty."""

    name: str
    library: str
    version: str


class File(NamedTuple):
    """What a file needs."""

    machine: str
    libraries: list[str]
    symbols: list[Symbol]


def glibc(version):
    """The release of glibc that has this version of symbols, or None if it is not glibc's.

    GLIBC_ABI_DT_RELR stands for a table that the loader reads since 2.36. GLIBC_PRIVATE is of one
    release only.
    """
    if version == "GLIBC_ABI_DT_RELR":
        return (2, 36)
    if version == "GLIBC_PRIVATE":
        return (999, 0)
    match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return (int(match[1]), int(match[2])) if match else None


def read(data):
    """The needs of a file, from its bytes; None if it is not an ELF file of 64 bits."""
    if data[:6] != b"\x7fELF\x02\x01":
        return None
    (machine,) = struct.unpack_from("<H", data, 18)
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]

    def parts(kind):
        """(offset, size, offset of the strings, number of entries) of the sections of a kind."""
        for s in sections:
            if s[1] == kind:
                yield s[4], s[5], sections[s[6]][4], s[7]

    def text(at):
        return data[at : data.index(b"\0", at)].decode()

    libraries = []
    for at, length, strings, _ in parts(_DYNAMIC):
        for tag, value in struct.iter_unpack("<QQ", data[at : at + length]):
            if tag == _DT_NEEDED:
                libraries.append(text(strings + value))
    versions = {}
    for at, _, strings, entries in parts(_VERNEED):
        for _ in range(entries):
            _, number, file, first, following = struct.unpack_from("<HHIII", data, at)
            part = at + first
            for _ in range(number):
                _, _, index, name, then = struct.unpack_from("<IHHII", data, part)
                versions[index & 0x7FFF] = (text(strings + file), text(strings + name))
                part += then
            at += following
    numbers = [
        v
        for at, length, *_ in parts(_VERSYM)
        for (v,) in struct.iter_unpack("<H", data[at : at + length])
    ]
    symbols, used = [], set()
    for at, length, strings, _ in parts(_DYNSYM):
        for i, entry in enumerate(struct.iter_unpack("<IBBHQQ", data[at : at + length])):
            index = numbers[i] & 0x7FFF if i < len(numbers) else 0
            if entry[3] == 0 and index in versions:  # an undefined symbol, with a version
                symbols.append(Symbol(text(strings + entry[0]), *versions[index]))
                used.add(index)
    # The loader wants every version that is listed, also one of no symbol.
    symbols += [Symbol("", *v) for index, v in versions.items() if index not in used]
    return File(MACHINES.get(machine, f"machine {machine}"), libraries, symbols)


# The libraries that every system of manylinux has, and that this project uses.
_SYSTEM = re.compile(r"(lib(c|m|dl|pthread|rt|resolv)\.so\.\d+|ld-linux-(x86-64|aarch64)\.so\.\d+)")


def faults(name, file, machine, newest, own=frozenset()):
    """What keeps a file from running on each system with this machine and this glibc, as lines.

    own has the names of the libraries that come with it.
    """
    release = ".".join(map(str, newest))
    if file.machine != machine:
        yield f"{name} is for {file.machine}, and not for {machine} (build all of it anew)"
    for library in file.libraries:
        if library not in own and not _SYSTEM.fullmatch(library):
            yield f"{name} needs {library}, which not every system has (load it by dlopen)"
    for symbol in file.symbols:
        needed = glibc(symbol.version)
        what = f"{name} needs {symbol.name or 'a version'} of {symbol.library}, {symbol.version}"
        if needed is None and symbol.library not in own:
            yield f"{what}, which is not a version of glibc (call what glibc {release} has)"
        elif needed is not None and needed > newest:
            remedy = "call what it has, or build for a newer one by make wheel GLIBC="
            yield f"{what}, which glibc {release} does not have ({remedy})"
