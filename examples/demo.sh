#!/usr/bin/env bash
# Shows the examples ring and reshard, on one host and on two: `examples/demo.sh MODEL`, where MODEL
# is a safetensors file. `make demo` sets up, builds and calls it.
set -eu
[ $# -eq 1 ] || {
    echo "usage: examples/demo.sh MODEL.safetensors" >&2
    exit 2
}
build=${BUILD:-$(dirname "$0")/../build}
model=$1
bin=$build/bin
ring=$build/examples/ring
reshard=$build/examples/reshard
for program in "$bin/shmemrun" "$ring" "$reshard"; do
    [ -x "$program" ] || {
        echo "demo: find $program: it is not there (run make build examples)" >&2
        exit 1
    }
done

bold='' plain=''
progress=()
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
# Below shmemrun reshard's stderr is a pipe, so reshard draws its bar only with an option.
if [ -t 2 ]; then progress=(--progress); fi

# show TEXT COMMAND...: prints the text, then runs the command.
show() {
    printf '\n%s%s%s\n' "$bold" "$1" "$plain"
    shift
    printf '$'
    for word in "$@"; do printf ' %s' "${word##*/}"; done
    printf '\n'
    "$@"
}

two_hosts=(--hosts 2 --host-netns)
how="on two hosts, each a network namespace of its own"
# In some containers root may not make network namespaces either, so try it.
if [ "$(id -u)" -ne 0 ] || ! unshare --net true 2>/dev/null; then
    two_hosts=(--hosts 2)
    how="on two hosts, simulated in one network namespace"
    echo "demo: only root may make network namespaces, so both hosts share one"
fi

show "4 PEs on one host: each writes its number into the next one's memory, by a store." \
    "$bin/shmemrun" -n 4 "$ring"
show "The same program $how: PE 1 to 2 and 3 to 0 go over the network." \
    "$bin/shmemrun" -n 4 "${two_hosts[@]}" "$ring"
show "A model, held by columns on 4 PEs of one host, becomes whole tensors. All by load and store:" \
    "$bin/shmemrun" -n 4 "$reshard" "${progress[@]}" "$model"
show "The same $how: what crosses from host to host takes the network." \
    "$bin/shmemrun" -n 4 "${two_hosts[@]}" "$reshard" "${progress[@]}" "$model"
