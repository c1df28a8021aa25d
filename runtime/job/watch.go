package job

import (
	"libshmem"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/proxy"
)

// newWatch returns the watch over the other PEs, before there is a network.
func (j *Job) newWatch(o *Options) *watch.Watch {
	return watch.New(watch.Peers{
		Self: &j.Self, Processes: j.JobInfo.Processes, Doing: o.Doing, Driver: j.driverWatch.Explain,
		Fails: func(pe libshmem.PE, fate string) { j.Fatal(&proxy.LostError{PE: libshmem.PE(pe), Reason: fate}) },
	})
}

// Begin begins to watch the other PEs and the GPU's driver. It calls lose for each PE that is lost,
// from one thread; the job then goes on without that PE. requests returns how many reports the user
// has requested by a signal so far. Begin returns a descriptor to which the caller writes a number
// when that count changes; 0: there is no thread. Begin is called after Start.
func (j *Job) Begin(lose func(libshmem.PE), requests func() uint32) (fd int) {
	j.watchDriver(requests)
	return j.Watch.Begin(func(pe libshmem.PE, fate string) {
		lose(pe)
		j.Network.Lose(pe, fate)
		// Kernels may wait for a store of the lost PE, which will never arrive.
		j.Producers.Stopper.Lost()
	}, requests)
}
