package gpustage

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/statuspage"
)

// streams are those of this PE's GPU, and what they were asked for.
type streams struct {
	memory     Memory // nil: this PE has no GPU
	fatal      func(error)
	driverCall atomic.Uint64 // see runs
	tracks     [Streams]track
	tallies    [Streams]tally
}

// copyGPU, writeGPU and atomicGPU ask a stream for something.

func (s *streams) copyGPU(on Stream, to, from unsafe.Pointer, n uint64) {
	s.gone(s.memory.Copy(on, to, from, n))
	s.gave(on, n)
}

func (s *streams) writeGPU(on Stream, at unsafe.Pointer, width uint8, value uint64) {
	s.gone(s.memory.Write(on, at, width, value))
	s.gave(on, uint64(width))
}

func (s *streams) atomicGPU(on Stream, at unsafe.Pointer, h *layout.Header, old unsafe.Pointer) {
	s.gone(s.memory.Atomic(on, at, h.Op, h.Width, h.Operand, h.Extra, old))
	s.gave(on, uint64(h.Width))
}

func (s *streams) gave(on Stream, n uint64) { s.tracks[on].add(n, s.driverCall.Load()) }

// gone is for an operation of the GPU's that could not be asked for, or a stream
// that failed: nothing is known of its memory any more.
func (s *streams) gone(err error) {
	if err != nil {
		s.fatal(fmt.Errorf("GPU memory: %w", err))
	}
}

// storable reports whether bytes are there sooner word by word than by a copy.
func (s *streams) storable(at unsafe.Pointer, n int) bool {
	odd := int(uintptr(at) & 4)
	return (uintptr(at)|uintptr(n))&3 == 0 && uint64(n+odd+7)/8 <= s.memory.Words()
}

func (s *streams) storeWords(on Stream, at, payload unsafe.Pointer, n int) {
	for i := 0; i < n; {
		to, w := unsafe.Add(at, i), 8
		if uintptr(to)&7 != 0 || n-i < 8 {
			w = 4
		}
		s.writeGPU(on, to, uint8(w), mem.Load(unsafe.Add(payload, i), w))
		i += w
	}
}

// runs notes what the next call of the driver is for; pe means nothing where the call is for no
// PE. It comes before each call: while the driver holds a call, the caller has the engine's lock,
// and reports can only read what was noted.
func (s *streams) runs(w backlog.Call, pe fabric.PE) {
	s.driverCall.Store(uint64(w)<<32 | uint64(uint32(pe)))
}

// DriverCall is what the engine asked the driver for last, to continue a sentence about a
// call of the driver; "" where it has asked for nothing. Any thread may ask, and
// needs no lock for it.
func (s *streams) DriverCall() string {
	return backlog.CallText(s.driverCall.Load())
}

// Undone appends what this PE's streams of an engine have not carried out. Any thread may ask, and
// needs no lock for it; what it learns of a stream that goes on is of several moments.
func (s *streams) Undone(to []backlog.Work) []backlog.Work {
	for i := range s.tallies {
		t := &s.tallies[i]
		if ops, bytes := t.left(); ops > 0 {
			to = append(to, backlog.Work{Stream: Stream(i), Passed: t.passed.Load(), Ops: ops, Bytes: bytes, For: backlog.CallText(t.oldest.Load())})
		}
	}
	return to
}

// Show brings what other processes see of the streams up to date.
func (s *streams) Show(to *[Streams]backlog.Shown) {
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
