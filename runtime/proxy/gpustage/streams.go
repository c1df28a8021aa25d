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

// streams are the streams of this PE's GPU, and the work that they were given.
type streams struct {
	memory     Memory // nil: this PE has no GPU
	fatal      func(error)
	driverCall atomic.Uint64 // see runs
	tracks     [Streams]track
	tallies    [Streams]tally
}

// copyGPU, writeGPU and atomicGPU put work into a stream.

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

// gone fails the job after an error of the GPU: the state of its memory is not known any more.
func (s *streams) gone(err error) {
	if err != nil {
		s.fatal(fmt.Errorf("GPU memory: %w", err))
	}
}

// storable reports whether stores word by word are quicker than a copy of the bytes.
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

// runs notes the purpose of the next driver call; pe has no meaning if the call is for no PE. It
// comes before each call: while the driver blocks a call, the calling thread holds the engine's
// lock, and reports can only read this note.
func (s *streams) runs(w backlog.Call, pe fabric.PE) {
	s.driverCall.Store(uint64(w)<<32 | uint64(uint32(pe)))
}

// DriverCall returns the purpose of the engine's last driver call, to continue a sentence about
// that call; "" before the first. Any thread may call it, without the lock.
func (s *streams) DriverCall() string {
	return backlog.CallText(s.driverCall.Load())
}

// Undone appends the work that this PE's streams of an engine have not carried out. Any thread may
// call it, without the lock. What it reads of a stream that goes on is of several moments.
func (s *streams) Undone(to []backlog.Work) []backlog.Work {
	for i := range s.tallies {
		t := &s.tallies[i]
		if ops, bytes := t.left(); ops > 0 {
			to = append(to, backlog.Work{Stream: Stream(i), Passed: t.passed.Load(), Ops: ops, Bytes: bytes, For: backlog.CallText(t.oldest.Load())})
		}
	}
	return to
}

// Show updates what other processes see of the streams.
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
