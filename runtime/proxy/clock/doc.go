// Package clock reads the time as cheaply as the machine can: by the processor's own counter
// where all processors count alike, at one rate and without a stop. It owns the choice of
// the counter and its reading. What a tick is in nanoseconds its callers find out by two
// readings of both clocks, so that nothing has to be calibrated where the time is only kept.
//
// The counter is that of the machine: two processes that both have it may compare readings.
// C reads the same one (runtime/proxy/fastpath/record.h).
package clock

import (
	"time"

	"libshmem/runtime/statuspage"
)

// Now is the present time: ticks of the counter where Counts, and else nanoseconds of
// CLOCK_MONOTONIC.
func Now() uint64 {
	if Counts {
		return counter()
	}
	return began + uint64(time.Since(start)) // Go keeps the clock's own number to itself
}

var began, start = statuspage.Now(), time.Now()
