package network

import (
	"sync"

	"libshmem/runtime/proxy/call"
)

// ringQuiets are the host's quiets that wait for operations pushed by kernels.
type ringQuiets struct {
	mu    sync.Mutex
	last  uint64                // the last ticket
	under map[uint64]*ringQuiet // the quiets under way, by ticket
}

// ringQuiet is one quiet. First the consumers take the operations out of the rings, then they
// complete them.
type ringQuiet struct {
	from        []uint64 // tail of each ring at the start
	taken       int      // rings whose operations have been taken: the first ones
	settlements []uint64 // the settlement requested from each consumer; nil: none yet
}

// Quiet is the part of a host's quiet for operations that kernels have pushed: a host that has
// waited for its kernels expects its quiet to cover them. It does not wait: it returns Pending
// until they are complete. The first call has a ticket of 0 and sets it, and the caller repeats the
// call with it.
func (s *Rings) Quiet(ticket *uint64) call.Status {
	if s == nil {
		return call.Done
	}
	all := &s.quiets
	all.mu.Lock()
	defer all.mu.Unlock()
	q := all.under[*ticket]
	if q == nil {
		q = &ringQuiet{}
		for _, r := range s.rings {
			q.from = append(q.from, r.Tail())
		}
		if all.under == nil {
			all.under = map[uint64]*ringQuiet{}
		}
		all.last++
		*ticket = all.last
		all.under[all.last] = q
	}
	for ; q.taken < len(q.from); q.taken++ {
		// Other kernels may go on pushing. The operations that were there have been taken when all
		// slots of the ring have been passed once.
		r := s.rings[q.taken]
		if !r.Taken() && r.Tail()-q.from[q.taken] < r.Slots() {
			return call.Pending
		}
	}
	if q.settlements == nil {
		for _, c := range s.consumers {
			q.settlements = append(q.settlements, c.Settle())
		}
	}
	for i, c := range s.consumers {
		if !c.Settled(q.settlements[i]) {
			return call.Pending
		}
	}
	delete(all.under, *ticket)
	return call.Done
}
