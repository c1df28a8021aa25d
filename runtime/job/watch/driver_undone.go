package watch

import (
	"fmt"
	"slices"
	"time"

	"libshmem/runtime/gpu"
	"libshmem/runtime/proxy/backlog"
)

// undone reports work that the GPU driver has accepted from a proxy and does not carry out. No call
// is blocked then: only the operations that this work is part of wait, and the proxy serves all
// others (docs/guides/gpu-network.md).
type undone struct {
	of     []undoneBy     // one for each proxy
	under  []undoneWork   // the work that was pending at the last check
	before []undoneWork   // at the check before it
	seen   []backlog.Work // memory for undoneBy.pending, used again
}

// undoneBy is a proxy that submits work to the GPU.
type undoneBy struct {
	name       string
	ownContext bool                                   // the work is in a context of the library's own
	pending    func(to []backlog.Work) []backlog.Work // appends the work that is not carried out
}

// undoneWork is the work of a stream that has made no progress since the given time.
type undoneWork struct {
	backlog.Work
	by       *undoneBy
	since    time.Time
	reported bool
}

// check notes the work that the streams have not carried out now, and since when each stream has
// made no progress: its last mark (Passed) is that of the previous check.
func (u *undone) check(now time.Time) {
	u.before, u.under = u.under, u.before[:0]
	for i := range u.of {
		by := &u.of[i]
		u.seen = by.pending(u.seen[:0])
		for _, w := range u.seen {
			work := undoneWork{Work: w, by: by, since: now}
			at := slices.IndexFunc(u.before, func(o undoneWork) bool {
				return o.by == by && o.Stream == w.Stream && o.Passed == w.Passed
			})
			if at >= 0 {
				work.since, work.reported = u.before[at].since, u.before[at].reported
			}
			u.under = append(u.under, work)
		}
	}
}

// text describes the work for a report.
func (w *undoneWork) text(now time.Time) string {
	return fmt.Sprintf("the GPU has carried out none of %s, for %.1f s, asked by %s", &w.Work, now.Sub(w.since).Seconds(), w.by.name)
}

// why returns, for a report, a likely cause for a stream that makes no progress, and the remedy. It
// depends on the stream, on whose context it belongs to, and on how the driver loads kernels.
func (w *undoneWork) why(f gpu.Facts) string {
	const loads, remedy = "the program loads a kernel, by its first launch, beside one that runs", "launch each kernel once beforehand"
	cause, help := "kernels fill the GPU and leave no place for an atomic operation", "leave one multiprocessor free where kernels wait"
	switch {
	case w.Stream == backlog.StreamWord && w.by.ownContext:
	case w.by.ownContext:
		cause, help = "memory outside the heap, for example of cudaMalloc, is copied while "+loads, "have buffers in the heap, or "+remedy
	case w.Stream == backlog.StreamWord && !f.Eager:
		cause, help = loads+", or "+cause, remedy+", and "+help
	case !f.Eager:
		cause, help = loads, remedy
	default:
		cause, help = "the program's own work is in its way", "synchronize the streams of the program"
	}
	return ": it may be that " + cause + " (" + help + "; docs/guides/gpu-network.md)"
}
