package proxy

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// TestStagedBatch: 64 puts with signals that are posted together take as few calls of the drivers,
// marks and messages as one put, but for what their number needs.
func TestStagedBatch(t *testing.T) {
	const puts, heap = 64, 8 << 20
	for _, c := range []struct {
		name   string
		n      int
		mapped bool
		apart  int // from the bytes of one put to those of the next
		out    int // calls for copies out, and marks behind them
		in     int // at the target; on a mapped heap: between the GPUs
		marks  int // the same
		sent   uint64
	}{
		{"8 B", 8, false, 64, 1, 0, 3, puts + 1},
		{"1 KiB", 1024, false, 1024, 1, 3, 3, puts + 1},
		{"7 KiB", 7168, false, 8192, 1, 1, 1, 1},
		{"64 KiB", 65536, false, 65536, 8, 8, 1, 5},
		{"mapped, 8 B", 8, true, 64, 0, 1, 1, 0},
		{"mapped, 1 KiB", 1024, true, 1024, 0, 1, 1, 0},
		{"mapped, 7 KiB", 7168, true, 8192, 0, 1, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := modes[0]
			m.gpus = &gpus{atomics: stream.AllAtomics &^ stream.PlainAtomics, words: 2, mapped: c.mapped}
			j := newJob(t, m, 1, 2, heap)
			a, b := j.pes[0], j.pes[1]
			at, seen := a.card.local(fill(j.rng, puts*c.apart))
			before := a.sentMessages()
			for i := range puts {
				from, to := unsafe.Add(at, i*c.apart), libshmem.Offset(4096+i*c.apart)
				if st := a.PutSignal(1, to, from, uint64(c.n), libshmem.Offset(8*i), uint64(i+1), fabric.OpSet, nil); st != Pending {
					t.Fatalf("put %d: %d", i, st)
				}
			}
			a.quiet()
			for i := range puts {
				differ(t, "bytes", b.heap[4096+i*c.apart:][:c.n], seen[i*c.apart:][:c.n])
				if got := binary.NativeEndian.Uint64(b.heap[8*i:]); got != uint64(i+1) {
					t.Errorf("signal %d is %d", i, got)
				}
			}
			from, into := stream.Out, stream.In
			to := b.card
			if c.mapped {
				into, to = stream.Peer, a.card
			}
			if got := a.card.calls[from]; got > c.out || got == 0 && c.out > 0 {
				t.Errorf("%d calls for copies out, want %d", got, c.out)
			}
			if got := int(a.card.marks[from]); got > c.out {
				t.Errorf("%d marks behind copies out, want %d", got, c.out)
			}
			if got := to.calls[into]; got > c.in || got == 0 && c.in > 0 {
				t.Errorf("%d calls for copies in, want %d", got, c.in)
			}
			if got := int(to.marks[into]); got > c.marks || got == 0 {
				t.Errorf("%d marks behind copies in, want %d", got, c.marks)
			}
			// And a flush at the end.
			if got := a.sentMessages() - before; got > c.sent+1 {
				t.Errorf("%d messages, want %d", got, c.sent+1)
			}
			j.close()
		})
	}
}

// sentMessages returns how many messages a PE has sent to PE 1.
func (p *pe) sentMessages() (n uint64) {
	for _, k := range []layout.Counter{layout.Atomics, layout.Elements, layout.Puts, layout.PutSignals, layout.Control} {
		n += p.ops.Peers[1].Count[k]
	}
	return n
}

// TestStagedBatchOrder: puts of a batch that are posted in any order lie in the order of their
// places, and their signals are applied in the order of posting.
func TestStagedBatchOrder(t *testing.T) {
	const puts, n, heap = 64, 7168, 1 << 20
	m := modes[0]
	m.gpus = &gpus{atomics: stream.AllAtomics &^ stream.PlainAtomics, words: 2}
	j := newJob(t, m, 1, 2, heap)
	a, b := j.pes[0], j.pes[1]
	at, seen := a.card.local(fill(j.rng, puts*n))
	last := uint64(0)
	b.card.done = func(*testGPU, unsafe.Pointer) {
		got := binary.NativeEndian.Uint64(b.heap)
		if got < last {
			t.Errorf("signal %d comes after %d", got, last)
		}
		last = got
	}
	for i, k := range j.rng.Perm(puts) {
		if st := a.PutSignal(1, libshmem.Offset(4096+k*n), unsafe.Add(at, k*n), n, 0, uint64(i+1), fabric.OpSet, nil); st != Pending {
			t.Fatalf("put %d: %d", i, st)
		}
	}
	a.quiet()
	differ(t, "bytes", b.heap[4096:4096+puts*n], seen)
	if last != puts {
		t.Errorf("the signal is %d", last)
	}
	j.close()
}
