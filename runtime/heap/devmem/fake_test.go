package devmem

import (
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/gputest"
	"libshmem/runtime/shmerr"
)

const granule = 2 << 20

// fake is a GPU on which calls fail by name or by number.
type fake struct {
	*gputest.Driver
	refuse map[string]bool // calls that always fail
	failAt int             // the call, from 1, that fails
}

func newFake(t *testing.T, uuid string) *fake {
	f := &fake{Driver: gputest.New(t, "GPU "+uuid, gpu.Facts{UUID: uuid, VMM: true, PosixFD: true, HostPointers: true, RegisterHost: true})}
	f.Fail = func(call string, n int) error {
		if n == f.failAt || f.refuse[call] {
			return &shmerr.Error{Op: call, Object: f.Name(), Cause: errFake}
		}
		return nil
	}
	return f
}

var errFake = shmerr.Causef(shmerr.ErrSystem, "the test wants it")

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func pointer(a gpu.Address) unsafe.Pointer { return gputest.Pointer(a) }

// bytesAt returns memory of the GPU.
func bytesAt(a gpu.Address, n int) []byte { return gputest.Bytes(a, n) }

func checkLeaks(t *testing.T, devices ...*fake) {
	t.Helper()
	for _, f := range devices {
		if left := f.Left(); left != "" {
			t.Errorf("%s keeps %s", f.Name(), left)
		}
	}
}
