"""python -m shmem.doctor."""

import json
import sys
from pathlib import Path

from launch import BUILD, LIBRARY, ROOT, run


def doctor(*argv: str, **more: str) -> tuple[int, str]:
    path = f"{BUILD}/bin:/usr/bin:/bin"
    done = run(sys.executable, "-m", "shmem.doctor", *argv, **{"PATH": path, **more})
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_all_is_well() -> None:
    status, said = doctor(SHMEM_CHECKS="full")
    # The machine that runs this may in fact have too little of something.
    wrong = [line for line in said.splitlines() if line.startswith("no ")]
    assert all(line.startswith(("no  processors:", "no  throttling:")) for line in wrong), said
    assert status == bool(wrong), said
    for line in (
        f"ok  {LIBRARY}, libshmem ",
        "ok  a job of one PE",
        "ok  numpy ",
        "ok  settings: 1 set",
        f"ok  shmemrun: {BUILD}/bin/shmemrun",
    ):
        assert line in said, said


def test_in_a_step_of_a_launcher() -> None:
    # As under a launcher that speaks PMI, whose descriptor this process does not have.
    step = {"PMI_FD": "97", "PMI_RANK": "0", "PMI_SIZE": "2"}
    _, said = doctor(**step)
    assert "ok  a job of one PE\n" in said, said


def test_what_is_wrong(tmp_path: Path) -> None:
    status, said = doctor(SHMEM_SYMETRIC_SIZE="1g")
    assert status == 1
    assert "no  settings: read setting SHMEM_SYMETRIC_SIZE: there is no such setting" in said

    status, said = doctor(SHMEM_SYMMETRIC_SIZE="many", SHMEM_LIBFABRIC="/no/fabric.so")
    assert status == 1
    assert "no  a job of one PE fails: shmem" in said
    assert "no  libfabric: load libfabric: /no/fabric.so: " in said

    # A library without the program beside it, and none in PATH.
    (tmp_path / "libshmem.so").write_text("nothing")
    status, said = doctor(LD_LIBRARY_PATH=str(tmp_path), PATH=str(tmp_path))
    assert status == 1
    assert f"no  {tmp_path}/libshmem.so: " in said
    assert "no  shmem-doctor is missing (install the complete library)" in said


def test_for_programs() -> None:
    version = (ROOT / "VERSION").read_text()
    assert doctor("--version") == (0, version)
    status, said = doctor("--json", SHMEM_SYMETRIC_SIZE="1g")
    report = json.loads(said)
    assert status == 1 and report["verdict"] == "fault" and report["version"] == version.strip()
    subjects = {f["subject"]: f["verdict"] for f in report["hosts"][0]["findings"]}
    assert subjects["settings"] == "fault"
    assert any(f["text"].startswith("numpy ") and f["verdict"] == "ok" for f in report["python"])
