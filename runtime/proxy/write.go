package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// PutMax returns the largest put in bytes that one operation can carry. All puts travel as messages
// if nothing shows when the bytes of a write have arrived: the network does not keep the order of
// writes and messages, completions do not say it (DeliveryComplete), and not every write has a
// number.
func (x *transfers) PutMax() uint64 {
	c := &x.Net.Caps
	ordered := !x.Net.Unordered && c.WriteAfterWrite
	if !ordered && !(x.Numbers.On && c.Source) && !c.DeliveryComplete {
		return layout.MaxPut
	}
	return min(c.MaxMessage, maxTransfer)
}

// maxTransfer is the largest put or get, in bytes, that is one operation: a longer copy is
// several, so that counters and reports show its progress.
const maxTransfer = 64 << 20

// Write posts a one-sided write, and then, as soon as the order allows, the message with the header
// after (nil: none), for example a signal. If operations on the PE are queued, both wait after
// them. When the write is complete, it completes its request; with nil, quiets wait for the write.
func (x *transfers) Write(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) call.Status {
	p := &x.Peers[pe]
	switch {
	case !p.Reachable && !x.Messages.startPeer(pe, p):
		return x.Net.Fail(x.Net.Unreachable(pe))
	case p.Parked > 0 && !x.Messages.TryUnpark(p):
		return x.CountNoTurn(pe, p)
	case !x.HasRoom(pe, p, n):
		return call.Again
	}
	waits := (p.Queued > 0 || p.Staged) && x.Messages.SendBatchBeforeWrite(pe, p)
	if !waits {
		st := x.admitWrite(pe, p, x.Epoch, after != nil)
		if st == call.Done && after != nil {
			if st := x.Messages.Admit(pe, p, layout.HeaderSize); st != call.Done {
				return st
			}
		}
		if waits = st == call.Again; st == call.Failed {
			return call.Failed
		}
	}
	t, s := x.AllocateToken(useWrite, p, pe)
	if s == nil {
		return call.Again
	}
	s.Request, s.Epoch = r, x.Epoch
	if after != nil {
		s.Then, s.After = true, *after
	}
	if waits {
		s.Use, s.Local, s.Offset = useWaits, source, offset
		x.Table.CountBytes(s, p, n)
		x.Messages.Enqueue(t, s)
		return call.Pending
	}
	if st := x.post(t, s, p, offset, source, n); st != call.Done {
		x.ReleaseToken(t)
		return st
	}
	x.Table.CountBytes(s, p, n)
	x.Quiets.Pending[s.Parity]++
	return call.Pending
}

// Resume posts a one-sided write that has waited in the queue of its PE. It returns Again if the
// write still has to wait. A message that follows the write (s.Then) needs credit first: else the
// bytes would be there and the message would not.
func (x *transfers) Resume(t fabric.Token, s *record, p *layout.Peer) call.Status {
	if st := x.admitWrite(s.PE, p, s.Epoch, s.Then); st != call.Done {
		return st
	}
	if s.Then {
		if st := x.Messages.Admit(s.PE, p, layout.HeaderSize); st != call.Done {
			if st == call.Again && !p.Flushing {
				x.Messages.Jam()
			}
			return st
		}
	}
	s.Use = useWrite
	st := x.post(t, s, p, s.Offset, s.Local, s.Bytes)
	if st == call.Done {
		return call.Done
	}
	s.Use = useWaits
	if st == call.Again {
		x.Messages.Jam()
	}
	return st
}

// post passes to the provider a write that may be posted now. It first decides whether the write
// has a number, registers the source if it has to, and requests the provider's fence if the write
// has to stay after earlier ones.
func (x *transfers) post(t fabric.Token, s *record, p *layout.Peer, offset libshmem.Offset, source unsafe.Pointer, n uint64) call.Status {
	numbered := x.tryNumber(s.PE, p, n)
	op := x.describeTransfer(p, s.PE, offset, source, n, t)
	if x.Net.Segment.Contains(source, n) {
		op.Desc = x.Net.Region.Desc
	} else if st := x.localRegion(s, op); st != call.Done {
		return st
	}
	afterFence := p.WriteEpoch != s.Epoch // a fence separates this write from the one before
	op.Fence = x.Net.Caps.Fence && !x.Net.Caps.WriteAfterWrite && afterFence && (p.Writes > 0 || p.Wrote != p.WroteAcked)
	s.Number, s.Signalled = noNumber, false
	notified := uint32(0) // the notification counter plus 1 that the write's data names; 0: none
	if op.Notify = numbered; numbered {
		if afterFence {
			p.Out.Follow() // before the write is counted, so that messages of its epoch do not wait for it
		}
		s.Number = p.Out.Write()
		notified = x.notifiedCounter(s)
		op.Data = x.Numbers.immediateData(p, s.Number) | notified<<x.Numbers.Space.Bits
	}
	if err := x.Net.Provider.Write(op); err != nil {
		if numbered {
			p.Out.Unwrite()
		}
		if s.Registered {
			x.Deregister(s, false)
		}
		return x.StatusOfRefusal(s.PE, p, err)
	}
	x.Recorder.Note(s.PE, layout.EventWrite, uint32(t), uint32(n))
	p.Count[layout.Writes]++
	p.Count[layout.WriteBytes] += n
	p.BeginWrite(s.Epoch)
	if numbered {
		p.Count[layout.Numbered]++
		if notified != 0 {
			s.Then = false // no message follows
			p.Count[layout.Notified]++
		}
	} else if x.Net.Unordered {
		p.BeginBare()
	}
	if !x.Net.Caps.DeliveryComplete {
		p.CountUnconfirmed(n)
		if half, _ := x.unacknowledged(p); half { // if the flush cannot be posted, the next write tries again
			x.Messages.Flush(s.PE)
		}
	} else if notified != 0 {
		// The completion confirms that the bytes have arrived. Only a later reply of the target
		// confirms that it has added 1 to the notification counter, and a quiet waits for that: any
		// number of unconfirmed bytes above 0 makes it wait.
		p.CountUnconfirmed(1)
	} else if x.GPU != nil && x.GPU.Flushes(s.PE, offset) {
		s.Flush = true
	}
	// A write that waited in the queue may belong to the closed generation.
	if s.Parity == x.Quiets.Parity() {
		x.Quiets.MarkDirty(p, s.PE)
	} else if !x.Net.Caps.DeliveryComplete || notified != 0 {
		x.Quiets.AwaitAcknowledgement(s.PE, s.Parity)
	}
	// If the target, the network or the provider's fence keeps the message after the bytes, it is
	// sent now, otherwise when the write is complete (CompleteWrite).
	if s.Then && (numbered || !x.Net.Unordered || x.Net.Caps.Fence) {
		if numbered {
			p.Out.Follow()
		}
		x.sendFollowing(s, p)
	}
	return call.Done
}

// describeTransfer fills in the bytes, addresses and token of a one-sided operation for the
// provider. It stores one field at a time: a literal is made on the stack and then copied by loads
// that are wider than the stores before them, which takes 7 ns more.
func (x *transfers) describeTransfer(p *layout.Peer, pe libshmem.PE, offset libshmem.Offset, local unsafe.Pointer, n uint64, t fabric.Token) *fabric.RMA {
	op := &x.moving // Inject stays false
	op.PE, op.Token, op.Notify, op.Fence = pe, t, false, false
	op.Local, op.Len, op.Desc = local, n, 0
	op.Remote, op.Key = x.Net.Remotes[pe].At(offset)
	if x.GPU != nil {
		x.GPU.Aim(op, offset)
	}
	return op
}

// sendFollowing sends the message that follows a write, after the write has been posted, or adds it
// to a batch. If the write has a number, the message carries that number.
func (x *transfers) sendFollowing(s *record, p *layout.Peer) {
	s.Then = false
	if s.Number != noNumber {
		s.Signalled, s.After.Token = true, s.Number+1
	}
	x.Messages.Follow(s, p)
}

// CompleteWrite completes a write. If the message that follows the write had to wait for its bytes,
// it sends the message. If the target has to flush NIC writes to its GPU (s.Flush), quiets wait for
// its acknowledgement. Operations that waited for the write are posted.
func (x *transfers) CompleteWrite(t fabric.Token, s *record) {
	x.Uncount(s)
	p := &x.Peers[s.PE]
	var status int32
	if s.Registered {
		status = x.Deregister(s, false) // false: a write brings no bytes
	}
	if s.Then {
		x.Messages.sendOwn(s.PE, s.Epoch, s.Parity, s.After)
	} else if s.Flush {
		// No message is sent here. The unit only makes the PE unacknowledged, so that quiets send a
		// flush, before whose reply the PE flushes its GPU.
		p.Charge(1, s.Epoch)
		x.Quiets.AwaitAcknowledgement(s.PE, s.Parity)
	}
	if s.Request != nil {
		x.Complete(s.Request, status, 0)
	}
	x.ReleaseToken(t)
	x.Messages.Drive(s.PE)
}

// HandleFailure removes a failed write or read from the counts of what is under way. If a write had
// a number, it tells the target that the write will not arrive. The caller frees the token and
// completes the request.
func (x *transfers) HandleFailure(s *record) {
	switch {
	case s.Use == useWrite:
		x.Uncount(s)
		if s.Number != noNumber {
			x.sendVoid(s)
		}
	case s.Request == nil:
		x.Quiets.Pending[s.Parity]--
	}
	if s.Registered {
		x.Deregister(s, false)
	}
}

// Uncount removes a write, complete or failed, from the counts of what is under way: those of its
// generation, of its PE, and of writes without a number on a network that does not keep the order.
func (x *transfers) Uncount(s *record) {
	x.Quiets.Pending[s.Parity]--
	p := &x.Peers[s.PE]
	p.EndWrite()
	if x.Net.Unordered && s.Number == noNumber {
		p.EndBare()
	}
}
