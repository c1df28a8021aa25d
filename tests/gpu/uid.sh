#!/usr/bin/env bash
# uid.sh LIBRARIES PROGRAM N [HOSTS [ARGUMENT...]]: starts N processes of a program that takes its
# number, N and a file, and the arguments, as examples/nvshmem/uid does, without a launcher. HOSTS
# makes the machine act as several. LIMIT is their time limit in seconds.
set -u
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$1
program=$2 n=$3 hosts=${4:-1}
shift $(($# < 4 ? $# : 4))
status=0 processes=()
for ((i = 0; i < n; i++)); do
    [ "$hosts" -eq 1 ] || export SHMEM_HOST_ID=host-$((i * hosts / n))
    timeout "${LIMIT:-50}" "$program" "$i" "$n" "$folder/id" "$@" &
    processes+=($!)
done
for process in "${processes[@]}"; do
    wait "$process" || status=1
done
exit "$status"
