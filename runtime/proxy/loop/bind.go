package loop

import "golang.org/x/sys/unix"

// binding restricts the proxy to some processors. The loop's goroutine is not locked to a thread,
// so now and then the loop checks whether its thread has changed.
type binding struct {
	set        unix.CPUSet
	bound      bool // Bind has set processors
	tid        int  // the thread that was restricted last
	iterations uint // of the loop; serveInC sets it to 0, so that the next one checks the thread
}

// checkEvery is the number of iterations of the loop between two checks of the thread: one system
// call for some hundred microseconds of work.
const checkEvery = 256

// Bind restricts the loop's thread to the given processors. Bind must be called before Run.
func (l *Loop) Bind(cpus []int) {
	for _, cpu := range cpus {
		l.binding.set.Set(cpu)
	}
	l.binding.bound = true
}

// rebind restricts the loop's thread to the processors of Bind again, if the goroutine now runs on
// another thread.
func (b *binding) rebind() {
	if !b.bound {
		return
	}
	if b.iterations++; b.iterations%checkEvery != 1 {
		return
	}
	if tid := unix.Gettid(); tid != b.tid {
		b.tid = tid
		// The kernel refuses only if the process may not use these processors any more. Then the
		// thread may run wherever the kernel lets it.
		_ = unix.SchedSetaffinity(0, &b.set)
	}
}
