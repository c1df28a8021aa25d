# shellcheck shell=bash disable=SC2154,SC2034,SC2030,SC2031 # run.sh's and figures.sh's; all of it in one subshell
# one.sh: the part of run.sh for a machine with one GPU, which two PEs share. They communicate by
# direct stores (direct), through the ring and pinned memory (staged), through the ring and copies
# within the GPU (copied), and as two hosts over tcp (hosts). Five rounds, each with probe's loops
# of the same shapes on the same GPU. Sourced by run.sh, after figures.sh.
#
# BENCH_BEFORE: a folder into which another build was installed (make install). Each round measures
# that build's library, too. The programs are this build's for both libraries.

# Runs in a subshell, so that variables and MPS end with it.
part_one() (
    started=$SECONDS
    trap 'end_mps' EXIT
    earlier=
    if [ -n "${BENCH_BEFORE:-}" ]; then
        earlier=$(realpath "$BENCH_BEFORE")
        for file in bin/shmemrun lib/libshmem.so; do
            [ -e "$earlier/$file" ] || {
                echo "run.sh: find $file: it is not in BENCH_BEFORE=$BENCH_BEFORE (name a folder that another build was installed in)" >&2
                exit 1
            }
        done
    fi
    export CUDA_VISIBLE_DEVICES=0 BENCH_BYTES=268435456
    shared="by MPS"
    share_by_mps "$base/probe" info || shared="in turns of 2.4 ms"
    echo "{\"facts\":{\"part\":\"one\",\"sharing\":\"$shared\"}}"
    # A round begins only if it would end within 150 s even if it took as long as the longest one.
    longest=0
    for round in 1 2 3 4 5; do
        begin=$SECONDS
        [ $((begin - started + longest)) -le 150 ] || {
            echo "run.sh: part one: its time is up after $((round - 1)) of 5 rounds" >&2
            break
        }
        one_round
        [ $((SECONDS - begin)) -le "$longest" ] || longest=$((SECONDS - begin))
    done
    exit "$status"
)

one_round() {
    references
    both direct
    export SHMEM_DISABLE_P2P=1 SHMEM_GPU_NET=stage
    both staged
    if [ "$shared" = "by MPS" ]; then
        SHMEM_GPU_NET=copy both copied
    fi
    hosts=2
    SHMEM_PROVIDER=tcp both hosts
    hosts=1
    unset SHMEM_DISABLE_P2P SHMEM_GPU_NET
}

# both PATH: measures this build's library, and that of BENCH_BEFORE if it is set. Which of them
# runs first alternates from round to round, because the GPU's clocks are lower for the first.
both() {
    export BENCH_ROUTE="one GPU, $1"
    [ -z "$earlier" ] || [ $((round % 2)) -eq 1 ] || before
    ours 15 latency few
    ours 15 bandwidth few put get
    [ -z "$earlier" ] || [ $((round % 2)) -eq 0 ] || before
}

# Measures the library of BENCH_BEFORE.
before() {
    launcher=$earlier/bin/shmemrun
    BENCH_SYSTEM="libshmem before" ours 15 latency few
    BENCH_SYSTEM="libshmem before" ours 15 bandwidth few put get
    launcher=$base/bin/shmemrun
}

# Prints the probe's rows for the shapes of `few`, under the names of these figures.
references() {
    within 20 "$base/probe" window putlat >"$mps/probe.tsv"
    awk -F '\t' '
        function row(figure, how, value, unit) {
            printf "{\"system\":\"probe\",\"route\":\"one GPU, bare\",\"figure\":\"%s\",\"how\":\"%s\",\"bytes\":%d,\"ctas\":%d,\"threads\":%d,\"value\":%.6g,\"unit\":\"%s\"}\n", figure, how, $3, $4, $5, value, unit
        }
        $1 == "window" && $4 == 32 && ($3 == 1048576 || $3 == 33554432) {
            row(substr($2, 1, 3) " over a window", "block", $8, "GB/s")
        }
        $1 == "putlat" && $5 == 1 && $3 == 8 { row("p_quiet", "thread", $8 / 1e3, "us") }
        $1 == "putlat" && $5 == 256 && ($3 == 16 || $3 == 1024 || $3 == 65536) {
            row(substr($2, 1, 3) "_quiet", "block", $8 / 1e3, "us")
        }' "$mps/probe.tsv"
}
