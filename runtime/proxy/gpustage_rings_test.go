package proxy

import (
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/queue"
)

// Operations from rings, also with C.
func TestPlayedStagedRings(t *testing.T) {
	for name, g := range gpuModels {
		for i, m := range modes {
			m.gpus = &g
			for _, m := range both(m) {
				t.Run(name+"/"+m.name, func(t *testing.T) { stagedRings(t, m, uint64(i+1)) })
			}
		}
	}
}

// stagedRings has PE 0 put parts of its GPU memory, with signals, elements and
// counts between, and get them back.
func stagedRings(t *testing.T, m mode, seed uint64) {
	const heap, rounds = 1 << 16, 20
	j := newRingJob(t, m, seed, 2, 1, heap)
	a, b := j.pes[0], j.pes[1]
	base := a.ops.Net.Segment.Internal
	var count, to, round, tail uint64
	var data, slots []byte
	n := 0
	ordered := func() {
		if got := binary.NativeEndian.Uint32(b.heap[40:]); got == uint32(round) && got != 0 {
			differ(t, "bytes when what a fence puts behind them is there", b.heap[int(to-base):int(to-base)+n], data)
		}
		if got := binary.NativeEndian.Uint64(b.heap[72:]); got == tail && got != 0 {
			differ(t, "bytes of slots when their signal is there", b.heap[48:48+len(slots)], slots)
		}
	}
	b.applied = ordered
	if b.card != nil {
		b.card.done = func(*testGPU, unsafe.Pointer) { ordered() }
	}
	for i := range rounds {
		n = 1 + j.rng.IntN(10_000)
		data = fill(j.rng, n)
		at, _ := a.card.local(data)
		to, round = base+4096+uint64(j.rng.IntN(1000)), uint64(i+1)
		clear(b.heap[to-base : int(to-base)+n])
		j.push(0, 0, queue.Op{
			Code: queue.CodePutSignal, PE: 1, Dest: to, Local: uint64(uintptr(at)), Length: uint64(n),
			Kind: uint8(fabric.OpAdd), Signal: 1, SignalAt: base,
		})
		j.push(0, 0, queue.Op{Code: queue.CodeFence})
		j.push(0, 0, queue.Op{Code: queue.CodeP, PE: 1, Dest: base + 40, Width: 2, Value: round})
		j.push(0, 0, queue.Op{Code: queue.CodeP, PE: 1, Dest: base + 8, Width: 2, Value: uint64(i)})
		j.push(0, 0, queue.Op{Code: queue.CodePBytes, PE: 1, Dest: base + 16, Size: 16, Value: uint64(i), Value2: uint64(i) << 32})
		j.push(0, 0, queue.Op{Code: queue.CodeAMO, PE: 1, Dest: base + 32, Kind: uint8(fabric.OpAdd), Width: 3, Value: uint64(n)})
		slots = slices.Repeat([]byte{byte(i)}, 1+i%16)
		if tail = uint64(i); i%2 == 1 {
			tail += uint64(i) - 1 // to which it was set
		}
		j.push(0, 0, queue.Op{
			Code: queue.CodePSignal, PE: 1, Dest: base + 48, Size: uint8(len(slots)), Value: uint64(i) * 0x0101010101010101, Value2: uint64(i) * 0x0101010101010101,
			Kind: uint8(1 + i%2), Signal: uint64(i), SignalAt: base + 72,
		})
		count += uint64(n)
		j.quiet(0, 0)
		differ(t, "bytes of slots", b.heap[48:48+len(slots)], slots)
		if got := binary.NativeEndian.Uint64(b.heap[72:]); got != tail {
			t.Fatalf("signal behind bytes is %d, want %d", got, tail)
		}
		differ(t, "bytes", b.heap[int(to-base):int(to-base)+n], data)
		if got := binary.NativeEndian.Uint64(b.heap); got != uint64(i+1) {
			t.Fatalf("signal is %d, want %d", got, i+1)
		}
		if got := binary.NativeEndian.Uint32(b.heap[8:]); got != uint32(i) {
			t.Fatalf("element is %d, want %d", got, i)
		}
		if got := binary.NativeEndian.Uint64(b.heap[24:]); got != uint64(i)<<32 {
			t.Fatalf("second half of a pair is %#x, want %#x", got, uint64(i)<<32)
		}
		if got := binary.NativeEndian.Uint64(b.heap[32:]); got != count {
			t.Fatalf("count is %d, want %d", got, count)
		}
		back, seen := a.card.local(make([]byte, n))
		j.push(0, 0, queue.Op{Code: queue.CodeGet, PE: 1, Dest: to, Local: uint64(uintptr(back)), Length: uint64(n)})
		j.quiet(0, 0)
		differ(t, "bytes that were got", seen, data)
	}
	for _, err := range j.reports[0] {
		t.Error(err)
	}
	j.close()
}
