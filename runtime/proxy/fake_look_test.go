package proxy

import (
	"slices"
	"unsafe"

	"libshmem/fabric"
)

// match puts messages that arrived into receive buffers.
func (e *end) match() {
	n := min(len(e.inbox), len(e.recvs))
	for i, o := range e.inbox[:n] {
		r := e.recvs[i]
		if o.n > r.n {
			e.net.broken("PE %d: message of %d bytes for a buffer of %d", o.from, o.n, r.n)
		}
		copy(unsafe.Slice((*byte)(r.buf), r.n), o.data)
		e.complete(fabric.Completion{Token: r.token, Kind: fabric.KindRecv, Len: uint64(o.n)})
		e.net.pool = append(e.net.pool, o)
	}
	e.inbox = slices.Delete(e.inbox, 0, n)
	e.recvs = slices.Delete(e.recvs, 0, n)
}

// idle reports whether no operation is under way.
func (w *fakeNetwork) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.ends {
		if len(e.queue) > 0 || len(e.inbox) > 0 || e.box != nil && e.box.Kept() > 0 {
			return false
		}
	}
	return len(w.flying) == 0
}

// writes returns how many writes are under way.
func (w *fakeNetwork) writes() (n int) {
	for _, o := range w.flying {
		if o.kind == fabric.KindWrite {
			n++
		}
	}
	return n
}
