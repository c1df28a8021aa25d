package cuda

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
)

// useApart uses a context of the library's own as its callers do.
func useApart(v *Device) (err error) {
	keep := func(e error) { err = errors.Join(err, e) }
	own, e := v.OwnContext("one caller")
	if e != nil {
		return e
	}
	again, e := v.OwnContext("another caller")
	if e != nil {
		return e
	}
	if own.Context() == v.Context() || own.Context() != again.Context() {
		keep(errors.New("callers do not have one context of OwnContext"))
	}
	host, at, e := own.HostAlloc(64)
	if e != nil {
		return errors.Join(err, e)
	}
	defer func() { keep(own.HostFree(host)) }()
	for _, n := range []uint64{1, 2, 3, 24} {
		b := unsafe.Slice((*byte)(host), 64)
		clear(b)
		for i := range n {
			b[i] = byte(i + 1)
		}
		keep(errors.Join(own.CopyInAsync(0, at+32, at, n), drain(own, 0)))
		for i := range uint64(32) {
			want := byte(0)
			if i < n {
				want = byte(i + 1)
			}
			if err == nil && b[32+i] != want {
				keep(fmt.Errorf("of %d bytes, byte %d is %d", n, i, b[32+i]))
			}
		}
	}
	keep(useStreams(own))
	keep(useModule(again))
	return err
}

// TestOwnContext: work in the context of OwnContext goes on while the program loads a kernel,
// except on objects of the program's context.
func TestOwnContext(t *testing.T) {
	dir := cudatest.Build(t)
	log := cudatest.Set(t, "attribute133=0") // no MPS: contexts wait for time slices
	hold := cudatest.NewHolder(t)
	t.Setenv("FAKE_CUDA_HOLD", hold.Dir)
	v := mustDevice(t, dir)
	own, err := v.OwnContext("test")
	if err != nil {
		t.Fatal(err)
	}
	host, at, err := v.HostAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	alloc, err := v.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := v.Reserve(chunk, chunk)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := v.CreateChunk(chunk)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.MapChunk(mapped, chunk, memory); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		dev  *Device
		work func(s gpu.Stream, v *Device) error
		goes bool
	}{
		{"copy in", v, func(s gpu.Stream, v *Device) error { return v.CopyInAsync(s, mapped, at, 8) }, false},
		{"copy in, own context", own, func(s gpu.Stream, v *Device) error { return v.CopyInAsync(s, mapped, at, 8) }, true},
		{"copy out, own context", own, func(s gpu.Stream, v *Device) error { return v.CopyAsync(s, at, mapped, 8) }, true},
		{"copies in that do not join, own context", own, func(s gpu.Stream, v *Device) error {
			var all []gpu.Copy
			for i := range gpu.Address(fewestBatched) {
				all = append(all, gpu.Copy{To: mapped + 8*(i*i), From: at + 2*i, N: 2, Rows: 1})
			}
			return v.Copies(s, all, gpu.CopyIn)
		}, true},
		{"store, own context", own, func(s gpu.Stream, v *Device) error { return v.Write64(s, mapped, 1) }, true},
		{"copy from memory of the other context", own, func(s gpu.Stream, v *Device) error { return v.CopyAsync(s, at, alloc, 8) }, false},
	} {
		s, err := tt.dev.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		loaded := hold.Load(os.Getpid())
		time.Sleep(2 * time.Millisecond) // the driver looks every one
		if err := tt.work(s, tt.dev); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		done := false
		for range 3 * fewestBatched { // each question gets one piece of work done
			if done, err = tt.dev.StreamDone(s); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if done != tt.goes {
			t.Errorf("%s while the program loads a kernel: done %v", tt.name, done)
		}
		loaded()
		if err := errors.Join(tt.dev.SyncStream(s), tt.dev.CloseStream(s)); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(v.UnmapChunk(mapped, chunk), v.ReleaseChunk(memory), v.Unreserve(mapped, chunk), v.Free(alloc), v.HostFree(host), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
	if _, err := v.OwnContext("late"); !errors.Is(err, errClosed) {
		t.Errorf("after Close: error %v", err)
	}
}
