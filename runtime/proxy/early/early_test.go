package early

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
)

const most = 4096

func text(from, seq uint32, n int) []byte { return bytes.Repeat([]byte{byte(from), byte(seq)}, n/2) }

// TestMessages keeps messages of two PEs out of their order and gets each of them back.
func TestMessages(t *testing.T) {
	m := New(most)
	for seq := uint32(9); seq > 2; seq-- {
		for from := range uint32(2) {
			m.Keep(from, seq, text(from, seq, 64*int(seq)))
		}
	}
	if m.Len() != 14 {
		t.Errorf("%d messages are kept", m.Len())
	}
	if m.Has(0, 2) || m.Begin(0, 2) != nil || !m.Has(1, 3) {
		t.Error("other messages are kept")
	}
	m.Drop(1)
	for seq := uint32(3); seq < 10; seq++ {
		if got, want := m.Begin(0, seq), text(0, seq, BlockSize); !bytes.Equal(got, want) {
			t.Errorf("message %d begins with %v", seq, got)
		}
		got := m.Remove(0, seq)
		m.Keep(0, seq+100, text(7, 7, 64*int(seq))) // it must not take memory that is in use
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
	m := New(most)
	for i, n := range []int{56, 128, 300, most} {
		seq := uint32(i)
		m.Keep(1, seq, text(1, seq, n))
		got := m.Remove(1, seq)
		if !bytes.Equal(got, text(1, seq, n)) {
			t.Errorf("a message of %d bytes is another one", n)
		}
		m.Reuse(got)
	}
}

// TestReuse keeps 100 messages at a time, of changing sizes, without allocating.
func TestReuse(t *testing.T) {
	m := New(most)
	message := text(1, 2, most)
	seq := uint32(0)
	round := func() {
		seq++
		m.Keep(1, seq, message[:1+seq*977%most])
		if seq > 100 {
			m.Reuse(m.Remove(1, seq-100))
		}
	}
	for range 2000 {
		round()
	}
	if n := testing.AllocsPerRun(2000, round); n > 0 {
		t.Errorf("%v allocations a message", n)
	}
}

// TestRandom compares Messages with a map, over random calls that keep up to some 6,000 messages.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m, want := New(most), map[[2]uint32][]byte{}
	var keys [][2]uint32 // of want, and of some that are not kept any more
	for i := range 60_000 {
		grows := i/15_000%2 == 0
		switch n := rng.IntN(100); {
		case n < 60 && grows || n < 30:
			k := [2]uint32{uint32(rng.IntN(50)), uint32(i)}
			message := bytes.Repeat([]byte{byte(i), byte(i >> 8), byte(i >> 16)}, 200)[:1+rng.IntN(600)]
			m.Keep(k[0], k[1], message)
			keys, want[k] = append(keys, k), message
		case n == 99 && rng.IntN(20) == 0:
			from := uint32(rng.IntN(50))
			m.Drop(from)
			maps.DeleteFunc(want, func(k [2]uint32, _ []byte) bool { return k[0] == from })
		case len(keys) > 0:
			at := rng.IntN(len(keys))
			k := keys[at]
			keys[at] = keys[len(keys)-1]
			keys = keys[:len(keys)-1]
			if _, ok := want[k]; ok != m.Has(k[0], k[1]) {
				t.Fatalf("call %d: message %v is kept: %t", i, k, !ok)
			} else if !ok {
				continue
			}
			got := m.Remove(k[0], k[1])
			if !bytes.Equal(got, want[k]) {
				t.Fatalf("call %d: message %v is %v, want %v", i, k, got, want[k])
			}
			m.Reuse(got)
			delete(want, k)
		}
		if m.Len() != len(want) {
			t.Fatalf("call %d: %d messages are kept, want %d", i, m.Len(), len(want))
		}
	}
}

// heap returns the memory of Go that is in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestBytes keeps 8 MiB of messages of one size, then of another, with one of another PE beside
// them. The memory stays below 1.6 times the blocks, and Bytes tells all of it. Most of it is given
// back when no message is kept.
func TestBytes(t *testing.T) {
	const all = 8 << 20
	message := text(1, 2, most)
	before := heap()
	m := New(most)
	m.Keep(2, 0, message)
	last := uint32(0)
	for _, n := range []int{BlockSize, 2 * BlockSize, 3 * BlockSize, most, 3 * BlockSize, BlockSize} {
		begin := last
		for range all / n {
			last++
			m.Keep(1, last, message[:n])
		}
		held, told := heap()-before, m.Bytes()
		if told > (all+most)*8/5 || held > told+told/16 {
			t.Errorf("%d messages of %d bytes, %d KiB, take %d KiB, and Bytes tells %d KiB", m.Len(), n, all>>10, held>>10, told>>10)
		}
		for seq := begin; seq < last; seq++ {
			m.Reuse(m.Remove(1, seq+1))
		}
	}
	m.Drop(2)
	if held := heap() - before; m.Bytes() > 1<<20 || held > 1<<20 {
		t.Errorf("without a message %d KiB are held, and Bytes tells %d KiB", held>>10, m.Bytes()>>10)
	}
	runtime.KeepAlive(m)
}
