package mem

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Checker finds the memory of this PE to which the headers of messages refer. A message for memory
// that this PE does not have fails the job or, with regions, goes to Misuse. A message that no
// engine of this version sends fails the job.
type Checker struct {
	Segment *Segment
	Fatal   func(error)
	// Misuse gets the PE that has named memory outside this PE's regions, and a reason that
	// continues a sentence whose subject is the PE. Only engines with regions call it.
	Misuse func(pe libshmem.PE, reason string)
}

// Target returns the address of n bytes at an offset of this PE's heap, or nil if this PE does not
// have all of them. In a job it then fails the job: the sender has checked the bytes against its
// own heap, so the two heaps differ in size, because the PEs have different settings. In a mesh,
// whose members have regions, it reports the sender, which is then removed: other members can
// continue.
func (m *Checker) Target(h *layout.Header, offset libshmem.Offset, n uint64) unsafe.Pointer {
	at, ok := m.Segment.At(offset, n)
	if !ok && m.Segment.Regions != nil {
		m.Misuse(libshmem.PE(h.From), fmt.Sprintf("has sent %d bytes for offset %#x, which is in no region of this one", n, uint64(offset)))
		return nil
	}
	if !ok {
		m.Fatal(fmt.Errorf("receive: PE %d sent a message of kind %d for %d bytes at heap offset %#x, outside this PE's heap of %#x bytes "+
			"(set the same SHMEM_SYMMETRIC_SIZE on every PE)", h.From, h.Kind, n, offset, m.Segment.Size-m.Segment.Internal))
		return nil
	}
	return at
}

// Word returns the address of the word that a message's atomic operation changes, or nil if the
// operation, the width, the offset or the alignment is wrong. Then the error was reported.
func (m *Checker) Word(h *layout.Header, offset libshmem.Offset, width uint8) unsafe.Pointer {
	if width != 4 && width != 8 || h.Op < fabric.OpSet || h.Op > fabric.OpFetchXor {
		m.FailMalformed(h)
		return nil
	}
	at := m.Target(h, offset, uint64(width)) // nil, which is aligned: Target has reported the error
	if uintptr(at)%uintptr(width) != 0 {
		m.Fatal(fmt.Errorf("receive: PE %d sent an atomic operation on %d bytes at heap offset %#x, which is not aligned "+
			"(align the object to its size)", h.From, width, offset))
		return nil
	}
	return at
}

// FailMalformed fails the job because of a message that no engine of this version sends.
func (m *Checker) FailMalformed(h *layout.Header) {
	m.Fatal(fmt.Errorf("receive: PE %d sent a message of kind %d, operation %d, width %d, which is not one of this job",
		h.From, h.Kind, h.Op, h.Width))
}

// FailUnrequested fails the job because of a reply to a request that this PE has not made.
func (m *Checker) FailUnrequested(h *layout.Header) {
	m.Fatal(fmt.Errorf("receive: PE %d answered request %#x, which was not sent", h.From, h.Token))
}
