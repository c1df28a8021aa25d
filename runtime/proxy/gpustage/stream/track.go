package stream

import "libshmem/runtime/proxy/fifo"

// track is what a Set knows about one stream: its marks, its work and the chores after the work.
type track struct {
	stream     Stream
	marked     uint64 // last mark that was put into the stream
	passed     uint64 // last mark that it is known to have passed
	fresh      bool   // Mark has to put a mark into it: there is work after the last mark
	chores     fifo.Queue[Chore]
	queued     uint64           // operations put into the stream so far
	bytes      uint64           // bytes of copies put into the stream so far
	driverCall uint64           // purpose of the first operation after the last mark
	done       uint64           // operations before the last mark that has passed
	counts     fifo.Queue[tick] // marks that have not passed
	gathered
	aside aside
}

// add counts an operation of n bytes. The purpose of the first one after a mark stands for all of
// them in reports.
func (t *track) add(n, purpose uint64) {
	if t.driverCall == 0 {
		t.driverCall = purpose
	}
	t.fresh = true
	t.queued++
	t.bytes += n
}

// lastMark returns the mark that is, or will be, after all work in the stream.
func (t *track) lastMark() uint64 {
	if t.fresh {
		return t.marked + 1
	}
	return t.marked
}

// atRest reports whether the stream has carried out all work, and all chores are done.
func (t *track) atRest() bool { return t.idle() && t.chores.Len() == 0 }

// idle reports whether the stream has carried out all work.
func (t *track) idle() bool { return !t.fresh && t.passed == t.marked }
