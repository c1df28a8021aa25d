package watch

// A DriverWatch reports calls of the GPU driver that do not return, and work that the driver has
// accepted and does not execute. The driver may let a call of the program block a call of a proxy
// until a stream has carried out its work. If that stream waits for the proxy, both hang
// (docs/guides/gpu-network.md). The proxy cannot report it: its thread is inside the call and holds
// the engine's lock.
//
// A goroutine checks the calls under way a few times a second. It calls no driver. It locks mu only
// for a check or a report, and no thread has mu locked during a driver call. A thread that blocks
// in the driver is in C, and occupies no processor of the Go scheduler.

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"libshmem/queue"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/guard"
	"libshmem/runtime/proxy/backlog"
)

// DriverWatch reports calls of the GPU driver that do not return, and work that the driver does not
// carry out. The zero value is ready for Begin. Any goroutine may call its methods.
type DriverWatch struct {
	DriverConfig
	over chan struct{}
	gone chan struct{} // nil: no goroutine checks

	mu          sync.Mutex
	driverCalls map[string]func() string // by the caller's name: the purpose of its driver call
	rings       []*queue.Ring            // their operations wait for the proxies
	under       []watchedCall            // calls under way at the last check
	before      []watchedCall            // at the check before it
	seen        []cuda.Call              // memory for Calls, used again
	reported    uint32                   // the value of Requests at the last report
	undone      undone
}

// DriverConfig configures which calls a driver watch checks and how it reports them.
type DriverConfig struct {
	Facts    gpu.Facts
	Limit    time.Duration                    // after which a call is reported; 0: only on request
	Say      func(text string)                // prints a report
	Requests func() uint32                    // returns how many reports the user has requested so far
	Calls    func(to []cuda.Call) []cuda.Call // appends the driver calls under way
}

// watchedCall is a call under way, with the time at which it was first seen.
type watchedCall struct {
	cuda.Call
	since    time.Time
	reported bool
}

const (
	// watchInterval is the time between two checks. A check takes less than a microsecond.
	watchInterval = 100 * time.Millisecond
	// watchLong is the least age of a call for a report on request. Copies, checks and launches
	// take some microseconds.
	watchLong = 2 * watchInterval
)

// Streams adds a proxy whose GPU work is to be watched. pending appends the work that the GPU has
// not carried out; ownContext: the work is in a context of the library's own.
func (h *DriverWatch) Streams(proxy string, ownContext bool, pending func(to []backlog.Work) []backlog.Work) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// undoneWork.by points into the list of proxies, so the list is made anew, and noted work is
	// dropped.
	h.undone = undone{of: append(slices.Clone(h.undone.of), undoneBy{proxy, ownContext, pending})}
}

// DriverCall adds a function that returns the purpose of a caller's last driver call, which a
// report about a call that does not return prints.
func (h *DriverWatch) DriverCall(caller string, what func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.driverCalls == nil {
		h.driverCalls = map[string]func() string{}
	}
	h.driverCalls[caller] = what
}

// Serve sets the rings whose operations wait while a proxy is blocked, for reports. It is called
// with none before the memory of the rings is freed.
func (h *DriverWatch) Serve(rings []*queue.Ring) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rings = rings
}

// Begin starts the goroutine that checks the driver calls. It runs until End.
func (h *DriverWatch) Begin(c DriverConfig) {
	h.DriverConfig = c
	h.over, h.gone = make(chan struct{}), make(chan struct{})
	h.reported = h.Requests()
	guard.Go("the watch of driver calls", h.run)
}

// End stops the goroutine that checks driver calls. The caller closes the GPU, whose calls the
// goroutine reads, afterwards.
func (h *DriverWatch) End() {
	if h.gone != nil {
		close(h.over)
		<-h.gone
		h.gone = nil
	}
}

// Running reports whether the goroutine runs.
func (h *DriverWatch) Running() bool { return h.gone != nil }

// run is the goroutine: it checks the driver calls periodically and prints the reports that are
// due.
func (h *DriverWatch) run() {
	defer close(h.gone)
	every := watchInterval
	if h.Limit > 0 { // so that a report is late by an eighth of the limit at most
		every = max(min(every, h.Limit/8), time.Millisecond)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-h.over:
			return
		case now := <-tick.C:
			for _, text := range h.check(now) {
				h.Say(text)
			}
		}
	}
}

// check returns the reports that are due now: on each call once, after the limit, and on all of
// them when the user has requested a report.
func (h *DriverWatch) check(now time.Time) (due []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = h.Calls(h.seen[:0])
	h.before, h.under = h.under, h.before[:0]
	for _, c := range h.seen {
		i := slices.IndexFunc(h.before, func(o watchedCall) bool { return o.Call == c })
		if i < 0 {
			h.under = append(h.under, watchedCall{Call: c, since: now})
		} else {
			h.under = append(h.under, h.before[i])
		}
	}
	count := h.Requests()
	requested := count != h.reported
	h.reported = count
	const goesOn = " (the wait goes on)"
	isDue := func(since time.Time, reported *bool) bool {
		age := now.Sub(since)
		late := h.Limit > 0 && age >= h.Limit && !*reported
		*reported = *reported || late
		return late || requested && age >= watchLong
	}
	for i := range h.under {
		if c := &h.under[i]; isDue(c.since, &c.reported) {
			due = append(due, h.text(c, now)+h.waiting()+h.why(c)+goesOn)
		}
	}
	h.undone.check(now)
	for i := range h.undone.under {
		if w := &h.undone.under[i]; isDue(w.since, &w.reported) {
			due = append(due, w.text(now)+h.waiting()+w.why(h.Facts)+goesOn)
		}
	}
	return due
}

// Explain returns, for the report of a wait, the driver calls that have been under way for long and
// the work that the GPU does not carry out, or "".
func (h *DriverWatch) Explain(now time.Time) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for i := range h.under {
		if c := &h.under[i]; now.Sub(c.since) >= watchLong {
			all = append(all, h.text(c, now)+" (docs/guides/gpu-network.md)")
		}
	}
	for i := range h.undone.under {
		if w := &h.undone.under[i]; now.Sub(w.since) >= watchLong {
			all = append(all, w.text(now)+" (docs/guides/gpu-network.md)")
		}
	}
	return strings.Join(all, "; ")
}

// text describes, for a report, a driver call that has not returned at the time now: its caller,
// its purpose and how long it lasts.
func (h *DriverWatch) text(c *watchedCall, now time.Time) string {
	by := c.By
	if by == "" {
		by = "a thread of the program"
	}
	if what := h.driverCalls[c.By]; what != nil {
		if purpose := what(); purpose != "" {
			by += " " + purpose
		}
	}
	return fmt.Sprintf("the GPU's driver has not returned from %s for %.1f s, called by %s", c.Name, now.Sub(c.since).Seconds(), by)
}

// waiting says, for a report, how many operations of kernels wait in the rings, or "" if none does:
// the proxy that would take them may be in the driver call.
func (h *DriverWatch) waiting() string {
	n := 0
	for _, r := range h.rings {
		n += r.Waiting()
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d operations in rings wait for the proxy", n)
}

// why returns, for a report, a likely cause for a call that does not return, and the remedy. The
// driver does not say the cause; the text depends on the call's name and on how the driver loads
// kernels.
func (h *DriverWatch) why(c *watchedCall) string {
	if waitsForKernels(c.Name) {
		return ": it may wait for all kernels that run (allocate and free while none waits for another PE)"
	}
	cause, remedy := "the program copies to pageable memory behind a stream that waits for another PE",
		"synchronize the stream before such a copy or copy to pinned memory; docs/guides/gpu-network.md"
	if !h.Facts.Eager {
		cause = "the program loads a kernel, by its first launch, beside one that runs, or " + strings.TrimPrefix(cause, "the program ")
		remedy = "launch each kernel once beforehand, and " + remedy
	}
	if strings.HasSuffix(c.Name, "Synchronize") {
		cause += ", or kernels that fill the GPU leave no place for what the program waits for"
	}
	return ": it may be that " + cause + " (" + remedy + ")"
}

// waitsForKernels reports whether the driver may let a call of this kind wait for kernels.
func waitsForKernels(call string) bool {
	return slices.ContainsFunc([]string{"cuMemAlloc", "cuMemFree", "cuMemHost", "cuMemMap", "cuMemUnmap", "cuMemSetAccess", "cuMemRelease", "cuMemAddress", "cuIpc"},
		func(prefix string) bool { return strings.HasPrefix(call, prefix) })
}
