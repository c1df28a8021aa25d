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
	if list := l.at(h); list != nil {
		list.all = append(list.all, h)
		return
	}
	// The element beyond the end may be a list that the method each has emptied: its memory is used
	// again.
	if len(l.all) < cap(l.all) {
		l.all = l.all[:len(l.all)+1]
	} else {
		l.all = append(l.all, backlog{})
	}
	list := &l.all[len(l.all)-1]
	list.kind, list.to, list.all = h.kind, h.to(), append(list.all[:0], h)
}

// each calls post for the operations of every list in order, and removes those for which post
// returns true: inner has accepted them, or has refused them with another error than ErrAgain. At
// the first operation that inner refuses with ErrAgain, each goes on with the next list. Before
// l.due it does nothing.
func (l *backlogs) each(now int64, post func(*delayed) bool) {
	if l.due > now {
		return
	}
	kept := 0
	for i := range l.all {
		list := &l.all[i]
		n := 0
		for n < len(list.all) && post(list.all[n]) {
			n++
		}
		l.count -= n
		if list.all = list.all[:copy(list.all, list.all[n:])]; len(list.all) > 0 {
			// Swapped, so that the empty list keeps its memory for add.
			l.all[kept], l.all[i] = l.all[i], l.all[kept]
			kept++
		}
	}
	if l.all, l.due = l.all[:kept], never; kept > 0 {
		l.due = now + retry
	}
}
