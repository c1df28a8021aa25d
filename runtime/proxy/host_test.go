package proxy

import (
	"errors"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
)

// TestHostEnds ends operations of the GPU stage, step by step. After each step it looks at the
// request, at what quiets wait for, and at the record with the registration of the caller's memory.
func TestHostEnds(t *testing.T) {
	broken := errors.New("broken")
	type step struct {
		end        gpustage.Ending
		done       bool // of the request
		status     int32
		registered bool
		pending    int
		tokens     uint32
	}
	over := step{done: true}
	for _, c := range []struct {
		name    string
		use     gpustage.Use
		request bool
		steps   []step
	}{
		{"get", gpustage.UseGet, true, []step{over}},
		{"get that no caller waits for", gpustage.UseGet, false, []step{{}}},
		{"failed get", gpustage.UseGet, true, []step{{end: gpustage.Ending{Status: -1, Err: broken}, done: true, status: -1}}},
		{"get from a lost PE", gpustage.UseGet, true, []step{
			{end: gpustage.Ending{Phase: gpustage.CallerDone, Status: 3, Err: broken}, done: true, status: 3, registered: true, tokens: 1},
			{end: gpustage.Ending{Status: 3}, done: true, status: 3},
		}},
		{"get that did not begin", gpustage.UseGet, true, []step{{end: gpustage.Ending{Phase: gpustage.NotBegun}}}},
		{"put", gpustage.UsePut, true, []step{
			{end: gpustage.Ending{Phase: gpustage.SourceFree}, done: true, registered: true, pending: 1, tokens: 1}, over,
		}},
		{"put that waits", gpustage.UsePut, true, []step{
			{end: gpustage.Ending{Phase: gpustage.Waits}, pending: 1, tokens: 1}, over,
		}},
		{"failed put", gpustage.UsePut, true, []step{{end: gpustage.Ending{Status: 13, Err: broken}, done: true, status: 13}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newNull(t, 2, fabric.Caps{MaxMessage: 1 << 30, MaxInject: 64, SendAfterWrite: true, SendAfterSend: true, LocalMR: true})
			h := e.Host()
			var r Request
			var of *Request
			if c.request {
				of = &r
			}
			buffer := make([]byte, 64)
			op, st := h.Begin(c.use, 1, of, 64)
			if st != Done {
				t.Fatal(st)
			}
			if _, _, err := h.RegisterLocal(op.Token, unsafe.Pointer(&buffer[0]), 64, c.use == gpustage.UseGet); err != nil {
				t.Fatal(err)
			}
			s := &e.ops.Table.Records[op.Token]
			for _, want := range c.steps {
				h.End(op, want.end)
				got := step{want.end, r.Done == 1, r.Status, s.Registered, e.ops.Quiets.Pending[s.Parity], e.ops.Peers[1].Tokens}
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		})
	}
	e := newNull(t, 2, fabric.Caps{MaxMessage: 1 << 30, MaxInject: 64})
	op, _ := e.Host().Begin(gpustage.UseStore, 1, nil, 0)
	if e.ops.Quiets.Pending[op.Parity] != 1 || e.ops.Peers[1].Tokens != 0 {
		t.Errorf("a store: quiets wait for %v, %d records", e.ops.Quiets.Pending, e.ops.Peers[1].Tokens)
	}
	if e.Host().End(op, gpustage.Ending{}); e.ops.Quiets.Pending != [3]int{} {
		t.Errorf("quiets wait for %v", e.ops.Quiets.Pending)
	}
}

// TestHostMay asks whether an operation on a mapped heap may begin, behind what it has to follow.
func TestHostMay(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(e *Engine, p *layout.Peer)
		of      map[gpustage.Use]Status
		flushes bool
	}{
		{"nothing", func(*Engine, *layout.Peer) {}, map[gpustage.Use]Status{
			gpustage.UseCopy: Done, gpustage.UseStore: Done, gpustage.UseSet: Done, gpustage.UseCopyBack: Done, gpustage.UseSignal: Done,
		}, false},
		{"a queued operation", func(_ *Engine, p *layout.Peer) { p.Queued = 1 }, map[gpustage.Use]Status{
			gpustage.UseCopy: Again, gpustage.UseSet: Again, gpustage.UseCopyBack: Done,
		}, false},
		{"a message of this epoch", func(e *Engine, p *layout.Peer) { p.Charge(1, e.Epoch) }, map[gpustage.Use]Status{
			gpustage.UseCopy: Done, gpustage.UseStore: Done, gpustage.UseSet: Again,
		}, true},
		{"a message from before a fence", func(e *Engine, p *layout.Peer) { p.Charge(1, e.Epoch); e.Epoch++ }, map[gpustage.Use]Status{
			gpustage.UseCopy: Again, gpustage.UseStore: Again, gpustage.UseSet: Again, gpustage.UseCopyBack: Done,
		}, true},
		{"as many bytes as there may be", func(_ *Engine, p *layout.Peer) { p.AddBytes(1 << 40) }, map[gpustage.Use]Status{
			gpustage.UseCopy: Again, gpustage.UseCopyBack: Again, gpustage.UseSignal: Done,
		}, false},
	} {
		for use, want := range c.of {
			e := newNull(t, 2, fabric.Caps{MaxMessage: 1 << 30, MaxInject: 64, SendAfterWrite: true, SendAfterSend: true})
			e.out.Reaches(&e.ops.Peers[1], 1)
			p := &e.ops.Peers[1]
			c.before(e, p)
			if got := e.Host().TryBegin(use, 1, 8); got != want {
				t.Errorf("use %d behind %s: %v, want %v", use, c.name, got, want)
			}
			if c.flushes && want == Again && !p.Flushing {
				t.Errorf("use %d behind %s: the PE is not asked", use, c.name)
			}
		}
	}
}
