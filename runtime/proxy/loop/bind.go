package loop

import "golang.org/x/sys/unix"

// binding keeps the proxy on some processors. The loop's goroutine is not locked to a thread, so
// the thread is checked now and then.
type binding struct {
	set        unix.CPUSet
	bound      bool // Bind has set processors
	tid        int
	iterations uint
}

// checkEvery is the number of turns of the loop that pass between two checks: one system call for
// some hundred microseconds of work.
const checkEvery = 256

// Bind keeps the loop on the given processors. It is called before Run.
func (l *Loop) Bind(cpus []int) {
	for _, cpu := range cpus {
		l.binding.set.Set(cpu)
	}
	l.binding.bound = true
}

// keep binds the loop's thread to the processors of Bind again, if the goroutine has moved to
// another thread.
func (b *binding) keep() {
	if !b.bound {
		return
	}
	if b.iterations++; b.iterations%checkEvery != 1 {
		return
	}
	if tid := unix.Gettid(); tid != b.tid {
		b.tid = tid
		// The kernel refuses only if the process may not use these processors any more. Then the
		// processors of the kernel's choice will do.
		_ = unix.SchedSetaffinity(0, &b.set)
	}
}
