package pe

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/amo"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/proxy"
)

// deviceMemory is a GPU's memory as an engine moves it: proxy.Memory over the
// driver. Each engine has one, with streams of its own.
type deviceMemory struct {
	dev     *cuda.Device
	atomics *amo.Unit
	streams [proxy.Streams]gpu.Stream
	// The last mark that a stream has passed is stored by the stream itself, so
	// that looking at it is a load; asking the driver for an event takes 1 us.
	passed unsafe.Pointer // pinned, a cache line for each stream
	at     gpu.Address    // of passed
	marks  [proxy.Streams]uint64
}

// newDeviceMemory makes the streams and uses each once: the first copy and the
// first store of a stream take the driver 1 to 2 ms.
func newDeviceMemory(dev *cuda.Device, atomics *amo.Unit) (_ *deviceMemory, err error) {
	if f := dev.Facts(); !f.StreamOps {
		return nil, fmt.Errorf("stage memory of %s: the driver, of CUDA %s, has no stream operations on 64 bits for it (install a driver of CUDA 11.7 or later)", dev.Name(), f.Driver)
	}
	m := &deviceMemory{dev: dev, atomics: atomics}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if m.passed, m.at, err = dev.HostAlloc(apart * uint64(len(m.streams))); err != nil {
		return nil, err
	}
	clear(unsafe.Slice((*byte)(m.passed), apart*len(m.streams)))
	for i := range m.streams {
		if m.streams[i], err = dev.NewStream(); err != nil {
			return nil, err
		}
		spare := unsafe.Add(m.passed, apart*i+16)
		if err := m.Copy(proxy.Stream(i), spare, unsafe.Add(spare, 8), 8); err != nil {
			return nil, err
		}
		if err := m.Write(proxy.Stream(i), spare, 8, 0); err != nil {
			return nil, err
		}
		if err := dev.SyncStream(m.streams[i]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *deviceMemory) Holds(p unsafe.Pointer, _ uint64) bool {
	at, err := m.dev.Pointer(gpu.Address(uintptr(p)))
	return err == nil && at.Place == gpu.OnDevice
}

func (m *deviceMemory) Pin(n uint64) (unsafe.Pointer, error) {
	p, _, err := m.dev.HostAlloc(n)
	if err == nil {
		clear(unsafe.Slice((*byte)(p), n))
	}
	return p, err
}

func (m *deviceMemory) Unpin(p unsafe.Pointer) error { return m.dev.HostFree(p) }

func (m *deviceMemory) Copy(s proxy.Stream, to, from unsafe.Pointer, n uint64) error {
	return m.dev.CopyAsync(m.streams[s], gpu.Address(uintptr(to)), gpu.Address(uintptr(from)), n)
}

func (m *deviceMemory) Write(s proxy.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	if width == 4 {
		return m.dev.Write32(m.streams[s], gpu.Address(uintptr(at)), uint32(value))
	}
	return m.dev.Write64(m.streams[s], gpu.Address(uintptr(at)), value)
}

// Atomics is every operation. The driver has none that a stream does by itself,
// so each is a kernel of one thread.
func (m *deviceMemory) Atomics() uint64 {
	var all uint64
	for op := proxy.OpSet; op <= proxy.OpFetchXor; op++ {
		all |= proxy.AtomicBit(op, 4) | proxy.AtomicBit(op, 8)
	}
	return all
}

func (m *deviceMemory) Atomic(s proxy.Stream, at unsafe.Pointer, op proxy.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error {
	fetched := m.atomics.Nowhere()
	if old != nil {
		fetched = gpu.Address(uintptr(old))
	}
	return m.atomics.Start(m.streams[s], gpu.Address(uintptr(at)), int(op), int(width), operand, compare, fetched)
}

func (m *deviceMemory) Mark(s proxy.Stream) (uint64, error) {
	m.marks[s]++
	return m.marks[s], m.dev.Write64(m.streams[s], m.at+gpu.Address(apart*int(s)), m.marks[s])
}

func (m *deviceMemory) Marked(s proxy.Stream) (uint64, error) {
	return atomic.LoadUint64((*uint64)(unsafe.Add(m.passed, apart*int(s)))), nil
}

func (m *deviceMemory) Close() error {
	var errs []error
	for i, s := range m.streams {
		if s != 0 {
			errs = append(errs, m.dev.CloseStream(s))
		}
		m.streams[i] = 0
	}
	if m.passed != nil {
		errs = append(errs, m.dev.HostFree(m.passed))
		m.passed = nil
	}
	return errors.Join(errs...)
}
