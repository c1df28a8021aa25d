package gpustage

import (
	"fmt"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/gputest"
)

// fakeDevice is a GPU on which one call fails.
type fakeDevice struct {
	*gputest.Driver
	calls   int
	failing int // number of the call that fails; 0: none fails
	failed  string
}

func newFakeDevice(t testing.TB) *fakeDevice {
	f := &fakeDevice{Driver: gputest.New(t, "GPU 7", gpu.Facts{Unified: true, StreamOps: true})}
	f.Fail = func(call string, _ int) error {
		if f.calls++; f.calls != f.failing {
			return nil
		}
		f.failed = call
		return fmt.Errorf("%s fails", call)
	}
	return f
}

// words returns n words at an address of the GPU.
func (f *fakeDevice) words(a gpu.Address, n uint64) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&f.At(a, 8*n)[0])), n)
}
