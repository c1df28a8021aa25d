package stream

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/statuspage"
)

// Engine is the state that a Set shares with its engine.
type Engine struct {
	State *layout.State
	Fatal func(error) // ends the job with an error
	Wake  func()      // ends the sleep of the engine's thread
}

// Set has the streams of an engine on its PE's GPU, and the work that was put into them.
type Set struct {
	engine     Engine
	state      *layout.State
	memory     Memory        // nil: this PE has no GPU
	limit      uint64        // largest number of operations in one stream
	atomics    uint64        // AtomicBits of the operations that the Memory can do
	driverCall atomic.Uint64 // purpose of the last driver call
	polls      int           // polls since a stream last passed a mark
	now        Chore         // the chore that is being done: a copy that Follow may use until it returns
	tracks     [Streams]track
	tallies    [Streams]tally
}

// New returns the streams of m; with a nil m the set has no streams. A stream with limit
// operations, not counting marks, is full.
func New(e Engine, m Memory, limit uint64) *Set {
	s := &Set{engine: e, state: e.State, memory: m, limit: limit}
	for i := range s.tracks {
		s.tracks[i].stream = Stream(i)
	}
	if m != nil {
		for i := range s.tracks {
			s.tracks[i].gathered = newGathered()
		}
		s.atomics = m.Atomics()
	}
	return s
}

// Close closes the Memory.
func (s *Set) Close() error {
	err := s.memory.Close()
	s.memory = nil
	return err
}

// Atomic puts the atomic operation of a message into a stream, after the gathered work, which is
// earlier. The stream stores the old value at old, unless that is nil.
func (s *Set) Atomic(id Stream, at unsafe.Pointer, h *layout.Header, old unsafe.Pointer) {
	s.flush(&s.tracks[id])
	s.FailOn(s.memory.Atomic(id, at, h.Op, h.Width, h.Operand, h.Extra, old))
	s.countQueued(id, uint64(h.Width))
}

// StoreWords puts stores into a stream that write the n bytes at payload to at. The stores are of 8
// bytes where the address and the rest allow it, else of 4. For a few bytes that is cheaper than a
// copy. Preconditions: Storable.
func (s *Set) StoreWords(id Stream, at, payload unsafe.Pointer, n int) {
	for i := 0; i < n; {
		to, w := unsafe.Add(at, i), 8
		if uintptr(to)&7 != 0 || n-i < 8 {
			w = 4
		}
		s.Write(id, to, uint8(w), mem.Load(unsafe.Add(payload, i), w))
		i += w
	}
}

// countQueued counts an operation of n bytes that was put into a stream.
func (s *Set) countQueued(id Stream, n uint64) { s.tracks[id].add(n, s.driverCall.Load()) }

// FailOn fails the job if err is an error of the GPU: the contents of its memory are not known
// then.
func (s *Set) FailOn(err error) {
	if err != nil {
		s.fail(err)
	}
}

// fail fails the job with an error of the GPU.
func (s *Set) fail(err error) { s.engine.Fatal(fmt.Errorf("GPU memory: %w", err)) }

// Storable reports whether StoreWords can write n bytes to an address, and is quicker than a copy.
func (s *Set) Storable(at unsafe.Pointer, n int) bool {
	rest := int(uintptr(at) & 4) // 4 if the first store has only 4 bytes, to reach a multiple of 8
	return (uintptr(at)|uintptr(n))&3 == 0 && uint64(n+rest+7)/8 <= s.memory.MaxStores()
}

// Atomics returns the AtomicBits of the operations that Atomic can do.
func (s *Set) Atomics() uint64 { return s.atomics }

// Holds reports whether n bytes at p are memory of a GPU. That may take a driver call.
func (s *Set) Holds(p unsafe.Pointer, n uint64) bool {
	s.NoteDriverCall(backlog.CallHolds, 0)
	return s.memory.Holds(p, n)
}

// Full reports whether a stream has as many operations as it may have. The caller puts no more into
// it until the stream has carried out some.
func (s *Set) Full(id Stream) bool { t := &s.tracks[id]; return t.queued-t.done >= s.limit }

// LastPassed returns the last mark that a stream is known to have passed: all work before it is
// complete.
func (s *Set) LastPassed(id Stream) uint64 { return s.tracks[id].passed }

// LastMark returns the number of the mark that is, or will be, after all work in the stream. When
// the stream has passed that mark, all of the work is complete.
func (s *Set) LastMark(id Stream) uint64 { return s.tracks[id].lastMark() }

// NextMark returns the number of the mark that will be after work that is put into the stream now.
func (s *Set) NextMark(id Stream) uint64 { return s.tracks[id].marked + 1 }

// AddChore adds a chore: a task of the CPU for the time when the stream has carried out all work
// that is in it now.
func (s *Set) AddChore(id Stream, c Chore) {
	t := &s.tracks[id]
	c.mark = t.lastMark()
	*t.chores.Next() = c
}

// RequireMark makes Mark put a new mark into a stream, even without new work: chores that are added
// later wait for it.
func (s *Set) RequireMark(id Stream) { s.tracks[id].fresh = true }

// NoteDriverCall stores the purpose of the next driver call, for reports; pe is ignored if the call
// concerns no PE. It is called before each driver call: while the driver blocks a call, the calling
// thread holds the engine's lock, and a report can read no more than this.
func (s *Set) NoteDriverCall(w backlog.Call, pe libshmem.PE) {
	s.driverCall.Store(uint64(w)<<32 | uint64(uint32(pe)))
}

// MarkBusy notes that streams have work. No thread is woken when the work is complete, so the loop
// has to poll.
func (s *Set) MarkBusy() {
	s.state.Busy |= layout.BusyStreams
	s.engine.Wake()
}

// Follow reads the marks that the streams have passed, and performs the chores that waited for the
// work before these marks.
func (s *Set) Follow() {
	if s.memory == nil {
		return
	}
	for i := range s.tracks {
		if t := &s.tracks[i]; t.passed != t.marked {
			s.follow(t)
		}
	}
}

// follow does the work of Follow for one stream: it reads the last mark that the stream has passed,
// counts the work before it as done, and performs the chores for it in their order.
func (s *Set) follow(t *track) {
	s.NoteDriverCall(backlog.CallFollow, 0)
	passed, err := s.memory.Marked(t.stream)
	if s.FailOn(err); err != nil {
		return
	}
	if passed != t.passed {
		s.polls = 0
	}
	t.passed = passed
	t.aside.release(passed)
	t.countPassed(&s.tallies[t.stream])
	for t.chores.Len() > 0 && t.chores.At(0).mark <= t.passed {
		s.now = t.chores.Pop()
		s.now.For.Follow(&s.now)
	}
}

// CountPoll counts a poll of the streams, and returns the number of polls since a stream last
// passed a mark.
func (s *Set) CountPoll() int {
	s.polls++
	return s.polls
}

// Mark passes to each stream the work that was gathered for it, puts a mark after its new work, and
// calls MarkBusy if a stream has work.
func (s *Set) Mark() {
	for i := range s.tracks {
		t := &s.tracks[i]
		if t.fresh {
			s.flush(t)
			s.NoteDriverCall(backlog.CallMark, 0)
			n, err := s.memory.Mark(t.stream)
			if err == nil && n != t.marked+1 {
				err = fmt.Errorf("mark %d of stream %d came when %d was due", n, i, t.marked+1)
			}
			if s.FailOn(err); err == nil {
				t.marked, t.fresh = n, false
				t.countMark(&s.tallies[i])
			}
		}
		if !t.idle() {
			s.MarkBusy()
		}
	}
}

// DriverCall returns the purpose of the engine's last driver call, as the end of a sentence about
// that call; "" before the first call. Any thread may call it, without the lock.
func (s *Set) DriverCall() string {
	return backlog.CallText(s.driverCall.Load())
}

// Undone appends to a list the work that the streams have not carried out. Any thread may call it,
// without the lock. While a stream works, the numbers may be from different moments.
func (s *Set) Undone(to []backlog.Work) []backlog.Work {
	for i := range s.tallies {
		t := &s.tallies[i]
		if ops, bytes := t.left(); ops > 0 {
			to = append(to, backlog.Work{Stream: Stream(i), Passed: t.passed.Load(), Ops: ops, Bytes: bytes, For: backlog.CallText(t.oldest.Load())})
		}
	}
	return to
}

// Show updates the page on which other processes see the streams: what each still has to do, the
// purpose of its oldest work, and since when it has made no progress.
func (s *Set) Show(to *[Streams]backlog.Shown) {
	for i := range s.tallies {
		t, u := &s.tallies[i], &to[i]
		ops, bytes := t.left()
		if passed := t.passed.Load(); ops == 0 || u.Ops == 0 || passed != t.shown {
			t.shown, u.Since = passed, statuspage.Now()
		}
		u.Bytes, u.Call = bytes, t.oldest.Load()
		u.Ops = ops
	}
}

// CheckIdle returns an error that describes the chores that wait, or nil if no chore waits. Tests
// call it at their end.
func (s *Set) CheckIdle() error {
	for i := range s.tracks {
		if t := &s.tracks[i]; !t.atRest() {
			return fmt.Errorf("stream %d: %d chores", i, t.chores.Len())
		}
	}
	return nil
}

// HasWork reports whether a stream has work that it has not carried out, or chores that were not
// performed: a process that leaves without finalize waits until there is none.
func (s *Set) HasWork() bool {
	for i := range s.tracks {
		if !s.tracks[i].atRest() {
			return true
		}
	}
	return false
}
