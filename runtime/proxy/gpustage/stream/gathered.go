package stream

import "unsafe"

// MostCopies is the most copies that a Memory gets at once.
const MostCopies = 64

// enough is the number of bytes of gathered copies that are given to the stream without waiting for
// more: the copy engine takes longer for them than the driver for its calls.
const enough = 512 << 10

// gathered is the work of one turn for a stream that its Memory has not been given: copies, and the
// stores behind all of them. The driver takes microseconds for each call, and less for copies that
// it gets together; a store between two copies would part them.
type gathered struct {
	copies  []Copy
	held    uint64 // bytes of copies
	stores  []store
	purpose uint64 // of the first copy or store, see Runs
}

// store is a store of an element.
type store struct {
	at    unsafe.Pointer
	value uint64
	width uint8
}

// mostStores bounds the stores that are gathered. A Memory gives its driver as many, and a mark, in
// one call.
const mostStores = 160

// newGathered returns lists with room, so that gathering allocates nothing.
func newGathered() gathered {
	return gathered{copies: make([]Copy, 0, MostCopies), stores: make([]store, 0, mostStores)}
}

// Copy puts a copy of n bytes into a stream, behind all of its work.
func (s *Set) Copy(on Stream, to, from unsafe.Pointer, n uint64) {
	s.Part(on)
	s.CopyAhead(on, to, from, n)
}

// Part gives the stream the stores that were gathered, so that later copies follow them.
func (s *Set) Part(on Stream) {
	if t := &s.tracks[on]; len(t.stores) > 0 {
		s.give(t)
	}
}

// CopyAhead is Copy for bytes that need not follow the elements that were stored since the last Part
// or mark: signals of other puts, which no fence puts before these bytes.
func (s *Set) CopyAhead(on Stream, to, from unsafe.Pointer, n uint64) {
	t := &s.tracks[on]
	s.gather(t)
	t.copies = append(t.copies, Copy{to, from, n})
	t.held += n
	s.gave(on, n)
	if len(t.copies) == MostCopies || t.held >= enough {
		s.giveCopies(t)
	}
}

// Write puts a store of an element into a stream.
func (s *Set) Write(on Stream, at unsafe.Pointer, width uint8, value uint64) {
	t := &s.tracks[on]
	s.gather(t)
	t.stores = append(t.stores, store{at, value, width})
	s.gave(on, uint64(width))
	if len(t.stores) == mostStores {
		s.give(t)
	}
}

// gather is called before work is gathered. It notes the purpose of the first.
func (s *Set) gather(t *track) {
	if len(t.copies)+len(t.stores) == 0 {
		t.purpose = s.driverCall.Load()
	}
}

// give passes the gathered copies and stores of a stream on to the Memory, which gives them to the
// driver.
func (s *Set) give(t *track) {
	s.giveCopies(t)
	for i := range t.stores {
		w := &t.stores[i]
		s.Check(s.memory.Write(t.stream, w.at, w.width, w.value))
	}
	t.stores = t.stores[:0]
}

// giveCopies passes the gathered copies on to the Memory, packed if that saves driver calls.
func (s *Set) giveCopies(t *track) {
	if len(t.copies) == 0 {
		return
	}
	t.pack()
	now := s.driverCall.Load()
	s.driverCall.Store(t.purpose)
	s.Check(s.memory.Copy(t.stream, t.copies))
	s.driverCall.Store(now)
	clear(t.copies)
	t.copies, t.held = t.copies[:0], 0
}
