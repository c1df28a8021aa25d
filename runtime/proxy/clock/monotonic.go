package clock

import "golang.org/x/sys/unix"

// Monotonic is the time of CLOCK_MONOTONIC in nanoseconds.
func Monotonic() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}
