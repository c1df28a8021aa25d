package proxy

import (
	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// On a network where messages overtake writes, a write may carry a number in its immediate data,
// from which the target restores the order (numbers.go).
//
// Two limits bound the one-sided writes that a PE has not acknowledged. One is for their bytes, if
// completions do not say that the bytes have arrived. The other is for their count, if they have
// numbers. At half of either limit the engine sends a flush, a message that requests the
// acknowledgement. At the whole limit further writes wait for the reply in the engine's queue for
// the PE, or go without a number.

// admitWrite returns Done if a write of an epoch (the operations between two fences) may be posted
// now; then: a message follows it. It returns Again if a reply or a completion has to arrive first;
// if it is a reply, it has sent the flush that requests it.
func (x *transfers) admitWrite(pe libshmem.PE, p *layout.Peer, epoch uint64, then bool) call.Status {
	if p.MustFollow(epoch) {
		return x.awaitFlush(pe, p)
	}
	if p.WriteEpoch != epoch && (p.Writes > 0 || p.Wrote != p.WroteAcked) && !x.keepsWrites(p) {
		if p.Writes == 0 || !x.Net.Caps.DeliveryComplete {
			return x.awaitFlush(pe, p)
		}
		return call.Again
	}
	st := x.admitUnacknowledged(pe, p)
	if st == call.Done && then && x.mayOvertake(p) {
		return call.Again
	}
	return st
}

// mayOvertake reports whether the message after a write could overtake that of an earlier write, so
// that the write has to wait: without a number each message leaves when its own write is complete.
// Even if writes have numbers, the first ones to a PE have none until the PE has granted a sequence
// stream, and collective calls rely on their messages arriving in order (capi/front/message.c).
func (x *transfers) mayOvertake(p *layout.Peer) bool {
	return p.Bare > 0 && x.allNumbered()
}

// keepsWrites reports whether the provider keeps writes to p after writes, and their signals, from
// before a fence. If the order of writes is all that it keeps, no write without a number may be in
// flight (Bare): the sender holds the signal of such a write back until the write is complete, and
// a later write would overtake the signal.
func (x *transfers) keepsWrites(p *layout.Peer) bool {
	if x.Net.Caps.Fence {
		return true
	}
	return x.Net.Caps.WriteAfterWrite && p.Bare == 0
}

// awaitFlush starts a flush to a PE, whose reply has to arrive before a write may be posted, and
// returns Again. If the flush cannot be posted now, the queues are driven again at the next poll.
func (x *transfers) awaitFlush(pe libshmem.PE, p *layout.Peer) call.Status {
	if x.Messages.Flush(pe) == call.Failed {
		return call.Failed
	}
	if !p.Flushing {
		x.Messages.Jam()
	}
	return call.Again
}

// unacknowledged reports whether the unacknowledged writes to p use up half of one of the two
// limits, and whether they use up all of it. Half of a window of one write is one write.
func (x *transfers) unacknowledged(p *layout.Peer) (half, full bool) {
	bytes, limit := p.Wrote-p.WroteAcked, x.MaxUnread
	half, full = bytes >= limit/2, bytes >= limit
	if p.Stream >= sequenceGranted && p.Bare == 0 { // the next write may have a number
		writes, window := p.Out.Unacknowledged(), x.Numbers.Space.Window
		half, full = half || writes >= (window+1)/2, full || writes >= window && !x.Numbers.Spares
	}
	return half, full
}

// admitUnacknowledged returns Done if one more one-sided write to a PE may be posted, and Again if
// the PE has to acknowledge earlier ones first. When half of a limit is used up, it sends the flush
// that requests the acknowledgement.
func (x *transfers) admitUnacknowledged(pe libshmem.PE, p *layout.Peer) call.Status {
	switch half, full := x.unacknowledged(p); {
	case full:
		return x.awaitFlush(pe, p)
	case half && x.Messages.Flush(pe) == call.Failed:
		return call.Failed
	}
	return call.Done
}
