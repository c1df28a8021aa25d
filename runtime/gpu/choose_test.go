package gpu_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

func lines(reports []gpu.Report) string {
	var b strings.Builder
	for _, r := range reports {
		mark := " "
		if r.Chosen {
			mark = "*"
		}
		fmt.Fprintln(&b, mark, r)
	}
	return b.String()
}

// TestRing: for each machine and setting, the chosen kind and the reports on the others.
func TestRing(t *testing.T) {
	with := func(change func(*gpu.Facts)) gpu.Facts {
		f := able
		change(&f)
		return f
	}
	for _, tt := range []struct {
		name  string
		facts gpu.Facts
		fails []string
		want  gpu.Kind
		size  uint64
		lines string
		err   string
	}{
		{
			name: "everything works", facts: able, want: gpu.Auto,
			lines: "* pinned: cuMemHostRegister\n  managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
		},
		{
			name: "another kind is wanted", facts: able, want: gpu.BAR,
			lines: "  pinned: cuMemHostRegister\n  managed: cuMemAllocManaged\n* bar: MapGDRCopy\n",
		},
		{
			name: "allocated in place of registered", facts: able, fails: []string{"HostRegister"}, want: gpu.Pinned,
			lines: "* pinned: cuMemHostAlloc\n  managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
		},
		{
			name: "nothing can be pinned", facts: able, fails: []string{"HostAlloc", "HostRegister"}, want: gpu.Auto,
			lines: "  pinned: not available: HostRegister: the fake fails; HostAlloc: the fake fails\n* managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
		},
		{
			name: "memory of the process cannot be mapped", facts: with(func(f *gpu.Facts) { f.RegisterHost = false }), want: gpu.Auto,
			lines: "* pinned: cuMemHostAlloc\n  managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
		},
		{
			name: "nor the driver's", facts: with(func(f *gpu.Facts) { f.RegisterHost = false }), fails: []string{"HostAlloc"}, want: gpu.Auto,
			lines: "  pinned: not available: HostAlloc: the fake fails\n* managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
		},
		{
			name: "main memory cannot be mapped", facts: with(func(f *gpu.Facts) { f.MapHost = false }), want: gpu.Pinned,
			lines: "  pinned: not available: map GPU memory: the GPU cannot map main memory\n  managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
			err:   "allocate ring memory on GPU 0 Fake, SHMEM_RING_MEMORY=pinned: map GPU memory: the GPU cannot map main memory (set SHMEM_RING_MEMORY to one that works here: managed, bar)",
		},
		{
			name: "no managed memory", facts: with(func(f *gpu.Facts) { f.Managed = false }), want: gpu.Managed,
			lines: "  pinned: cuMemHostRegister\n  managed: not available: map GPU memory: the GPU has no managed memory\n  bar: MapGDRCopy\n",
			err:   "the GPU has no managed memory (set SHMEM_RING_MEMORY to one that works here: pinned, bar)",
		},
		{
			name: "managed memory that only one side may touch", facts: with(func(f *gpu.Facts) { f.Concurrent = false }), want: gpu.Managed,
			lines: "  pinned: cuMemHostRegister\n  managed: not available: map GPU memory: concurrentManagedAccess is 0: the CPU must not touch managed memory while a kernel runs, but with a ring it has to\n  bar: MapGDRCopy\n",
			err:   "concurrentManagedAccess is 0",
		},
		{
			name: "too much managed memory", facts: able, want: gpu.Managed, size: gpu.MaxManaged + 1,
			lines: "  pinned: cuMemHostRegister\n  managed: not available: map GPU memory: 8388609 bytes are more than the 8388608 that are asked of managed memory (lower SHMEM_RING_COUNT or SHMEM_RING_SIZE)\n  bar: MapGDRCopy\n",
			err:   "8388609 bytes are more than the 8388608",
		},
		{
			name: "no GDRCopy", facts: able, fails: []string{"MapGDRCopy"}, want: gpu.BAR,
			lines: "  pinned: cuMemHostRegister\n  managed: cuMemAllocManaged\n* bar: MapDMABuf\n",
		},
		{
			name: "no GDRCopy and an older driver", facts: with(func(f *gpu.Facts) { f.Driver, f.DMABufMap = "13.0", false }), fails: []string{"MapGDRCopy"}, want: gpu.BAR,
			lines: "  pinned: cuMemHostRegister\n  managed: cuMemAllocManaged\n  bar: not available: MapGDRCopy: the fake fails; map GPU memory: the driver, of CUDA 13.0, does not let the CPU map a dma-buf of this GPU's memory (install a driver of CUDA 13.3 or later)\n",
			err:   "MapGDRCopy: the fake fails; map GPU memory: the driver, of CUDA 13.0, does not let the CPU map a dma-buf of this GPU's memory (install a driver of CUDA 13.3 or later) (set SHMEM_RING_MEMORY to one that works here: pinned, managed)",
		},
		{
			name: "no GDRCopy and no export", facts: with(func(f *gpu.Facts) { f.DMABuf = false }), fails: []string{"MapGDRCopy"}, want: gpu.Auto,
			lines: "* pinned: cuMemHostRegister\n  managed: cuMemAllocManaged\n  bar: not available: MapGDRCopy: the fake fails; map GPU memory: the driver, of CUDA 13.3, does not export this GPU's memory as a dma-buf (use the open kernel modules of a driver of CUDA 11.7 or later, and Linux 5.12 or later)\n",
		},
		{
			name: "nothing works", facts: gpu.Facts{Driver: "12.0"}, fails: []string{"Alloc"}, want: gpu.Auto,
			lines: "  pinned: not available: map GPU memory: the GPU cannot map main memory\n  managed: not available: map GPU memory: the GPU has no managed memory\n  bar: not available: Alloc: the fake fails\n",
			err:   "allocate ring memory on GPU 0 Fake, SHMEM_RING_MEMORY=auto: pinned: map GPU memory: the GPU cannot map main memory; managed: map GPU memory: the GPU has no managed memory; bar: Alloc: the fake fails",
		},
		{
			name: "no kind for a ring", facts: able, want: gpu.Local,
			lines: "  pinned: cuMemHostRegister\n  managed: cuMemAllocManaged\n  bar: MapGDRCopy\n",
			err:   "allocate ring memory: local is not memory that a GPU and the CPU share (use auto, pinned, managed or bar)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.facts, tt.fails...)
			size := max(tt.size, 12345)
			m, reports, err := gpu.Ring(f, tt.want, size)
			if got := lines(reports); got != tt.lines {
				t.Errorf("reports:\n%swant:\n%s", got, tt.lines)
			}
			if tt.err != "" {
				if m != nil || err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("memory %+v, error %v\nwant %s", m, err, tt.err)
				}
				if kind := shmerr.StatusOf(err); kind != shmerr.Unsupported && kind != shmerr.BadArgument {
					t.Errorf("status %v", kind)
				}
			} else if err != nil {
				t.Error(err)
			} else {
				checkMemory(t, f, m, tt.want, size)
			}
			f.Empty()
		})
	}
}

// checkMemory: the memory is zeroed and the same on both sides, and gone after
// Close.
func checkMemory(t *testing.T, f *fake, m *gpu.Memory, want gpu.Kind, size uint64) {
	t.Helper()
	if m.Kind != want && want != gpu.Auto || m.Size < size || m.Method == "" || m.Combining != (m.Kind == gpu.BAR) {
		t.Errorf("got %+v", m)
	}
	host, device := unsafe.Slice((*byte)(m.Host), m.Size), f.At(m.Device, m.Size)
	for i, b := range host {
		if b != 0 || device[i] != 0 {
			t.Fatalf("byte %d is not zero", i)
		}
	}
	host[m.Size-1] = 7
	if device[m.Size-1] != 7 {
		t.Error("the two sides do not share the memory")
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestEveryFailureLeavesNothing makes each call of the device fail, alone and
// with each other one.
func TestEveryFailureLeavesNothing(t *testing.T) {
	methods := []string{"HostAlloc", "HostFree", "HostRegister", "HostUnregister", "ManagedAlloc", "Alloc", "Free", "Zero", "MapGDRCopy", "MapDMABuf", "Unmap"}
	for _, a := range methods {
		for _, b := range methods {
			for _, want := range []gpu.Kind{gpu.Auto, gpu.Pinned, gpu.Managed, gpu.BAR} {
				f := newFake(t, able, a, b)
				m, reports, err := gpu.Ring(f, want, 1)
				if (m == nil) == (err == nil) || len(reports) != gpu.Kinds {
					t.Fatalf("%s and %s fail, %s: memory %v, error %v, %v", a, b, want, m, err, reports)
				}
				if err == nil {
					closeErr := m.Close()
					failed := false
					for _, call := range f.Calls()[len(f.Calls())-1:] {
						failed = f.fails[call] != nil
					}
					if failed && !errors.Is(closeErr, errFake) {
						t.Errorf("%s and %s fail, %s: Close said %v", a, b, want, closeErr)
					}
				} else if !errors.Is(err, errFake) {
					t.Errorf("%s and %s fail, %s: error %v", a, b, want, err)
				}
				if m, err := gpu.Near(f, 100); err == nil {
					_ = m.Close()
				}
				for _, r := range gpu.Survey(f, nil, want) {
					if r.Why == nil && r.Method == "" {
						t.Errorf("%s and %s fail, %s: report %+v", a, b, want, r)
					}
				}
				f.Empty()
			}
		}
	}
}

func TestSurvey(t *testing.T) {
	f := newFake(t, able)
	if got, want := lines(gpu.Survey(f, nil, gpu.Managed)), "  pinned: cuMemHostRegister\n* managed: cuMemAllocManaged\n  bar: MapGDRCopy\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	f.Empty()
	absent := errors.New("there is no driver")
	if got, want := lines(gpu.Survey(nil, absent, gpu.Auto)), "  pinned: not available: there is no driver\n  managed: not available: there is no driver\n  bar: not available: there is no driver\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// Memory that cannot be released does not work, chosen or not.
	f = newFake(t, able, "HostUnregister", "Unmap")
	if got, want := lines(gpu.Survey(f, nil, gpu.Auto)), "  pinned: not available: HostUnregister: the fake fails\n  managed: cuMemAllocManaged\n  bar: not available: Unmap: the fake fails\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNear(t *testing.T) {
	f := newFake(t, able)
	m, err := gpu.Near(f, 100)
	if err != nil || m.Kind != gpu.Local || m.Host != nil || m.Size != 100 {
		t.Fatalf("near memory %+v, error %v", m, err)
	}
	for i, b := range f.At(m.Device, 100) {
		if b != 0 {
			t.Fatalf("byte %d is not zero", i)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	f.Empty()
	if m, err = gpu.Near(nil, 100); err != nil || m.Kind != gpu.Ordinary {
		t.Fatalf("near memory of host threads %+v, error %v", m, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestHost(t *testing.T) {
	m, err := gpu.Host(5000)
	if err != nil {
		t.Fatal(err)
	}
	if m.Kind != gpu.Ordinary || m.Size != 8192 || m.Device != gpu.Address(uintptr(m.Host)) || m.Combining || uintptr(m.Host)%4096 != 0 {
		t.Errorf("got %+v", m)
	}
	for i, b := range unsafe.Slice((*byte)(m.Host), m.Size) {
		if b != 0 {
			t.Fatalf("byte %d is not zero", i)
		}
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, n := range []uint64{0, gpu.MaxSize + 1, 1 << 63} {
		f := newFake(t, able)
		_, _, err := gpu.Ring(f, gpu.Auto, n)
		_, nearErr := gpu.Near(f, n)
		_, hostErr := gpu.Host(n)
		for _, err := range []error{err, nearErr, hostErr} {
			if !errors.Is(err, shmerr.ErrArgument) || !strings.Contains(err.Error(), fmt.Sprint(n)) {
				t.Errorf("%d bytes: error %v", n, err)
			}
		}
		if len(f.Calls()) != 0 {
			t.Errorf("%d bytes: calls %v", n, f.Calls())
		}
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]gpu.Kind{"auto": gpu.Auto, "pinned": gpu.Pinned, "managed": gpu.Managed, "bar": gpu.BAR} {
		if k, err := gpu.ParseKind(name); k != want || err != nil || k.String() != name {
			t.Errorf("%s: %v, error %v", name, k, err)
		}
	}
	for _, name := range []string{"", "local", "ordinary", "BAR"} {
		if _, err := gpu.ParseKind(name); !errors.Is(err, shmerr.ErrArgument) || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
