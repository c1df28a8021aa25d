package chaos

import (
	"errors"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
)

// closed refuses every message to a PE for good, as a network does that has given the PE up.
type closed struct {
	fabric.Provider
	to libshmem.PE
}

func (c closed) Send(op *fabric.Send) error {
	if op.To == c.to {
		return errors.New("it has ended")
	}
	return c.Provider.Send(op)
}

// TestRefusedLate holds two messages until the network refuses them: one with a token, and an
// injected one, whose Token is of another operation, as callers leave it. The first fails with its
// token. The second may not end that operation; it reports the PE.
func TestRefusedLate(t *testing.T) {
	n := sim.New(sim.Verbs(), 1)
	c := fabric.Config{Tokens: 8, MaxRecv: 2}
	inner, err := n.Open(0, Inner(c))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(closed{inner, 1}, c, Plan{Seed: 3, Faults: faults.Faults{Reorder: 1, Delay: time.Millisecond}}, false)
	if err != nil {
		t.Fatal(err)
	}
	other, err := n.Open(1, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(p.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	}()
	if err := p.Connect([][]byte{p.Addr(), other.Addr()}); err != nil {
		t.Fatal(err)
	}
	var now int64
	p.clock = func() int64 { return now }
	var word [8]byte
	for _, inject := range []bool{false, true} {
		if err := p.Send(&fabric.Send{To: 1, Buf: unsafe.Pointer(&word[0]), Len: 8, Token: 5, Inject: inject}); err != nil {
			t.Fatal(err)
		}
	}
	now += int64(sim.Second)
	batch := make([]fabric.Completion, 8)
	got, err := p.Poll(batch)
	if err != nil || got != 2 {
		t.Fatalf("%d completions, error %v: %v", got, err, batch[:got])
	}
	sent, troubles := 0, 0
	for _, c := range batch[:got] {
		if text := p.ErrorText(&c); c.Err == 0 || text != "it has ended" {
			t.Errorf("%+v: error %q", c, text)
		}
		switch {
		case c.Kind == fabric.KindSend && c.Token == 5:
			sent++
		case c.Kind == fabric.KindTrouble && c.Token == fabric.NoToken && c.From() == 1:
			troubles++
		}
	}
	if sent != 1 || troubles != 1 {
		t.Errorf("token 5 ended %d times, and PE 1 was reported %d times, want 1 and 1", sent, troubles)
	}
}
