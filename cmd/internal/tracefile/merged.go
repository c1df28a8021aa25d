package tracefile

import (
	"cmp"
	"errors"
	"io"
	"slices"
)

// Merge reads all files of a trace at once.
type Merge struct {
	t       *Trace
	streams []*stream // a heap, ordered by the time of each stream's next event
	last    *stream   // the stream whose event Next has returned last; it is not in streams
}

// Writers record a call when it ends, and write the records of one thread after those of another,
// so that files are only nearly in order of time. A stream buffers events to sort them; these
// constants limit their number.
const (
	maxHeld          = 1 << 15 // of a stream with several threads that make calls
	maxHeldOneThread = 1 << 12 // of any other stream
	minHeld          = 1 << 6  // of each stream, however many there are
	maxHeldInAll     = 1 << 19 // of all streams together: some 100 MB
)

// stream reads the files of one PE, each of which begins after the one before, or a single file of
// several PEs. It returns their events nearly in order of time.
type stream struct {
	t     *Trace
	files []*File
	r     *Reader
	depth int      // how many events it buffers
	held  []held   // the buffered events, a heap ordered by time
	count int64    // events read so far
	free  [][]byte // memory for arguments of events that are no longer in use
}

// held is an event that a stream has read ahead, the n-th one of the stream.
type held struct {
	e Event
	n int64
}

// before reports whether event a comes before b in a merge: its time is earlier or, if the times
// are equal, it was read first.
func (a *held) before(b *held) bool { return a.e.At < b.e.At || a.e.At == b.e.At && a.n < b.n }

// Merge begins to read all events, nearly in order of time, on the clock of PE 0. It leaves out
// metadata, which the Trace already has. If a file has an event after more later ones than its
// stream buffers (maxHeld or fewer), the event comes too late in the merge as well. The caller
// closes the Merge.
func (t *Trace) Merge() (*Merge, error) {
	m := &Merge{t: t}
	type key struct {
		pe   int
		call bool
	}
	chains := map[key]*stream{} // the streams of files of one PE: its calls, or its proxies and NICs
	var all []*stream
	for _, f := range t.Files {
		if f.Calls+f.Others == 0 {
			continue
		}
		k := key{call: f.Calls > 0}
		if len(f.PEs) == 1 {
			k.pe = f.PEs[0]
			if s := chains[k]; s != nil {
				s.files = append(s.files, f)
				continue
			}
		}
		s := &stream{t: t, files: []*File{f}}
		if len(f.PEs) == 1 {
			chains[k] = s
		}
		all = append(all, s)
	}
	threads := map[int]int{} // by PE: how many it has
	for k := range t.Threads {
		threads[k.PE]++
	}
	for _, s := range all {
		s.depth = maxHeldOneThread
		if pes := s.files[0].PEs; len(pes) > 1 || threads[pes[0]] > 1 {
			s.depth = maxHeld
		}
		s.depth = min(max(maxHeldInAll/len(all), minHeld), s.depth)
		slices.SortStableFunc(s.files, func(a, b *File) int { return cmp.Compare(a.first, b.first) })
		if err := s.readAhead(); err != nil {
			m.streams = all
			m.Close()
			return nil, err
		}
		if len(s.held) > 0 {
			push(&m.streams, s, earlier)
		}
	}
	return m, nil
}

// earlier reports whether the next event of stream a comes before that of stream b. Neither is
// empty.
func earlier(a, b **stream) bool { return (*a).held[0].before(&(*b).held[0]) }

// Next returns the next event, whose Args are valid until the next call; io.EOF at the end.
func (m *Merge) Next(e *Event) error {
	if s := m.last; s != nil {
		m.last = nil
		if err := s.readAhead(); err != nil {
			return err
		}
		if len(s.held) > 0 {
			push(&m.streams, s, earlier)
		}
	}
	if len(m.streams) == 0 {
		return io.EOF
	}
	s := pop(&m.streams, earlier)
	h := pop(&s.held, (*held).before)
	*e = h.e
	s.free = append(s.free, h.e.Args)
	m.last = s
	return nil
}

// Close closes the files.
func (m *Merge) Close() {
	for _, s := range m.streams {
		s.close()
	}
	if m.last != nil {
		m.last.close()
	}
}

// close closes the file that the stream reads.
func (s *stream) close() {
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}

// readAhead reads events until the stream's buffer is full or its files end, and converts their
// times to the clock of PE 0. It leaves out metadata. It copies the events' arguments, because the
// reader uses its memory again.
func (s *stream) readAhead() error {
	for len(s.held) < s.depth {
		if s.r == nil {
			if len(s.files) == 0 {
				return nil
			}
			var err error
			if s.r, err = Open(s.files[0].Name); err != nil {
				return err
			}
			s.files = s.files[1:]
		}
		var e Event
		err := s.r.Next(&e)
		if errors.Is(err, io.EOF) {
			s.close()
			continue
		}
		if err != nil {
			s.close()
			return err
		}
		if e.Phase == 'M' {
			continue
		}
		pe := s.t.PE(e.PE)
		if pe == nil { // the file has grown since it was scanned
			continue
		}
		var args []byte
		if n := len(s.free); n > 0 {
			args, s.free = s.free[n-1], s.free[:n-1]
		}
		if e.Args != nil {
			e.Args = append(args[:0], e.Args...)
		}
		at := pe.Moment(e.At)
		if e.Phase == 'X' {
			e.Length = max(pe.Moment(e.End())-at, 0)
		}
		e.At = at
		s.count++
		push(&s.held, held{e, s.count}, (*held).before)
	}
	return nil
}

// push adds an element to a heap, whose first element is the least by `before`. It does without the
// interface calls of container/heap, which take longer.
func push[T any](h *[]T, v T, before func(a, b *T) bool) {
	*h = append(*h, v)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if !before(&a[i], &a[up]) {
			break
		}
		a[i], a[up] = a[up], a[i]
		i = up
	}
}

// pop removes and returns the least element of a heap that push has made with the same `before`.
func pop[T any](h *[]T, before func(a, b *T) bool) T {
	a := *h
	top := a[0]
	n := len(a) - 1
	a[0] = a[n]
	var zero T
	a[n] = zero // so that nothing keeps the memory that the element names
	a = a[:n]
	for i := 0; ; {
		least := i
		for _, d := range [...]int{2*i + 1, 2*i + 2} {
			if d < n && before(&a[d], &a[least]) {
				least = d
			}
		}
		if least == i {
			break
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
	*h = a
	return top
}
