"""What the packages are made of, before they are made: needs of files, and parts of others."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from launch import BUILD, ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "packaging")]

import parts  # noqa: E402

import elf  # noqa: E402

LIBRARIES = sorted((BUILD / "lib").glob("*.so"))
CC = os.environ.get("CC", "gcc")


def built(folder: Path, text: str, *flags: str) -> elf.File:
    """A shared library of this system, as the reader sees it."""
    out = folder / "lib.so"
    subprocess.run([CC, "-shared", "-fPIC", "-x", "c", "-", "-o", str(out), *flags],
                   input=text, text=True, check=True)  # fmt: skip
    return elf.read(out.read_bytes())


@pytest.mark.parametrize("path", LIBRARIES, ids=lambda p: p.name)
def test_the_reader_agrees_with_objdump(path: Path) -> None:
    file = elf.read(path.read_bytes())
    said = subprocess.run(["objdump", "-p", "-T", path], capture_output=True, text=True, check=True)
    assert file.libraries == re.findall(r"NEEDED +(\S+)", said.stdout)
    undefined = re.findall(r"\*UND\*\t[0-9a-f]+ +\(?(\w+\.[\w.]+)\)? +(\S+)", said.stdout)
    assert undefined and sorted((s.version, s.name) for s in file.symbols if s.name) == sorted(
        undefined
    )
    assert file.machine == os.uname().machine


def test_what_is_no_elf_file() -> None:
    assert elf.read(b"#!/bin/sh\n") is None and elf.read(b"") is None


@pytest.mark.parametrize(
    "version, release",
    [("GLIBC_2.2.5", (2, 2)), ("GLIBC_2.28", (2, 28)), ("GLIBC_ABI_DT_RELR", (2, 36)),
     ("GLIBC_PRIVATE", (999, 0)), ("GCC_3.0", None), ("SHMEM_1", None)],
)  # fmt: skip
def test_releases(version: str, release: object) -> None:
    assert elf.glibc(version) == release


def test_a_symbol_that_is_too_new(tmp_path: Path) -> None:
    """The report names the file, the symbol, its version, and what to do."""
    file = built(tmp_path, "int gettid(void); int f(void) { return gettid(); }")
    assert list(elf.faults("lib/x.so", file, file.machine, (2, 30))) == []
    (line,) = elf.faults("lib/x.so", file, file.machine, (2, 28))
    assert line == (
        "lib/x.so needs gettid of libc.so.6, GLIBC_2.30, which glibc 2.28 does not have "
        "(call what it has, or build for a newer one by make wheel GLIBC=)"
    )


def test_a_library_that_not_every_system_has(tmp_path: Path) -> None:
    file = built(tmp_path, "int f;", "-Wl,--no-as-needed", "-lhwloc")
    (line,) = elf.faults("lib/x.so", file, file.machine, (2, 99))
    assert line.startswith("lib/x.so needs libhwloc.so.") and line.endswith("(load it by dlopen)")
    assert list(elf.faults("lib/x.so", file, file.machine, (2, 99), {file.libraries[0]})) == []


def test_another_processor(tmp_path: Path) -> None:
    file = built(tmp_path, "int f;")
    (line,) = elf.faults("lib/x.so", file, "mips", (2, 99))
    assert line == f"lib/x.so is for {file.machine}, and not for mips (build all of it anew)"


def small(folder: Path, *programs: str) -> Path:
    """A stage with the files that a wheel must have; programs replace some."""
    for name in ("bin/shmemrun", "lib/libshmem.so", "lib/libshmem_core.so"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    for name in programs:
        (folder / "lib" / "libshmem.so").write_bytes(Path(name).read_bytes())
    return folder


def write_wheel(stage: Path, dist: Path, *more: str, epoch: str = "1700000000") -> SimpleNamespace:
    (stage.parent / "notices").write_text("notices\n")
    done = subprocess.run(
        [sys.executable, ROOT / "python" / "wheel.py", stage, dist,
         "--notices", stage.parent / "notices", *more],
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, capture_output=True, text=True)  # fmt: skip
    return SimpleNamespace(code=done.returncode, err=done.stderr, wheels=sorted(dist.glob("*.whl")))


def test_the_same_files_make_the_same_wheel(tmp_path: Path) -> None:
    """Whatever their times and the folder, and another time makes another one."""
    made = []
    for folder, epoch in (("a", "1700000000"), ("b", "1700000000"), ("c", "1700000002")):
        stage = small(tmp_path / folder / "stage")
        os.utime(stage / "bin" / "shmemrun", (len(made), len(made)))
        done = write_wheel(stage, tmp_path / folder / "dist", "--glibc", "2.28", epoch=epoch)
        assert done.code == 0, done.err
        made.append(done.wheels[0].read_bytes())
    assert made[0] == made[1] != made[2]


def test_a_wheel_that_its_name_would_not_fit(tmp_path: Path) -> None:
    built(tmp_path, "int gettid(void); int f(void) { return gettid(); }")
    stage = small(tmp_path / "stage", str(tmp_path / "lib.so"))
    done = write_wheel(stage, tmp_path / "dist", "--glibc", "2.28")
    assert done.code == 1 and done.wheels == []
    assert done.err.startswith(
        "wheel: lib/libshmem.so needs gettid of libc.so.6, GLIBC_2.30, which"
    )
    done = write_wheel(stage, tmp_path / "dist")
    assert done.code == 0 and "-manylinux_2_30_" in done.wheels[0].name, done.err


def test_what_the_wheel_says_of_itself(tmp_path: Path) -> None:
    done = write_wheel(
        small(tmp_path / "stage"), tmp_path / "dist", "--url", "https://x.example/y/"
    )
    assert done.code == 0, done.err
    with zipfile.ZipFile(done.wheels[0]) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith("/METADATA")]
        said = wheel.read(name).decode()
        for file in re.findall(r"\nLicense-File: (.*)", said):
            assert wheel.read(name.replace("METADATA", f"licenses/{file}"))
    for line in ("License-Expression: Apache-2.0", "Classifier: Operating System :: POSIX :: Linux",
                 "Project-URL: Source, https://x.example/y", "Requires-Dist: numpy>=1.23",
                 "Project-URL: Changelog, https://x.example/y/blob/main/CHANGELOG.md"):  # fmt: skip
        assert f"\n{line}\n" in said, line
    assert said.count("\nRequires-Dist: ") == 1


@pytest.fixture(scope="module")
def listed() -> list[parts.Part]:
    return parts.parts(None, None)


def test_the_parts_are_those_of_the_build(listed: list[parts.Part]) -> None:
    """Every module that the go command has linked into a program, and none of tests only."""
    linked = set()
    for program in ("bin/shmemrun", "bin/shmem-doctor", "bin/shmem-trace", "lib/libshmem_core.so"):
        said = subprocess.run(["go", "version", "-m", BUILD / program],
                              capture_output=True, text=True, check=True)  # fmt: skip
        linked |= set(re.findall(r"\tdep\t(\S+)\t(\S+)", said.stdout))
    assert linked and {(p.name, p.version) for p in listed if "." in p.name.split("/")[0]} == linked
    for part in listed:
        assert part.licence and part.text and part.version, part.name


def test_the_notices_have_each_licence(listed: list[parts.Part]) -> None:
    text = parts.notices(listed)
    for part in listed:
        assert f"  {part.name} {part.version} ({part.licence}): " in text and part.text in text


def test_the_bill_of_materials(listed: list[parts.Part]) -> None:
    text = parts.sbom(listed, 1700000000)
    assert text == parts.sbom(listed, 1700000000)
    bom = json.loads(text)
    assert bom["specVersion"] == "1.6" and bom["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert {c["name"] for c in bom["components"]} == {p.name for p in listed}
    assert all(c["purl"].startswith("pkg:") for c in bom["components"])


def test_a_licence_that_is_not_known() -> None:
    with pytest.raises(SystemExit, match=r"the licence of a/b is none of .*add a sentence of it"):
        parts.licence("a/b", "All rights reserved.")


def test_a_module_without_a_licence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"a/b has no licence in .*ask its authors"):
        parts.licence_file("a/b", tmp_path)
