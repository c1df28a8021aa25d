package cuda

import (
	"encoding/binary"
	"errors"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu/cuda/cudatest"
)

// TestLaunchOne: the kernel gets its parameter as it was when it was launched.
func TestLaunchOne(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	m, err := v.LoadModule([]byte("kernel store_pair\nglobal state\n"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("store_pair")
	if err != nil {
		t.Fatal(err)
	}
	at, _, err := m.Global("state")
	if err != nil {
		t.Fatal(err)
	}
	pair := [2]uint64{uint64(at), 42}
	if err := v.LaunchOne(f, 1, 32, 0, unsafe.Pointer(&pair)); err != nil {
		t.Fatal(err)
	}
	pair[1] = 7
	got := make([]byte, 8)
	if err := errors.Join(drain(v, 0), v.CopyOut(got, at)); err != nil {
		t.Fatal(err)
	}
	if word := binary.LittleEndian.Uint64(got); word != 42 {
		t.Errorf("the kernel stored %d, want 42", word)
	}
	if n := testing.AllocsPerRun(100, func() {
		err = errors.Join(err, v.LaunchOne(f, 1, 32, 0, unsafe.Pointer(&pair)), drain(v, 0))
	}); n > 1 || err != nil {
		t.Errorf("a launch allocates %v times, error %v", n, err)
	}
	if err := v.LaunchOne(f, 0, 32, 0, unsafe.Pointer(&pair)); err == nil {
		t.Error("a grid of no blocks was launched")
	}
	if err := errors.Join(m.Close(), v.Close()); err != nil {
		t.Fatal(err)
	}
	if err := v.LaunchOne(f, 1, 32, 0, unsafe.Pointer(&pair)); !errors.Is(err, errClosed) {
		t.Errorf("a launch on a closed GPU: error %v", err)
	}
	log.Check()
}
