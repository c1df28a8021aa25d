"""The wheel, installed into an empty environment without a network, and used there."""

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from launch import ROOT, limited

# One of the test programs of the library itself.
PROGRAM = ROOT / "tests" / "c" / "ordering.c"

# numpy's wheel lies beside the modules of the tests.
NUMPY = Path(pytest.__file__).resolve().parents[2] / "wheels"


def run(*argv: object, cwd: Path = ROOT) -> str:
    """The environment of a user without settings."""
    names = ("PATH", "HOME", "BUILD", "CC", "GO", "CUDA_ARCHS", "KERNEL_ARCHS", "KERNEL_PTX")
    kept = {k: v for k, v in os.environ.items() if k in names}
    done = limited([str(a) for a in argv], kept, cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    (dist / "libshmem-0.0.0-old.whl").write_text("")
    run("make", "-s", "wheel", f"DIST={dist}")
    (out,) = dist.iterdir()
    return out


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q",
        "--disable-pip-version-check", "--no-index", "--find-links", NUMPY, wheel)  # fmt: skip
    return folder


def first_program(language: str) -> str:
    text = (ROOT / "docs/start/first-programs.md").read_text()
    found = re.search(rf"\n```{language}\n(.*?)\n```\n", text, re.DOTALL)
    assert found
    return found[1] + "\n"


def test_what_is_in_it(wheel: Path) -> None:
    # Kernels of one architecture; those of all add 1.2 MB (MOST in wheel.py).
    assert wheel.stat().st_size <= 16 << 20
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("_abi.pyi", "py.typed", "lib/libshmem.so", "lib/libshmem_core.so",
                 "bin/shmemrun", "bin/shmem-doctor", "bin/shmem-perf", "libexec/shmem/perf",
                 "include/shmem.h", "include/shmemx.h", "include/shmem/shmem.cuh",
                 "lib/libshmem_kernels.fatbin", "lib/pkgconfig/shmem.pc",
                 "share/doc/libshmem/docs/start/install.md", "share/shmem/examples/ring/ring.c",
                 "lib/libnvshmem_device.bc", "lib/libnvshmem_host.so.3",
                 "share/man/man3/shmem_put.3"):  # fmt: skip
        assert f"shmem/{name}" in names, name
    assert not [n for n in names if "libnvshmem_device_sm_" in n]  # links, to one file for all GPUs
    ends = tuple(f".dist-info/licenses/{name}" for name in ("LICENSE", "THIRD-PARTY.txt"))
    assert len([n for n in names if n.endswith(ends)]) == 2
    assert not [n for n in names if n.startswith(("shmem/tests/", "tests/"))]


def test_nothing_is_there_twice(wheel: Path) -> None:
    """A wheel has no links: a large file with two names is stored once, with a small text under the
    other name.
    """
    seen: dict[int, str] = {}
    for info in zipfile.ZipFile(wheel).infolist():
        if info.file_size > 16 << 10:
            assert info.CRC not in seen, (info.filename, seen[info.CRC])
            seen[info.CRC] = info.filename


NVSHMEM = """
#include <nvshmem.h>
#include <nvshmemx.h>
#include <host/nvshmem_api.h>
#include <stdio.h>
int main(void)
{
    nvshmem_init();
    printf("PE %d of %d\\n", nvshmem_my_pe(), nvshmem_n_pes());
    nvshmem_finalize();
    return 0;
}
"""


def test_nvshmem_home(environment: Path, tmp_path: Path) -> None:
    """The folder of nvshmem_path() is NVSHMEM_HOME for build files, and has CMake's package."""
    bin_ = environment / "bin"
    ask = "import shmem; print(shmem.nvshmem_path())"
    home = run(bin_ / "python", "-c", ask, cwd=tmp_path).strip()
    assert home.startswith(str(environment)) and Path(home, "include", "nvshmem.h").is_file()
    (tmp_path / "program.c").write_text(NVSHMEM)
    run("gcc", f"-I{home}/include", "program.c", f"-L{home}/lib", "-lnvshmem_host",
        "-lnvshmem_device", f"-Wl,-rpath,{home}/lib", "-o", "program", cwd=tmp_path)  # fmt: skip
    assert run("./program", cwd=tmp_path) == "PE 0 of 1\n"
    assert "PE 1 of 2\n" in run(bin_ / "nvshmrun", "-np", 2, "./program", cwd=tmp_path)
    assert "PE 1 of 2\n" in run(f"{home}/bin/oshrun", "-np", 2, "./program", cwd=tmp_path)
    assert "NVSHMEM_QP_DEPTH\n" in run(bin_ / "nvshmem-info", "-a", cwd=tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(elsewhere C)\n"
        "find_package(NVSHMEM 3.4 REQUIRED)\nadd_executable(made program.c)\n"
        "target_link_libraries(made PRIVATE nvshmem::nvshmem_host nvshmem::nvshmem_device)\n"
    )
    run("cmake", "-S", ".", "-B", "out", f"-DNVSHMEM_ROOT={home}", cwd=tmp_path)
    run("cmake", "--build", "out", cwd=tmp_path)
    assert run("out/made", cwd=tmp_path) == "PE 0 of 1\n"


def test_nvshmem_path_of_an_installation(tmp_path: Path) -> None:
    """The first library in LD_LIBRARY_PATH has its own; a source tree has none."""
    ask = "import shmem; print(shmem.nvshmem_path())"
    source = [f"PYTHONPATH={ROOT}/python:{os.environ['PYTHONPATH']}", "SHMEM_HEAP=host"]
    home = tmp_path / "prefix" / "share" / "nvshmem"
    for file in (home / "include" / "nvshmem.h", home / "lib" / "libnvshmem_host.so.3"):
        file.parent.mkdir(parents=True)
        file.write_text("")
    found = f"LD_LIBRARY_PATH={tmp_path}/prefix/lib"
    assert run("env", *source, found, sys.executable, "-c", ask).strip() == str(home)
    wrong = "import shmem\ntry: shmem.nvshmem_path()\nexcept shmem.LibraryError as e: print(e)"
    said = run("env", *source, sys.executable, "-c", wrong)
    assert said.startswith("find nvshmem.h: not below ") and "(install the wheel, or " in said


def test_its_name_is_true(wheel: Path, tmp_path: Path) -> None:
    """It needs the glibc that objdump reports, and no newer one."""
    match = re.search(r"-py3-none-manylinux_(\d+)_(\d+)_x86_64\.whl$", wheel.name)
    assert match
    zipfile.ZipFile(wheel).extractall(tmp_path)
    needed = {(2, 5)}
    for path in (tmp_path / "shmem").rglob("*"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF" and path.suffix != ".fatbin":
            symbols = run("objdump", "-p", path)
            needed |= {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
    assert max(needed) == (int(match[1]), int(match[2]))


def test_the_example_of_the_first_program(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text(first_program("python"))
    bin_ = environment / "bin"
    out = run(bin_ / "shmemrun", "-n", 3, bin_ / "python", "hello.py", cwd=tmp_path)
    lines = [f"PE {me} of 3: PE {(me - 1) % 3} wrote to me, the sum is 3" for me in range(3)]
    assert sorted(out.splitlines()) == lines
    alone = run(bin_ / "python", "hello.py", cwd=tmp_path)
    assert alone == "PE 0 of 1: PE 0 wrote to me, the sum is 0\n"


def test_c_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    """The wheel is an installation for C, too."""
    (tmp_path / "hello.c").write_text(first_program("c"))
    (package,) = environment.glob("lib/python*/site-packages/shmem")
    run("gcc", f"-I{package}/include", "hello.c", f"-L{package}/lib", "-lshmem", "-o", "hello",
        cwd=tmp_path)  # fmt: skip
    out = run(environment / "bin" / "shmemrun", "-n", 2, "./hello", cwd=tmp_path)
    assert "PE 1 of 2: PE 0 wrote to me" in out
    pc = (package / "lib" / "pkgconfig" / "shmem.pc").read_text()
    assert "\nprefix=${pcfiledir}/../..\n" in "\n" + pc and "${prefix}/include" in pc


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(elsewhere C)
find_package(shmem REQUIRED)
add_executable(program {source})
target_link_libraries(program PRIVATE shmem::shmem m)
file(WRITE launcher "${{shmem_LAUNCHER}}")
"""


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has unpacked the wheel without an environment, moved afterwards."""
    made = tmp_path_factory.mktemp("made") / "target"
    run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index",
        "--no-deps", "--target", made, wheel)  # fmt: skip
    return made.rename(tmp_path_factory.mktemp("moved") / "there")


@pytest.mark.parametrize("prefix", [".", "shmem"])
def test_cmake_from_elsewhere(elsewhere: Path, prefix: str, tmp_path: Path) -> None:
    """CMake finds the library by pip's folder as the prefix, or by the package's."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(source=PROGRAM))
    out = run("cmake", "-S", ".", "-B", "out", f"-DCMAKE_PREFIX_PATH={elsewhere / prefix}",
              cwd=tmp_path)  # fmt: skip
    run("cmake", "--build", "out", cwd=tmp_path)
    launcher = (tmp_path / "launcher").read_text()
    assert launcher == str(elsewhere / "shmem" / "bin" / "shmemrun"), out
    said = run(launcher, "-n", 2, "--timeout", 60, "out/program", cwd=tmp_path)
    assert re.search(r"[1-9]\d* passed, 0 failed", said), said


def test_pkg_config_from_elsewhere(elsewhere: Path, tmp_path: Path) -> None:
    package = elsewhere / "shmem"
    find = ("env", f"PKG_CONFIG_PATH={package}/lib/pkgconfig", "pkg-config")
    flags = run(*find, "--cflags", "--libs", "shmem").split()
    there = [Path(f[2:]).resolve() for f in flags if f.startswith(("-I", "-L"))]
    assert there == [package / "include", package / "lib"], flags
    assert run(*find, "--modversion", "shmem").strip() == (ROOT / "VERSION").read_text().strip()
    run("gcc", PROGRAM, "-o", "program", *flags, "-lm", cwd=tmp_path)
    said = run(package / "bin" / "shmemrun", "-n", 2, "--timeout", 60, "./program", cwd=tmp_path)
    assert re.search(r"[1-9]\d* passed, 0 failed", said), said


def test_the_doctor(environment: Path, tmp_path: Path) -> None:
    path = f"{environment}/bin:/usr/bin:/bin"
    # The machine that runs this may have too little of something: status 1.
    doctor = f"{environment}/bin/python -m shmem.doctor || test $? = 1"
    out = run("env", f"PATH={path}", "sh", "-c", doctor, cwd=tmp_path)
    assert "/site-packages/shmem/lib/libshmem.so, libshmem " in out
    assert f"ok  shmemrun: {environment}/bin/shmemrun" in out
    assert "ok  libshmem_core.so: " in out
