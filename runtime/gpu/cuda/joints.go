package cuda

import (
	"slices"
	"sync"
	"sync/atomic"

	"libshmem/runtime/gpu"
)

// joints are the addresses where one registration of main memory ends and another begins, in order.
// The driver refuses a copy that reaches across a joint, with CUDA_ERROR_INVALID_VALUE (H200,
// driver of CUDA 13.0); kernels on the GPU do not notice them. Memory that is registered as it
// grows, like the pinned heap, has joints, so the Device splits copies there.
type joints struct {
	mu     sync.Mutex
	ranges map[gpu.Address]uint64        // the bytes of each registration, by its first address
	at     atomic.Pointer[[]gpu.Address] // the joints; nil if there are none
}

// add records a registration of n bytes of main memory at a.
func (j *joints) add(a gpu.Address, n uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ranges == nil {
		j.ranges = map[gpu.Address]uint64{}
	}
	j.ranges[a] = n
	j.find()
}

// remove removes the registration that begins at a from the list.
func (j *joints) remove(a gpu.Address) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.ranges, a)
	j.find()
}

// find computes the joints, the addresses where one registration ends and another begins, from the
// registrations. Copies read the result without the lock.
func (j *joints) find() {
	var at []gpu.Address
	for a, n := range j.ranges {
		if end := a + gpu.Address(n); j.ranges[end] != 0 {
			at = append(at, end)
		}
	}
	if at == nil {
		j.at.Store(nil)
		return
	}
	slices.Sort(at)
	j.at.Store(&at)
}

// untilJoint returns how many of the n bytes from a on are before the next joint, so that one
// driver call can copy them.
func (j *joints) untilJoint(a gpu.Address, n uint64) uint64 {
	at := j.at.Load()
	if at == nil {
		return n
	}
	i, found := slices.BinarySearch(*at, a)
	if found {
		i++
	}
	if i < len(*at) {
		return min(n, uint64((*at)[i]-a))
	}
	return n
}
