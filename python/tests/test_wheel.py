"""The wheel, installed into an empty environment without a network, and used there."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from launch import ROOT

# One of the programs that the library itself is tested with.
PROGRAM = ROOT / "tests" / "c" / "ordering.c"

# numpy's wheel lies beside the modules that the tests run with.
NUMPY = Path(pytest.__file__).resolve().parents[2] / "wheels"


def run(*argv: object, cwd: Path = ROOT) -> str:
    """With the environment of a user who has set nothing."""
    names = ("PATH", "HOME", "BUILD", "CC", "GO", "CUDA_ARCHS")
    kept = {k: v for k, v in os.environ.items() if k in names}
    done = subprocess.run(
        [str(a) for a in argv], env=kept, cwd=cwd, capture_output=True, text=True, timeout=300
    )
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


def readme(language: str) -> str:
    text = (ROOT / "README.md").read_text()
    found = re.search(rf"\n```{language}\n(.*?)\n```\n", text, re.DOTALL)
    assert found
    return found[1] + "\n"


def test_what_is_in_it(wheel: Path) -> None:
    assert wheel.stat().st_size <= 15 << 20
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("_abi.pyi", "py.typed", "lib/libshmem.so", "lib/libshmem_core.so",
                 "bin/shmemrun", "bin/shmem-doctor",
                 "include/shmem.h", "include/shmemx.h", "include/shmem/shmem.cuh",
                 "lib/libshmem_kernels.fatbin", "lib/pkgconfig/shmem.pc"):  # fmt: skip
        assert f"shmem/{name}" in names, name
    assert not [n for n in names if n.startswith(("shmem/tests/", "tests/"))]


def test_its_name_is_true(wheel: Path, tmp_path: Path) -> None:
    """It asks for the glibc that objdump sees, and no more."""
    match = re.search(r"-py3-none-manylinux_(\d+)_(\d+)_x86_64\.whl$", wheel.name)
    assert match
    zipfile.ZipFile(wheel).extractall(tmp_path)
    needed = {(2, 5)}
    for path in (tmp_path / "shmem").rglob("*"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF" and path.suffix != ".fatbin":
            symbols = run("objdump", "-p", path)
            needed |= {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
    assert max(needed) == (int(match[1]), int(match[2]))


def test_the_example_of_the_readme(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text(readme("python"))
    bin_ = environment / "bin"
    out = run(bin_ / "shmemrun", "-n", 3, bin_ / "python", "hello.py", cwd=tmp_path)
    lines = [f"PE {me} of 3: PE {(me - 1) % 3} wrote to me, the sum is 3" for me in range(3)]
    assert sorted(out.splitlines()) == lines
    alone = run(bin_ / "python", "hello.py", cwd=tmp_path)
    assert alone == "PE 0 of 1: PE 0 wrote to me, the sum is 0\n"


def test_c_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    """The wheel is an installation for C, too."""
    (tmp_path / "hello.c").write_text(readme("c"))
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
    """Where pip has unpacked it without an environment, and where it was moved to then."""
    made = tmp_path_factory.mktemp("made") / "target"
    run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index",
        "--no-deps", "--target", made, wheel)  # fmt: skip
    return made.rename(tmp_path_factory.mktemp("moved") / "there")


@pytest.mark.parametrize("prefix", [".", "shmem"])
def test_cmake_from_elsewhere(elsewhere: Path, prefix: str, tmp_path: Path) -> None:
    """With the folder of pip's as the prefix, or that of the package."""
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
    # The machine that this runs on may have too little of something: status 1.
    doctor = f"{environment}/bin/python -m shmem.doctor || test $? = 1"
    out = run("env", f"PATH={path}", "sh", "-c", doctor, cwd=tmp_path)
    assert "/site-packages/shmem/lib/libshmem.so, libshmem " in out
    assert f"ok  shmemrun: {environment}/bin/shmemrun" in out
    assert "ok  libshmem_core.so: " in out
