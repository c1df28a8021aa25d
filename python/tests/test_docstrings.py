"""docstrings.py, which make check runs, sees what a docstring lacks."""

import shutil
import sys
from pathlib import Path

import pytest
from launch import ROOT, run

FAULTS = {
    "another parameter": ("_job.py", "    pe : SupportsIndex\n", "    peer : int\n", "PR01"),
    "no text of a result": ("_job.py", "        0 to `n_pes` - 1.\n", "", "RT03"),
    "no exceptions": ("_reclaim.py", "Raises\n    ------\n", "Notes\n    -----\n", "Raises"),
    "no parameters": ("_sync.py", "    Parameters\n    ----------\n", "", "PR01"),
    "a name that is not in __all__": ("_public.py", '    "put",\n', "", "'put'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen(fault: str, tmp_path: Path) -> None:
    file, was, becomes, says = FAULTS[fault]
    package = ROOT / "python" / "shmem"
    shutil.copytree(package, tmp_path / "shmem", ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "shmem" / file
    text = changed.read_text()
    assert was in text
    changed.write_text(text.replace(was, becomes, 1))
    wheel = run("scripts/setup", "--tool", "numpydoc").stdout.strip()
    check = [sys.executable, "python/docstrings.py", str(tmp_path)]
    path = ":".join([str(ROOT / wheel), *filter(None, sys.path)])
    done = run(*check, PYTHONPATH=path)
    lines = (done.stdout + done.stderr).splitlines()
    assert done.returncode == 1 and says in lines[0] and len(lines) < 4, lines
