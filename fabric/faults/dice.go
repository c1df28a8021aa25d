package faults

import "time"

// Purposes of random numbers, so that two decisions about one packet are independent of each other.
// A seed keeps its meaning as long as each purpose keeps its number.
const (
	forReorder = iota + 1
	ForDelay
	forDrop
	forDuplicate
	forAgain
	forLate
	forLateBy
	forSplit
	forCut
	forSecond
	ForCall
	ForStorm
	ForKey
	ForDefect
	ForHandshake
	ForRetry
)

// golden is 2^64 divided by the golden ratio. Its multiples are spread evenly over 64 bits, so that
// consecutive seeds, events and purposes give unlike inputs to Mix.
const golden = 0x9e37_79b9_7f4a_7c15

// Mix returns a hash of a number: each bit of the result depends on all bits of x.
func Mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8_feb8_6659_fd93
	x ^= x >> 29
	x *= 0xa076_1d64_78bd_642f
	x ^= x >> 32
	return x
}

// Dice gives the random numbers for one event, such as the sending of one packet: one number for
// each purpose.
type Dice uint64

// Throw returns the dice of event number n between two endpoints. They depend on nothing else.
func Throw(seed, from, to, n uint64) Dice {
	return Dice(Mix(Mix(Mix(Mix(seed+golden)^from)+to) ^ n*golden))
}

// Number returns a random number of 64 bits for a purpose, the same each time.
func (d Dice) Number(purpose uint64) uint64 { return Mix(uint64(d) + purpose*golden) }

// Hits reports whether a random number is below share: true for that share of all d. Different
// purposes draw different numbers from the same d.
func (d Dice) Hits(purpose uint64, share float64) bool {
	// The upper 53 bits, as many as a float64 holds exactly, are a number from 0 up to 1.
	return share > 0 && float64(d.Number(purpose)>>11)*0x1p-53 < share
}

// UpTo returns a random time from 1 ns to limit, drawn from d for a purpose.
func (d Dice) UpTo(purpose uint64, limit time.Duration) time.Duration {
	return 1 + time.Duration(d.Number(purpose)%uint64(max(limit, 1)))
}
