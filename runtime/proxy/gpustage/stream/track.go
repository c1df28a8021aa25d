package stream

import "libshmem/runtime/proxy/fifo"

// track follows one stream.
type track struct {
	stream     Stream
	marked     uint64 // last mark that was queued for
	passed     uint64
	fresh      bool // there is work behind that mark
	chores     fifo.Queue[Chore]
	queued     uint64           // operations so far
	bytes      uint64           // bytes of copies so far
	driverCall uint64           // of the first operation behind the last mark
	done       uint64           // operations before the last mark that has passed
	counts     fifo.Queue[tick] // marks that have not passed
	gathered
	aside aside
}

// add notes an operation of n bytes, and its purpose.
func (t *track) add(n, purpose uint64) {
	if t.driverCall == 0 {
		t.driverCall = purpose
	}
	t.fresh = true
	t.queued++
	t.bytes += n
}

// last returns the mark that is, or will be, behind all work in the stream.
func (t *track) last() uint64 {
	if t.fresh {
		return t.marked + 1
	}
	return t.marked
}

// atRest reports whether the stream has done everything, and its chores are done.
func (t *track) atRest() bool { return t.idle() && t.chores.Len() == 0 }

// idle reports whether the stream has done everything.
func (t *track) idle() bool { return !t.fresh && t.passed == t.marked }
