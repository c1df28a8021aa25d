"""docs/start/python-guide.md: its cells run, and print the output in the text."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from launch import ROOT, SHMEMRUN, run

GUIDE = (ROOT / "docs" / "start" / "python-guide.md").read_text()


def cells(language: str) -> list[re.Match[str]]:
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    return [cell for cell in found if cell[1] == language]


def program() -> str:
    """The cells of Python, on the lines that they have in the guide, for tracebacks."""
    out = ""
    for cell in cells("python"):
        line = GUIDE.count("\n", 0, cell.start(2))
        out += "\n" * (line - out.count("\n")) + cell[2]
    return out


@pytest.mark.parametrize("hosts", ["1", "2"])
def test_cells(hosts: str, tmp_path: Path) -> None:
    # The charts go to the folder of the program, which is otherwise empty.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    file = tmp_path / "guide.py"
    file.write_text(program())
    done = run(str(SHMEMRUN), "-n", "2", "--hosts", hosts, "--timeout", "240", "--",
               sys.executable, str(file), cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    expected = "".join(cell[2] for cell in cells(""))
    assert expected.count("\n") == 17 and done.stdout == expected
    for name, lines in (("put", 1), ("loss", 1), ("pages", 3)):
        tree = ElementTree.parse(tmp_path / f"{name}.svg")
        assert len(tree.findall("{*}polyline")) == lines
        assert (ROOT / "docs" / "images" / f"guide-{name}.svg").exists()
