package amo

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

//go:embed amo.ptx
var code []byte

// Unit applies atomic operations to memory that one GPU reaches, by kernels on that GPU.
type Unit struct {
	mu      sync.Mutex
	dev     *cuda.Device
	stream  gpu.Stream
	module  *cuda.Module
	word    unsafe.Pointer        // pinned: the result of Do
	at      gpu.Address           // of word
	kernels map[int]cuda.Function // by the width of the operand in bytes, 4 or 8
}

// New loads the kernels of atomic operations into the context of dev; the driver compiles their PTX
// code the first time.
func New(dev *cuda.Device) (_ *Unit, err error) {
	u := &Unit{dev: dev, kernels: make(map[int]cuda.Function)}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.Close())
		}
	}()
	if u.module, err = dev.LoadModule(code); err != nil {
		return nil, err
	}
	for width, name := range map[int]string{4: "shmemi_amo32", 8: "shmemi_amo64"} {
		if u.kernels[width], err = u.module.Function(name); err != nil {
			return nil, err
		}
	}
	if u.word, u.at, err = dev.HostAlloc(8); err != nil {
		return nil, err
	}
	u.stream, err = dev.NewStream()
	return u, err
}

// put launches, on stream s, the kernel that applies the operation o, through the Device of one
// caller in the context of u.dev. It does not wait.
func (u *Unit) put(dev *cuda.Device, s gpu.Stream, o gpu.Atomic) error {
	argument := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	one := cuda.Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{1, 1, 1}}
	return dev.Launch(u.kernels[o.Width], one, s,
		argument(uint64(o.At)), argument(o.Operand), argument(o.Compare), argument(uint64(o.Fetched)), argument(uint64(o.Op)), argument(uint64(o.Claim)), argument(o.Free))
}

// DeviceUnit is a Unit whose kernels are launched through the Device of one caller. Both Devices
// have the same context, because a kernel runs only in the context into which its module was
// loaded.
type DeviceUnit struct {
	*Unit
	Dev *cuda.Device
}

// Put launches, on stream s, the kernel that applies the operation o. It does not wait.
func (d DeviceUnit) Put(s gpu.Stream, o gpu.Atomic) error { return d.put(d.Dev, s, o) }

// Do applies an operation, a number of enum shmemi_amo, to a word of width bytes (4 or 8) of GPU
// memory by a kernel of one thread. It waits until the result is visible to all GPUs and CPUs, and
// returns the old value.
func (u *Unit) Do(at gpu.Address, op, width int, operand, compare uint64) (uint64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.put(u.dev, u.stream, gpu.Atomic{At: at, Op: op, Width: width, Operand: operand, Compare: compare, Fetched: u.at})
	if err == nil {
		err = u.dev.SyncStream(u.stream)
	}
	if err != nil {
		return 0, err
	}
	return atomic.LoadUint64((*uint64)(u.word)), nil
}

// Close unloads the kernels and frees the stream and the result word.
func (u *Unit) Close() error {
	var errs []error
	if u.stream != 0 {
		errs = append(errs, u.dev.CloseStream(u.stream))
	}
	if u.word != nil {
		errs = append(errs, u.dev.HostFree(u.word))
	}
	if u.module != nil {
		errs = append(errs, u.module.Close())
	}
	u.stream, u.word, u.module = 0, nil, nil
	return errors.Join(errs...)
}
