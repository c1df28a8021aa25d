package stream

import "unsafe"

// MaxCopies is the largest number of copies that a Memory gets at once.
const MaxCopies = 64

// enough is the number of bytes of gathered copies that are passed to the stream without waiting
// for more: the copy engine then takes longer for the bytes than the driver takes for the calls.
const enough = 512 << 10

// gathered is the work for a stream that was collected in one poll and not passed to the Memory
// yet: copies, and the stores after all of them. The driver takes microseconds for each call, and
// less for copies that it gets together; a store between two copies would split the call.
type gathered struct {
	copies  []Copy
	held    uint64 // bytes of copies
	stores  []store
	purpose uint64 // of the first copy or store, see NoteDriverCall
}

// store is a store of an element.
type store struct {
	at    unsafe.Pointer
	value uint64
	width uint8
}

// maxGathered bounds the stores that are gathered. A Memory passes maxGathered stores and a mark to
// its driver in one call.
const maxGathered = 160

// newGathered returns lists with enough capacity, so that gathering allocates nothing.
func newGathered() gathered {
	return gathered{copies: make([]Copy, 0, MaxCopies), stores: make([]store, 0, maxGathered)}
}

// Copy puts a copy of n bytes into a stream, after all of its work.
func (s *Set) Copy(id Stream, to, from unsafe.Pointer, n uint64) {
	s.FlushStores(id)
	s.CopyAhead(id, to, from, n)
}

// FlushStores passes the gathered stores to the stream, so that later copies follow them.
func (s *Set) FlushStores(id Stream) {
	if t := &s.tracks[id]; len(t.stores) > 0 {
		s.flush(t)
	}
}

// CopyAhead puts a copy into a stream that may overtake the elements that were stored since the
// last FlushStores or mark: signals of other puts, which no fence orders before these bytes.
func (s *Set) CopyAhead(id Stream, to, from unsafe.Pointer, n uint64) {
	t := &s.tracks[id]
	s.gather(t)
	t.copies = append(t.copies, Copy{to, from, n})
	t.held += n
	s.countQueued(id, n)
	if len(t.copies) == MaxCopies || t.held >= enough {
		s.flushCopies(t)
	}
}

// Write puts a store of an element of width bytes into a stream. Stores are gathered, and passed to
// the driver together.
func (s *Set) Write(id Stream, at unsafe.Pointer, width uint8, value uint64) {
	t := &s.tracks[id]
	s.gather(t)
	t.stores = append(t.stores, store{at, value, width})
	s.countQueued(id, uint64(width))
	if len(t.stores) == maxGathered {
		s.flush(t)
	}
}

// gather is called before work is gathered. It notes the purpose of the first copy or store.
func (s *Set) gather(t *track) {
	if len(t.copies)+len(t.stores) == 0 {
		t.purpose = s.driverCall.Load()
	}
}

// flush passes the gathered copies and stores of a stream to the Memory, which passes them to the
// driver.
func (s *Set) flush(t *track) {
	s.flushCopies(t)
	for i := range t.stores {
		w := &t.stores[i]
		s.FailOn(s.memory.Write(t.stream, w.at, w.width, w.value))
	}
	t.stores = t.stores[:0]
}

// flushCopies passes the gathered copies of a stream to the Memory, packed if that saves driver
// calls. Meanwhile the purpose of the driver call, for reports, is that of the copies.
func (s *Set) flushCopies(t *track) {
	if len(t.copies) == 0 {
		return
	}
	t.pack()
	before := s.driverCall.Load()
	s.driverCall.Store(t.purpose)
	s.FailOn(s.memory.Copy(t.stream, t.copies))
	s.driverCall.Store(before)
	clear(t.copies)
	t.copies, t.held = t.copies[:0], 0
}
