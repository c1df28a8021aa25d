package proxy

import (
	"unsafe"

	"libshmem/fabric"
)

// write posts a one-sided write, and the message after it as soon as it may follow;
// or has them wait behind what comes first.
func (e *Engine) write(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *Request, after *header) Status {
	p := &e.peers[pe]
	switch {
	case !e.routed(p, pe):
		return e.fail(e.noRoute(pe))
	case e.held(p):
		p.count[NoTurn]++
		e.noteAgain(pe, evNoTurn)
		return Again
	case !e.room(p, n):
		return Again
	}
	if p.batch != nil && !e.holdsOnly(p) {
		e.letGo(pe, p)
	}
	waits := p.queued > 0 && !e.holdsOnly(p) || e.behindBytes(pe, p, e.Epoch)
	if !waits {
		st := e.mayWrite(pe, p, e.Epoch)
		if st == Done && after != nil {
			if st := e.admit(pe, p, headerSize); st != Done {
				return st
			}
		}
		if waits = st == Again; st == Failed {
			return Failed
		}
	}
	t, s := e.take(useWrite, p, pe)
	if s == nil {
		return Again
	}
	s.request, s.epoch = r, e.Epoch
	if after != nil {
		s.then, s.after = true, *after
	}
	if waits {
		s.use, s.local, s.offset = useWaits, source, offset
		e.hold(s, n)
		e.enqueue(t, s)
		return Pending
	}
	if st := e.post(t, s, p, offset, source, n); st != Done {
		e.give(t)
		return st
	}
	e.hold(s, n)
	e.pending[s.lane]++
	return Pending
}

// post hands a write to the provider, that may be posted now.
func (e *Engine) post(t fabric.Token, s *slot, p *peer, offset int64, source unsafe.Pointer, n uint64) Status {
	numbered := e.numbered(s.pe, p, n)
	op := e.move(p, s.pe, offset, source, n, t)
	if e.segment.contains(source, n) {
		op.Desc = e.region.Desc
	} else if st := e.localRegion(s, op); st != Done {
		return st
	}
	older := p.writeEpoch != s.epoch
	op.Fence = e.caps.Fence && !e.caps.WriteAfterWrite && older && (p.writes > 0 || p.wrote != p.wroteAcked)
	s.number, s.signalled = noNumber, false
	if op.Notify = numbered; numbered {
		if older {
			p.out.Follow() // before it is counted: messages of its epoch do not wait for it
		}
		s.number = p.out.Write()
		op.Data = e.data(p, s.number)
	}
	if err := e.prov.Write(op); err != nil {
		if numbered {
			p.out.Unwrite()
		}
		if s.registered {
			e.dropRegion(s, false)
		}
		if err == fabric.ErrAgain {
			p.count[Retries]++
			e.noteAgain(s.pe, evNoRoom)
			return Again
		}
		return e.fail(err)
	}
	e.note(s.pe, evWrite, uint32(t), uint32(n))
	p.count[Writes]++
	p.count[WriteBytes] += n
	p.writes++
	p.writeEpoch = s.epoch
	if numbered {
		p.count[Numbered]++
	} else if e.unordered {
		p.bare++
	}
	if !e.caps.DeliveryComplete {
		p.wrote += n
		if half, _ := e.unanswered(p); half { // where there is no room for the question, the next write asks it
			e.flush(s.pe)
		}
	} else if e.staged() && offset >= 0 && e.stage.lines[s.pe].flushes {
		s.flush = true
	}
	if s.lane == laneOf(e.open) {
		e.touch(p, s.pe)
	} else if !e.caps.DeliveryComplete {
		e.account(s.pe, s.lane)
	}
	if s.then && (numbered || !e.unordered || e.caps.Fence) {
		if numbered {
			p.out.Follow()
		}
		e.signal(s, p)
	}
	return Done
}

// move names the bytes of a one-sided operation to the provider. It stores one
// field at a time: a literal is made on the stack and then copied by loads that
// are wider than the stores before them, which takes 7 ns more.
func (e *Engine) move(p *peer, pe fabric.PE, offset int64, local unsafe.Pointer, n uint64, t fabric.Token) *fabric.RMA {
	op := &e.moving // Inject stays false
	op.PE, op.Token, op.Notify, op.Fence = pe, t, false, false
	op.Local, op.Len, op.Desc = local, n, 0
	op.Remote, op.Key = e.routes[pe].base+uint64(offset), e.routes[pe].key
	if e.stage != nil {
		e.aim(op, offset)
	}
	return op
}

// mustFollowMessages tells whether messages from before an epoch may still wait at
// the target, where a write would overtake them: a provider puts written bytes in
// place as they come, a message is applied when it is polled.
func mustFollowMessages(p *peer, epoch uint64) bool {
	before := p.asked
	if p.epoch == epoch {
		before = p.askedThen
	}
	return before > p.acked
}

// refused ends the use of a token whose operation the provider did not take.
func (e *Engine) refused(t fabric.Token, s *slot, err error) Status {
	if s.registered {
		e.dropRegion(s, false)
	}
	e.give(t)
	if err == fabric.ErrAgain {
		e.peers[s.pe].count[Retries]++
		e.noteAgain(s.pe, evNoRoom)
		return Again
	}
	return e.fail(err)
}
