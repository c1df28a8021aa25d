// Package peek polls several NICs from C. It polls all completion queues, returns received messages
// and sends small ones; it keeps all other completions for fabric/rail. Without it a thread that
// waits in C would call Go every microsecond, mostly to find nothing. That keeps the Go scheduler's
// monitor awake, which preempts the thread, and each message would cross from C to Go twice.
//
// The caller serialises everything but the C functions of Wait and Wake, as for any
// fabric.Provider.
package peek

// #cgo CFLAGS: -I${SRCDIR}/../../../abi
// #cgo noescape shmemi_peek_poll
// #cgo nocallback shmemi_peek_poll
// #cgo nocallback shmemi_peek_arm
// #include <stdlib.h>
// #include "peek.h"
import "C"

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// NewState returns a State for NICs without C functions, whose ring holds up to `room` receive
// buffers of the caller; room is at least 1.
func NewState(room int) *State {
	return &State{posted: &make([]Buffer, room)[0], room: uint32(room)}
}

// ring returns the ring of the receive buffers that the caller has posted.
func (s *State) ring() []Buffer { return unsafe.Slice(s.posted, s.room) }

// Posted returns the number of receive buffers that the caller has posted and that no message has
// been copied to.
func (s *State) Posted() int { return int(s.count) }

// Post adds a receive buffer of the caller to the ring, from which C or Go takes it when a message
// has arrived. It returns false if the ring is full.
func (s *State) Post(b Buffer) bool {
	if s.count == s.room {
		return false
	}
	s.ring()[(s.head+s.count)%s.room] = b
	s.count++
	return true
}

// Next removes the oldest of the posted buffers. There must be one (Posted).
func (s *State) Next() Buffer {
	b := s.ring()[s.head]
	s.head = (s.head + 1) % s.room
	s.count--
	return b
}

// CountSmall counts a small operation of n bytes on the NIC that the cursor selects. After Group
// operations, or GroupBytes bytes, small operations go to the next NIC.
func (s *State) CountSmall(n uint64) {
	s.Grouped++
	s.GroupedBytes += n
	if s.Grouped >= Group || s.GroupedBytes >= GroupBytes {
		s.Rotate()
	}
}

// Rotate moves the cursor, so that small operations go to the next NIC, and begins a new group of
// them.
func (s *State) Rotate() {
	s.Cursor++
	s.Grouped, s.GroupedBytes = 0, 0
}

// Peek polls several NICs.
type Peek struct {
	c      *C.struct_shmemi_peek
	nics   []C.struct_shmemi_peek_nic
	direct bool // all have functions that receive and inject
}

// New makes a Peek of endpoints with C functions and descriptors to wait for; it returns nil if an
// endpoint lacks these. The Peek holds up to room receive buffers of the caller. first is the token
// of the first of the buffers that each NIC has of its own.
func New(endpoints []fabric.Provider, room int, first fabric.Token) *Peek {
	for _, e := range endpoints {
		s, ok := e.(fabric.Sleeper)
		if n := e.Native(); !ok || s.WaitFD() < 0 || n.Poll == nil || n.Arm == nil || n.Wait == nil || n.Wake == nil {
			return nil
		}
	}
	p := &Peek{c: (*C.struct_shmemi_peek)(C.calloc(1, C.sizeof_struct_shmemi_peek)), direct: true}
	p.c.s.posted = (*C.struct_shmemi_peek_buffer)(C.calloc(C.size_t(room), C.sizeof_struct_shmemi_peek_buffer))
	p.c.s.room, p.c.first = C.uint32_t(room), C.uint32_t(first)
	p.c.n = C.uint32_t(len(endpoints))
	p.c.nics = (*C.struct_shmemi_peek_nic)(C.calloc(C.size_t(len(endpoints)), C.sizeof_struct_shmemi_peek_nic))
	p.nics = unsafe.Slice(p.c.nics, len(endpoints))
	for i, e := range endpoints {
		n := e.Native()
		p.nics[i] = C.struct_shmemi_peek_nic{
			self: n.Self, poll: (*[0]byte)(n.Poll), arm: (*[0]byte)(n.Arm), wait: (*[0]byte)(n.Wait), wake: (*[0]byte)(n.Wake),
			recv: (*[0]byte)(n.Recv), inject: (*[0]byte)(n.Inject), fd: C.int(e.(fabric.Sleeper).WaitFD()),
		}
		p.direct = p.direct && n.Recv != nil && n.Inject != nil
	}
	return p
}

// State returns the part of the state that C and Go both change.
func (p *Peek) State() *State { return (*State)(unsafe.Pointer(&p.c.s)) }

// Inject has C send small messages from now on. rails[pe] is how many NICs a PE has, and widest how
// many entries each PE has in the address vectors.
func (p *Peek) Inject(rails []uint8, widest int) {
	if !p.direct || len(rails) == 0 {
		return
	}
	p.c.rails = (*C.uint8_t)(C.CBytes(rails))
	p.c.widest, p.c.n_pes = C.uint32_t(widest), C.uint32_t(len(rails))
}

// Receive stores for the C code where the NICs' own receive buffers are. From then on
// shmemi_peek_poll itself copies received messages to the caller's buffers, without Go. at[i] is
// the address of the first buffer of NIC i, size the bytes of each buffer, and desc[i] the
// descriptor of their registration. It does nothing if a NIC has no C functions to receive and
// inject (direct).
func (p *Peek) Receive(at []unsafe.Pointer, desc []uintptr, size int) {
	if !p.direct {
		return
	}
	for i := range p.nics {
		p.nics[i].buffers, p.nics[i].desc = (*C.char)(at[i]), C.uintptr_t(desc[i])
	}
	p.c.size = C.uint32_t(size)
}

// Owed returns, and clears, a bit for each receive buffer of a NIC that C could not post because
// the NIC's receive queue was full. The caller posts them.
func (p *Peek) Owed(nic int) uint32 {
	owed := uint32(p.nics[nic].owed)
	p.nics[nic].owed = 0
	return owed
}

// Owes reports whether C could not post a receive buffer of some NIC: Owed says which.
func (s *State) Owes() bool { return s.owed != 0 }

// Repaid records that the caller has called Owed for every NIC, and will post the buffers that C
// could not post.
func (s *State) Repaid() { s.owed = 0 }

// Count adds to c the operations and bytes that C has moved by a NIC.
func (p *Peek) Count(nic int, c *fabric.RailCount) {
	n := &p.nics[nic]
	c.Ops += uint64(n.ops)
	c.Out += uint64(n.out)
	c.In += uint64(n.in)
}

// HasCompletions polls without taking completions, and reports whether there are any, or Go has
// other work.
func (p *Peek) HasCompletions() bool { return C.shmemi_peek_poll(unsafe.Pointer(p.c), nil, 0) != 0 }

// Native returns the C functions that check all NICs without Go. Recv and Inject are nil unless
// Inject was called: then Go posts all messages.
func (p *Peek) Native() fabric.Native {
	n := fabric.Native{
		Self: unsafe.Pointer(p.c), Poll: C.shmemi_peek_poll, Arm: C.shmemi_peek_arm, Wait: C.shmemi_peek_wait, Wake: C.shmemi_peek_wake,
	}
	if p.c.n_pes > 0 {
		n.Recv, n.Inject = C.shmemi_peek_recv, C.shmemi_peek_inject
	}
	return n
}

// Drain moves completions of one NIC, which C has read and kept for Go, to c and returns their
// number. If C's poll of the NIC failed instead, it returns libfabric's error.
func (p *Peek) Drain(nic int, c []fabric.Completion) (n int, errno int) {
	q := &p.nics[nic]
	if q.error == C.SHMEMI_IN_GO { // the NIC needs a Poll in Go, which the caller makes
		q.error = 0
	}
	if q.error != 0 {
		errno = int(-q.error)
		q.error = 0
		return 0, errno
	}
	if q.count == 0 {
		return 0, 0
	}
	kept := unsafe.Slice((*fabric.Completion)(unsafe.Pointer(&q.kept)), int(q.count))
	n = copy(c, kept)
	copy(kept, kept[n:])
	q.count -= C.int(n)
	return n, 0
}

// Arm implements fabric.Provider: it prepares a Wait, and returns false if there is work for a
// Poll.
func (p *Peek) Arm() bool { return C.shmemi_peek_arm(unsafe.Pointer(p.c)) != 0 }

// Wait implements Wait of fabric.Provider for all NICs together.
func (p *Peek) Wait(d time.Duration) (bool, error) {
	ret := C.shmemi_peek_wait(unsafe.Pointer(p.c), C.int64_t(d))
	if ret < 0 {
		return false, unix.Errno(-ret)
	}
	return ret > 0, nil
}

// Wake implements fabric.Provider: it ends a Wait of another thread.
func (p *Peek) Wake() { C.shmemi_peek_wake(unsafe.Pointer(p.c)) }

// Close frees the state. No thread may call the C functions any more.
func (p *Peek) Close() {
	C.free(unsafe.Pointer(p.c.nics))
	C.free(unsafe.Pointer(p.c.s.posted))
	C.free(unsafe.Pointer(p.c.rails))
	C.free(unsafe.Pointer(p.c))
	p.c, p.nics = nil, nil
}
