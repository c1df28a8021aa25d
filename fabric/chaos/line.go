package chaos

import "libshmem/fabric"

// line is what is due and for which the other provider had no room: of one kind and
// for one PE, so that a PE that refuses for ever, because it is lost, holds up nothing
// for others. One refused call tells of the whole line.
type line struct {
	what what
	to   fabric.PE
	all  []*held
}

// retry is how long a line waits at least until it is asked for again.
const retry = 50_000 // nanoseconds

// lines are those that have something.
type lines struct {
	all   []line
	count int   // of operations
	due   int64 // when to ask again
}

// at is the line of h, or nil.
func (l *lines) at(h *held) *line {
	for i := range l.all {
		if l.all[i].what == h.what && l.all[i].to == h.to() {
			return &l.all[i]
		}
	}
	return nil
}

// add puts h behind all that go its way.
func (l *lines) add(h *held, now int64) {
	l.count++
	if l.due == never {
		l.due = now + retry
	}
	if to := l.at(h); to != nil {
		to.all = append(to.all, h)
		return
	}
	if len(l.all) < cap(l.all) {
		l.all = l.all[:len(l.all)+1]
	} else {
		l.all = append(l.all, line{})
	}
	to := &l.all[len(l.all)-1]
	to.what, to.to, to.all = h.what, h.to(), append(to.all[:0], h)
}

// each gives the first of every line to post until that tells that there is no room.
func (l *lines) each(now int64, post func(*held) bool) {
	if l.due > now {
		return
	}
	kept := 0
	for i := range l.all {
		at := &l.all[i]
		n := 0
		for n < len(at.all) && post(at.all[n]) {
			n++
		}
		l.count -= n
		if at.all = at.all[:copy(at.all, at.all[n:])]; len(at.all) > 0 {
			l.all[kept], l.all[i] = l.all[i], l.all[kept]
			kept++
		}
	}
	if l.all, l.due = l.all[:kept], never; kept > 0 {
		l.due = now + retry
	}
}
