package fastpathtest

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -fno-strict-aliasing
#cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../../../abi
#include <stdlib.h>
#include "box.h"
*/
import "C"

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// Box is the C side of an endpoint whose network is in Go. It stores messages and receive buffers
// that C posts until Go fetches them, and completions that Go adds until C polls them.
type Box struct{ c *C.struct_box }

// NewBox makes a Box with space for room messages. It refuses again percent of all posts, chosen by
// the seed. Its lowest bit is always 1, because a xorshift never leaves 0.
func NewBox(seed uint64, room, again int) *Box {
	c := (*C.struct_box)(C.calloc(1, C.sizeof_struct_box))
	c.seed, c.room, c.again = C.uint64_t(seed|1), C.uint32_t(min(room, C.BOX_MESSAGES)), C.uint32_t(again)
	return &Box{c}
}

// Close frees the memory.
func (b *Box) Close() { C.free(unsafe.Pointer(b.c)) }

// Native returns the functions for C.
func (b *Box) Native() fabric.Native {
	return fabric.Native{
		Self: unsafe.Pointer(b.c), Poll: C.box_poll, Recv: C.box_recv, Inject: C.box_inject,
	}
}

// Messages passes each stored message to send, in order, until send refuses one.
func (b *Box) Messages(send func(pe libshmem.PE, m []byte) bool) {
	n := 0
	for n < int(b.c.messages) {
		m := &b.c.message[n]
		if !send(libshmem.PE(m.pe), unsafe.Slice((*byte)(unsafe.Pointer(&m.bytes[0])), int(m.size))) {
			break
		}
		n++
	}
	copy(b.c.message[:], b.c.message[n:b.c.messages])
	b.c.messages -= C.uint32_t(n)
}

// Receives passes each stored receive buffer to post, in order, until post refuses one.
func (b *Box) Receives(post func(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) bool) {
	n := 0
	for n < int(b.c.receives) {
		r := &b.c.receive[n]
		if !post(r.buf, int(r.size), uintptr(r.desc), fabric.Token(r.token)) {
			break
		}
		n++
	}
	copy(b.c.receive[:], b.c.receive[n:b.c.receives])
	b.c.receives -= C.uint32_t(n)
}

// Complete adds as many of the completions as fit, and returns how many.
func (b *Box) Complete(comps []fabric.Completion) int {
	n := int(b.c.completions)
	n = copy(unsafe.Slice((*fabric.Completion)(unsafe.Pointer(&b.c.completion[0])), len(b.c.completion))[n:], comps)
	b.c.completions += C.uint32_t(n)
	return n
}

// Poll removes completions, as C does, and returns how many.
func (b *Box) Poll(comps []fabric.Completion) int {
	return int(C.box_poll(unsafe.Pointer(b.c), (*C.struct_shmemi_completion)(unsafe.Pointer(&comps[0])), C.int(len(comps))))
}

// Kept returns the number of messages, receive buffers and completions that the box stores.
func (b *Box) Kept() int { return int(b.c.messages + b.c.receives + b.c.completions) }

// Unsent returns the number of messages that the box stores.
func (b *Box) Unsent() int { return int(b.c.messages) }

// Injected returns how many messages C has posted.
func (b *Box) Injected() uint64 { return uint64(b.c.injected) }

// Limit sets how many more messages the box accepts, and whether it accepts receive buffers.
func (b *Box) Limit(messages int, receives bool) {
	b.c.room, b.c.shut = C.uint32_t(min(int(b.c.messages)+messages, C.BOX_MESSAGES)), 1
	if receives {
		b.c.shut = 0
	}
}

// Fail makes polls of C return a negative error; 0: no error.
func (b *Box) Fail(err int) { b.c.failure = C.int(err) }
