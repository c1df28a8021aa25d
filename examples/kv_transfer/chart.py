"""Draws lines as an SVG file, without a library."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 70, 20, 40, 50
COLOURS = ("#1f6fb2", "#c8541d", "#3a8f3a", "#7a4fa3")

Points = list[tuple[float, float]]


def _ticks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers in [low, high] for an axis: powers of ten, or steps of 1, 2 or 5."""
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        of_each = (1,) if len(decades) > 4 else (1, 2, 5)
        every = [m * 10.0**i for i in decades for m in of_each]
        return [value for value in every if low <= value <= high]
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 6)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def chart(
    file: str, title: str, across: str, up: str, series: dict[str, Points], log: bool = False
) -> None:
    """Writes a chart with a line for each entry of series, by its name.

    across and up label the axes; log makes both of them logarithmic.
    """
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    if not xs:
        raise ValueError(f"chart {file}: there is no point to draw (pass some)")
    ends = [(min(v), max(v) if max(v) > min(v) else min(v) + 1) for v in (xs, ys)]
    if not log:
        ends[1] = (min(0.0, ends[1][0]), ends[1][1])

    def part(value: float, axis: int) -> float:
        """Where a value is on the axis (0: x, 1: y), from 0 to 1."""
        low, high = ends[axis]
        if log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + part(x, 0) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - part(y, 1) * (HEIGHT - TOP - BOTTOM),
        )

    def text(x: float, y: float, what: str, more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(what)}</text>'

    middle, foot = 'text-anchor="middle"', HEIGHT - BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        text(WIDTH / 2, 22, title, middle + ' font-size="15"'),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, across, middle),
        text(0, 0, up, middle + f' transform="translate(16 {(TOP + foot) / 2}) rotate(-90)"'),
    ]
    grid = 'stroke="#dddddd"'
    for value in _ticks(*ends[0], log):
        x, _ = place(value, ends[1][0])
        out.append(f'<path d="M{x:.1f} {TOP}V{foot}" {grid}/>')
        out.append(text(x, foot + 16, f"{value:g}", middle))
    for value in _ticks(*ends[1], log):
        _, y = place(ends[0][0], value)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" {grid}/>')
        out.append(text(LEFT - 6, y + 4, f"{value:g}", 'text-anchor="end"'))
    for i, (name, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        line = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(text(LEFT + 10, TOP + 16 * (i + 1), name, f'fill="{colour}"'))
    Path(file).write_text("\n".join([*out, "</svg>", ""]), encoding="utf-8")
