package proxy

import (
	"math/bits"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Credits bound the operations, bytes, unacknowledged messages and numbered writes that this PE has
// under way, in all and to each PE. The bounds follow from the size of the job and from what a
// provider granted. The engine counts, and refuses operations above a bound.

// An operation under way holds a token and, if it is one-sided, bytes; a message to a PE counts
// until that PE has acknowledged it. A PE that does not reply must not block the others. So a PE
// may hold at most a third of what is still free, which is a quarter of all while it is the only
// one, and while a token is left it may have one operation: each stuck PE leaves three quarters of what was free,
// and some twenty stuck PEs are needed before the last of 512 tokens is in use.
const (
	// reservedTokens is the number of tokens for replies, flushes and signals. Callers cannot have
	// them.
	reservedTokens = 16
	// maxBytes bounds the one-sided operations of all callers under way. A PE may have one
	// operation beyond it, so that sizes above the limit pass.
	maxBytes = 64 << 20
	// messageWindow bounds the unacknowledged messages to one PE, in a job of few PEs; at half of
	// it a flush requests a reply. 1024 messages keep any path full: if a reply takes 50 us, they
	// are 20 million messages a second. The queues of NICs hold more.
	messageWindow = 1024
	// allMessages bounds the unacknowledged messages of all PEs together at one PE. Messages that
	// the PE has not received fill memory of its node; on a network without order, so do messages
	// that it has received. Each PE has an equal share, and at least leastMessages, with which it
	// makes progress even among 10^6 PEs. allBytes and leastBytes bound the bytes of these messages
	// in the same way; of one message at most CreditedMost bytes count.
	allMessages, leastMessages = 1 << 20, 16
	allBytes, leastBytes       = 64 << 20, 2 * layout.CreditedMost
	// If the completion of a write says only that its source may be reused, its bytes may lie in a
	// socket that the PE does not read: up to 20 MB in one socket. A PE may have maxUnread bytes,
	// and one write more, on their way to another PE that has not acknowledged them. allUnread
	// bounds the bytes of all PEs together, and each PE may have at least leastUnread. A network of
	// 100 Gb/s carries 1.2 MB in 100 us.
	maxUnread, allUnread, leastUnread = 4 << 20, 256 << 20, 256 << 10
)

// unreadBytes returns how many bytes of one-sided writes each of n PEs may have on their way to one
// PE.
func unreadBytes(n int) uint64 { return uint64(min(maxUnread, max(leastUnread, allUnread/n))) }

// creditUnits returns the credit that each of n PEs has for unacknowledged messages at one PE:
// units, and the bytes of a unit as a power of two. A message takes one unit or more, by its size,
// so that one comparison bounds both messages and bytes. The number of units is a power of two too,
// so half of them are enough for any message: no message to a PE below its half is refused, and a
// PE above its half has been sent a flush.
func creditUnits(n int) (units uint32, unit uint32) {
	messages := floor2(min(messageWindow, max(leastMessages, allMessages/n)))
	bytes := floor2(max(leastBytes, allBytes/n))
	unit = uint32(bits.Len(uint(min(bytes/messages, layout.CreditedMost))) - 1)
	return uint32(messages), unit
}

// floor2 returns the largest power of two that is not above n.
func floor2(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// maxBytesUnderWay returns the bound for the bytes of one-sided operations under way on a network:
// what all NICs carry in 400 us at Caps.Speed (bits a second), but at least maxBytes. A PE alone
// may have a quarter of the bound, 100 us.
func maxBytesUnderWay(c *fabric.Caps) int64 { return max(maxBytes, int64(c.Speed/8/2500)) }
