package gpustage

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/pool"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Heaps that are mapped in this process are written and read by copies between GPUs, all in one
// stream: in the order of posting, with the signal behind its bytes.

// copies reports whether bytes for pe at an offset take this path.
func (s *Stage) copies(pe fabric.PE, offset int64) bool {
	return offset >= 0 && s.lines[pe].mapped != nil && s.engine.Lost(pe) == nil
}

// PutBytes writes bytes to a mapped heap, with the signal in after or none. The bytes may be reused
// when it returns. Not ok: the heap is not mapped.
func (s *Stage) PutBytes(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, after *layout.Header) (st call.Status, ok bool) {
	if err := s.refuseSignal(pe, after); err != nil {
		return s.engine.Fail(err), true
	}
	if !s.copies(pe, offset) {
		return 0, false
	}
	return s.copyPut(pe, offset, source, n, false, nil, after), true
}

// Store stores an element on a mapped heap. Not ok: the heap is not mapped.
func (s *Stage) Store(pe fabric.PE, offset int64, width uint8, value uint64) (st call.Status, ok bool) {
	if !s.copies(pe, offset) {
		return 0, false
	}
	return s.copyStore(pe, offset, width, value), true
}

// AMO refuses an atomic operation that the owner cannot do. On a mapped heap it lets the stream do
// an operation that the stream can do. Not ok: the owner does it.
func (s *Stage) AMO(pe fabric.PE, h *layout.Header) (st call.Status, ok bool) {
	if err := s.refuse(pe, h.Offset, h.Op, h.Width); err != nil {
		return s.engine.Fail(err), true
	}
	if !s.copies(pe, h.Offset) {
		return 0, false
	}
	return s.mappedAMO(pe, h)
}

// mayCopy returns whether an operation of n bytes on a mapped heap may begin.
func (s *Stage) mayCopy(pe fabric.PE, n uint64) call.Status {
	l, p := &s.lines[pe], &s.peers[pe]
	switch {
	case s.engine.Parked(pe), p.Queued > 0, s.streams.Full(StreamPeer), l.departs > 0 && l.departEpoch != s.state.Epoch, l.owed > 0 && l.owedEpoch != s.state.Epoch, !s.engine.Room(pe, n):
		return call.Again
	case p.MustFollow(s.state.Epoch):
		if s.engine.Flush(pe) == call.Failed {
			return call.Failed
		}
		return call.Again
	}
	return call.Done
}

// begun counts an operation that the stream has, or will have. The operations of one epoch are
// complete before any of a later one.
func (s *Stage) begun(l *stagedPeer) {
	if l.copyEpoch != s.state.Epoch {
		l.copyEpoch, l.copyBefore = s.state.Epoch, l.copies
	}
	l.copies++
	s.streams.Busy()
}

// inStream reports whether an atomic operation on a mapped heap can be put into the stream: a set
// can, unless the owner changes its words in several steps.
func (l *stagedPeer) inStream(op fabric.Op) bool {
	return l.atomics&stream.OwnerAlone == 0 && op == fabric.OpSet
}

// setMapped puts a set into the stream.
func (s *Stage) setMapped(l *stagedPeer, h *layout.Header) {
	s.streams.Write(StreamPeer, unsafe.Add(l.mapped, h.Offset), h.Width, h.Operand)
}

// copyStore stores an element on a mapped heap.
func (s *Stage) copyStore(pe fabric.PE, offset int64, width uint8, value uint64) call.Status {
	if width < 4 || offset&int64(width-1) != 0 {
		return s.copyPut(pe, offset, unsafe.Pointer(&value), uint64(width), false, nil, nil)
	}
	return s.copyAMO(pe, &layout.Header{Op: fabric.OpSet, Width: width, Offset: offset, Operand: value})
}

// mappedAMO lets the stream do an operation that it can do. Not ok: the owner does it. Operations
// on one PE are done in order, by the stream or by the owner.
func (s *Stage) mappedAMO(pe fabric.PE, h *layout.Header) (st call.Status, ok bool) {
	l, p := &s.lines[pe], &s.peers[pe]
	if !l.inStream(h.Op) {
		return call.Again, l.copied < l.copies
	}
	if p.Asked > p.Acked {
		if s.engine.Flush(pe) == call.Failed {
			return call.Failed, true
		}
		return call.Again, true
	}
	return s.copyAMO(pe, h), true
}

// copyAMO puts a set, or a store, into the stream.
func (s *Stage) copyAMO(pe fabric.PE, h *layout.Header) call.Status {
	if st := s.mayCopy(pe, 0); st != call.Done {
		return st
	}
	l := &s.lines[pe]
	s.begun(l)
	s.streams.Runs(backlog.CallPut, pe)
	s.setMapped(l, h)
	s.storedLater(pe, pool.None)
	return call.Done
}

func (s *Stage) storedLater(pe fabric.PE, slot uint16) {
	s.streams.Later(StreamPeer, stream.Chore{For: s, What: taskStored, Lane: s.engine.Pend(), PE: uint32(pe), Index: slot})
}

// stored ends the work that storedLater began.
func (s *Stage) stored(c *stream.Chore) {
	l := &s.lines[c.PE]
	if c.Index != pool.None {
		s.going.GiveFor(c.PE, c.Index)
	}
	l.copied++
	s.engine.Unpend(c.Lane)
	s.engine.Moved(fabric.PE(c.PE))
}

// copyPut is Put or PutSignal on a mapped heap.
func (s *Stage) copyPut(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, gpu bool, r *call.Request, after *layout.Header) call.Status {
	if st := s.mayCopy(pe, n); st != call.Done {
		return st
	}
	l := &s.lines[pe]
	s.streams.Runs(backlog.CallPut, pe)
	small := !gpu && n > 0 && n <= layout.MaxPayload // whose source may be reused when this returns
	if small && (after == nil || after.Offset >= 0 && l.inStream(after.Op)) {
		at, i := unsafe.Add(l.mapped, offset), uint16(pool.None)
		if s.streams.Storable(at, int(n)) {
			s.begun(l)
			s.streams.StoreWords(StreamPeer, at, source, int(n))
		} else {
			var ok bool
			if i, ok = s.going.TakeFor(uint32(pe)); !ok {
				return call.Again
			}
			mem.Copy(s.going.At(i), source, int(n))
			s.begun(l)
			s.streams.Copy(StreamPeer, at, s.going.At(i), n)
		}
		if after != nil {
			s.setMapped(l, after)
		}
		s.storedLater(pe, i)
		return call.Done
	}
	if small && !s.going.MayTakeFor(uint32(pe)) {
		return call.Again
	}
	if after != nil {
		if st := s.engine.Admit(pe); st != call.Done {
			return st
		}
	}
	t, ok := s.beginCopy(pe, r, n)
	if !ok {
		return call.Again
	}
	s.begun(l)
	d := s.newDeparture(departTo, pe, source, n)
	d.epoch, d.token, d.offset = s.state.Epoch, t, offset
	if after != nil {
		d.then, d.after = true, *after
		if after.Offset < 0 || !l.inStream(after.Op) {
			l.owed++
			l.owedEpoch = s.state.Epoch
		}
	}
	if !gpu && n > 0 {
		l.departs++
		l.departEpoch = s.state.Epoch
		if !small || !s.startDeparture(l, d) {
			s.departs.Push(d)
		}
		return call.Pending
	}
	if n > 0 {
		s.streams.Copy(StreamPeer, unsafe.Add(l.mapped, offset), source, n)
	}
	d.begun = n
	s.endCopies(l, d)
	return call.Pending
}

// beginCopy takes a token for a copy. Quiets wait for the copy.
func (s *Stage) beginCopy(pe fabric.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	t, ok := s.engine.BeginPut(pe, r, n)
	if ok {
		s.ops[t].pe, s.ops[t].use = pe, usePut
		s.engine.Await(t)
	}
	return t, ok
}

// copyGet is Get from a mapped heap. No other operation is ordered with it.
func (s *Stage) copyGet(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, gpu bool, r *call.Request) call.Status {
	l := &s.lines[pe]
	if !s.engine.Room(pe, n) || s.streams.Full(StreamPeer) {
		return call.Again
	}
	t, ok := s.beginCopy(pe, r, n)
	if !ok {
		return call.Again
	}
	s.streams.Busy()
	d := s.newDeparture(departFrom, pe, dest, n)
	d.token, d.offset = t, offset
	if !gpu {
		s.departs.Push(d)
		return call.Pending
	}
	s.streams.Runs(backlog.CallGet, pe)
	s.streams.Copy(StreamPeer, dest, unsafe.Add(l.mapped, offset), n)
	d.begun = n
	s.endCopies(l, d)
	return call.Pending
}

// endCopies is called when all of an operation is in the stream. The signal follows its bytes
// there, or is sent when the bytes are done.
func (s *Stage) endCopies(l *stagedPeer, d *departure) {
	if d.kind == departTo && d.open > 0 {
		l.departs--
	}
	if h := &d.after; d.then && h.Offset >= 0 && l.inStream(h.Op) {
		s.setMapped(l, h)
		d.then = false
	}
	s.streams.Fresh(StreamPeer)
	s.streams.Later(StreamPeer, stream.Chore{For: s, What: taskCopied, Token: d.id})
}

// endCopy is called when the stream has done the operation.
func (s *Stage) endCopy(d *departure) {
	l := &s.lines[d.pe]
	if d.then {
		s.engine.OwnFor(d.token, d.after)
		l.owed--
	}
	if d.kind == departTo {
		l.copied++
		s.engine.Moved(d.pe)
	}
	s.engine.Conclude(d.token, 0, nil)
	s.end(d.token)
	s.spareDepartures = append(s.spareDepartures, d)
}
