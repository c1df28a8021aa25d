package proxy

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/ops"
)

// write posts a one-sided write, and the message after it as soon as it may follow. If other
// operations come first, both wait behind them.
func (e *Engine) write(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *Request, after *layout.Header) Status {
	p := &e.Peers[pe]
	switch {
	case !e.routed(p, pe):
		return e.Net.Fail(e.Net.NoRoute(pe))
	case e.parkedAhead(p):
		return e.NoTurn(pe, p)
	case !e.Room(pe, p, n):
		return Again
	}
	if p.Batch != nil && !e.holdsOnly(p) {
		e.letGo(pe, p)
	}
	waits := p.Queued > 0 && !e.holdsOnly(p) || e.behindBytes(pe, p, e.Epoch)
	if !waits {
		st := e.mayWrite(pe, p, e.Epoch)
		if st == Done && after != nil {
			if st := e.admit(pe, p, layout.HeaderSize); st != Done {
				return st
			}
		}
		if waits = st == Again; st == Failed {
			return Failed
		}
	}
	t, s := e.Take(ops.UseWrite, p, pe)
	if s == nil {
		return Again
	}
	s.Request, s.Epoch = r, e.Epoch
	if after != nil {
		s.Then, s.After = true, *after
	}
	if waits {
		s.Use, s.Local, s.Offset = ops.UseWaits, source, offset
		e.Table.Hold(s, p, n)
		e.enqueue(t, s)
		return Pending
	}
	if st := e.post(t, s, p, offset, source, n); st != Done {
		e.Give(t)
		return st
	}
	e.Table.Hold(s, p, n)
	e.Quiets.Pending[s.Lane]++
	return Pending
}

// post gives the provider a write that may be posted now.
func (e *Engine) post(t fabric.Token, s *ops.Record, p *layout.Peer, offset int64, source unsafe.Pointer, n uint64) Status {
	numbered := e.numbered(s.PE, p, n)
	op := e.move(p, s.PE, offset, source, n, t)
	if e.Net.Segment.Contains(source, n) {
		op.Desc = e.Net.Region.Desc
	} else if st := e.localRegion(s, op); st != Done {
		return st
	}
	older := p.WriteEpoch != s.Epoch
	op.Fence = e.Net.Caps.Fence && !e.Net.Caps.WriteAfterWrite && older && (p.Writes > 0 || p.Wrote != p.WroteAcked)
	s.Number, s.Signalled = ops.NoNumber, false
	if op.Notify = numbered; numbered {
		if older {
			p.Out.Follow() // before the write is counted: messages of its epoch do not wait for it
		}
		s.Number = p.Out.Write()
		op.Data = e.data(p, s.Number)
	}
	if err := e.Net.Provider.Write(op); err != nil {
		if numbered {
			p.Out.Unwrite()
		}
		if s.Registered {
			e.dropRegion(s, false)
		}
		return e.Refused(s.PE, p, err)
	}
	e.Recorder.Note(s.PE, layout.EventWrite, uint32(t), uint32(n))
	p.Count[layout.Writes]++
	p.Count[layout.WriteBytes] += n
	p.Writes++
	p.WriteEpoch = s.Epoch
	if numbered {
		p.Count[layout.Numbered]++
	} else if e.Net.Unordered {
		p.Bare++
	}
	if !e.Net.Caps.DeliveryComplete {
		p.Wrote += n
		if half, _ := e.unanswered(p); half { // if there is no room for the question, the next write asks it
			e.flush(s.PE)
		}
	} else if e.gpu != nil && e.gpu.Flushes(s.PE, offset) {
		s.Flush = true
	}
	if s.Lane == e.Quiets.Parity() {
		e.Quiets.Touch(p, s.PE)
	} else if !e.Net.Caps.DeliveryComplete {
		e.Quiets.Account(s.PE, s.Lane)
	}
	if s.Then && (numbered || !e.Net.Unordered || e.Net.Caps.Fence) {
		if numbered {
			p.Out.Follow()
		}
		e.signal(s, p)
	}
	return Done
}

// move describes the bytes of a one-sided operation to the provider. It stores one field at a time:
// a literal is made on the stack and then copied by loads that are wider than the stores before
// them, which takes 7 ns more.
func (e *Engine) move(p *layout.Peer, pe fabric.PE, offset int64, local unsafe.Pointer, n uint64, t fabric.Token) *fabric.RMA {
	op := &e.moving // Inject stays false
	op.PE, op.Token, op.Notify, op.Fence = pe, t, false, false
	op.Local, op.Len, op.Desc = local, n, 0
	op.Remote, op.Key = e.Net.Route(pe, offset)
	if e.gpu != nil {
		e.gpu.Aim(op, offset)
	}
	return op
}

// refused ends the use of a token whose operation the provider did not take.
func (e *Engine) refused(t fabric.Token, s *ops.Record, err error) Status {
	if s.Registered {
		e.dropRegion(s, false)
	}
	e.Give(t)
	return e.Refused(s.PE, &e.Peers[s.PE], err)
}
