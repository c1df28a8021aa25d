"""What an ELF file of 64 bits needs from the system: machine, libraries, versions of symbols.

It uses only the standard library. For a file of another kind, read returns None.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

MACHINES = {62: "x86_64", 183: "aarch64"}

# Types of sections (SHT_DYNAMIC and so on), and the tag of a needed library, as elf.h has them.
_DYNAMIC, _DYNSYM, _VERNEED, _VERSYM = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
_DT_NEEDED = 1


class Symbol(NamedTuple):
    """A symbol that the file takes from a library, or a version alone if name is empty."""

    name: str
    library: str
    version: str


class File(NamedTuple):
    """The needs of a file: its machine, libraries by name, and symbols of libraries."""

    machine: str
    libraries: list[str]
    symbols: list[Symbol]


def glibc(version):
    """The first release of glibc with this version of symbols; None if it is not glibc's.

    GLIBC_ABI_DT_RELR stands for a table that the loader reads since 2.36. A file that needs
    GLIBC_PRIVATE runs with one release only: 999.0 is newer than any that a wheel may need.
    """
    if version == "GLIBC_ABI_DT_RELR":
        return (2, 36)
    if version == "GLIBC_PRIVATE":
        return (999, 0)
    match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return (int(match[1]), int(match[2])) if match else None


def read(data):
    """The needs of a file, from its bytes; None if it is not an ELF file of 64 bits."""
    # EI_CLASS is 2 for 64 bits, and EI_DATA 1 for bytes in the order of x86-64 and aarch64.
    if data[:6] != b"\x7fELF\x02\x01":
        return None
    # The offsets of e_machine, e_shoff, and e_shentsize with e_shnum in Elf64_Ehdr.
    (machine,) = struct.unpack_from("<H", data, 18)
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]

    def parts(kind):
        """The sections of a type: for each its offset, size, offset of its strings, and sh_info.

        sh_info is the number of entries of a section of needed versions.
        """
        for s in sections:
            if s[1] == kind:
                yield s[4], s[5], sections[s[6]][4], s[7]

    def text(at):
        """The string at an offset in the file."""
        return data[at : data.index(b"\0", at)].decode()

    libraries = []
    for at, length, strings, _ in parts(_DYNAMIC):
        for tag, value in struct.iter_unpack("<QQ", data[at : at + length]):
            if tag == _DT_NEEDED:
                libraries.append(text(strings + value))
    versions = {}  # library and version, by the index that symbols have for them
    for at, _, strings, entries in parts(_VERNEED):
        for _ in range(entries):
            _, number, file, first, following = struct.unpack_from("<HHIII", data, at)
            part = at + first
            for _ in range(number):
                _, _, index, name, then = struct.unpack_from("<IHHII", data, part)
                # The bit above is VERSYM_HIDDEN, no part of the index.
                versions[index & 0x7FFF] = (text(strings + file), text(strings + name))
                part += then
            at += following
    numbers = [  # of each symbol: the index of its version
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
    # The loader also needs the listed versions of which the file uses no symbol.
    symbols += [Symbol("", *v) for index, v in versions.items() if index not in used]
    return File(MACHINES.get(machine, f"machine {machine}"), libraries, symbols)


# The libraries that a manylinux wheel may need (each such system has them), as far as this project
# uses them.
_SYSTEM = re.compile(r"(lib(c|m|dl|pthread|rt|resolv)\.so\.\d+|ld-linux-(x86-64|aarch64)\.so\.\d+)")


def faults(name, file, machine, newest, own=frozenset()):
    """Lines that say what keeps a file from running on all systems with this machine and glibc.

    name is the file's name in the lines, file is what read returned, newest the release of glibc
    as (major, minor). own has the names of the libraries that are in the same wheel.
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
