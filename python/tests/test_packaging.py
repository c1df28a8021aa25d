"""What the packages are made of, before they are made: needs of files, and parts of others."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from launch import BUILD, ROOT

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "packaging")]

import deb  # noqa: E402
import parts  # noqa: E402
import release  # noqa: E402

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


def test_a_version_without_a_symbol(tmp_path: Path) -> None:
    """The loader also refuses a file that needs a version of which it uses no symbol."""
    text = "int puts(const char *); static int f; int *g = &f; int h(void) { return puts(0); }"
    file = built(tmp_path, text, "-Wl,-z,pack-relative-relocs")
    lines = list(elf.faults("lib/x.so", file, file.machine, (2, 28)))
    assert [line for line in lines if " a version of libc.so.6, GLIBC_ABI_DT_RELR, " in line], lines


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
    """The times and the folder of the files do not matter; another epoch makes another wheel."""
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


@pytest.mark.parametrize(
    "number, version", [("0x00020800", "2.8"), ("0x00020b00", "2.11"), ("0x00030000", "3.0")]
)
def test_the_version_of_hwloc(number: str, version: str) -> None:
    assert parts.HWLOC.of(f"#define HWLOC_API_VERSION {number}\n") == version


def test_a_licence_that_is_not_known() -> None:
    with pytest.raises(SystemExit, match=r"the licence of a/b is none of .*add a sentence of it"):
        parts.licence("a/b", "All rights reserved.")


def test_a_module_without_a_licence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"a/b has no licence in .*ask its authors"):
        parts.licence_file("a/b", tmp_path)


def run(*argv: object, **more: str) -> SimpleNamespace:
    done = subprocess.run(
        [str(a) for a in argv], env={**os.environ, **more}, capture_output=True, text=True
    )
    return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)


def test_the_source_archive(tmp_path: Path) -> None:
    """It has the files of git, with their modes, and the Go modules."""
    vendor = tmp_path / "vendor"
    vendor.mkdir()
    tool = ROOT / "packaging" / "release.py"
    done = run(tool, "source", tmp_path / "no.gz", "--epoch", 5, "--vendor", vendor)
    assert done.code == 1 and "has no modules.txt (go mod vendor -o " in done.err
    (vendor / "modules.txt").write_text("# a module\n")
    done = run(tool, "source", tmp_path / "a.tar.gz", "--epoch", 1700000000, "--vendor", vendor)
    assert done.code == 0, done.err
    top = f"libshmem-{parts.VERSION}"
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        members = {m.name: m for m in tar.getmembers()}
        assert tar.extractfile(f"{top}/VERSION").read().decode().strip() == parts.VERSION
    assert members[f"{top}/scripts/setup"].mode == 0o755
    assert members[f"{top}/vendor/modules.txt"].mtime == 1700000000
    assert not [name for name in members if name.startswith((f"{top}/build/", f"{top}/.git/"))]


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    made = []
    for name, order in (("a", "xy"), ("b", "yx")):
        (tmp_path / name).mkdir()
        for file in order:
            (tmp_path / name / file).write_text(file)
            os.utime(tmp_path / name / file, (len(made), len(made)))
        files = release.below(tmp_path / name, "vendor/")
        files = {f"vendor/{file}": files[f"vendor/{file}"] for file in order}
        release.write_tar(tmp_path / f"{name}.gz", files, "top", 1700000000)
        made.append((tmp_path / f"{name}.gz").read_bytes())
    assert made[0] == made[1]


def test_the_sums(tmp_path: Path) -> None:
    tool = ROOT / "packaging" / "release.py"
    done = run(tool, "sums", tmp_path)
    assert done.code == 1 and done.err.endswith("has no files (make release)\n")
    (tmp_path / "a.whl").write_text("a")
    assert run(tool, "sums", tmp_path).code == 0 and run(tool, "sums", tmp_path).code == 0
    assert (tmp_path / "SHA256SUMS").read_text().count("\n") == 1
    check = "cd $0 && sha256sum -c SHA256SUMS"
    assert run("sh", "-c", check, tmp_path).out == "a.whl: OK\n"
    (tmp_path / "a.whl").write_text("b")
    assert run("sh", "-c", check, tmp_path).code == 1


def test_a_tree_with_changes(tmp_path: Path) -> None:
    """A release is of a commit."""
    made = tmp_path / "packaging" / "release.py"
    made.parent.mkdir()
    made.write_bytes((ROOT / "packaging" / "release.py").read_bytes())
    (tmp_path / "VERSION").write_text("1\n")
    none = run(sys.executable, made, "tree", GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert none.code == 1 and none.err.endswith("(release from a clone)\n"), none.err
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for line in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "a"]):
        assert run("git", "-C", tmp_path, *line).code == 0
    assert run(sys.executable, made, "tree").code == 0
    (tmp_path / "VERSION").write_text("2\n")
    done = run(sys.executable, made, "tree")
    assert done.code == 1 and done.err.startswith(
        "release: VERSION differs from the commit (commit"
    )


def test_packages_of_debian(tmp_path: Path) -> None:
    """Each file is in one package, and the same files make the same packages."""
    if not shutil.which("dpkg-deb"):
        pytest.skip("no dpkg-deb")
    (tmp_path / "notices").write_text("of others\n")
    places = {
        "lib/libshmem.so": "libshmem0", "lib/libshmem_core.so": "libshmem0",
        "lib/libshmem_kernels.fatbin": "libshmem0", "lib/libnvshmem_host.so.3": "libshmem0",
        "lib/libnvshmem_device.bc": "libshmem0",
        "lib/pkgconfig/shmem.pc": "libshmem-dev", "include/shmem.h": "libshmem-dev",
        "lib/libnvshmem.a": "libshmem-dev", "share/man/man3/shmem_put.3": "libshmem-dev",
        "bin/shmemrun": "shmem-tools", "share/man/man1/shmemrun.1": "shmem-tools",
        "libexec/shmem/perf": "shmem-tools", "share/man/man7/shmem.7": "shmem-tools",
    }  # fmt: skip
    made = []
    for folder in ("a", "b"):
        stage = tmp_path / folder
        for name in places:
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_text(name)
        (stage / "bin" / "oshrun").symlink_to("shmemrun")
        done = run(ROOT / "packaging" / "deb.py", stage, tmp_path / f"out-{folder}",
                   "--notices", tmp_path / "notices", "--maintainer", "A B <a@b.example>",
                   SOURCE_DATE_EPOCH="1700000000")  # fmt: skip
        assert done.code == 0, done.err
        made.append([f.read_bytes() for f in sorted((tmp_path / f"out-{folder}").iterdir())])
    assert len(made[0]) == 3 and made[0] == made[1]
    for file in (tmp_path / "out-a").iterdir():
        package = file.name.partition("_")[0]
        found = re.findall(
            r" \./(\S*[^/\s])(?: ->|$)", run("dpkg-deb", "-c", file).out, re.MULTILINE
        )
        for name, where in places.items():
            assert (deb.place_of(name) in found) == (where == package), (name, package, found)
        assert "A B <a@b.example>" in run("dpkg-deb", "-f", file, "Maintainer").out


def test_the_recipes_are_of_this_version() -> None:
    folder = ROOT / "packaging"
    found = {
        "conda/meta.yaml": r'set version = "(.*?)"',
        "spack/package.py": r'version\("(.*?)"\)',
        "Containerfile": r"ARG VERSION=(\S+)",
    }
    for name, pattern in found.items():
        text = (folder / name).read_text()
        assert re.findall(pattern, text) == [parts.VERSION], name
        assert set(re.findall(r"libshmem-(\d+\.\d+\.\d+)", text)) <= {parts.VERSION}, name
    compile((folder / "spack/package.py").read_text(), "package.py", "exec")
    numpy = re.search(r"Requires-Dist: (\S+)", (ROOT / "python" / "wheel.py").read_text())
    assert numpy and numpy[1].replace(">=", " >=") in (folder / "conda/meta.yaml").read_text()


def test_the_containerfile() -> None:
    """The file has known instructions only, and installs the packages of a release."""
    text = re.sub(r"\\\n", " ", (ROOT / "packaging" / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    words = {line.split()[0] for line in lines}
    assert words <= {"FROM", "ARG", "COPY", "RUN", "USER", "WORKDIR", "CMD", "ENV"}, words
    assert lines[0].startswith("FROM ")
    for package in deb.PACKAGES:
        assert f" {package}_${{VERSION}}-1_amd64.deb " in text
    for command in re.findall(r"(?m)^RUN (.*)$", text):
        assert run("sh", "-n", "-c", command).code == 0, command
