"""Writes pages of the site from the manual pages that the build has made (make man)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

COMMANDS = """# Commands

The manual pages of the commands, which `man` shows as well.
"""
CHAPTER = """# {title}

The functions of this chapter, from their manual pages.
[All functions](../docs/reference/functions.md) have one line each.
"""
FONTS = {"B": "`", "I": "*", "R": "", "P": ""}
LINK = re.compile(r"(\S+) \((\d)\)(\S*)")


def plain(text: str) -> str:
    """Text of a manual page without escapes, for a block of code."""
    text = re.sub(r"\\f[BIRP]", "", text)
    return text.replace(r"\&", "").replace(r"\-", "-").replace(r"\e", "\\")


def marked(text: str) -> str:
    """Text of a manual page in Markdown: bold words are code, and italic ones emphasised."""
    out, font = [], ""
    for part in re.split(r"(\\f[BIRP])", text):
        if re.fullmatch(r"\\f[BIRP]", part):
            out.append(font)
            font = FONTS[part[2]]
            out.append(font)
        elif font == "`":
            out.append(plain(part))
        else:
            out.append(plain(part).replace("<", "&lt;").replace("*", r"\*"))
    return "".join(out) + font


@dataclass
class Manual:
    """A manual page as Markdown, and what it calls itself."""

    name: str = ""
    lines: list[str] = field(default_factory=list)
    indent: str = ""
    code: bool = False

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line if line else "")

    def fence(self, opens: bool, language: str = "") -> None:
        """Begins or ends a block of code."""
        if opens:
            self.add("")
        self.add("```" + language if opens else "```")
        if not opens:
            self.add("")
        self.code = opens

    def heading(self, text: str) -> None:
        self.indent = ""
        self.add("")
        self.add(f"**{text.capitalize()}**")
        self.add("")

    def term(self, text: str) -> None:
        """An entry of a list, whose text follows."""
        self.indent = ""
        self.add(f"- {text}:")
        self.indent = "    "


def wrapped(prototype: str) -> list[str]:
    """The lines of a prototype, each of which fits into a page."""
    return textwrap.wrap(prototype, 88, subsequent_indent=8 * " ", break_long_words=False) or [""]


def converted(file: Path, link: dict[str, str]) -> Manual:
    """Converts a manual page. link has the address of each function's heading."""
    page = Manual()
    section, term = "", False
    for line in file.read_text().splitlines():
        macro, _, rest = line.partition(" ")
        if line.startswith('.\\"'):
            continue
        if page.code and macro not in (".EE", ".fi", ".PP", ".B"):
            for part in wrapped(plain(line)) if section == "SYNOPSIS" else [plain(line)]:
                page.add(part)
        elif macro == ".TH":
            page.name = plain(rest.split()[0]).lower()
        elif macro == ".SH":
            section = rest
            if rest not in ("NAME", "SEE ALSO"):
                page.heading(rest)
        elif section in ("NAME", "SEE ALSO"):
            if section == "NAME":
                what = marked(line.partition(r"\- ")[2])
                page.add(what[:1].upper() + what[1:] + ".")
        elif macro == ".SS":
            page.heading(marked(rest))
        elif macro == ".TP":
            term = True
        elif macro in (".nf", ".EX"):
            page.fence(True, "c" if macro == ".nf" else "")
        elif macro in (".fi", ".EE"):
            page.fence(False)
        elif macro in (".PP", ".RS", ".RE", ".br"):
            if macro == ".PP" and not page.code:
                page.indent = ""
            page.add("")
        else:
            text = styled(macro, rest, line, page.code, link)
            if term:
                page.term(text)
            else:
                page.add(text)
            term = False
    return page


def styled(macro: str, rest: str, line: str, code: bool, link: dict[str, str]) -> str:
    """A line of text, or one whose words are bold, italic or a reference."""
    if macro == ".BR":
        return LINK.sub(lambda m: reference(m, link), plain(rest))
    if macro == ".B":
        return plain(rest) if code else f"`{plain(rest)}`"
    if macro == ".I":
        return f"`{plain(rest)}`"
    return marked(line)


def reference(m: re.Match[str], link: dict[str, str]) -> str:
    """A link to another page, or its name where the site has none."""
    at = link.get(m[1])
    return f"[{m[1]}]({at}){m[3]}" if at else f"`{m[1]}`({m[2]}){m[3]}"


def commands(manuals: Path) -> str:
    """The page of the commands."""
    out = [COMMANDS]
    files = [f for f in sorted(manuals.glob("man1/*.1")) if not f.read_text().startswith(".so")]
    link = {f.stem: f"#{f.stem}" for f in files}
    for file in files:
        out += [f"## {file.stem}\n", *converted(file, link).lines, ""]
    return "\n".join(out)


def chapters(overview: str) -> Iterator[tuple[str, str, list[str]]]:
    """The chapters of the page of all functions: title, file, and the names of manual pages."""
    for part in overview.split("\n## ")[1:]:
        title, _, rows = part.partition("\n")
        names = re.findall(r"(?m)^\| ([^ |(]+)\(3\) \|", rows)
        yield title, re.sub(r"\W+", "-", title.lower()).strip("-"), names


def functions(manuals: Path, overview: str) -> Iterator[tuple[str, str]]:
    """A page for each chapter: file and text."""
    link = {name: f"{slug}.md#{name}" for _, slug, names in chapters(overview) for name in names}
    for title, slug, names in chapters(overview):
        out = [CHAPTER.format(title=title)]
        for name in names:
            out += [f"## {name}\n", *converted(manuals / "man3" / f"{name}.3", link).lines, ""]
        yield slug, "\n".join(out)
