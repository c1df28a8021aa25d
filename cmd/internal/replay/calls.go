package replay

import (
	"libshmem"
	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy"
)

// call replays one call of the program: it makes the operations of the engine that the library
// (capi/front) makes for a call of this kind.
func (t *thread) call(o *program.Op) {
	e := t.context(o)
	switch {
	case o.Kind.Collective():
		t.collective(o)
	case o.Kind == program.Wait:
		t.wait(o)
	case o.Kind == program.Quiet:
		t.quiet(e, t.place)
	case o.Kind == program.Fence:
		e.Fence()
	case !o.Kind.Updates() && o.Kind != program.Get:
		t.compute(sim.Time(o.Took))
	case t.m.sameHost(o.Peer, t.PE):
		t.onNode(o)
	case o.Kind == program.Get:
		t.get(o)
	case o.Kind == program.Put:
		t.put(o)
	case o.Kind == program.SignalledPut:
		t.putSignal(o)
	default:
		t.atomic(o)
	}
}

// onNode replays an operation between PEs of one host, which is done by loads and stores, without
// the engine. It takes its recorded time, unless that is so long that the recording must have had a
// network between the PEs; then it takes an assumed time. If a wait needs the operation, it sets
// the flag of that wait.
func (t *thread) onNode(o *program.Op) {
	took := sim.Time(o.Took)
	if took > longest+sim.Time(o.Bytes) {
		took = onNode + sim.Time(o.Bytes/onNodeBytes)
	}
	t.compute(took)
	if o.Flagged {
		t.m.pes[o.Peer].store(t.m.flag(t.index, o.Seq), o.Seq)
	}
}

// eachPart calls f for each part of a put or get: an element of a strided one, or a piece that fits
// into an operation and into the memory of the replay. last marks the last part.
func (t *thread) eachPart(o *program.Op, f func(n uint64, last bool)) {
	left, part := o.Bytes, min(t.engine.PutMax(), maxData)
	if o.Pieces > 1 {
		part = uint64(o.Element)
	}
	for left > part {
		f(part, false)
		left -= part
	}
	f(left, true)
}

// put replays a put to another host. If a wait needs it (Flagged), its last part also stores the
// flag word at which the replayed wait polls, because a recording does not say which word the
// program used. The engine copies an element of a strided put, at most 16 bytes, into a message, so
// that the thread waits for none of them and their number under way needs no limit. dirty records
// that the next quiet of the context has to wait for operations.
func (t *thread) put(o *program.Op) {
	e, pe, at := t.engine, libshmem.PE(o.Peer), t.pe.offset(t.m.bytes())
	t.eachPart(o, func(n uint64, last bool) {
		r := new(proxy.Request)
		if o.NBI {
			r = nil
		}
		word := t.pe.offset(t.m.flag(t.index, o.Seq))
		st := t.post(func() proxy.Status {
			switch {
			// The engine posts a put of one word as a store, so the flag's store replaces it.
			case last && o.Flagged && n <= 8:
				return e.Store(pe, word, 8, o.Seq)
			case last && o.Flagged:
				return e.PutSignal(pe, at, t.source(), n, word, o.Seq, fabric.OpSet, r)
			}
			return e.Put(pe, at, t.source(), n, r)
		})
		if !o.NBI {
			t.finish(st, r)
		}
	})
	t.pe.dirty[t.place] = true
}

// putSignal replays a put with signal to another host, whose signal is sent with its last part.
func (t *thread) putSignal(o *program.Op) {
	e, pe, at := t.engine, libshmem.PE(o.Peer), t.pe.offset(t.m.bytes())
	t.eachPart(o, func(n uint64, last bool) {
		r := new(proxy.Request)
		if o.NBI {
			r = nil
		}
		st := t.post(func() proxy.Status {
			if !last {
				return e.Put(pe, at, t.source(), n, r)
			}
			return e.PutSignal(pe, at, t.source(), n, t.pe.offset(t.m.flag(t.index, o.Seq)), o.Seq, fabric.OpSet, r)
		})
		if !o.NBI {
			t.finish(st, r)
		}
	})
	t.pe.dirty[t.place] = true
}

// get replays a get from another host. A strided one has at most `flights` operations under way,
// and waits for the oldest before it posts another; a nonblocking one waits for none.
func (t *thread) get(o *program.Op) {
	e, pe, at := t.engine, libshmem.PE(o.Peer), t.pe.offset(t.m.bytes())
	var pending []*proxy.Request
	t.eachPart(o, func(n uint64, _ bool) {
		r := new(proxy.Request)
		if o.NBI {
			r = nil
		}
		st := t.post(func() proxy.Status { return e.Get(pe, at, t.source(), n, r) })
		if st != proxy.Pending || o.NBI {
			return
		}
		if pending = append(pending, r); o.Pieces == 1 || len(pending) == flights {
			t.finish(st, pending[0])
			pending = pending[1:]
		}
	})
	for _, r := range pending {
		t.finish(proxy.Pending, r)
	}
	if o.NBI {
		t.pe.dirty[t.place] = true
	}
}

// flights is how many operations of a strided call the library has under way at a time
// (capi/front/strided.c).
const flights = 32

// atomic replays an atomic operation on another host. Whatever the operation did in the program,
// the replay writes the number of the update (Seq), which waits poll for. An operation that fetches
// also waits for the reply.
func (t *thread) atomic(o *program.Op) {
	e, pe := t.engine, libshmem.PE(o.Peer)
	word := t.pe.offset(t.m.flag(t.index, o.Seq))
	// A word of 8 bytes gets Seq. Nothing is compared (0), and the old value goes nowhere (nil).
	if o.Kind == program.Atomic {
		t.post(func() proxy.Status { return e.AMO(pe, word, fabric.OpSet, 8, o.Seq, 0, nil, nil) })
		t.pe.dirty[t.place] = true
		return
	}
	r := new(proxy.Request)
	st := t.post(func() proxy.Status { return e.AMO(pe, word, fabric.OpSwap, 8, o.Seq, 0, nil, r) })
	if !o.NBI {
		t.finish(st, r)
		return
	}
	// In the library the next quiet waits for the reply of a nonblocking fetch. In the replay
	// nothing waits for its request: the quiet waits for the round trip of its own flush.
	t.pe.dirty[t.place] = true
}

// wait replays a wait of the program. It ends when the updates that ended the recorded wait have
// arrived, or when endStuckWait has ended it (free) because no thread could continue. The time
// until the last of the calls that send these updates began counts as a wait for the PE of that
// call, and the rest as a wait for the network.
func (t *thread) wait(o *program.Op) {
	m, start := t.m, t.m.now
	for _, n := range o.Needs {
		at := m.flag(n.Thread, n.Seq)
		t.until(func() bool { return t.pe.word(at) >= n.Seq || t.free })
	}
	late, by := start, -1
	for _, n := range o.Needs {
		other := m.threads[n.Thread]
		if at := other.begun[n.Op]; at > late {
			late, by = at, other.PE
		}
	}
	m.result.countWait(t.PE, by, late-start, m.now-late)
}

// quiet waits until all operations of a context are complete, and does nothing if none was begun
// since the last quiet. place is the context's index in dirty.
func (t *thread) quiet(e *proxy.Engine, place int) {
	if !t.pe.dirty[place] {
		return
	}
	t.lock() // the engine has one lock
	p, start := t.pe, t.m.now
	p.dirty[place] = false
	before := p.prov.cost
	ticket := e.QuietBegin()
	cost := t.m.model.Call + p.prov.cost - before
	p.busy(cost, t)
	t.sleep(cost)
	t.until(func() bool {
		switch e.QuietDone(ticket) {
		case proxy.Failed:
			t.m.fail(p.Err())
		case proxy.Done:
			return true
		}
		return false
	})
	t.m.result.countWait(t.PE, -1, 0, t.m.now-start) // for no other PE (-1), but for the network
}
