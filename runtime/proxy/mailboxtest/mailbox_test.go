package mailboxtest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	guard = 4096
	fence = 0x5a
)

// fenced is a mailbox with other memory around it.
type fenced struct {
	all, box []byte
}

func newFenced(ring int) *fenced {
	all := bytes.Repeat([]byte{fence}, Bytes(ring)+2*guard)
	f := &fenced{all, all[guard : len(all)-guard]}
	clear(f.box)
	return f
}

func (f *fenced) whole(t *testing.T) {
	t.Helper()
	for _, b := range slices.Concat(f.all[:guard], f.all[len(f.all)-guard:]) {
		if b != fence {
			t.Fatal("memory around the mailbox has changed")
		}
	}
}

// record is a message on its way: its header and bytes are in place, its mark is not.
type record struct {
	at    int
	mark  uint64
	tag   int
	bytes []byte
}

// TestRandom lets a sender place random messages, whose marks come in any order, and a receiver
// take them by random tags. Each is taken once, the first ones sent first, and nothing
// outside of the mailbox changes; a sender that has waited for all of its credit has room again.
func TestRandom(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		ring := 64 << rng.IntN(11)
		f := newFenced(ring)
		r := New(f.box, ring)
		var sent, credit, taken uint64
		var coming, waiting []*record // waiting: in the order of the sender
		post := func() bool {
			c := &record{tag: rng.IntN(4)}
			kind, n := Whole, rng.IntN(Short(ring)+1)
			if rng.IntN(3) > 0 {
				n = rng.IntN(min(100, Short(ring)+1))
			}
			size := uint64(n)
			if rng.IntN(8) == 0 {
				kind, n, size = Request, RequestBytes, rng.Uint64N(1<<48)
			}
			c.mark = Mark(kind, size)
			span := Span(c.mark, ring)
			at, fits := Place(sent, credit, span, ring)
			if !fits {
				return false
			}
			c.at, c.bytes = at, make([]byte, n)
			for i := range c.bytes {
				c.bytes[i] = byte(rng.Uint32() | 1) // never 0: what stays of it would look like a mark
			}
			sent += uint64(span)
			head := f.box[c.at:]
			binary.NativeEndian.PutUint32(head[8:], uint32(c.tag))
			binary.NativeEndian.PutUint32(head[12:], uint32(taken))
			copy(head[HeaderBytes:], c.bytes)
			coming, waiting = append(coming, c), append(waiting, c)
			return true
		}
		for range 2000 {
			switch rng.IntN(4) {
			case 0, 1:
				post()
			case 2:
				if len(coming) > 0 {
					i := rng.IntN(len(coming))
					binary.NativeEndian.PutUint64(f.box[coming[i].at:], coming[i].mark)
					coming = slices.Delete(coming, i, i+1)
				}
			case 3:
				tag := rng.IntN(5) - 1
				want := -1
				for i, c := range waiting { // those behind one that has not come are not seen
					if slices.Contains(coming, c) {
						break
					}
					if tag == Any || tag == c.tag {
						want = i
						break
					}
				}
				m, _, damaged := r.Find(tag)
				if damaged || (m == nil) != (want < 0) {
					t.Fatalf("seed %d: found %v, damaged %v, want the message at %d of %d", seed, m, damaged, want, len(waiting))
				}
				if m == nil {
					continue
				}
				c := waiting[want]
				if m.At != c.at || m.Tag != c.tag || Mark(m.Kind, m.Size) != c.mark || !bytes.Equal(r.Bytes(m), c.bytes) {
					t.Fatalf("seed %d: found %+v, want the message at %d with tag %d", seed, m, c.at, c.tag)
				}
				waiting = slices.Delete(waiting, want, want+1)
				credit += r.Take(m)
				taken++
			}
			if sent-credit > uint64(ring) {
				t.Fatalf("seed %d: %d bytes are under way in a ring of %d", seed, sent-credit, ring)
			}
		}
		for _, c := range coming {
			binary.NativeEndian.PutUint64(f.box[c.at:], c.mark)
		}
		for range waiting {
			m, _, _ := r.Find(Any)
			credit += r.Take(m)
		}
		if m, others, damaged := r.Find(Any); m != nil || others != 0 || damaged {
			t.Fatalf("seed %d: an empty mailbox has %v, %d others, damaged %v", seed, m, others, damaged)
		}
		if sent-credit >= uint64(ring)/4 {
			t.Fatalf("seed %d: %d of %d bytes are not given back", seed, sent-credit, ring)
		}
		if longest := Span(Mark(Whole, uint64(Short(ring))), ring); longest > 0 {
			if _, fits := Place(sent, credit, longest, ring); !fits {
				t.Fatalf("seed %d: there is no room for the longest message in an empty mailbox", seed)
			}
		}
		for at := 0; at < ring; at += Line {
			if binary.NativeEndian.Uint64(f.box[at:]) != 0 {
				t.Fatalf("seed %d: a mark is left at %d", seed, at)
			}
		}
		f.whole(t)
	}
}

// TestMarks: sizes at the limits of a mailbox.
func TestMarks(t *testing.T) {
	for ring := 64; ring <= 64<<10; ring *= 2 {
		short, longest := uint64(Short(ring)), max(64, min(ring/4, 4032))
		fits := func(span int) int { // or none
			if span <= longest {
				return span
			}
			return 0
		}
		for _, c := range []struct {
			mark uint64
			span int
		}{
			{0, 0}, {Mark(Whole, 0), 64}, {Mark(Whole, 48), 64}, {Mark(Whole, 49), fits(128)},
			{Mark(Whole, short), longest}, {Mark(Whole, short+1), 0}, {Mark(Whole, 1<<56-1), 0},
			{Mark(Request, 0), 64}, {Mark(Request, 1<<48-1), 64}, {Mark(Request|Whole, 1), 0},
			{Mark(Whole, 1) | 8, 0}, {Mark(Whole, 1) | 0x80, 0},
		} {
			if got := Span(c.mark, ring); got != c.span {
				t.Errorf("ring of %d: mark %#x takes %d bytes, want %d", ring, c.mark, got, c.span)
			}
		}
	}
}

// FuzzFind: whatever a mailbox holds, a search ends, and finds nothing outside of it.
func FuzzFind(f *testing.F) {
	f.Add(uint16(0), []byte{})
	f.Add(uint16(3), binary.NativeEndian.AppendUint64(nil, Mark(Whole, 200)))
	f.Add(uint16(15), binary.NativeEndian.AppendUint64(nil, Mark(Whole, 1000)|4))
	f.Add(uint16(15), binary.NativeEndian.AppendUint64(nil, Mark(Request, 1<<47)))
	f.Fuzz(func(t *testing.T, line uint16, marks []byte) {
		const ring = 4096
		m := newFenced(ring)
		for at := 0; at < ring && len(marks) >= 8; at += Line {
			copy(m.box[at:], marks[:8])
			marks = marks[8:]
		}
		r := New(m.box, ring)
		r.head = uint64(line) % (ring / Line) * Line
		r.returned = r.head
		for range ring / Line {
			found, others, _ := r.Find(Any)
			if others != 0 {
				t.Fatalf("it passes over %d", others)
			}
			if found == nil {
				break
			}
			r.Bytes(found) // panics outside
			if span := Span(Mark(found.Kind, found.Size), ring); span == 0 || found.At+span > len(m.box) {
				t.Fatalf("found %+v", found)
			}
			r.Take(found)
		}
		m.whole(t)
	})
}
