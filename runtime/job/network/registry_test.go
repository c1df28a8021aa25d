package network

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
	"libshmem/runtime/gpu/gpudirect"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// recorder is a GPU and an endpoint that note their calls, and fail where a test wants it.
type recorder struct {
	t     testing.TB
	facts gpu.Facts
	caps  fabric.Caps
	fail  map[string]error // by call
	calls []string
	open  []int // descriptors given out
	parts int   // registered
	locks int   // 1: the lock is held
	flush func() error
	lines []string // of the log
}

func (r *recorder) note(format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	r.calls = append(r.calls, call)
	for prefix, err := range r.fail {
		if strings.HasPrefix(call, prefix) {
			return err
		}
	}
	return nil
}

func (r *recorder) Name() string      { return "GPU 2" }
func (r *recorder) Number() int       { return 2 }
func (r *recorder) Facts() gpu.Facts  { return r.facts }
func (r *recorder) Caps() fabric.Caps { return r.caps }

func (r *recorder) ExportDMABuf(a gpu.Address, n uint64) (int, error) {
	if err := r.note("export %#x %d", uint64(a), n); err != nil {
		return -1, err
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		r.t.Fatal(err)
	}
	defer null.Close()
	fd, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.open = append(r.open, fd)
	return fd, nil
}

func (r *recorder) SyncMemops(a gpu.Address) error { return r.note("sync %#x", uint64(a)) }
func (r *recorder) FlushWrites(all bool) error     { return r.note("flush all=%v", all) }
func (r *recorder) FlushBy(f func() error)         { r.flush = f }

func (r *recorder) RegisterHeap(offset uint64, loan gpustage.Loan, m fabric.GPUMemory) error {
	way := "peer"
	if m.File >= 0 {
		way = "dmabuf"
		if _, err := unix.FcntlInt(uintptr(m.File), unix.F_GETFD, 0); err != nil {
			r.t.Errorf("a descriptor that is closed is registered: %v", err)
		}
	}
	if loan != 0 {
		way = fmt.Sprintf("%s for loan %d", way, loan)
	}
	err := r.note("%s %#x at %d: %d of GPU %d from %d", way, uintptr(m.Base), offset, m.Len, m.Device, m.Offset)
	if err == nil {
		r.parts++
	}
	return err
}

func (r *recorder) UnregisterHeap() error {
	r.parts = 0
	return r.note("unregister")
}

func (r *recorder) Locked(f func()) {
	r.locks++
	f()
}

func (r *recorder) log(level config.LogLevel, format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf("%s: %s", level, fmt.Sprintf(format, args...)))
}

// closed fails the test if a descriptor is still open.
func (r *recorder) closed() {
	r.t.Helper()
	for _, fd := range r.open {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			r.t.Error("the descriptor of a dma-buf is open")
		}
	}
}

const heapAt = 0x7000000000

var (
	hopper = gpu.Facts{Driver: "13.0", Major: 9, DMABuf: true, RDMA: true, RDMAVMM: true, FlushWrites: 1, WritesOrdering: 200}
	nic    = fabric.Caps{GPU: true, DMABuf: true}
	two    = []devmem.Extent{{Offset: 0, Size: 2 << 20}, {Offset: 2 << 20, Size: 32 << 20}}
	three  = append(slices.Clone(two), devmem.Extent{Offset: 34 << 20, Size: 64 << 20})
)

func fakeRegistry(t *testing.T, want config.GPUNet, f gpu.Facts, c fabric.Caps) (*Registry, *recorder) {
	r := &recorder{t: t, facts: f, caps: c, fail: map[string]error{}}
	return NewRegistry(RegistryConfig{GPU: r, Heap: heapAt, Want: want, VMM: true, Log: r.log}), r
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	byFile = []string{
		"export 0x7000000000 2097152", "dmabuf 0x7000000000 at 0: 2097152 of GPU 2 from 0", "sync 0x7000000000",
		"export 0x7000200000 33554432", "dmabuf 0x7000200000 at 2097152: 33554432 of GPU 2 from 0", "sync 0x7000200000",
	}
	byPeer = []string{
		"peer 0x7000000000 at 0: 2097152 of GPU 2 from 0", "sync 0x7000000000",
		"peer 0x7000200000 at 2097152: 33554432 of GPU 2 from 0", "sync 0x7000200000",
	}
	aDMABuf = []string{"export 0x7000000000 2097152", "dmabuf 0x7000000000 at 0: 2097152 of GPU 2 from 0"}
)

// Each path is tried in its turn if the driver and the provider allow it, and a failed one leaves
// nothing behind.
func TestRegistryOpen(t *testing.T) {
	no := errors.New("no place for it")
	with := func(f func(*gpu.Facts)) gpu.Facts {
		facts := hopper
		f(&facts)
		return facts
	}
	for _, c := range []struct {
		what  string
		want  config.GPUNet
		facts gpu.Facts
		caps  fabric.Caps
		fail  string // call
		calls []string
		way   gpudirect.Path
		err   string
		logs  []string
	}{
		{what: "the best", facts: hopper, caps: nic, calls: byFile, way: gpudirect.DMABuf,
			logs: []string{"info: the NIC reaches the heap by dma-buf, flushes: false"}},
		{what: "peer memory by name", want: config.GPUNetPeerMem, facts: hopper, caps: nic, calls: byPeer, way: gpudirect.PeerMemory,
			logs: []string{"info: the NIC reaches the heap by peer memory, flushes: false"}},
		{what: "no dma-bufs of the driver", facts: with(func(f *gpu.Facts) { f.DMABuf = false }), caps: nic, calls: byPeer, way: gpudirect.PeerMemory,
			logs: []string{
				"info: the NIC does not reach the heap by dma-buf: register memory of GPU 2: the driver, of CUDA 13.0, exports no dma-buf of it",
				"info: the NIC reaches the heap by peer memory, flushes: false",
			}},
		{what: "an old libfabric", facts: hopper, caps: fabric.Caps{GPU: true}, calls: byPeer, way: gpudirect.PeerMemory,
			logs: []string{
				"info: the NIC does not reach the heap by dma-buf: register memory of GPU 2: the provider takes no dma-bufs (efa and verbs do, of libfabric 1.20 and later)",
				"info: the NIC reaches the heap by peer memory, flushes: false",
			}},
		{what: "the second part fails", facts: hopper, caps: nic, fail: "dmabuf 0x7000200000",
			calls: slices.Concat(byFile[:5], []string{"unregister"}, byPeer), way: gpudirect.PeerMemory,
			logs: []string{"info: the NIC does not reach the heap by dma-buf: no place for it", "info: the NIC reaches the heap by peer memory, flushes: false"}},
		{what: "nothing works", facts: with(func(f *gpu.Facts) { f.RDMAVMM = false }), caps: nic, fail: "dmabuf",
			calls: slices.Concat(aDMABuf, []string{"unregister"}), way: 0,
			logs: []string{
				"info: the NIC does not reach the heap by dma-buf: no place for it",
				"info: the NIC does not reach the heap by peer memory: register memory of GPU 2: the driver does not give NICs access to it",
			}},
		{what: "no export, by name", want: config.GPUNetDMABuf, facts: hopper, caps: nic, fail: "export", calls: []string{aDMABuf[0], "unregister"},
			err: "SHMEM_GPU_NET=dmabuf: no place for it (set it to auto to use what works)"},
		{what: "no peer memory, by name", want: config.GPUNetPeerMem, facts: with(func(f *gpu.Facts) { f.RDMA = false }), caps: nic,
			err: "SHMEM_GPU_NET=peermem: register memory of GPU 2: the driver does not give NICs access to it (set it to auto to use what works)"},
		{what: "out of order and no flush, by name", want: config.GPUNetDMABuf, facts: with(func(f *gpu.Facts) { f.WritesOrdering, f.FlushWrites = 0, 2 }), caps: nic,
			err: "SHMEM_GPU_NET=dmabuf: register memory of GPU 2: a NIC's writes there are not in order, and the driver, of CUDA 13.0, has no call to flush it (set it to auto to use what works)"},
		{what: "copies stay as they are", facts: hopper, caps: nic, fail: "sync", calls: byFile, way: gpudirect.DMABuf,
			logs: []string{
				"info: a NIC may read before a synchronous copy by the program has arrived: no place for it",
				"info: the NIC reaches the heap by dma-buf, flushes: false",
			}},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, rec := fakeRegistry(t, c.want, c.facts, c.caps)
			if c.fail != "" {
				rec.fail[c.fail] = no
			}
			err := r.Open(rec, two)
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if c.err != "" && c.fail == "" && !errors.Is(err, shmerr.ErrUnsupported) {
				t.Errorf("error %v is of another kind", err)
			}
			same(t, "calls", rec.calls, c.calls)
			same(t, "log", rec.lines, c.logs)
			if err == nil && (len(r.registrations) != 1 || r.registrations[0].path != c.way || (rec.parts == 2) != (c.way != 0)) {
				t.Errorf("%d parts registered, %+v", rec.parts, r.registrations)
			}
			if rec.flush != nil || rec.locks != 0 {
				t.Error("something is to be flushed, or the lock was taken")
			}
			rec.closed()
		})
	}
}

// If a GPU does not keep the order of a NIC's writes for all readers, the writes are flushed.
func TestRegistryFlush(t *testing.T) {
	for _, c := range []struct {
		order int
		all   bool
		call  string
	}{
		{0, false, "flush all=false"}, {0, true, "flush all=true"}, {100, false, ""}, {100, true, "flush all=true"}, {200, false, ""}, {200, true, ""},
	} {
		facts := hopper
		facts.WritesOrdering = c.order
		r, rec := fakeRegistry(t, config.GPUNetAuto, facts, nic)
		r.access.All = c.all
		if err := r.Open(rec, two); err != nil {
			t.Fatal(err)
		}
		call := ""
		if rec.flush != nil {
			if err := rec.flush(); err != nil {
				t.Error(err)
			}
			call = rec.calls[len(rec.calls)-1]
		}
		if call != c.call {
			t.Errorf("order %d, others %v: %q, want %q", c.order, c.all, call, c.call)
		}
		rec.closed()
	}
}

// Kernels see what a NIC writes in its order on GPUs that are known for it, in memory that NICs
// reach and that the program's copies do not pass.
func TestRegistryInOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   config.GPUNet
		change func(f *gpu.Facts)
		fails  string
		order  bool
	}{
		{"hopper", config.GPUNetAuto, func(*gpu.Facts) {}, "", true},
		{"blackwell", config.GPUNetPeerMem, func(f *gpu.Facts) { f.Major = 10 }, "", true},
		{"for its own kernels", config.GPUNetAuto, func(f *gpu.Facts) { f.WritesOrdering = 100 }, "", true},
		{"ampere", config.GPUNetAuto, func(f *gpu.Facts) { f.Major = 8 }, "", false},
		{"no order", config.GPUNetAuto, func(f *gpu.Facts) { f.WritesOrdering = 0 }, "", false},
		{"no synchronous copies", config.GPUNetAuto, func(*gpu.Facts) {}, "sync", false},
		{"staged", config.GPUNetStage, func(*gpu.Facts) {}, "", false},
	} {
		facts := hopper
		c.change(&facts)
		r, rec := fakeRegistry(t, c.want, facts, nic)
		if c.fails != "" {
			rec.fail[c.fails] = errors.New("no")
		}
		if err := r.Open(rec, two); err != nil {
			t.Fatal(err)
		}
		if got := r.InOrder(0); got != c.order {
			t.Errorf("%s: in order %v, want %v", c.name, got, c.order)
		}
		rec.closed()
	}
	if (*Registry)(nil).InOrder(0) {
		t.Error("without NICs that reach the heap their writes are in order")
	}
}

// A new part of the heap is registered with every endpoint, once, with the lock held.
func TestRegistryGrow(t *testing.T) {
	last := []string{"export 0x7002200000 67108864", "dmabuf 0x7002200000 at 35651584: 67108864 of GPU 2 from 0", "sync 0x7002200000"}
	r, rec := fakeRegistry(t, config.GPUNetAuto, hopper, nic)
	staged := &recorder{t: t}
	if err := r.Open(rec, two); err != nil {
		t.Fatal(err)
	}
	r.registrations = append(r.registrations, registration{endpoint: staged, path: 0})
	rec.calls = nil
	for range 2 {
		if err := r.Grow(three); err != nil {
			t.Error(err)
		}
	}
	same(t, "calls", rec.calls, last)
	if rec.locks != 1 || staged.calls != nil {
		t.Errorf("the lock was taken %d times; a staged endpoint was asked %v", rec.locks, staged.calls)
	}
	rec.closed()

	// A job that named no path goes on with the parts that could be registered. A job that named
	// one gets an error, and may try again.
	for _, c := range []struct {
		want       config.GPUNet
		first, end int // calls
		err        string
	}{
		{config.GPUNetAuto, 2, 2, ""},
		{config.GPUNetDMABuf, 2, 5, "SHMEM_GPU_NET=dmabuf: full"},
	} {
		r, rec := fakeRegistry(t, c.want, hopper, nic)
		if err := r.Open(rec, two); err != nil {
			t.Fatal(err)
		}
		rec.calls, rec.lines = nil, nil
		rec.fail["dmabuf"] = errors.New("full")
		err := r.Grow(three)
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err || len(rec.calls) != c.first {
			t.Errorf("%s: error %v after %v", c.want, err, rec.calls)
		}
		if c.err == "" {
			same(t, "log", rec.lines, []string{"warn: 67108864 bytes of the heap at offset 0x2200000 are staged: full"})
		}
		rec.fail = nil
		if err := r.Grow(three); err != nil || len(rec.calls) != c.end {
			t.Errorf("%s, again: error %v after %v", c.want, err, rec.calls)
		}
		rec.closed()
	}
}

// A loan is one registration, or one for each chunk if the provider refuses the whole.
func TestRegistryLend(t *testing.T) {
	lent := []devmem.Extent{{Offset: 100 << 20, Size: 2 << 20}, {Offset: 102 << 20, Size: 4 << 20}}
	at := func(x devmem.Extent) []string {
		return []string{
			fmt.Sprintf("export %#x %d", heapAt+x.Offset, x.Size),
			fmt.Sprintf("dmabuf for loan 9 %#x at %d: %d of GPU 2 from 0", heapAt+x.Offset, x.Offset, x.Size), fmt.Sprintf("sync %#x", heapAt+x.Offset),
		}
	}
	whole, first, second := at(devmem.Extent{Offset: 100 << 20, Size: 6 << 20}), at(lent[0]), at(lent[1])
	const parts = "info: 6291456 bytes that are lent to the heap are registered in 2 parts: no"
	for _, c := range []struct {
		what  string
		want  config.GPUNet
		fail  []string
		calls []string
		err   string
		logs  []string
	}{
		{"together", config.GPUNetAuto, nil, whole, "", nil},
		{"not exported together", config.GPUNetAuto, whole[:1], slices.Concat(whole[:1], first, second), "", []string{parts}},
		{"not taken together", config.GPUNetDMABuf, whole[1:2], slices.Concat(whole[:2], first, second), "", []string{parts}},
		{"one not", config.GPUNetAuto, []string{whole[0], first[1]}, slices.Concat(whole[:1], first[:2], second), "",
			[]string{parts, "warn: 2097152 bytes of the heap at offset 0x6400000 are staged: no"}},
		{"one chunk", config.GPUNetAuto, first[1:2], first[:2], "", []string{"warn: 2097152 bytes of the heap at offset 0x6400000 are staged: no"}},
		{"one not, by name", config.GPUNetDMABuf, []string{whole[0], second[1]}, slices.Concat(whole[:1], first, second[:2]), "SHMEM_GPU_NET=dmabuf: no",
			[]string{parts}},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, rec := fakeRegistry(t, c.want, hopper, nic)
			staged := &recorder{t: t}
			if err := r.Open(rec, two); err != nil {
				t.Fatal(err)
			}
			r.registrations = append(r.registrations, registration{endpoint: staged, path: 0})
			rec.calls, rec.lines = nil, nil
			for _, call := range c.fail {
				rec.fail[call] = errors.New("no")
			}
			chunks := lent
			if c.what == "one chunk" {
				chunks = lent[:1]
			}
			if err := r.Lend(9, chunks); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("error %v, want %q", err, c.err)
			}
			same(t, "calls", rec.calls, c.calls)
			same(t, "log", rec.lines, c.logs)
			if rec.locks == 0 || staged.calls != nil {
				t.Errorf("the lock was taken %d times; a staged endpoint was asked %v", rec.locks, staged.calls)
			}
			rec.closed()
		})
	}
}
