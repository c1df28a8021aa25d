package sim

// Fate is one packet's share of faults.
type Fate struct {
	Delay  Time   // beyond the latency
	Again  Time   // how long after the first time it arrives again; 0: it does not
	Late   Time   // of the completion that it brings
	Cut    uint64 // where its bytes are split, if they are: a number to reduce
	Second Time   // when the second piece becomes visible; 0: they are not split
	Upper  bool   // the piece behind the cut is the first
}

// purposes of numbers, so that two questions about one packet have nothing to do
// with each other
const (
	forReorder = iota + 1
	forDelay
	forDrop
	forDuplicate
	forAgain
	forLate
	forLateBy
	forSplit
	forCut
	forSecond
	forCall
	forStorm
	forKey
	forDefect
	forHandshake
	forRetry
)

// mix is a good mixture of a number: each bit of the result depends on all.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8_feb8_6659_fd93
	x ^= x >> 29
	x *= 0xa076_1d64_78bd_642f
	x ^= x >> 32
	return x
}

// dice are the numbers of one thing that happens.
type dice uint64

// throw gives the dice of thing number n between two parties.
func throw(seed, from, to, n uint64) dice {
	return dice(mix(mix(mix(mix(seed+0x9e37_79b9_7f4a_7c15)^from)+to) ^ n*0x9e37_79b9_7f4a_7c15))
}

func (d dice) number(purpose uint64) uint64 { return mix(uint64(d) + purpose*0x9e37_79b9_7f4a_7c15) }

// hits reports whether something with this probability happens.
func (d dice) hits(purpose uint64, share float64) bool {
	return share > 0 && float64(d.number(purpose)>>11)*0x1p-53 < share
}

// upTo returns a time from 1 to most.
func (d dice) upTo(purpose uint64, most Time) Time {
	return 1 + Time(d.number(purpose)%uint64(max(most, 1)))
}

// FateOf is the fate of packet number n from one address to another. It depends
// on nothing else, so that a network of processes can have the same.
func (f *Faults) FateOf(seed, from, to, n uint64) Fate {
	return f.of(throw(seed, from, to, n))
}

func (f *Faults) of(d dice) Fate {
	var w Fate
	if d.hits(forReorder, f.Reorder) {
		w.Delay = d.upTo(forDelay, f.Delay)
	}
	for lost := uint64(0); lost < 4 && d.hits(forDrop+16*(lost+1), f.Drop); lost++ {
		w.Delay += f.Delay
	}
	if d.hits(forDuplicate, f.Duplicate) {
		w.Again = d.upTo(forAgain, f.Delay)
	}
	if d.hits(forLate, f.Late) {
		w.Late = d.upTo(forLateBy, f.Delay)
	}
	if d.hits(forSplit, f.Split) {
		w.Cut, w.Second = d.number(forCut), d.upTo(forSecond, Microsecond)
		w.Upper = w.Cut>>63 != 0
	}
	return w
}
