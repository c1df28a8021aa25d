package stub

import (
	"testing"
	"unsafe"

	"libshmem/fabric"
)

// A key of four bytes uses all of them: it keeps other jobs from the memory.
func TestKeys(t *testing.T) {
	Set(t, "")
	p := open(t, fabric.Config{Provider: Provider})
	buffers := make([]byte, 16*4096)
	small, seen := 0, map[uint64]bool{}
	for i := range 16 {
		r, err := p.Register(unsafe.Pointer(&buffers[i*4096]), 4096)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Unregister(r); err != nil {
				t.Error(err)
			}
		})
		if r.Key == 0 || r.Key >= 1<<32 || seen[r.Key] {
			t.Errorf("key %#x, of four bytes and another one each time", r.Key)
		}
		seen[r.Key] = true
		if r.Key < 1<<24 {
			small++
		}
	}
	if small > 2 {
		t.Errorf("%d of 16 keys are below 2^24: they are not drawn from all of four bytes", small)
	}
}
