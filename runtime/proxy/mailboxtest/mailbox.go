// Package mailboxtest has the mailboxes of two-sided messages (abi/mailbox.h) for tests in Go:
// where a sender may store a record, and what a receiver finds, removes and acknowledges. It moves
// no bytes between PEs. One goroutine at a time uses a mailbox.
package mailboxtest

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -fno-strict-aliasing
#cgo CFLAGS: -I${SRCDIR}/../../../abi
#include "mailbox.h"

static void *found(struct shmemi_mail_search s) { return s.found; }
*/
import "C"

import "unsafe"

// The kinds of records, which are a whole message or a request to fetch its bytes; the size of
// their headers; the tag that matches any message; and the alignment of records.
const (
	Whole, Request = C.SHMEMI_MAIL_WHOLE, C.SHMEMI_MAIL_REQUEST
	HeaderBytes    = C.sizeof_struct_shmemi_mail
	RequestBytes   = C.sizeof_struct_shmemi_mail_request
	Any            = C.SHMEMI_MAIL_ANY
	Line           = C.SHMEMI_MAIL_LINE
)

// Bytes returns the size of a mailbox whose ring has `ring` bytes.
func Bytes(ring int) int { return int(C.shmemi_mailbox_bytes(C.uint32_t(ring))) }

// Short returns the length of the longest message that is sent whole, for a ring of `ring` bytes.
func Short(ring int) int { return int(C.shmemi_mail_short(C.uint32_t(ring))) }

// Mark returns the mark of a record, the first word, which has its kind and length and is not 0.
func Mark(kind int, nbytes uint64) uint64 {
	return uint64(C.shmemi_mail_mark(C.enum_shmemi_mail_kind(kind), C.uint64_t(nbytes)))
}

// Span returns the bytes of a ring that the record with a mark takes, or 0 if the mark is invalid.
func Span(mark uint64, ring int) int {
	return int(C.shmemi_mail_span(C.uint64_t(mark), C.uint32_t(ring)))
}

// Place returns the offset in the mailbox at which a sender stores its next record of span bytes,
// and whether the record fits: sent is the bytes of all records so far, credit how many of them the
// receiver has freed and reported.
func Place(sent, credit uint64, span, ring int) (at int, fits bool) {
	return int(C.shmemi_mail_place(C.uint64_t(sent), C.uint32_t(ring))),
		bool(C.shmemi_mail_fits(C.uint64_t(sent), C.uint64_t(credit), C.uint32_t(span), C.uint32_t(ring)))
}

// Receiver is one mailbox at its receiver.
type Receiver struct {
	box            []byte
	ring           int
	head, returned uint64 // bytes of all records that are free again, and that the sender knows of
}

// New returns the receiver of a mailbox in the memory box, which is aligned to a cache line.
func New(box []byte, ring int) *Receiver { return &Receiver{box: box[:Bytes(ring)], ring: ring} }

// A Message is a record that a receiver has found.
type Message struct {
	Kind, At, Tag int
	Size          uint64
	Send          uint32
	mail          *C.struct_shmemi_mail
}

// Find returns the first message with a tag, or Any. others is the number of messages before it,
// with other tags. damaged: the mailbox holds a record that no sender has stored.
func (r *Receiver) Find(tag int) (m *Message, others int, damaged bool) {
	s := C.shmemi_mail_find((*C.char)(unsafe.Pointer(&r.box[0])), C.uint64_t(r.head), C.int(tag), C.uint32_t(r.ring))
	if p := C.found(s); p != nil {
		mail := (*C.struct_shmemi_mail)(p)
		m = &Message{
			int(mail.mark & C.SHMEMI_MAIL_KIND), int(uintptr(p) - uintptr(unsafe.Pointer(&r.box[0]))),
			int(mail.tag), uint64(C.shmemi_mail_size(mail.mark)), uint32(mail.send), mail,
		}
	}
	return m, int(s.others), bool(s.damaged)
}

// Bytes returns the bytes of a record after its header.
func (r *Receiver) Bytes(m *Message) []byte {
	n := m.Size
	if m.Kind == Request {
		n = RequestBytes
	}
	return r.box[m.At+HeaderBytes:][:n]
}

// Take removes a message, and returns the credit to send to its sender: the bytes that are free
// again, or 0 while they are too few for a message of their own.
func (r *Receiver) Take(m *Message) (credit uint64) {
	C.shmemi_mail_remove(m.mail)
	r.head = uint64(C.shmemi_mail_release((*C.char)(unsafe.Pointer(&r.box[0])), C.uint64_t(r.head), C.uint32_t(r.ring)))
	if C.shmemi_mail_worth(C.uint64_t(r.head-r.returned), C.uint32_t(r.ring)) {
		credit, r.returned = r.head-r.returned, r.head
	}
	return credit
}
