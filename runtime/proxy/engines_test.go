package proxy

import (
	"encoding/binary"
	"sync"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// A PE may have several engines over one memory, each with its own thread, network endpoint and
// lock. Operations that they apply at once are atomic together.
func TestEnginesShareMemory(t *testing.T) {
	const engines, each = 4, 3000
	memories := [][]byte{guarded(t, internal+4096), guarded(t, internal+4096)}
	var wg sync.WaitGroup
	fetched := make([][]uint64, engines)
	for i := range engines {
		j := newJobOn(t, modes[i], uint64(i+1), memories)
		fetched[i] = make([]uint64, each)
		wg.Go(func() {
			a := j.pes[0]
			bit := uint64(1) << i
			for k := range each {
				for _, f := range []func() Status{
					func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) },
					func() Status { return a.AMO(1, 8, fabric.OpXor, 4, bit, 0, nil, nil) },
					func() Status {
						return a.AMO(1, 16, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&fetched[i][k]), nil)
					},
					func() Status {
						return a.PutSignal(1, libshmem.Offset(64+8*i), unsafe.Pointer(&bit), 8, 24, 1, fabric.OpAdd, nil)
					},
				} {
					a.post(f)
				}
			}
			a.quiet()
		})
		defer j.close()
	}
	wg.Wait()
	heap := memories[1][internal:]
	for _, at := range []int{0, 16, 24} {
		if got := binary.NativeEndian.Uint64(heap[at:]); got != engines*each {
			t.Errorf("counter at %d is %d, want %d", at, got, engines*each)
		}
	}
	if got := binary.NativeEndian.Uint32(heap[8:]); got != 0 {
		t.Errorf("the word in which all bits change an even number of times is %#x", got)
	}
	seen := make([]bool, engines*each)
	for i := range fetched {
		for _, v := range fetched[i] {
			if v >= uint64(len(seen)) || seen[v] {
				t.Fatalf("value %d was fetched twice, or never was", v)
			}
			seen[v] = true
		}
		if got := binary.NativeEndian.Uint64(heap[64+8*i:]); got != 1<<i {
			t.Errorf("engine %d stored %#x", i, got)
		}
	}
}
