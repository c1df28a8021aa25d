package network

import (
	"sync"

	"libshmem/runtime/proxy/call"
)

// ringQuiets are the host's quiets that wait for operations pushed by kernels.
type ringQuiets struct {
	mu      sync.Mutex
	last    uint64                // the last ticket
	pending map[uint64]*ringQuiet // the quiets under way, by ticket
}

// ringQuiet is one quiet. First the consumers read the operations from the rings, then they
// complete them.
type ringQuiet struct {
	from        []uint64 // tail of each ring at the start
	drained     int      // number of rings, from the first on, whose operations the consumers have read
	settlements []uint64 // the settlement requested from each consumer; nil: none yet
}

// Quiet completes the operations that kernels have pushed, for a quiet of the host: a host that has
// waited for its kernels expects its quiet to include them. It does not wait: it returns Pending
// until they are complete. The first call has a ticket of 0 and sets it, and the caller repeats the
// call with it.
func (s *Rings) Quiet(ticket *uint64) call.Status {
	if s == nil {
		return call.Done
	}
	all := &s.quiets
	all.mu.Lock()
	defer all.mu.Unlock()
	q := all.pending[*ticket]
	if q == nil {
		q = &ringQuiet{}
		for _, r := range s.rings {
			q.from = append(q.from, r.Tail())
		}
		if all.pending == nil {
			all.pending = map[uint64]*ringQuiet{}
		}
		all.last++
		*ticket = all.last
		all.pending[all.last] = q
	}
	for ; q.drained < len(q.from); q.drained++ {
		// Other kernels may go on pushing, so the ring may never be empty (Taken). The operations
		// that were in it at the start have been read once the tail has passed all of its slots.
		r := s.rings[q.drained]
		if !r.Taken() && r.Tail()-q.from[q.drained] < r.Slots() {
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
	delete(all.pending, *ticket)
	return call.Done
}
