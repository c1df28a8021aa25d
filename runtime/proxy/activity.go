package proxy

import (
	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// RequestActivity sends a PE a request for its program's activity, to which the PE's proxy replies.
// If the message cannot be posted at once, it sends nothing.
func (e *Engine) RequestActivity(pe libshmem.PE) {
	if p := &e.ops.Peers[pe]; e.out.Reaches(p, pe) && !e.ops.Net.IsLost(pe) {
		e.out.SendWatched(pe, p, layout.KindActivityRequest)
	}
}

// Ping sends a PE a message that has no effect, so that the network notices if the PE is gone. It
// returns Done, and sends nothing, if the PE is unreachable or has exchanged no message with this
// one. Again may mean that the PE is gone: some providers try to connect for ever.
func (e *Engine) Ping(pe libshmem.PE) Status {
	p := &e.ops.Peers[pe]
	if !e.ops.Net.Reachable(pe) || p.Sent == 0 && p.Received == 0 {
		return Done
	}
	return e.ping(pe, p)
}

// ping sends a message that asks for nothing: the network reports an error if the PE is gone.
func (e *Engine) ping(pe libshmem.PE, p *layout.Peer) Status {
	return e.out.SendWatched(pe, p, layout.KindPing)
}

// Contact is a PE that has to reply to a flush, to prove that the network works in both directions.
// A flush is a message to which a PE replies when it has applied all earlier ones.
type Contact struct {
	PE   libshmem.PE
	sent bool
}

// Sent reports whether the flush to the PE has been posted.
func (c *Contact) Sent() bool { return c.sent }

// TryContact sends the flush of c, unless it has been posted, and reports whether the PE has
// replied to it. The caller polls, and calls TryContact again until then. The error says why the PE
// cannot be reached.
func (e *Engine) TryContact(c *Contact) (bool, error) {
	p := &e.ops.Peers[c.PE]
	if err := e.ops.Net.Lost(c.PE); err != nil {
		return false, err
	}
	if c.sent {
		return !p.Flushing, nil
	}
	switch e.out.Flush(c.PE) {
	case Pending:
		c.sent = true
	case Failed:
		return false, e.ops.Net.Err
	}
	return false, nil
}
