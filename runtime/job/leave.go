package job

import (
	"libshmem/runtime/proxy"
)

// leaving is the progress of Leave, which its caller repeats.
type leaving struct {
	ticket uint64 // Producers.Quiet knows its quiet of the rings by it; 0: not begun
	quiet  bool   // the operations that were in the rings are complete
}

// Leave is for a program that ends without finalize. It reports whether the operations that the PE
// has submitted are complete: those in rings, then copies between GPUs and operations over the
// network. Its caller holds the lock of the first engine, polls the network, and calls again as
// long as it has time.
func (j *Job) Leave() bool {
	l := &j.leaving
	if l.quiet = l.quiet || j.Producers.Quiet(&l.ticket) == proxy.Done; !l.quiet {
		return false
	}
	copied, err := j.GPU.Settled()
	if err != nil {
		return true // the driver has ended, and with it the work of the GPU
	}
	return copied && (j.Engine == nil || j.Engine.Leave())
}
