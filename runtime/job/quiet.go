package job

import (
	"sync"

	"libshmem/runtime/proxy"
)

// ringQuiets are quiets of the host that wait for what kernels have pushed.
type ringQuiets struct {
	mu    sync.Mutex
	last  uint64
	under map[uint64]*ringQuiet
}

// ringQuiet is one of them. First the rings have to be taken, then the consumers
// settle what they took.
type ringQuiet struct {
	from  []uint64 // tail of each ring when it began
	taken int      // rings that are taken: the first so many
	asked []uint64 // of each consumer; nil: not yet
}

// QuietRings sees to what kernels pushed that have ended: a host that has waited
// for its kernels expects its quiet to cover what they did. The first call has a
// ticket of 0 and sets it; it is called until it is done.
func (j *Job) QuietRings(ticket *uint64) proxy.Status {
	all := &j.ringQuiets
	all.mu.Lock()
	defer all.mu.Unlock()
	q := all.under[*ticket]
	if q == nil {
		q = &ringQuiet{}
		for _, r := range j.kernels.rings {
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
		// Other kernels may go on pushing: what was there is taken when all slots
		// of the ring have been passed once.
		r := j.kernels.rings[q.taken]
		if !r.Taken() && r.Tail()-q.from[q.taken] < r.Slots() {
			return proxy.Pending
		}
	}
	if q.asked == nil {
		for _, c := range j.consumers {
			q.asked = append(q.asked, c.Ask())
		}
	}
	for i, c := range j.consumers {
		if !c.Answered(q.asked[i]) {
			return proxy.Pending
		}
	}
	delete(all.under, *ticket)
	return proxy.Done
}
