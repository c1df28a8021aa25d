"""The tests in torch, as jobs, with a Python that has torch."""

import re
from pathlib import Path

import pytest
from launch import ROOT, SHMEMRUN, full, need_torch, run, torch_variables

# pytest itself, and its imports: nothing of numpy, because torch has a numpy of its own.
PYTEST = ["pytest", "_pytest", "pluggy", "py.py", "iniconfig", "packaging", "pygments"]


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("modules")
    here = Path(pytest.__file__).parents[1]
    for name in PYTEST:
        (folder / name).symlink_to(here / name)
    return str(folder)


@pytest.mark.parametrize(
    "job", ["-n 3 --hosts 2,1", *full("python", "-n 1", "-n 2", "-n 2 --chaos 1")]
)
def test_job(job: str, modules: str) -> None:
    variables = torch_variables()
    path = f"{variables['PYTHONPATH']}:{modules}"
    tests = [need_torch(), "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    argv = [str(SHMEMRUN), "--timeout", "280", *job.split(), "--", *tests]
    where = ["-c", "python/pyproject.toml", str(ROOT / "python/tests/torch")]
    done = run(*argv, *where, **{**variables, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


@pytest.mark.full
def test_the_page(tmp_path: Path) -> None:
    """docs/guides/torch.md, as a program; releases before 2 have no torch.compile."""
    page = (ROOT / "docs" / "guides" / "torch.md").read_text()
    cells = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    program = "".join(cells).replace('heap="device"', "")
    old = """
import torch
if not hasattr(torch, "compile"):
    torch.compile = lambda **_: lambda f: f
"""
    checks = """
assert everybody.tolist() == [float(i) for i in range(n) for _ in range(4)]
assert received.tolist() == [float((me - 1) % n)] * 4
assert box.tolist() == [2.0 * ((me - 1) % n)] * 4
"""
    end = "shmem.finalize()\n"
    assert program.endswith(end)
    (tmp_path / "page.py").write_text(old + program.removesuffix(end) + checks + end)
    argv = [str(SHMEMRUN), "-n", "2", "--timeout", "280", "--", need_torch()]
    done = run(*argv, str(tmp_path / "page.py"), **torch_variables())
    assert done.returncode == 0, done.stdout + done.stderr
