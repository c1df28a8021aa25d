// Package streamtest is a stream.Memory for tests, whose GPU memory is main memory, and the part of
// an engine that streams need.
//
// It does no work by itself: a test says up to which mark a stream is done. It has no lock.
package streamtest

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Memory is a fake GPU for stream.Set, whose memory is main memory.
type Memory struct {
	Ops    uint64              // returned by Atomics: the AtomicBits that it can do
	Stores uint64              // returned by MaxStores
	Err    error               // returned by all calls that return an error
	Skip   uint64              // how many numbers each mark skips
	Given  [stream.Streams]int // operations that were put into each stream
	Calls  [stream.Streams]int // calls of Copy
	Marks  [stream.Streams]uint64

	passed [stream.Streams]uint64
	work   [stream.Streams][]work
}

// work is an operation that the fake GPU has not carried out.
type work struct {
	mark uint64 // the mark after it
	do   func()
}

var _ stream.Memory = (*Memory)(nil)

// Pass carries out the work of a stream up to a mark.
func (m *Memory) Pass(s stream.Stream, mark uint64) {
	for len(m.work[s]) > 0 && m.work[s][0].mark <= mark {
		do := m.work[s][0].do
		m.work[s] = m.work[s][1:]
		do()
	}
	m.passed[s] = mark
}

// Run carries out all work that has a mark after it.
func (m *Memory) Run() {
	for s := range m.work {
		m.Pass(stream.Stream(s), m.Marks[s])
	}
}

// put adds work to a stream, which Pass carries out even if Err makes put fail.
func (m *Memory) put(s stream.Stream, do func()) error {
	m.Given[s]++
	m.work[s] = append(m.work[s], work{m.Marks[s] + 1, do})
	return m.Err
}

// Holds returns false: no address is GPU memory.
func (m *Memory) Holds(unsafe.Pointer, uint64) bool { return false }

// Pin returns n zero bytes of the Go heap. Unpin leaves them to the garbage collector.
func (m *Memory) Pin(n uint64) (unsafe.Pointer, error) {
	return unsafe.Pointer(unsafe.SliceData(make([]byte, n))), m.Err
}

// Unpin only returns Err.
func (m *Memory) Unpin(unsafe.Pointer) error { return m.Err }

// MaxStores returns the number that the test has set.
func (m *Memory) MaxStores() uint64 { return m.Stores }

// Atomics returns the set of operations that the test has set.
func (m *Memory) Atomics() uint64 { return m.Ops }

// Close only returns Err.
func (m *Memory) Close() error { return m.Err }

// Copy puts copies into a stream, each of which is done when Pass has come to it.
func (m *Memory) Copy(s stream.Stream, copies []stream.Copy) error {
	m.Calls[s]++
	for _, c := range copies {
		if err := m.put(s, func() { mem.Copy(c.To, c.From, int(c.N)) }); err != nil {
			return err
		}
	}
	return nil
}

// Write puts a store of value into a stream.
func (m *Memory) Write(s stream.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	return m.put(s, func() { mem.Store(at, width, value) })
}

// Atomic puts an atomic operation into a stream. Where old is not nil, it gets the old value.
func (m *Memory) Atomic(s stream.Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error {
	return m.put(s, func() {
		value := mem.Apply(op, at, width, operand, compare)
		if old != nil {
			mem.Store(old, width, value)
		}
	})
}

// Mark returns the number of a mark after all work of a stream. Skip numbers before it are unused.
func (m *Memory) Mark(s stream.Stream) (uint64, error) {
	m.Marks[s] += 1 + m.Skip
	return m.Marks[s], m.Err
}

// Marked returns the last mark up to which Pass has carried out the work of a stream; 0: none.
func (m *Memory) Marked(s stream.Stream) (uint64, error) { return m.passed[s], m.Err }

// Engine is the engine of a stream.Set.
type Engine struct {
	Words layout.State
	Err   error // of Fatal
	Wakes int
}

// Shared returns what streams share with it.
func (e *Engine) Shared() stream.Engine {
	return stream.Engine{State: &e.Words, Fatal: func(err error) { e.Err = err }, Wake: func() { e.Wakes++ }}
}
