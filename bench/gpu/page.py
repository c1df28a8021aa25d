#!/usr/bin/env python3
"""Makes the page and the plots of the figures of kernels on two GPUs, and on one.

page.py [ROWS.jsonl...] [--out bench/results]

Without names the rows are the folder's gpu*.jsonl, and the limits of the bare
machine its gpu-limits*.tsv. Writes gpu.md, and gpu-quiet-*.svg with what quiet
costs. Standard library only.
"""

import argparse
import glob
import os
import sys

from figures import KEYS, Rows, blocks, figures, size

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ring"))
import plot  # noqa: E402

# The figures of latency.cu about how often quiet is called.
WAYS = [
    "put, quiet after each",
    "put_nbi, quiet after each",
    "put_nbi, quiet after 16",
    "put, quiet at the end",
    "put_nbi, quiet at the end",
]
SCOPES = [("thread", 1), ("warp", 32), ("block", 256), ("block", 1024)]
ROUTES = {"p2p": "by loads and stores", "copy": "by the copy engine", "tcp": "over tcp, staged"}
ONE = "one GPU, "  # begins the routes of PEs that share a GPU


def number(x, digits=3):
    if x is None:
        return ""
    return f"{x:.{digits}g}" if abs(x) < 1000 else f"{x:.0f}"


def ratio(x, y):
    return number(x / y) if x is not None and y else ""


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows] + [""]


def verdicts(rows, wanted):
    """The table of figures: libshmem's value, the limit, NVSHMEM's, the bound, and whether met."""
    out = []
    for f in wanted:
        ours, peer, limit, met = f.verdict(rows)
        answer = {True: "yes", False: "no", None: "not measured"}[met]
        cells = [f.what, f.unit, number(ours), number(limit), ratio(ours, limit)]
        out.append([*cells, number(peer), ratio(ours, peer), f.target(), answer])
    head = [
        "figure",
        "unit",
        "libshmem",
        "limit",
        "/ limit",
        "NVSHMEM",
        "/ NVSHMEM",
        "target",
        "met",
    ]
    return table(head, out)


def shapes(rows, walk):
    """The table of the best shapes, of both libraries and of the probe's loads and stores."""
    out = []
    over, section = (" over a window", "window") if walk else ("", "copy")
    for name, variant in (("put", "put_ld_st_x4"), ("get", "get_ld_st_x4")):
        want = {"figure": name + over, "how": "block", "route": "p2p"}
        for n in sorted({r["bytes"] for r in rows.of(**want)}):
            cells = [name, size(n)]
            for system in ("libshmem", "nvshmem"):
                value, shape = rows.best(True, system=system, bytes=n, **want)
                cells += [number(value), "x".join(map(str, shape)) if shape else ""]
            bare = {k: v for k, v in rows.probe.items() if k[:3] == (section, variant, n)}
            best = max(bare, key=bare.get) if bare else None
            cells += [number(bare.get(best)), f"{best[3]}x{best[4]}" if best else ""]
            out.append(cells)
    head = ["", "bytes", "libshmem", "at", "NVSHMEM", "at", "stores and loads alone", "at"]
    return table(head, out)


def bandwidths(rows, walk):
    """The section of block puts and gets, or a note that they are not measured yet."""
    heading = "over a window" if walk else "the same bytes again and again"
    out = [f"## Block puts and gets, {heading}", ""]
    if not any(rows.of(route="p2p", how=f.row[1], figure=f.row[0]) for f in blocks(walk)):
        return [*out, "Not measured on two GPUs yet.", ""]
    out += [
        *(WALK if walk else AGAIN),
        "",
        *verdicts(rows, blocks(walk)),
        "The best shape: blocks x threads with the highest bandwidth, in GB/s.",
        "",
        *shapes(rows, walk),
    ]
    return out


WALK = [
    "Each pass, as in the probe, moves the bytes after those of the pass before, through 512 MiB",
    "of both heaps, so caches do not hold them. A launch goes through all of them once; the quiet",
    "at its end is included in the time.",
]
AGAIN = [
    "One launch, as in the probe, moves the same bytes again and again, until it has moved 256",
    "MiB or made 2000 passes; the quiet at its end is included in the time. If the bytes are few,",
    "caches answer, and values exceed what the links carry. Gets say little about NVSHMEM, which",
    "lets the first-level cache answer them from the pass before.",
]


def one_gpu(rows):
    """The section of two PEs that share a GPU: libshmem, the probe, and an earlier build."""
    found = [r for r in rows.rows if r["route"].startswith(ONE) and r["system"] == "libshmem"]
    if not found:
        return []
    keys = list(dict.fromkeys((r["route"], *(r[k] for k in KEYS), r["unit"]) for r in found))
    out = []
    for route, *key, unit in keys:
        want = dict(zip(KEYS, key))
        now = rows.median(system="libshmem", route=route, **want)
        bare = rows.median(system="probe", route=ONE + "bare", **want)
        before = rows.median(system="libshmem before", route=route, **want)
        rounds = len(rows.of(system="libshmem", route=route, **want))
        cells = [route.removeprefix(ONE), key[0], key[1], size(key[2]), f"{key[3]}x{key[4]}", unit]
        cells += [str(rounds), number(bare), number(now), ratio(now, bare)]
        met = ""
        if before is not None:
            near = now >= 0.95 * before if unit == "GB/s" else now <= 1.05 * before
            met = "yes" if near else "no"
        out.append([*cells, number(before), ratio(before, bare), ratio(now, before), met])
    head = [
        "way",
        "figure",
        "how",
        "bytes",
        "shape",
        "unit",
        "rounds",
        "probe",
        "libshmem",
        "/ probe",
    ]
    head += ["before", "before / probe", "libshmem / before", "within 5 % or better"]
    return [
        "## One GPU that two PEs share",
        "",
        "Data between the two PEs stays within the GPU. `probe` is loops of the same shapes in",
        "one process, with loads and stores, in the same rounds. Gets and puts use a window of",
        "256 MiB, the probe 512. `staged` is the path through the ring, the proxy and pinned",
        "memory, `copied` through the ring, the proxy and copies within the GPU, and `hosts`",
        "over tcp between two simulated hosts on the node. `before` is an earlier build of the",
        "library with the same kernels, run in the same rounds. The figures are medians of the",
        "rounds; in the rounds of the ring, the two builds took turns in running first.",
        "",
        *table(head, out),
        *machine([s for s in rows.sessions if s.get("part") == "one"]),
        "",
    ]


def quiets(rows):
    """The table of WAYS."""
    out = []
    for route in ROUTES:
        for scope, threads in SCOPES:
            want = {"route": route, "how": scope, "threads": threads}
            sizes = sorted({r["bytes"] for w in WAYS for r in rows.of(figure=w, **want)})
            for n in sizes:
                for system in ("libshmem", "nvshmem"):
                    cells = [rows.median(system=system, figure=w, bytes=n, **want) for w in WAYS]
                    if any(c is not None for c in cells):
                        shape = f"{scope} of {threads}"
                        out.append([route, shape, size(n), system, *map(number, cells)])
    return table(["route", "scope", "bytes", "library", *WAYS], out)


def plots(rows):
    """The plots of WAYS: file names and their contents."""
    for route, how in ROUTES.items():
        series = {}
        for w in WAYS:
            want = {"system": "libshmem", "route": route, "figure": w, "how": "block"}
            sizes = sorted({r["bytes"] for r in rows.of(threads=256, **want)})
            found = [(n, rows.median(bytes=n, threads=256, **want)) for n in sizes]
            if found:
                series[w] = found
        if series:
            title = f"One put of a block, {how}"
            yield f"gpu-quiet-{route}.svg", plot.lines(title, series, "bytes", "us")


def everything(rows):
    """The table of all other rows, with a column for each system."""
    found = [r for r in rows.rows if not r["route"].startswith(ONE)]
    keys = list(dict.fromkeys((r["route"], *(r[k] for k in KEYS), r["unit"]) for r in found))
    systems = list(dict.fromkeys(r["system"] for r in found))
    out = []
    for route, *key, unit in sorted(keys, key=lambda k: (k[0], k[1], k[2], k[3], k[4], k[5])):
        if key[0] in WAYS:
            continue
        want = {"route": route, **dict(zip(KEYS, key))}
        values = [rows.median(system=s, **want) for s in systems]
        out.append(
            [route, key[0], key[1], key[2], f"{key[3]}x{key[4]}", unit, *map(number, values)]
        )
    return table(["route", "figure", "how", "bytes", "shape", "unit", *systems], out)


def machine(sessions):
    """The list of the machine's facts; later sessions take precedence."""
    facts = {}
    for session in sessions:
        facts.update(session)
    out = []
    for key, value in sorted(facts.items()):
        if key != "part":  # the section of the page to which a session belongs
            text = "; ".join(value) if isinstance(value, list) else value
            out.append(f"- {key.replace('_', ' ')}: {text}")
    return out


def page(rows, drawn):
    out = [
        "<!-- generated by bench/gpu/page.py -->",
        "# Kernels on two GPUs",
        "",
        "The same programs, `bench/gpu/*.cu`, built against libshmem and against NVSHMEM, ran",
        "in turn on two GPUs, in two processes with one GPU each; PE 0 measures. The limits",
        "come from `bench/gpu/probe.cu`, which uses only CUDA, in the same session. Each value",
        "is the median over a program's launches and over the sessions. `copy` is the path",
        "through the ring, the proxy and the copy engine, compared with",
        "`bench/gpu/copyloop.cu`, a loop of the same driver calls without queue and protocol.",
        "`tcp` is the path through the ring, the proxy, pinned buffers and libfabric, compared",
        "with fi_pingpong and with the same call between heaps in main memory (`tcp_host`).",
        "NVSHMEM's column was measured without NCCL, so NVSHMEM reduces with its own kernels;",
        "that explains the time of its sum of 4 MiB. The limit of a reduction is NVSHMEM's time",
        "with NCCL.",
        "",
        *verdicts(rows, figures()),
        "A sync of libshmem makes earlier plain stores of its scope visible to the other PEs.",
        "That needs a fence, so a sync takes as long as a barrier. NVSHMEM's sync is faster",
        "than its barrier.",
        "",
        *bandwidths(rows, True),
        *bandwidths(rows, False),
        *one_gpu(rows),
        "## What quiet costs",
        "",
        "Microseconds for one operation, by how often the program calls quiet.",
        "",
        *(f"![{name}]({name})" for name in drawn),
        "",
        *quiets(rows),
        "## All other rows",
        "",
        "A `put` or `get` by blocks moves the same bytes again and again, unless its name says",
        "that it moves over a window; with `copy` and `tcp` the window has 256 MiB.",
        "",
        *everything(rows),
        "## Machine",
        "",
        *machine([s for s in rows.sessions if s.get("part") != "one"]),
    ]
    for key, value in sorted(rows.probe.items(), key=str):
        if key[0] == "info":
            out.append(f"- {key[1]} {key[5]}: {number(value, 4)}")
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("rows", nargs="*")
    p.add_argument("--out", default="bench/results")
    args = p.parse_args()
    paths = args.rows or sorted(glob.glob(os.path.join(args.out, "gpu*.jsonl")))
    folders = {os.path.dirname(path) for path in paths} or {args.out}
    limits = sorted(t for f in folders for t in glob.glob(os.path.join(f, "gpu-limits*.tsv")))
    rows = Rows(paths, limits)
    if not rows.rows:
        sys.exit(f"page.py: no rows in {', '.join(paths) or args.out} (run bench/gpu/run.sh there)")
    os.makedirs(args.out, exist_ok=True)
    drawn = dict(plots(rows))
    for name, text in [*drawn.items(), ("gpu.md", page(rows, drawn))]:
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
