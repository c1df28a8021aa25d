package job

import (
	"libshmem"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/proxy"
)

// newWatch returns the watch, which detects that other PEs have ended or cannot be reached. It is
// made before the network is opened, because the network's engines report to it the PEs that they
// cannot reach; once the network is open, the watch also asks it (Watch.Network).
func (j *Job) newWatch(o *Options) *watch.Watch {
	return watch.New(watch.Peers{
		Self: &j.Self, Processes: j.JobInfo.Processes, Activity: o.Activity, Driver: j.driverWatch.Explain,
		EndJob: func(pe libshmem.PE, reason string) { j.Fatal(&proxy.LostError{PE: pe, Reason: reason}) },
	})
}

// Begin begins to watch the other PEs and the GPU's driver. It calls lose for each PE that is lost,
// from one thread; the job then goes on without that PE. requests returns how many reports the user
// has requested by a signal so far. Begin returns a descriptor to which the caller writes a number
// when that count changes; 0: there is no thread. Begin is called after Start.
func (j *Job) Begin(lose func(libshmem.PE), requests func() uint32) (fd int) {
	j.watchDriver(requests)
	return j.Watch.Begin(func(pe libshmem.PE, reason string) {
		lose(pe)
		j.Network.Lose(pe, reason)
		// Kernels may wait for a store of the lost PE, which will never arrive.
		j.Producers.Stopper.NoteLoss()
	}, requests)
}
