package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"libshmem/fabric"
)

// loss lets a PE lose its peer under way and meets a successor at the peer's address. It returns
// the error.
func loss(t *testing.T, m Model, seed uint64) error {
	n := New(m, seed)
	a, b := newSite(t, n, 0, fabric.Config{}), newSite(t, n, 1, fabric.Config{})
	connect(a, b)
	for i := range a.mem {
		a.mem[i] = 1
	}
	for tok := range fabric.Token(4) {
		b.receive(tok)
	}
	// More than there are buffers for, so that some wait at the target. Where the first write
	// takes a handshake, some lose their peer before it.
	each := fabric.Token(12)
	if m.Handshake > 0 && seed%2 == 0 {
		acquaint(n, a, b)
	} else if m.Handshake > 0 {
		each = fabric.Token(m.Handshake / 2)
	}
	for k := range each {
		a.post(func() error { return a.Send(a.message(1, 0, 1000, 3*k)) })
		a.post(func() error { return a.Write(a.rma(1, b, 0, int(k)*20000, 20000, 3*k+1)) })
		a.post(func() error { return a.Read(a.rma(1, b, 1<<20, 0, 20000, 3*k+2)) })
	}
	for range seed % 97 * 5 {
		a.poll()
	}
	n.Kill(1)
	killed := n.Now()
	heir := newSite(t, n, 1, fabric.Config{})
	if !bytes.Equal(heir.Addr(), b.Addr()) {
		return fmt.Errorf("the successor has another address")
	}
	if err := heir.Connect([][]byte{a.Addr(), heir.Addr()}); err != nil {
		return err
	}
	for tok := range fabric.Token(32) {
		heir.receive(tok)
	}
	if !run(func() bool { return len(a.comps) >= int(3*each) }, a, heir) {
		return fmt.Errorf("%d of %d operations have ended, poll: %w", len(a.comps), 3*each, a.failed)
	}
	seen := map[fabric.Token]bool{}
	failed := 0
	for _, c := range a.comps {
		if seen[c.Token] {
			return fmt.Errorf("token %d has ended twice", c.Token)
		}
		if seen[c.Token] = true; c.Err != 0 {
			failed++
			if text := a.ErrorText(&c); !strings.Contains(text, "sim says: ") || !strings.Contains(text, "token") {
				return fmt.Errorf("error text %q", text)
			}
		}
	}
	if failed == 0 {
		return fmt.Errorf("nothing has failed")
	}
	if took := n.Now() - killed; took > m.Detect+100*Millisecond {
		return fmt.Errorf("the last operation ended %d ns after the death", took)
	}
	run(func() bool { return n.Idle() }, a, heir)
	if len(heir.comps) > 0 || bytes.Count(heir.mem, []byte{0}) != len(heir.mem) {
		return fmt.Errorf("the successor has got %d messages of its predecessor, and %d bytes", len(heir.comps), len(heir.mem)-bytes.Count(heir.mem, []byte{0}))
	}
	a.comps = nil
	a.post(func() error { return a.Send(a.message(1, 0, 64, 0)) })
	run(func() bool { return n.Idle() && len(a.comps) > 0 }, a, heir)
	if got := len(heir.comps); m.Reconnects != (got == 1) || len(a.comps) != 1 || m.Reconnects != (a.comps[0].Err == 0) {
		return fmt.Errorf("a message that was posted later: %d arrived, completions %+v", got, a.comps)
	}
	return nil
}

// A peer that dies at any moment ends the operations on their way to it, once and in time, and none
// of them reaches its successor.
func TestPlayedSuccessor(t *testing.T) {
	for _, m := range suiteModels() {
		for seed := uint64(1); seed <= 40; seed++ {
			if err := loss(t, m, seed); err != nil {
				t.Errorf("%s, seed %d: %v", m.Name, seed, err)
			}
		}
	}
	haunted := TCP()
	haunted.Broken = Haunts
	for seed := uint64(1); ; seed++ {
		if err := loss(t, haunted, seed); err != nil {
			t.Logf("noticed with seed %d: %v", seed, err)
			break
		}
		if seed == 40 {
			t.Error("a network whose successors get old messages was not noticed")
			break
		}
	}
}

// A NIC without a link fails its own operations, in time, and nothing else. With the link back it
// serves again.
func TestLostNIC(t *testing.T) {
	for _, m := range []Model{TCP(), Verbs(), EFA(), EFADirect(), Worst()} {
		t.Run(m.Name, func(t *testing.T) {
			m.NICs = 2
			for _, where := range []int{0, 1} {
				n := New(m, 7)
				var lane [2][]*site
				for i := range lane {
					nic := fabric.Config{NICs: nicName(i)}
					lane[i] = []*site{newSite(t, n, 0, nic), newSite(t, n, 1, nic)}
					connect(lane[i]...)
				}
				everybody := []*site{lane[0][0], lane[0][1], lane[1][0], lane[1][1]}
				write := func(i int) fabric.Completion {
					t.Helper()
					a, b := lane[i][0], lane[i][1]
					a.comps = nil
					a.post(func() error { return a.Read(a.rma(1, b, 0, 0, 50000, 0)) })
					if !run(func() bool { return len(a.comps) > 0 }, everybody...) {
						t.Fatal("an operation does not end")
					}
					return a.comps[0]
				}
				if c := write(0); c.Err != 0 {
					t.Fatal(lane[0][0].ErrorText(&c))
				}
				if err := n.Link(where, 0, false); err != nil {
					t.Fatal(err)
				}
				lost := n.Now()
				if c := write(0); c.Err == 0 || n.Now()-lost > m.Detect+10*Millisecond {
					t.Errorf("host %d: a read by a lost NIC ended with %d after %d ns", where, c.Err, n.Now()-lost)
				} else {
					t.Log(lane[0][0].ErrorText(&c))
				}
				if c := write(1); c.Err != 0 {
					t.Errorf("host %d: the other NIC: %s", where, lane[1][0].ErrorText(&c))
				}
				if err := n.Link(where, 0, true); err != nil {
					t.Fatal(err)
				}
				if c := write(0); c.Err != 0 {
					t.Errorf("host %d: with the link back: %s", where, lane[0][0].ErrorText(&c))
				}
			}
			if err := New(m, 1).Link(0, 2, true); err == nil {
				t.Error("a third NIC of two has changed")
			}
		})
	}
}

// A planned fault happens at its time.
func TestPlannedFaults(t *testing.T) {
	m, faults, err := Parse("tcp,drop-peer=1@3ms")
	if err != nil {
		t.Fatal(err)
	}
	n := New(m, 1)
	a, b := newSite(t, n, 0, fabric.Config{}), newSite(t, n, 1, fabric.Config{})
	connect(a, b)
	for _, f := range faults {
		n.Plan(f)
	}
	for done := 0; ; done++ {
		a.comps = nil
		a.post(func() error { return a.Read(a.rma(1, b, 0, 0, 8, 0)) })
		if !run(func() bool { return len(a.comps) > 0 }, a) {
			t.Fatal("a read does not end")
		}
		if a.comps[0].Err == 0 {
			continue
		}
		if at := n.Now(); done < 10 || at < 3*Millisecond || at > 3*Millisecond+2*m.Detect {
			t.Errorf("the peer was lost after %d reads at %d ns", done, at)
		}
		return
	}
}
