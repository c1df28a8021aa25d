package proxy

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// A burst of small operations leaves in as few messages as possible, in its order. A single
// operation leaves alone, at once.
func TestBurst(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<16)
	a, b := j.pes[0], j.pes[1]
	bytesOf := []byte("twenty bytes of text")
	sent := func() uint32 { return a.ops.Peers[1].Sent }
	if a.post(func() Status { return a.Store(1, 0, 8, 7) }); sent() != 1 || a.Held != 0 {
		t.Errorf("alone: %d messages, %d held", sent(), a.Held)
	}
	a.Burst = layout.BurstAfter
	for i := range 1000 {
		a.post(func() Status { return a.Store(1, 64, 8, uint64(i)) })
	}
	a.post(func() Status { return a.Put(1, 128, unsafe.Pointer(&bytesOf[0]), 20, nil) })
	a.post(func() Status {
		return a.PutSignal(1, 200, unsafe.Pointer(&bytesOf[0]), 20, 72, 5, fabric.OpAdd, nil)
	})
	a.post(func() Status { return a.AMO(1, 72, fabric.OpAdd, 8, 3, 0, nil, nil) })
	a.fence()
	a.post(func() Status { return a.AMO(1, 72, fabric.OpAdd, 4, 1, 0, nil, nil) })
	if a.Held != 1 || sent() > 1+1000*(layout.RecordSize+8)/(layout.MessageSize-layout.HeaderSize)+2 {
		t.Errorf("%d messages for 1004 operations, %d batches are held", sent(), a.Held)
	}
	a.quiet()
	if a.Held != 0 || a.Burst != 0 {
		t.Errorf("after quiet %d batches are held, %d in a row", a.Held, a.Burst)
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(b.heap[at:]) }
	if word(0) != 7 || word(64) != 999 || word(72) != 9 || !bytes.Equal(b.heap[128:148], bytesOf) || !bytes.Equal(b.heap[200:220], bytesOf) {
		t.Errorf("words %d, %d and %d, bytes %q and %q", word(0), word(64), word(72), b.heap[128:148], b.heap[200:220])
	}
	j.close()
}

// An operation that cannot be merged sends a batch off first, if it has to follow the batch.
func TestBurstGivesWay(t *testing.T) {
	big := make([]byte, 10000)
	at := unsafe.Pointer(&big[0])
	var r Request
	for what, post := range map[string]func(a *pe) Status{
		"a fetch":              func(a *pe) Status { return a.AMO(1, 8, fabric.OpFetch, 8, 0, 0, nil, &r) },
		"a put of 2,000 bytes": func(a *pe) Status { return a.Put(1, 64, at, 2000, nil) },
		"a write behind a fence": func(a *pe) Status {
			a.fence()
			return a.Put(1, 64, at, 10000, nil)
		},
		"a poll of the loop": func(a *pe) Status {
			a.holdOrSendBatches()
			if a.holdOrSendBatches() {
				t.Error("the loop goes on holding what does not grow")
			}
			return Done
		},
	} {
		j := newJob(t, modes[0], 1, 2, 1<<16)
		a := j.pes[0]
		a.Burst = layout.BurstAfter
		a.post(func() Status { return a.Store(1, 0, 8, 7) })
		if a.Held != 1 || a.ops.Peers[1].Sent != 0 {
			t.Fatalf("%s: %d held, %d sent", what, a.Held, a.ops.Peers[1].Sent)
		}
		if st := post(a); st == Again || a.Held != 0 || a.ops.Peers[1].Sent == 0 {
			t.Errorf("%s: %d, %d held, %d sent", what, st, a.Held, a.ops.Peers[1].Sent)
		}
		j.await("the end", func() bool { return what != "a fetch" || r.Done != 0 })
		j.close()
	}
	// A write of the same epoch passes.
	j := newJob(t, modes[0], 1, 2, 1<<16)
	a := j.pes[0]
	a.Burst = layout.BurstAfter
	a.post(func() Status { return a.Store(1, 0, 8, 7) })
	if st := a.Put(1, 64, at, 10000, nil); st != Pending || a.Held != 1 || j.net.writes() != 1 {
		t.Errorf("a write: %d, %d held, %d writes", st, a.Held, j.net.writes())
	}
	j.close()
}

// The loop does not sleep while a batch is held, and sends it even if no caller polls.
func TestLoopEndsBurst(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a := j.pes[0]
	go a.Loop()
	wait := func(what string, ok func() bool) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) {
			done := false
			a.WithLock(func() { done = ok() })
			if done {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: not within a minute", what)
			}
		}
	}
	wait("sleep", func() bool { return a.ops.Net.Armed })
	a.WithLock(func() {
		a.Burst = layout.BurstAfter
		a.Store(1, 0, 8, 7)
		if a.Held != 1 {
			t.Error("nothing is held")
		}
	})
	start := time.Now()
	wait("end of the burst", func() bool { return a.ops.Peers[1].Sent == 1 && a.Held == 0 })
	t.Logf("let go after %v", time.Since(start))
	a.Stop()
	j.close()
}

// Signals behind many writes share messages, and none comes before its bytes.
func TestSignalsMerge(t *testing.T) {
	for _, i := range []int{1, 5} { // in order, and with numbers
		j := newJob(t, modes[i], 1, 2, 1<<20)
		a, b := j.pes[0], j.pes[1]
		big := make([]byte, 10000)
		const n = 40
		for range n {
			if st := a.PutSignal(1, 64, unsafe.Pointer(&big[0]), 10000, 0, 1, fabric.OpAdd, nil); st != Pending {
				t.Fatalf("put with signal: %d", st)
			}
		}
		if sent := a.ops.Peers[1].Sent; sent < n/maxSignals || sent > manyWrites+n/maxSignals+1 {
			t.Errorf("mode %d: %d messages for %d signals", i, sent, n)
		}
		j.await("the signals", func() bool { return b.heap[0] == n })
		a.quiet()
		j.close()
	}
}
