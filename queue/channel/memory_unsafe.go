package channel

import (
	"sync/atomic"
	"unsafe"
)

// The parts of a channel in memory that the CPU and the GPU share. Words of different writers have
// cache lines of their own; a GPU's have 128 bytes.
const (
	requestBytes   = 1 << requestsLog2
	elementBytes   = 1 << elementsLog2
	elementSize    = 16                                  // a result of 8 bytes, and its flag
	coalescedBytes = elementBytes / elementSize * 32 * 8 // for each element a word of 8 bytes for each lane of a warp
	line           = 128

	elementsAt   = requestBytes
	coalescedAt  = elementsAt + elementBytes
	completeAt   = coalescedAt + coalescedBytes
	quietIssueAt = completeAt + line
	quietAckAt   = quietIssueAt + line
	cstIssueAt   = quietAckAt + line
	cstAckAt     = cstIssueAt + line

	SharedBytes = cstAckAt + line // of that memory
	NearBytes   = 3 * line        // of the memory of the GPU that only kernels use
)

// Memory has the addresses of a channel's memory, which is zero before the first kernel.
type Memory struct {
	Host   unsafe.Pointer // the shared memory as the CPU addresses it
	Device uint64         // the same as kernels address it
	Near   uint64         // the memory that only kernels use
}

// Addresses returns the parts as kernels address them.
func (m Memory) Addresses() Addresses {
	return Addresses{
		Requests: m.Device, Elements: m.Device + elementsAt, Coalesced: m.Device + coalescedAt,
		Complete: m.Device + completeAt, QuietIssue: m.Device + quietIssueAt, QuietAck: m.Device + quietAckAt,
		CstIssue: m.Device + cstIssueAt, CstAck: m.Device + cstAckAt,
		Issue: m.Near, CompleteSeen: m.Near + line, Head: m.Near + 2*line,
	}
}

// word returns the word at an offset of the shared memory.
func (m Memory) word(at uint64) *uint64 { return (*uint64)(unsafe.Add(m.Host, at)) }

// entry returns the entry of the requests at a position, and whether it is stored: the lowest bit of
// a stored entry is 1 in even rounds through the buffer and 0 in odd ones.
func (m Memory) entry(position uint64) (v uint64, stored bool) {
	v = atomic.LoadUint64(m.word(position & (requestBytes - 1)))
	return v, v&1 != position>>requestsLog2&1
}

// local returns the address at which this process has the memory that kernels address as given: the
// elements may have another address there. Memory of the program has one address for both.
func (m Memory) local(address uint64) uint64 {
	if at := address - m.Device; at < SharedBytes {
		return uint64(uintptr(m.Host)) + at
	}
	return address
}

// give stores a result in the element of a number, and then the flag for which its kernel waits.
// Elements are used again in rounds; the flag is 1 in the first one and grows by 2 in each.
func (m Memory) give(number, value uint64) {
	at := number * elementSize
	element := elementsAt + at&(elementBytes-1)
	atomic.StoreUint64(m.word(element), value)
	atomic.StoreUint64(m.word(element+8), at>>elementsLog2*2+1)
}
