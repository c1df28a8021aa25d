package proxy

import (
	"sync"
	"unsafe"

	"libshmem/fabric"
)

// parts is the number of parts in which a heap is registered.
const parts = 3

func every(int) bool { return true }

// register lets NICs reach some parts of the heap, if the mode says so.
func (p *pe) register(from, to int) {
	p.j.t.Helper()
	g := p.j.net.mode.gpus
	if p.card == nil || g.nic == nil || !g.nic(int(p.me)) {
		return
	}
	if g.lazy && from == 0 {
		p.stage.FlushBy(p.card.flush)
	}
	n := p.card.heap / parts
	for i := from; i < to; i++ {
		m := fabric.GPUMemory{Base: unsafe.Pointer(&p.card.device[i*n]), Len: uint64(n), File: -1}
		if i == parts-1 {
			m.Len = uint64(p.card.heap - i*n)
		}
		if err := p.stage.RegisterHeap(uint64(i*n), 0, m); err != nil {
			p.j.t.Fatal(err)
		}
	}
}

// unflushed has the bytes that NICs have written to a GPU and that the GPU does not see yet.
type unflushed struct {
	mu      sync.Mutex
	bytes   []hidden
	flushes int
}

// hidden is such bytes and their place.
type hidden struct{ at, data []byte }

func (c *testGPU) flush() error {
	c.unflushed.mu.Lock()
	defer c.unflushed.mu.Unlock()
	for _, l := range c.unflushed.bytes {
		copy(l.at, l.data)
		c.changed(unsafe.Pointer(&c.device[0]))
	}
	c.unflushed.bytes = c.unflushed.bytes[:0]
	c.unflushed.flushes++
	return c.fails("flush")
}

// RegisterGPU takes memory of a GPU, or fails as the mode says.
func (e *end) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	if refuse := e.net.mode.noGPU; refuse != nil {
		if err := refuse(m); err != nil {
			return fabric.Region{}, err
		}
	}
	return e.Register(m.Base, m.Len)
}

// see returns memory at an address of the network, as the test sees it.
func (w *fakeNetwork) see(p unsafe.Pointer, n int) []byte {
	for _, c := range w.cards {
		if c != nil {
			if _, b := c.seen(p, uint64(n)); b != nil {
				return b
			}
		}
	}
	return unsafe.Slice((*byte)(p), n)
}

// lazy returns the GPU whose memory b is, if that GPU does not see at once what a NIC writes.
func (w *fakeNetwork) lazy(b []byte) *testGPU {
	for _, c := range w.cards {
		if c != nil && len(b) > 0 && c.g.lazy && uintptr(unsafe.Pointer(&b[0]))-uintptr(unsafe.Pointer(&c.memory[internal])) < uintptr(c.heap) {
			return c
		}
	}
	return nil
}

// write is a write of a NIC.
func (w *fakeNetwork) write(to, data []byte) {
	c := w.lazy(to)
	if c == nil {
		copy(to, data)
		return
	}
	c.unflushed.mu.Lock()
	defer c.unflushed.mu.Unlock()
	c.unflushed.bytes = append(c.unflushed.bytes, hidden{to, append([]byte(nil), data...)})
}

// read is a read of a NIC, which sees what NICs have written.
func (w *fakeNetwork) read(from []byte) []byte {
	c := w.lazy(from)
	if c == nil {
		return from
	}
	seen := append([]byte(nil), from...)
	c.unflushed.mu.Lock()
	defer c.unflushed.mu.Unlock()
	for _, l := range c.unflushed.bytes {
		shift := int(uintptr(unsafe.Pointer(&l.at[0])) - uintptr(unsafe.Pointer(&from[0])))
		for i, v := range l.data {
			if at := shift + i; at >= 0 && at < len(seen) {
				seen[at] = v
			}
		}
	}
	return seen
}
