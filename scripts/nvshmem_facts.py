#!/usr/bin/env python3
"""Writes the facts of NVSHMEM with which the tests of capi/spec compare its names.

Usage: scripts/nvshmem_facts.py VERSION... [--wheels DIR] [--out DIR]

It fetches the wheel nvidia-nvshmem-cu13 of each version, or takes it from DIR, compiles small
programs with its headers, and writes DIR/nvshmem-VERSION.tsv (capi/spec/testdata). The file has
names, types and numbers: no text of the headers. Its lines are

    function  name    result  parameter types, separated by a semicolon, or "void"
    inline    name    result  the same, of a function that the headers define
    export    symbol  letter of nm, of what the library exports and the headers do not declare
    constant  name    value   macro or enum
    struct    name    bytes
    field     struct  field   offset

and DIR/nvshmem-device-VERSION.tsv, what kernels call:

    device    name    result  parameter types
    tile      name    of a template
    header    path    of a header that programs may include

It needs g++, nm, nvcc and the headers of CUDA (scripts/setup kernels).
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "nvidia-nvshmem-cu13"

# Structures that programs fill in or pass by value.
STRUCTS = [
    "nvshmemx_uniqueid_v1",
    "nvshmemx_uniqueid_args_v1",
    "nvshmemx_init_args_v1",
    "nvshmemx_init_args_v2",
    "nvshmemx_init_attr_v1",
    "nvshmemx_init_attr_v2",
    "nvshmem_team_config_v1",
    "nvshmem_team_config_v2",
    "nvshmemi_version_t",
    "nvshmemx_region_attrs_t",
]

INCLUDES = "#include <nvshmem.h>\n#include <nvshmemx.h>\n"

PRINTS = """
#include <cstdio>
#include <type_traits>
template <class T> static void show(const char *kind, const char *name)
{
    std::printf("%s\\t%s\\t%s\\n", kind, name, __PRETTY_FUNCTION__);
}
"""


class Wheel:
    """The headers and the library of one version, unpacked below room.

    wheels is the folder of wheels, into which a missing one is fetched.
    """

    def __init__(self, version, wheels, nvcc, room):
        cuda = os.path.abspath(os.path.join(os.path.dirname(nvcc), "..", "include"))
        self.nvcc = nvcc
        found = glob.glob(os.path.join(wheels, f"nvidia_nvshmem_cu13-{version}-*x86_64.whl"))
        if not found:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels]
                + ["--only-binary=:all:", f"{PACKAGE}=={version}"],
                check=True,
            )
            found = glob.glob(os.path.join(wheels, f"nvidia_nvshmem_cu13-{version}-*x86_64.whl"))
        self.root = os.path.join(room, version)
        with zipfile.ZipFile(found[0]) as wheel:
            wheel.extractall(
                self.root, [n for n in wheel.namelist() if "/include/" in n or "host.so" in n]
            )
        home = os.path.join(self.root, "nvidia", "nvshmem")
        self.include = os.path.join(home, "include")
        self.library = os.path.join(home, "lib", "libnvshmem_host.so.3")
        self.flags = ["-std=c++17", "-w", "-DNVSHMEM_HOSTLIB_ONLY"]
        self.flags += [f"-I{home}/include", f"-I{cuda}", f"-I{cuda}/cccl"]

    def compiler(self, text, *args):
        """Compiles a program with g++; returns the output (None: it failed) and the errors."""
        source = os.path.join(self.root, "facts.cc")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run(
            ["g++", *self.flags, *args, source], capture_output=True, text=True, check=False
        )
        return (done.stdout if done.returncode == 0 else None), done.stderr

    def run(self, text):
        """Compiles a program, without a link to the library, and returns its output."""
        program = os.path.join(self.root, "facts")
        out, errors = self.compiler(text, "-Wl,--unresolved-symbols=ignore-all", "-o", program)
        if out is None:
            raise SystemExit(f"nvshmem_facts: {errors[:4000]}")
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout

    def usable(self, names, line):
        """The names for which line(name), a statement of C++, compiles.

        Compiles the statements of all names together, each as a line of its own of file n, and
        leaves out the names of lines with errors until there are none.
        """
        names = list(names)
        while True:
            body = "".join(f'#line {i + 1} "n"\n{line(n)}\n' for i, n in enumerate(names))
            text = INCLUDES + PRINTS + "void f()\n{\n" + body + "}\n"
            out, errors = self.compiler(text, "-fsyntax-only", "-fmax-errors=0")
            if out is not None:
                return names
            wrong = {int(n) - 1 for n in re.findall(r"^n:(\d+):\d+: error", errors, re.M)}
            if not wrong:
                raise SystemExit(f"nvshmem_facts: {errors[:4000]}")
            names = [n for i, n in enumerate(names) if i not in wrong]

    def exports(self):
        """The symbols that the library exports, with nm's letter, without those of versions (A)."""
        out = subprocess.run(
            ["nm", "-D", "--defined-only", self.library], capture_output=True, text=True, check=True
        ).stdout
        found = {}
        for line in out.splitlines():
            letter, name = line.split()[-2:]
            if letter != "A":
                found[name.split("@")[0]] = letter
        return found

    def facts(self):
        """The lines of nvshmem-VERSION.tsv."""
        exports = self.exports()
        text, errors = self.compiler(INCLUDES, "-E", "-P")
        if text is None:
            raise SystemExit(f"nvshmem_facts: {errors[:4000]}")
        lines = self.functions(exports, text)
        there = {line.split("\t")[1] for line in lines}
        lines += [f"export\t{n}\t{exports[n]}" for n in sorted(exports) if n not in there]
        lines += self.constants(text)
        lines += self.structs(text)
        return lines

    def functions(self, exports, text):
        """The lines of functions: those that headers declare, and the library or a header defines.

        Left out are names whose address or type does not compile.
        """
        declared = {n for n in re.findall(r"\b(nvshmem[xi]?_\w+)\s*\(", text)}
        defined = set(re.findall(r"\b(nvshmemx?_\w+)\s*\([^;{}()]*\)\s*\{", text))
        names = sorted(
            n for n in declared & (exports.keys() | defined) if not n.startswith("nvshmemi_")
        )
        names = self.usable(names, lambda n: f"(void)&{n};")
        names = self.usable(names, lambda n: f'show<decltype(&{n})>("", "");')
        body = "".join(f'    show<decltype(&{n})>("f", "{n}");\n' for n in names)
        out = self.run(INCLUDES + PRINTS + "int main()\n{\n" + body + "}\n")
        return [
            shape_line(line, lambda name: "function" if name in exports else "inline")
            for line in out.splitlines()
        ]

    def constants(self, text):
        """The lines of enumerators and macros that are integers, with their values."""
        macros, _ = self.compiler(INCLUDES, "-E", "-dM")
        kinds = {}
        for body in re.findall(r"\benum\b[^;{]*\{([^}]*)\}", text):
            for name in re.findall(r"(?:^|,)\s*(\w+)", body):
                if re.match(r"_?NVSHMEMX?_", name):
                    kinds[name] = "enum"
        for name in re.findall(r"^#define (_?NVSHMEMX?_\w+) \S", macros or "", re.M):
            kinds.setdefault(name, "macro")
        kinds.pop("NVSHMEM_HOSTLIB_ONLY", None)  # defined by the command line
        number = (
            "static_assert(std::is_integral<decltype({0})>::value || "
            'std::is_enum<decltype({0})>::value, "");'
        )
        # The length of an array has to be a constant expression, so other macros do not compile.
        names = self.usable(
            sorted(kinds),
            lambda n: number.format(f"({n})") + f"(void)sizeof(char[1+0*(long long)({n})]);",
        )
        body = "".join(f'    std::printf("{n}\\t%lld\\n", (long long)({n}));\n' for n in names)
        out = self.run(INCLUDES + PRINTS + "int main()\n{\n" + body + "}\n")
        lines = []
        for line in out.splitlines():
            name, value = line.split("\t")
            lines.append(f"constant\t{name}\t{value}\t{kinds[name]}")
        return lines

    def structs(self, text):
        """The lines of STRUCTS: their sizes, and the offsets of their fields."""
        body = ""
        for name in STRUCTS:
            found = re.search(r"\{([^{}]*)\}\s*" + name + r"\s*;", text)
            if found is None:
                continue
            body += f'    std::printf("struct\\t{name}\\t%zu\\n", sizeof({name}));\n'
            for field in re.findall(r"(\w+)\s*(?:\[[^\]]*\])?\s*;", found[1]):
                line = f"field\\t{name}\\t{field}\\t%zu\\n"
                body += f'    std::printf("{line}", offsetof({name}, {field}));\n'
        return self.run(
            INCLUDES + "#include <cstddef>\n" + PRINTS + "int main()\n{\n" + body + "}\n"
        ).splitlines()

    def device_facts(self):
        """The lines of nvshmem-device-VERSION.tsv, from the text of nvcc's device pass.

        There __device__ has become __attribute__((device)).
        """
        source = os.path.join(self.root, "device.cu")
        with open(source, "w", encoding="utf-8") as f:
            f.write(INCLUDES)
        command = [self.nvcc, "-std=c++17", "-arch=sm_90", "-ccbin", "gcc", f"-I{self.include}"]
        command += ["-ptx", "--keep", "--keep-dir", self.root, "-o", f"{self.root}/device.ptx"]
        subprocess.run([*command, source], check=True)
        with open(f"{self.root}/device.cpp1.ii", encoding="utf-8") as f:
            text = re.sub(r"^#.*$", "", f.read(), flags=re.M)
        shapes, tiles = {}, set()
        for head in HEAD.finditer(text):
            before, name, params = head[1], head[2], head[3]
            if "(device)" not in before or "_on_stream" in name:
                continue
            if "template" in before:
                if name.startswith("tile_"):
                    tiles.add("nvshmemx::" + name)
                continue
            result = re.sub(r"__attribute__\(\(\w+\)\)|" + SPECIFIERS, " ", before)
            if name.startswith("nvshmem_") or name.startswith("nvshmemx_"):
                shapes[name] = f"{' '.join(result.split())} (*)({' '.join(params.split())})"
        body = "".join(f'    show<{shapes[n]}>("f", "{n}");\n' for n in sorted(shapes))
        out = self.run(INCLUDES + PRINTS + "int main()\n{\n" + body + "}\n")
        lines = [shape_line(line, lambda _: "device") for line in out.splitlines()]
        lines += [f"tile\t{n}" for n in sorted(tiles)]
        for path in sorted(glob.glob(f"{self.include}/**/*.[ch]*", recursive=True)):
            lines.append(f"header\t{os.path.relpath(path, self.include)}")
        return lines


# A function's head: the text before the name, the name, the parameters.
HEAD = re.compile(
    r"(?<![^;{}])([^;{}()]*(?:\(\(\w+\)\)[^;{}()]*)+)"
    r"\b(nvshmemx?_\w+|tile_\w+)\s*\(([^;{}()]*)\)\s*[;{]"
)
SPECIFIERS = r"\b(?:static|inline|extern|__noinline__|__forceinline__|__inline__)\b|\"C\""


def shape_line(line, kind):
    """A line of facts from the output of show."""
    _, name, pretty = line.split("\t")
    shape = re.fullmatch(r".*T = (.*?) ?\(\*\)\((.*)\)\]", pretty)
    if shape is None:
        raise SystemExit(f"nvshmem_facts: {name}: {pretty}")
    params = "; ".join(p.strip() for p in shape[2].split(",")) or "void"
    return f"{kind(name)}\t{name}\t{shape[1]}\t{params}"


def main():
    parser = argparse.ArgumentParser(description="write the facts of NVSHMEM")
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--wheels", help="where the wheels are, or will be")
    parser.add_argument("--out", default="capi/spec/testdata")
    args = parser.parse_args()
    nvcc = subprocess.run(
        ["scripts/setup", "--tool", "nvcc"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as room:
        for version in args.versions:
            wheel = Wheel(version, args.wheels or room, os.path.abspath(nvcc), room)
            for name, lines in (("", wheel.facts()), ("device-", wheel.device_facts())):
                path = os.path.join(args.out, f"nvshmem-{name}{version}.tsv")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(f"# Facts of {PACKAGE} {version}, by scripts/nvshmem_facts.py.\n")
                    f.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
