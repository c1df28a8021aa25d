package cuda

import (
	"errors"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/runtime/shmerr"
)

// TestChange: a stream adds to a word, and and or it, by itself where the driver can. No real
// driver that was tried could: only the fake one can.
func TestChange(t *testing.T) {
	log := cudatest.Set(t, "attribute148=1")
	v := mustDevice(t, cudatest.Build(t))
	host, at, err := v.HostAlloc(16)
	if err != nil {
		t.Fatal(err)
	}
	words := unsafe.Slice((*uint64)(host), 2)
	for _, tt := range []struct {
		op, width              int
		before, operand, after uint64
	}{
		{2, 8, 1<<40 + 5, 7, 1<<40 + 12},
		{2, 4, 1<<40 + 0xffffffff, 2, 1<<40 + 1},
		{3, 8, 0xff00ff00ff, 0xf0f0f0f0f0, 0xf000f000f0},
		{3, 4, 1<<40 + 0xff, 0x0f, 1<<40 + 0x0f},
		{4, 8, 1 << 40, 1<<50 + 1, 1<<50 + 1<<40 + 1},
		{4, 4, 1 << 40, 6, 1<<40 + 6},
	} {
		words[0], words[1] = tt.before, 9
		err := v.Change(0, gpu.Atomic{At: at, Op: tt.op, Width: tt.width, Operand: tt.operand})
		if err = errors.Join(err, v.SyncStream(0)); err != nil || words[0] != tt.after || words[1] != 9 {
			t.Errorf("operation %d on %d bytes: %#x becomes %#x, want %#x; error %v", tt.op, tt.width, tt.before, words[0], tt.after, err)
		}
	}
	if err := v.Change(0, gpu.Atomic{At: at, Op: 5, Width: 8}); !errors.Is(err, shmerr.ErrUnsupported) {
		t.Errorf("an operation that no stream can do: error %v", err)
	}
	if err := errors.Join(v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
	cudatest.Set(t, "")
	v = mustDevice(t, cudatest.Build(t))
	const want = "change a word by a stream of GPU 0 Fake G100: the driver, of CUDA 13.3, has no stream operation for atomic operation 2 on it (take a kernel: it needs CUDA 13.1 or later, and a GPU that has it)"
	if err := v.Change(0, gpu.Atomic{At: at, Op: 2, Width: 8}); err == nil || err.Error() != want {
		t.Errorf("where the GPU has no such operations: error %v, want %s", err, want)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}
