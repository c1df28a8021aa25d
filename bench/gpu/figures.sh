# shellcheck shell=bash disable=SC2154,SC2034 # base, out and status are variables of run.sh
# figures.sh: the parts of run.sh that measure kernels of libshmem and NVSHMEM, and the bare
# machine. Sourced by run.sh; every part appends its rows to gpu.jsonl, after a line of facts.

# figures PART: runs the function part_PART, and appends the rows that it prints.
figures() {
    {
        python3 bench/gpu/facts.py "$1"
        "part_$1" || status=1
    } >>"$out/gpu.jsonl"
}

# within SECONDS COMMAND...: runs a command with a time limit, and reports a failure on stderr.
within() {
    local limit=$1
    shift
    timeout -k 5 "$limit" "$@" || {
        echo "run.sh: $*: status $?" >&2
        status=1
    }
}

# The limits of the bare machine, in one process without any library.
part_probe() {
    within 100 "$base/probe" info copy window putlat memcpy pingpong atomic >"$out/gpu-limits.tsv"
}

# The figures of decision 0043, without the library; copies within the GPU also by MPS. And the
# driver's ways to copy many pieces.
part_context() (
    trap 'end_mps' EXIT
    BENCH_ROUTE="one GPU, bare" within 60 "$base/context"
    BENCH_ROUTE="one GPU, bare" within 40 "$base/gather"
    if share_by_mps "$base/probe" info; then
        BENCH_ROUTE="one GPU, bare, by MPS" within 60 "$base/context" within
    fi
    exit "$status"
)

# Prints a folder with NVSHMEM's libraries, of NVSHMEM_LIB, Python's wheel, or the files fetched for
# the build. It has links with and without .3, because NVSHMEM loads its bootstrap by a name that
# wheels lack.
nvshmem_library() {
    local from=${NVSHMEM_LIB:-}
    [ -n "$from" ] || from=$(python3 -c 'import importlib.util as u; print(u.find_spec("nvidia.nvshmem").submodule_search_locations[0] + "/lib")' 2>/dev/null) ||
        from=${BUILD:-build}/tools/nvshmem-3.4.5/lib
    [ -e "$from/libnvshmem_host.so.3" ] || {
        echo "run.sh: find NVSHMEM: libnvshmem_host.so.3 is not in $from (pip install nvidia-nvshmem-cu13==3.4.5, or set NVSHMEM_LIB)" >&2
        return 1
    }
    from=$(realpath "$from")
    local links=$out/nvshmem f
    mkdir -p "$links"
    for f in "$from"/*.so.3; do
        ln -sf "$f" "$links/$(basename "$f")"
        ln -sf "$f" "$links/$(basename "$f" .3)"
    done
    echo "$links"
}

# nvshmem SECONDS PROGRAM ARG...: two PEs of NVSHMEM, without launcher and network.
nvshmem() {
    local limit=$1 program=$2
    shift 2
    LD_LIBRARY_PATH=$nvshmem_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} NVSHMEM_REMOTE_TRANSPORT=none \
        NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_SYMMETRIC_SIZE=2G \
        within "$limit" "$base/nvshmem/$program" "$@"
}

part_nvshmem() {
    nvshmem_path=$(nvshmem_library) || {
        status=1
        return
    }
    nvshmem 40 bandwidth
    nvshmem 40 latency
    nvshmem 40 signal
    nvshmem 20 atomic
    nvshmem 20 barrier
    nvshmem 30 alltoall block
    # NVSHMEM's collectives on streams are NCCL's if it finds NCCL.
    NVSHMEM_DISABLE_NCCL=1 nvshmem 40 stream
    NVSHMEM_DISABLE_NCCL=1 nvshmem 30 alltoall stream
    BENCH_SYSTEM=nvshmem_nccl nvshmem 40 stream reduce
    BENCH_SYSTEM=nvshmem_nccl nvshmem 30 alltoall stream
    nvshmem 40 host
    rm -rf "$nvshmem_path"
}

# ours SECONDS PROGRAM ARG...: two PEs of libshmem on $hosts hosts, started by $launcher, with the
# library beside that launcher. The heap has room for the two windows of bandwidth.
hosts=1 launcher=$base/bin/shmemrun
ours() {
    local limit=$1 program=$2
    shift 2
    SHMEM_SYMMETRIC_SIZE=${SHMEM_SYMMETRIC_SIZE:-2g} within $((limit + 10)) \
        "$launcher" -n 2 --hosts "$hosts" --timeout "$limit" "$base/figures/$program" "$@"
}

part_p2p() {
    ours 40 bandwidth
    ours 40 latency
    ours 40 signal
    ours 20 atomic
    ours 20 barrier
    ours 30 alltoall
    ours 40 stream
    ours 40 host
}

# Through the ring, the proxy and the copy engine, and the time of the copy engine alone.
part_copy() {
    within 40 env BENCH_ROUTE=copy "$base/copyloop"
    export BENCH_ROUTE=copy SHMEM_DISABLE_P2P=1 SHMEM_GPU_NET=copy
    ours 60 signal
    ours 30 burst
    ours 30 latency
    BENCH_BYTES=268435456 ours 40 bandwidth put get
    unset BENCH_ROUTE SHMEM_DISABLE_P2P SHMEM_GPU_NET
}

# Through the ring, the proxy, pinned memory and TCP; the same provider between heaps in main memory
# (tcp_host); and the provider alone (fi_pingpong).
part_net() {
    local provider
    hosts=2
    export SHMEM_PROVIDER=tcp
    export BENCH_ROUTE=tcp_host SHMEM_HEAP=host
    provider=$(SHMEM_LOG_LEVEL=info ours 20 host 8 2>&1 >/dev/null | sed -n 's/.*network \([^ ]*\) .*/\1/p')
    ours 30 host
    export BENCH_ROUTE=tcp SHMEM_HEAP=device SHMEM_DISABLE_P2P=1 SHMEM_GPU_NET=stage
    ours 30 host
    ours 40 signal signal put_signal put_notify 8 1024 65536 1048576
    ours 40 burst
    ours 30 latency quiet ways
    BENCH_BYTES=268435456 ours 30 bandwidth put
    unset BENCH_ROUTE SHMEM_PROVIDER SHMEM_HEAP SHMEM_DISABLE_P2P SHMEM_GPU_NET
    hosts=1
    [ -n "$provider" ] || {
        echo "run.sh: ask libshmem for its network: its banner names none" >&2
        status=1
        return
    }
    pingpong "$provider" 8
    pingpong "$provider" 1024
    pingpong "$provider" 65536
}

# pingpong PROVIDER BYTES: a row of libfabric's own round trip.
pingpong() {
    local program result
    program=$(command -v fi_pingpong) || program=$base/bin/fi_pingpong
    timeout -k 5 30 "$program" -p "$1" -e rdm -I 5000 -S "$2" >/dev/null 2>&1 &
    sleep 1
    result=$(timeout -k 5 30 "$program" -p "$1" -e rdm -I 5000 -S "$2" 127.0.0.1)
    wait $! || status=1
    # It prints the time of a transfer, which is half of a round trip.
    awk -v provider="$1" -v bytes="$2" '
        $1 == "bytes" { for (i = 1; i <= NF; i++) if ($i == "usec/xfer") column = i; next }
        column && NF >= column { half = $column }
        END {
            if (!half) { print "run.sh: fi_pingpong " provider ": no figure" > "/dev/stderr"; exit 1 }
            printf "{\"system\":\"fi_pingpong\",\"route\":\"tcp\",\"figure\":\"put_signal_round_trip\",\"how\":\"host\",\"bytes\":%d,\"ctas\":0,\"threads\":0,\"value\":%.6g,\"unit\":\"us\",\"provider\":\"%s\"}\n", bytes, 2 * half, provider
        }' <<<"$result" || status=1
}
