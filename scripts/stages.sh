# shellcheck shell=bash
# Sourced by scripts/test, scripts/check and .ci/run: runs named stages one after the other, prints
# the seconds that each took, and remembers failures.

stages_failed=()
stages_begin=$EPOCHREALTIME

# seconds_since MOMENT: prints the seconds since a value of EPOCHREALTIME, with one decimal.
seconds_since() {
    local us=$((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))
    printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

# stage NAME COMMAND...: a failed stage does not end the run, so that one run shows all failures. It
# returns the stage's own status.
stage() {
    local name=$1 begin=$EPOCHREALTIME status=0
    shift
    echo "== $name"
    "$@" || status=$?
    if [ "$status" -eq 0 ]; then
        echo "== $name: ok, $(seconds_since "$begin") s"
    else
        echo "== $name: FAILED with status $status, $(seconds_since "$begin") s"
        stages_failed+=("$name")
    fi
    return "$status"
}

# stages_end: prints the result and the time of all stages, and ends the script.
stages_end() {
    if [ ${#stages_failed[@]} -eq 0 ]; then
        echo "== all ok, $(seconds_since "$stages_begin") s"
        exit 0
    fi
    echo "== failed: ${stages_failed[*]}; $(seconds_since "$stages_begin") s"
    exit 1
}
