package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/runtime/shmerr"
)

func mustDevice(t testing.TB, dir string) *Device {
	t.Helper()
	d, err := openFake(dir)
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFacts(t *testing.T) {
	dir := cudatest.Build(t)
	all := gpu.Facts{
		Driver: "13.3", PCI: "0000:0f:00.0", UUID: "GPU-fa000000-0000-0000-0000-000000000000",
		Major: 1, Minor: 1, SMs: 1, Memory: 1 << 30, MapHost: true, RegisterHost: true, Managed: true, Concurrent: true,
		DMABuf: true, DMABufMap: true, Unified: true, HostPointers: true, HostAtomics: true, VMM: true, PosixFD: true, RDMA: true, RDMAVMM: true,
		StreamOps: true, MPS: true, FlushWrites: 1, WritesOrdering: 1, Lazy: true,
	}
	for settings, change := range map[string]func(*gpu.Facts){
		"":                 func(*gpu.Facts) {},
		"attribute19=0":    func(f *gpu.Facts) { f.MapHost = false },
		"attribute99=0":    func(f *gpu.Facts) { f.RegisterHost = false },
		"attribute83=0":    func(f *gpu.Facts) { f.Managed = false },
		"attribute89=0":    func(f *gpu.Facts) { f.Concurrent = false },
		"attribute124=0":   func(f *gpu.Facts) { f.DMABuf = false },
		"attribute152=-1":  func(f *gpu.Facts) { f.DMABufMap = false },                   // unknown to an older driver
		"version=13020":    func(f *gpu.Facts) { f.Driver, f.DMABufMap = "13.2", false }, // which does not know the attribute
		"memory=4096":      func(f *gpu.Facts) { f.Memory = 4096 },
		"first=3":          func(f *gpu.Facts) { f.UUID = "GPU-fa000000-0000-0000-0000-000000000003" },
		"attribute75=9":    func(f *gpu.Facts) { f.Major = 9 },
		"attribute76=0":    func(f *gpu.Facts) { f.Minor = 0 },
		"attribute16=132":  func(f *gpu.Facts) { f.SMs = 132 },
		"attribute41=0":    func(f *gpu.Facts) { f.Unified = false },
		"attribute91=0":    func(f *gpu.Facts) { f.HostPointers = false },
		"attribute86=0":    func(f *gpu.Facts) { f.HostAtomics = false },
		"attribute102=0":   func(f *gpu.Facts) { f.VMM = false },
		"attribute103=0":   func(f *gpu.Facts) { f.PosixFD = false },
		"attribute110=0":   func(f *gpu.Facts) { f.RDMAVMM = false },
		"attribute116=0":   func(f *gpu.Facts) { f.RDMA = false },
		"attribute117=3":   func(f *gpu.Facts) { f.FlushWrites = 3 },
		"attribute118=200": func(f *gpu.Facts) { f.WritesOrdering = 200 },
		"loading=1":        func(f *gpu.Facts) { f.Lazy, f.Eager = false, true },
		"loading=0":        func(f *gpu.Facts) { f.Lazy = false },
		"attribute122=0":   func(f *gpu.Facts) { f.StreamOps = false },
		"attribute133=0":   func(f *gpu.Facts) { f.MPS = false },
		"attribute148=1":   func(f *gpu.Facts) { f.StreamChange = true },

		"attribute148=1 version=13000": func(f *gpu.Facts) { f.Driver, f.DMABufMap = "13.0", false },
	} {
		log := cudatest.Set(t, settings)
		want := all
		change(&want)
		v := mustDevice(t, dir)
		if v.Facts() != want || v.Name() != "GPU 0 Fake G100" {
			t.Errorf("%s: %s has %+v, want %+v", settings, v.Name(), v.Facts(), want)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		log.Check()
	}
}

func TestDeviceNumbers(t *testing.T) {
	log := cudatest.Set(t, "devices=2")
	d, err := openFake(cudatest.Build(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, 2} {
		if _, err := d.Device(n); !errors.Is(err, shmerr.ErrArgument) || !strings.Contains(err.Error(), "there are 2") {
			t.Errorf("device %d: error %v", n, err)
		}
	}
	v, err := d.Device(1)
	if err != nil || v.Name() != "GPU 1 Fake G101" || v.Facts().PCI != "0000:10:00.0" {
		t.Fatalf("device 1: %+v, error %v", v, err)
	}
	for range 2 {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	log.Check()
	if _, err := v.Alloc(1); !errors.Is(err, errClosed) || !errors.Is(err, shmerr.ErrArgument) {
		t.Errorf("after Close: error %v", err)
	}
}

// use does each operation of a device once and gives everything back. It
// returns the first error, and the errors of giving back, which come later,
// by t: they must not stop it.
func use(v *Device) (err error) {
	keep := func(e error) { err = errors.Join(err, e) }
	const n = gpu.Page
	if host, _, e := v.HostAlloc(n); e == nil {
		keep(v.HostFree(host))
	} else {
		keep(e)
	}
	if m, e := gpu.Host(n); e == nil {
		if _, e := v.HostRegister(m.Host, n); e == nil {
			keep(v.HostUnregister(m.Host))
		} else {
			keep(e)
		}
		keep(m.Close())
	} else {
		keep(e)
	}
	if _, a, e := v.ManagedAlloc(n); e == nil {
		keep(v.Free(a))
	} else {
		keep(e)
	}
	block, e := v.Alloc(2 * n)
	if e != nil {
		keep(e)
		return err
	}
	a := (block + gpu.Page - 1) / gpu.Page * gpu.Page
	for _, mapMemory := range []func(gpu.Address, uint64) (*gpu.Mapping, error){v.MapGDRCopy, v.MapDMABuf} {
		if m, e := mapMemory(a, n); e == nil {
			keep(m.Unmap())
		} else {
			keep(e)
		}
	}
	word := make([]byte, 8)
	keep(v.Zero(a, n))
	keep(v.Fill(a, 1, 2))
	keep(v.CopyIn(a+8, word))
	keep(v.Copy(a+16, a, 16))
	keep(v.CopyOut(word, a+16))
	if err == nil && word[0] != 1 {
		keep(fmt.Errorf("read %v", word))
	}
	keep(v.Free(block))
	keep(useChunks(v))
	keep(useStreams(v))
	keep(useModule(v))
	keep(useApart(v))
	return err
}

// TestEveryFailureIsReportedAndLeavesNothing makes each call of the driver and
// of GDRCopy fail in turn.
func TestEveryFailureIsReportedAndLeavesNothing(t *testing.T) {
	dir := cudatest.Build(t)
	log := cudatest.Set(t, "")
	whole := func() error {
		d, err := openFake(dir)
		if err != nil {
			return err
		}
		v, err := d.Device(0)
		if err != nil {
			return err
		}
		return errors.Join(use(v), v.Close())
	}
	if err := whole(); err != nil {
		t.Fatal(err)
	}
	log.Check()
	calls := log.Calls()
	if len(calls) < 60 {
		t.Fatalf("only %d calls", len(calls))
	}
	for i, call := range calls {
		log := cudatest.Set(t, fmt.Sprintf("fail_at=%d", i+1))
		err := whole()
		name, _, _ := strings.Cut(call, " ")
		switch {
		case name == "cuDeviceGetAttribute" || name == "cuModuleGetLoadingMode":
			// Means that the device lacks something, or that the answer is not known: both are
			// answers.
		case err == nil && slices.Contains(log.Calls(), "cuMemHostAlloc 0"):
			// HostAlloc has another way.
		case err == nil:
			t.Errorf("call %d, %s: no error", i+1, name)
		case !strings.Contains(err.Error(), name) && name != "gdr_get_info_v2":
			t.Errorf("call %d, %s, is not named: %v", i+1, name, err)
		}
		if name == "cuCtxPushCurrent_v2" {
			log.CheckProcess() // memory to be freed went with the context
		} else {
			log.Check()
		}
	}
}

func TestMemoryIsShared(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	const n = gpu.Page
	check := func(what string, p unsafe.Pointer, a gpu.Address) {
		t.Helper()
		host := unsafe.Slice((*byte)(p), n)
		if err := v.Fill(a, 0x01020304, n/4); err != nil || !bytes.Equal(host, bytes.Repeat([]byte{4, 3, 2, 1}, n/4)) {
			t.Errorf("%s: the CPU reads %x, error %v", what, host[:8], err)
		}
		for i := range host {
			host[i] = byte(i * 7)
		}
		got := make([]byte, n)
		if err := v.CopyOut(got, a); err != nil || !bytes.Equal(got, host) {
			t.Errorf("%s: the GPU reads %x, error %v", what, got[:8], err)
		}
	}
	p, a, err := v.HostAlloc(n)
	if err != nil {
		t.Fatal(err)
	}
	check("pinned", p, a)
	m, err := gpu.Host(n)
	if err != nil {
		t.Fatal(err)
	}
	a2, err := v.HostRegister(m.Host, n)
	if err != nil {
		t.Fatal(err)
	}
	check("registered", m.Host, a2)
	p3, a3, err := v.ManagedAlloc(n)
	if err != nil {
		t.Fatal(err)
	}
	check("managed", p3, a3)
	block, err := v.Alloc(2 * n)
	if err != nil {
		t.Fatal(err)
	}
	a4 := (block + gpu.Page - 1) / gpu.Page * gpu.Page
	gdr, err := v.MapGDRCopy(a4, n)
	if err != nil {
		t.Fatal(err)
	}
	check("GDRCopy", gdr.Host, a4)
	buf, err := v.MapDMABuf(a4, n)
	if err != nil {
		t.Fatal(err)
	}
	check("dma-buf", buf.Host, a4)
	if gdr.Method != "GDRCopy 2.5" || !gdr.Combining || buf.Method != "dma-buf" || !buf.Combining {
		t.Errorf("ways %+v, %+v", gdr, buf)
	}
	if err := errors.Join(gdr.Unmap(), buf.Unmap(), v.Free(block), v.Free(a3), v.HostUnregister(m.Host), m.Close(), v.HostFree(p), v.Close()); err != nil {
		t.Error(err)
	}
	log.Check()
}

// TestMapsRefuse: the error names the feature that a machine lacks for a mapping.
func TestMapsRefuse(t *testing.T) {
	whole := cudatest.Build(t)
	gdr, buf := (*Device).MapGDRCopy, (*Device).MapDMABuf
	for _, tt := range []struct {
		name, settings string
		gdrFile        string
		dir            string
		mapMemory      func(*Device, gpu.Address, uint64) (*gpu.Mapping, error)
		kind           error
		want           string
	}{
		{"no GDRCopy", "", "/none/libgdrapi.so.2", whole, gdr, shmerr.ErrNoLibrary, "load /none/libgdrapi.so.2: cannot open shared object file: No such file or directory (install GDRCopy 2 and load its kernel module gdrdrv)"},
		{"GDRCopy without a function", "", "", cudatest.Build(t, "NO_INFO"), gdr, shmerr.ErrNoLibrary, "libgdrapi.so.2 has no function gdr_get_info_v2 (install GDRCopy 2"},
		{"no kernel module", "gdrdrv=0", "", whole, gdr, shmerr.ErrSystem, "map memory of GPU 0 Fake G100: gdr_open: no such file or directory (load the kernel module gdrdrv"},
		{"a driver without export", "version=11040", "", cudatest.Build(t, "NO_EXPORT"), buf, shmerr.ErrUnsupported, "the driver, of CUDA 11.4, has no function cuMemGetHandleForAddressRange (install a driver of CUDA 11.7 or later)"},
		{"export is refused", "attribute124=0", "", whole, buf, shmerr.ErrUnsupported, "map memory of GPU 0 Fake G100: cuMemGetHandleForAddressRange: error 801"},
		{"mmap is refused", "unmappable=1", "", whole, buf, shmerr.ErrSystem, "mmap of a dma-buf: operation not permitted (install a driver of CUDA 13.3 or later)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := cudatest.Set(t, tt.settings)
			if tt.gdrFile == "" {
				tt.gdrFile = tt.dir + "/" + cudatest.GDR
			}
			d, err := open(tt.dir+"/"+cudatest.Driver, tt.gdrFile)
			if err != nil {
				t.Fatal(err)
			}
			v, err := d.Device(0)
			if err != nil {
				t.Fatal(err)
			}
			block, err := v.Alloc(2 * gpu.Page)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tt.mapMemory(v, (block+gpu.Page-1)/gpu.Page*gpu.Page, gpu.Page)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if err := errors.Join(v.Free(block), v.Close()); err != nil {
				t.Error(err)
			}
			log.Check()
		})
	}
}

// TestManyThreads: the fake driver has a context for each thread, as the real
// one, and refuses calls without one.
func TestManyThreads(t *testing.T) {
	log := cudatest.Set(t, "")
	v := mustDevice(t, cudatest.Build(t))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if err := use(v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	log.Check()
}
