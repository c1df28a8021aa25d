package proxy

import (
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// In a batch with a bad operation, the operations before it are done, and those behind it are not.
func TestBadBatch(t *testing.T) {
	const heap = 4096
	record := func(h layout.Header, payload string) string {
		return string(encoded(h, "")[:layout.RecordSize]) + payload
	}
	store := func(at libshmem.Offset) string {
		return record(layout.Header{Kind: layout.KindStore, Width: 8, Offset: at, Operand: 7}, "")
	}
	for what, bad := range map[string]string{
		"store outside":       store(heap),
		"store of 3 bytes":    record(layout.Header{Kind: layout.KindStore, Width: 3}, ""),
		"atomic not aligned":  record(layout.Header{Kind: layout.KindAMO, Op: fabric.OpAdd, Width: 8, Offset: 4}, ""),
		"put outside":         record(layout.Header{Kind: layout.KindPut, Offset: heap - 7, Token: 8}, "12345678"),
		"put of more":         record(layout.Header{Kind: layout.KindPut, Token: 600}, "12345678"),
		"put_signal outside":  record(layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Offset: heap, Token: 8, Extra: 8}, "12345678"),
		"no such signal":      record(layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Offset: 8, Token: 8, Extra: heap}, "12345678"),
		"fetch":               record(layout.Header{Kind: layout.KindAMO, Op: fabric.OpFetchAdd, Width: 8, Fetch: 1}, ""),
		"batch":               record(layout.Header{Kind: layout.KindBatch}, ""),
		"half a store":        store(8)[:layout.RecordSize/2],
		"stranger to batches": record(layout.Header{Kind: layout.KindFlush}, ""),
	} {
		j := newJob(t, modes[0], 1, 2, heap)
		a := j.pes[0]
		a.takeBack()
		batch := store(16) + bad
		if len(bad)%8 == 0 && len(bad) >= layout.RecordSize {
			batch += store(24) + store(heap)
		}
		a.deliver(encoded(layout.Header{Kind: layout.KindBatch, From: 1, Seq: 1}, batch))
		if len(a.fatals) != 1 {
			t.Errorf("%s: %q, want one error", what, a.fatals)
		}
		want := make([]byte, 32)
		want[16] = 7
		differ(t, what, a.heap[:32], want)
	}
}
