package tracereport

import (
	"cmp"
	"slices"

	"libshmem/cmd/internal/tracefile"
)

// noWriter is used as the writer of a value that no call of another PE can have written.
const noWriter = -1

// Guess is the time for which a PE waited for values in its memory that one other PE has probably
// written.
type Guess struct {
	Waiter int   `json:"waiter"`
	Writer int   `json:"likely_writer"` // -1: no call of the trace may have written it
	Ns     int64 `json:"ns"`
	Times  int64 `json:"times"`
}

// writers guesses who wrote the values that PEs waited for. The trace has no addresses: the guess
// is the PE whose update of the waiter's memory began last before the wait ended. Events must be
// added in the order of their begins.
type writers struct {
	open map[int][]valueWait // by PE, the present wait of each thread
	last map[int]int         // by PE, the PE whose update of its memory began last
	sums map[[2]int]*Guess
}

// valueWait is the wait of one thread for a value.
type valueWait struct {
	end, length int64 // nanoseconds
	writer      int   // the likely writer so far
}

// newWriters returns the state of the search for the PEs that ended waits for values.
func newWriters() *writers {
	return &writers{open: map[int][]valueWait{}, last: map[int]int{}, sums: map[[2]int]*Guess{}}
}

// startWait records that a thread of a PE waits for a value in the PE's memory. The likely writer
// is the last PE that wrote there so far; a later update replaces it.
func (w *writers) startWait(e *tracefile.Event) {
	writer, known := w.last[e.PE]
	if !known {
		writer = noWriter
	}
	w.endWaits(e.PE, e.At)
	w.open[e.PE] = append(w.open[e.PE], valueWait{e.End(), e.Length, writer})
}

// noteUpdate records a call that writes to the memory of another PE: its caller is now the likely
// writer of the values for which threads of that PE wait.
func (w *writers) noteUpdate(e *tracefile.Event) {
	w.endWaits(e.Peer, e.At)
	w.last[e.Peer] = e.PE
	for i := range w.open[e.Peer] {
		w.open[e.Peer][i].writer = e.PE
	}
}

// endWaits adds up the waits of a PE that ended before a moment, by their likely writers, and
// forgets them.
func (w *writers) endWaits(pe int, before int64) {
	w.open[pe] = slices.DeleteFunc(w.open[pe], func(v valueWait) bool {
		if v.end >= before {
			return false
		}
		key := [2]int{pe, v.writer}
		if w.sums[key] == nil {
			if len(w.sums) >= maxPairs {
				return true
			}
			w.sums[key] = &Guess{Waiter: pe, Writer: v.writer}
		}
		w.sums[key].Ns += v.length
		w.sums[key].Times++
		return true
	})
}

// guesses returns how long each PE waited for each likely writer, the longest first.
func (w *writers) guesses() []Guess {
	list := []Guess{}
	for pe := range w.open {
		w.endWaits(pe, 1<<63-1)
	}
	for _, g := range w.sums {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Guess) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Waiter, b.Waiter), cmp.Compare(a.Writer, b.Writer))
	})
	return list[:min(len(list), maxPairsShown)]
}
