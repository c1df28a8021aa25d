package proxy

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/early"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
)

// TestEarlyMemory has all other PEs of a job send as many messages as they have credit for, and the
// first message of each PE is late, so that all others are kept. Their memory is bounded by the
// credits of all PEs together, whatever the size of a message. When the first messages come, all
// are applied.
func TestEarlyMemory(t *testing.T) {
	cases := []struct{ npes, size int }{{256, 136}, {1000, 136}, {1000, layout.MessageSize}}
	if !need.Left("early messages") {
		cases = append(cases, []struct{ npes, size int }{
			{16, layout.HeaderSize}, {256, layout.HeaderSize}, {256, 300}, {1000, layout.HeaderSize}, {1000, 1024}, {10_000, 136},
		}...)
	}
	for _, c := range cases {
		b := openReceiverOf(t, c.npes, fabric.Caps{SendAfterWrite: true})
		units, unit := creditUnits(c.npes)
		b.State.Window, b.State.Unit = units, unit
		each := uint32(uint64(units) / b.State.Cost(c.size))
		if need.Race {
			each = min(each, 20)
		}
		m := make([]byte, layout.MessageSize)
		h := (*layout.Header)(unsafe.Pointer(&m[0]))
		take := func(pe int, seq uint32) {
			*h = layout.Header{Kind: layout.KindPut, From: uint32(pe), Seq: seq, Offset: libshmem.Offset(seq % 64)}
			b.Receive(h, unsafe.Pointer(h), c.size)
		}
		for seq := uint32(2); seq <= each+1; seq++ {
			for pe := 1; pe < c.npes; pe++ {
				take(pe, seq)
			}
		}
		credits := (c.npes - 1) * int(units) << unit
		if promised := max(allBytes, c.npes*leastBytes); credits > promised {
			t.Errorf("%d PEs have credits of %d KiB, more than the promised %d", c.npes, credits>>10, promised>>10)
		}
		kept, bytes := b.Early.Len(), b.Early.Bytes()
		t.Logf("%d PEs, messages of %d bytes: %d are kept in %d KiB, for credits of %d KiB", c.npes, c.size, kept, bytes>>10, credits>>10)
		if want := (c.npes - 1) * int(each); kept != want {
			t.Errorf("%d messages are kept, want %d", kept, want)
		}
		if bytes > credits*8/5 {
			t.Errorf("%d PEs, messages of %d bytes: %d KiB are kept, more than 1.6 times the credits of all PEs, %d KiB",
				c.npes, c.size, bytes>>10, credits>>10)
		}
		for pe := 1; pe < c.npes; pe++ {
			if take(pe, 1); b.Peers[pe].Received != each+1 {
				t.Fatalf("%d messages of PE %d of %d were applied, want %d", b.Peers[pe].Received, pe, c.npes, each+1)
			}
		}
		if n, held := b.Early.Len(), b.Early.Bytes(); n != 0 || held > 1<<20 {
			t.Errorf("%d messages are kept at the end, and %d KiB", n, held>>10)
		}
		b.fails(t, "")
	}
}

// TestBlockOfCredit: no unit of credit is smaller than the blocks in which early messages are kept.
func TestBlockOfCredit(t *testing.T) {
	for n := 1; n < 3<<20; n += 1 + n/50 {
		if _, unit := creditUnits(n); 1<<unit < early.BlockSize {
			t.Errorf("%d PEs: a unit of credit has %d bytes, a block %d", n, 1<<unit, early.BlockSize)
		}
	}
}
