package proxy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/mrcache/memmonitor"
	"libshmem/runtime/mrcache/pinned"
	"libshmem/runtime/proxy/layout"
)

// holding is an end whose NIC holds the pages of callers' memory: a write takes its bytes from the
// pages that were there at the registration, and a read puts its bytes into those.
type holding struct {
	*end
	nic   *pinned.NIC
	under map[fabric.Token]*copyOf
}

type copyOf struct {
	bytes  []byte
	region fabric.Region // of the bytes
	desc   uintptr       // of the NIC; the destination
	to     unsafe.Pointer
}

// ofNIC marks descriptors that are the NIC's.
const ofNIC = 1 << 40

func (h *holding) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	r, err := h.nic.Register(base, n)
	r.Desc |= ofNIC
	return r, err
}

func (h *holding) Unregister(r fabric.Region) error {
	if r.Desc&ofNIC == 0 {
		return h.end.Unregister(r)
	}
	r.Desc &^= ofNIC
	return h.nic.Unregister(r)
}

func (h *holding) Write(op *fabric.RMA) error { return h.post(op, h.end.Write, true) }
func (h *holding) Read(op *fabric.RMA) error  { return h.post(op, h.end.Read, false) }

func (h *holding) post(op *fabric.RMA, post func(*fabric.RMA) error, out bool) error {
	if op.Desc&ofNIC == 0 {
		return post(op)
	}
	b := &copyOf{bytes: make([]byte, op.Len), desc: op.Desc &^ ofNIC, to: op.Local}
	if out {
		if err := h.nic.Load(b.desc, op.Local, b.bytes); err != nil {
			return err
		}
		b.to = nil
	}
	var err error
	if b.region, err = h.end.Register(unsafe.Pointer(&b.bytes[0]), op.Len); err != nil {
		return err
	}
	inner := *op
	inner.Local, inner.Desc = b.region.Base, b.region.Desc
	if err := post(&inner); err != nil {
		_ = h.end.Unregister(b.region)
		return err
	}
	h.under[op.Token] = b
	return nil
}

func (h *holding) Poll(c []fabric.Completion) (int, error) {
	n, err := h.end.Poll(c)
	for i := range n {
		b := h.under[c[i].Token]
		if b == nil {
			continue
		}
		delete(h.under, c[i].Token)
		if b.to != nil {
			if err := h.nic.Store(b.desc, b.to, b.bytes); err != nil {
				h.net.t.Error(err)
			}
		}
		if err := h.end.Unregister(b.region); err != nil {
			h.net.t.Error(err)
		}
	}
	return n, err
}

// watchStub is a Watch that may report nothing.
type watchStub struct {
	*memmonitor.Watch
	deaf bool
}

func (w watchStub) Changes(f func(memmonitor.Span)) bool { return w.deaf || w.Watch.Changes(f) }

// hold gives the engines of a job NICs that hold pages, and caches.
func (j *job) hold(deaf bool) (nics []*pinned.NIC) {
	j.t.Helper()
	for _, p := range j.pes {
		nic, err := pinned.Open()
		if err != nil {
			j.t.Skipf("needs io_uring: %v", err)
		}
		w, err := memmonitor.Open()
		if err != nil {
			j.t.Skipf("needs userfaultfd: %v", err)
		}
		p.ops.Net.Provider = &holding{end: p.end, nic: nic, under: map[fabric.Token]*copyOf{}}
		p.KeepRegistered(watchStub{w, deaf}, mrcache.Limits{Bytes: 1 << 20, Regions: 16})
		nics = append(nics, nic)
		j.t.Cleanup(func() {
			if err := nic.Close(); err != nil {
				j.t.Error(err)
			}
		})
	}
	return nics
}

// TestMemoryThatComesAndGoes puts from and gets into memory that is unmapped and mapped again all
// the time, and compares it with what the program stored. If caches get no reports, the bytes are
// wrong, which shows that the test would notice.
func TestMemoryThatComesAndGoes(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		for _, m := range []mode{modes[1], modes[2], rough(modes[1]), rough(modes[2])} {
			t.Run(m.name+map[bool]string{true: ", told nothing"}[deaf], func(t *testing.T) {
				const heap, block = 1 << 17, 1 << 16
				j := newJob(t, m, 3, 2, heap)
				nics := j.hold(deaf)
				a, b := j.pes[0], j.pes[1]
				rng := rand.New(rand.NewPCG(3, 3))
				var blocks [3][]byte
				wrong := 0
				for range 120 {
					k := &blocks[rng.IntN(len(blocks))]
					if *k != nil && rng.IntN(3) == 0 {
						if err := unix.Munmap(*k); err != nil {
							t.Fatal(err)
						}
						*k = nil
					}
					if *k == nil {
						var err error
						if *k, err = unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
							t.Fatal(err)
						}
					}
					n := layout.MaxPayload + 1 + rng.IntN(20000)
					at := rng.IntN(block - n)
					local := (*k)[at : at+n]
					p := unsafe.Pointer(&local[0])
					offset := libshmem.Offset(rng.IntN(heap - n))
					far := b.heap[offset : offset+libshmem.Offset(n)]
					if rng.IntN(2) == 0 {
						copy(local, fill(rng, n))
						a.do(func(r *Request) Status { return a.Put(1, offset, p, uint64(n), r) })
						a.quiet()
					} else {
						copy(far, fill(rng, n))
						a.do(func(r *Request) Status { return a.Get(1, offset, p, uint64(n), r) })
					}
					if !bytes.Equal(local, far) {
						wrong++
					}
				}
				if deaf != (wrong > 0) {
					t.Errorf("%d of 120 operations moved wrong bytes", wrong)
				}
				if n := a.Registered(); n.Hits == 0 || n.Misses == 0 || n.Single != 0 || !deaf && n.Stale == 0 {
					t.Errorf("%+v", n)
				}
				for _, k := range blocks {
					if k != nil {
						if err := unix.Munmap(k); err != nil {
							t.Error(err)
						}
					}
				}
				j.close()
				if n := nics[0].Live() + nics[1].Live(); n != 0 {
					t.Errorf("%d registrations are left", n)
				}
			})
		}
	}
}

// TestAnyLocalMemory uses memory that no NIC takes.
func TestAnyLocalMemory(t *testing.T) {
	const n = 3 * layout.MaxPayload
	j := newJob(t, modes[1], 1, 2, 1<<16)
	j.hold(false)
	a, b := j.pes[0], j.pes[1]
	want := fill(j.rng, n)

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapping := func(prot, flags int) []byte {
		m, err := unix.Mmap(int(f.Fd()), 0, n, prot, flags)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(m) })
		return m
	}
	readOnly := mapping(unix.PROT_READ, unix.MAP_PRIVATE)
	shared := mapping(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	for what, source := range map[string][]byte{"read-only": readOnly, "of a file": shared} {
		clear(b.heap)
		a.do(func(r *Request) Status { return a.Put(1, 8, unsafe.Pointer(&source[0]), n, r) })
		a.quiet()
		differ(t, "put from memory "+what, b.heap[8:8+n], want)
	}
	for i := range want {
		want[i] ^= 0x5a
	}
	copy(b.heap, want)
	a.do(func(r *Request) Status { return a.Get(1, 0, unsafe.Pointer(&shared[0]), n, r) })
	differ(t, "get into a file", shared, want)

	gone := mapping(unix.PROT_NONE, unix.MAP_PRIVATE)
	if st := a.Put(1, 0, unsafe.Pointer(&gone[0]), n, nil); st != Failed || !strings.Contains(a.Err().Error(), fmt.Sprintf("copy %d bytes at 0x", n)) {
		t.Errorf("put from memory that may not be read: %d, %v", st, a.Err())
	}
	r := new(Request)
	if st := a.Get(1, 0, unsafe.Pointer(&gone[0]), n, r); st != Pending {
		t.Fatalf("get: %d, %v", st, a.Err())
	}
	j.await("the get", func() bool { return r.Done != 0 })
	if r.Status == 0 || !strings.Contains(a.Err().Error(), "bad address") {
		t.Errorf("get into memory that may not be written: status %d, %v", r.Status, a.Err())
	}
	j.close()
}
