package sim

import (
	"testing"
	"time"

	"libshmem/fabric"
)

// asked returns a pair of ends that may do everything.
func asked(t *testing.T, m Model) (n *Network, a, b *site) {
	n = New(m, 1)
	c := fabric.Config{Data: true, Delivery: true, Atomics: true}
	a, b = newSite(t, n, 0, c), newSite(t, n, 1, c)
	connect(a, b)
	acquaint(n, a, b)
	return n, a, b
}

// moved returns how many of the first n bytes of a site are 1.
func moved(s *site, n int) (k int) {
	for _, b := range s.mem[:n] {
		k += int(b)
	}
	return k
}

// written posts a write of n bytes to b, all 1, and lets time pass until the network has
// nothing left to do.
func written(n *Network, a, b *site, size int) {
	for i := range a.mem[:size] {
		a.mem[i] = 1
	}
	a.post(func() error { return a.Write(a.rma(1, b, 0, 0, size, 0)) })
	for n.Step() {
	}
}

// Bytes that have arrived move only by Polls of their end, a limited number each time, and leave no
// completion there. Until all have been read the end is ready and must not sleep.
func TestSocketReads(t *testing.T) {
	const size, each = 100_000, 4096
	for _, m := range Models() {
		n, a, b := asked(t, Unread(m, each))
		written(n, a, b, size)
		for range 1000 {
			a.poll()
		}
		if k := moved(b, size); k != 0 {
			t.Errorf("%s: %d bytes were moved without a poll of their end", m.Name, k)
		}
		polls, last := 0, 0
		for ; b.Ready() && polls < size; polls++ {
			if b.Arm() {
				t.Errorf("%s: leave to sleep with bytes unread", m.Name)
			}
			b.poll()
			now := moved(b, size)
			if now-last > max(each, m.MTU) {
				t.Errorf("%s: one poll has moved %d bytes, more than %d", m.Name, now-last, each)
			}
			last = now
		}
		if last != size || polls < size/max(each, m.MTU) || len(b.comps) > 0 || !b.Arm() {
			t.Errorf("%s: %d of %d bytes in %d polls, %d completions, leave to sleep %v", m.Name, last, size, polls, len(b.comps), b.Arm())
		}
	}
}

// Events after its Arm end a Wait; unread bytes do not. Arm returns true with unread bytes only
// with the defect.
func TestSocketWait(t *testing.T) {
	const size = 20_000
	m := Unread(calm(TCP()), 1)
	m.Broken = ArmsUnread
	n, a, b := asked(t, m)
	written(n, a, b, size)
	b.poll()
	if !b.Arm() || !b.Ready() {
		t.Fatal("the defect gives no leave to sleep, or the end is not ready")
	}
	if came, err := b.Wait(time.Millisecond); came || err != nil {
		t.Errorf("what had come before ended a wait: %v, %v", came, err)
	}
	b.Arm()
	a.post(func() error { return a.Write(a.rma(1, b, 0, 0, 1, 1)) })
	if came, err := b.Wait(time.Minute); !came || err != nil {
		t.Errorf("a new arrival did not end a wait: %v, %v", came, err)
	}
	// It sleeps, and operations posted meanwhile get there although no end polls.
	b.Arm()
	over := make(chan bool)
	go func() {
		came, _ := b.Wait(time.Minute)
		over <- came
	}()
	a.post(func() error { return a.Write(a.rma(1, b, 0, 0, 1, 2)) })
	if !<-over {
		t.Error("a write that was posted during a wait did not end it")
	}
}

// Operations behind a write wait for it in the socket: a message, a read, an atomic operation, and
// the completion of the write itself where it means delivery.
func TestSocketOrder(t *testing.T) {
	const size = 50_000
	for _, delivery := range []bool{false, true} {
		m := Unread(calm(TCP()), 1)
		m.Caps.DeliveryComplete = delivery
		n, a, b := asked(t, m)
		b.receive(100)
		b.mem[size+8] = 5
		written(n, a, b, size)
		a.post(func() error { return a.Send(a.message(1, 0, 100, 1)) })
		a.post(func() error { return a.Read(a.rma(1, b, siteMemory/2, size-1, 1, 2)) })
		r := a.rma(1, b, siteMemory/2+8, size+8, 8, 3)
		a.post(func() error {
			return a.Provider.(fabric.Atomics).Atomic(&fabric.AMO{
				PE: 1, Op: fabric.OpFetchAdd, Width: 8, Operand: 1, Result: r.Local, Desc: r.Desc, Remote: r.Remote, Key: r.Key, Token: 3,
			})
		})
		for k := 0; k < size; k = moved(b, size) {
			if len(b.comps) > 0 || b.mem[size+8] != 5 || delivery && len(a.comps) > 0 {
				t.Fatalf("delivery %v: with %d of %d bytes read: %d completions at the target, %d at the sender, the word is %d",
					delivery, k, size, len(b.comps), len(a.comps), b.mem[size+8])
			}
			for n.Step() {
			}
			a.poll()
			b.poll()
		}
		if !run(func() bool { return len(a.comps) == 4 && len(b.comps) == 1 }, a, b) {
			t.Fatalf("%d and %d completions", len(a.comps), len(b.comps))
		}
		if a.mem[siteMemory/2] != 1 || a.mem[siteMemory/2+8] != 5 || b.mem[size+8] != 6 || !n.Idle() {
			t.Errorf("delivery %v: a read has brought %d, an atomic operation %d and left %d; idle %v",
				delivery, a.mem[siteMemory/2], a.mem[siteMemory/2+8], b.mem[size+8], n.Idle())
		}
	}
}
