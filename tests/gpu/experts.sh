#!/usr/bin/env bash
# Experts (examples/deepep/dispatch.cu) lose a PE in the middle of their rounds, without a launcher:
# its process is killed, or its GPU context is lost. The other PE must name it and end within
# seconds, and the job must leave nothing behind.
#
#   tests/gpu/experts.sh LIBRARIES DISPATCH SETTLE      the program, and a module for it whose
#                                   kernel stops PE 1's context
set -u
export LD_LIBRARY_PATH=${1:?name the folder of the libraries}
dispatch=$(realpath "${2:?name the program dispatch}")
settle=$(realpath "${3:?name the module settle.fatbin}")
passed=0 failed=0
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT

says() { grep -Eq "$2" "$folder/$1"; }

# lose KILLED|CONTEXT HOSTS [VARIABLE=VALUE...]
lose() {
    local how=$1 hosts=$2 name="$*" pe wrong='' begin ms status0=0 status1=0 process=() child
    local module=$settle
    shift 2
    [ "$how" = context ] || module=${dispatch%/*}/settle.fatbin
    rm -f "$folder"/*
    ln -s "$dispatch" "$folder/dispatch"
    ln -s "$module" "$folder/settle.fatbin"
    for pe in 0 1; do
        timeout -k 5 60 env SHMEM_HOST_ID=host-$((pe * (hosts - 1))) "$@" \
            "$folder/dispatch" $pe 2 "$folder/id" 64 1000000 >"$folder/$pe" 2>&1 </dev/null &
        process+=($!)
    done
    if [ "$how" = killed ]; then
        sleep 8 # the rounds begin within 3 s
        read -r child <"/proc/${process[1]}/task/${process[1]}/children"
        kill -9 "$child"
    fi
    wait "${process[1]}" 2>/dev/null || status1=$?
    begin=${EPOCHREALTIME/./}
    wait "${process[0]}" || status0=$?
    ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
    case $how,$status1 in
    killed,137) ;;
    context,1) says 1 'unspecified launch failure' || wrong+=", PE 1 does not name the error of its GPU" ;;
    *) wrong+=", PE 1 has status $status1" ;;
    esac
    [ "$status0" -ne 0 ] && [ "$status0" -ne 124 ] || wrong+=", PE 0 has status $status0"
    says 0 'PE 1' || wrong+=", PE 0 does not name PE 1"
    [ "$ms" -lt 8000 ] || wrong+=", PE 0 ended $ms ms after PE 1"
    ! grep -lsq "$folder/dispatch" /proc/[0-9]*/cmdline || wrong+=", a process is left"
    if [ -z "$wrong" ]; then
        passed=$((passed + 1))
        echo "experts: $name: status $status0 after $ms ms: $(grep -Em1 'PE 1' "$folder/0")"
    else
        failed=$((failed + 1))
        echo "experts: $name$wrong"
        sed 's/^/    /' "$folder/0" "$folder/1"
    fi
}

for how in killed context; do
    lose $how 1
    lose $how 1 SHMEM_DISABLE_P2P=1
    lose $how 1 SHMEM_DISABLE_P2P=1 SHMEM_GPU_NET=copy
    lose $how 2 SHMEM_PROVIDER=tcp
done
echo "experts: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
