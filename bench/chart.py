"""Draws docs/images/figures.svg, the chart of the README, from the pages of bench/results.

    python3 bench/chart.py

A bar is the time of libshmem divided by that of the other library, both from one run: below 1
libshmem is faster. If the page has a limit of the machine, a tick shows it.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Optional
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench/results"
CHART = ROOT / "docs/images/figures.svg"

# Each group: a page of results, the column of the library that it compares with, a caption, and
# rows: the page's columns figure and place (None: the page has no such column), and a label.
GROUPS = [
    (
        "README.md",
        "OSHMEM",
        "Open MPI's OSHMEM 4.1.4, 2 PEs on an AMD EPYC with 2 cores; tcp: two network namespaces",
        [
            ("8-byte put and quiet", "node", "put of 8 B and quiet, one node"),
            ("fetch_add", "node", "fetch_add, one node"),
            ("64 KiB put", "node", "put of 64 KiB, one node"),
            ("barrier_all", "node", "barrier_all, one node"),
            ("8-byte sum", "node", "sum of 8 B, one node"),
            ("1 MiB sum", "node", "sum of 1 MiB, one node"),
            ("p and wait, half round trip", "tcp", "p and wait, half round trip, tcp"),
            ("64 KiB put_nbi", "tcp", "put_nbi of 64 KiB, tcp"),
            ("barrier_all", "tcp", "barrier_all, tcp"),
            ("1 MiB sum", "tcp", "sum of 1 MiB, tcp"),
        ],
    ),
    (
        "gpu.md",
        "NVSHMEM",
        "NVSHMEM 3.4.5, kernels on two NVIDIA H200 joined by NVLink",
        [
            ("p + quiet, 8 B", None, "p and quiet, 8 B"),
            ("thread put + quiet, 1 KiB", None, "put of 1 KiB by a thread, and quiet"),
            ("warp put + quiet, 64 KiB", None, "put of 64 KiB by a warp, and quiet"),
            (
                "put + signal round trip, 1 KiB, block of 256",
                None,
                "put and signal of 1 KiB, round trip",
            ),
            ("signal round trip", None, "signal, round trip"),
            ("barrier, thread", None, "barrier"),
            ("sync, thread", None, "sync"),
            ("block put over a window, 32 CTAs, 1 MiB", None, "put of 1 MiB by 32 blocks"),
            ("sum reduce on stream, 4 B", None, "sum of 4 B on a stream"),
            ("host put, 64 MiB, back to back", None, "put of 64 MiB by the host"),
        ],
    ),
]


@dataclass(frozen=True)
class Row:
    label: str
    ours: float  # libshmem's time divided by the other library's
    limit: Optional[float]  # the machine's limit as such a ratio


def number(text):
    """The number in a cell, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def table_rows(page):
    """Each row of each table of a page, as a dict by the heads of its columns."""
    head = None
    for line in page.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")] if line.startswith("|") else None
        if cells is None:
            head = None
        elif head is None:
            head = cells
        elif not set(line) <= set("|-: "):
            yield dict(zip(head, cells))


def compared(page, peer, figure, place, label):
    """The Row of a figure. The page must have a row of it with a value of the peer."""
    for row in table_rows(page):
        if row.get("figure") != figure or place not in (None, row.get("place")):
            continue
        ours, theirs, limit = (number(row[c]) for c in ("libshmem", peer, "limit"))
        if ours is None or theirs is None:
            continue
        faster_is_more = row["unit"].endswith("/s")
        of_limit = None if limit is None else limit / theirs
        if faster_is_more:
            return Row(label, theirs / ours, None if of_limit is None else 1 / of_limit)
        return Row(label, ours / theirs, of_limit)
    raise SystemExit(
        f"chart: no row {figure!r} with a figure of {peer}: name another in bench/chart.py"
    )


# The colours by meaning: on a light page, and on a dark one.
COLOURS = {
    "page": ("white", "#1e2129"),
    "words": ("#222", "#e6e6e6"),
    "soft": ("#555", "#a9adb8"),
    "grid": ("#888", "#5b606d"),
    "faster": ("#3465a4", "#6ea1e0"),
    "slower": ("#ce5c00", "#f08a3c"),
    "equal": ("#8a8f99", "#9aa0ab"),
    "limit": ("#222", "#e6e6e6"),
}


def style():
    light, dark = (
        "".join(f".{name}{{fill:{pair[i]}}}" for name, pair in COLOURS.items()) for i in (0, 1)
    )
    return f"<style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"


def text(x, y, what, anchor="start", size=12, weight="normal", colour="words"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="sans-serif" '
        f'font-size="{size}" font-weight="{weight}" class="{colour}">{escape(what)}</text>'
    )


def box(x, y, width, height, colour):
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} class="{colour}"/>'


LOW, HIGH = 0.1, 2.0  # the ratios at the ends of the axis, which is logarithmic
LEFT, WIDTH, STEP = 270, 420, 19  # where the axis begins, its width, and the height of a row


def at(ratio):
    """The x of a ratio; ratios beyond the axis are drawn at its end."""
    low, high = math.log(LOW), math.log(HIGH)
    return LEFT + WIDTH * (math.log(min(max(ratio, LOW), HIGH)) - low) / (high - low)


def legend(y):
    """What each mark means, in a row."""
    out, x = [], 10
    for colour, width, what in (
        ("faster", 12, "libshmem is faster"),
        ("slower", 12, "libshmem is slower"),
        ("equal", 12, "within 5 %"),
        ("limit", 2, "the limit of the machine, if the page of figures has one"),
    ):
        out.append(box(x, y - 10, width, 12, colour))
        out.append(text(x + width + 6, y, what, size=11, colour="soft"))
        x += width + 26 + 6 * len(what)
    return out


def draw(groups):
    """The chart as SVG; a group is a caption and its Rows."""
    body = [
        text(10, 20, "Time of libshmem divided by the time of the other library", weight="bold"),
        *legend(40),
    ]
    y = 68
    for caption, rows in groups:
        body.append(text(10, y, f"compared with {caption}", size=11, colour="soft"))
        top = y + 8
        bottom = top + STEP * len(rows)
        for tick in (0.1, 0.2, 0.5, 1, 2):
            width = 1.5 if tick == 1 else 0.5
            body.append(box(at(tick) - width / 2, top, width, bottom - top, "grid"))
            body.append(text(at(tick), bottom + 14, f"{tick:g}", "middle", 11, colour="soft"))
        for i, row in enumerate(rows):
            middle = top + STEP * i + STEP / 2
            body.append(text(LEFT - 8, middle + 4, row.label, "end"))
            colour = "faster" if row.ours < 0.95 else "slower" if row.ours > 1.05 else "equal"
            body.append(box(LEFT, middle - 6, at(row.ours) - LEFT, 12, colour))
            right = at(row.ours)
            if row.limit is not None:
                body.append(box(at(row.limit) - 1, middle - 8, 2, 16, "limit"))
                right = max(right, at(row.limit))
            body.append(text(right + 6, middle + 4, f"{row.ours:.2f}", size=11))
        y = bottom + 40
    width, height = LEFT + WIDTH + 50, y - 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">',
            style(),
            box(0, 0, width, height, "page"),
            *body,
            "</svg>\n",
        ]
    )


def chart():
    groups = []
    for name, peer, caption, wanted in GROUPS:
        page = (RESULTS / name).read_text()
        groups.append((caption, [compared(page, peer, *row) for row in wanted]))
    return draw(groups)


if __name__ == "__main__":
    CHART.write_text(chart())
