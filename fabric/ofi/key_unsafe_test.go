package ofi

import (
	"testing"
	"unsafe"

	"libshmem/fabric"
)

// TestKeys: where the provider leaves keys to us, one does not lead to another.
func TestKeys(t *testing.T) {
	p, err := Open(fabric.Config{Provider: "tcp", Tokens: 64, MaxRecv: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	buffers := make([]byte, 16*4096)
	seen := map[uint64]bool{}
	small := 0
	for i := range 16 {
		r, err := p.Register(unsafe.Pointer(&buffers[i*4096]), 4096)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Unregister(r) }()
		if seen[r.Key] || seen[r.Key-1] || seen[r.Key+1] {
			t.Errorf("key %#x follows from another one", r.Key)
		}
		seen[r.Key] = true
		if r.Key < 1<<32 {
			small++
		}
	}
	if small > 2 {
		t.Errorf("%d of 16 keys are below 2^32: they are counted, not drawn", small)
	}
}
