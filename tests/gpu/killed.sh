#!/usr/bin/env bash
# A PE is killed while a kernel of another waits for it: the job must name the PE and end within
# seconds, the kernel must end although its process ignores SIGTERM, and the job must leave nothing
# behind, not even on the GPU.
#
#   tests/gpu/killed.sh FAULTS      the program
set -u
cd "$(dirname "$0")/../.." || exit
base=${BUILD:-build}/gpu
faults=${1:?name the program faults}
passed=0 failed=0
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT

expect() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "killed: not so: $what"
        sed 's/^/    /' "$out"
    fi
}

says() { grep -Eq "$1" "$out"; }

# MiB of memory in use on all GPUs.
used() {
    local one sum=0
    for one in $(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits); do
        sum=$((sum + one))
    done
    echo "$sum"
}
in_use_as_before() {
    local i
    for i in {1..50}; do
        [ "$(used)" -gt $((before + 64)) ] || return 0
        sleep 0.1
    done
    echo "killed: $before MiB of GPU memory before, $(used) after $i polls"
    return 1
}
none_left() { ! grep -lsq 'killed-[a-z]' /proc/[0-9]*/cmdline; }

# killed WHAT OPTIONS...
killed() {
    local what=$1 begin=$EPOCHREALTIME status=0 ms
    shift
    timeout -k 5 40 "$base/bin/shmemrun" -n 2 --timeout 30 "$@" "$faults" "killed-$what" >"$out" 2>&1 </dev/null || status=$?
    ms=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    expect "$what $*: status 137, not $status" [ "$status" -eq 137 ]
    expect "$what $*: the PE is named" says 'PE 1 was killed by signal 9'
    expect "$what $*: the kernel ends" says 'PE 0 outlives its kernel, which ended after [0-9]+ ms: no error'
    expect "$what $*: the job is over within 8 s of its start, not $ms ms" [ "$ms" -lt 8000 ]
    expect "$what $*: no process is left" none_left
    echo "killed: $what $*: $ms ms, $(grep -o 'which ended after.*' "$out")"
}

before=$(used)
killed word
killed barrier
killed word -x CUDA_VISIBLE_DEVICES=0
killed word -x SHMEM_DISABLE_P2P=1
killed barrier -x SHMEM_DISABLE_P2P=1
killed answers -x SHMEM_DISABLE_P2P=1
killed word --hosts 2 -x SHMEM_PROVIDER=tcp
expect "the GPUs' memory is given back" in_use_as_before
echo "killed: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
