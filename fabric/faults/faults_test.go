package faults

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var bad = Faults{Reorder: 0.7, Delay: 50 * time.Microsecond, Duplicate: 0.05, Drop: 0.02, Late: 0.4, Split: 0.5}

// TestOutcome: what happens to a packet is a function of its numbers, has the shares that were
// asked for, and differs between seeds, pairs and packets.
func TestOutcome(t *testing.T) {
	f := &bad
	const n = 100_000
	var again, split, reordered, lost int
	for i := range uint64(n) {
		w := f.OutcomeOf(1, 2, 3, i)
		if w != f.OutcomeOf(1, 2, 3, i) {
			t.Fatal("two outcomes of one packet")
		}
		again += one(w.Again > 0)
		split += one(w.Second > 0)
		reordered += one(w.Delay > 0)
		lost += one(w.Delay > f.Delay)
	}
	for _, c := range []struct {
		what string
		got  int
		want float64
	}{
		{"duplicates", again, f.Duplicate},
		{"splits", split, f.Split},
		{"delays", reordered, f.Reorder + (1-f.Reorder)*f.Drop},
		{"losses", lost, f.Drop * f.Reorder}, // only a lost packet that is late, too, exceeds the delay
	} {
		if got := float64(c.got) / n; got < 0.95*c.want || got > 1.1*c.want {
			t.Errorf("%s: %.4f of the packets, want %.4f", c.what, got, c.want)
		}
	}
	same := 0
	for i := range uint64(1000) {
		w := f.OutcomeOf(1, 2, 3, i)
		same += one(w == f.OutcomeOf(2, 2, 3, i)) + one(w == f.OutcomeOf(1, 3, 2, i)) + one(w == f.OutcomeOf(1, 2, 3, i+1))
	}
	if same > 600 { // packets without any fault are alike
		t.Errorf("%d of 3000 outcomes are those of others", same)
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestSeeds: a seed means the same in each version, so that a seed in a report of a mistake can be
// tried with the mend. The number was computed when the faults were part of fabric/sim.
func TestSeeds(t *testing.T) {
	var hash uint64
	for seed := range uint64(10) {
		for n := range uint64(500) {
			w := bad.OutcomeOf(seed, n%7, n%5, n)
			for _, v := range []uint64{uint64(w.Delay), uint64(w.Again), uint64(w.Late), w.Cut, uint64(w.Second)} {
				hash = Mix(hash ^ v)
			}
		}
	}
	for _, purpose := range []uint64{ForCall, ForStorm, ForKey, ForDefect, ForHandshake, ForRetry} {
		hash = Mix(hash ^ Throw(1, 2, 3, purpose).Number(purpose))
	}
	if want := uint64(0xac19_a247_4999_ef1b); hash != want {
		t.Errorf("the outcomes of ten seeds are %#x, want %#x", hash, want)
	}
}

// TestRead: words set what they name and nothing else. fabric/sim and fabric/chaos test theirs.
func TestRead(t *testing.T) {
	f := Faults{Late: 0.1, Again: 0.2}
	var planned []Fault
	words := []Word{
		{Name: "late", To: &f.Late}, {Name: "delay", To: &f.Delay},
		{Name: "drop-peer", To: Peer(&planned)}, {Name: "lose-nic", To: NIC(&planned, false)}, {Name: "restore-nic", To: NIC(&planned, true)},
	}
	if err := Read("delay=20us,,drop-peer=3@1ms,late=0,lose-nic=0/1,restore-nic=1/0@1s", words); err != nil {
		t.Fatal(err)
	}
	if want := (Faults{Delay: 20 * time.Microsecond, Again: 0.2}); f != want {
		t.Errorf("faults %+v, want %+v", f, want)
	}
	if want := []Fault{{At: time.Millisecond, Host: 3, NIC: -1}, {NIC: 1}, {At: time.Second, Host: 1, Up: true}}; !slices.Equal(planned, want) {
		t.Errorf("planned %+v, want %+v", planned, want)
	}
	for text, want := range map[string]string{
		"again":      "again: there is no such word (there are late, delay, drop-peer, lose-nic, restore-nic)",
		"late":       `"late" has no value (write it as late=VALUE)`,
		"late=2":     `late=2: "2" is not a share from 0 to 1`,
		"drop-peer=": `drop-peer=: host: "" is not a number`,
		"lose-nic=1": `lose-nic=1: NIC: "" is not a number`,
	} {
		if err := Read(text, words); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
