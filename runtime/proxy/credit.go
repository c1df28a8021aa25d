package proxy

import (
	"math/bits"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// An operation under way holds a token and, when it is one-sided, bytes; a
// message to a PE counts until that PE is known to have applied it. One that
// does not answer must not hold what the others need. So a PE may hold a third
// of what is left free, which is a quarter of all while it is the only one, and
// never nothing: each PE that is stuck leaves three quarters of what it found,
// and the last of 512 tokens is not gone before some twenty PEs are.
const (
	// reserve is for answers, flushes and signals: callers cannot have it.
	reserve = 16
	// maxBytes is what one-sided operations of all callers may have under way.
	// A PE may have one operation beyond it, so that sizes above the limit pass.
	maxBytes = 64 << 20
	// window is how many messages to one PE may be without an answer, in a job of
	// few PEs; at half of it a flush asks for one. More than any path needs to be
	// full: 1024 messages in 50 us are 20 million a second. Fewer than queues of
	// NICs hold.
	window = 1024
	// All PEs together may have so many messages, and bytes of messages, without an
	// answer at one PE: those it has not taken fill memory of its node, and on a
	// network without order those that it has. Each has its part, and never less
	// than the least, with which it gets on even among 10^6.
	allMessages, leastMessages = 1 << 20, 16
	allBytes, leastBytes       = 64 << 20, 2 * messageSize
	// Where the completion of a write says only that its source may be reused, its bytes
	// may lie in a socket that the PE does not read, 20 MB of them in one. So many may be
	// on their way to a PE, and one write more, before it has said that they are there;
	// for those of all PEs together, and never fewer than the least. A network of 100 Gb/s
	// has 1.2 MB under way in 100 us.
	mostUnread, allUnread, leastUnread = 4 << 20, 256 << 20, 256 << 10
)

// unread says what each of n PEs may have on its way to one, of bytes of one-sided writes.
func unread(n int) uint64 { return uint64(min(mostUnread, max(leastUnread, allUnread/n))) }

// Two limits bound the one-sided writes that a PE has not answered: their bytes, where
// completions do not tell that they are there, and their number, where they have numbers
// (window.go). At half of either an answer is asked for; at the whole, writes wait for it in
// the queue of the PE, or go without a number.

// unanswered reports whether half of either limit is used up, or all of it. Half of a window
// of one is one.
func (e *Engine) unanswered(p *layout.Peer) (half, full bool) {
	bytes, most := p.Wrote-p.WroteAcked, e.mostUnread
	half, full = bytes >= most/2, bytes >= most
	if p.Stream >= streamGiven && p.Bare == 0 { // the next write may have a number
		writes, window := p.Out.Unacknowledged(), e.space.Window
		half, full = half || writes >= (window+1)/2, full || writes >= window && !e.spares
	}
	return half, full
}

// takes reports whether a PE takes another one-sided write. Again: it owes an answer first.
func (e *Engine) takes(pe fabric.PE, p *layout.Peer) Status {
	switch half, full := e.unanswered(p); {
	case full:
		return e.awaitFlush(pe, p)
	case half && e.flush(pe) == Failed:
		return Failed
	}
	return Done
}

// noCredit counts an operation that is sent back because of the credit of a PE, or for want
// of a token.
func (e *Engine) noCredit(pe fabric.PE, p *layout.Peer) {
	p.Count[layout.NoCredit]++
	e.noteAgain(pe, layout.EventNoCredit)
}

// credits says what each of n PEs may have without an answer at one: units, and
// the bytes of a unit as a power of two. A message takes one unit or more, by its
// size, so that one comparison bounds both messages and bytes. The number of
// units is a power of two too, which makes half of them enough for any message:
// to a PE below its half nothing is refused, and one above has been asked.
func credits(n int) (units uint32, unit uint32) {
	messages := floor2(min(window, max(leastMessages, allMessages/n)))
	bytes := floor2(max(leastBytes, allBytes/n))
	unit = uint32(bits.Len(uint(min(bytes/messages, messageSize))) - 1)
	return uint32(messages), unit
}

func floor2(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// cost is how many units a message of n bytes takes.
func (e *Engine) cost(n int) uint64 { return 1 + uint64(n-1)>>(e.Unit&63) }

// Full tells, after an Again, that no PE has room: the endpoint has no token
// left, and Poll has to give one back. Else it is only the operation's PE, and
// those to others may be posted.
func (e *Engine) Full() bool { return len(e.free) <= reserve }

// bytesOf is what one-sided operations may have under way on a network: more than
// maxBytes where several NICs carry that in less time than any of them answers. A
// quarter of it is 100 us of all NICs.
func bytesOf(c *fabric.Caps) int64 { return max(maxBytes, int64(c.Speed/8/2500)) }

// room tells whether a caller may have a token for p, and n bytes under way.
func (e *Engine) room(p *layout.Peer, n uint64) bool {
	free := len(e.free) - reserve
	if free <= 0 || 3*int(p.Tokens) >= free && p.Tokens > 0 ||
		p.Bytes != 0 && 3*int64(p.Bytes+n) > e.mostBytes-int64(e.bytes) {
		e.noCredit(e.numberOf(p), p)
		return false
	}
	return true
}

// hold counts bytes that are under way until the token is given back.
func (e *Engine) hold(s *slot, n uint64) {
	s.bytes = n
	e.bytes += n
	e.peers[s.pe].Bytes += n
}

// admit tells whether a caller may send p a message of n bytes, and asks for an
// answer when p owes those to half of its units.
func (e *Engine) admit(pe fabric.PE, p *layout.Peer, n int) Status {
	if p.Asked-p.Acked < uint64(e.Calm) {
		return Done
	}
	return e.admitLate(pe, p, n)
}

func (e *Engine) admitLate(pe fabric.PE, p *layout.Peer, n int) Status {
	switch st := e.flush(pe); {
	case st == Failed:
		return Failed
	case p.Asked-p.Acked+e.cost(n) > uint64(e.Window):
		e.noCredit(pe, p)
		return Again
	}
	return Done
}
