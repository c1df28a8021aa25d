package stream_test

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
)

// notingMemory keeps the last list of copies.
type notingMemory struct {
	*streamtest.Memory
	last []stream.Copy
}

func (m *notingMemory) Copy(s stream.Stream, copies []stream.Copy) error {
	m.last = append(m.last[:0], copies...)
	return m.Memory.Copy(s, copies)
}

// joined reports whether the last copies are neighbours on both sides.
func (m *notingMemory) joined() bool {
	for i := 1; i < len(m.last); i++ {
		a, b := &m.last[i-1], &m.last[i]
		if uintptr(b.To)-uintptr(a.To) != uintptr(a.N) || uintptr(b.From)-uintptr(a.From) != uintptr(a.N) {
			return false
		}
	}
	return len(m.last) > 1
}

// Bytes of neighbours that come in any order are packed in their order, in memory that is used
// again when the stream has read it. Others stay where they are.
func TestAside(t *testing.T) {
	const pieces, n, slot = 10, 100, 256
	m := &notingMemory{Memory: new(streamtest.Memory)}
	s := stream.New(new(streamtest.Engine).Shared(), m, 1000)
	packed := make([]byte, 3*1024+512) // of three turns of 1,024 bytes
	s.Aside(stream.In, unsafe.Pointer(&packed[0]), uint64(len(packed)))
	rng := rand.New(rand.NewPCG(1, 2))
	slots, heap := make([]byte, pieces*slot), make([]byte, 2*pieces*n)
	puts := func(distance int, order []int) {
		for i := range slots {
			slots[i] = byte(rng.Uint32())
		}
		clear(heap)
		for i, k := range order {
			s.CopyBytes(stream.In, unsafe.Pointer(&heap[k*distance]), unsafe.Pointer(&slots[i*slot]), n)
		}
		s.Mark()
	}
	done := func(distance int, order []int) {
		t.Helper()
		m.Run()
		s.Follow()
		for i, k := range order {
			if string(heap[k*distance:][:n]) != string(slots[i*slot:][:n]) {
				t.Fatalf("bytes of put %d are wrong", i)
			}
		}
	}
	for turn := range 20 {
		order := rng.Perm(pieces)
		if puts(n, order); !m.joined() {
			t.Errorf("turn %d: %+v", turn, m.last)
		}
		done(n, order)
	}
	order := rng.Perm(pieces)
	if puts(2*n, order); m.joined() || m.last[0].From != unsafe.Pointer(&slots[0]) {
		t.Errorf("pieces that are no neighbours: %+v", m.last)
	}
	done(2*n, order)
	for range 3 {
		puts(n, order)
	}
	if puts(n, order); m.joined() {
		t.Error("bytes are packed into memory that the stream has not read")
	}
	done(n, order)
	s.CopyBytes(stream.In, unsafe.Pointer(&heap[0]), unsafe.Pointer(&slots[0]), n)
	for i := range 9 {
		s.CopyBytes(stream.In, unsafe.Pointer(&heap[50+i*n]), unsafe.Pointer(&slots[(1+i)*slot]), n) // the first over the one before
	}
	if s.Mark(); m.last[0].From != unsafe.Pointer(&slots[0]) {
		t.Errorf("pieces that overlap: %+v", m.last)
	}
	m.Run()
	if s.Follow(); string(heap[50:150]) != string(slots[slot:][:n]) {
		t.Error("of two puts to one place the first one has won")
	}
}
