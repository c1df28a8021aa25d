// Package collective replays, for simulations, the order in which capi/front sends and awaits the
// messages of a collective between members that share no memory (barrier.c, exchange.c, coll.c). It
// knows neither the contents of messages nor the members: its caller passes functions that send one
// message and await one. tests/c/messages.c counts the messages of the library in real processes,
// and so shows that the library sends the same number.
//
// Each function here returns false as soon as one of the caller's functions does.
package collective

import "math/bits"

// Member is one of N members, with functions for its messages to and from the others.
type Member struct {
	Me, N   int
	Message func(to int) bool   // sends a member a message, which adds 1 to a counter there
	Await   func(from int) bool // waits for the next message of a member
}

// Meet performs a dissemination barrier of the members.
func (m *Member) Meet() bool {
	for d := 1; d < m.N; d *= 2 {
		if !m.Message((m.Me+d)%m.N) || !m.Await((m.Me+m.N-d)%m.N) {
			return false
		}
	}
	return true
}

// AllToAll sends a message to each other member, then awaits one from each.
func (m *Member) AllToAll() bool {
	for i := 1; i < m.N; i++ {
		if !m.Message((m.Me + i) % m.N) {
			return false
		}
	}
	for i := 1; i < m.N; i++ {
		if !m.Await((m.Me + m.N - i) % m.N) {
			return false
		}
	}
	return true
}

// Prefix performs a scan of the members in log2 N rounds: in the round of distance d each member
// sends to member Me+d and awaits member Me-d.
func (m *Member) Prefix() bool {
	for d := 1; d < m.N; d *= 2 {
		if m.Me+d < m.N && !m.Message(m.Me+d) || m.Me >= d && !m.Await(m.Me-d) {
			return false
		}
	}
	return true
}

// Whole is the slot in which Exchange delivers the whole result to a member whose number is not
// below the largest power of two: that member does not combine in the rounds.
const Whole = 1

// Exchange performs a small reduction of n members, of which this one is me. With at most direct
// members each sends to all the others; more members combine in pairs (recursive doubling). send
// sends a message to a slot of a member, and await awaits the message of a member in a slot of this
// one. A member uses one slot for each sender or, in pairs, slot 0 for the value of a member beyond
// the power of two, Whole, and one slot for each round.
func Exchange(me, n, direct int, send, await func(member, slot int) bool) bool {
	if n <= direct {
		for i := 1; i < n; i++ {
			if !send((me+i)%n, me) {
				return false
			}
		}
		for i := 1; i < n; i++ {
			if from := (me + n - i) % n; !await(from, from) {
				return false
			}
		}
		return true
	}
	power := 1 << (bits.Len(uint(n)) - 1)
	if me >= power {
		return send(me-power, 0) && await(me-power, Whole)
	}
	folds := me < n-power
	if folds && !await(me+power, 0) {
		return false
	}
	for k := 0; 1<<k < power; k++ {
		if with := me ^ 1<<k; !send(with, 2+k) || !await(with, 2+k) {
			return false
		}
	}
	return !folds || send(me+power, Whole)
}
