package network

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"libshmem/runtime/proxy/loop"
)

// ringReports prints errors of operations from rings. One mistake in a kernel can repeat a million
// times a second, so it prints the first few in full and then their number.
type ringReports struct {
	mu        sync.Mutex
	say       func(text string)
	note      func(text string) // for texts that a user need not see
	now       func() time.Time
	since     time.Time
	printed   int
	unprinted int // counted, and not printed yet
}

// In each period of reportEvery, maxReports errors are printed in full.
const (
	reportEvery = 10 * time.Second
	maxReports  = 8
)

// add prints an error, or counts it if enough were printed in this period. A loop's short absence
// from its processor is only noted.
func (r *ringReports) add(err error) {
	var late *loop.LateError
	if errors.As(err, &late) && !late.Grave {
		r.note(err.Error())
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.since) >= reportEvery {
		r.flush()
		r.since, r.printed = now, 0
	}
	if r.printed == maxReports {
		r.unprinted++
		return
	}
	r.printed++
	r.say(err.Error())
	if r.printed == maxReports {
		r.say(fmt.Sprintf("further ones within %v are only counted", reportEvery))
	}
}

// flush prints how many errors were only counted since the last flush.
func (r *ringReports) flush() {
	if r.unprinted > 0 {
		r.say(fmt.Sprintf("%d more operations of rings failed", r.unprinted))
		r.unprinted = 0
	}
}

// close prints how many errors were only counted, at the end.
func (r *ringReports) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}
