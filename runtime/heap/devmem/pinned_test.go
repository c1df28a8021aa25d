package devmem

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// registrar notes registrations, and fails where the test wants it.
type registrar struct {
	facts   gpu.Facts
	ranges  map[unsafe.Pointer]uint64
	most    uint64 // bytes of a range
	failAt  int
	calls   int
	offset  gpu.Address
	unknown int // registrations given back that were not there
}

func (r *registrar) Name() string     { return "GPU r" }
func (r *registrar) Facts() gpu.Facts { return r.facts }

func (r *registrar) call(name string) error {
	if r.calls++; r.calls == r.failAt {
		return fmt.Errorf("%s %s", name, errFake)
	}
	return nil
}

func (r *registrar) HostRegister(p unsafe.Pointer, n uint64) (gpu.Address, error) {
	if err := r.call("HostRegister"); err != nil {
		return 0, err
	}
	if n > r.most {
		return 0, shmerr.Causef(shmerr.ErrNoMemory, "%d bytes are too many", n)
	}
	r.ranges[p] = n
	return gpu.Address(uintptr(p)) + r.offset, nil
}

func (r *registrar) HostUnregister(p unsafe.Pointer) error {
	if r.ranges[p] == 0 {
		r.unknown++
	}
	delete(r.ranges, p)
	return r.call("HostUnregister")
}

func newRegistrar() *registrar {
	return &registrar{facts: gpu.Facts{RegisterHost: true, HostPointers: true}, ranges: map[unsafe.Pointer]uint64{}, most: 1 << 40}
}

// heapsAt returns addresses only: nothing of them is touched.
func heapsAt() []unsafe.Pointer {
	return []unsafe.Pointer{pointer(1 << 40), pointer(1<<40 + 1<<34), pointer(1<<40 + 1<<35)}
}

// covered returns the registered bytes of each heap from its start on.
func (r *registrar) covered(heaps []unsafe.Pointer) []uint64 {
	all := make([]uint64, len(heaps))
	for i, h := range heaps {
		for n := r.ranges[h]; n > 0; n = r.ranges[unsafe.Add(h, all[i])] {
			all[i] += n
		}
	}
	return all
}

func TestPinnedHeapsGrow(t *testing.T) {
	r, heaps := newRegistrar(), heapsAt()
	p, err := Pin(r, heaps, 100*mib)
	if err != nil {
		t.Fatal(err)
	}
	if p.Heap(1) != gpu.Address(uintptr(heaps[1])) {
		t.Errorf("heap 1 is at %#x", uint64(p.Heap(1)))
	}
	for _, tt := range []struct{ end, want uint64 }{{1, Step}, {Step, Step}, {Step + 1, 2 * Step}, {99 * mib, 99 * mib}, {100 * mib, 100 * mib}, {1, 100 * mib}} {
		if err := p.Commit(tt.end); err != nil {
			t.Fatal(err)
		}
		for i, got := range r.covered(heaps) {
			if got != tt.want || p.Committed() != tt.want {
				t.Errorf("up to %d: %d of heap %d registered, %d committed, want %d", tt.end, got, i, p.Committed(), tt.want)
			}
		}
	}
	if err := p.Commit(100*mib + 1); !errors.Is(err, shmerr.ErrInternal) {
		t.Errorf("more than the heap: %v", err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil || len(r.ranges) != 0 || r.unknown != 0 {
		t.Errorf("closed: %v, %v left, %d unknown", err, r.ranges, r.unknown)
	}
}

func TestPinnedHeapsRefuse(t *testing.T) {
	heaps := heapsAt()
	for want, change := range map[string]func(*gpu.Facts){
		"pin 100.0 MiB of the symmetric heap of each of 3 PEs on GPU r: the GPU cannot map main memory of the program (set SHMEM_HEAP to host)":            func(f *gpu.Facts) { f.RegisterHost = false },
		"pin 100.0 MiB of the symmetric heap of each of 3 PEs on GPU r: the GPU sees main memory at other addresses than the CPU (set SHMEM_HEAP to host)": func(f *gpu.Facts) { f.HostPointers = false },
	} {
		r := newRegistrar()
		change(&r.facts)
		if _, err := Pin(r, heaps, 100*mib); !errors.Is(err, shmerr.ErrUnsupported) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	r := newRegistrar()
	r.most = 10 * mib
	p, err := Pin(r, heaps, 100*mib)
	if err != nil {
		t.Fatal(err)
	}
	// A step is too much, the requested size is not.
	if err := p.Commit(5*mib + 1); err != nil || p.Committed() != 5*mib+pinPage {
		t.Errorf("%d committed, %v", p.Committed(), err)
	}
	want := "pin 20.0 MiB of the symmetric heap of each of 3 PEs on GPU r: 15724544 bytes are too many (allocate less, run fewer PEs on the node or free memory)"
	if err := p.Commit(20 * mib); !errors.Is(err, shmerr.ErrNoMemory) || err.Error() != want || p.Committed() != 5*mib+pinPage {
		t.Errorf("%d committed, %v\nwant %s", p.Committed(), err, want)
	}
	r.offset = 4096
	if err := p.Commit(6 * mib); !errors.Is(err, shmerr.ErrUnsupported) || !strings.Contains(err.Error(), "the CPU has it at 0x") {
		t.Errorf("another address: %v", err)
	}
	if err := p.Close(); err != nil || len(r.ranges) != 0 {
		t.Errorf("closed: %v, %v left", err, r.ranges)
	}
}

// TestPinnedAhead: a GiB at once, where there is memory for it.
func TestPinnedAhead(t *testing.T) {
	r, heaps := newRegistrar(), heapsAt()
	p, err := Pin(r, heaps, 5<<29)
	if err != nil {
		t.Fatal(err)
	}
	memory := uint64(2 << 30)
	p.Ahead(func(end uint64) error {
		if end > memory {
			return shmerr.ErrNoMemory
		}
		return nil
	})
	for _, tt := range []struct{ end, want uint64 }{{64, 1 << 30}, {1<<30 + 1, 2 << 30}, {2<<30 + 1, 2<<30 + pinPage}, {5 << 29, 5 << 29}} {
		if err := p.Commit(tt.end); err != nil || p.Committed() != tt.want || r.covered(heaps)[2] != tt.want {
			t.Errorf("up to %d: %d committed, want %d, %v", tt.end, p.Committed(), tt.want, err)
		}
	}
	if err := p.Close(); err != nil || len(r.ranges) != 0 {
		t.Errorf("closed: %v, %v left", err, r.ranges)
	}
}

// TestEveryFailureOfPinning: nothing stays registered that is not committed.
func TestEveryFailureOfPinning(t *testing.T) {
	heaps := heapsAt()
	for k := 1; ; k++ {
		r := newRegistrar()
		r.failAt = k
		p, err := Pin(r, heaps, 50*mib)
		if err != nil {
			t.Fatal(err)
		}
		first := p.Commit(50 * mib)
		if first != nil {
			for i, n := range r.covered(heaps) {
				if n != 0 {
					t.Errorf("call %d: %d of heap %d are left", k, n, i)
				}
			}
		}
		second := p.Commit(50 * mib)
		last := p.Close()
		if len(r.ranges) != 0 || r.unknown != 0 {
			t.Errorf("call %d: %v left, %d unknown", k, r.ranges, r.unknown)
		}
		if r.calls < k {
			if k != 7 {
				t.Errorf("%d calls", k-1)
			}
			break
		}
		if failed := errors.Join(first, last); failed == nil || second != nil || !strings.Contains(failed.Error(), "Host") {
			t.Errorf("call %d: %v, then %v", k, failed, second)
		}
	}
}
