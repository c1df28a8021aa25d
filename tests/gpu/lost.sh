#!/usr/bin/env bash
# A PE is killed, and the others continue (SHMEM_ON_FAILURE=return): lost.cu over each route.
#
#   tests/gpu/lost.sh LOST      the program
set -u
cd "$(dirname "$0")/../.." || exit
base=${BUILD:-build}/gpu
lost=${1:?name the program lost}
passed=0 failed=0 blocks=20000
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT

# survive PES VICTIM OPTIONS...
survive() {
    local pes=$1 victim=$2 status=0 ended
    shift 2
    timeout -k 5 60 "$base/bin/shmemrun" -n "$pes" --timeout 50 -x SHMEM_ON_FAILURE=return "$@" "$lost" "$victim" "$blocks" \
        >"$out" 2>&1 </dev/null || status=$?
    ended=$(grep -Ec ' [1-9][0-9]* passed, 0 failed' "$out")
    if [ "$status" -eq 137 ] && [ "$ended" -eq $((pes - 1)) ]; then
        passed=$((passed + 1))
        echo "lost: $pes PEs, $victim is killed, $*: $(grep -o 'ended after [0-9]* ms' "$out" | tr '\n' ' ')"
    else
        failed=$((failed + 1))
        echo "lost: $pes PEs, $victim is killed, $*: status $status, not 137, and $ended survivors passed, not $((pes - 1))"
        sed 's/^/    /' "$out"
    fi
}

survive 3 1 -x CUDA_VISIBLE_DEVICES=0
survive 3 1
survive 3 0
survive 3 1 -x SHMEM_DISABLE_P2P=1
survive 3 1 -x SHMEM_DISABLE_P2P=1 -x SHMEM_GPU_NET=copy
survive 4 1 --hosts 2 -x SHMEM_PROVIDER=tcp
survive 4 0 --hosts 4 -x SHMEM_PROVIDER=tcp
# Polls of one word over PCIe are serialized, and there are 1024 between two checks for losses.
blocks=4
survive 3 2 -x SHMEM_HEAP=pinned
echo "lost: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
