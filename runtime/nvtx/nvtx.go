// Package nvtx shows a profiler the work of a PE's proxies, the threads that post operations to the
// NIC, as ranges of these threads: each post, and each sleep. Polls are left out: a waiting thread
// polls some hundred thousand times a second.
//
// It owns the list of ranges; the front (capi/front/ranges.c) shows them, because it shows the
// program's calls, too. Without a profiler, Around adds no provider, so that ranges cost nothing.
// With a profiler, the C code must not post to the NIC itself (Native), so that every operation
// passes through here.
package nvtx

import (
	"runtime"
	"time"

	"libshmem/fabric"
)

// Show starts a range on the calling thread; the name Leave ends the current range instead.
type Show func(Name)

// provider passes operations to an inner provider and shows each as a range.
type provider struct {
	fabric.Provider                // the inner provider
	atomics         fabric.Atomics // the inner provider; nil if it has no atomic operations
	show            Show
}

// Around returns a provider that passes operations to inner and shows each as a range. Without a
// profiler (show is nil) it returns inner itself.
func Around(inner fabric.Provider, show Show) fabric.Provider {
	if show == nil {
		return inner
	}
	p := &provider{Provider: inner, show: show}
	p.atomics, _ = inner.(fabric.Atomics)
	if r, ok := inner.(fabric.Rails); ok {
		return &railsProvider{p, r}
	}
	return p
}

// railsProvider is a provider around one that has several NICs.
type railsProvider struct {
	*provider
	rails fabric.Rails
}

// Rails implements fabric.Rails: it returns the traffic of each NIC.
func (s *railsProvider) Rails() []fabric.RailCount { return s.rails.Rails() }

// Native implements fabric.Provider. It offers the C code nothing to call, so that all operations
// pass through the ranges here.
func (p *provider) Native() fabric.Native { return fabric.Native{} }

// in calls do within a range of that name. It keeps the goroutine on its thread meanwhile, because
// a range must end on the thread where it began.
func (p *provider) in(name Name, do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p.show(name)
	defer p.show(Leave)
	do()
}

// Send implements fabric.Provider. It shows the post of the message as a range.
func (p *provider) Send(op *fabric.Send) (err error) {
	p.in(Send, func() { err = p.Provider.Send(op) })
	return err
}

// Write implements fabric.Provider. It shows the post of the write as a range.
func (p *provider) Write(op *fabric.RMA) (err error) {
	p.in(Write, func() { err = p.Provider.Write(op) })
	return err
}

// Read implements fabric.Provider. It shows the post of the read as a range.
func (p *provider) Read(op *fabric.RMA) (err error) {
	p.in(Read, func() { err = p.Provider.Read(op) })
	return err
}

// Atomic implements fabric.Atomics. It is not called where Caps has no atomic operation.
func (p *provider) Atomic(op *fabric.AMO) (err error) {
	p.in(Atomic, func() { err = p.atomics.Atomic(op) })
	return err
}

// Wait implements fabric.Provider. It shows the sleep as a range, and returns what the inner
// provider returns.
func (p *provider) Wait(d time.Duration) (came bool, err error) {
	p.in(Sleep, func() { came, err = p.Provider.Wait(d) })
	return came, err
}
