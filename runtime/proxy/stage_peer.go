package proxy

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Heaps that are mapped in this process are written and read by copies between
// GPUs, all in one stream: in the order of posting, with the signal behind its
// bytes.

// copies tells whether bytes for pe at an offset go this way.
func (e *Engine) copies(pe fabric.PE, offset int64) bool {
	return offset >= 0 && e.staged() && e.stage.lines[pe].mapped != nil && !e.isLost(pe)
}

// mayCopy is for an operation on a mapped heap of n bytes.
func (e *Engine) mayCopy(pe fabric.PE, n uint64) Status {
	l, p := &e.stage.lines[pe], &e.peers[pe]
	switch {
	case e.held(p), p.Queued > 0, e.stage.tracks[StreamPeer].full(), l.departs > 0 && l.departEpoch != e.Epoch, l.owed > 0 && l.owedEpoch != e.Epoch, !e.room(p, n):
		return Again
	case mustFollowMessages(p, e.Epoch):
		if e.flush(pe) == Failed {
			return Failed
		}
		return Again
	}
	return Done
}

// begun counts an operation that the stream has, or will have. Those of one
// epoch are complete before any of a later one.
func (e *Engine) begun(l *line) {
	if l.copyEpoch != e.Epoch {
		l.copyEpoch, l.copyBefore = e.Epoch, l.copies
	}
	l.copies++
	e.copying()
}

// inStream tells whether an atomic operation on a mapped heap can be put into
// the stream: a set, but where the owner counts on being alone with its words.
func (l *line) inStream(op Op) bool { return l.atomics&ownerAlone == 0 && op == OpSet }

// setMapped puts it there.
func (e *Engine) setMapped(l *line, h *layout.Header) {
	e.writeGPU(StreamPeer, unsafe.Add(l.mapped, h.Offset), h.Width, h.Operand)
}

// copyStore is store on a mapped heap.
func (e *Engine) copyStore(pe fabric.PE, offset int64, width uint8, value uint64) Status {
	if width < 4 || offset&int64(width-1) != 0 {
		return e.copyPut(pe, offset, unsafe.Pointer(&value), uint64(width), false, nil, nil)
	}
	return e.copyAMO(pe, &layout.Header{Op: OpSet, Width: width, Offset: offset, Operand: value})
}

// mappedAMO has the stream do an operation that it can do. Not ok: the owner does
// it. Those of one PE are done in order, whoever does them.
func (e *Engine) mappedAMO(pe fabric.PE, h *layout.Header) (st Status, ok bool) {
	l, p := &e.stage.lines[pe], &e.peers[pe]
	if !l.inStream(h.Op) {
		return Again, l.copied < l.copies
	}
	if p.Asked > p.Acked {
		if e.flush(pe) == Failed {
			return Failed, true
		}
		return Again, true
	}
	return e.copyAMO(pe, h), true
}

// copyAMO puts a set, or a store, into the stream.
func (e *Engine) copyAMO(pe fabric.PE, h *layout.Header) Status {
	if st := e.mayCopy(pe, 0); st != Done {
		return st
	}
	l := &e.stage.lines[pe]
	e.begun(l)
	e.runs(errandPut, pe)
	e.setMapped(l, h)
	e.storedLater(pe, noSlot)
	return Done
}

// noSlot is no index of a slot.
const noSlot = 0xffff

func (e *Engine) storedLater(pe fabric.PE, slot uint16) {
	l := laneOf(e.open)
	e.pending[l]++
	e.stage.tracks[StreamPeer].later(chore{what: taskStored, lane: l, pe: uint32(pe), index: slot})
}

// stored ends what storedLater began.
func (e *Engine) stored(c *chore) {
	s := e.stage
	l := &s.lines[c.pe]
	if c.index != noSlot {
		s.going.give(c.index)
		l.slots--
	}
	l.copied++
	e.pending[c.lane]--
	e.bytesGone(fabric.PE(c.pe))
}

// copyPut is Put or PutSignal on a mapped heap.
func (e *Engine) copyPut(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, gpu bool, r *Request, after *layout.Header) Status {
	if st := e.mayCopy(pe, n); st != Done {
		return st
	}
	s, p := e.stage, &e.peers[pe]
	l := &s.lines[pe]
	e.runs(errandPut, pe)
	small := !gpu && n > 0 && n <= maxPayload // whose source may be another thing when this returns
	if small && (after == nil || after.Offset >= 0 && l.inStream(after.Op)) {
		at, i := unsafe.Add(l.mapped, offset), uint16(noSlot)
		if e.storable(at, int(n)) {
			e.begun(l)
			e.storeWords(StreamPeer, at, source, int(n))
		} else {
			var ok bool
			if i, ok = s.going.takeFor(&l.slots); !ok {
				return Again
			}
			mem.Copy(s.going.at(i), source, int(n))
			e.begun(l)
			e.copyGPU(StreamPeer, at, s.going.at(i), n)
		}
		if after != nil {
			e.setMapped(l, after)
		}
		e.storedLater(pe, i)
		return Done
	}
	if small && !s.going.mayTakeFor(l.slots) {
		return Again
	}
	if after != nil {
		if st := e.admit(pe, p, layout.HeaderSize); st != Done {
			return st
		}
	}
	t, slot := e.take(useStage, p, pe)
	if slot == nil {
		return Again
	}
	slot.request = r
	e.hold(slot, n)
	e.pending[slot.lane]++
	e.begun(l)
	d := s.newDeparture(wayTo, pe, source, n)
	d.epoch, d.token, d.offset = e.Epoch, t, offset
	if after != nil {
		d.then, d.after = true, *after
		if after.Offset < 0 || !l.inStream(after.Op) {
			l.owed++
			l.owedEpoch = e.Epoch
		}
	}
	if !gpu && n > 0 {
		l.departs++
		l.departEpoch = e.Epoch
		if !small || !e.startDeparture(l, d) {
			s.departs.Push(d)
		}
		return Pending
	}
	if n > 0 {
		e.copyGPU(StreamPeer, unsafe.Add(l.mapped, offset), source, n)
	}
	d.begun = n
	e.endCopies(l, d)
	return Pending
}

// copyGet is Get from a mapped heap. Nothing is ordered with it.
func (e *Engine) copyGet(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, gpu bool, r *Request) Status {
	s, p := e.stage, &e.peers[pe]
	l := &s.lines[pe]
	if !e.room(p, n) || s.tracks[StreamPeer].full() {
		return Again
	}
	t, slot := e.take(useStage, p, pe)
	if slot == nil {
		return Again
	}
	slot.request = r
	e.hold(slot, n)
	e.pending[slot.lane]++
	e.copying()
	d := s.newDeparture(wayFrom, pe, dest, n)
	d.token, d.offset = t, offset
	if !gpu {
		s.departs.Push(d)
		return Pending
	}
	e.runs(errandGet, pe)
	e.copyGPU(StreamPeer, dest, unsafe.Add(l.mapped, offset), n)
	d.begun = n
	e.endCopies(l, d)
	return Pending
}

// endCopies comes when all of an operation is in the stream. The signal follows
// its bytes there, or is sent when they are done.
func (e *Engine) endCopies(l *line, d *departure) {
	if d.kind == wayTo && d.open > 0 {
		l.departs--
	}
	if h := &d.after; d.then && h.Offset >= 0 && l.inStream(h.Op) {
		e.setMapped(l, h)
		d.then = false
	}
	t := &e.stage.tracks[StreamPeer]
	t.fresh = true
	t.later(chore{what: taskCopied, of: d})
}

// endCopy comes when the stream has done it.
func (e *Engine) endCopy(d *departure) {
	s, slot := e.stage, &e.slots[d.token]
	l := &s.lines[d.pe]
	if d.then {
		e.own(d.pe, d.epoch, slot.lane, &d.after)
		l.owed--
	}
	if d.kind == wayTo {
		l.copied++
		e.bytesGone(d.pe)
	}
	if slot.request != nil {
		e.finish(slot.request, 0, 0)
	}
	e.pending[slot.lane]--
	e.give(d.token)
	s.departed = append(s.departed, d)
}
