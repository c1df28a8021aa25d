"""Writes the page of Python's interface from the docstrings, without an import of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# The modules in the order of the page; others follow.
ORDER = """
    _runtime _job _arrays _zz_rma _zz_atomics _zz_signal _notify _messages _zz_wait _sync
    _collectives _reductions _room _teams _contexts _register _pointers _reclaim _mesh
    _mesh_parts _device _library _errors
"""
INTRODUCTION = """# Python

The functions and classes of `shmem` and `shmem.torch`, from their docstrings. The
[Python guide](docs/start/python-guide.md) introduces them step by step, and
[torch](docs/guides/torch.md) those for tensors. Errors are classes under `shmem.ShmemError`.
"""

Definition = ast.FunctionDef | ast.ClassDef


def page(root: Path) -> str:
    """The page, in Markdown."""
    out = [INTRODUCTION]
    for package in ("shmem", "shmem/torch"):
        prefix = package.replace("/", ".")
        out.append(f"## {prefix}\n")
        for node in definitions(root, package):
            out += entry(node, prefix, 3)
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and described(inner):
                    out += entry(inner, f"{node.name}", 4)
    return "\n".join(out)


def definitions(root: Path, package: str) -> Iterator[Definition]:
    """The public functions and classes, in the order of the page."""
    listed = root / package / "_public.py"
    tree = ast.parse((listed if listed.is_file() else listed.with_name("__init__.py")).read_text())
    files: dict[Path, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            file = root.joinpath(*node.module.split(".")).with_suffix(".py")
            files.setdefault(file, set()).update(a.name for a in node.names)
    order = ORDER.split()
    for file in sorted(files, key=lambda f: order.index(f.stem) if f.stem in order else len(order)):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, Definition) and node.name in files[file] and described(node):
                yield node


def described(node: Definition) -> bool:
    """Whether the node is public and has a docstring; an overload has none."""
    overload = "overload" in map(ast.unparse, node.decorator_list)
    return not overload and not node.name.startswith("_") and bool(ast.get_docstring(node))


def entry(node: Definition, prefix: str, level: int) -> Iterator[str]:
    """Heading, signature and text of a definition."""
    yield f"{'#' * level} {prefix}.{node.name}\n"
    if isinstance(node, ast.FunctionDef):
        if "property" not in map(ast.unparse, node.decorator_list):
            yield f"```python\n{signature(node)}\n```\n"
    elif node.bases:
        yield "A subclass of " + ", ".join(f"`{ast.unparse(b)}`" for b in node.bases) + ".\n"
    yield from text(ast.get_docstring(node) or "")


def signature(node: ast.FunctionDef) -> str:
    """How a function is called, an argument on a line of its own where one line is too long."""
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    arguments = ast.unparse(node.args)
    one = f"{node.name}({arguments}){result}"
    if len(one) <= 80:
        return one
    # A comma inside brackets does not end an argument.
    parts, depth, start = [], 0, 0
    for at, c in enumerate(arguments):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(arguments[start:at].strip())
            start = at + 1
    parts.append(arguments[start:].strip())
    return f"{node.name}(\n    " + ",\n    ".join(parts) + f",\n){result}"


def text(docstring: str) -> Iterator[str]:
    """A docstring of numpydoc's form as Markdown: sections become lists, the rest stays."""
    blocks = re.split(r"(?m)^(\w[\w ]*)\n-{3,}$\n?", docstring)
    yield blocks[0].strip() + "\n"
    for name, body in zip(blocks[1::2], blocks[2::2]):
        yield f"**{name}**\n"
        if name in ("Examples", "Notes"):
            yield body.strip() + "\n"
            continue
        for item in re.split(r"(?m)^(?=\S)", body):
            head, _, rest = item.strip().partition("\n")
            if not head:
                continue
            word, colon, kind = head.partition(" : ")
            line = f"- `{word}`" + (f" (`{kind}`)" if colon else "")
            rest = " ".join(rest.split())
            yield line + (f": {rest}" if rest else "")
        yield ""
