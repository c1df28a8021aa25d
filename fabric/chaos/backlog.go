package chaos

import (
	"libshmem"
)

// backlog is a list of operations of one kind for one PE that are due and that the inner provider
// has refused with ErrAgain. Each PE has lists of its own, so that operations for a lost PE, which
// are refused for ever, do not delay those for other PEs. After one refused call the rest of a list
// is not tried.
type backlog struct {
	kind opKind
	to   libshmem.PE
	all  []*delayed
}

// retry is the time until refused operations are posted again.
const retry = 50_000 // nanoseconds

// backlogs are the lists that are not empty.
type backlogs struct {
	all   []backlog
	count int   // operations in all lists
	due   int64 // when to try them again
}

// at returns the list for the kind and the PE of operation h, or nil. Operations of a kind to a PE
// wait in one list, so that they keep their order.
func (l *backlogs) at(h *delayed) *backlog {
	for i := range l.all {
		if l.all[i].kind == h.kind && l.all[i].to == h.to() {
			return &l.all[i]
		}
	}
	return nil
}

// add appends h, which the inner provider has refused because its queue is full, to the list of its
// kind and PE.
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
	to.kind, to.to, to.all = h.kind, h.to(), append(to.all[:0], h)
}

// each calls post for the operations of every list in order and removes those that it has posted.
// At a refused one it goes on with the next list. Nothing happens before the time due.
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
