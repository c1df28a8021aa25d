package proxy

import (
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/queue/queuetest"
	"libshmem/runtime/proxy/fastpath/fastpathtest"
	"libshmem/runtime/proxy/loop"
)

// BenchmarkConsumer measures the cost of an operation for the proxy, from its slots in the ring to
// its completion, over a network without cost. It leaves out the storing of the slots.
func BenchmarkConsumer(b *testing.B) {
	caps := fabric.Caps{
		MaxMessage: 1 << 30, MaxInject: 64, WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true,
	}
	b.Run("go", func(b *testing.B) { benchConsumer(b, newNull(b, benchPEs, caps)) })
	b.Run("c", func(b *testing.B) { benchConsumer(b, newNullOn(b, fastpathtest.NewNull(nil, caps), benchPEs)) })
}

const benchPEs = 9

func benchConsumer(b *testing.B, e *Engine) {
	const npes, batch = benchPEs, 512
	heap := uint64(uintptr(e.ops.Net.Segment.Base))
	for _, row := range []struct {
		name string
		op   queue.Op
	}{
		{"p4", queue.Op{Code: queue.CodeP, Dest: internal, Width: 2, Value: 7}},
		{"p8", queue.Op{Code: queue.CodePWide, Dest: internal, Value: 7}},
		{"p16", queue.Op{Code: queue.CodePBytes, Dest: internal, Size: 16, Value: 7}},
		{"add", queue.Op{Code: queue.CodeAMO, Dest: internal, Kind: uint8(fabric.OpAdd), Width: 3, Value: 1}},
		{"put8", queue.Op{Code: queue.CodePut, Dest: internal, Local: heap, Length: 8}},
		{"put4096", queue.Op{Code: queue.CodePut, Dest: internal, Local: heap, Length: 4096}},
		{"put4096_signal", queue.Op{Code: queue.CodePutSignal, Dest: internal, Local: heap, Length: 4096, Kind: uint8(fabric.OpAdd), Signal: 1, SignalAt: internal + 8192}},
		{"put8_signal", queue.Op{Code: queue.CodePutSignal, Dest: internal, Local: heap, Length: 8, Kind: uint8(fabric.OpAdd), Signal: 1, SignalAt: internal + 8192}},
		{"nop", queue.Op{Code: queue.CodeNop}},
	} {
		b.Run(row.name, func(b *testing.B) {
			rig := queuetest.New(4096, 0)
			ring, err := queue.New(rig.Memory(), 4096)
			if err != nil {
				b.Fatal(err)
			}
			c := loop.NewConsumer(e, []*queue.Ring{ring}, loop.NewLocals(), func(err error) { b.Error(err) })
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += batch {
				b.StopTimer()
				op := row.op
				for i := range batch {
					op.PE = 1 + uint32(i)%(npes-1)
					rig.Push(&op)
				}
				head := rig.Near.Head
				b.StartTimer()
				for rig.Line.Tail != head || c.Holds() {
					if _, held, err := c.RunInC(time.Second, 0); err != nil {
						b.Fatal(err)
					} else if held {
						e.Unlock()
					}
					c.Drain()
					if _, err := e.Poll(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			for t := e.QuietBegin(); e.QuietDone(t) == Pending; {
				if _, err := e.Poll(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
