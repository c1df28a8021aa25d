# shellcheck shell=bash disable=SC2154,SC2034 # base, out and status are run.sh's
# figures.sh: the parts of run.sh that measure what kernels reach, and the same
# for NVSHMEM and for the bare machine. Sourced by run.sh, which has set base and
# out; every part appends its rows to gpu.jsonl, after a line of facts.

# figures FUNCTION: one part, whose output is rows.
figures() {
    {
        python3 bench/gpu/facts.py "$1"
        "part_$1"
    } >>"$out/gpu.jsonl"
}

# within SECONDS COMMAND...: whatever it says when it fails is on stderr.
within() {
    local limit=$1
    shift
    timeout -k 5 "$limit" "$@" || {
        echo "run.sh: $*: status $?" >&2
        status=1
    }
}

# The bare machine. One process, so that nothing of a library is in it.
part_probe() {
    within 100 "$base/probe" info copy putlat memcpy pingpong atomic >"$out/gpu-limits.tsv"
}

# Where NVSHMEM's libraries are: NVSHMEM_LIB, Python's wheel, or what was
# fetched to build with. It loads its bootstrap by a name that wheels lack.
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

# nvshmem SECONDS PROGRAM ARG...: two PEs of NVSHMEM, without launcher and
# network.
nvshmem() {
    local limit=$1 program=$2
    shift 2
    LD_LIBRARY_PATH=$nvshmem_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} NVSHMEM_REMOTE_TRANSPORT=none \
        NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_SYMMETRIC_SIZE=1G \
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
    nvshmem 40 stream
    nvshmem 40 host
    rm -rf "$nvshmem_path"
}

# ours SECONDS PROGRAM ARG...: two PEs of libshmem, as the environment says.
ours() {
    local limit=$1 program=$2
    shift 2
    SHMEM_SYMMETRIC_SIZE=${SHMEM_SYMMETRIC_SIZE:-1g} \
        within $((limit + 10)) "$base/bin/shmemrun" -n 2 --timeout "$limit" "$base/figures/$program" "$@"
}

part_p2p() {
    ours 40 bandwidth
    ours 40 latency
    ours 40 signal
    ours 40 stream
    ours 40 host
}
