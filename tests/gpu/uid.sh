#!/usr/bin/env bash
# uid.sh LIBRARIES PROGRAM N: starts N processes of examples/nvshmem/uid, which no launcher knows.
set -u
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$1
status=0 processes=()
for ((i = 0; i < $3; i++)); do
    timeout 50 "$2" "$i" "$3" "$folder/id" &
    processes+=($!)
done
for process in "${processes[@]}"; do
    wait "$process" || status=1
done
exit "$status"
