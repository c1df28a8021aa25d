"""The measuring program of shmem-perf, and the names of its figures in the rows of this folder.

p_rate isn't one of them: bench/oshm_micro.c has one quiet after all calls, and p_rate of shmem-perf
one after every 512, which takes half of its rate over tcp.
"""

import glob
import statistics

SOURCES = "cmd/shmem-perf/measure/*.c"

# The metric of a row: the test and the measure of shmem-perf.
FIGURES = {
    "put_quiet_lat": ("put", "latency"),
    "get_lat": ("get", "latency"),
    "amo_fetch_add_lat": ("fetch_add", "latency"),
    "amo_inc_quiet_lat": ("add", "latency"),
    "amo_inc_rate": ("add", "rate"),
    "amo_cswap_lat": ("compare_swap", "latency"),
    "put_nbi_rate": ("put", "rate"),
    "put_nbi_bw": ("put", "bandwidth"),
    "get_nbi_bw": ("get", "bandwidth"),
    "p_pingpong_half": ("p", "visible"),
    "put_signal_pingpong_half": ("put_signal", "visible"),
    "put_signal_exchange": ("put_signal", "exchange"),
    "barrier_all": ("barrier", "latency"),
    "sync_all": ("sync", "latency"),
    "broadcast": ("broadcast", "latency"),
    "sum_reduce": ("sum", "latency"),
    # sendrecv
    "send_symmetric_pingpong_half": ("send", "latency"),
    "notify_pingpong_half": ("put_notify", "visible"),
    # collectives
    "sum": ("sum", "latency"),
    "collect": ("collect", "latency"),
    "fcollect": ("fcollect", "latency"),
    "alltoall": ("alltoall", "latency"),
}


def sources():
    """The source files of the program, which compile with any OpenSHMEM."""
    return sorted(glob.glob(SOURCES))


def starts(rows):
    """Groups rows, pairs of metric and size, into starts of the program.

    A start has one set of sizes for all its tests. Returns pairs: the (test, measure) of a start,
    and its sizes. The size 0, of calls without data, becomes 8.
    """
    sizes = {}
    for metric, size in rows:
        if metric in FIGURES:
            sizes.setdefault(metric, set()).add(max(size, 8))
    together = {}
    for metric, of in sizes.items():
        together.setdefault(tuple(sorted(of)), []).append(FIGURES[metric])
    return sorted((tuple(tests), of) for of, tests in together.items())


def arguments(tests, sizes, budget):
    """The arguments of the program for a start."""
    named = ",".join(f"{test}:{measure}" for test, measure in tests)
    return (f"tests={named}", f"sizes={','.join(map(str, sizes))}", f"budget={budget}")


def row(line, names=FIGURES):
    """The row of a line that the program prints. None: its metric is not in names."""
    kind, *fields = line.split("\t")
    values = dict(field.split("=", 1) for field in fields if "=" in field)
    if kind == "end":
        return {"metric": "errors", "size": 0, "value": float(values["wrong"]), "unit": "count"}
    # Where two names have the same test and measure, the first one of names is the last one set.
    metrics = {FIGURES[name]: name for name in reversed(list(names))}
    key = (values.get("test"), values.get("measure"))
    if kind != "figure" or key not in metrics:
        return None
    median = statistics.median(map(float, values["batches"].split(",")))
    size = int(values["size"])
    return {"metric": metrics[key], "size": size, "value": median, "unit": values["unit"]}
