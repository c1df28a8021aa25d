package proxy

import (
	"testing"
	"time"
	"unsafe"

	"libshmem/runtime/proxy/gpustage/stream"
)

// TestUndone: the work that a stream does not carry out is shown with its purpose, its bytes and
// its age. It is no longer shown when it is done.
func TestUndone(t *testing.T) {
	m, g := modes[0], gpuModels["atomics"]
	m.gpus = &g
	j := newJob(t, m, 1, 2, 1<<16)
	a, b := j.pes[0], j.pes[1]
	if got := append(a.stage.Undone(nil), b.stage.Undone(nil)...); len(got) != 0 {
		t.Errorf("nothing was asked for, and %v is undone", got)
	}
	b.card.stands = true
	host := make([]byte, 1000)
	copy(host, "bytes")
	req := new(Request)
	a.post(func() Status { return a.Put(1, 0, unsafe.Pointer(&host[0]), uint64(len(host)), req) })
	for range 1000 {
		a.poll()
		b.poll()
	}
	got := b.stage.Undone(nil)
	const what = "for a put, a signal or an atomic operation of PE 0"
	if len(got) != 1 || got[0].Stream != stream.In || got[0].Bytes != uint64(len(host)) || got[0].For != what {
		t.Fatalf("undone: %+v", got)
	}
	if text := got[0].String(); text != "1 operation with 1000 bytes on GPU memory, the oldest "+what {
		t.Errorf("it says %s", text)
	}
	b.Report.Show()
	time.Sleep(time.Millisecond)
	if s := b.Report.Show().Undone; len(s) != 1 || s[0].Bytes != uint64(len(host)) || s[0].For != what || s[0].Age < time.Millisecond {
		t.Errorf("shown to others: %+v", s)
	}
	b.card.stands = false
	j.drain()
	if got := b.stage.Undone(nil); len(got) != 0 {
		t.Errorf("all is done, and %v is not", got)
	}
	if s := b.Report.Show().Undone; len(s) != 0 {
		t.Errorf("all is done, and shown to others: %+v", s)
	}
	j.close()
}
