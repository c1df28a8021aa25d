package sim

import (
	"testing"
	"time"

	"libshmem/fabric"
)

// first writes or, injected, tries to write to a peer that has not answered.
func first(a, b *site, tok fabric.Token, inject bool) error {
	r := a.rma(1, b, 0, 0, 8, tok)
	r.Inject = inject
	return a.Write(r)
}

// A peer that cannot be asked fails the operations that wait for its answer, which makes room for
// others; when it can be asked again, it is.
func TestHandshakeLost(t *testing.T) {
	m := EFA()
	for _, host := range []int{0, 1} {
		n, a, b := couple(t, m)
		for round := range 3 {
			up := round == 2
			if err := n.Link(host, 0, up); err != nil {
				t.Fatal(err)
			}
			if err := first(a, b, 200, true); err != fabric.ErrAgain {
				t.Fatalf("an injected write before the handshake: %v", err)
			}
			settle(n, a, b)
			if up {
				break
			}
			for tok := range fabric.Token(m.Handshake) {
				if err := first(a, b, tok, false); err != nil {
					t.Fatalf("round %d, write %d: %v", round, tok, err)
				}
			}
			settle(n, a, b)
			if len(a.comps) != m.Handshake || a.comps[0].Err != errTimedOut {
				t.Fatalf("round %d: %d of %d writes have ended: %+v", round, len(a.comps), m.Handshake, a.comps)
			}
			a.comps = nil
		}
		if err := first(a, b, 200, true); err != nil {
			t.Errorf("an injected write after the handshake: %v", err)
		}
		if settle(n, a, b); !n.Idle() {
			t.Error("something is left")
		}
	}
}

// The same, if no operation waits when the peer turns out not to answer.
func TestHandshakeOfNobody(t *testing.T) {
	n, a, b := couple(t, EFA())
	if err := n.Link(1, 0, false); err != nil {
		t.Fatal(err)
	}
	if err := first(a, b, 0, true); err != fabric.ErrAgain {
		t.Fatal(err)
	}
	settle(n, a, b)
	if err := n.Link(1, 0, true); err != nil {
		t.Fatal(err)
	}
	if err := first(a, b, 0, true); err != fabric.ErrAgain {
		t.Fatal(err)
	}
	settle(n, a, b)
	if err := first(a, b, 0, true); err != nil {
		t.Errorf("an injected write to a peer that has been asked for the second time: %v", err)
	}
}

// A peer that was asked and has died answers no more: operations on it end.
func TestHandshakeOfTheDead(t *testing.T) {
	n, a, b := couple(t, EFA())
	if err := first(a, b, 0, true); err != fabric.ErrAgain {
		t.Fatal(err)
	}
	for n.Step() && !n.Settled() {
	}
	if !b.Ready() {
		t.Fatal("the peer was not asked")
	}
	n.Kill(1)
	if err := first(a, b, 0, false); err != nil {
		t.Fatal(err)
	}
	if settle(n, a); len(a.comps) != 1 || a.comps[0].Err != errReset {
		t.Errorf("completions %+v", a.comps)
	}
}

// A question ends a Wait, and an answer is work for a Poll.
func TestHandshakeWakes(t *testing.T) {
	n, a, b := couple(t, EFA())
	if err := first(a, b, 0, false); err != nil {
		t.Fatal(err)
	}
	if !b.Arm() {
		t.Fatal("no leave to wait")
	}
	if came, err := b.Wait(time.Second); !came || err != nil {
		t.Errorf("the question did not end a wait: %v, %v", came, err)
	}
	b.poll()
	for n.Step() && !n.Settled() {
	}
	if !a.Ready() || a.Arm() {
		t.Error("an answer is there, and the end may sleep")
	}
}

// A message that was turned away ends with its sender, wherever it is, and the next one gets
// the buffer.
func TestRetryOfTheDead(t *testing.T) {
	for seed := range uint64(20) {
		n := New(calm(EFADirect()), seed)
		var all []*site
		for host := range 3 {
			all = append(all, newSite(t, n, host, fabric.Config{}))
		}
		connect(all...)
		b := all[0]
		for i, a := range all[1:] {
			a.mem[0] = byte(i + 1)
			a.post(func() error { return a.Send(a.message(0, 0, 8, 0)) })
		}
		for n.Step() && !n.Settled() {
		}
		if seed%2 == 0 {
			b.receive(0) // one of them is on its way again
		}
		n.Kill(1)
		if seed%2 != 0 {
			b.receive(0)
			b.receive(1)
		}
		settle(n, b, all[2])
		if k := len(b.comps); k != 1 || b.mem[siteMemory-4096] != 2 {
			t.Fatalf("seed %d: %d messages, the first of PE %d", seed, k, b.mem[siteMemory-4096])
		}
		if now, _ := n.Waiting(); now != 0 || len(all[2].comps) != 1 || !n.Idle() {
			t.Errorf("seed %d: %d bytes wait, completions %+v", seed, now, all[2].comps)
		}
	}
}
