"""The modules of the package are in layers: each imports only modules below it.

Every import counts, also one inside a function or for type checkers only: a reader must know both
modules to understand either.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from launch import ROOT

PACKAGE = ROOT / "python" / "shmem"

Imports = dict[str, set[str]]


def modules(package: Path) -> dict[str, Path]:
    """The files of a package by the names of their modules; its __init__ has its own name."""
    out = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package.parent).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return out


def sources(node: ast.Import | ast.ImportFrom, module: str, file: Path) -> Iterator[list[str]]:
    """The modules that a statement imports, likeliest first: x of a package may be a module."""
    if isinstance(node, ast.Import):
        yield from ([alias.name] for alias in node.names)
        return
    source = node.module or ""
    if node.level:
        parts = module.split(".")
        up = node.level - (file.name == "__init__.py")
        source = ".".join([*parts[: len(parts) - up], *filter(None, [node.module])])
    yield from ([f"{source}.{alias.name}", source] for alias in node.names)


def own_imports(package: Path) -> Iterator[tuple[str, str, ast.stmt, bool]]:
    """A module, another one of the package that it imports, where, and whether at the top."""
    all_modules = modules(package)
    for module, file in all_modules.items():
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            for names in sources(node, module, file):
                found = [name for name in names if name in all_modules]
                # `from shmem import _abi` concerns _abi alone. For a package inside shmem it would
                # also concern its __init__, which imports the modules of that package.
                if found[1:] == [package.name]:
                    found.pop()
                for name in found:
                    yield module, name, node, node in tree.body


def imports_of(package: Path) -> Imports:
    out: Imports = {module: set() for module in modules(package)}
    for module, other, _, _ in own_imports(package):
        out[module].add(other)
    return out


def circle(imports: Imports) -> list[str]:
    """Modules of which each imports the next, and the last the first; empty if there are none."""
    done: set[str] = set()

    def walk(module: str, above: list[str]) -> list[str]:
        if module in above:
            return [*above[above.index(module) :], module]
        if module not in done:
            for other in sorted(imports[module]):
                if found := walk(other, [*above, module]):
                    return found
            done.add(module)
        return []

    return next(filter(None, (walk(module, []) for module in sorted(imports))), [])


def test_no_module_imports_itself_by_others() -> None:
    imports = imports_of(PACKAGE)
    assert len(imports) > 40 and "shmem._abi" in imports["shmem._runtime"]
    found = circle(imports)
    assert not found, f"modules import each other: {' -> '.join(found)}"


def test_imports_are_at_the_top() -> None:
    """Except those of optional packages, which are not part of this one, and what the package shows
    to type checkers and imports when it is used.
    """
    inside = {
        f"{module}:{node.lineno}: {other}"
        for module, other, node, top in own_imports(PACKAGE)
        if not top and (module, other) != ("shmem", "shmem._public")
    }
    assert not inside, f"imports that are not at the top of their files: {sorted(inside)}"


@pytest.mark.parametrize(
    "line",
    [
        "from made import a",
        "from made.a import x",
        "import made.a",
        "import made.a as name",
        "from . import a",
        "from .a import x",
        "def f():\n    from made.a import x",
        "if TYPE_CHECKING:\n    from made.a import x",
    ],
)
def test_a_circle_is_seen(line: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "__init__.py").write_text("from made.a import x\n")
    (made / "a.py").write_text("from made import b\n")
    (made / "b.py").write_text("from made.c import y\n")
    (made / "c.py").write_text(line + "\n")
    assert circle(imports_of(made)) == ["made.a", "made.b", "made.c", "made.a"]
    (made / "c.py").write_text("import numpy\n")
    assert circle(imports_of(made)) == []


def test_a_package_that_its_modules_name_is_a_circle(tmp_path: Path) -> None:
    inner = tmp_path / "made" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("from made.inner.a import x\n")
    (inner / "a.py").write_text("from made.inner import b\n")
    (inner / "b.py").write_text("")
    assert circle(imports_of(inner.parent)) == ["made.inner", "made.inner.a", "made.inner"]
    (inner / "a.py").write_text("import made.inner.b as b\n")
    assert circle(imports_of(inner.parent)) == []
