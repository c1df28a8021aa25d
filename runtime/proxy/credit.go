package proxy

import "libshmem/fabric"

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
	// window is how many messages to one PE may be without an answer; at half of
	// it a flush asks for one. More than any path needs to be full: 1024 messages
	// in 50 us are 20 million a second. Fewer than queues of NICs hold.
	window = 1024
	calm   = window / 2
)

// Full tells, after an Again, that no PE has room: the endpoint has no token
// left, and Poll has to give one back. Else it is only the operation's PE, and
// those to others may be posted.
func (e *Engine) Full() bool { return len(e.free) <= reserve }

// room tells whether a caller may have a token for p, and n bytes under way.
func (e *Engine) room(p *peer, n uint64) bool {
	free := len(e.free) - reserve
	if free <= 0 || 3*int(p.tokens) >= free && p.tokens > 0 {
		return false
	}
	return p.bytes == 0 || 3*int64(p.bytes+n) <= maxBytes-int64(e.bytes)
}

// hold counts bytes that are under way until the token is given back.
func (e *Engine) hold(s *slot, n uint64) {
	s.bytes = n
	e.bytes += n
	e.peers[s.pe].bytes += n
}

// admit is for a message to a PE that owes answers for calm of them: it asks
// for one, and refuses when the window is full.
func (e *Engine) admit(pe fabric.PE, p *peer) Status {
	switch st := e.flush(pe); {
	case st == Failed:
		return Failed
	case p.asked-p.acked >= window:
		return Again
	}
	return Done
}
