package gpudirect

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// recorder is a GPU that notes its calls, and fails those in fail.
type recorder struct {
	facts gpu.Facts
	fail  map[string]error // by the first word of a call
	calls []string
	files []int // descriptors that ExportDMABuf returned
}

func (r *recorder) note(call string) error {
	r.calls = append(r.calls, call)
	word, _, _ := strings.Cut(call, " ")
	return r.fail[word]
}

func (r *recorder) Name() string                   { return "GPU 2" }
func (r *recorder) Number() int                    { return 2 }
func (r *recorder) Facts() gpu.Facts               { return r.facts }
func (r *recorder) SyncMemops(a gpu.Address) error { return r.note(fmt.Sprintf("sync %#x", uint64(a))) }
func (r *recorder) FlushWrites(all bool) error     { return r.note(fmt.Sprintf("flush %v", all)) }

func (r *recorder) ExportDMABuf(a gpu.Address, n uint64) (int, error) {
	if err := r.note(fmt.Sprintf("export %#x %d", uint64(a), n)); err != nil {
		return -1, err
	}
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	r.files = append(r.files, fd)
	return fd, err
}

// register returns a function for Attempt that notes what it gets, and finds a dma-buf open.
func (r *recorder) register(m fabric.GPUMemory) error {
	path := "address"
	if m.File >= 0 {
		path = "file"
		if _, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", m.File)); err != nil {
			return err
		}
	}
	return r.note(fmt.Sprintf("%s %#x %d from %#x of %d live %v", path, uintptr(m.Base), m.Len, m.Offset, m.Device, m.Live))
}

// TestAttempt tries the paths in order, those that the GPU and the provider allow, registers no byte
// beside the memory, and leaves no dma-buf open.
func TestAttempt(t *testing.T) {
	const at = 0x7f40 // in the last page before 0x8000
	all := gpu.Facts{Driver: "13.0", Major: 9, DMABuf: true, RDMA: true, RDMAVMM: true, WritesOrdering: 200}
	export, file, address, synced := "export 0x7000 8192", "file 0x7f40 200 from 0xf40 of 2 live true", "address 0x7f40 200 from 0x0 of 2 live true", "sync 0x7f40"
	full := errors.New("full")
	for _, c := range []struct {
		name   string
		caps   fabric.Caps
		change func(*recorder, *Access)
		calls  []string
		path   Path
		err    string
		kind   error
	}{
		{"a dma-buf", fabric.Caps{GPU: true, DMABuf: true}, nil, []string{export, file, synced}, DMABuf, "", nil},
		{"no dma-bufs of the provider", fabric.Caps{GPU: true}, nil, []string{address, synced}, PeerMemory, "", nil},
		{"no dma-bufs of the driver", fabric.Caps{GPU: true, DMABuf: true}, func(r *recorder, _ *Access) { r.facts.DMABuf = false },
			[]string{address, synced}, PeerMemory, "", nil},
		{"a dma-buf that is refused", fabric.Caps{GPU: true, DMABuf: true}, func(r *recorder, _ *Access) { r.fail["file"] = full },
			[]string{export, file, address, synced}, PeerMemory, "", nil},
		{"an export that fails", fabric.Caps{GPU: true, DMABuf: true}, func(r *recorder, _ *Access) { r.fail["export"] = full },
			[]string{export, address, synced}, PeerMemory, "", nil},
		{"nothing works", fabric.Caps{GPU: true, DMABuf: true}, func(r *recorder, _ *Access) { r.fail["file"], r.facts.RDMA = full, false },
			[]string{export, file}, 0, "full\nregister memory of GPU 2: the driver does not give NICs access to it", full},
		{"memory in chunks", fabric.Caps{GPU: true}, func(r *recorder, a *Access) { r.facts.RDMAVMM, a.VMM = false, true },
			nil, 0, "the driver does not give NICs access to it", shmerr.ErrUnsupported},
		{"no flush", fabric.Caps{GPU: true, DMABuf: true}, func(r *recorder, _ *Access) { r.facts.WritesOrdering = 0 },
			nil, 0, "are not in order, and the driver, of CUDA 13.0, has no call to flush it", shmerr.ErrUnsupported},
		{"a path by name", fabric.Caps{GPU: true, DMABuf: true}, func(r *recorder, a *Access) { a.Only = []Path{PeerMemory} },
			[]string{address, synced}, PeerMemory, "", nil},
		{"no NIC", fabric.Caps{}, func(r *recorder, _ *Access) { r.fail["address"] = full }, []string{address}, 0, "full", full},
	} {
		r := &recorder{facts: all, fail: map[string]error{}}
		a := &Access{GPU: r, Log: func(text string) { t.Errorf("%s: it logs %q", c.name, text) }}
		if c.change != nil {
			c.change(r, a)
		}
		path, err := a.Attempt(c.caps, at, 200, true, r.register)
		if path != c.path || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !errors.Is(err, c.kind)) {
			t.Errorf("%s: %v, %v", c.name, path, err)
		}
		if !slices.Equal(r.calls, c.calls) {
			t.Errorf("%s: calls %q, want %q", c.name, r.calls, c.calls)
		}
		for _, fd := range r.files {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				t.Errorf("%s: a dma-buf is open", c.name)
			}
		}
	}
}

// TestUnsynced logs once that copies of the program may be late, and then no kernel sees a NIC's
// writes in order.
func TestUnsynced(t *testing.T) {
	r := &recorder{facts: gpu.Facts{Major: 9, RDMA: true, WritesOrdering: 100}, fail: map[string]error{"sync": errors.New("refused")}}
	var lines []string
	a := &Access{GPU: r, Log: func(text string) { lines = append(lines, text) }}
	if !a.InOrder() || a.Flush() != nil {
		t.Error("the GPU's own kernels do not see writes in order")
	}
	for range 2 {
		if path, err := a.Attempt(fabric.Caps{GPU: true}, 0x7000, 64, false, r.register); err != nil || path != PeerMemory {
			t.Errorf("%v, %v", path, err)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "synchronous copy by the program has arrived: refused") || a.InOrder() {
		t.Errorf("it logs %q, and writes are in order: %v", lines, a.InOrder())
	}
}

// TestPaths has a path for each setting by which NICs reach memory of a GPU, and none for the others.
func TestPaths(t *testing.T) {
	for setting := config.GPUNetAuto; setting <= config.GPUNetCopy; setting++ {
		if paths := Paths(setting); (len(paths) > 0) != setting.Reaches() {
			t.Errorf("SHMEM_GPU_NET=%v: paths %v, and NICs reach the memory: %v", setting, paths, setting.Reaches())
		}
	}
}
