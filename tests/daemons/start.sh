# shellcheck shell=sh
# Sourced by scripts that daemons.Start runs.

# watched DIR/NAME COMMAND...: starts a daemon that stays in the foreground, writes its output to
# DIR/NAME.out, and says on standard output when it ends.
watched() {
    log=$1
    shift
    {
        status=0
        "$@" >>"$log.out" || status=$?
        echo "ended ${log##*/} $status"
    } 2>>"$log.out" &
}
