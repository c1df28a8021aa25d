package watch

import (
	"fmt"
	"time"

	"libshmem/runtime/guard"
)

// leaveCheck is the period at which a PE that waits for the others in finalize checks whether a
// report is due.
const leaveCheck = 10 * time.Millisecond

// LeaveBarrier waits until every live PE has come to finalize. C reports the long waits of other
// calls; this wait is in Go, so a goroutine reports it.
func (w *Watch) LeaveBarrier() error {
	over, gone := make(chan struct{}), make(chan struct{})
	p := &leaveWait{began: time.Now(), limit: w.Settings.Timeout, requests: w.requests}
	p.reported = p.began
	if p.requests != nil {
		p.seen = p.requests()
	}
	guard.Go("the wait for other PEs to finalize", func() {
		defer close(gone)
		tick := time.NewTicker(leaveCheck)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case now := <-tick.C:
				if p.due(now) {
					w.Report(p.text(now, w.Explanation(nil, 0))) // nil, 0: no PE is named as late
				}
			}
		}
	})
	defer func() {
		close(over)
		<-gone
	}()
	return w.Boot.LeaveBarrier()
}

// leaveWait is the state of the wait in LeaveBarrier, for its reports.
type leaveWait struct {
	began    time.Time
	reported time.Time     // when its limit passed last
	limit    time.Duration // SHMEM_TIMEOUT; 0: there is none
	requests func() uint32 // the number of reports requested by a signal so far; nil: there is no signal
	seen     uint32        // that number at the last check
}

// due reports whether a report about the wait in shmem_finalize is due: a signal has requested one,
// or the limit (SHMEM_TIMEOUT) has passed once more.
func (p *leaveWait) due(now time.Time) bool {
	due := false
	if p.requests != nil {
		count := p.requests()
		due = count != p.seen
		p.seen = count
	}
	if p.limit > 0 && now.Sub(p.reported) >= p.limit {
		p.reported = now
		due = true
	}
	return due
}

// text returns the report of the wait; why describes the PEs for which it waits.
func (p *leaveWait) text(now time.Time, why string) string {
	if why != "" {
		why = "; " + why
	}
	decimals := 0
	switch { // as in capi/front/report.c
	case p.limit%(100*time.Millisecond) != 0:
		decimals = 3
	case p.limit%time.Second != 0:
		decimals = 1
	}
	return fmt.Sprintf("shmem_finalize has waited %.*f s: for the PEs that are alive to finalize%s (the wait goes on)",
		decimals, now.Sub(p.began).Seconds(), why)
}
