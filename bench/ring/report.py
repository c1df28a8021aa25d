#!/usr/bin/env python3
"""Makes the page and the plots of the measurements of bench/ring.

report.py [ROWS.jsonl...] [--out bench/results]

Without names, the rows are those in the folder, ring-*.jsonl, and the limits ring-limits.tsv, if it
is there. Writes ring.md, ring-rates.svg and ring-paced.svg. Standard library only.
"""

import argparse
import glob
import json
import os
import statistics
import sys

import plot

# The consumers, in the order of the tables. locked and tick are in older rows only.
WHO = ["proxy", "go", "locked", "tick", "c"]
NAMES = {
    "proxy": "the proxy",
    "go": "Go",
    "locked": "Go, locked",
    "tick": "Go, locked, waits in C",
    "c": "C",
}

# Each figure: what it is, its producer and metric, its kind (op or by) and shape (None: the best of
# all), its bound and unit.
FIGURES = [
    ("one thread, operand in the slot", "gpu", "rate", ("p", "1x1"), 3, "M/s"),
    ("one thread, bursts", "gpu", "rate", ("burst", "1x1"), 3, "M/s"),
    ("one thread, put of what it has just written", "gpu", "rate", ("put", "1x1"), 0.5, "M/s"),
    ("one warp", "gpu", "rate", ("p", "1x32"), 40, "M/s"),
    ("many blocks into one consumer", "gpu", "rate", ("p", None), 250, "M/s"),
    ("acknowledged", "gpu", "acknowledged", ("tail", None), 2.9, "us"),
    ("host producers, the best", "host, 2 cores", "rate", (None, None), 20, "M/s"),
]


class Rows:
    """The rows of all files, and the facts of their machines."""

    def __init__(self, paths):
        self.rows, self.machines = [], {}
        for path in paths:
            with open(path, encoding="utf-8") as f:
                for line in f:
                    row = json.loads(line)
                    if "facts" in row:
                        facts = row["facts"]
                        machine = f"{facts['cpu']}, {facts['cores']} cores"
                        self.machines.setdefault(machine, {}).update(facts)
                        continue
                    if row["producer"] == "host":
                        row["producer"] = f"host, {facts['cores']} cores"
                    self.rows.append(row)

    def of(self, **want):
        """The rows with these values."""
        return [r for r in self.rows if all(r.get(k) == v for k, v in want.items())]

    def median(self, field="value", **want):
        found = [r[field] for r in self.of(**want)]
        return statistics.median(found) if found else None

    def who(self, **want):
        """The consumers that have such rows, in the order of the tables."""
        return [w for w in WHO if self.of(consumer=w, **want)]

    def keys(self, fields, **want):
        """The combinations of values of these fields that occur, in the order of the rows."""
        return list(dict.fromkeys(tuple(r[f] for f in fields) for r in self.of(**want)))

    def ratio(self, field, over, **want):
        """The median over the repetitions of a field of consumer over divided by that of c."""
        both = {}
        for who in (over, "c"):
            for r in self.of(consumer=who, **want):
                both.setdefault(r["rep"], {})[who] = r[field]
        found = [v[over] / v["c"] for v in both.values() if over in v and v.get("c")]
        return statistics.median(found) if found else None


def number(x, digits=3):
    if x is None:
        return ""
    return f"{x:.{digits}g}" if abs(x) < 1000 else f"{x:.0f}"


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows] + [""]


def figures(rows):
    """The table of FIGURES, of the consumer in Go."""
    out = []
    for what, producer, metric, (kind, shape), bound, unit in FIGURES:
        field = "by" if metric == "acknowledged" else "op"
        want = {"metric": metric, "producer": producer, "consumer": "go"}
        if kind:
            want[field] = kind
        if shape:
            want["shape"] = shape
        keys = rows.keys(
            [field, *(["shape", "rings"] if metric == "rate" else []), "memory"], **want
        )
        names = [field, *(["shape", "rings"] if metric == "rate" else []), "memory"]
        values = {k: rows.median(**{**want, **dict(zip(names, k))}) for k in keys}
        if not values:
            out.append([what, producer, unit, "", "", bound, "not measured"])
            continue
        pick = min if unit == "us" else max
        best = pick(values, key=values.get)
        met = values[best] <= bound if unit == "us" else values[best] >= bound
        sign = "at most" if unit == "us" else "at least"
        at = ", ".join(str(x) for x in best)
        out.append(
            [
                what,
                producer,
                unit,
                number(values[best]),
                at,
                f"{sign} {bound}",
                "yes" if met else "no",
            ]
        )
    return table(["figure", "producer", "unit", "Go", "at", "target", "met"], out)


def rates(rows):
    fields = ["producer", "memory", "op", "shape", "rings"]
    out, who = [], rows.who(metric="rate")
    for key in rows.keys(fields, metric="rate"):
        want = {"metric": "rate", **dict(zip(fields, key))}
        values = [rows.median(consumer=w, **want) for w in who]
        size = max(r["operations"] for r in rows.of(**want))
        ratio = rows.ratio("value", "go", **want)
        out.append([*key, *map(number, values), number(ratio), f"{size:.2g}"])
    return table([*fields, *(NAMES[w] for w in who), "Go / C", "operations"], out)


def acknowledged(rows):
    out = []
    for producer, memory, by in rows.keys(["producer", "memory", "by"], metric="acknowledged"):
        for who in WHO:
            want = {"metric": "acknowledged", "producer": producer, "memory": memory}
            want.update(by=by, consumer=who)
            values = [rows.median(f, **want) for f in ("min", "value", "p99", "p999", "max")]
            if values[0] is not None:
                out.append([producer, memory, by, NAMES[who], *map(number, values)])
    return table(
        ["producer", "memory", "by", "consumer", "least", "p50", "p99", "p99.9", "most"], out
    )


def paced(rows):
    """The table of delays under steady load, and which consumers are much later than C."""
    out, late = [], {"p99": [], "p999": []}
    for producer, rate in rows.keys(["producer", "rate"], metric="paced"):
        want = {"metric": "paced", "producer": producer, "rate": rate}
        for who in WHO:
            fields = ("p50", "p99", "p999", "max")
            values = [rows.median(f, consumer=who, **want) for f in fields]
            if values[0] is None:
                continue
            ratios = [rows.ratio(f, who, **want) for f in ("p99", "p999")]
            if who == "c":
                ratios = [None, None]
            drift = max(abs(r["clock_drift_ns"]) for r in rows.of(consumer=who, **want))
            cells = [producer, number(rate), NAMES[who], *map(number, values)]
            out.append([*cells, *map(number, ratios), drift])
            for f, r in zip(("p99", "p999"), ratios):
                if r is not None and producer == "gpu":
                    late[f].append((who, rate, r))
    text = table(
        [
            "producer",
            "M/s",
            "consumer",
            "p50",
            "p99",
            "p99.9",
            "most",
            "p99 / C",
            "p99.9 / C",
            "drift, ns",
        ],
        out,
    )
    for who in WHO[:-1]:
        over = [f"{r:g} M/s" for w, r, x in late["p99"] if w == who and x > 1.05]
        far = [f"{r:g} M/s" for w, r, x in late["p999"] if w == who and x > 2]
        if any(w == who for w, _, _ in late["p99"]):
            text.append(
                f"{NAMES[who]}: p99 is more than 5 % above C's at {', '.join(over) or 'no rate'}; "
                f"p99.9 is more than twice C's at {', '.join(far) or 'no rate'}."
            )
    return [*text, ""]


def limits(path):
    """The rows of bench/gpu/probe.cu for the same path."""
    out = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 9 and cells[0] in ("queue", "qrtt"):
                out.append([f"{cells[3]}x{cells[4]}", cells[1], cells[5], cells[6], *cells[7:]])
    return table(["shape", "variant", "how", "metric", "value", "unit"], out)


def page(rows, limit):
    failed = rows.of(metric="failed")
    out = [
        "<!-- generated by bench/ring/report.py -->",
        "# Rings",
        "",
        "`bench/ring`: producers push operations into rings of device/shmem; one thread",
        "consumes them, decodes each and adds up its fields. A run with a wrong sum gives no",
        "row. Values are medians over the repetitions. Shapes are blocks x threads (host:",
        "threads x 1).",
        "",
        *figures(rows),
        "## Rates",
        "",
        "Millions of operations a second, from the first one consumed to the last.",
        "",
        "![rates](ring-rates.svg)",
        "",
        *rates(rows),
        "## Until a push is acknowledged",
        "",
        "Microseconds, by the clock of the thread that pushes and waits. `tail, bare` polls",
        "only the tail; the others also check whether the ring was stopped.",
        "",
        *acknowledged(rows),
        "## Steady load",
        "",
        "Operations arrive at a fixed rate, whatever the consumer does. The figures are",
        "microseconds from the moment when an operation was due until it was posted to a",
        "provider that only reads the clock. The proxy is the library's own, with all its",
        "checks and counters. The clocks of the two sides are compared before and after; the",
        "drift is the difference between the two comparisons.",
        "",
        "![delays](ring-paced.svg)",
        "",
        *paced(rows),
    ]
    if os.path.exists(limit):
        out += [
            "## Limits of the machine",
            "",
            "bench/gpu/probe.cu, C++ on both sides:",
            "",
            *limits(limit),
        ]
    if failed:
        out += ["## Failed", "", *(f"- {r['what']}: {r['error']}" for r in failed), ""]
    for machine, facts in rows.machines.items():
        out += [f"## Machine: {machine}", ""]
        for key, value in sorted(facts.items()):
            text = "; ".join(value) if isinstance(value, list) else value
            out.append(f"- {key.replace('_', ' ')}: {text}")
        out.append("")
    return "\n".join(out) + "\n"


def plots(rows):
    """The plots: file names and their contents."""
    fields = ["producer", "op", "shape", "rings"]
    groups, consumers = [], rows.who(metric="rate")
    for key in rows.keys(fields, metric="rate"):
        want = dict(zip(fields, key))
        values = [rows.median(metric="rate", consumer=w, **want) for w in consumers]
        groups.append(
            (f"{key[0]} {key[1]} {key[2]}" + (f", {key[3]} rings" if key[3] > 1 else ""), values)
        )
    if groups:
        yield (
            "ring-rates.svg",
            plot.bars("Operations consumed", groups, [NAMES[w] for w in consumers], "M/s"),
        )
    # One plot, of the first producer that has rows: in this order a GPU comes before hosts.
    for (producer,) in sorted(rows.keys(["producer"], metric="paced")):
        series = {}
        for field, name in (("p99", "p99"), ("p999", "p99.9")):
            for who in rows.who(metric="paced", producer=producer):
                keys = rows.keys(["rate"], metric="paced", producer=producer, consumer=who)
                found = [
                    (
                        r,
                        max(
                            rows.median(
                                field, metric="paced", producer=producer, consumer=who, rate=r
                            ),
                            1e-3,
                        ),
                    )
                    for (r,) in keys
                ]
                if found and len(series) < len(plot.COLOURS):
                    series[f"{NAMES[who]}, {name}"] = found
        if series:
            yield "ring-paced.svg", plot.lines("Delay under steady load", series, "M/s", "us")
            return


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("rows", nargs="*")
    p.add_argument("--out", default="bench/results")
    args = p.parse_args()
    paths = args.rows or sorted(glob.glob(os.path.join(args.out, "ring-*.jsonl")))
    rows = Rows(paths)
    if not rows.rows:
        sys.exit(f"report.py: no rows in {', '.join(paths) or args.out}")
    limit = os.path.join(args.out, "ring-limits.tsv")
    os.makedirs(args.out, exist_ok=True)
    for name, text in [("ring.md", page(rows, limit)), *plots(rows)]:
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
