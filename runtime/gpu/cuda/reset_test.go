package cuda

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/runtime/shmerr"
)

// resetText is the error for the user of a device that was reset.
const resetText = "the program has reset GPU 0 (cudaDeviceReset) while the job used it (call it before shmem_init or after shmem_finalize)"

// everything is one object of each kind that a context has.
type everything struct {
	v      *Device
	host   unsafe.Pointer
	at     gpu.Address
	block  gpu.Address
	stream gpu.Stream
	event  gpu.Event
	module *Module
}

func takeEverything(t *testing.T, v *Device) *everything {
	t.Helper()
	e := &everything{v: v}
	var errs [5]error
	e.host, e.at, errs[0] = v.HostAlloc(4096)
	e.block, errs[1] = v.Alloc(4096)
	e.stream, errs[2] = v.NewStream()
	e.event, errs[3] = v.NewEvent()
	e.module, errs[4] = v.LoadModule([]byte("kernel store64\n"))
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *everything) giveBack() error {
	return errors.Join(e.v.FinishStream(e.stream), e.v.CloseStream(e.stream), e.v.CloseEvent(e.event), e.module.Close(), e.v.Free(e.block), e.v.HostFree(e.host))
}

// TestReset: a program resets the GPU and goes on in a context of its own. Polls of main memory do
// not notice, calls of the driver return the reason, and giving everything back leaves the
// program's context alone.
func TestReset(t *testing.T) {
	dir := cudatest.Build(t)
	for _, settings := range []string{"", "works=1"} {
		t.Run(settings, func(t *testing.T) {
			log := cudatest.Set(t, settings)
			v := mustDevice(t, dir)
			e := takeEverything(t, v)
			own, err := v.OwnContext("a proxy")
			if err != nil {
				t.Fatal(err)
			}
			owned := takeEverything(t, own)
			ring, _, err := gpu.Ring(v, gpu.Auto, 4096)
			if err != nil {
				t.Fatal(err)
			}
			unit, err := v.Granularity()
			if err != nil {
				t.Fatal(err)
			}
			heap, err := v.Reserve(unit, unit)
			if err != nil {
				t.Fatal(err)
			}
			chunk, err := v.CreateChunk(unit)
			if err == nil {
				err = v.MapChunk(heap, unit, chunk)
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.WasReset() || own.WasReset() {
				t.Error("it was reset, says a device that was not")
			}

			cudatest.Reset(t, dir, 0)
			*(*uint64)(e.host), *(*uint64)(owned.host), *(*uint64)(ring.Host) = 1, 1, 1
			program, err := v.driver.Device(0)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Copy(e.at, e.at+8, 8); !errors.Is(err, shmerr.ErrSystem) || !strings.HasSuffix(err.Error(), resetText) {
				t.Errorf("a copy: %v", err)
			}
			for what, err := range map[string]error{"launch": v.CopyAsync(e.stream, e.at, e.at+8, 8), "allocate": second(v.Alloc(8)), "wait": v.SyncStream(e.stream)} {
				if err == nil || !strings.HasSuffix(err.Error(), resetText) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if !v.WasReset() || !own.WasReset() || program.WasReset() || v.ResetText() != resetText {
				t.Errorf("reset: %t, %t, and for a later Device %t; %s", v.WasReset(), own.WasReset(), program.WasReset(), v.ResetText())
			}
			// The context of OwnContext goes on.
			if err := own.Zero(heap, 64); err != nil {
				t.Errorf("a copy of the context of OwnContext: %v", err)
			}

			if err := v.FlushWrites(true); err != nil {
				t.Errorf("flush what NICs have written: %v", err)
			}

			seen := len(log.Calls())
			if err := errors.Join(e.giveBack(), owned.giveBack(), ring.Close(), v.UnmapChunk(heap, unit), v.ReleaseChunk(chunk), v.Unreserve(heap, unit), v.Close()); err != nil {
				t.Error(err)
			}
			if !slices.Contains(log.Calls()[seen:], "cuCtxDestroy_v2 0") {
				t.Error("the context of OwnContext is left")
			}
			if err := errors.Join(takeEverything(t, program).giveBack(), program.Close()); err != nil {
				t.Errorf("the program's context: %v", err)
			}
			log.CheckProcess()
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestResetIsNoticed: before the program uses the GPU again, and by a driver that has no
// numbers for contexts.
func TestResetIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		defines []string
		again   bool // the program uses the GPU again
		want    bool
	}{
		{"it is not in use", nil, false, true},
		{"the program uses it", nil, true, true},
		{"an older driver", []string{"NO_LATE"}, false, true},
		{"an older driver does not report it", []string{"NO_LATE"}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := cudatest.Build(t, tt.defines...)
			cudatest.Set(t, "")
			v := mustDevice(t, dir)
			cudatest.Reset(t, dir, 0)
			if tt.again {
				if _, err := v.driver.Device(0); err != nil {
					t.Fatal(err)
				}
			}
			if tt.defines == nil { // the first call that meets it
				if err := v.FlushWrites(false); err != nil {
					t.Error(err)
				}
			}
			if got := v.WasReset(); got != tt.want {
				t.Errorf("%t", got)
			}
			if !tt.want {
				return // it would go by a stream that is gone
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHostAllocOf: which memory a GPU gets.
func TestHostAllocOf(t *testing.T) {
	dir := cudatest.Build(t)
	for _, tt := range []struct {
		settings string
		own      bool
	}{
		{"", true},
		{"attribute99=0", false}, // it cannot be registered
		{"attribute91=0", false}, // it has another address
	} {
		log := cudatest.Set(t, tt.settings)
		v := mustDevice(t, dir)
		host, at, err := v.HostAlloc(3 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if own := !slices.Contains(log.Calls(), "cuMemHostAlloc 0"); own != tt.own || own != (hostAddress(host) == at) {
			t.Errorf("%s: the process's own: %t, at %p, for the GPU at %#x", tt.settings, own, host, uint64(at))
		}
		if err := errors.Join(v.HostFree(host), v.Close()); err != nil {
			t.Error(err)
		}
		log.Check()
	}
}
