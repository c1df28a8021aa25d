package proxy

import (
	"testing"
	"unsafe"

	"libshmem/fabric"
)

// A signal is dropped with its own write. A signal of another PE with a write of the same number is
// not.
func TestDroppedSignal(t *testing.T) {
	m, held := modes[5], true
	m.fail = func(o *work) int32 {
		if o.kind == fabric.KindWrite && o.from == 0 && o.number == 1 {
			return 5
		}
		return 0
	}
	m.stuck = func(o *work) bool { return held && o.kind == fabric.KindWrite && o.from == 0 && o.number == 0 }
	j := newJob(t, m, 1, 3, 1<<20)
	a, b, c := j.pes[0], j.pes[1], j.pes[2]
	bytes := make([]byte, 10000)
	at := unsafe.Pointer(&bytes[0])
	a.post(func() Status { return a.Put(1, 1<<16, at, 10000, nil) })
	a.post(func() Status { return a.PutSignal(1, 1<<17, at, 10000, 0, 1, fabric.OpAdd, nil) })
	// PE 0's signal waits for its first write, and is known to be dropped.
	j.await("the news of the lost write", func() bool { return len(b.in.Dropped) == 1 })
	c.post(func() Status { return c.Put(1, 1<<18, at, 10000, nil) })
	c.post(func() Status { return c.PutSignal(1, 1<<19, at, 10000, 8, 2, fabric.OpAdd, nil) })
	c.quiet()
	held = false
	j.await("failure", func() bool { return a.Quiet() == Failed })
	a.quiet()
	j.close()
	if b.heap[0] != 0 || b.heap[8] != 2 {
		t.Errorf("the signals came to %d and %d, want 0 and 2", b.heap[0], b.heap[8])
	}
}
