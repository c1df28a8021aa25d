#!/usr/bin/env python3
"""Measures what the headers cost a compiler: processor time, and bytes after the preprocessor.

    python3 bench/compile_time.py [--perftest FOLDER] [--rounds N]
    python3 bench/compile_time.py --draw

Compiles each program of bench/compile with shmem.cuh, with this library's headers of NVSHMEM and
with NVIDIA's, in turn, and a file of host code with shmem.h in C and C++. Runs the steps that nvcc
names (--dryrun) one by one, to measure the processor time of each, which other work on the machine
changes less than the elapsed time. --perftest adds programs of NVSHMEM's perftest from a folder,
compiled with either nvshmem.h. Writes compile.md and compile.jsonl into bench/results; the page
also has figures of another machine, from compile-2.jsonl. --draw only writes the page.
Standard library only.
"""

import argparse
import datetime
import glob
import os
import statistics
import subprocess
import tempfile

import machine
import output

VERSION = "3.8.0"  # of NVIDIA's headers
ARCH = "sm_90"
KEYS = ("program", "headers", "seconds", "front", "cicc", "ptxas", "host", "bytes")
# The programs of perftest that stand for its families.
PERFTEST = (
    "shmem_put_bw",
    "shmem_get_bw",
    "shmem_atomic_bw",
    "shmem_put_signal_ping_pong_latency",
    "barrier_latency",
)
ROWS, PAGE = "compile.jsonl", "compile.md"
BESIDE = "compile-2.jsonl"  # the rows of another machine
HOST = {"C11": ("gcc", "c", "c11"), "C++17": ("g++", "c++", "c++17")}


def own_names(text):
    """A program for NVSHMEM in the library's own names."""
    text = text.replace("#include <nvshmem.h>", "#include <shmem/shmem.cuh>")
    text = text.replace("#include <nvshmemx.h>\n", "")
    return text.replace("nvshmem", "shmem").replace("NVSHMEM", "SHMEM")


def steps(dryrun):
    """The variables and the commands that nvcc --dryrun prints."""
    env, commands = {}, []
    for line in dryrun.splitlines():
        if not line.startswith("#$ "):
            continue
        word = line[3:].split(" ", 1)[0]
        name, is_setting, _ = word.partition("=")
        if is_setting and name.isidentifier():
            env[name] = line[3:].partition("=")[2]
        else:
            commands.append(line[3:])
    return env, commands


def kind(command):
    """The column of a step: front (preprocessors and cudafe++), cicc, ptxas, or host (the rest)."""
    tool = os.path.basename(command.split(" ", 1)[0].strip('"'))
    if tool in ("cicc", "ptxas"):
        return tool
    return "front" if tool == "cudafe++" or " -E " in command else "host"


def seconds(argv, env=None, out=None):
    """Seconds of processor time that a command uses, with all processes that it starts."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=out or said, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            text = said.read().decode(errors="replace")
            raise SystemExit(f"bench: {argv} failed with {process.returncode}\n{text[-3000:]}")
    return used.ru_utime + used.ru_stime


def by_nvcc(nvcc, source, flags, work):
    """The seconds of each kind of step, and the bytes after the preprocessor in the GPU's pass."""
    argv = [nvcc, "--dryrun", "--keep", "--keep-dir", work, "-std=c++17", "-arch=" + ARCH]
    argv += ["-ccbin", "gcc", *flags, "-c", source, "-o", os.path.join(work, "out.o")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {argv} failed with {done.returncode}\n{done.stderr}")
    env, commands = steps(done.stderr)
    took = dict.fromkeys(("front", "cicc", "ptxas", "host"), 0.0)
    for command in commands:
        took[kind(command)] += seconds(["bash", "-c", command], {**os.environ, **env})
    stem = os.path.splitext(os.path.basename(source))[0]
    # Of the files that --keep leaves, cpp1.ii is the preprocessed input of cicc.
    took["bytes"] = os.path.getsize(os.path.join(work, stem + ".cpp1.ii"))
    return took


def by_gcc(language, header, flags, work):
    """The seconds to compile a file that includes the header ("": none), and its bytes."""
    compiler, dialect, standard = HOST[language]
    source = os.path.join(work, "host.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(f"#include <{header}>\n" if header else "")
    argv = [compiler, "-x", dialect, "-std=" + standard, *flags, source]
    text = os.path.join(work, "host.i")
    seconds([*argv, "-E", "-o", text])
    took = seconds([*argv, "-c", "-o", os.path.join(work, "host.o")])
    return {"host": took, "bytes": os.path.getsize(text)}


def programs(args, nvidia, work):
    """For each row of the page: program, headers, and a function that compiles it once."""
    ours = ["-Iinclude/nvshmem", "-Iinclude", "-Idevice"]
    theirs = ["-I" + os.path.join(nvidia, "include")]

    def device(name, headers, source, flags):
        room = os.path.join(work, name, headers.replace(" ", "-"))
        os.makedirs(room)
        return name, headers, lambda: by_nvcc(args.nvcc, source, flags, room)

    none = os.path.join(work, "none.cu")
    with open(none, "w", encoding="utf-8") as f:
        f.write("__global__ void empty(int *at) { *at = 1; }\n")
    yield device("empty", "none", none, [])
    for source in sorted(glob.glob("bench/compile/*.cu"), key=lambda s: ("empty" not in s, s)):
        name = os.path.splitext(os.path.basename(source))[0]
        own = os.path.join(work, name + ".cu")
        with open(source, encoding="utf-8") as f, open(own, "w", encoding="utf-8") as g:
            g.write(own_names(f.read()))
        yield device(name, "shmem.cuh", own, ours)
        yield device(name, "nvshmem.h", source, ["-rdc=true", *ours])
        yield device(name, "NVIDIA", source, ["-rdc=true", *theirs])
    if args.perftest:
        more = ["-rdc=true", "-I" + os.path.join(args.perftest, "common")]
        more += ["-I" + folder for folder in args.include]
        for name in PERFTEST:
            (source,) = glob.glob(os.path.join(args.perftest, "device", "*", name + ".cu"))
            yield device("perftest " + name, "nvshmem.h", source, [*more, *ours])
            yield device("perftest " + name, "NVIDIA", source, [*more, *theirs])
    for language in HOST:
        for header in ("", "shmem.h", "shmemx.h"):
            flags = ["-Iinclude"]
            yield (
                language,
                header or "none",
                lambda language=language, header=header, flags=flags: by_gcc(
                    language, header, flags, work
                ),
            )


def row(program, headers, rounds):
    """The medians of the rounds; seconds is that of all steps together."""
    median = {k: round(statistics.median(r[k] for r in rounds), 3) for k in rounds[0]}
    parts = [sum(v for k, v in r.items() if k != "bytes") for r in rounds]
    return {
        "program": program,
        "headers": headers,
        "seconds": round(statistics.median(parts), 3),
        **median,
        "bytes": int(median["bytes"]),
    }


def of_nvidia(rows):
    """The rows with NVIDIA's headers, by their programs."""
    return {r["program"]: r for r in rows if r["headers"] == "NVIDIA"}


def ratio(one, nvidia, key):
    """A row's figure divided by that with NVIDIA's headers; "" for NVIDIA's row, or without one."""
    return f"{one[key] / nvidia[key]:.2f}" if nvidia and one is not nvidia else ""


def line(one, nvidia, other, others_nvidia):
    """A line of the page. nvidia is the row of the same program with NVIDIA's headers, and other
    and others_nvidia are both rows of another machine, or None."""

    def cell(key):
        return f"{one[key]:.2f}" if key in one else ""

    cells = [one["program"], one["headers"], *map(cell, KEYS[2:7]), str(one["bytes"])]
    cells += [ratio(one, nvidia, "seconds"), ratio(one, nvidia, "bytes")]
    if other:
        cells += [f"{other['seconds']:.2f}", ratio(other, others_nvidia, "seconds")]
    return "| " + " | ".join(cells) + " |\n"


def draw(folder):
    """Writes the page of the rows in a folder, beside those of BESIDE if that file is there."""
    facts, rows = output.read(os.path.join(folder, ROWS))
    other, others = output.read_beside(os.path.join(folder, BESIDE))
    theirs, others_theirs = of_nvidia(rows), of_nvidia(others)
    found = {(r["program"], r["headers"]): r for r in others}
    text = (
        "<!-- generated by bench/compile_time.py -->\n"
        "# What the headers cost a compiler\n\n"
        "Processor time in seconds, and the bytes that the preprocessor emits in nvcc's pass\n"
        f"for the GPU. The programs are those of `bench/compile`, for {ARCH} with -std=c++17;\n"
        "with NVSHMEM's names also with -rdc=true. `nvshmem.h` is this library's nvshmem.h\n"
        f"and nvshmemx.h, `NVIDIA` those of NVIDIA's wheel {VERSION}, and `none` a file without\n"
        "a header. `front` is preprocessing and cudafe++, `cicc` the compiler for the GPU,\n"
        "`ptxas` its assembler, `host` the host compiler. The ratios are to the row with NVIDIA's\n"
        "headers. C11 and C++17 are a file with one #include, compiled by gcc and g++. Each\n"
        f"figure is the median of {facts['rounds']} alternating runs. {output.said(facts)}.\n\n"
    )
    columns = ["program", "headers", "seconds", "front", "cicc", "ptxas", "host", "bytes"]
    columns += ["seconds / NVIDIA", "bytes / NVIDIA"]
    if other:
        text += f"The last two columns are of another machine. {output.said(other)}.\n\n"
        columns += [f"{other['cores']} cores, seconds", f"{other['cores']} cores, / NVIDIA"]
    text += "| " + " | ".join(columns) + " |\n|---|---|" + "--:|" * (len(columns) - 2) + "\n"
    for r in rows:
        program = r["program"]
        beside = found.get((program, r["headers"]))
        text += line(r, theirs.get(program), beside, others_theirs.get(program))
    output.page(folder, PAGE, text)
    return text


def setup(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--nvcc", help="the compiler; the default is that of set-up")
    p.add_argument("--nvidia", help="folder with NVIDIA's include; the default fetches the wheel")
    p.add_argument("--perftest", help="folder of NVSHMEM's perftest")
    p.add_argument("--include", action="append", default=[], help="more headers of perftest")
    p.add_argument("--out", default="bench/results", help="folder of compile.md and compile.jsonl")
    p.add_argument("--draw", action="store_true", help="write the page of the rows that are there")
    args = p.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if args.draw:
        draw(args.out)
        return
    args.nvcc = os.path.abspath(args.nvcc or setup("scripts/setup", "--tool", "nvcc"))
    nvidia = args.nvidia or setup("scripts/fetch_nvshmem.sh", VERSION)
    facts = {"rounds": args.rounds, "date": datetime.date.today().isoformat(), **machine.facts()}
    facts["nvcc"] = machine.first(r"release .*, V([\d.]+)", machine.output(args.nvcc, "--version"))
    with tempfile.TemporaryDirectory(prefix="shmem-bench-") as work:
        found = list(programs(args, nvidia, work))
        took = [[] for _ in found]
        for _ in range(args.rounds):
            for (_, _, compiles), rounds in zip(found, took, strict=True):
                rounds.append(compiles())
    rows = [row(f[0], f[1], r) for f, r in zip(found, took, strict=True)]
    output.rows(args.out, ROWS, facts, rows)
    print(draw(args.out))


if __name__ == "__main__":
    main()
