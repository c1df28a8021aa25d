package trace

import (
	"time"

	"libshmem"
	"libshmem/fabric"
)

// provider passes operations to an inner provider and records them in the trace. Its callers hold
// the lock of the endpoint, except those of Wait.
type provider struct {
	fabric.Provider                // the inner provider
	atomics         fabric.Atomics // the inner provider; nil if it has no atomic operations
	track           *Track
	name            []string // by token: the name of the operation under way; "": none
	id              []uint64 // by token: the number of that operation in the trace
	last            uint64   // the last number used
}

// Around returns a provider that passes operations to inner and records them in track. Each
// operation's token has to be less than the number `tokens`. Without a trace (track is nil) it
// returns inner itself.
func Around(inner fabric.Provider, tokens int, track *Track) fabric.Provider {
	if track == nil {
		return inner
	}
	p := &provider{Provider: inner, track: track, name: make([]string, tokens), id: make([]uint64, tokens)}
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
// pass through here and are recorded.
func (p *provider) Native() fabric.Native { return fabric.Native{} }

// recordPost records the post of an operation, which took from begin until now, or its refusal
// (err), and returns err. to is the target and n the bytes. If the operation has a token (inject is
// false), its completion is recorded later.
func (p *provider) recordPost(name string, begin time.Time, to libshmem.PE, n uint64, t fabric.Token, inject bool, err error) error {
	switch {
	case err != nil:
		name = "refused " + name
	case !inject:
		p.last++
		p.name[t], p.id[t] = name, p.last
		p.asyncEvent('b', t, arg{"to", int64(to)}, arg{"bytes", int64(n)})
	}
	p.track.span(name, begin, arg{"to", int64(to)}, arg{"bytes", int64(n)})
	return err
}

// asyncEvent records the begin ('b') or the end ('e') of the operation with a token. The id
// contains the endpoint's number, because each endpoint numbers its own operations.
func (p *provider) asyncEvent(phase byte, t fabric.Token, args ...arg) {
	e := event{phase: phase, name: p.name[t], tid: p.track.tid, at: time.Now(), id: p.id[t]<<8 | uint64(p.track.tid)}
	copy(e.args[:], args)
	p.track.file.write(&e)
}

// Send implements fabric.Provider. It passes the message on and records that.
func (p *provider) Send(op *fabric.Send) error {
	begin := time.Now()
	return p.recordPost("send", begin, op.To, uint64(op.Len), op.Token, op.Inject, p.Provider.Send(op))
}

// Write implements fabric.Provider. It passes the write on and records that.
func (p *provider) Write(op *fabric.RMA) error {
	begin := time.Now()
	return p.recordPost("write", begin, op.PE, op.Len, op.Token, op.Inject, p.Provider.Write(op))
}

// Read implements fabric.Provider. It passes the read on and records that.
func (p *provider) Read(op *fabric.RMA) error {
	begin := time.Now()
	return p.recordPost("read", begin, op.PE, op.Len, op.Token, false, p.Provider.Read(op))
}

// Atomic implements fabric.Atomics. It is not called where Caps has no atomic operation.
func (p *provider) Atomic(op *fabric.AMO) error {
	begin := time.Now()
	return p.recordPost("atomic", begin, op.PE, uint64(op.Width), op.Token, false, p.atomics.Atomic(op))
}

// Poll implements fabric.Provider. It records the ends of operations, and the poll itself if it
// found something.
func (p *provider) Poll(c []fabric.Completion) (int, error) {
	begin := time.Now()
	n, err := p.Provider.Poll(c)
	received := 0
	for i := range c[:max(n, 0)] {
		switch t := c[i].Token; {
		case c[i].Kind == fabric.KindRecv || c[i].Kind == fabric.KindData:
			received++
		case int(t) < len(p.name) && p.name[t] != "":
			p.asyncEvent('e', t, arg{"error", int64(c[i].Err)})
			p.name[t] = ""
		}
	}
	if n > 0 || err != nil {
		p.track.span("poll", begin, arg{"completions", int64(n - received)}, arg{"received", int64(received)})
	}
	return n, err
}

// Wait implements fabric.Provider. It returns what the inner provider returns. It is called without
// the endpoint's lock, so it records the sleep on another row (tid) than the actions under the
// lock, which may overlap it.
func (p *provider) Wait(d time.Duration) (bool, error) {
	begin := time.Now()
	came, err := p.Provider.Wait(d)
	sleep := Track{p.track.file, p.track.tid + 1}
	sleep.span("sleep", begin)
	return came, err
}

// Close implements fabric.Provider. It records the end of operations that are still under way, so
// that the viewer shows them.
func (p *provider) Close() error {
	for t, name := range p.name {
		if name != "" {
			p.asyncEvent('e', fabric.Token(t), arg{"unfinished", 1})
			p.name[t] = ""
		}
	}
	return p.Provider.Close()
}
