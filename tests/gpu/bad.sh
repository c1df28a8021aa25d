#!/usr/bin/env bash
# Programs whose kernels make calls that cannot be served, on a machine with a GPU: each must end
# with the expected status and a line that helps the user.
#
#   tests/gpu/bad.sh FAULTS FOREIGN RESET [NAME...]      all cases, or those named,
#                                   of the programs faults, foreign and reset
set -u
cd "$(dirname "$0")/../.." || exit
base=${BUILD:-build}/gpu
faults=${1:?name the program faults} foreign=${2:?name the program foreign} reset=${3:?name the program reset}
shift 3
passed=0 failed=0
only=("$@")
out=$(mktemp) || exit
trap 'rm -f "$out"' EXIT

# bad NAME STATUS TEXT PROGRAM [OPTIONS OF SHMEMRUN...]: TEXT is an extended regular expression that
# a line must match. NAME is the program's argument.
bad() {
    local name=$1 want=$2 text=$3 program=$4 status=0
    shift 4
    [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || return 0
    timeout -k 5 40 "$base/bin/shmemrun" -n 2 --timeout 30 "$@" "$program" "$name" >"$out" 2>&1 </dev/null || status=$?
    if [ "$status" -eq "$want" ] && grep -Eq "$text" "$out" && ! grep -q '^goroutine ' "$out"; then
        passed=$((passed + 1))
        echo "bad: $name: $(grep -Em1 "$text" "$out")"
    else
        failed=$((failed + 1))
        echo "bad: $name: status $status, want $want, and a line with: $text"
        sed 's/^/    /' "$out"
    fi
}

where='in block \(2,1,0\), thread \(5,1,1\)'
full=(-x SHMEM_CHECKS=full -x SHMEM_SYMMETRIC_SIZE=64m)
ring=(-x SHMEM_DISABLE_P2P=1)
heap='symmetric heap of 67108864 bytes at 0x[0-9a-f]+ \(pass memory from shmem_malloc\)'

bad wrong-pe 134 "shmem: PE [01]: .*a kernel stopped: shmem_uint64_p $where: PE 2 does not exist, there are 2" "$faults"
bad outside 134 "a kernel stopped: shmem_uint64_p $where: 8 bytes at 0x[0-9a-f]+ are not within the $heap" "$faults" "${full[@]}"
bad outside 134 "a kernel stopped: shmem_uint64_p $where: 8 bytes at 0x[0-9a-f]+ are not within the $heap" "$faults" "${full[@]}" "${ring[@]}"
bad past-end 134 "a kernel stopped: shmem_putmem $where: 1099511627776 bytes at 0x[0-9a-f]+ are not within the $heap" "$faults" "${full[@]}"
bad comparison 134 "a kernel stopped: shmem_uint64_wait_until $where: comparison 42 does not exist" "$faults"
bad signal-operation 134 "a kernel stopped: shmemx_signal_op $where: signal operation 77 does not exist" "$faults"
counter='does not exist, there are 4096 \(use 0 to SHMEM_NOTIFY_COUNT - 1, or set that higher\)'
bad counter 134 "a kernel stopped: shmemx_putmem_notify $where: notification counter 4096 $counter" "$faults"
bad counter 134 "a kernel stopped: shmemx_putmem_notify $where: notification counter 4096 $counter" "$faults" "${ring[@]}"
bad counter-of-all 134 "a kernel stopped: shmemx_putmem_notify_block in block .*: notification counter -7 $counter" "$faults"
bad notified-pe 134 "a kernel stopped: shmemx_putmem_notify $where: PE 2 does not exist, there are 2" "$faults"
bad count 134 "a kernel stopped: shmemx_notify_wait $where: 9223372036854775808 is beyond the range of a notification counter \(use 0 to 2\^63 - 1\)" "$faults"
bad reset-counter 134 "a kernel stopped: shmemx_notify_reset $where: notification counter 4096 $counter" "$faults"
bad team 134 "a kernel stopped: shmem_team_sync $where: team 4711 does not exist" "$faults"
bad team-destroyed 134 "a kernel stopped: shmem_team_sync $where: team [0-9]+ does not exist \(pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or a team that a split has made\)" "$faults"
bad team-root 134 "a kernel stopped: shmem_uint64_broadcast $where: PE_root 1 does not exist, the team has 1 PEs" "$faults"
bad no-context 134 "a kernel stopped: shmem_uint64_p $where: the context was made for the heap at 0x?0, the job's is at 0x" "$faults"
bad context-of-another-heap 134 "a kernel stopped: shmem_uint64_p $where: the context was made for the heap at 0x[0-9a-f]+, the job's is at 0x[0-9a-f]+" "$faults"
early='a call of libshmem: block: \[2,1,0\], thread: \[5,1,1\] Assertion .shmem_init comes first, for this GPU, and shmem_finalize last. failed'
bad before-init 1 "$early" "$faults"
bad after-finalize 1 "$early" "$faults"
bad inside 1 'a call of libshmem: block: \[0,0,0\], .* Assertion .shmem_init comes first, for this GPU, and shmem_finalize last. failed' "$reset"
gpus=(/proc/driver/nvidia/gpus/*)
[ ${#gpus[@]} -lt 2 ] || bad other-gpu 1 "$early" "$faults"
bad foreign 1 'shmem_init: the kernels of .*foreign.cu cannot be given the job.s state on GPU 0: .* \(compile them for the architecture of this GPU\)' "$foreign"
bad nothing 1 'shmem: shmem_init: SHMEM_HEAP=device: .*no CUDA-capable device' "$faults" -x SHMEM_HEAP=device -x CUDA_VISIBLE_DEVICES=
bad nothing 1 'shmem: shmem_init: .*SHMEM_RING_SIZE.*: .*power of two from 256' "$faults" -x SHMEM_RING_SIZE=16

echo "bad: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
