"""Plots as SVG, by hand: bars, and lines over two logarithmic axes."""

import math
from xml.sax.saxutils import escape

COLOURS = ["#3465a4", "#f57900", "#73d216", "#204a87", "#ce5c00", "#4e9a06"]


def _text(x, y, text, anchor="start", size=12, weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-family="sans-serif" '
        f'font-size="{size}" font-weight="{weight}">{escape(text)}</text>'
    )


def _frame(width, height, title, body):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
    )
    back = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([head, back, _text(10, 18, title, weight="bold"), *body, "</svg>\n"])


def _legend(names, x, y):
    out = []
    for i, name in enumerate(names):
        out.append(f'<rect x="{x}" y="{y + 16 * i}" width="10" height="10" fill="{COLOURS[i]}"/>')
        out.append(_text(x + 15, y + 9 + 16 * i, name))
    return out


def _decades(low, high):
    """The exponents of the powers of ten that enclose low and high."""
    return range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)


def bars(title, groups, names, unit):
    """A bar chart as SVG. groups: (label, values), with a value or None for each of names.

    The axis, in unit, is logarithmic.
    """
    values = [v for _, row in groups for v in row if v]
    decades = _decades(min(values), max(values))
    left, top, width, each = 190, 60, 420, 12
    step = each * len(names) + 8
    height = top + step * len(groups) + 30

    def at(value):
        return left + width * (math.log10(value) - decades[0]) / (len(decades) - 1 or 1)

    body = _legend(names, left + width + 20, top)
    for d in decades:
        x = at(10**d)
        body.append(f'<path d="M{x:.1f} {top - 4}V{height - 26}" stroke="#d3d7cf"/>')
        body.append(_text(x, height - 10, f"{10**d:g}", "middle"))
    body.append(_text(left, top - 14, unit))
    for g, (label, row) in enumerate(groups):
        y = top + step * g
        body.append(_text(left - 8, y + each * len(row) / 2 + 4, label, "end"))
        for i, value in enumerate(row):
            if value:
                long = max(at(value) - left, 1)
                body.append(
                    f'<rect x="{left}" y="{y + each * i}" width="{long:.1f}" height="{each - 1}" '
                    f'fill="{COLOURS[i]}"/>'
                )
                body.append(_text(left + long + 3, y + each * i + 9, f"{value:.3g}", size=10))
    return _frame(left + width + 110, height, title, body)


def lines(title, series, x_name, y_name):
    """A line chart as SVG. series: name -> list of (x, y); both axes are logarithmic."""
    points = [p for row in series.values() for p in row]
    xs, ys = _decades(*_ends(p[0] for p in points)), _decades(*_ends(p[1] for p in points))
    left, top, width, high = 60, 40, 440, 260

    def at(x, y):
        return (
            left + width * (math.log10(x) - xs[0]) / (len(xs) - 1 or 1),
            top + high * (ys[-1] - math.log10(y)) / (len(ys) - 1 or 1),
        )

    body = _legend(series, left + width + 20, top)
    for d in xs:
        x = at(10**d, 10 ** ys[0])[0]
        body.append(f'<path d="M{x:.1f} {top}v{high}" stroke="#d3d7cf"/>')
        body.append(_text(x, top + high + 16, f"{10**d:g}", "middle"))
    for d in ys:
        y = at(10 ** xs[0], 10**d)[1]
        body.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#d3d7cf"/>')
        body.append(_text(left - 6, y + 4, f"{10**d:g}", "end"))
    body.append(_text(left + width / 2, top + high + 34, x_name, "middle"))
    body.append(_text(left, top - 6, y_name))
    for i, row in enumerate(series.values()):
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (at(*p) for p in sorted(row)))
        body.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>')
        for p in row:
            x, y = at(*p)
            body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[i]}"/>')
    return _frame(left + width + 130, top + high + 50, title, body)


def _ends(values):
    """The least and the greatest value, at least 0.001, for a logarithmic axis."""
    values = [max(v, 1e-3) for v in values]
    return min(values), max(values)
