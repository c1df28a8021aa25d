package queue_test

import (
	"encoding/binary"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"libshmem/queue"
)

// fenced maps n bytes, whole pages, between two inaccessible pages.
func fenced(t testing.TB, n int) unsafe.Pointer {
	t.Helper()
	page := os.Getpagesize()
	n = (n + page - 1) / page * page
	b, err := syscall.Mmap(-1, 0, n+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{b[:page], b[page+n:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Pointer(&b[page])
}

// FuzzNext puts any bits into the slots, between pages that cannot be read: the ring always goes on
// by the operation's slots, or reports that nothing is there, and fields are never larger than the
// table says.
func FuzzNext(f *testing.F) {
	line := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	const lap = 1 << 63
	f.Add(uint64(0), []byte{})
	f.Add(uint64(0), line(lap|3, lap, lap|1<<40, lap, lap, lap))     // a put_signal
	f.Add(uint64(255), line(lap|3, lap, 1, lap, lap, lap))           // torn, across the end
	f.Add(^uint64(0), line(3, 0, 0, 0, 0, 0, lap|31, lap))           // a lap later, and a code that does not exist
	f.Add(uint64(300), line(^uint64(0)))                             // all ones
	f.Add(uint64(254), line(lap|8|1<<47|0xffff<<31, lap, lap, lap))  // an answer to a place that does not exist
	f.Add(uint64(1)<<63, line(lap|7, lap|1<<62, lap|9, lap, lap|10)) // an odd number of words
	const n = queue.MinSlots
	memory := queue.Memory{Slots: fenced(f, queue.SlotBytes(n)), Line: &queue.Progress{}, Replies: fenced(f, queue.ReplyBytes)}
	slots := unsafe.Slice((*byte)(memory.Slots), queue.SlotBytes(n))
	f.Fuzz(func(t *testing.T, start uint64, data []byte) {
		clear(slots)
		for at := 0; len(data) > 0 && at < len(slots); {
			at += copy(slots[at:], data)
		}
		r, batch := queue.NewAt(memory, n, start), queue.NewAt(memory, n, start)
		var op queue.Op
		ops := make([]queue.Op, 1+start%100)
		for batch.Read(ops) > 0 {
		}
		for steps := 0; ; steps++ {
			if steps > n {
				t.Fatalf("%d operations in %d slots", steps, n)
			}
			p := r.Position()
			found := r.Next(&op)
			moved := r.Position() - p
			switch found {
			case queue.Empty:
				r.StoredAhead(n)
				if moved != 0 || p != batch.Position() {
					t.Fatalf("moved by %d over nothing at %d, in batches to %d", moved, p, batch.Position())
				}
				return
			case queue.Unknown:
				if moved != 1 || queue.SlotsOf(op.Code) != 0 {
					t.Fatalf("moved by %d over %v", moved, op.Code)
				}
			case queue.Found:
				if moved == 0 || moved != uint64(queue.SlotsOf(op.Code)) {
					t.Fatalf("moved by %d over %v", moved, op.Code)
				}
				if op.PE >= 1<<20 || op.Dest >= 1<<44 || op.Length >= 1<<44 || op.SignalAt >= 1<<44 || op.Context >= 1<<12 ||
					op.Kind >= 16 || op.Width >= 4 || op.Size >= 32 || op.Want > 1 {
					t.Fatalf("fields are too large: %+v", op)
				}
				again := op
				r.Unread(&op)
				if r.Next(&op) != queue.Found || op != again {
					t.Fatalf("read again: %+v, before %+v", op, again)
				}
				if op.Want != 0 {
					r.Reply(op.Reply, 1, 0)
				}
				r.Publish()
			default:
				t.Fatalf("result %d", found)
			}
		}
	})
}
