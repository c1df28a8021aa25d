package proxy

import (
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/layout"
)

// delayedWrites returns a network on which writes stay where they are while held is true.
func delayedWrites(m mode, held *bool) mode {
	m = native(m)
	m.stuck = func(o *work) bool { return *held && o.kind == fabric.KindWrite }
	return m
}

// turns moves everything that can move.
func (j *ringJob) turns() {
	for range 100 {
		for i, p := range j.pes {
			if c := j.consumers[i]; c.ServableInC() {
				j.inC(i)
			} else {
				c.Drain()
			}
			p.poll()
		}
	}
}

// The question that C asks at half the window covers earlier writes: if completions do not say that
// bytes have arrived, a quiet relies on the answer.
func TestFlushInC(t *testing.T) {
	held, m := true, modes[5]
	m.caps.DeliveryComplete = false
	j := newRingJob(t, delayedWrites(m, &held), 1, 2, 1, 1<<16)
	defer j.clean()
	p, rig := j.pes[0], j.rigs[0][0]
	peer := &p.ops.Peers[1]
	p.put(1, 8192, make([]byte, 5000), false)
	for i := 0; !peer.Flushing; i++ {
		if i > messageWindow {
			t.Fatal("C did not ask")
		}
		rig.Push(&queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
		if j.inC(0); j.inLoop != i+1 {
			t.Fatalf("C took %d operations of %d", j.inLoop, i+1)
		}
	}
	if j.turns(); !peer.Flushing || peer.WroteAcked != 0 {
		t.Errorf("a write is under way, and the answer says that %d bytes are there", peer.WroteAcked)
	}
	held = false
	j.quiet(0, 0)
	if peer.WroteAcked != 5000 {
		t.Errorf("%d bytes are there, want 5000", peer.WroteAcked)
	}
}

// A batch that a burst has left open belongs to its own epoch. Behind a fence C adds nothing to it:
// if writes have no numbers, it leaves before a write of its epoch has arrived.
func TestFenceInC(t *testing.T) {
	held := true
	j := newRingJob(t, delayedWrites(modes[4], &held), 1, 2, 1, 1<<16)
	defer j.clean()
	p, rig := j.pes[0], j.rigs[0][0]
	p.Burst = layout.BurstAfter
	p.post(func() Status { return p.Store(1, 8, 8, 1) })
	large := make([]byte, 5000)
	p.post(func() Status { return p.Put(1, 8192, unsafe.Pointer(&large[0]), 5000, nil) })
	if peer := &p.ops.Peers[1]; p.Held != 1 || peer.Batch == nil || peer.Bare != 1 {
		t.Fatalf("%d batches are held, and %d writes have no number", p.Held, peer.Bare)
	}
	p.fence()
	rig.Push(&queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(0), Value: 7})
	j.inC(0)
	p.Release()
	j.turns()
	if got := j.pes[1].heap; got[0] != 0 {
		t.Error("what is behind the fence is there before a write of before it")
	} else if got[8] != 1 {
		t.Error("the burst of before the fence did not leave")
	}
	held = false
	j.quiet(0, 0)
	if got := j.pes[1].heap[0]; got != 7 {
		t.Errorf("behind the fence came %d, want 7", got)
	}
}
