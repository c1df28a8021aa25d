package early

import (
	"bytes"
	"testing"
)

const most = 4096

func text(from, seq uint32, n int) []byte { return bytes.Repeat([]byte{byte(from), byte(seq)}, n/2) }

// TestMessages keeps messages of two PEs out of their order and gets each of them back.
func TestMessages(t *testing.T) {
	m := New()
	for seq := uint32(9); seq > 2; seq-- {
		for from := range uint32(2) {
			m.Keep(from, seq, text(from, seq, 64*int(seq)), most)
		}
	}
	if m.Len() != 14 || m.Bytes() != 2*64*(3+4+5+6+7+8+9) {
		t.Errorf("%d messages of %d bytes are kept", m.Len(), m.Bytes())
	}
	if m.Has(0, 2) || m.Get(0, 2) != nil || !m.Has(1, 3) {
		t.Error("other messages are kept")
	}
	m.Drop(1)
	for seq := uint32(3); seq < 10; seq++ {
		got := m.Get(0, seq)
		m.Take(0, seq)
		m.Keep(0, seq+100, text(7, 7, 64*int(seq)), most) // it must not take memory that is in use
		if !bytes.Equal(got, text(0, seq, 64*int(seq))) {
			t.Errorf("message %d is another one", seq)
		}
		m.Reuse(got[:2]) // the next may be longer
		if m.Has(0, seq) || m.Has(1, seq) {
			t.Errorf("message %d is still kept", seq)
		}
	}
}

// TestLongerThanBefore keeps a message in memory that was a shorter one's.
func TestLongerThanBefore(t *testing.T) {
	m := New()
	for i, n := range []int{56, 128, 300, most} {
		seq := uint32(i)
		m.Keep(1, seq, text(1, seq, n), most)
		got := m.Get(1, seq)
		if m.Take(1, seq); !bytes.Equal(got, text(1, seq, n)) {
			t.Errorf("a message of %d bytes is another one", n)
		}
		m.Reuse(got)
	}
}

// TestReuse keeps one message after another, of both sizes, without allocating.
func TestReuse(t *testing.T) {
	m := New()
	small, large := text(1, 2, 64), text(3, 4, most)
	seq := uint32(0)
	round := func() {
		for _, message := range [][]byte{small, large} {
			seq++
			m.Keep(1, seq, message, most)
			got := m.Get(1, seq)
			m.Take(1, seq)
			m.Reuse(got)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
}
