package gpustage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
)

// fakeDrivers are drivers with and without streams that store words.
func fakeDrivers(t *testing.T, f func(t *testing.T, dev *fakeDevice)) {
	for name, ops := range map[string]bool{"stores": true, "copies": false} {
		t.Run(name, func(t *testing.T) {
			dev := newFakeDevice(t)
			dev.Can.StreamOps = ops
			f(t, dev)
			dev.Empty()
		})
	}
}

func openDevice(t *testing.T, dev *fakeDevice) *Memory {
	t.Helper()
	m, err := NewMemory(dev, dev, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func closeDevice(t *testing.T, m *Memory) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func wordOfDevice(a uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// Marks come when all work before them is done, and streams go on by themselves.
func TestDeviceMarks(t *testing.T) {
	fakeDrivers(t, func(t *testing.T, dev *fakeDevice) {
		m := openDevice(t, dev)
		a, err := dev.Alloc(4096)
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := m.Pin(4096)
		if err != nil {
			t.Fatal(err)
		}
		host := unsafe.Slice((*uint64)(pinned), 512)
		if host[0] != 0 {
			t.Errorf("pinned memory begins with %#x", host[0])
		}
		seen := dev.words(a, 512)
		base := func(s stream.Stream) uint64 {
			n, err := m.Marked(s)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		first := [stream.Streams]uint64{base(0), base(1), base(2)}
		if first != [stream.Streams]uint64{} {
			t.Errorf("marks %v have passed before one was asked for", first)
		}
		for round := range uint64(3 * wordsOfStream) {
			host[0] = round
			if err := m.Copy(stream.In, []stream.Copy{{To: wordOfDevice(uint64(a)), From: pinned, N: 8}}); err != nil {
				t.Fatal(err)
			}
			if err := m.Write(stream.In, wordOfDevice(uint64(a)+8), 8, round<<32+1); err != nil {
				t.Fatal(err)
			}
			if err := m.Write(stream.In, wordOfDevice(uint64(a)+16), 4, round+2); err != nil {
				t.Fatal(err)
			}
			n, err := m.Mark(stream.In)
			if err != nil || n != first[0]+round+1 {
				t.Fatalf("mark %d, %v, want %d", n, err, first[0]+round+1)
			}
			s := m.streams[stream.In].handle
			for dev.Run(s, 1); base(stream.In) < n; dev.Run(s, 1) {
				if dev.Waiting(s) == 0 {
					t.Fatal("the stream has done everything and the mark has not come")
				}
			}
			if dev.Waiting(s) != 0 || seen[0] != round || seen[1] != round<<32+1 || seen[2] != round+2 {
				t.Fatalf("at mark %d %d operations are left and memory is %#x", n, dev.Waiting(s), seen[:3])
			}
		}
		for s := stream.Out; s < stream.Streams; s++ {
			if base(s) != first[s] {
				t.Errorf("stream %d is at mark %d, and was at %d", s, base(s), first[s])
			}
		}
		if err := m.Unpin(pinned); err != nil {
			t.Error(err)
		}
		closeDevice(t, m)
		if err := dev.Free(a); err != nil {
			t.Error(err)
		}
	})
}

func TestDeviceHolds(t *testing.T) {
	dev := newFakeDevice(t)
	m := openDevice(t, dev)
	a, err := dev.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	var mine uint64
	for _, c := range []struct {
		p    unsafe.Pointer
		n    uint64
		want bool
	}{
		{wordOfDevice(uint64(a)), 64, true},
		{wordOfDevice(uint64(a)), 65, false},
		{wordOfDevice(uint64(a) + 60), 4, true},
		{wordOfDevice(uint64(a) + 60), 5, false},
		{wordOfDevice(uint64(a) - 8), 8, false},
		{unsafe.Pointer(&mine), 8, false},
		{m.block, 8, false},
	} {
		if got := m.Holds(c.p, c.n); got != c.want {
			t.Errorf("%d bytes at %p are the GPU's: %v, want %v", c.n, c.p, got, c.want)
		}
	}
	if err := dev.Free(a); err != nil {
		t.Error(err)
	}
	if m.Holds(wordOfDevice(uint64(a)), 8) {
		t.Error("freed memory is still the GPU's")
	}
	closeDevice(t, m)
	dev.Empty()
}

func TestDeviceAtomics(t *testing.T) {
	for _, changes := range []bool{false, true} {
		t.Run(fmt.Sprintf("streams do them %v", changes), func(t *testing.T) { testAtomics(t, changes) })
	}
}

func testAtomics(t *testing.T, changes bool) {
	dev := newFakeDevice(t)
	dev.Can.StreamChange = changes
	m := openDevice(t, dev)
	if set := m.Atomics(); set&stream.AtomicBit(fabric.OpFetchAdd, 8) == 0 || set&stream.AtomicBit(fabric.OpXor, 4) == 0 || set&stream.AtomicBit(fabric.OpSet, 8) != 0 {
		t.Errorf("set of operations is %#x", set)
	}
	a, err := dev.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	old, err := m.Pin(8)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Atomic(stream.In, wordOfDevice(uint64(a)), fabric.OpAdd, 8, 5, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Atomic(stream.In, wordOfDevice(uint64(a)), fabric.OpFetchAdd, 8, 7, 0, old); err != nil {
		t.Fatal(err)
	}
	s := m.streams[stream.In].handle
	dev.Run(s, dev.Waiting(s))
	if got := dev.words(a, 1)[0]; got != 12 || *(*uint64)(old) != 5 {
		t.Errorf("word is %d and was %d before the second addition", got, *(*uint64)(old))
	}
	if err := m.Unpin(old); err != nil {
		t.Error(err)
	}
	closeDevice(t, m)
	if err := dev.Free(a); err != nil {
		t.Error(err)
	}
	dev.Empty()
	if m, err := NewMemory(dev, nil, nil); err != nil || m.Atomics() != 0 {
		t.Errorf("without kernels: %v", err)
	} else {
		closeDevice(t, m)
	}
}

// After any failure all memory is given back, and the error names the call.
func TestDeviceFailures(t *testing.T) {
	fakeDrivers(t, func(t *testing.T, dev *fakeDevice) {
		m := openDevice(t, dev)
		calls := dev.calls
		closeDevice(t, m)
		all := dev.calls
		for i := 1; i <= calls; i++ {
			dev.calls, dev.failing = 0, i
			m, err := NewMemory(dev, dev, nil)
			if err == nil {
				t.Errorf("call %d, %s, failed and New did not", i, dev.failed)
				closeDevice(t, m)
			} else if !strings.Contains(err.Error(), dev.failed+" fails") {
				t.Errorf("call %d, %s, failed: %v", i, dev.failed, err)
			}
			dev.Empty()
		}
		for i := calls + 1; i <= all; i++ {
			dev.calls, dev.failing = 0, i
			if err := openDevice(t, dev).Close(); err == nil || !strings.Contains(err.Error(), dev.failed+" fails") {
				t.Errorf("call %d, %s, failed: %v", i, dev.failed, err)
			}
			dev.Empty()
		}
		dev.failing = 0
		m = openDevice(t, dev)
		dev.Apart = true
		if _, err := m.Pin(4096); err == nil || !strings.Contains(err.Error(), "pin 4096 bytes for GPU 7: the GPU has them at") {
			t.Errorf("pinned memory at two addresses: %v", err)
		}
		dev.Apart = false
		use := func() error {
			_, err := m.Mark(stream.Out)
			for _, f := range []func() error{
				func() error { return m.Copy(stream.Out, []stream.Copy{{To: m.block, From: m.block, N: 8}}) },
				func() error { return m.Write(stream.Out, m.block, 8, 1) },
				func() error { return m.Atomic(stream.Out, m.block, fabric.OpAdd, 8, 1, 0, nil) },
				func() error { _, err := m.Marked(stream.Out); return err },
			} {
				if err == nil {
					err = f()
				}
			}
			return err
		}
		dev.calls = 0
		if err := use(); err != nil {
			t.Error(err)
		}
		for i := range dev.calls {
			dev.calls, dev.failing = 0, i+1
			if err := use(); err == nil || !strings.Contains(err.Error(), dev.failed+" fails") {
				t.Errorf("call %d, %s, failed: %v", i+1, dev.failed, err)
			}
			dev.failing = 0
			s := m.streams[stream.Out].handle
			dev.Run(s, dev.Waiting(s))
		}
		closeDevice(t, m)
	})
	dev := newFakeDevice(t)
	dev.Can.Unified = false
	if _, err := NewMemory(dev, nil, nil); err == nil || err.Error() != "open staging for GPU 7: the GPU and the CPU have different addresses for pinned memory (set SHMEM_HEAP=host)" {
		t.Errorf("addresses apart: %v", err)
	}
}

// A tracer notes the calls of the driver.
type tracer struct{ calls []string }

func (*tracer) Now() time.Time { return time.Unix(1, 0) }
func (r *tracer) Copies(begin time.Time, direction string, copies int, bytes uint64) {
	r.calls = append(r.calls, fmt.Sprint(begin.Unix(), " ", direction, " ", copies, " ", bytes))
}
func (r *tracer) Stores(begin time.Time, stores int) {
	r.calls = append(r.calls, fmt.Sprint(begin.Unix(), " stores ", stores))
}

// Each call of the driver for copies and stores is traced, with their number and bytes.
func TestDeviceTrace(t *testing.T) {
	dev := newFakeDevice(t)
	dev.Can.StreamOps = true
	m := openDevice(t, dev)
	r := new(tracer)
	m.TraceTo(r)
	a, err := dev.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := m.Pin(64)
	if err != nil {
		t.Fatal(err)
	}
	in := []stream.Copy{{To: wordOfDevice(uint64(a)), From: pinned, N: 8}, {To: wordOfDevice(uint64(a) + 32), From: pinned, N: 16}}
	if err := errors.Join(m.Copy(stream.In, in), m.Write(stream.In, wordOfDevice(uint64(a)), 8, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Mark(stream.In); err != nil {
		t.Fatal(err)
	}
	if err := m.Copy(stream.Out, []stream.Copy{{To: pinned, From: wordOfDevice(uint64(a)), N: 24}}); err != nil {
		t.Fatal(err)
	}
	for s := range m.streams {
		dev.Run(m.streams[s].handle, dev.Waiting(m.streams[s].handle))
	}
	want := []string{"1 copy in 2 24", "1 stores 2", "1 copy out 1 24"}
	if !slices.Equal(r.calls, want) {
		t.Errorf("the trace has %q, want %q", r.calls, want)
	}
	if err := errors.Join(m.Unpin(pinned), dev.Free(a)); err != nil {
		t.Error(err)
	}
	closeDevice(t, m)
	dev.Empty()
}
