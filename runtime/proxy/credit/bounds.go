package credit

import (
	"math/bits"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

const (
	// Tokens and MaxRecv are what the provider's Config must allow for.
	Tokens  = layout.Tokens
	MaxRecv = layout.Receives // receive buffers, where there are no more
)

// An operation under way holds a token and, when it is one-sided, bytes; a
// message to a PE counts until that PE is known to have applied it. One that
// does not answer must not hold what the others need. So a PE may hold a third
// of what is left free, which is a quarter of all while it is the only one, and
// never nothing: each PE that is stuck leaves three quarters of what it found,
// and the last of 512 tokens is not gone before some twenty PEs are.
const (
	// Reserve is for answers, flushes and signals: callers cannot have it.
	Reserve = 16
	// MaxBytes is what one-sided operations of all callers may have under way.
	// A PE may have one operation beyond it, so that sizes above the limit pass.
	MaxBytes = 64 << 20
	// Window is how many messages to one PE may be without an answer, in a job of
	// few PEs; at half of it a flush asks for one. More than any path needs to be
	// full: 1024 messages in 50 us are 20 million a second. Fewer than queues of
	// NICs hold.
	Window = 1024
	// All PEs together may have so many messages, and bytes of messages, without an
	// answer at one PE: those it has not taken fill memory of its node, and on a
	// network without order those that it has. Each has its part, and never less
	// than the least, with which it gets on even among 10^6.
	AllMessages, LeastMessages = 1 << 20, 16
	AllBytes, LeastBytes       = 64 << 20, 2 * layout.MessageSize
	// Where the completion of a write says only that its source may be reused, its bytes
	// may lie in a socket that the PE does not read, 20 MB of them in one. So many may be
	// on their way to a PE, and one write more, before it has said that they are there;
	// for those of all PEs together, and never fewer than the least. A network of 100 Gb/s
	// has 1.2 MB under way in 100 us.
	MostUnread, AllUnread, LeastUnread = 4 << 20, 256 << 20, 256 << 10
)

// Unread is how many bytes of one-sided writes each of n PEs may have on their way to one.
func Unread(n int) uint64 { return uint64(min(MostUnread, max(LeastUnread, AllUnread/n))) }

// Units returns what each of n PEs may have without an answer at one: units, and
// the bytes of a unit as a power of two. A message takes one unit or more, by its
// size, so that one comparison bounds both messages and bytes. The number of
// units is a power of two too, which makes half of them enough for any message:
// to a PE below its half nothing is refused, and one above has been asked.
func Units(n int) (units uint32, unit uint32) {
	messages := floor2(min(Window, max(LeastMessages, AllMessages/n)))
	bytes := floor2(max(LeastBytes, AllBytes/n))
	unit = uint32(bits.Len(uint(min(bytes/messages, layout.MessageSize))) - 1)
	return uint32(messages), unit
}

func floor2(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// Bytes is what one-sided operations may have under way on a network: more than
// MaxBytes where several NICs carry that in less time than any of them answers. A
// quarter of it is 100 us of all NICs.
func Bytes(c *fabric.Caps) int64 { return max(MaxBytes, int64(c.Speed/8/2500)) }
