package proxy

import "testing"

// Of a batch in which something is bad, what stands before it is done and nothing
// behind it.
func TestBadBatch(t *testing.T) {
	const heap = 4096
	record := func(h header, payload string) string {
		return string(encoded(h, "")[:recordSize]) + payload
	}
	store := func(at int64) string { return record(header{Kind: kindStore, Width: 8, Offset: at, Operand: 7}, "") }
	for what, bad := range map[string]string{
		"store outside":       store(heap),
		"store of 3 bytes":    record(header{Kind: kindStore, Width: 3}, ""),
		"atomic not aligned":  record(header{Kind: kindAMO, Op: OpAdd, Width: 8, Offset: 4}, ""),
		"put outside":         record(header{Kind: kindPut, Offset: heap - 7, Token: 8}, "12345678"),
		"put of more":         record(header{Kind: kindPut, Token: 600}, "12345678"),
		"put_signal outside":  record(header{Kind: kindPutSignal, Op: OpSet, Offset: heap, Token: 8, Extra: 8}, "12345678"),
		"no such signal":      record(header{Kind: kindPutSignal, Op: OpSet, Offset: 8, Token: 8, Extra: heap}, "12345678"),
		"fetch":               record(header{Kind: kindAMO, Op: OpFetchAdd, Width: 8, Fetch: 1}, ""),
		"batch":               record(header{Kind: kindBatch}, ""),
		"half a store":        store(8)[:recordSize/2],
		"stranger to batches": record(header{Kind: kindFlush}, ""),
	} {
		j := newJob(t, modes[0], 1, 2, heap)
		a := j.pes[0]
		a.takeBack()
		batch := store(16) + bad
		if len(bad)%8 == 0 && len(bad) >= recordSize {
			batch += store(24) + store(heap)
		}
		a.deliver(encoded(header{Kind: kindBatch, From: 1, Seq: 1}, batch))
		if len(a.fatals) != 1 {
			t.Errorf("%s: %q, want one error", what, a.fatals)
		}
		want := make([]byte, 32)
		want[16] = 7
		differ(t, what, a.heap[:32], want)
	}
}
