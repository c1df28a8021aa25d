// Package collective has the order of the messages of collectives, as capi/front sends them between
// members that share no memory (barrier.c, exchange.c, coll.c). It knows neither the messages nor
// the members: its caller passes functions that send and await one. tests/c/messages.c counts
// the messages of the library in real processes, and so shows that it sends as many.
//
// A function returns false as soon as one that it was given does.
package collective

import "math/bits"

// Member is one of n, and its messages to and from the others.
type Member struct {
	Me, N   int
	Message func(to int) bool   // adds to the count of a member
	Await   func(from int) bool // waits for the next message of a member
}

// Meet is a barrier of the members: dissemination.
func (m *Member) Meet() bool {
	for d := 1; d < m.N; d *= 2 {
		if !m.Message((m.Me+d)%m.N) || !m.Await((m.Me+m.N-d)%m.N) {
			return false
		}
	}
	return true
}

// AllToAll sends a message to each other member, in turn, and awaits one of each.
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

// Prefix has each member combine what those before it have.
func (m *Member) Prefix() bool {
	for d := 1; d < m.N; d *= 2 {
		if m.Me+d < m.N && !m.Message(m.Me+d) || m.Me >= d && !m.Await(m.Me-d) {
			return false
		}
	}
	return true
}

// Whole is the slot of an exchange in pairs in which a member beyond the power of two gets the
// whole result.
const Whole = 1

// Exchange is a small reduction of n members: up to direct members write to each other; more
// combine in pairs. give sends to a slot of a member, and take awaits what came into a slot here.
func Exchange(me, n, direct int, give, take func(member, slot int) bool) bool {
	if n <= direct {
		for i := 1; i < n; i++ {
			if !give((me+i)%n, me) {
				return false
			}
		}
		for i := 1; i < n; i++ {
			if from := (me + n - i) % n; !take(from, from) {
				return false
			}
		}
		return true
	}
	power := 1 << (bits.Len(uint(n)) - 1)
	if me >= power {
		return give(me-power, 0) && take(me-power, Whole)
	}
	folds := me < n-power
	if folds && !take(me+power, 0) {
		return false
	}
	for k := 0; 1<<k < power; k++ {
		if with := me ^ 1<<k; !give(with, 2+k) || !take(with, 2+k) {
			return false
		}
	}
	return !folds || give(me+power, Whole)
}
