#!/usr/bin/env bash
# Runs on a machine with a GPU the programs that `make gpu-test` built, here or elsewhere:
#
#   tests/gpu/run.sh [NAME...]      all programs, or those whose name has NAME in it
#
# PART=2/3 runs every third program, from the second on: three such runs at once, each with GPUs of
# its own by CUDA_VISIBLE_DEVICES, take a third of the time.
#
# FULL=1 takes some minutes more: graphs are replayed ten times as often, 10^5 times, and more
# programs run under compute-sanitizer.
#
# On a machine with one GPU all PEs share it. Kernels of two processes get time slices of 2.4 ms
# there, unless NVIDIA's MPS runs: the script starts it, and most programs run under it. Programs
# for several GPUs are skipped, and named at the end.
#
# The machine needs NVIDIA's driver, bash and coreutils; of this tree it needs scripts/, tests/ and
# build/gpu. Each program is shown with its seconds, a failing one with its output; all output is
# written to gpu-test.txt in the folder that OUT names, else beside the programs. The status is 1
# when a program failed. To add one: a file in tests/gpu, and a line below.
set -u
cd "$(dirname "$0")/../.." || exit
. scripts/stages.sh
. scripts/mps.sh
base=${BUILD:-build}/gpu
results=${OUT:-$base}/gpu-test.txt
passed=0 failed=0 counts=no
only=("$@")
part=${PART:-1/1} row=0
[ "${FULL:-0}" = 0 ] && full=no || full=yes

for file in bin/shmemrun programs; do
    [ -e "$base/$file" ] || {
        echo "tests/gpu/run.sh: find $base/$file: it is not there (make gpu-test, where the compilers are)" >&2
        exit 1
    }
done
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT
: >"$results" || exit

wanted() {
    [ ${#only[@]} -gt 0 ] || return 0
    local word
    for word in "${only[@]}"; do
        [[ $1 != *"$word"* ]] || return 0
    done
    return 1
}

# program NAME SECONDS COMMAND...: runs it for this long at most.
program() {
    local name=$1 limit=$2 begin=$EPOCHREALTIME status=0 verdict=ok seconds
    shift 2
    wanted "$name" || return 0
    row=$((row + 1))
    [ $((row % ${part#*/})) -eq $((${part%/*} % ${part#*/})) ] || return 0
    timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 124 ]; then
        verdict="FAILED after its limit of $limit s"
    elif [ "$status" -ne 0 ]; then
        verdict="FAILED with status $status"
    elif [ "$counts" = yes ] && ! counted; then
        verdict="FAILED by its counts"
    fi
    seconds=$(seconds_since "$begin")
    {
        echo "== $name: $*"
        cat "$out"
        echo "== $name: $verdict, $seconds s"
    } >>"$results"
    if [ "$verdict" = ok ]; then
        passed=$((passed + 1))
        [ "$counts" = yes ] || sed 's/^/  /' "$out"
    else
        failed=$((failed + 1))
        tail -n 40 "$out" | sed 's/^/  /'
    fi
    echo "== $name: $verdict, $seconds s"
}

# counted: one line or more gives the number of checks, and none reports a failure.
counted() {
    grep -Eq '(^|[^0-9])[1-9][0-9]* passed, 0 failed' "$out" &&
        ! grep -Eq '(^|[^0-9])0 passed,|passed, [1-9]' "$out"
}

# With one GPU PEs share it by MPS, if that starts. Its pipe has a separate place, so that programs
# without CUDA_MPS_PIPE_DIRECTORY get time slices as by default.
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU')
left=()
if [ "$gpus" -eq 1 ]; then
    trap 'end_mps; rm -f "$out"' EXIT
    if share_by_mps "$base/cuda/facts"; then
        echo "== one GPU, shared by MPS" | tee -a "$results"
    else
        echo "== one GPU, whose PEs take turns of 2.4 ms: MPS does not start" | tee -a "$results"
    fi
fi

# Before a command: without MPS, as for most users.
by_turns=(env -u CUDA_MPS_PIPE_DIRECTORY -u CUDA_MPS_LOG_DIRECTORY)

# several KIND NAME SECONDS COMMAND...: for more than one GPU.
several() {
    if [ "$gpus" -gt 1 ]; then
        "$@"
    elif wanted "$2"; then
        left+=("$2")
    fi
}

# A program of the first kind shows its result, and its status counts; one of the second kind counts
# its checks.
shows() { counts=no program "$@"; }
checks() { counts=yes program "$@"; }

run=$base/bin/shmemrun
shows facts 60 "$base/cuda/facts"
shows info 30 "$base/bin/shmem-info"

# ---- with a GPU
shows memory 120 "$base/go/memory"
checks heap 300 "$base/go/heap"
# A kernel of it fills the GPU, beside which MPS would start no other.
checks staging 60 "${by_turns[@]}" "$base/go/staging"
checks visible 120 "$base/cuda/visible"

# The device header: 2 PEs by loads and stores, sharing a GPU, through the ring and
# the proxy on one node, with a copy engine behind it, and between two
# simulated hosts on the node.
copy=(-x SHMEM_DISABLE_P2P=1 -x SHMEM_GPU_NET=copy)
kernels() {
    local name=$1 limit=$2 program=$3
    checks "kernels/$name/direct" "$limit" "$run" -n 2 --timeout "$limit" "$program"
    checks "kernels/$name/shared" "$limit" "$run" -n 2 --timeout "$limit" -x CUDA_VISIBLE_DEVICES=0 "$program"
    checks "kernels/$name/ring" "$limit" "$run" -n 2 --timeout "$limit" -x SHMEM_DISABLE_P2P=1 "$program"
    checks "kernels/$name/copy" "$limit" "$run" -n 2 --timeout "$limit" "${copy[@]}" "$program"
    checks "kernels/$name/hosts" "$limit" "$run" -n 2 --hosts 2 --timeout "$limit" -x SHMEM_PROVIDER=tcp "$program"
}
kernels shift 60 "$base/cuda/shift"
kernels nvshmem 120 "$base/cuda/nvshmem"
kernels tiles 120 "$base/cuda/tiles"
checks kernels/tiles/three 120 "$run" -n 3 --hosts 2,1 --timeout 120 -x SHMEM_PROVIDER=tcp "$base/cuda/tiles"
checks kernels/tiles/full 120 "$run" -n 2 --timeout 120 -x SHMEM_CHECKS=full "$base/cuda/tiles"
for example in shift stream blocks teams graph; do
    shows "nvshmem/$example/direct" 60 "$run" -n 2 --timeout 60 "$base/examples/$example"
    shows "nvshmem/$example/ring" 60 "$run" -n 2 --timeout 60 -x SHMEM_DISABLE_P2P=1 "$base/examples/$example"
    shows "nvshmem/$example/hosts" 60 "$run" -n 2 --hosts 2 --timeout 60 -x SHMEM_PROVIDER=tcp "$base/examples/$example"
done
# The first program of all.
for n in 2 3 4; do
    shows "ring/direct-$n" 60 "$run" -n "$n" --timeout 60 "$base/examples/ring"
    shows "ring/ring-$n" 60 "$run" -n "$n" --timeout 60 -x SHMEM_DISABLE_P2P=1 "$base/examples/ring"
    shows "ring/hosts-$n" 60 "$run" -n "$n" --hosts 2 --timeout 60 -x SHMEM_PROVIDER=tcp "$base/examples/ring"
done
shows nvshmem/uid 60 tests/gpu/uid.sh "$base/lib" "$base/examples/uid" 2
# Open MPI must be installed where it was built and where it runs.
if [ -e "$base/examples/mpi" ] && command -v mpirun.openmpi >/dev/null; then
    shows nvshmem/mpi 60 env LD_LIBRARY_PATH="$base/lib" mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$base/examples/mpi"
elif wanted nvshmem/mpi; then
    echo "== nvshmem/mpi: left out, for it needs Open MPI" | tee -a "$results"
fi

# Experts, in kernels like DeepEP's: PEs without a launcher, on one GPU, on which they leave room:
# there, additions that come by the network are kernels of the library.
uid=(tests/gpu/uid.sh "$base/lib" "$base/examples/dispatch")
for n in 2 4; do
    shows "deepep/direct-$n" 150 env LIMIT=140 "${uid[@]}" "$n"
    shows "deepep/ring-$n" 150 env LIMIT=140 NVSHMEM_DISABLE_P2P=1 "${uid[@]}" "$n"
    shows "deepep/copy-$n" 150 env LIMIT=140 SHMEM_DISABLE_P2P=1 SHMEM_GPU_NET=copy "${uid[@]}" "$n"
    shows "deepep/hosts-$n" 150 env LIMIT=140 SHMEM_PROVIDER=tcp "${uid[@]}" "$n" 2
done
kernels rma 300 "$base/cuda/rma"
kernels strided 120 "$base/cuda/strided"
kernels atomics 120 "$base/cuda/atomics"
kernels waits 120 "$base/cuda/waits"
kernels colls 300 "$base/cuda/colls"
kernels singles 60 "$base/cuda/singles"

# Each name that kernels call, of both surfaces, compared with the table.
checks names/shmem 600 tests/gpu/names.sh "$base" shmem
checks names/nvshmem 600 tests/gpu/names.sh "$base" nvshmem
checks names/nvshmem/ring 600 tests/gpu/names.sh "$base" nvshmem -x SHMEM_DISABLE_P2P=1
checks names/nvshmem/hosts 600 tests/gpu/names.sh "$base" nvshmem --hosts 2 -x SHMEM_PROVIDER=tcp
[ "$gpus" -lt 4 ] || checks names/nvshmem/four 600 tests/gpu/names.sh "$base" nvshmem -n 4

# Teams: 2 PEs with a GPU each; 4, which share theirs by time slices; and hosts whose PEs have no
# fixed stride.
checks teams/direct 120 "$run" -n 2 --timeout 120 "$base/cuda/teams"
checks teams/ring 120 "$run" -n 2 --timeout 120 -x SHMEM_DISABLE_P2P=1 "$base/cuda/teams" few
checks teams/pinned 120 "$run" -n 2 --timeout 120 -x SHMEM_HEAP=pinned "$base/cuda/teams" few
checks teams/four 240 "$run" -n 4 --timeout 240 "$base/cuda/teams" few
checks short/direct 60 "$run" -n 2 --timeout 60 "$base/cuda/short"
checks short/four 120 "$run" -n 4 --timeout 120 "$base/cuda/short" 1000
checks short/ring 60 "$run" -n 2 --timeout 60 -x SHMEM_DISABLE_P2P=1 "$base/cuda/short" 100
checks teams/hosts 240 "$run" -n 4 --hosts 3,1 --map cyclic --timeout 240 -x SHMEM_PROVIDER=tcp "$base/cuda/teams" few

# A PE that is its own peer; PEs that share a GPU whose copies are not direct.
checks kernels/shift/one 60 "$run" -n 1 --timeout 60 -x SHMEM_DISABLE_P2P=1 "$base/cuda/shift"
checks kernels/colls/one 60 "$run" -n 1 --timeout 60 -x SHMEM_DISABLE_P2P=1 "$base/cuda/colls"
checks kernels/rma/copy-shared 120 "$run" -n 2 --timeout 120 "${copy[@]}" -x CUDA_VISIBLE_DEVICES=0 "$base/cuda/rma"

# Heaps that the PEs share by CUDA's IPC handles.
checks kernels/shift/ipc 60 "$run" -n 2 --timeout 60 -x SHMEM_GPU_SHARE=ipc "$base/cuda/shift"
checks kernels/rma/ipc 60 "$run" -n 2 --timeout 60 -x SHMEM_GPU_SHARE=ipc "$base/cuda/rma"
checks kernels/atomics/ipc 60 "$run" -n 2 --timeout 60 -x SHMEM_GPU_SHARE=ipc "$base/cuda/atomics"

# The quick programs, on two hosts with two PEs each.
tcp=(-x SHMEM_PROVIDER=tcp)
pairs() { checks "kernels/$1/pairs" 120 "$run" -n 4 --hosts 2 --timeout 120 "${tcp[@]}" "$2"; }
pairs shift "$base/cuda/shift"
pairs nvshmem "$base/cuda/nvshmem"
pairs tiles "$base/cuda/tiles"
pairs atomics "$base/cuda/atomics"
pairs waits "$base/cuda/waits"

# Visibility of kernels' writes (docs/concepts/memory-model.md). PEs that share a GPU get time
# slices of some ms, and so do PEs of two simulated hosts: the first of each host uses the first
# GPU. The mutant shows that the checks can fail.
checks litmus/direct 120 "$run" -n 2 --timeout 120 "$base/cuda/litmus" 100000
checks litmus/mutant 60 "$run" -n 2 --timeout 60 "$base/cuda/litmus" 2000 mutant
checks litmus/ring 120 "$run" -n 2 --timeout 120 -x SHMEM_DISABLE_P2P=1 "$base/cuda/litmus" 1000
checks litmus/copy 120 "$run" -n 2 --timeout 120 "${copy[@]}" "$base/cuda/litmus" 500
checks litmus/pinned 120 "$run" -n 2 --timeout 120 -x SHMEM_HEAP=pinned "$base/cuda/litmus" 1000
checks litmus/shared 120 "$run" -n 2 --timeout 120 -x CUDA_VISIBLE_DEVICES=0 "$base/cuda/litmus" 50
checks litmus/three 120 "$run" -n 3 --hosts 2 --timeout 120 "${tcp[@]}" "$base/cuda/litmus" 20

# Eager transfers: each name, and blocks that run at once.
checks eager/direct 120 "$run" -n 2 --timeout 120 "$base/cuda/eager"
checks eager/litmus 120 "$run" -n 1 --timeout 120 "$base/cuda/eager_litmus" 20000
several checks eager/litmus/two 120 "$run" -n 2 --timeout 120 "$base/cuda/eager_litmus" 20000
checks eager/ring 120 "$run" -n 2 --timeout 120 -x SHMEM_DISABLE_P2P=1 "$base/cuda/eager"
checks eager/copy 120 "$run" -n 2 --timeout 120 "${copy[@]}" "$base/cuda/eager"
checks eager/pinned 120 "$run" -n 2 --timeout 120 -x SHMEM_HEAP=pinned "$base/cuda/eager"
checks eager/hosts 120 "$run" -n 3 --hosts 2 --timeout 120 "${tcp[@]}" "$base/cuda/eager" counted

# Puts with notifications of kernels and hosts, in counters of both.
kernels notify 120 "$base/cuda/notify"
checks kernels/notify/pinned 120 "$run" -n 2 --timeout 120 -x SHMEM_HEAP=pinned "$base/cuda/notify"
checks kernels/notify/full 120 "$run" -n 2 --timeout 120 -x SHMEM_CHECKS=full "$base/cuda/notify"
checks kernels/notify/long 120 "$run" -n 2 --timeout 120 "$base/cuda/notify" 500
pairs notify "$base/cuda/notify"

# Additions to the same words by PEs of the same host, of another, and by the owner:
# 10^6 in all. Then with a PE that has no GPU, as one of them and as the owner.
mixed=tests/gpu/mixed.sh
checks sums/hosts 240 "$run" -n 3 --hosts 2 --timeout 240 "${tcp[@]}" "$base/cuda/sums" 333334
checks sums/without 120 "$run" -n 3 --timeout 120 "${tcp[@]}" "$mixed" '* * -' "$base/cuda/sums" 5000
checks sums/owner-without 120 "$run" -n 3 --timeout 120 "${tcp[@]}" "$mixed" '- * *' "$base/cuda/sums" 5000

# PEs with and without GPUs, on one host and on two; PEs that see a GPU each.
checks mixed/host 120 "$run" -n 3 --timeout 120 "${tcp[@]}" "$mixed" '* * -' "$base/cuda/mixed" 50
checks mixed/hosts 120 "$run" -n 4 --hosts 2 --timeout 120 "${tcp[@]}" "$base/cuda/mixed" 20
checks mixed/without 120 "$run" -n 4 --hosts 2 --timeout 120 "${tcp[@]}" "$mixed" '* - * -' "$base/cuda/mixed" 20
several checks mixed/own 60 "$run" -n 2 --timeout 60 "$mixed" '0 1' "$base/cuda/shift"

# Local buffers in every kind of memory.
checks locals/direct 120 "$run" -n 2 --timeout 120 "$base/cuda/locals"
checks locals/ring 120 "$run" -n 2 --timeout 120 -x SHMEM_DISABLE_P2P=1 "$base/cuda/locals"

# Operands that go through bounce buffers.
checks bounce/ring 60 "$run" -n 2 --timeout 60 -x SHMEM_DISABLE_P2P=1 "$base/cuda/bounce"
checks bounce/copy 60 "$run" -n 2 --timeout 60 "${copy[@]}" "$base/cuda/bounce"
checks bounce/hosts 60 "$run" -n 3 --hosts 2 --timeout 60 "${tcp[@]}" "$base/cuda/bounce"

# A program as users write it first: each kernel is loaded beside one that waits. Then other CUDA
# calls there, each of which may block the driver.
waiting() { checks "${1##*/}/$2" 20 "${by_turns[@]}" "$run" --timeout 20 "${@:3}" "$1"; }
for waits in "$base/cuda/draft" "$base/cuda/beside"; do
    for n in 2 3 4; do
        waiting "$waits" "ring-$n" -n $n -x SHMEM_DISABLE_P2P=1 -x CUDA_VISIBLE_DEVICES=0
        waiting "$waits" "copy-$n" -n $n "${copy[@]}" -x CUDA_VISIBLE_DEVICES=0
        waiting "$waits" "hosts-$n" -n $n --hosts 2 "${tcp[@]}" -x CUDA_VISIBLE_DEVICES=0
    done
done
waiting "$base/cuda/draft" direct -n 2

# Words that their owner's kernel and the network change while the owner loads kernels, and while
# its kernel fills the GPU, too.
sums_loads() {
    checks "sums/$1" 20 "${by_turns[@]}" "$run" -n 2 --hosts 2 --timeout 20 "${tcp[@]}" -x CUDA_VISIBLE_DEVICES=0 \
        "$base/cuda/sums_loads" "${@:2}"
}
sums_loads loads
sums_loads loads-full fill

# Transfers of more than 4 GiB.
large() { checks "large/$1" 120 "$run" -n 2 --timeout 120 -x SHMEM_SYMMETRIC_SIZE=12g "${@:2}" "$base/cuda/large"; }
large direct
[ "$full" = no ] || large ring -x SHMEM_DISABLE_P2P=1
large copy "${copy[@]}"
large hosts --hosts 2 "${tcp[@]}"

# Two GPUs in a process; several units and libraries with kernels in one, with
# CUDA's run time in each and shared, and both.
several checks devices/direct 60 "$run" -n 2 --timeout 60 "$base/cuda/devices"
several checks devices/hosts 60 "$run" -n 2 --hosts 2 --timeout 60 "${tcp[@]}" "$base/cuda/devices"
units() {
    checks "units/$1-$2-$3" 60 "$run" -n 2 --timeout 60 "$base/cuda/units-$1" "$base/cuda/libunits-$2.so" "$base/cuda/libunits-$3.so"
}
for runtime in static shared; do
    units $runtime static shared
    units $runtime shared static
done

# A program that resets its GPU.
for when in before again end used; do
    checks "reset/$when/direct" 30 "$run" -n 2 --timeout 30 "$base/cuda/reset" $when
    checks "reset/$when/ring" 30 "$run" -n 2 --timeout 30 -x SHMEM_DISABLE_P2P=1 "$base/cuda/reset" $when
    checks "reset/$when/hosts" 30 "$run" -n 2 --hosts 2 --timeout 30 "${tcp[@]}" "$base/cuda/reset" $when
done

# Calls that cannot be served, and a PE that is killed.
checks bad 200 "${by_turns[@]}" tests/gpu/bad.sh "$base/cuda/faults" "$base/cuda/foreign" "$base/cuda/reset"
checks killed 120 "${by_turns[@]}" tests/gpu/killed.sh "$base/cuda/faults"
checks lost 480 "${by_turns[@]}" tests/gpu/lost.sh "$base/cuda/lost"
checks experts 200 "${by_turns[@]}" tests/gpu/experts.sh "$base/lib" "$base/examples/dispatch" "$base/cuda/settle.fatbin"

# Calls on streams. PEs that share a GPU get time slices of some ms, and each wait for the other PE
# takes one: fewer types and replays.
on_streams() {
    local way=$1
    shift
    # shellcheck disable=SC2086 # a word, or none
    checks "stream/types/$way" 300 "$run" -n 2 --timeout 300 "$@" "$base/cuda/stream" $few
    checks "stream/teams/$way" 120 "$run" -n 2 --timeout 120 "$@" "$base/cuda/streamteams"
    checks "stream/graph/$way" 300 "$run" -n 2 --timeout 300 "$@" "$base/cuda/graph" "$replays"
    checks "stream/launch/$way" 60 "$run" -n 2 --timeout 60 "$@" "$base/cuda/launch"
}
ten=1
[ "$full" = no ] || ten=10
few='' replays=$((10000 * ten))
on_streams direct
few='few'
on_streams pinned -x SHMEM_HEAP=pinned
replays=$((1000 * ten))
on_streams ring -x SHMEM_DISABLE_P2P=1
on_streams hosts --hosts 2 -x SHMEM_PROVIDER=tcp
replays=$((300 * ten))
on_streams shared -x CUDA_VISIBLE_DEVICES=0
checks stream/c 60 "$run" -n 3 --timeout 60 -x SHMEM_HEAP=device "$base/tests/stream"

# Memory of the GPU that the program has mapped itself.
lent() {
    local way=$1
    shift
    checks "lent/$way" 60 "$run" --timeout 60 -x SHMEM_HEAP=device "$@" "$base/tests/lent"
}
lent direct -n 2
lent ring -n 2 -x SHMEM_DISABLE_P2P=1
lent hosts -n 2 --hosts 2 -x SHMEM_PROVIDER=tcp
lent shared -n 3 -x CUDA_VISIBLE_DEVICES=0

# Calls beside kernels that fill the GPU; docs/reference/gpu-host-calls.md has the results. First the
# driver's behaviour there, without the library.
shows engines 60 "${by_turns[@]}" "$base/cuda/engines"
shows forbidden 60 "${by_turns[@]}" "$base/cuda/forbidden"
several shows occupied 120 "$run" -n 2 --timeout 110 "$base/cuda/occupied"

# CUDA's checker of memory accesses, where its toolkit is installed: each PE's
# program under it.
checker=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
checked() {
    local name=$1 tool=$2 program=$3
    shift 3
    checks "sanitizer/$name" 60 "$run" -n 2 --timeout 60 "$@" "$checker" --tool "$tool" --error-exitcode 9 "$program"
}
if [ -x "$checker" ]; then
    checked shift memcheck "$base/cuda/shift"
    checked rma memcheck "$base/cuda/rma"
    checked atomics memcheck "$base/cuda/atomics"
    checked waits memcheck "$base/cuda/waits"
    if [ "$full" = yes ]; then
        checked ring memcheck "$base/cuda/shift" -x SHMEM_DISABLE_P2P=1
        checked hosts memcheck "$base/cuda/shift" --hosts 2 "${tcp[@]}"
        checked ipc memcheck "$base/cuda/shift" -x SHMEM_GPU_SHARE=ipc
        checked race racecheck "$base/cuda/shift"
        checked sync synccheck "$base/cuda/shift"
    fi
else
    echo "== sanitizer: there is no compute-sanitizer on this machine" | tee -a "$results"
fi

# ---- programs that are built with NVIDIA's device archive (make gpu-archive)
archive=$base/archive
for rows in "$archive"/rows-*; do
    [ -e "$rows" ] || continue
    for pes in 1 2 3 4; do
        checks "archive/${rows##*-}/$pes" 120 env LIMIT=110 tests/gpu/uid.sh "$archive/lib" "$rows" "$pes"
    done
done

# ---- with NVSHMEM's own library (make gpu-oracle), which has to pass what this project's does
oracle=$base/oracle
if [ -d "$oracle" ]; then
    export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_DISABLE_NCCL=1
    export NVSHMEM_REDUCE_SCRATCH_SIZE=8M # 100,000 elements in a kernel take more than by default
    for pes in 1 2; do
        for name in rma strided atomics waits colls scatter singles nvshmem; do
            # It has collectives of several PEs of a GPU if each has a part of its processors.
            checks "oracle/$name/$pes" 120 env PES=$pes CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$((100 / pes)) \
                LD_LIBRARY_PATH="$oracle/lib" "$oracle/$name"
        done
        # Under the shim, which has to record the host's calls of that library.
        calls=$(mktemp -d)
        checks "oracle/traced/$pes" 120 env PES=$pes CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$((100 / pes)) \
            LD_LIBRARY_PATH="$oracle/lib" LD_PRELOAD="$(realpath "$oracle")/libshmem_preload.so" \
            SHMEM_PRELOAD="trace,file=$calls" "$oracle/traced" "$calls"
        rm -rf "$calls"
    done
fi

# ---- without
# The programs without a GPU's part, on this kernel, C library and network: on the node, and
# between two simulated hosts on it.
mapfile -t names <"$base/programs"
for name in "${names[@]}"; do
    case $name in stream | lent) continue ;; esac # these need a heap in the memory of a GPU
    # The program is about PEs that are reached by the network.
    [ "$name" = contexts_apart ] || checks "c/$name/node" 120 "$run" -n 4 --timeout 110 "$base/tests/$name"
    checks "c/$name/hosts" 120 "$run" -n 4 --hosts 2 --timeout 110 -x SHMEM_PROVIDER=tcp "$base/tests/$name"
done

[ ${#left[@]} -eq 0 ] || echo "left for several GPUs: ${left[*]}" | tee -a "$results"
echo "$passed passed, $failed failed" | tee -a "$results"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
