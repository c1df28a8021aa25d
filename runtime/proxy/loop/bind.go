package loop

import "golang.org/x/sys/unix"

// binding keeps the proxy on some processors. The loop's goroutine is not locked to a thread, so
// the thread is checked now and then.
type binding struct {
	set   unix.CPUSet
	bound bool // there are processors to keep to
	tid   int
	turns uint
}

// looksAt is how many turns of the loop pass between two checks: one system call for some hundred
// microseconds of work.
const looksAt = 256

// Bind keeps the loop on the given processors, as far as this process may use them. It returns how
// many those are; 0: nothing changes. It is called before Run.
func (l *Loop) Bind(cpus []int) int {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return 0
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		if allowed.IsSet(cpu) {
			set.Set(cpu)
		}
	}
	if n := set.Count(); n == 0 || n == allowed.Count() {
		return 0
	}
	l.binding.set, l.binding.bound = set, true
	return set.Count()
}

// keep binds the loop's thread if it is another one than before.
func (b *binding) keep() {
	if !b.bound {
		return
	}
	if b.turns++; b.turns%looksAt != 1 {
		return
	}
	if tid := unix.Gettid(); tid != b.tid {
		b.tid = tid
		// The kernel refuses only if the process has lost these processors meanwhile. Then the
		// kernel's choice is as good.
		_ = unix.SchedSetaffinity(0, &b.set)
	}
}
