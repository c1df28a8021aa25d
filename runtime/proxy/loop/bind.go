package loop

import "golang.org/x/sys/unix"

// binding keeps the proxy on some processors. The loop's goroutine is not locked
// to a thread, so the thread is looked at now and then.
type binding struct {
	set   unix.CPUSet
	bound bool // there is something to keep
	tid   int
	turns uint
}

// looksAt is how many turns of the loop pass between two looks: a call of the
// kernel's for some hundred microseconds of work.
const looksAt = 256

// Bind keeps the loop on the processors, those of them that this
// process may use. It returns how many those are; 0: nothing changes. It is
// called before Run.
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

// keep binds the thread that the loop runs on, when it is another one than
// before.
func (b *binding) keep() {
	if !b.bound {
		return
	}
	if b.turns++; b.turns%looksAt != 1 {
		return
	}
	if tid := unix.Gettid(); tid != b.tid {
		b.tid = tid
		// Refused only when the process lost the processors meanwhile; then the
		// kernel's choice is as good.
		_ = unix.SchedSetaffinity(0, &b.set)
	}
}
