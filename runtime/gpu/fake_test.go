package gpu_test

import (
	"errors"
	"fmt"
	"testing"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/gputest"
)

// fake is a GPU on which calls fail by their names.
type fake struct {
	*gputest.Driver
	fails map[string]error
}

var errFake = errors.New("the fake fails")

// able is a device on which everything works.
var able = gpu.Facts{Driver: "13.3", MapHost: true, RegisterHost: true, Managed: true, Concurrent: true, DMABuf: true, DMABufMap: true}

func newFake(t *testing.T, facts gpu.Facts, fails ...string) *fake {
	f := &fake{Driver: gputest.New(t, "GPU 0 Fake", facts), fails: map[string]error{}}
	f.Dirty, f.Skew = true, 0x200 // as an allocator gives it
	for _, name := range fails {
		f.fails[name] = fmt.Errorf("%s: %w", name, errFake)
	}
	f.Fail = func(call string, _ int) error { return f.fails[call] }
	return f
}
