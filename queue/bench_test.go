package queue_test

import (
	"testing"

	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// BenchmarkRead measures decoding with the slots in the cache: each operation is decoded and its
// fields are summed.
func BenchmarkRead(b *testing.B) {
	const slots = 4096
	for _, row := range []struct {
		name string
		op   queue.Op
	}{
		{"p", queue.Op{Code: queue.CodeP, PE: 3, Dest: 64, Width: 2, Value: 7}},
		{"put", queue.Op{Code: queue.CodePut, PE: 3, Dest: 64, Local: 1 << 40, Length: 4096}},
		{"put_signal", queue.Op{Code: queue.CodePutSignal, PE: 3, Dest: 64, Local: 1 << 40, Length: 4096, Kind: 1, Signal: 9, SignalAt: 8}},
	} {
		b.Run(row.name, func(b *testing.B) {
			rig := queuetest.New(slots, 0)
			ring, err := queue.New(rig.Memory(), slots)
			if err != nil {
				b.Fatal(err)
			}
			var ops [64]queue.Op
			b.ReportAllocs()
			var sum uint64
			for done := 0; done < b.N; {
				b.StopTimer()
				for range 1024 {
					rig.Push(&row.op)
				}
				b.StartTimer()
				for {
					n := ring.Read(ops[:])
					if n == 0 {
						break
					}
					for i := range ops[:n] {
						op := &ops[i]
						sum += uint64(op.Code) + uint64(op.PE) + op.Dest + uint64(op.Context) + op.Value + op.Length
					}
					ring.Publish()
					done += n
				}
			}
			if sum == 0 {
				b.Error("nothing was decoded")
			}
		})
	}
}
