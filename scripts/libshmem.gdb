# gdb -x scripts/libshmem.gdb, started in the root of the source tree: gdb finds the sources of the
# libraries, accepts breakpoints in code that is loaded later, and passes on the signals that Go
# and the library send. docs/guides/debugging.md has examples.
set breakpoint pending on
set substitute-path libshmem .
handle SIGURG nostop noprint pass
handle SIGUSR2 nostop noprint pass
