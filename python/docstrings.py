#!/usr/bin/env python3
"""Checks the docstrings of public names by numpydoc, with the checks that pyproject.toml names.

It also checks that each public function has a section Raises, and that `__all__` of a package, or
of its module _public, lists the names that this module imports. It only reads the sources, so that
torch need not be installed. PYTHONPATH has numpydoc (scripts/setup --tool numpydoc). The argument
is the folder of the packages; without it, that of this file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from numpydoc.docscrape import NumpyDocString
from numpydoc.hooks.validate_docstrings import parse_config, process_file

PACKAGES = ("shmem", "shmem/torch")
QUIET = {"is_initialized"}  # functions that raise nothing
# Methods that other modules of the package call, and programs do not.
INNER = {"handle", "keep", "take", "end", "live"}


def public(root: Path, package: str) -> dict[Path, set[str]]:
    """The names in `__all__` of a package, by the file from which the package imports them."""
    listed = root / package / "_public.py"
    tree = ast.parse((listed if listed.is_file() else listed.with_name("__init__.py")).read_text())
    names: set[str] = set()
    found: set[str] = set()
    out: dict[Path, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = set(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.module:
            file = root.joinpath(*node.module.split(".")).with_suffix(".py")
            imported = {alias.asname or alias.name for alias in node.names}
            found |= imported
            out[file] = imported
    if found != names:
        raise SystemExit(f"{package}: __all__ and the imports differ: {sorted(found ^ names)}")
    return out


def documented(file: Path, names: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """The classes, functions and methods of the interface, by their names in numpydoc's findings.

    Overloads have the docstring of their implementation, and properties are described in a line.
    """
    for top in ast.parse(file.read_text()).body:
        if not isinstance(top, (ast.FunctionDef, ast.ClassDef)) or top.name not in names:
            continue
        if "overload" not in map(ast.unparse, top.decorator_list):
            yield f"{file.stem}.{top.name}:{top.lineno}", top
        for node in top.body if isinstance(top, ast.ClassDef) else []:
            if (
                isinstance(node, ast.FunctionDef)
                and not node.name.startswith("_")
                and node.name not in INNER
                and "property" not in map(ast.unparse, node.decorator_list)
            ):
                yield f"{file.stem}.{top.name}.{node.name}:{node.lineno}", node


def faults(root: Path) -> Iterator[str]:
    """A line for each fault of a docstring of the packages in the folder root."""
    config = parse_config(Path(__file__).resolve().parent)
    for package in PACKAGES:
        for file, names in public(root, package).items():
            nodes = dict(documented(file, names))
            for where, name, code, texts in process_file(file, config):
                if f"{name}:{where.rpartition(':')[2]}" in nodes:
                    for text in texts if isinstance(texts, list) else [texts]:
                        yield f"{where}: {name}: {code} {text}"
            for node in nodes.values():
                if not isinstance(node, ast.FunctionDef) or node.name in QUIET:
                    continue
                if not NumpyDocString(ast.get_docstring(node) or "")["Raises"]:
                    yield f"{file}:{node.lineno}: {node.name}: no section Raises"


def main() -> int:
    """Print the findings; 1 if there are any."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    lines = list(faults(root))
    for line in lines:
        print(line)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
