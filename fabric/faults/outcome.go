package faults

import "time"

// Outcome says what happens to one packet.
type Outcome struct {
	Delay  time.Duration // in addition to the network's latency
	Again  time.Duration // how long after the first time it arrives again; 0: it does not
	Late   time.Duration // delay of the completion that the packet causes
	Cut    uint64        // a random number; modulo the length it is the offset at which the packet's bytes are split
	Second time.Duration // how long after the first piece the second becomes visible; 0: not split
	Upper  bool          // the piece after the cut becomes visible first
}

// OutcomeOf draws the faults of packet number n from one address to another. They depend only on
// the arguments and the chances in f, so that each process of a network computes the same. A
// dropped packet is not lost for good: the provider sends it again after Delay, and it may be
// dropped up to four times, so that it is only late.
func (f *Faults) OutcomeOf(seed, from, to, n uint64) Outcome {
	var w Outcome
	d := Throw(seed, from, to, n)
	if d.Hits(forReorder, f.Reorder) {
		w.Delay = d.UpTo(ForDelay, f.Delay)
	}
	// Each attempt draws for a purpose of its own, beyond the 16 of dice.go.
	for lost := uint64(0); lost < 4 && d.Hits(forDrop+16*(lost+1), f.Drop); lost++ {
		w.Delay += f.Delay
	}
	if d.Hits(forDuplicate, f.Duplicate) {
		w.Again = d.UpTo(forAgain, f.Delay)
	}
	if d.Hits(forLate, f.Late) {
		w.Late = d.UpTo(forLateBy, f.Delay)
	}
	if d.Hits(forSplit, f.Split) {
		w.Cut, w.Second = d.Number(forCut), d.UpTo(forSecond, time.Microsecond)
		w.Upper = w.Cut>>63 != 0
	}
	return w
}
