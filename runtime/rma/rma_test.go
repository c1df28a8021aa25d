package rma

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/mesh"
)

// patience is how long tests wait for what has to happen.
const patience = 10 * time.Second

// connect makes a group of this process with itself, n ranks.
func connect(t *testing.T, n int) []*Group {
	t.Helper()
	_, id, err := uid.NewRoot(uid.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	all, errs := make([]*Group, n), make([]error, n)
	var ranks sync.WaitGroup
	for rank := range n {
		ranks.Go(func() {
			all[rank], errs[rank] = Connect(Options{ID: id, Rank: rank, Size: n, Timeout: patience, Provider: "tcp"})
		})
	}
	ranks.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, all) })
	return all
}

// closeAll closes the groups, all at once, since each waits for the others. A second call does nothing.
func closeAll(t *testing.T, all []*Group) {
	t.Helper()
	var ends sync.WaitGroup
	for i, g := range all {
		if g == nil {
			continue
		}
		all[i] = nil
		ends.Go(func() {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	ends.Wait()
}

// memory maps n bytes, until the process ends.
func memory(t *testing.T, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// register registers memory of all ranks; sizes has that of each.
func register(all []*Group, base []unsafe.Pointer, sizes []uint64) ([]*Memory, []error) {
	m, errs := make([]*Memory, len(all)), make([]error, len(all))
	var ranks sync.WaitGroup
	for rank, g := range all {
		ranks.Go(func() { m[rank], errs[rank] = g.Register(base[rank], sizes[rank], Kind{}) })
	}
	ranks.Wait()
	return m, errs
}

// TestGroup lets each rank put its number into memory of all, itself included; one rank has
// registered less than the others, and one nothing.
func TestGroup(t *testing.T) {
	const n = 4
	all := connect(t, n)
	bytes := make([][]byte, n)
	base, sizes := make([]unsafe.Pointer, n), []uint64{4096, 64, 4096, 0}
	for i := range bytes {
		bytes[i] = memory(t, 4096)
		base[i] = unsafe.Pointer(&bytes[i][0])
	}
	m, errs := register(all, base, sizes)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, g := range all {
		if m[rank].Remotes[3] != nil || m[rank].Remotes[1].Len != 64 {
			t.Fatalf("rank %d has %+v", rank, m[rank])
		}
		for to := range 3 {
			req, err := g.Mesh.Notify(0, &mesh.Signal{Region: m[rank].Remotes[to], Offset: uint64(8 * rank), Op: mesh.Add, Value: uint64(rank + 1)}, false)
			if err == nil {
				err = req.Wait(patience)
			}
			if err == nil {
				if req, err = g.Mesh.Flush(0, to); err == nil {
					err = req.Wait(patience)
				}
			}
			if err != nil {
				t.Fatalf("rank %d to %d: %v", rank, to, err)
			}
			if got := atomic.LoadUint64((*uint64)(unsafe.Pointer(&bytes[to][8*rank]))); got != uint64(rank+1) {
				t.Errorf("rank %d to %d: %d", rank, to, got)
			}
		}
	}
	for rank, g := range all {
		if err := g.Unregister(m[rank]); err != nil {
			t.Error(err)
		}
	}
}

// TestFailedRank lets a rank fail to register: each rank learns which, and why, and goes on.
func TestFailedRank(t *testing.T) {
	all := connect(t, 3)
	b := memory(t, 4096)
	p := unsafe.Pointer(&b[0])
	_, errs := register(all, []unsafe.Pointer{p, unsafe.Add(p, 3), p}, []uint64{8, 8, 8})
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "the address is not a multiple of 8") || rank != 1 && !strings.Contains(err.Error(), "rank 1: ") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	m, errs := register(all, []unsafe.Pointer{p, p, p}, []uint64{8, 8, 8})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, g := range all {
		if err := g.Unregister(m[rank]); err != nil {
			t.Error(err)
		}
	}
}

// TestGPUMemoryRefused registers GPU memory at a rank that has no GPU.
func TestGPUMemoryRefused(t *testing.T) {
	g, b := connect(t, 1)[0], memory(t, 4096)
	if _, err := g.Register(unsafe.Pointer(&b[0]), 4096, Kind{GPU: true}); err == nil || !strings.Contains(err.Error(), "this rank has not opened its GPU") {
		t.Errorf("error %v", err)
	}
}

// TestMissingRank connects two of three ranks: they name the third.
func TestMissingRank(t *testing.T) {
	r, id, err := uid.NewRoot(uid.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	errs := make([]error, 2)
	var ranks sync.WaitGroup
	for rank := range errs {
		ranks.Go(func() {
			_, errs[rank] = Connect(Options{ID: id, Rank: rank, Size: 3, Timeout: time.Second, Provider: "tcp"})
		})
	}
	ranks.Wait()
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "PE 2") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
