package fastpathtest

/*
#include <stdlib.h>
#include "null.h"

// Functions of the type of fabric.Native, because the inline functions of null.h have no address
// that Go could pass on.
static int native_inject(void *self, uint32_t pe, const void *buf, size_t n)
{
    (void)n;
    return null_send(self, pe, buf);
}
static int native_poll(void *self, struct shmemi_completion *c, int max) { return null_poll(self, c, max); }
static int native_recv(void *self, void *buf, size_t n, uintptr_t desc, uint32_t token)
{
    return null_recv(self, buf, n, desc, token);
}
static void *inject_function(void) { return (void *)(uintptr_t)native_inject; }
static void *poll_function(void) { return (void *)(uintptr_t)native_poll; }
static void *recv_function(void) { return (void *)(uintptr_t)native_recv; }
*/
import "C"

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// Null is the provider of null.h, which completes every operation at once and moves no bytes.
type Null struct {
	c    *C.struct_null
	own  bool
	caps fabric.Caps
}

var _ fabric.Provider = (*Null)(nil)

// NewNull makes a Null in the struct null at an address in C's memory, which the caller frees after
// Close. If the address is nil, Null allocates a struct of its own.
func NewNull(at unsafe.Pointer, caps fabric.Caps) *Null {
	n := &Null{c: (*C.struct_null)(at), own: at == nil, caps: caps}
	if n.own {
		n.c = (*C.struct_null)(C.calloc(1, C.sizeof_struct_null))
	}
	return n
}

// NullSize is the size of a struct null.
const NullSize = uintptr(C.sizeof_struct_null)

// Messages returns how many messages were posted.
func (n *Null) Messages() uint64 { return uint64(n.c.messages) }

// Caps returns the features that NewNull was passed.
func (n *Null) Caps() fabric.Caps { return n.caps }

// Addr returns an arbitrary address.
func (n *Null) Addr() []byte { return []byte("null") }

// Connect allocates a count of replies for each PE.
func (n *Null) Connect(addrs [][]byte) error {
	n.c.replies = (*C.uint32_t)(C.calloc(C.size_t(len(addrs)), 4))
	return nil
}

// Register does nothing: the provider never touches the memory.
func (n *Null) Register(base unsafe.Pointer, size uint64) (fabric.Region, error) {
	return fabric.Region{Base: base, Len: size, Key: 1}, nil
}

// RegisterGPU does nothing.
func (n *Null) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return n.Register(m.Base, m.Len)
}

// Unregister does nothing.
func (n *Null) Unregister(fabric.Region) error { return nil }

// Recv stores a receive buffer, which Send uses for the reply to a request.
func (n *Null) Recv(buf unsafe.Pointer, size int, desc uintptr, t fabric.Token) error {
	C.null_recv(unsafe.Pointer(n.c), buf, C.size_t(size), C.uintptr_t(desc), C.uint32_t(t))
	return nil
}

// Send completes a message at once. If it is a request, Send puts a reply into a receive buffer.
func (n *Null) Send(op *fabric.Send) error {
	if h := (*C.struct_shmemi_header)(op.Buf); h.kind != C.SHMEMI_MESSAGE_FLUSH && h.fetch == 0 {
		n.c.messages++
	} else if C.null_send(n.c, C.uint32_t(op.To), op.Buf) != 0 {
		return fabric.ErrAgain
	}
	if !op.Inject {
		n.complete(op.Token, fabric.KindSend)
	}
	return nil
}

// complete adds a completion, as null_complete does in C. It repeats that code in Go, because a
// call of C costs more than the code.
func (n *Null) complete(t fabric.Token, k fabric.Kind) {
	c := &n.c.completion[n.c.head%C.NULL_COMPLETIONS]
	n.c.head++
	c.token, c.kind = C.uint32_t(t), C.uint8_t(k)
	c.len, c.err = C.sizeof_struct_shmemi_header, 0
}

// Write completes a write at once.
func (n *Null) Write(op *fabric.RMA) error {
	n.complete(op.Token, fabric.KindWrite)
	return nil
}

// Read completes a read at once, and leaves the caller's memory as it is.
func (n *Null) Read(op *fabric.RMA) error {
	n.complete(op.Token, fabric.KindRead)
	return nil
}

// Poll removes completions from the queue and returns them.
func (n *Null) Poll(c []fabric.Completion) (int, error) {
	k := 0
	for ; k < len(c) && n.c.tail != n.c.head; k++ {
		c[k] = *(*fabric.Completion)(unsafe.Pointer(&n.c.completion[n.c.tail%C.NULL_COMPLETIONS]))
		n.c.tail++
	}
	return k, nil
}

// Ready reports whether there are completions.
func (n *Null) Ready() bool { return !n.Arm() }

// Arm reports whether there are no completions.
func (n *Null) Arm() bool { return n.c.head == n.c.tail }

// Wait sleeps for at most d, whatever happens.
func (n *Null) Wait(d time.Duration) (bool, error) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal only shortens it
	return false, nil
}

// Wake does nothing: Wait is short.
func (n *Null) Wake() {}

// Native returns the same provider in C.
func (n *Null) Native() fabric.Native {
	return fabric.Native{
		Self: unsafe.Pointer(n.c), Poll: C.poll_function(), Recv: C.recv_function(), Inject: C.inject_function(),
	}
}

// Strangers returns 0: no other process sends to this provider.
func (n *Null) Strangers() uint64 { return 0 }

// ErrorText returns no text, because there are no errors.
func (n *Null) ErrorText(*fabric.Completion) string { return "" }

// Close frees the memory that it has allocated.
func (n *Null) Close() error {
	C.free(unsafe.Pointer(n.c.replies))
	n.c.replies = nil
	if n.own {
		C.free(unsafe.Pointer(n.c))
	}
	return nil
}
