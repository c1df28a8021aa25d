package chaos

import (
	"libshmem"
)

// backlog holds operations that are due and found no room at the other provider: of one kind and
// for one PE, so that a PE that refuses for ever, because it is lost, delays no operations for
// others. One refused call counts for the whole line.
type backlog struct {
	what what
	to   libshmem.PE
	all  []*delayed
}

// retry is the least time until the provider is asked for a line again.
const retry = 50_000 // nanoseconds

// backlogs are the lines that hold something.
type backlogs struct {
	all   []backlog
	count int   // of operations
	due   int64 // when to ask again
}

// at is the line of h, or nil.
func (l *backlogs) at(h *delayed) *backlog {
	for i := range l.all {
		if l.all[i].what == h.what && l.all[i].to == h.to() {
			return &l.all[i]
		}
	}
	return nil
}

// add appends h to the line of its kind and PE.
func (l *backlogs) add(h *delayed, now int64) {
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
		l.all = append(l.all, backlog{})
	}
	to := &l.all[len(l.all)-1]
	to.what, to.to, to.all = h.what, h.to(), append(to.all[:0], h)
}

// each posts the delayed operations of every list in order; a list stops where post returns false,
// and is tried again later.
func (l *backlogs) each(now int64, post func(*delayed) bool) {
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
