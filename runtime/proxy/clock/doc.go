// Package clock reads the time as cheaply as the machine can: by the processor's own counter if all
// processors count alike, at one rate and without a stop. It owns the choice of the counter and its
// reading. Callers find out the length of a tick in nanoseconds by two readings of both clocks, so
// that code that only stores times needs no calibration.
//
// The counter is that of the machine: two processes that both use it may compare readings. C reads
// the same one (runtime/proxy/fastpath/record.h).
package clock

import (
	"time"

	"libshmem/runtime/statuspage"
)

// Now returns the present time: ticks of the counter if Counts, else nanoseconds of
// CLOCK_MONOTONIC.
func Now() uint64 {
	if Counts {
		return counter()
	}
	return began + uint64(time.Since(start)) // Go does not expose the clock's own value
}

// began and start are the same moment: by CLOCK_MONOTONIC, and as a Time that time.Since takes.
var began, start = statuspage.Now(), time.Now()
