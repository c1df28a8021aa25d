package main

import (
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

// ring is one ring: the consumer's side (Ring, memory) and the producers' description of it (desc).
type ring struct {
	*queue.Ring
	memory queue.Memory
	desc   queue.Desc
	shared *gpu.Memory
}

// place is the memory of rings, and the producers that push into them.
type place struct {
	producer producer
	device   *cuda.Device // nil: host threads
	kind     gpu.Kind
}

// rings are the rings of a run, with what producers need, and all memory of both.
type rings struct {
	all    []*ring
	target target
	blocks []*gpu.Memory
}

// keep adds memory to that which close frees.
func (s *rings) keep(m *gpu.Memory, err error) (*gpu.Memory, error) {
	if err == nil {
		s.blocks = append(s.blocks, m)
	}
	return m, err
}

func (s *rings) close() error {
	var errs []error
	for _, m := range s.blocks {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// shared returns n bytes of memory that producers and consumer access: for a GPU's producers, of
// the kind that the options select.
func (p place) shared(n int) (*gpu.Memory, error) {
	if p.device == nil {
		return gpu.Host(uint64(n))
	}
	m, _, err := gpu.Ring(p.device, p.kind, uint64(n))
	if err == nil && m.Combining {
		// Stores of the consumer would need a fence that the protocol lacks.
		return nil, errors.Join(fmt.Errorf("the CPU's mapping by %s is write-combining", m.Method), m.Close())
	}
	return m, err
}

// main returns n bytes of main memory that producers and consumer access.
func (p place) main(n int) (*gpu.Memory, error) {
	p.kind = gpu.Pinned
	return p.shared(n)
}

// near returns n bytes of memory of the GPU, or of main memory for host threads.
func (p place) near(n int) (*gpu.Memory, error) {
	if p.device == nil {
		return gpu.Host(uint64(n))
	}
	return gpu.Near(p.device, uint64(n))
}

// make makes count rings of so many slots each, and memory for the operands of so many producer
// threads. The caller closes them.
func (p place) make(count, slots, threads int) (s *rings, err error) {
	s = &rings{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	descs := make([]queue.Desc, count)
	lineAt := max(queue.SlotBytes(slots), 4096) // pages: slots, line, replies
	for i := range descs {
		m, err := s.keep(p.shared(lineAt + 4096 + queue.ReplyBytes))
		if err != nil {
			return s, err
		}
		near, err := s.keep(p.near(queue.NearBytes))
		if err != nil {
			return s, err
		}
		r := &ring{shared: m, memory: queue.Memory{
			Slots: m.Host, Line: (*queue.Progress)(unsafe.Add(m.Host, lineAt)), Replies: unsafe.Add(m.Host, lineAt+4096),
		}}
		if r.Ring, err = queue.New(r.memory, slots); err != nil {
			return s, err
		}
		r.desc = queue.Desc{
			Slots: address(m.Device), Line: address(m.Device + gpu.Address(lineAt)), Replies: address(m.Device + gpu.Address(lineAt+4096)),
			Near: address(near.Device), Log2Slots: uint32(bits.TrailingZeros(uint(slots))), Log2Replies: uint32(bits.TrailingZeros(queue.Replies)),
		}
		s.all, descs[i] = append(s.all, r), r.desc
	}
	table, err := s.keep(p.near(count * int(unsafe.Sizeof(queue.Desc{}))))
	if err != nil {
		return s, err
	}
	// The operands of puts are in main memory, wherever the rings are.
	sources, err := s.keep(p.main(threads * 512))
	if err != nil {
		return s, err
	}
	s.target = target{rings: uint64(table.Device), count: count, sources: uint64(sources.Device)}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&descs[0])), count*int(unsafe.Sizeof(queue.Desc{})))
	if p.device == nil {
		copy(unsafe.Slice((*byte)(table.Host), len(bytes)), bytes)
		return s, nil
	}
	return s, p.device.CopyIn(table.Device, bytes)
}

// address returns a pointer for the producers: only its bits count.
func address(a gpu.Address) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// stop ends producers that wait.
func (s *rings) stop() {
	for _, r := range s.all {
		r.Stop()
	}
}

// words returns shared memory as numbers.
func words(m *gpu.Memory, n int) []uint64 { return unsafe.Slice((*uint64)(m.Host), n) }
