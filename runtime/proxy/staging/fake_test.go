package staging

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/proxy"
)

// fake is a GPU whose memory is main memory. Its streams do what they have when
// they are told to.
type fake struct {
	t       testing.TB
	facts   gpu.Facts
	calls   int
	failing int // number of the call that fails; 0: none
	failed  string
	host    map[unsafe.Pointer][]uint64
	device  map[gpu.Address][]uint64
	streams map[gpu.Stream][]func()
	events  map[gpu.Event]bool // whether they have come
	next    uintptr
	apart   bool // the GPU has pinned memory elsewhere
}

func newFake(t testing.TB) *fake {
	return &fake{
		t: t, facts: gpu.Facts{Unified: true, StreamOps: true}, host: map[unsafe.Pointer][]uint64{}, device: map[gpu.Address][]uint64{},
		streams: map[gpu.Stream][]func(){}, events: map[gpu.Event]bool{}, next: 1,
	}
}

func (f *fake) call(name string) error {
	if f.calls++; f.calls == f.failing {
		f.failed = name
		return fmt.Errorf("%s fails", name)
	}
	return nil
}

func (f *fake) Name() string     { return "GPU 7" }
func (f *fake) Facts() gpu.Facts { return f.facts }

func (f *fake) HostAlloc(n uint64) (unsafe.Pointer, gpu.Address, error) {
	if err := f.call("HostAlloc"); err != nil {
		return nil, 0, err
	}
	b := make([]uint64, (n+7)/8)
	b[0] = 0xdead // it comes as it is
	p := unsafe.Pointer(&b[0])
	f.host[p] = b
	if f.apart {
		return p, address(p) + 4096, nil
	}
	return p, address(p), nil
}

func (f *fake) HostFree(p unsafe.Pointer) error {
	if f.host[p] == nil {
		f.t.Errorf("HostFree of %p, which is not pinned", p)
	}
	delete(f.host, p)
	return f.call("HostFree")
}

func (f *fake) Alloc(n uint64) (gpu.Address, error) {
	if err := f.call("Alloc"); err != nil {
		return 0, err
	}
	b := make([]uint64, (n+7)/8)
	a := address(unsafe.Pointer(&b[0]))
	f.device[a] = b
	return a, nil
}

func (f *fake) Free(a gpu.Address) error {
	if f.device[a] == nil {
		f.t.Errorf("Free of %#x, which is not allocated", uint64(a))
	}
	delete(f.device, a)
	return f.call("Free")
}

func (f *fake) NewStream() (gpu.Stream, error) {
	if err := f.call("NewStream"); err != nil {
		return 0, err
	}
	f.next++
	f.streams[gpu.Stream(f.next)] = []func(){}
	return gpu.Stream(f.next), nil
}

func (f *fake) CloseStream(s gpu.Stream) error {
	f.stream(s)
	delete(f.streams, s)
	return f.call("CloseStream")
}

func (f *fake) stream(s gpu.Stream) []func() {
	work, ok := f.streams[s]
	if !ok {
		f.t.Errorf("stream %d does not exist", s)
	}
	return work
}

// run has a stream do n of what it has.
func (f *fake) run(s gpu.Stream, n int) {
	work := f.stream(s)
	for _, w := range work[:n] {
		w()
	}
	f.streams[s] = work[n:]
}

func (f *fake) FinishStream(s gpu.Stream) error { return f.SyncStream(s) }

func (f *fake) SyncStream(s gpu.Stream) error {
	if err := f.call("SyncStream"); err != nil {
		f.streams[s] = f.stream(s)[:0] // a stream that failed does nothing more
		return err
	}
	f.run(s, len(f.stream(s)))
	return nil
}

func (f *fake) put(name string, s gpu.Stream, w func()) error {
	if err := f.call(name); err != nil {
		return err
	}
	f.streams[s] = append(f.stream(s), w)
	return nil
}

// bytes is memory that the GPU reaches.
func (f *fake) bytes(a gpu.Address, n uint64) []byte {
	for _, blocks := range []map[gpu.Address][]uint64{f.device, f.pinned()} {
		for base, b := range blocks {
			if o := uint64(a - base); o < uint64(8*len(b)) && n <= uint64(8*len(b))-o {
				return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&b[0]), o)), n)
			}
		}
	}
	f.t.Fatalf("%d bytes at %#x are nothing that the GPU reaches", n, uint64(a))
	return nil
}

func (f *fake) pinned() map[gpu.Address][]uint64 {
	all := map[gpu.Address][]uint64{}
	for p, b := range f.host {
		all[address(p)] = b
	}
	return all
}

func (f *fake) CopyInAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	if f.device[from] != nil {
		f.t.Errorf("CopyInAsync from %#x, which is GPU memory", uint64(from))
	}
	return f.CopyAsync(s, to, from, n)
}

func (f *fake) CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	return f.put("CopyAsync", s, func() { copy(f.bytes(to, n), f.bytes(from, n)) })
}

func (f *fake) Stores(s gpu.Stream, words []gpu.Store) error {
	if !f.facts.StreamOps || len(words) == 0 || len(words) > gpu.MaxStores {
		f.t.Errorf("%d words to be stored by a driver that has the call: %v", len(words), f.facts.StreamOps)
	}
	if err := f.call("Stores"); err != nil {
		return err
	}
	for _, w := range words {
		f.streams[s] = append(f.stream(s), func() {
			b := binary.LittleEndian.AppendUint64(nil, w.Value)
			if uint64(w.At)%uint64(w.Width) != 0 || w.Width != 4 && w.Width != 8 {
				f.t.Errorf("%d bytes are stored at %#x", w.Width, uint64(w.At))
			}
			copy(f.bytes(w.At, uint64(w.Width)), b)
		})
	}
	return nil
}

func (f *fake) NewEvent() (gpu.Event, error) {
	if err := f.call("NewEvent"); err != nil {
		return 0, err
	}
	f.next++
	f.events[gpu.Event(f.next)] = true
	return gpu.Event(f.next), nil
}

func (f *fake) CloseEvent(e gpu.Event) error {
	if _, ok := f.events[e]; !ok {
		f.t.Errorf("event %d does not exist", e)
	}
	delete(f.events, e)
	return f.call("CloseEvent")
}

func (f *fake) Record(e gpu.Event, s gpu.Stream) error {
	if !f.events[e] {
		f.t.Errorf("event %d is recorded again before it came", e)
	}
	err := f.put("Record", s, func() { f.events[e] = true })
	if err == nil {
		f.events[e] = false
	}
	return err
}

func (f *fake) EventDone(e gpu.Event) (bool, error) { return f.events[e], f.call("EventDone") }

func (f *fake) Pointer(a gpu.Address) (gpu.Pointer, error) {
	for base, b := range f.device {
		if o := uint64(a - base); o < uint64(8*len(b)) {
			return gpu.Pointer{Place: gpu.OnDevice, Base: base, Size: uint64(8 * len(b))}, f.call("Pointer")
		}
	}
	return gpu.Pointer{}, f.call("Pointer")
}

// Put is the fake as Kernels: of its operations it knows the sum.
func (f *fake) Put(s gpu.Stream, o gpu.Atomic) error {
	if proxy.Op(o.Op) != proxy.OpFetchAdd && proxy.Op(o.Op) != proxy.OpAdd || o.Width != 4 && o.Width != 8 {
		f.t.Errorf("operation %d on %d bytes was put", o.Op, o.Width)
	}
	return f.put("Put", s, func() {
		if o.Claim != 0 {
			claim := (*uint64)(unsafe.Pointer(&f.bytes(o.Claim, 8)[0]))
			if *claim != o.Free {
				return
			}
			*claim += 2
		}
		before := (*uint64)(unsafe.Pointer(&f.bytes(o.Fetched, 8)[0]))
		if o.Width == 4 {
			word := (*uint32)(unsafe.Pointer(&f.bytes(o.At, 4)[0]))
			*before = uint64(*word)
			*word += uint32(o.Operand)
			return
		}
		word := (*uint64)(unsafe.Pointer(&f.bytes(o.At, 8)[0]))
		*before = *word
		*word += o.Operand
	})
}

// Change is an operation that a stream does by itself: of those the fake knows the sum.
func (f *fake) Change(s gpu.Stream, o gpu.Atomic) error {
	f.mayChange(o)
	return f.put("Change", s, func() {
		word := (*uint64)(unsafe.Pointer(&f.bytes(o.At, 8)[0]))
		*word += o.Operand
	})
}

func (f *fake) mayChange(o gpu.Atomic) {
	if !f.facts.StreamChange || proxy.Op(o.Op) != proxy.OpAdd || o.Width != 8 || o.Claim != 0 {
		f.t.Errorf("operation %+v of a stream by itself, which has such operations: %v", o, f.facts.StreamChange)
	}
}

// empty fails the test where something was not given back.
func (f *fake) empty() {
	f.t.Helper()
	if n := len(f.host) + len(f.device) + len(f.streams) + len(f.events); n != 0 {
		f.t.Errorf("%d things were not given back: %d blocks pinned, %d of the GPU, %d streams, %d events",
			n, len(f.host), len(f.device), len(f.streams), len(f.events))
	}
}
