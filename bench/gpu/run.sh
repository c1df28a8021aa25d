#!/usr/bin/env bash
# Runs on a machine with a GPU the programs that `make gpu-bench` built, here or elsewhere:
#
#   bench/gpu/run.sh [PART...]
#
# The output is in the folder that OUT names, by default beside the programs.
#
# Parts for rings: basic (the default, about three minutes), sustained, memory, proxy and limits
# (two minutes each). Rows go to ring-gpu.jsonl, the limits of the machine to ring-limits.tsv, the
# cost of the proxy to ring-proxy.txt; bench/ring/report.py makes a page of them.
#
# Parts for kernels on two GPUs (figures.sh): probe, nvshmem, p2p, copy and net, each less than two
# minutes. Rows go to gpu.jsonl, the limits to gpu-limits.tsv; bench/gpu/page.py makes a page of
# them. For two PEs that share one GPU: one, 150 s (one.sh). For the cost of a second CUDA context
# and of the driver's ways to copy many pieces, on one GPU: context.
#
# The machine needs NVIDIA's driver and Python; of this tree it needs bench, scripts, VERSION and
# build/gpu.
set -u
cd "$(dirname "$0")/../.." || exit
base=${BUILD:-build}/gpu
out=${OUT:-$base}
status=0
. scripts/mps.sh
. bench/gpu/figures.sh
. bench/gpu/one.sh

# ring SECONDS FLAG...: runs the ring benchmark with a time limit.
ring() {
    local limit=$1
    shift
    timeout -k 5 "$limit" "$base/ring" -library "$base/libringkernels.so" -out "$out/ring-gpu.jsonl" "$@" >/dev/null || {
        echo "run.sh: ring $*: status $?" >&2
        status=1
    }
}

for part in "${@:-basic}"; do
    case $part in
    basic)
        ring 150 -producer gpu -seconds 1 -reps 2 rate ack
        ring 150 -producer gpu -seconds 2 -reps 3 paced
        ring 90 -producer host -seconds 1 -reps 1 -consumers go,c rate ack
        ;;
    sustained) # 10^8 operations at any rate, except for puts with a fence each
        ring 280 -producer gpu -seconds 60 -reps 1 -consumers go,c -match '^(p|burst) .* 1$' rate
        ring 60 -producer host -seconds 20 -reps 1 -consumers go,c -match '1x1' rate
        ;;
    memory)
        for memory in pinned managed bar; do
            ring 100 -producer gpu -memory "$memory" -seconds 0.5 -reps 2 -match ' (1x1|1x32|32x32|132x256) 1$' rate ack
        done
        ;;
    proxy) # its cost of an operation, and of idling
        {
            "$base/proxy.test" -test.run '^$' -test.bench 'Consumer|Engine/ordered' -test.benchtime 1000000x -test.count 3 &&
                "$base/wait.test" -test.run '^$' -test.bench . -test.benchtime 1x -test.count 3 &&
                for _ in 1 2 3; do "$base/bin/shmemrun" -n 2 --hosts 2 -x SHMEM_PROVIDER=tcp --timeout 60 "$base/rings" || exit; done
        } >"$out/ring-proxy.txt" || status=1
        ;;
    limits) # of the same path, without the library's protocol
        timeout -k 5 150 "$base/probe" info queue qrtt >"$out/ring-limits.tsv" || status=1
        ;;
    probe | nvshmem | p2p | copy | net | one | context) figures "$part" ;;
    *)
        echo "run.sh: select part $part: no part has this name (use basic, sustained, memory, proxy, limits, probe, nvshmem, p2p, copy, net, one, context)" >&2
        exit 2
        ;;
    esac
done
exit "$status"
