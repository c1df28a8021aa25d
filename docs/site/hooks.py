"""What mkdocs does for this tree: it takes pages from their places, and adds those that it makes.

docs_dir of mkdocs.yml has only the script and the style. Pages, pictures and what else they link to
keep their names in the tree, so a link works on the site as it does in a browser of the sources.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import manual_reference
import python_reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = "docs/decisions"
FUNCTIONS = "docs/reference/functions.md"
CHAPTERS = "c"
MANUALS = ROOT / os.environ.get("BUILD", "build") / "man"
CODE = re.compile(r"`[^`]*`")
# Pages that the search shows behind the others.
DEEP = (DECISIONS, "docs/reference/wire.md", "docs/reference/kernel-registers.md")
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "docs/*.md",
    "docs/[!s]*/*.md",
    "docs/start/*.md",
    "docs/images/*",
    "bench/results/*.md",
    "bench/results/*.svg",
    "examples/README.md",
    "examples/pagedfill/README.md",
)


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as browsers of sources make it, and tests/repo/links_test.go."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists decisions and chapters of functions, and tells mkdocs how anchors are spelled."""
    config.mdx_configs["toc"]["slugify"] = slug
    for tab in config.nav:
        pages = next(iter(tab.values()))
        for at, entry in enumerate(pages):
            if isinstance(entry, dict) and entry.get("Decisions") == DECISIONS:
                found = sorted((ROOT / DECISIONS).glob("0*.md"))
                every = [{"Overview": f"{DECISIONS}/README.md"}]
                every += [{title(page): page.relative_to(ROOT).as_posix()} for page in found]
                pages[at] = {"Decisions": every}
            elif isinstance(entry, dict) and CHAPTERS in entry.values():
                overview = (ROOT / FUNCTIONS).read_text()
                every = [{"Overview": FUNCTIONS}]
                for name, file, _ in manual_reference.chapters(overview):
                    every.append({name: f"{CHAPTERS}/{file}.md"})
                pages[at] = {next(iter(entry)): every}
    return config


def title(page: Path) -> str:
    """The heading of a page."""
    return next(line[2:] for line in page.read_text().splitlines() if line.startswith("# "))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages, and what they show and link to."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if files.get_file_from_path(name) is None:
                files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    functions = python_reference.page(ROOT / "python")
    files.append(File.generated(config, "python.md", content=functions))
    commands = manual_reference.commands(MANUALS)
    files.append(File.generated(config, "commands.md", content=commands))
    overview = (ROOT / FUNCTIONS).read_text()
    for file, text in manual_reference.functions(MANUALS, overview):
        files.append(File.generated(config, f"{CHAPTERS}/{file}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Ranks a page in the search, and changes its tables for the site.

    Tables of figures stay out of the search, and pages about the inside come last. In the list of
    functions each name becomes a link. Bars in the code of tables lose their backslash.
    """
    if page.file.src_uri.startswith("bench/results/"):
        page.meta["search"] = {"exclude": True}
    if page.file.src_uri.startswith(DEEP):
        page.meta["search"] = {"boost": 0.2}
    if page.file.src_uri == FUNCTIONS:
        for _, file, names in manual_reference.chapters(markdown):
            for name in names:
                to = f"[{name}](../../{CHAPTERS}/{file}.md#{name})"
                markdown = markdown.replace(f"| {name}(3) |", f"| {to} |")
    return re.sub(r"(?m)^\|.*", lambda row: CODE.sub(bars, row[0]), markdown)


def bars(code: re.Match[str]) -> str:
    """Code in a row of a table: in mkdocs a bar there needs no backslash, and shows it."""
    return code[0].replace(r"\|", "|")
