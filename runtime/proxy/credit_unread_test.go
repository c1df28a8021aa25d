package proxy

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// A PE that does not poll gets no more bytes of one-sided writes than its part and one write more,
// though each write is complete at its source. Further writes wait, with or without a signal, and
// go on when the PE answers.
func TestUnreadIsBounded(t *testing.T) {
	const n, most = 16 << 10, 64 << 10
	for _, m := range modes {
		if m.caps.DeliveryComplete || m.name == "bare" { // completions bound the bytes of the first; the second sends messages
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, 1, 3, 1<<20)
			a := j.pes[0]
			a.rma.MaxUnread = most
			source := make([]byte, n)
			at := unsafe.Pointer(&source[0])
			post := func(to libshmem.PE) Status { return a.Put(to, 64, at, n, nil) }
			signal := func(to libshmem.PE) Status { return a.PutSignal(to, 64, at, n, 0, 1, fabric.OpAdd, nil) }
			for _, post := range []func(libshmem.PE) Status{post, signal} {
				sent := func() uint64 { return a.ops.Peers[1].Count[layout.WriteBytes] }
				before, refused := sent(), 0
				for refused < 20 {
					switch post(1) {
					case Again:
						refused++
					case Failed:
						t.Fatal(a.Err())
					}
					a.poll() // a write that has left frees its token; only a polls
				}
				if got := sent() - before; got < most || got >= most+n {
					t.Errorf("%d bytes went to a PE that does not poll, want %d", got, most)
				}
				if !a.ops.Peers[1].Flushing {
					t.Error("the PE was asked for no answer")
				}
				if st := post(2); st != Pending {
					t.Errorf("a write to another PE: status %d", st)
				}
				a.quiet()
				if p := &a.ops.Peers[1]; p.Wrote != p.WroteAcked {
					t.Errorf("after quiet %d bytes have no answer", p.Wrote-p.WroteAcked)
				}
			}
			if got := a.ops.Peers[1].Count[layout.NoCredit]; got == 0 {
				t.Error("no refusal was counted")
			}
			// Writes that wait behind a fence follow the same rule.
			before := a.ops.Peers[1].Count[layout.WriteBytes]
			a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil)
			a.Fence()
			for range 10 {
				if st := post(1); st == Failed {
					t.Fatal(a.Err())
				}
			}
			for range 100 {
				a.poll()
			}
			if got := a.ops.Peers[1].Count[layout.WriteBytes] - before; got != 0 {
				t.Errorf("%d bytes passed a message before the fence", got)
			}
			a.quiet()
			j.close()
		})
	}
}
